"""A goal: the conjunction of its subgoals (spec 4.1)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

from simulator.handmethat.hierarchy import Relation

# The eight forms that templates use; x is what is wanted, y where it is wanted.
Form = Literal["ALL", "SOME", "BE", "THE", "BE-ALL", "ALL-SAME", "ALL-ANY", "THE-ANY"]
# In these x is a type, else a named entity; in these y is a type.
OF_A_TYPE: Final = frozenset({"ALL", "SOME", "BE-ALL", "ALL-SAME", "ALL-ANY"})
ANYWHERE: Final = frozenset({"ALL-SAME", "ALL-ANY", "THE-ANY"})
# Those with a universal quantifier: the human visibly begins them before asking for help (spec 5.3).
UNIVERSAL: Final = frozenset({"ALL", "ALL-SAME", "ALL-ANY", "BE-ALL"})
# A state that is required, and whether it must hold or must not.
Requirement = tuple[str, bool]


@dataclass(frozen=True, slots=True, kw_only=True)
class Subgoal:
    """One conjunct of a goal.

    Attributes:
        form: its logical form.
        x: the type or the entity it is about.
        y: the type or the entity in or on which x is wanted; None for BE and BE-ALL.
        relation: how x is to lie there; None where there is no y.
        of_x: states required of x.
        of_y: states required of y.
    """

    form: Form
    x: str
    y: str | None = None
    relation: Relation | None = None
    of_x: tuple[Requirement, ...] = ()
    of_y: tuple[Requirement, ...] = ()


@dataclass(frozen=True, slots=True)
class Goal:
    """What the human is up to.

    Attributes:
        subgoals: in the order of the template.
        template: its number, 0 to 68; None for a goal of one's own.
    """

    subgoals: tuple[Subgoal, ...]
    template: int | None = None
