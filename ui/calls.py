"""Everything that pages call: nothing in a call is believed, and what is not asked for is left alone."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Final, Literal
from urllib.parse import urlencode

from pydantic import BaseModel, ConfigDict, Field

from simulator.seats import Reply

Answer = dict[str, Any]
BROWSER_KEY: Final = r"^[A-Za-z0-9_-]{16,64}$"
"""The form of what a browser draws once and keeps: it says who comes again."""
PLAY: Final = "/play"
"""Where every episode is played, whatever the benchmark."""
STUDY: Final = "/study"
"""The welcome page of the study that the query names: Gradio's page works on the first level only."""

_Id = Annotated[str, Field(max_length=40)]
_Name = Annotated[str, Field(max_length=200)]
_Answer = Annotated[str, Field(max_length=4000)]
_Typed = Annotated[str, Field(max_length=20_000)]
"""Letters of a text that get as far as the benchmark, which says in words that it is too long."""
_Scalar = bool | int | float | _Typed | None
_Entry = _Scalar | dict[_Name, _Scalar]
_Filled = dict[_Name, _Scalar | Annotated[list[_Entry], Field(max_length=1000)]]
"""The values of the fields of a form that are shown, by name."""
_Render = Annotated[str, Field(pattern=r"^[\w-]{8,64}$")]


class Call(BaseModel):
    """A call of the browser."""

    model_config = ConfigDict(extra="ignore", frozen=True)


class PageCall(Call):
    """A call that says which page it comes from.

    Attributes:
        language: of the page.
        path: of the page.
        query: its query string, without the leading ``?``.
    """

    language: str = Field(default="en", max_length=16)
    path: str = Field(default="/", max_length=200)
    query: str = Field(default="", max_length=2000)


class StartCall(Call):
    """Begin an episode of free play.

    Attributes:
        item: its place among the items; None for any.
        item_language: of the item, where that can be chosen.
        others: who sits in each other seat.
        rules: what was chosen beside them.
    """

    language: str = Field(default="en", max_length=16)
    seat: _Name
    item: int | None = None
    item_language: Literal["", "en", "zh"] = ""
    others: dict[_Name, _Name] = Field(default_factory=dict, max_length=20)
    rules: dict[_Name, bool | int | float | _Name] = Field(default_factory=dict, max_length=100)


class EnterCall(PageCall):
    """Ask for a place in a study, whose welcome page it comes from, or take a seat that a page invites to.

    Attributes:
        participant_key: stands for the browser where no platform says who comes.
    """

    participant_key: str = Field(pattern=BROWSER_KEY)


class MoveCall(Call):
    """A turn: what was said, or a form that was filled in.

    Attributes:
        render: drawn once per turn by the browser; with `number` the idempotency key.
        number: number that the turn was to have when the page was rendered.
        keys_used: whether it was sent without the mouse.
        pasted: characters that came by the clipboard, or were dropped in.
        answers: to a study's own questions, by their ids.
        filled: of a form.
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
        """Return the turn as the sessions take it."""
        move: dict[str, Any] = {**self.filled, "keys_used": self.keys_used}
        if self.answers:
            move["answers"] = self.answers
        if self.shown_at is not None:
            move["shown_at"] = self.shown_at.isoformat()
        trace = {"pasted": self.pasted} if self.pasted else {}
        key = f"{self.number}.{self.render}"
        return Reply(text=self.text, move=move, trace=trace, key=key, seconds=self.seconds)


class CheckCall(PageCall):
    """Ask what is wrong with a form, before it is sent."""

    filled: _Filled = Field(default_factory=dict, max_length=100)


class JudgeCall(PageCall):
    """A person's own verdict on an episode of free play that is over."""

    render: _Render
    success: bool


class AcknowledgeCall(PageCall):
    """Say that a researcher's message has been read.

    Attributes:
        message: its id.
    """

    message: str = Field(pattern=r"^[0-9a-f]{16}$")


def address(token: str) -> str:
    """Return the address of the page of the seat that `token` is for."""
    return f"{PLAY}?{urlencode({'t': token})}"
