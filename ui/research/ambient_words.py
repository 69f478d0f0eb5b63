"""What AmbiEnt's pages for researchers share: labels in their order, readings with the words they change."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from simulator.ambient.annotation.rules import Problem
from simulator.ambient.examples import Disambiguation
from simulator.ambient.labels import SIDES, Label, Side
from simulator.ambient.show import SHOWN, told
from simulator.stats import Interval
from simulator.word_diff import Piece, word_diff
from ui.i18n import Strings
from ui.research.format import Cell, cell, scale

_KAPPA: Final = scale((), fixed=(-0.2, 1.0))
_PERCENT: Final = scale((), fixed=(0.0, 100.0))


@dataclass(frozen=True, slots=True)
class Reading:
    """A reading of an example.

    Attributes:
        rewrite: the pair rewritten.
        sides: the sentences that it changes, word by word.
    """

    rewrite: Disambiguation
    sides: Mapping[Side, Sequence[Piece]]


@dataclass(frozen=True, slots=True)
class Line:
    """A measure in a table; `cell` is None where it is undefined.

    Attributes:
        n: what it is of.
        paper: what the paper prints, as it prints it; empty if nothing.
    """

    name: str
    cell: Cell | None
    n: int | None
    paper: str = ""


def ordered(labels: Iterable[Label]) -> list[Label]:
    """Return labels in the order of pages: from what follows to what cannot be."""
    chosen = set(labels)
    return [label for label in SHOWN if label in chosen]


def reading(premise: str, hypothesis: str, rewrite: Disambiguation) -> Reading:
    """Return a rewrite of a pair with what it changes."""
    originals: dict[Side, str] = {"premise": premise, "hypothesis": hypothesis}
    changed = {
        side: word_diff(originals[side], rewrite.sentence(side))
        for side in SIDES
        if originals[side] != rewrite.sentence(side)
    }
    return Reading(rewrite, changed)


def share_cell(interval: Interval | None) -> Cell | None:
    """Return a share of 1 as tables show it: in per cent."""
    return None if interval is None else cell(interval.times(100), _PERCENT, 1)


def kappa_cell(interval: Interval | None) -> Cell | None:
    """Return an agreement beyond chance as tables show it; what lies below the scale is drawn at its end."""
    return None if interval is None else cell(interval, _KAPPA, 2)


def kappa_line(name: str, value: Interval | None, paper: str = "") -> Line:
    """Return an agreement beyond chance in a table."""
    return Line(name, kappa_cell(value), value.n if value else None, paper)


def share_line(name: str, value: Interval | None, paper: str = "") -> Line:
    """Return a share in a table."""
    return Line(name, share_cell(value), value.n if value else None, paper)


def whole_number(text: str, least: int = 1, most: int = 20) -> int:
    """Return the number in an address; the least there may be if it is none."""
    return min(max(int(text), least), most) if text.isdecimal() else least


def complaints(t: Strings, problems: Sequence[Problem]) -> dict[str, list[str]]:
    """Return what is wrong with a form, in words, by the place on the page where it is said."""
    said: dict[str, list[str]] = {}
    for problem in problems:
        said.setdefault(_place(problem), []).append(t.say("benchmark.ambient", told(problem).text))
    return said


def _place(problem: Problem) -> str:
    if problem.number is None:
        return "labels" if problem.label or problem.field == "labels" else problem.field
    _, _, part = problem.field.partition("].")
    return f"card-{problem.number - 1}{'-' + part if part else ''}"
