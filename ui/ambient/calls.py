"""What a browser may send for AmbiEnt: sizes are checked here, the rules of the forms in the room."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import Field

from logs.rows import Turn
from simulator.ambient.annotation.rules import Discard
from simulator.ambient.assignment import PersonTask
from simulator.ambient.labels import Label
from simulator.seats import Reply
from ui.calls import Call
from ui.study.actions import MoveCall

_LONGEST = 20_000
"""Letters of a text that get as far as the room, which says in words that it is too long."""


class StartCall(Call):
    """Begin free play."""

    language: str = Field(default="en", max_length=16)
    task: PersonTask


class Rewrite(Call):
    """The pair rewritten for one reading."""

    premise: str = Field(max_length=_LONGEST)
    hypothesis: str = Field(max_length=_LONGEST)
    label: Label


class Form(Call):
    """What was filled in; which fields there are depends on the stage.

    Attributes:
        label: of a pair (label, qualification).
        plausible: per candidate, whether it is a possible interpretation.
        labels: one per pair (relabel), or all that are ticked (annotate).
        answer: to a statement.
        discard: why the pair is to be discarded (annotate).
        rewrites: of the readings (annotate).
        comment: anything else (relabel, annotate).
    """

    label: Label | None = None
    plausible: tuple[bool | None, ...] = Field(default=(), max_length=10)
    labels: tuple[Label | None, ...] = Field(default=(), max_length=10)
    answer: bool | None = None
    discard: Discard | None = None
    rewrites: tuple[Rewrite, ...] = Field(default=(), max_length=10)
    comment: str = Field(default="", max_length=_LONGEST)


class FormCall(MoveCall):
    """A turn: what is said to the consent and the instructions is its text, anything else its form."""

    filled: Form = Form()

    @classmethod
    def fields_at(
        cls, stage: str, options: Mapping[str, Any], turns: Sequence[Turn]
    ) -> dict[str, Any] | None:
        """See `MoveCall.fields_at`: people alone have to qualify."""
        if stage != "qualification":
            return None
        return {"filled": {"label": options["qualification"]["questions"][len(turns)]["label"]}}

    @classmethod
    def fields_of(cls, reply: Reply, knows: Any) -> dict[str, Any]:
        """See `MoveCall.fields_of`."""
        return {"text": reply.text, "filled": reply.move or {}}

    def form(self) -> dict[str, Any]:
        """Return the fields that were sent, as plain values."""
        return self.filled.model_dump(mode="json", exclude_unset=True)
