"""What people may see in AmbiK while an episode goes on."""

from __future__ import annotations

from dataclasses import dataclass

from simulator.ambik.items import Draft
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
