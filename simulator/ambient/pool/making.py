"""From a model's pairs to those that linguists get, with what each step keeps (spec 2.2.4 to 2.2.6)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol

from simulator.ambient.examples import Example
from simulator.ambient.labels import LABELS, Label
from simulator.ambient.pool.filters import Drawn, FilterSet, filtered
from simulator.ambient.pool.pairs import pair_id
from simulator.ambient.pool.sampling import Samples
from simulator.ambient.pool.select import Balanced, Balancing, balanced, may_be_ambiguous, predicted
from simulator.journal import Journal, key_of
from simulator.models.weights import fingerprint

_READ: Final = 256
_ROUNDED: Final = 6
Probabilities = Mapping[Label, float]


class Judge(Protocol):
    """A model of inference: `nli.predict.Predictor`."""

    @property
    def name(self) -> str:
        """Of its folder."""
        ...

    def probabilities(self, pairs: Sequence[tuple[str, str]]) -> list[dict[Label, float]]:
        """The probability of each label, pair by pair."""
        ...


@dataclass(frozen=True, slots=True)
class Step:
    """What a step has left; `dropped` is None where nothing is dropped but only counted."""

    name: str
    left: int
    dropped: int | None = None


@dataclass(frozen=True, slots=True)
class Made:
    """New pairs.

    Attributes:
        examples: without labels, in the order in which they were drawn; ids follow from the sentences.
        steps: what each has left.
        balance: label sets before and after; None if nobody was asked for probabilities.
    """

    examples: tuple[Example, ...]
    steps: tuple[Step, ...]
    balance: Balanced | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """Which of the two ways each step goes."""

    filters: FilterSet = "default"
    selection: Balancing = "default"
    seed: int = 0


def make_pairs(
    samples: Samples, rules: Rules, ask: Callable[[Sequence[Drawn]], list[Probabilities]] | None, model: str
) -> Made:
    """Filter, ask a model of inference, balance.

    Args:
        samples: what was drawn.
        rules: how.
        ask: probabilities of pairs; None for neither the filter of ambiguity nor balancing.
        model: who wrote the pairs.
    """
    steps = [
        Step("prompts answered", samples.prompts - samples.refused),
        Step("samples drawn", samples.texts),
        Step("in two parts", len(samples.pairs), samples.texts - len(samples.pairs)),
    ]
    found = filtered(samples.pairs, rules.filters)
    left = len(samples.pairs)
    for name, number in found.dropped.items():
        left -= number
        steps.append(Step(f"not: {name}", left, number))
    if ask is None:
        chosen = tuple(_example(one, model, None) for one in found.pairs)
        return Made(chosen, tuple(steps), None)
    asked = list(zip(found.pairs, ask(found.pairs), strict=True))
    likely = [(one, shares) for one, shares in asked if may_be_ambiguous(shares, rules.selection)]
    steps.append(Step("two labels are likely", len(likely), len(asked) - len(likely)))
    sets = [predicted(shares, rules.selection) for _, shares in likely]
    balance = balanced(sets, seed=rules.seed, which=rules.selection)
    steps.append(Step("label sets balanced", len(balance.kept), len(likely) - len(balance.kept)))
    examples = tuple(_example(*likely[place][:1], model, likely[place][1]) for place in balance.kept)
    return Made(examples, tuple(steps), balance)


def ask_judge(
    judge: Judge, folder: Path, journal: Journal, tell: Callable[[int], None]
) -> Callable[[Sequence[Drawn]], list[Probabilities]]:
    """Asks a model of inference for what the journal does not have yet.

    Args:
        judge: the model.
        folder: its folder; other weights in it are another model.
        journal: gets a row a pair.
        tell: is told of how many pairs more the probabilities are known.
    """
    name = key_of(judge.name, *(fingerprint(str(folder / part)) for part in (".", *LABELS)))

    def ask(pairs: Sequence[Drawn]) -> list[Probabilities]:
        keys = [f"{name}-{pair_id(*one.pair)}" for one in pairs]
        missing = [place for place, key in enumerate(keys) if key not in journal.rows]
        tell(len(pairs) - len(missing))
        for start in range(0, len(missing), _READ):
            places = missing[start : start + _READ]
            found = judge.probabilities([pairs[place].pair for place in places])
            for place, shares in zip(places, found, strict=True):
                journal.add(keys[place], {"probabilities": shares})
            tell(len(places))
        return [journal.rows[key]["probabilities"] for key in keys]

    return ask


def _example(drawn: Drawn, model: str, shares: Probabilities | None) -> Example:
    known = {} if shares is None else {label: round(shares[label], _ROUNDED) for label in LABELS}
    return Example(
        id=pair_id(*drawn.pair),
        premise=drawn.premise,
        hypothesis=drawn.hypothesis,
        meta={
            "source": "generated",
            "model": model,
            "examples": list(drawn.examples),
            **({"probabilities": known} if known else {}),
        },
    )
