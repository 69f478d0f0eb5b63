"""What people see of an episode that is over: everything that was hidden, and what came of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from simulator.benchmark import Move
from simulator.plan_blocks import StoryStep

Mode = Literal["full", "partial"]
Protocol = Literal["free", "paper"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """A meaning that the utterance left open.

    Attributes:
        text: in words.
        probability: L(m' | u) of the pragmatic listener; None where the file does not say.
        meant: whether it is m.
        heard: whether it is r.
        objects: how many things it fits.
    """

    text: str
    probability: float | None
    meant: bool
    heard: bool
    objects: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Deed:
    """Something that the robot did or asked.

    Attributes:
        text: in words; of a question its words.
        answer: of a question the human's answer; else empty.
    """

    text: str
    answer: str = ""
    failed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Replay:
    """An ended episode with everything that was hidden.

    Attributes:
        goal: the goal in words, one line per subgoal.
        why: why it is of this level, one sentence.
        counts: sizes of A(m), A(u), A(G), A(r).
        over: why it ended: ``success``, ``limit``; ``stopped`` after the instruction had been carried out
            with something else, ``gave_up`` if it never had been; empty if it ended before its time.
        carried_out: the last deed by which the instruction was carried out, in words; empty if there is none.
        scores: metric -> value.
    """

    language: str
    task_id: str
    level: int
    quest: str
    limit: int
    story: tuple[StoryStep, ...]
    instruction: str
    meaning: str
    goal: tuple[str, ...]
    goal_title: str
    why: str
    readings: tuple[Reading, ...]
    counts: dict[str, int]
    lines: tuple[Move, ...]
    deeds: tuple[Deed, ...]
    over: Literal["", "success", "stopped", "gave_up", "limit"]
    carried_out: str
    demo: tuple[str, ...]
    scores: dict[str, float | None]
