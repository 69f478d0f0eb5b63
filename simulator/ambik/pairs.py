"""Pairs of tasks, KnowNo's scenarios, and drafts of new pairs (spec 2, 9, 11): what the files hold."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from simulator.ambik.intents import Intent
from simulator.ambik.terms import APPLIANCES, Ambiguity, Member, Part


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """A clear task and a minimally different ambiguous one in the same scene (spec 2.2).

    Attributes:
        id: of the pair.
        objects: of the scene, without articles (``environment_short``); appliances are not among them.
        scene: the same in words, with articles (``environment_full``).
        clear: the unambiguous task (``unambiguous_direct``).
        indirect: the same with objects named loosely; empty where the data have none.
        ambiguous: the ambiguous task.
        type: what resolves the ambiguity.
        shortlist: objects among which a person would be undecided; often empty.
        question: what a good robot would ask.
        answer: what the user answers.
        clear_plan: steps, without their numbers.
        ambiguous_plan: likewise.
        step: index, from 0, of the step at which the ambiguity arises; None if the data do not say.
        intent: what the action must realise; None if the cell is empty.
        variants: what may be meant before anything is clarified, one intent per line; empty if unknown.
        take_ambiguous: whether the ambiguous member serves calibration; None outside of calibration rows.
        options: actions that might be meant, of our own data alone; empty elsewhere.
        shortlist_cell: the shortlist as it is written, which is what the published code reads (spec 10.1);
            None where that is its objects with comma and blank between them. Pairs are the same without it.
    """

    id: str
    objects: tuple[str, ...]
    scene: str
    clear: str
    ambiguous: str
    type: Ambiguity
    question: str
    answer: str
    clear_plan: tuple[str, ...]
    ambiguous_plan: tuple[str, ...]
    step: int | None
    intent: Intent | None
    indirect: str = ""
    shortlist: tuple[str, ...] = ()
    variants: tuple[Intent, ...] = ()
    take_ambiguous: bool | None = None
    options: tuple[str, ...] = ()
    shortlist_cell: str | None = field(default=None, compare=False)

    @property
    def shortlist_text(self) -> str:
        """The shortlist as it is written."""
        return ", ".join(self.shortlist) if self.shortlist_cell is None else self.shortlist_cell

    @property
    def things(self) -> tuple[str, ...]:
        """All that is in the scene, appliances included."""
        return (*self.objects, *(one for one in APPLIANCES if one not in self.objects))

    def task(self, member: Member) -> str:
        """The instruction of a member."""
        return self.ambiguous if member == "ambiguous" else self.clear

    def plan(self, member: Member) -> tuple[str, ...]:
        """The plan of a member."""
        return self.ambiguous_plan if member == "ambiguous" else self.clear_plan

    @property
    def clear_step(self) -> str:
        """The clear plan's line at which the ambiguity arises; empty if there is none."""
        there = self.step is not None and 0 <= self.step < len(self.clear_plan)
        return self.clear_plan[self.step] if there and self.step is not None else ""

    @property
    def calibration_member(self) -> Member:
        """The member that serves calibration (spec 7.1); the ambiguous one where the data do not say."""
        return "clear" if self.take_ambiguous is False else "ambiguous"


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """A mobile-manipulation scenario of KnowNo as AmbiK's authors converted it (spec 9).

    Attributes:
        type: without the suffix ``_task``: ``singlelabel``, ``spatial_ambiguous``, ``winograd``, ``unsafe``,
            ``unambiguous``, ``creative_multilabel``, ``creative_singlelabel`` or ``multilabel``.
        intended: objects, any of which will do.
        location: ``pick-up``, a drawer, a bin, an appliance or another object.
        part: what it serves, where the data say so.
    """

    id: str
    objects: tuple[str, ...]
    scene: str
    task: str
    intended: tuple[str, ...]
    location: str
    type: str
    intent: Intent | None = None
    part: Part | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A proposed ambiguous version of a draft's clear task (spec 11, step 3)."""

    type: Ambiguity
    task: str
    question: str
    answer: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """A pair that is to be made by annotators out of proposals (spec 11).

    Attributes:
        candidates: by type; the order in which annotators look at them is the screen's.
        plan: of the clear task, steps without numbers; may be empty.
        ambiguous_plan: of the ambiguous task as proposed; may be empty.
        objects: of the scene, without articles.
        scene: with articles.
        indirect: the clear task with objects named loosely, as proposed; may be empty.
    """

    id: str
    objects: tuple[str, ...]
    scene: str
    clear: str
    candidates: Mapping[Ambiguity, Candidate]
    plan: tuple[str, ...] = ()
    ambiguous_plan: tuple[str, ...] = ()
    indirect: str = ""
