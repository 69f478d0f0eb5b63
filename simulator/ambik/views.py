"""What people may see in AmbiK, and what an ended episode shows: the contract between room and pages."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from simulator.ambik.items import Draft
from simulator.ambik.terms import Ambiguity, Member
from simulator.benchmark import Move
from simulator.runner.declared_views import SeatPage


@dataclass(frozen=True, slots=True, kw_only=True)
class ParticipantView(SeatPage):
    """All that a person in one of the seats may see now. No intent, shortlist or type is in it for the robot.

    Attributes:
        scene: objects by name, in the data's order.
        appliances: what stands in every kitchen of the data.
        opening: it, and what the data say to it before the episode begins.
        options: actions that are offered, in display order; empty: the robot writes its own.
        wish: what the user wants, in words (the clear task); shown to the user alone.
        wish_language: in which it is said.
        detail: what matters to them besides (the data's answer to the data's question); likewise.
    """

    scene: tuple[str, ...] = ()
    appliances: tuple[str, ...] = ()
    task: str = ""
    opening: tuple[Move, ...] = ()
    previous: tuple[str, ...] = ()
    step: str = ""
    options: tuple[str, ...] = ()
    may_ask: bool = False
    wish: str = ""
    wish_language: str = "en"
    detail: str = ""
    draft: Draft | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Replay:
    """An ended episode with what was hidden.

    Attributes:
        type: what resolves the ambiguity; None where the task is clear.
        shortlist: between which a person would hesitate.
        marked: what the robot held for possible.
        asked: questions and what was answered; None while the answer is awaited.
        conformal: prediction sets of runs on the same item, by run; empty if there are none.
        question: what the data would have asked; empty if they do not say.
        right: whether that realises the intent; None if there is none.
        right_before: whether the first choice did.
        form: what an annotator filled in, as it is logged (`forms.form_record`).
    """

    task: str
    step: str = ""
    type: Ambiguity | None = None
    member: Member = "ambiguous"
    wish: str = ""
    wish_language: str = "en"
    intent: str = ""
    shortlist: tuple[str, ...] = ()
    marked: tuple[str, ...] = ()
    conformal: tuple[tuple[str, tuple[str, ...]], ...] = ()
    asked: tuple[tuple[str, str | None], ...] = ()
    question: str = ""
    answer: str = ""
    needed: bool = False
    action: str = ""
    right: bool | None = None
    right_before: bool | None = None
    form: Mapping[str, Any] = field(default_factory=dict)
