"""From a model's pairs to those that linguists get, with what each step keeps (spec 2.2.4 to 2.2.7)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

from typer import Option

from simulator.ambient.claims import second_highest
from simulator.ambient.examples import Example
from simulator.ambient.files.dataset import DATASET
from simulator.ambient.items import BENCHMARK
from simulator.ambient.labels import LABEL_SETS, LABELS, Label, LabelSet
from simulator.ambient.pool.filters import Drawn, FilterSet, filtered
from simulator.ambient.pool.groups import Samples, pair_id
from simulator.generation import Journal, key_of, write_study
from simulator.models.weights import fingerprint
from simulator.seeds import derive_seed

if TYPE_CHECKING:
    from simulator.ambient.nli.predict import Predictor

THRESHOLD: Final = 0.05
REFERENCE_THRESHOLD: Final = 0.04
"""Of the reference's predicted sets in balancing."""
Balancing = Literal["default", "reference"]
_CE: Final[LabelSet] = frozenset({"contradiction", "entailment"})
_CN: Final[LabelSet] = frozenset({"contradiction", "neutral"})
_EN: Final[LabelSet] = frozenset({"entailment", "neutral"})


def may_be_ambiguous(probabilities: Mapping[Label, float], which: Balancing = "default") -> bool:
    """Return True if two labels are likely enough: the second-highest probability reaches the threshold.

    The reference wants it to be strictly greater.
    """
    second = second_highest(probabilities)
    return second >= THRESHOLD if which == "default" else second > THRESHOLD


def predicted(probabilities: Mapping[Label, float], which: Balancing = "default") -> LabelSet:
    """Return the label set that a pair counts with in balancing.

    All labels from 5 % on, as in the filter; in the reference those above 4 %.
    """
    if which == "default":
        return frozenset(label for label in LABELS if probabilities[label] >= THRESHOLD)
    return frozenset(label for label in LABELS if probabilities[label] > REFERENCE_THRESHOLD)


def balanced(sets: Sequence[LabelSet], *, seed: int, which: Balancing = "default") -> list[int]:
    """Return the places of pairs chosen by their predicted sets; where there are too many, they are drawn.

    By default all {C,E} and {C,E,N}, and as many {E,N} as {C,N}. In the reference all sets with C, and
    then drawn ones with E and without C until both labels are in equally many.
    """
    random = Random(derive_seed(seed, "balance"))
    return sorted(_default(sets, random) if which == "default" else _reference(sets, random))


def _default(sets: Sequence[LabelSet], random: Random) -> list[int]:
    several = [[place for place, labels in enumerate(sets) if labels == kind] for kind in (_EN, _CN)]
    number = min(map(len, several))
    chosen = [place for places in several for place in random.sample(places, number)]
    return [place for place, labels in enumerate(sets) if labels >= _CE] + chosen


def _reference(sets: Sequence[LabelSet], random: Random) -> list[int]:
    kept = [place for place, labels in enumerate(sets) if "contradiction" in labels]
    lacking = len(kept) - sum("entailment" in sets[place] for place in kept)
    others = [
        place for place, labels in enumerate(sets) if "entailment" in labels and "contradiction" not in labels
    ]
    return kept + random.sample(others, min(lacking, len(others)))


_READ: Final = 256
_ROUNDED: Final = 6
Probabilities = Mapping[Label, float]


@dataclass(frozen=True, slots=True)
class Step:
    """The rows that a step leaves; `dropped` is None where nothing is dropped but only counted."""

    name: str
    left: int
    dropped: int | None = None


