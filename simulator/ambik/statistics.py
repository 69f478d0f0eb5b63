"""What a set of pairs is made of, each number by the counting rule that it is named after (spec 2.1, 4).

Shares are fractions of 1 with a 95 % Wilson interval, means have a percentile bootstrap interval over pairs;
`Interval.n` is what they are taken of. None where there is nothing to take them of.
"""

from __future__ import annotations

import string
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Final

from simulator.ambik.files.versions import KINDS, kind_of_pair, part_of
from simulator.ambik.pairs import Pair
from simulator.ambik.terms import AMBIGUITIES, MEMBERS, Ambiguity, Member
from simulator.stats import Interval, bootstrap_mean, wilson

Share = Interval | None
Breaks = Mapping[str, tuple[int, int]]
Words = Mapping[str, tuple[int, int, int]]
_UNKNOWN: Final = (None, None)
_PUNCTUATION: Final = str.maketrans(dict.fromkeys(string.punctuation))


@dataclass(frozen=True, slots=True, kw_only=True)
class Texts:
    """Words of a set of texts.

    Attributes:
        words: mean number of parts of a text after splitting at single blanks.
        total: words of all texts: lower case, ASCII punctuation deleted, split at white space.
        unique: different ones among them.
    """

    words: Share
    total: int
    unique: int

    @property
    def type_token_ratio(self) -> float | None:
        """Different words / all words."""
        return self.unique / self.total if self.total else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Plans:
    """Lengths of a set of plans.

    Attributes:
        mean: of the line breaks in a plan's cell, the paper's plan length.
        median: likewise, like the next two; None without plans.
        lines: mean number of lines that are not blank, which are a plan's steps.
    """

    mean: Share
    median: float | None
    least: int | None
    most: int | None
    lines: Share


@dataclass(frozen=True, slots=True, kw_only=True)
class Statistics:
    """All statistics of a set of pairs.

    Attributes:
        pairs: how many; each is two tasks.
        types: how many pairs are of each type.
        shares: of the types.
        balance: of which member of pairs for calibration there are how many of each type.
        clear: words of the clear tasks; `indirect` and `ambiguous` likewise.
        clear_plans: lengths of the clear plans; `ambiguous_plans` likewise.
        objects: of a scene, mean; `object_kinds`: different ones in all scenes; `fewest`, `most`: in a scene.
        intents: concepts of a row's intent, mean over rows with one that is not malformed.
        intent_counts: how many rows have so many.
        malformed: rows whose intent is a piece of text.
        without_intent: rows that have none.
        shortlist: share of pairs with a shortlist; `shortlist_preferences`: of those of preferences.
        shortlist_sizes: how many shortlists have so many objects.
        variants: how many rows have so many lines of variants; none counts as 0.
        steps: how many pairs have their ambiguity at such an index.
    """

    pairs: int
    types: Mapping[Ambiguity, int]
    shares: Mapping[Ambiguity, Share]
    balance: Mapping[Member, Mapping[Ambiguity, int]]
    clear: Texts
    indirect: Texts
    ambiguous: Texts
    clear_plans: Plans
    ambiguous_plans: Plans
    objects: Share
    object_kinds: int
    fewest: int | None
    most: int | None
    intents: Share
    intent_counts: Mapping[int, int]
    malformed: int
    without_intent: int
    shortlist: Share
    shortlist_preferences: Share
    shortlist_sizes: Mapping[int, int]
    variants: Mapping[int, int]
    steps: Mapping[int, int]


