"""The seats of a dialogue of ClarQ-LLM, and its rules."""

from __future__ import annotations

from typing import Annotated, Final, Literal

from pydantic import Field, PositiveInt

from simulator.field_options import SPARSE
from simulator.fields import EpisodeOptions, Fields

SEEKER: Final = "seeker"
PROVIDER: Final = "provider"
TURN_LIMIT: Final = 14  # seeker turns (paper VI-A)
Personas = Literal["default", "paper"]
"""Sets of stimuli: our own, or those of the paper (spec sections 2 and 4): its greeting, Jax's name in front
of his turns in chat mode, and the plan of its completion prompt."""


class DialogueRules(Fields):
    """Rules of dialogues that a run and a study can set."""

    turn_limit: PositiveInt = Field(default=TURN_LIMIT, description="seeker turns per dialogue")
    mode: Literal["completion", "chat"] = Field(
        default="completion", description="a model seeker's mode: completion or chat"
    )
    personas: Annotated[Personas, SPARSE] = Field(
        default="default", description="greeting and seeker's prompts: our own, or those of the paper"
    )
    multi: bool = Field(default=False, description="the multi-info provider")


class Rules(DialogueRules, EpisodeOptions):
    """The rules of a dialogue."""