@dataclass(frozen=True, slots=True)
class Made:
    """New pairs without labels, in the order in which they were drawn, and what each step has left.

    `sets`: how many pairs each label set has before balancing and after; empty if nobody was asked for
    probabilities.
    """

    examples: tuple[Example, ...]
    steps: tuple[Step, ...]
    sets: Mapping[LabelSet, tuple[int, int]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """The choice between the two ways of each step."""

    filters: Annotated[FilterSet, Option(help='reference: without question marks and "said", too')] = (
        "default"
    )
    selection: Annotated[Balancing, Option(help="thresholds and balancing")] = "default"


def make_pairs(
    samples: Samples,
    rules: Rules,
    ask: Callable[[Sequence[Drawn]], list[Probabilities]] | None,
    *,
    model: str,
    seed: int,
) -> Made:
    """Filter, ask a model of inference, balance.

    `ask`: gives probabilities of pairs; None for neither the filter of ambiguity nor balancing.
    """
    steps = [
        Step("prompts answered", samples.prompts - samples.refused),
        Step("samples drawn", samples.texts),
        Step("in two parts", len(samples.pairs), samples.texts - len(samples.pairs)),
    ]
    kept = filtered(samples.pairs, rules.filters)
    left = len(samples.pairs)
    for name, number in kept.dropped.items():
        left -= number
        steps.append(Step(f"not: {name}", left, number))
    if ask is None:
        return Made(tuple(_example(drawn, model) for drawn in kept.pairs), tuple(steps))
    asked = list(zip(kept.pairs, ask(kept.pairs), strict=True))
    likely = [(drawn, shares) for drawn, shares in asked if may_be_ambiguous(shares, rules.selection)]
    steps.append(Step("two labels are likely", len(likely), len(asked) - len(likely)))
    sets = [predicted(shares, rules.selection) for _, shares in likely]
    places = balanced(sets, seed=seed, which=rules.selection)
    steps.append(Step("label sets balanced", len(places), len(likely) - len(places)))
    before, after = Counter(sets), Counter(sets[place] for place in places)
    examples = tuple(_example(likely[place][0], model, likely[place][1]) for place in places)
    every: Iterable[LabelSet] = (*LABEL_SETS, frozenset())
    return Made(examples, tuple(steps), {labels: (before[labels], after[labels]) for labels in every})


def ask_judge(
    judge: Predictor, pairs: Sequence[Drawn], journal: Journal, tell: Callable[[int], None]
) -> list[Probabilities]:
    """Return the probabilities of pairs; a model is asked for what the journal does not have yet."""
    folder = Path(judge.name)
    name = key_of(judge.name, *(fingerprint(str(folder / part)) for part in (".", *LABELS)))
    keys = [f"{name}-{pair_id(*drawn.pair)}" for drawn in pairs]
    missing = [place for place, key in enumerate(keys) if key not in journal.rows]
    tell(len(pairs) - len(missing))
    for start in range(0, len(missing), _READ):
        places = missing[start : start + _READ]
        read = judge.probabilities([pairs[place].pair for place in places])
        for place, shares in zip(places, read, strict=True):
            journal.add(keys[place], {"probabilities": shares})
        tell(len(places))
    return [journal.rows[key]["probabilities"] for key in keys]


def _example(drawn: Drawn, model: str, shares: Probabilities | None = None) -> Example:
    meta: dict[str, Any] = {"source": "generated", "model": model, "examples": list(drawn.examples)}
    if shares is not None:
        meta["probabilities"] = {label: round(shares[label], _ROUNDED) for label in LABELS}
    return Example(id=pair_id(*drawn.pair), premise=drawn.premise, hypothesis=drawn.hypothesis, meta=meta)


PAIRS: Final = "pairs.jsonl"
STUDY: Final = "study.yaml"
SETS: Final = 200
_HEAD: Final = """\
# New pairs for linguists, {judgments} for each. Made together with {data}.
# Before people are invited: add pay, completion codes and a completion URL, and the study's own texts.
# The path of the data is absolute; change it where the folder moves.
"""


def write_pairs_and_study(examples: Sequence[Example], folder: Path, *, seed: int) -> tuple[Path, Path]:
    """Write the file of pairs, at least one, and the study file; return both."""
    pairs, study = folder / PAIRS, folder / STUDY
    DATASET.write(pairs, examples)
    write_study(
        study,
        head=_HEAD,
        title="One pair of sentences, how many readings?",
        benchmark=BENCHMARK,
        data=pairs,
        content="\n".join(example.id for example in examples),
        sets=SETS,
        seed=seed,
    )
    return pairs, study
