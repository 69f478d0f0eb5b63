"""What a browser may send for AmbiK: sizes are checked here, the rules of turns and forms in the room."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from simulator.ambik.terms import TaskType
from simulator.ambik.views import SeatName
from simulator.seats import Reply
from ui.calls import Call
from ui.declared.forms import FormCall

_LONGEST = 20_000
"""Letters of a text that get as far as the room, which says in words that it is too long."""
Text = Annotated[str, Field(max_length=_LONGEST)]
Kind = TaskType | Literal["any"]
"""What kind of task free play begins with."""
Texts = Annotated[tuple[Text, ...], Field(max_length=200)]


class StartCall(Call):
    """Begin free play."""

    language: str = Field(default="en", max_length=16)
    seat: SeatName
    type: Kind = "any"
    opposite: str = Field(default="", max_length=200)


class Choice(Call):
    """What a robot decides: what it holds for possible, and then an action or a question."""

    marked: Texts = ()
    act: Text | None = None
    ask: Text | None = None


class SeatCall(FormCall):
    """A turn: a robot's choice, or an annotator's form."""

    choice: Choice | None = None

    @classmethod
    def fields_of(cls, reply: Reply, knows: Any) -> dict[str, Any]:
        """See `MoveCall.fields_of`."""
        move = reply.move or {}
        if "marked" not in move:
            return super().fields_of(reply, knows)
        # The page has boxes for what is offered; a built-in robot may think of other actions.
        offered = knows.item.options
        marked = [action for action in move["marked"] if not offered or action in offered]
        return {"choice": {**move, "marked": marked or list(offered[:2])}}

    def form(self) -> dict[str, Any]:
        """Return the fields that were sent, as plain values."""
        if self.choice is None:
            return super().form()
        return self.choice.model_dump(mode="json", exclude_unset=True, exclude_none=True)
