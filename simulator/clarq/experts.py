"""The provider's experts (paper IV, Algorithm 1): what they are asked and what they answer.

An expert judges or writes; it never decides what may be given. That is `provider.py`'s: it checks every
answer against the frontier, so the invariants hold whatever an expert says. Two sets of experts exist:
`players.models` asks a language model, `players.experts_offline` needs none.

Experts of several models may sit in one provider, each judging or writing what it does best. A provider is
then named ``experts:type=A,walk=B,respond=C``, where A, B and C are ``provider/model``, with a server of its
own as in ``openai/m@http://localhost:8000/v1``, or ``offline/experts``. The parts are

* ``opening``: before the opening, is the task asked about at all (default: who tells the type);
* ``type``: expert 0, of which type the utterance is;
* ``walk``: which nodes answer it;
* ``join``: several nodes in one reply (default: who responds);
* ``respond``: Response II.

Of ``type``, ``walk`` and ``respond``, one that is not named is done by the first that is.
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
        task: the task; its language is the dialogue's.
        lines: the dialogue so far (seats ``seeker`` and ``provider``); the last is the seeker's.
        frontier: where the dialogue stands in the tree.
        number: number of the provider's turn to come, for the log.
        seed: for experts that vary their words.
        repeat: which repetition of the item is played, so that a model is asked afresh in each.
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
    """Which available nodes answer the seeker; none means Response II.

    Attributes:
        indices: at most one for the single-info provider.
        details: scores per node, the pass that succeeded, …; goes into the log.
    """

    indices: tuple[str, ...] = ()
    reason: str = ""
    details: Mapping[str, Any] = field(default_factory=dict)


class Experts(Protocol):
    """A set of experts, stateless between calls."""

    @property
    def name(self) -> str:
        """Return how the log names it: ``offline/experts``, ``openai/gpt-4o``, …."""

    async def relevant(self, situation: Situation) -> Verdict:
        """Return, before the opening, whether the seeker asks about the task at all."""

    async def classify(self, situation: Situation) -> Classification:
        """Return of which type the seeker's utterance is (expert 0)."""

    async def walk(self, situation: Situation, *, multi: bool) -> Choice:
        """Return which available nodes answer it (types 2 and 3): the first, or all if `multi`."""

    async def join(self, situation: Situation, nodes: tuple[Node, ...]) -> str:
        """Return several nodes in one Response I, each text intact; empty to have them joined by rule."""

    async def respond(self, situation: Situation, type: TurnType) -> str:
        """Return Response II for an utterance of `type`, from the dialogue alone."""


EXPERTS: Final = "experts:"
Part = Literal["opening", "type", "walk", "join", "respond"]
PARTS: Final[tuple[Part, ...]] = get_args(Part)


def read_experts(name: str) -> dict[Part, str]:
    """Return the model of each part, out of a provider's name.

    Raises:
        InputError: if the name is not of that form; says how it is written.
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
    """Return the names of the models that a provider called `name` asks.

    Raises:
        InputError: if it names experts that there are not.
    """
    if not name.startswith(EXPERTS):
        return (name,)
    return tuple(dict.fromkeys(read_experts(name).values()))


class MixedExperts:
    """Experts of which each part is another's; stateless."""

    def __init__(self, name: str, parts: Mapping[Part, Experts]) -> None:
        self.name = name
        self.relevant = parts["opening"].relevant
        self.classify = parts["type"].classify
        self.walk = parts["walk"].walk
        self.join = parts["join"].join
        self.respond = parts["respond"].respond
