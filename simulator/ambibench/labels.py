"""Which label a table of token probabilities says (spec section 7.1)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import exp, fsum, isclose
from typing import Final, Literal

from simulator.ambibench.features import LABELS, Label

Mode = Literal["strip", "reference", "forced"]
Tie = Literal["wrong", "half", "first"]
Table = Sequence[tuple[str, float]]
MODES: Final[tuple[Mode, ...]] = ("strip", "reference", "forced")
TIES: Final[tuple[Tie, ...]] = ("wrong", "half", "first")
_AROUND: Final = " \t\r\n'\""
_ROUNDED: Final = 0.01


@dataclass(frozen=True, slots=True)
class Reading:
    """What a table says.

    Attributes:
        prediction: the most probable token after merging; of tied ones the first in the table's order;
            None if there is nothing to choose from.
        correct: 1 or 0; .5 for a tie that counts half.
        tie: whether several share the first place.
        p_x: probability of X, 0 if it is not in the table.
        p_y: probability of Y.
        p_valid: of either.
        valid: whether the prediction is X or Y.
    """

    prediction: str | None
    correct: float
    tie: bool
    p_x: float
    p_y: float
    p_valid: float
    valid: bool


def read_table(table: Table, gold: Label, mode: Mode = "strip", tie: Tie = "wrong") -> Reading:
    """Return the prediction of a table and whether it is right.

    Where its probabilities add up to more than 1, each is divided by their sum (`excess`).

    Args:
        table: tokens with their log-probabilities (natural), in the order in which they came.
        gold: the right label.
        mode: ``strip`` merges tokens that are equal without white space and straight quotes around them;
            ``reference`` does what the published program does; ``forced`` is ``strip`` with X and Y alone.
        tie: what a tie for the first place counts.
    """
    merged = _reference(table) if mode == "reference" else _stripped(table)
    total = max(1.0, fsum(merged.values()))
    p_x, p_y = merged.get("X", 0.0) / total, merged.get("Y", 0.0) / total
    rivals = {label: merged[label] for label in LABELS if label in merged} if mode == "forced" else merged
    top = max(rivals.values(), default=0.0)
    first = [token for token, probability in rivals.items() if _same(probability, top)]
    # In the published program the first entry wins.
    rule: Tie = "first" if mode == "reference" else tie
    return Reading(
        prediction=first[0] if first else None,
        correct=_correct(first, gold, rule),
        tie=len(first) > 1,
        p_x=p_x,
        p_y=p_y,
        p_valid=p_x + p_y,
        valid=bool(first) and first[0] in LABELS,
    )


def excess(table: Table) -> bool:
    """Return True if the probabilities of a table add up to more than 1, beyond what rounding explains."""
    return fsum(exp(logprob) for _, logprob in table) > 1 + _ROUNDED


def _same(probability: float, top: float) -> bool:
    # Sums of exponentials: what differs less than this differs by rounding.
    return isclose(probability, top, rel_tol=1e-12)


def _correct(first: Sequence[str], gold: Label, tie: Tie) -> float:
    if gold not in first:
        return 0.0
    if len(first) == 1 or tie == "first":
        return float(first[0] == gold)
    return 0.5 if tie == "half" else 0.0


def _stripped(table: Table) -> Mapping[str, float]:
    """Probabilities of tokens without what is around them; equal ones added, in the order of the first."""
    merged: dict[str, float] = {}
    for token, logprob in table:
        bare = token.strip(_AROUND)
        merged[bare] = merged.get(bare, 0.0) + exp(logprob)
    return merged


def _reference(table: Table) -> Mapping[str, float]:
    """The published program's merging: to each label comes one variant with blanks, the last of them."""
    merged = {token: exp(logprob) for token, logprob in table}
    for label in LABELS:
        variants = [token for token in merged if token != label and token.replace(" ", "") == label]
        if variants:
            merged = _moved(merged, variants[-1], label)
    return merged


def _moved(merged: Mapping[str, float], variant: str, label: str) -> dict[str, float]:
    """`variant` added to `label`; a label that was not there comes last, as a new key of a dict does."""
    added = {**merged, label: merged.get(label, 0.0) + merged[variant]}
    del added[variant]
    return added
