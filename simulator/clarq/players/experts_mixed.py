"""Experts of several models in one provider: each judges or writes what it does best.

A provider is then named ``experts:type=A,walk=B,respond=C``, where A, B and C are ``provider/model``, with a
server of its own as in ``openai/m@http://localhost:8000/v1``, or ``offline/experts``. The parts are

* ``opening``: before the opening, is the task asked about at all (default: who tells the type);
* ``type``: expert 0, of which type the utterance is;
* ``walk``: which nodes answer it;
* ``join``: several nodes in one reply (default: who responds);
* ``respond``: Response II.

Of ``type``, ``walk`` and ``respond``, one that is not named is done by the first that is.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal, get_args

from simulator.clarq.experts import Choice, Experts, Heard, Situation, TurnType, Verdict, Wording
from simulator.errors import InputError
from trees import Node

EXPERTS: Final = "experts:"
Part = Literal["opening", "type", "walk", "join", "respond"]
PARTS: Final[tuple[Part, ...]] = get_args(Part)


def read_experts(name: str) -> dict[Part, str]:
    """The model of each part, out of a provider's name.

    Raises:
        InputError: if the name is not of that form; says how it is written.
    """
    given: dict[str, str] = {}
    for piece in name.removeprefix(EXPERTS).split(","):
        part, _, model = (text.strip() for text in piece.partition("="))
        if part not in PARTS or not model or part in given:
            raise InputError(
                f"{name!r}: cannot read {piece!r}. Write experts:type=A,walk=B,respond=C, each part once and "
                "with a model (provider/model, provider/model@http://host/v1 or offline/experts); the parts "
                f"are {', '.join(PARTS)}."
            )
        given[part] = model
    first = next(iter(given.values()))
    found = {part: given.get(part, first) for part in PARTS}
    return found | {
        "opening": given.get("opening", found["type"]),
        "join": given.get("join", found["respond"]),
    }


class MixedExperts:
    """Experts of which each part is another's; stateless."""

    def __init__(self, name: str, parts: Mapping[Part, Experts]) -> None:
        self.name = name
        self._parts = parts

    async def relevant(self, situation: Situation) -> Verdict:
        """Ask whose part ``opening`` is."""
        return await self._parts["opening"].relevant(situation)

    async def hear(self, situation: Situation) -> Heard:
        """Ask whose part ``type`` is."""
        return await self._parts["type"].hear(situation)

    async def walk(self, situation: Situation, *, multi: bool) -> Choice:
        """Ask whose part ``walk`` is."""
        return await self._parts["walk"].walk(situation, multi=multi)

    async def compose(self, situation: Situation, nodes: tuple[Node, ...]) -> Wording:
        """Ask whose part ``join`` is."""
        return await self._parts["join"].compose(situation, nodes)

    async def respond(self, situation: Situation, type: TurnType) -> str:
        """Ask whose part ``respond`` is."""
        return await self._parts["respond"].respond(situation, type)
