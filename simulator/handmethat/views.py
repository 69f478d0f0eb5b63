"""What people see of an episode: the robot's seat while it lasts, everything when it is over.

Labels are words in the episode's language (``red apple``); names are the entities' (``apple#1``).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from logs.rows import Ending

Mode = Literal["full", "partial"]
Protocol = Literal["free", "paper"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ThingView:
    """A thing that the robot sees.

    Attributes:
        kind: its type, for a picture.
        states: words for its states (``dusty``, ``closed``, …), colour and size first.
        lid: ``open`` or ``closed`` for what opens, else None.
        contents: what is in or on it; None if that cannot be seen.
    """

    name: str
    label: str
    kind: str
    states: tuple[str, ...]
    lid: Literal["open", "closed"] | None = None
    contents: tuple[ThingView, ...] | None = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class PlaceView:
    """A location as the robot sees it.

    Attributes:
        relation: whether things lie ``inside`` or ``ontop``.
        here: whether the robot stands there.
        states: words for its states; empty where the robot cannot see it.
        lid: ``open`` or ``closed`` for what opens, else None.
        contents: what lies there; None if that cannot be seen now.
    """

    name: str
    label: str
    relation: str
    here: bool
    states: tuple[str, ...]
    lid: Literal["open", "closed"] | None
    contents: tuple[ThingView, ...] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class StoryStep:
    """One thing that the human did, and where.

    Attributes:
        verb: ``move``, ``pick-up``, ``put``, ``open``, ``close``, ``toggle``, ``heat``, ``cool``, ``slice``,
            ``soak`` or ``clean``.
        place: name of the location where it happened.
        things: names of the things it was about.
    """

    text: str
    verb: str
    place: str
    things: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandView:
    """A command that may be given now: what is sent, what is shown, and what it is about."""

    text: str
    label: str
    verb: str
    things: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionView:
    """A question that the robot may ask: the command that is sent, its words and its cost in points."""

    text: str
    label: str
    cost: int


@dataclass(frozen=True, slots=True, kw_only=True)
class LineView:
    """One turn: who moved, what was said or done, and its kind.

    Attributes:
        kind: ``command`` or ``question`` of the robot; ``utterance``, ``answer``, ``thanks`` or ``complaint``
            of the human; ``outcome`` for what the household answers to a command.
    """

    seat: str
    text: str
    kind: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SeatView:
    """The view of a person in either seat.

    Attributes:
        number: number that the next turn will have; part of a submission's idempotency key.
        first: number of the instruction's turn; those of a study's steps are before it.
        stage: what a study shows in place of the household; empty while that goes on, at the end ``done``.
        ended: whether it is over; `success` then says how.
        ending: how it ended, once it has.
        story: what the human did before asking.
        instruction: the utterance in words.
        lines: what has happened so far, turn by turn.
        moves: commands and questions so far.
        cost: points spent so far, a positive number.
        limit: moves after which the episode is cut.
        warning: something went wrong opposite, and what happens next.
        study: whether it is part of a study.
    """

    episode_id: str
    seat: str
    language: str
    number: int
    my_turn: bool
    waiting_for: str | None
    ended: bool
    ending: Ending | None
    success: bool | None
    story: tuple[StoryStep, ...]
    instruction: str
    lines: tuple[LineView, ...]
    moves: int
    cost: int
    limit: int
    warning: str | None = None
    first: int = 0
    stage: str = ""
    study: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class RobotView(SeatView):
    """All that a person in the robot's seat may see.

    Attributes:
        protocol: ``paper``: one object, no questions, over after execution; ``free``: anything goes.
        holding: what the robot holds.
        human_holds: what the human holds.
        beside_human: whether the robot stands beside the human.
        commands: what can be done now.
        questions: what can be asked; empty in the paper's protocol.
    """

    mode: Mode
    protocol: Protocol
    places: tuple[PlaceView, ...]
    holding: ThingView | None
    human_holds: tuple[ThingView, ...]
    beside_human: bool
    commands: tuple[CommandView, ...]
    questions: tuple[QuestionView, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class HumanView(SeatView):
    """All that a person in the human's seat may see: what is meant, and what the robot does and asks.

    Attributes:
        meaning: m in words.
        wanted: the things of A(m), in words.
        goal: the goal in words.
        pending: the robot's question that waits for an answer; None if none does.
    """

    meaning: str
    wanted: tuple[str, ...]
    goal: str
    pending: str | None


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
        failed: whether nothing came of it.
    """

    text: str
    answer: str = ""
    failed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Replay:
    """An ended episode with everything that was hidden.

    Attributes:
        meaning: m in words.
        goal: the goal in words, one line per subgoal.
        goal_title: the activity's name.
        why: why it is of this level, one sentence.
        readings: the likeliest meanings, likeliest first.
        counts: sizes of A(m), A(u), A(G), A(r).
        deeds: what the robot did and asked, in order.
        over: why it ended: ``success``, ``limit``; ``stopped`` after the instruction had been carried out
            with something else, ``gave_up`` if it never had been; empty if it ended before its time.
        carried_out: the last deed by which the instruction was carried out, in words; empty if there is none.
        demo: the expert's commands.
        scores: metric -> value.
    """

    language: str
    task_id: str
    level: int
    quest: str
    story: tuple[StoryStep, ...]
    instruction: str
    meaning: str
    goal: tuple[str, ...]
    goal_title: str
    why: str
    readings: tuple[Reading, ...]
    counts: dict[str, int]
    lines: tuple[LineView, ...]
    deeds: tuple[Deed, ...]
    over: Literal["", "success", "stopped", "gave_up", "limit"]
    carried_out: str
    demo: tuple[str, ...]
    scores: dict[str, float | None]
