"""What a set of pairs is made of, each number by the counting rule that it is named after (spec 2.1, 4).

Shares are fractions of 1 with a 95 % Wilson interval, means have a percentile bootstrap interval over pairs;
`Interval.n` is what they are taken of. None where there is nothing to take them of.
"""

from __future__ import annotations

import string
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from statistics import median
from typing import Any, Final

from simulator.ambik.files.pairs import KINDS, kind_of_pair, part_of
from simulator.ambik.items import Pair
from simulator.ambik.terms import AMBIGUITIES, MEMBERS
from simulator.stats import Interval, bootstrap_mean, wilson

Statistics = Mapping[str, Any]
Breaks = Mapping[str, tuple[int, int]]
Words = Mapping[str, tuple[int, int, int]]
_PUNCTUATION: Final = str.maketrans(dict.fromkeys(string.punctuation))


def statistics(pairs: Sequence[Pair], breaks: Breaks | None = None, words: Words | None = None) -> Statistics:
    """Return all statistics of a set of pairs, by name.

    ``pairs`` counts them, ``types`` and ``shares`` those of each type, ``balance`` which member serves
    calibration; ``clear``, ``indirect`` and ``ambiguous`` are the words of the tasks (`texts`), ``…_plans``
    the lengths of plans; ``objects`` of a scene are a mean, ``object_kinds`` the different ones; ``intents``
    are concepts of an intent that is no piece of text (``malformed``), ``shortlist`` the share of pairs with
    one, and ``…_counts``, ``…_sizes``, ``variants`` and ``steps`` (the index of the ambiguity) say how many
    pairs have so many.

    Args:
        pairs: of one file, part or type, or of all.
        breaks: by id, line breaks in the cells of the clear and of the ambiguous plan, as the load report has
            them; a pair that is not in it has one less than steps.
        words: by id, parts between single blanks in the cells of the clear, the indirect and the ambiguous
            task, likewise; those of a pair that is not in it are counted in its texts.
    """
    types = Counter(pair.type for pair in pairs)
    intents = [pair.intent for pair in pairs if pair.intent is not None]
    concepts = [len(intent.concepts) for intent in intents if not intent.malformed]
    sizes = [len(pair.objects) for pair in pairs]
    parts, lines = words or {}, breaks or {}

    def tasks(name: str, place: int) -> Statistics:
        held = [pair for pair in pairs if name != "indirect" or pair.indirect]
        counts = (parts[pair.id][place] if pair.id in parts else None for pair in held)
        return texts([getattr(pair, name) for pair in held], counts)

    def plans(name: str, place: int) -> Statistics:
        held = [(pair, plan) for pair in pairs if (plan := getattr(pair, name))]
        lengths = [lines[pair.id][place] if pair.id in lines else len(plan) - 1 for pair, plan in held]
        return {
            "mean": _mean(lengths),
            "median": float(median(lengths)) if lengths else None,
            "least": min(lengths, default=None),
            "most": max(lengths, default=None),
            "lines": _mean([len(plan) for _, plan in held]),
        }

    return {
        "pairs": len(pairs),
        "types": {kind: types[kind] for kind in AMBIGUITIES},
        "shares": {kind: wilson(types[kind], len(pairs)) if pairs else None for kind in AMBIGUITIES},
        "balance": _balance(pairs),
        "clear": tasks("clear", 0),
        "indirect": tasks("indirect", 1),
        "ambiguous": tasks("ambiguous", 2),
        "clear_plans": plans("clear_plan", 0),
        "ambiguous_plans": plans("ambiguous_plan", 1),
        "objects": _mean(sizes),
        "object_kinds": len({name.casefold() for pair in pairs for name in pair.objects}),
        "fewest": min(sizes, default=None),
        "most": max(sizes, default=None),
        "intents": _mean(concepts),
        "intent_counts": _counted(concepts),
        "malformed": sum(intent.malformed for intent in intents),
        "without_intent": len(pairs) - len(intents),
        "shortlist": _listed(pairs),
        "shortlist_preferences": _listed([pair for pair in pairs if pair.type == "preferences"]),
        "shortlist_sizes": _counted(len(pair.shortlist) for pair in pairs if pair.shortlist),
        "variants": _counted(len(pair.variants) for pair in pairs),
        "steps": _counted(pair.step for pair in pairs if pair.step is not None),
    }


def texts(tasks: Sequence[str], parts: Iterable[int | None] = ()) -> Statistics:
    """Return words of texts by the paper's rules (Table 2).

    Returns:
        The mean of ``words``, parts between single blanks; ``total``: words of all texts in lower case,
        without ASCII punctuation, split at white space; ``unique``: different ones among them.
    """
    words = [word for text in tasks for word in text.lower().translate(_PUNCTUATION).split()]
    known = [*parts] or [None] * len(tasks)
    lengths = [
        len(text.split(" ")) if count is None else count for text, count in zip(tasks, known, strict=True)
    ]
    return {"words": _mean(lengths), "total": len(words), "unique": len(set(words))}


def groups(pairs: Sequence[Pair]) -> dict[str, tuple[Pair, ...]]:
    """Return all pairs, those of each part and of each kind if there are both, and those of each type."""
    divided: dict[str, tuple[Pair, ...]] = {"all": tuple(pairs)}
    for names, name_of in ((("calibration", "test"), part_of), (KINDS, kind_of_pair)):
        parts = {name: tuple(pair for pair in pairs if name_of(pair) == name) for name in names}
        divided |= parts if all(parts.values()) else {}
    types = {kind: tuple(pair for pair in pairs if pair.type == kind) for kind in AMBIGUITIES}
    return divided | {kind: held for kind, held in types.items() if held}


def _balance(pairs: Iterable[Pair]) -> dict[str, dict[str, int]]:
    counts = Counter((pair.calibration_member, pair.type) for pair in pairs if part_of(pair) == "calibration")
    if not counts:
        return {}
    return {member: {kind: counts[member, kind] for kind in AMBIGUITIES} for member in MEMBERS}


def _listed(pairs: Sequence[Pair]) -> Interval | None:
    return wilson(sum(bool(pair.shortlist) for pair in pairs), len(pairs)) if pairs else None


def _mean(values: Sequence[float]) -> Interval | None:
    return bootstrap_mean(values, bounds=None) if values else None


def _counted(values: Iterable[int]) -> dict[int, int]:
    return dict(sorted(Counter(values).items()))
