"""The prompt for new pairs, and the pair in a model's answer (spec 2.2.2, 2.2.3)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from personas.templates import Rendered, render
from simulator.ambient.data import PoolPair

FIRST: Final = "Sentence 1:"
SECOND: Final = "Sentence 2: "
BLANK_LINE: Final = "\n\n"


def new_pairs_prompt(examples: Iterable[PoolPair], language: str = "en") -> Rendered:
    """Instruction, a blank line, each pair with a blank line after it, and the beginning of another pair.

    Args:
        examples: in their order; the seed last.
        language: of the instruction.

    Raises:
        TemplateError: if the instruction's template is missing or malformed.
    """
    instruction = render("ambient/new_pairs", language, {})
    blocks = [f"{FIRST} {pair.premise}\n{SECOND}{pair.hypothesis}" for pair in examples]
    return Rendered(BLANK_LINE.join((instruction.text, *blocks, FIRST)), instruction.version)


def parse_pair(text: str) -> tuple[str, str] | None:
    """Premise and hypothesis of an answer, without blanks around them; None if it is no pair.

    It is one if a line feed and ``Sentence 2: `` divide it into exactly two parts. Chat models begin anew
    with ``Sentence 1:`` where a completion would go on; that is passed over. What comes after a blank line
    is not part of it (for backends that have no stop sequences).
    """
    said = text.strip().removeprefix(FIRST).strip()
    parts = said.split(BLANK_LINE, 1)[0].split(f"\n{SECOND}")
    if len(parts) != 2:
        return None
    premise, hypothesis = (part.strip() for part in parts)
    return premise, hypothesis
