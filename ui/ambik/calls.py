"""What a browser may send for AmbiK: sizes are checked here, the rules of turns and forms in the room."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from simulator.ambik.terms import Ambiguity, TaskType
from simulator.ambik.views import SeatName
from simulator.seats import Reply
from ui.calls import Call, PageCall
from ui.study.actions import MoveCall

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


class PairFields(Call):
    """An annotator's form as it stands (spec 11.1); lists are split already.

    Attributes:
        passed_over: why the candidates before the chosen one are not adequate.
        one_ambiguity: whether exactly one thing is open.
        step: index, from 0, of the step at which the plans part; None if nothing is given.
        delete: why the row is to be deleted; empty if it is kept.
    """

    clear: Text = ""
    objects: Texts = ()
    scene: Text = ""
    indirect: Text = ""
    type: Ambiguity | None = None
    passed_over: Text = ""
    one_ambiguity: bool = False
    ambiguous: Text = ""
    question: Text = ""
    answer: Text = ""
    clear_plan: Texts = ()
    ambiguous_plan: Texts = ()
    step: int | None = Field(default=None, ge=-1, le=10_000)
    shortlist: Texts = ()
    intent: Text = ""
    variants: Texts = ()
    delete: Text = ""
    comment: Text = ""


class SeatCall(MoveCall):
    """A turn: a robot's choice or an annotator's form beside its text."""

    choice: Choice | None = None
    filled: PairFields | None = None

    @classmethod
    def fields_of(cls, reply: Reply, knows: Any) -> dict[str, Any]:
        """See `MoveCall.fields_of`."""
        move = reply.move or {}
        if "marked" not in move:
            return {"text": reply.text, **({"filled": move} if move else {})}
        # The page has boxes for what is offered; a built-in robot may think of other actions.
        offered = knows.item.options
        marked = [action for action in move["marked"] if not offered or action in offered]
        return {"choice": {**move, "marked": marked or list(offered[:2])}}

    def form(self) -> dict[str, Any]:
        """Return the fields that were sent, as plain values."""
        form = self.choice or self.filled
        if form is None:
            return {}
        return form.model_dump(mode="json", exclude_unset=True, exclude_none=self.choice is not None)


class CheckCall(PageCall):
    """Ask what is wrong with a form, before it is sent."""

    filled: PairFields = PairFields()
