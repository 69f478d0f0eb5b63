"""What the prompts of ClarQ say of a dialogue, as text.

Templates get whole texts, not lists to walk through: a dialogue grows, and a sandboxed template takes
tens of microseconds per attribute it looks at.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import Final, Literal, get_args

from personas.templates import quoted
from simulator.seats import Line
from trees import Language

Reader = Literal["seeker", "judge"]
Personas = Literal["default", "paper"]
"""Sets of stimuli: our own, or those of the paper (spec sections 2 and 4): its greeting, Jax's name in front
of his turns in chat mode, and the plan of its completion prompt."""
PERSONAS: Final[tuple[Personas, ...]] = get_args(Personas)
# How the seeker is called: by itself, and by those who judge the dialogue or answer it.
_SEEKER: Final[dict[Language, dict[Reader, str]]] = {
    "en": {"seeker": "You", "judge": "Seeker"},
    "zh": {"seeker": "你", "judge": "提问者"},
}
# The same lines are quoted in every prompt of a dialogue.
_quoted = lru_cache(maxsize=8192)(quoted)


def persona(name: str, personas: str) -> str:
    """Return the name of a template of ClarQ in a set of personas."""
    return f"clarq/{name}" if personas == "default" else f"clarq/{personas}_{name}"


def dialogue_text(lines: Iterable[Line], language: Language, reader: Reader) -> str:
    """Return one paragraph per turn, the speaker in front.

    For a judge, what somebody said stands on one line, so that it cannot pass for another's turn.
    """
    seeker = _SEEKER[language][reader]
    said = str if reader == "seeker" else _quoted
    return "\n".join(f"{'Jax' if line.seat == 'provider' else seeker}: {said(line.text)}" for line in lines)
