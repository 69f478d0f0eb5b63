"""The label that an answer gives: out of a table of token probabilities, or as written (spec section 7)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import exp, fsum, isclose
from typing import Final, Literal, NamedTuple, get_args

from simulator.ambibench.features import LABELS, Label

Mode = Literal["strip", "reference", "forced"]
ScoreMode = Literal["strip", "reference", "forced", "text"]
Tie = Literal["wrong", "half", "first"]
Table = Sequence[tuple[str, float]]
"""Tokens with their natural log-probabilities, in the order in which they came."""
MODES: Final[tuple[Mode, ...]] = get_args(Mode)
TIES: Final[tuple[Tie, ...]] = get_args(Tie)
_LABELS: Final = {str(label): label for label in LABELS}
_AROUND_TOKEN: Final = " \t\r\n'\""
_AROUND_ANSWER: Final = " \t\r\n\u00a0\u3000'\"‘’“”"
_ROUNDED: Final = 0.01


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """An answer, read.

    Attributes:
        answer: the most probable token after merging (of tied ones the first in the table's order), or the
            label that was written; None if there is none.
        normalised: whether lower case was taken for a capital.
        correct: 1 or 0; .5 for a tie that counts half.
        strict: the same without taking lower case.
        valid: whether the answer is X or Y.
        tie: whether several tokens share the first place.
        p_x: probability of X, 0 if it is not in the table; None for written answers, as are the next two.
        p_y: probability of Y.
        p_valid: of either.
        mode: how it was read.
    """

    answer: str | None
    normalised: bool
    correct: float
    strict: float
    valid: bool
    tie: bool
    p_x: float | None
    p_y: float | None
    p_valid: float | None
    mode: ScoreMode


class Written(NamedTuple):
    """A written answer: the label, None if it is none; and whether it was written in lower case."""

    label: Label | None
    normalised: bool = False


def read_reply(
    text: str, table: Table | None, gold: Label, *, lower: bool, mode: Mode = "strip", tie: Tie = "wrong"
) -> Reading:
    """Return what an answer says, and whether it is right.

    Args:
        text: as written.
        table: tokens with log-probabilities at the label's place; None for written answers.
        gold: the right label.
        lower: whether a written x or y will do (people).
        mode: how a table is read.
        tie: what a tie for the first place counts.
    """
    if table is not None:
        return read_table(table, gold, mode, tie)
    written = read_answer(text, lower=lower)
    right = float(written.label == gold)
    return Reading(
        answer=written.label,
        normalised=written.normalised,
        correct=right,
        strict=0.0 if written.normalised else right,
        valid=written.label is not None,
        tie=False,
        p_x=None,
        p_y=None,
        p_valid=None,
        mode="text",
    )


def read_answer(text: str, *, lower: bool) -> Written:
    """Return the label that `text` gives, white space, quotes and one final full stop left out.

    Args:
        text: as it was written.
        lower: whether x and y will do (people's answers); models' letters count as they are.
    """
    bare = text.strip(_AROUND_ANSWER).removesuffix(".").strip(_AROUND_ANSWER)
    label = _LABELS.get(bare)
    if label is None and lower and (label := _LABELS.get(bare.upper())):
        return Written(label, normalised=True)
    return Written(label)


def read_table(table: Table, gold: Label, mode: Mode = "strip", tie: Tie = "wrong") -> Reading:
    """Return the prediction of a table and whether it is right.

    Where its probabilities add up to more than 1, each is divided by their sum (`excess`).

    Args:
        table: tokens with their log-probabilities.
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
    # Sums of exponentials: what differs less than this differs by rounding.
    first = [token for token, probability in rivals.items() if isclose(probability, top, rel_tol=1e-12)]
    # In the published program the first entry wins.
    correct = _correct(first, gold, "first" if mode == "reference" else tie)
    return Reading(
        answer=first[0] if first else None,
        normalised=False,
        correct=correct,
        strict=correct,
        valid=bool(first) and first[0] in LABELS,
        tie=len(first) > 1,
        p_x=p_x,
        p_y=p_y,
        p_valid=p_x + p_y,
        mode=mode,
    )


def excess(table: Table) -> bool:
    """Return True if the probabilities of a table add up to more than 1, beyond what rounding explains."""
    return fsum(exp(logprob) for _, logprob in table) > 1 + _ROUNDED


def _correct(first: Sequence[str], gold: Label, tie: Tie) -> float:
    if gold not in first:
        return 0.0
    if len(first) == 1 or tie == "first":
        return float(first[0] == gold)
    return 0.5 if tie == "half" else 0.0


def _stripped(table: Table) -> Mapping[str, float]:
    """Return probabilities of tokens without what is around them; equal ones added, in order of the first."""
    merged: dict[str, float] = {}
    for token, logprob in table:
        bare = token.strip(_AROUND_TOKEN)
        merged[bare] = merged.get(bare, 0.0) + exp(logprob)
    return merged


def _reference(table: Table) -> Mapping[str, float]:
    """Merge as the published program does: to each label comes one variant with blanks, the last of them.

    A label that was not there comes last, as a new key of a dict does.
    """
    merged = {token: exp(logprob) for token, logprob in table}
    for label in LABELS:
        variants = [token for token in merged if token != label and token.replace(" ", "") == label]
        if variants:
            merged[label] = merged.get(label, 0.0) + merged[variants[-1]]
            del merged[variants[-1]]
    return merged
