"""One protocol for every seat: a person, a model, a script, or a built-in offline player.

A seat is shown a `View` and answers with a `Reply`; nothing downstream asks who sat there, except to
report it. A person's seat does not answer inside the program: the episode stops and resumes from the
turn log once the person has submitted (`PersonSeat`).
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from simulator.errors import InputError, SeatError


@dataclass(frozen=True, slots=True)
class Line:
    """A turn as other seats may see it."""

    seat: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """Everything a seat may see when it is to move.

    Attributes:
        number: the number that this turn will have.
        language: ``en`` or ``zh``.
        lines: the dialogue so far, first turn first.
        task: what this seat knows of the item: the seeker's background, the provider's tree, …
        seed: a seed for this turn alone, derived from the episode's.
        repeat: the repetition of the item.
        moves: how often this seat has moved before; a line said on its behalf (a greeting) does not count.
    """

    episode_id: str
    seat: str
    number: int
    language: str
    lines: tuple[Line, ...]
    task: Any
    seed: int
    repeat: int = 0
    moves: int = 0
    options: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """A seat's move.

    Attributes:
        move: a structured move where the benchmark has one, such as which nodes are given.
        trace: the reasons; logged, and shown to researchers only.
        key: idempotency key of a person's submission.
        seconds: how long the seat took, if it measured that itself (as a browser does).
    """

    text: str = ""
    move: Mapping[str, Any] | None = None
    trace: Mapping[str, Any] = field(default_factory=dict)
    key: str | None = None
    seconds: float | None = None


Kind = Literal["person", "model", "script", "offline"]


class Seat(Protocol):
    """A participant of an episode: a person, model, script or built-in player."""

    @property
    def name(self) -> str:
        """The name in the log: ``person``, ``openai/gpt-4o``, ``offline/seeker`` and so on."""

    @property
    def kind(self) -> Kind:
        """Person, model, script or offline."""

    async def reply(self, view: View) -> Reply:
        """Make a move.

        Raises:
            SeatError: if the seat breaks the rules (the episode is aborted).
            ModelError: if its model fails (the episode fails and is run again).
        """


class PersonSeat:
    """A person. The runner stops the episode at this seat until the person has submitted."""

    kind: Kind = "person"
    name = "person"

    async def reply(self, view: View) -> Reply:
        """Refuse: never called, since the graph ends its invocation when a person is to move.

        Raises:
            RuntimeError: always.
        """
        raise RuntimeError(f"a person sits in the seat {view.seat!r}; submit their reply instead")


class ScriptSeat:
    """A seat that says scripted lines one after the other, or the answer of a function of the view."""

    def __init__(
        self,
        script: Iterable[str | Reply] | Callable[[View], str | Reply],
        name: str = "script",
        kind: Kind = "script",
    ) -> None:
        self.name, self.kind = name, kind
        self._answer = script if callable(script) else _line_reader(tuple(script))

    async def reply(self, view: View) -> Reply:
        """Return the next line. Stateless: the dialogue so far determines which line is next.

        Raises:
            SeatError: if the lines have run out.
            InputError: if the function returns anything but a text or a `Reply`.
        """
        answer = self._answer(view)
        if not isinstance(answer, str | Reply):
            raise InputError(f"{self.name} returned {answer!r}; it must return a text or a Reply.")
        return Reply(text=answer) if isinstance(answer, str) else answer


class AgentSeat:
    """A user's own class or function, named ``python:module:Agent`` or installed under ``plugin/…``.

    It either has a method ``reply(view)`` or is itself called with the view; both may be asynchronous and
    return a text or a `Reply`.
    """

    kind: Kind = "script"

    def __init__(self, name: str, agent: Any) -> None:
        answer = getattr(agent, "reply", agent)
        if not callable(answer):
            raise InputError(f"{name}: must have a method reply(view) or be a function of a view")
        self.name = name
        self._answer = answer

    async def reply(self, view: View) -> Reply:
        """Return the agent's answer.

        Raises:
            SeatError: if it is neither a text nor a `Reply`.
        """
        answer = self._answer(view)
        if inspect.isawaitable(answer):
            answer = await answer
        if isinstance(answer, str):
            return Reply(text=answer)
        if not isinstance(answer, Reply):
            raise SeatError(f"{self.name} answered {type(answer).__name__}, not a text.", view.seat)
        return answer


def _line_reader(lines: tuple[str | Reply, ...]) -> Callable[[View], str | Reply]:
    def answer(view: View) -> str | Reply:
        if view.moves >= len(lines):
            raise SeatError(f"The {view.seat}'s script ended before the dialogue did.", view.seat)
        return lines[view.moves]

    return answer
