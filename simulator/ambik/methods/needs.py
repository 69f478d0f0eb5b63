"""What a method needs of its models, said before anything is played (spec 8)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Protocol

from simulator.ambik.terms import NAMES, Method
from simulator.models import Capabilities, Needs

_LETTERS: Final = ("knowno", "lap")
TOP: Final = 5
"""Most likely tokens that are asked for in the place of a letter."""
_WITHOUT: Final = "lofreecp, binary or nohelp"


class Known(Protocol):
    """A model, or what is known of one that is not loaded yet."""

    @property
    def name(self) -> str:
        """``provider/model``."""
        ...

    @property
    def capabilities(self) -> Capabilities:
        """What it can do."""
        ...


def refusal(method: Method, generator: Known, chooser: Known | None = None, *, samples: int = 5) -> str:
    """Return why models cannot play a method, in a sentence with the way out; empty if they can."""
    chooses = chooser or generator
    if method in _LETTERS and not chooses.capabilities.logprobs:
        alone = chooser is None or chooser.name == generator.name
        way = "name a chooser that does (--chooser local/smollm2, transformers/… or openai/…)"
        return (
            f"{NAMES[method]} reads the probabilities of letters, and {chooses.name} gives none; "
            f"{way if alone else 'take another chooser'}, or play {_WITHOUT}"
        )
    if method == "lofreecp" and samples > 1 and "temperature" in getattr(generator, "ignored", ()):
        return (
            f"LofreeCP draws {samples} answers at a temperature, and {generator.name} takes none, so nothing "
            "says how far they differ; take a model that does, or play binary or nohelp"
        )
    return ""


def needs_of(method: Method, generator: str, chooser: str = "", *, samples: int = 5) -> Mapping[str, Needs]:
    """Return what a method asks of its models beside text, so that servers are asked before it is played."""
    if method in _LETTERS:
        return {generator: Needs()} | {chooser or generator: Needs(top_logprobs=TOP)}
    if method == "lofreecp":
        return {generator: Needs(samples=samples > 1)}
    return {generator: Needs()} | ({chooser: Needs()} if chooser and method == "binary" else {})
