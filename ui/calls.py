"""Schemas of the calls that pages make. Calls are not trusted; unknown fields are ignored."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Final, Literal
from urllib.parse import urlencode

from pydantic import BaseModel, ConfigDict, Field

from simulator.seats import Reply

Answer = dict[str, Any]
BROWSER_KEY: Final = r"^[A-Za-z0-9_-]{16,64}$"
"""Pattern of the random key that a browser keeps, by which a returning participant is recognised."""
PLAY: Final = "/play"
"""The page of every episode, for all benchmarks."""
STUDY: Final = "/study"
"""The welcome page of the study in the query (Gradio pages only work at the first level of a path)."""

_Id = Annotated[str, Field(max_length=40)]
_Name = Annotated[str, Field(max_length=200)]
_Answer = Annotated[str, Field(max_length=4000)]
_Typed = Annotated[str, Field(max_length=20_000)]
"""A text long enough for the benchmark itself to say that it is too long."""
_Scalar = bool | int | float | _Typed | None
_Entry = _Scalar | dict[_Name, _Scalar]
_Filled = dict[_Name, _Scalar | Annotated[list[_Entry], Field(max_length=1000)]]
"""Values of a form's visible fields, by name."""
_Render = Annotated[str, Field(pattern=r"^[\w-]{8,64}$")]


class Call(BaseModel):
    """A call from a browser."""

    model_config = ConfigDict(extra="ignore", frozen=True)


class PageCall(Call):
    """A call that names the page it comes from; its query has no leading ``?``."""

    language: str = Field(default="en", max_length=16)
    path: str = Field(default="/", max_length=200)
    query: str = Field(default="", max_length=2000)


class StartCall(Call):
    """Start an episode of free play.

    Attributes:
        item: index of the item; None for a random one.
        item_language: language of the item, if it can be chosen.
        rules: the other choices of the entry page.
    """

    language: str = Field(default="en", max_length=16)
    seat: _Name
    item: int | None = None
    item_language: Literal["", "en", "zh"] = ""
    others: dict[_Name, _Name] = Field(default_factory=dict, max_length=20)
    rules: dict[_Name, bool | int | float | _Name] = Field(default_factory=dict, max_length=100)


class EnterCall(PageCall):
    """Ask for a place in a study from its welcome page, or take a seat from an invitation.

    Attributes:
        participant_key: identifies the browser if no platform identifies the participant.
    """

    participant_key: str = Field(pattern=BROWSER_KEY)


class MoveCall(Call):
    """A turn: a text, or a filled-in form.

    Attributes:
        render: random key that the browser makes once per turn; the idempotency key together with `number`.
        number: the expected number of the turn when the page was rendered.
        keys_used: True if it was sent by keyboard.
        pasted: number of characters that were pasted or dropped in.
        answers: answers to the study's own questions, by question id.
    """

    render: _Render
    number: int = Field(ge=0, le=10_000)
    text: str = Field(default="", max_length=4000)
    seconds: float | None = Field(default=None, ge=0, le=1e7)
    shown_at: datetime | None = None
    keys_used: bool | None = None
    pasted: int = Field(default=0, ge=0, le=1_000_000)
    answers: dict[_Id, _Answer | list[_Answer]] = Field(default_factory=dict, max_length=100)
    filled: _Filled = Field(default_factory=dict, max_length=100)

    def reply(self) -> Reply:
        """Return the turn as a reply for the sessions."""
        move: dict[str, Any] = {**self.filled, "keys_used": self.keys_used}
        if self.answers:
            move["answers"] = self.answers
        if self.shown_at is not None:
            move["shown_at"] = self.shown_at.isoformat()
        trace = {"pasted": self.pasted} if self.pasted else {}
        key = f"{self.number}.{self.render}"
        return Reply(text=self.text, move=move, trace=trace, key=key, seconds=self.seconds)


class CheckCall(PageCall):
    """Validate a form before it is sent."""

    filled: _Filled = Field(default_factory=dict, max_length=100)


class JudgeCall(PageCall):
    """A player's own verdict on a finished episode of free play."""

    render: _Render
    success: bool


class AcknowledgeCall(PageCall):
    """Confirm that a researcher's message has been read."""

    message: str = Field(pattern=r"^[0-9a-f]{16}$")


def page_url(token: str) -> str:
    """Return the address of the page for the seat of `token`."""
    return f"{PLAY}?{urlencode({'t': token})}"
