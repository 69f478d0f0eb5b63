"""The provider's experts (paper IV, Algorithm 1): their questions and answers.

An expert judges or writes; it never decides what may be given. `provider.py` does: it checks every
answer against the frontier, so its invariants hold for any expert. There are two sets of experts:
`players.models` asks a language model, `players.experts_offline` needs no model.

One provider may combine experts of several models. Its name is ``experts:type=A,walk=B,respond=C``,
where A, B and C are ``provider/model``, optionally with a server, as in
``openai/m@http://localhost:8000/v1``, or ``offline/experts``. The parts are

* ``opening``: whether the seeker asks about the task, before the opening is given (default: as ``type``);
* ``type``: expert 0, the type of the utterance;
* ``walk``: the nodes that answer the utterance;
* ``join``: one reply from several nodes (default: as ``respond``);
* ``respond``: Response II.

Unnamed parts among ``type``, ``walk`` and ``respond`` use the first model that is named.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any, Final, Literal, Protocol, get_args

from simulator.errors import InputError
from simulator.seats import Line
from trees import Frontier, Node, Task


class TurnType(IntEnum):
    """The kind of the seeker's last utterance (spec section 3, step 2)."""

    WHOLE_TASK = 1
    ANSWERABLE = 2
    UNANSWERABLE = 3
    REPEATED = 4
    UNRELATED = 5
    VAGUE = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class Situation:
    """The view of every expert.

    Attributes:
        lines: the dialogue so far (seats ``seeker`` and ``provider``); the last line is the seeker's.
        number: number of the provider's next turn, for the log.
        seed: seed for experts that vary their wording.
        repeat: repetition of the item, so that cached answers are not shared between repetitions.
    """

    task: Task
    lines: tuple[Line, ...]
    frontier: Frontier
    episode_id: str = ""
    number: int = 0
    seed: int = 0
    repeat: int = 0

    @property
    def utterance(self) -> str:
        """The seeker's last words."""
        return next((line.text for line in reversed(self.lines) if line.seat == "seeker"), "")


@dataclass(frozen=True, slots=True)
class Verdict:
    """A yes or no (does the utterance ask about the task at all?) and why."""

    yes: bool
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Classification:
    """The type of the seeker's utterance and why."""

    type: TurnType
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Choice:
    """The nodes that answer the seeker, with details for the log; an empty choice means Response II."""

    indices: tuple[str, ...] = ()
    reason: str = ""
    details: Mapping[str, Any] = field(default_factory=dict)


class Experts(Protocol):
    """A set of experts, stateless between calls."""

    @property
    def name(self) -> str:
        """Return the name for the log: ``offline/experts``, ``openai/gpt-4o``, …."""

    async def relevant(self, situation: Situation) -> Verdict:
        """Return whether the seeker asks about the task at all; called before the opening is given."""

    async def classify(self, situation: Situation) -> Classification:
        """Return the type of the seeker's utterance (expert 0)."""

    async def walk(self, situation: Situation, *, multi: bool) -> Choice:
        """Return the available nodes that answer it (types 2 and 3): the first, or all if `multi`."""

    async def join(self, situation: Situation, nodes: tuple[Node, ...]) -> str:
        """Return several nodes joined in one Response I, each text intact; empty for joining by rule."""

    async def respond(self, situation: Situation, type: TurnType) -> str:
        """Return Response II to an utterance of `type`, written from the dialogue alone."""


EXPERTS: Final = "experts:"
Part = Literal["opening", "type", "walk", "join", "respond"]
PARTS: Final[tuple[Part, ...]] = get_args(Part)


def read_experts(name: str) -> dict[Part, str]:
    """Return the model of each part from a provider's name.

    Raises:
        InputError: if the name is malformed; the message explains the syntax.
    """
    named: dict[str, str] = {}
    for piece in name.removeprefix(EXPERTS).split(","):
        part, _, model = (text.strip() for text in piece.partition("="))
        if part not in PARTS or not model or part in named:
            raise InputError(
                f"{name!r}: cannot read {piece!r}. Write experts:type=A,walk=B,respond=C, each part once and "
                "with a model (provider/model, provider/model@http://host/v1 or offline/experts); the parts "
                f"are {', '.join(PARTS)}."
            )
        named[part] = model
    first = next(iter(named.values()))
    models = {part: named.get(part, first) for part in PARTS}
    return models | {
        "opening": named.get("opening", models["type"]),
        "join": named.get("join", models["respond"]),
    }


def models_of(name: str) -> tuple[str, ...]:
    """Return the names of the models that the provider `name` uses.

    Raises:
        InputError: if the name is malformed.
    """
    if not name.startswith(EXPERTS):
        return (name,)
    return tuple(dict.fromkeys(read_experts(name).values()))


class MixedExperts:
    """Experts combined from several sets, one for each part; stateless."""

    def __init__(self, name: str, parts: Mapping[Part, Experts]) -> None:
        self.name = name
        self.relevant = parts["opening"].relevant
        self.classify = parts["type"].classify
        self.walk = parts["walk"].walk
        self.join = parts["join"].join
        self.respond = parts["respond"].respond