def statistics(pairs: Sequence[Pair], breaks: Breaks | None = None, words: Words | None = None) -> Statistics:
    """Return all statistics of a set of pairs.

    Args:
        pairs: of one file, part or type, or of all.
        breaks: by id, line breaks in the cells of the clear and of the ambiguous plan, as the load report has
            them; a pair that is not in it has one less than steps.
        words: by id, parts between single blanks in the cells of the clear, the indirect and the ambiguous
            task, likewise; those of a pair that is not in it are counted in its texts.
    """
    types = Counter(pair.type for pair in pairs)
    known: Mapping[str, tuple[int | None, int | None]] = breaks or {}
    read = [len(one.intent.concepts) for one in pairs if one.intent is not None and not one.intent.malformed]
    sizes = [len(pair.objects) for pair in pairs]
    return Statistics(
        pairs=len(pairs),
        types={kind: types[kind] for kind in AMBIGUITIES},
        shares={kind: wilson(types[kind], len(pairs)) if pairs else None for kind in AMBIGUITIES},
        balance=_balance(pairs),
        clear=_texts([(pair.clear, _count(words, pair, 0)) for pair in pairs]),
        indirect=_texts([(pair.indirect, _count(words, pair, 1)) for pair in pairs if pair.indirect]),
        ambiguous=_texts([(pair.ambiguous, _count(words, pair, 2)) for pair in pairs]),
        clear_plans=_plans([(pair.clear_plan, known.get(pair.id, _UNKNOWN)[0]) for pair in pairs]),
        ambiguous_plans=_plans([(pair.ambiguous_plan, known.get(pair.id, _UNKNOWN)[1]) for pair in pairs]),
        objects=_mean(sizes),
        object_kinds=len({one.casefold() for pair in pairs for one in pair.objects}),
        fewest=min(sizes, default=None),
        most=max(sizes, default=None),
        intents=_mean(read),
        intent_counts=_counted(read),
        malformed=sum(pair.intent is not None and pair.intent.malformed for pair in pairs),
        without_intent=sum(pair.intent is None for pair in pairs),
        shortlist=_share(pairs, lambda pair: bool(pair.shortlist)),
        shortlist_preferences=_share(
            [pair for pair in pairs if pair.type == "preferences"], lambda pair: bool(pair.shortlist)
        ),
        shortlist_sizes=_counted(len(pair.shortlist) for pair in pairs if pair.shortlist),
        variants=_counted(len(pair.variants) for pair in pairs),
        steps=_counted(pair.step for pair in pairs if pair.step is not None),
    )


def texts(given: Iterable[str]) -> Texts:
    """Words of texts by the paper's rules (Table 2)."""
    return _texts([(text, None) for text in given])


def _count(words: Words | None, pair: Pair, place: int) -> int | None:
    counts = (words or {}).get(pair.id)
    return None if counts is None else counts[place]


def _texts(given: Sequence[tuple[str, int | None]]) -> Texts:
    """Words of texts, with the parts of their cells where these are known: outer blanks make some, too."""
    words = [word for text, _ in given for word in text.lower().translate(_PUNCTUATION).split()]
    lengths = [len(text.split(" ")) if count is None else count for text, count in given]
    return Texts(words=_mean(lengths), total=len(words), unique=len(set(words)))


def groups(pairs: Sequence[Pair]) -> dict[str, tuple[Pair, ...]]:
    """All pairs, those of each part and of each kind if there are both, and those of each type there is."""
    found: dict[str, tuple[Pair, ...]] = {"all": tuple(pairs)}
    parts = {part: tuple(pair for pair in pairs if part_of(pair) == part) for part in ("calibration", "test")}
    if all(parts.values()):
        found |= parts
    apart = {str(kind): tuple(pair for pair in pairs if kind_of_pair(pair) == kind) for kind in KINDS}
    if all(apart.values()):
        found |= apart
    kinds = {kind: tuple(pair for pair in pairs if pair.type == kind) for kind in AMBIGUITIES}
    return found | {kind: held for kind, held in kinds.items() if held}


def _plans(given: Sequence[tuple[tuple[str, ...], int | None]]) -> Plans:
    """Lengths of plans that are there, with the line breaks of their cells where these are known."""
    there = [(plan, breaks) for plan, breaks in given if plan]
    lengths = [len(plan) - 1 if breaks is None else breaks for plan, breaks in there]
    return Plans(
        mean=_mean(lengths),
        median=float(median(lengths)) if lengths else None,
        least=min(lengths, default=None),
        most=max(lengths, default=None),
        lines=_mean([len(plan) for plan, _ in there]),
    )


def _balance(pairs: Iterable[Pair]) -> dict[Member, dict[Ambiguity, int]]:
    counts = Counter((pair.calibration_member, pair.type) for pair in pairs if part_of(pair) == "calibration")
    if not counts:
        return {}
    return {member: {kind: counts[member, kind] for kind in AMBIGUITIES} for member in MEMBERS}


def _share(pairs: Sequence[Pair], holds: Callable[[Pair], bool]) -> Share:
    return wilson(sum(map(holds, pairs)), len(pairs)) if pairs else None


def _mean(values: Sequence[float]) -> Share:
    return bootstrap_mean(values, bounds=None) if values else None


def _counted(values: Iterable[int]) -> dict[int, int]:
    return dict(sorted(Counter(values).items()))
