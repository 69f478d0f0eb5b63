"""Turns of a dialogue between two seats, as the pages of ClarQ-LLM and HandMeThat send them."""

from __future__ import annotations

from typing import Any, Protocol

from pydantic import Field

from simulator.errors import ConflictError, InputError, SeatError
from simulator.seats import Reply
from ui.calls import Answer, PageCall
from ui.i18n import Strings
from ui.problems import problem_text
from ui.render.play import Notice
from ui.tokens import Pass


class SendCall(PageCall):
    """A person's turn.

    Attributes:
        render: id of the page render the turn was written on; with `number` the idempotency key.
        number: number that the turn was to have when the page was rendered.
    """

    render: str = Field(pattern=r"^[\w-]{8,64}$")
    number: int = Field(ge=0, le=10_000)
    text: str = Field(default="", max_length=4000)
    give: tuple[str, ...] = Field(default=(), max_length=50)
    before: str = Field(default="", max_length=1000)
    after: str = Field(default="", max_length=1000)
    seconds: float | None = Field(default=None, ge=0, le=1e7)


class Table(Protocol):
    """The sessions that a dialogue belongs to."""

    async def view(self, episode_id: str, seat: str) -> Any:
        """Return what a person in `seat` may see now."""
        ...

    async def submit(self, episode_id: str, seat: str, reply: Reply, *, number: int | None = None) -> Any:
        """Take a person's reply, written for turn `number`, once."""
        ...


async def take(
    table: Table, texts: Strings, seat: Pass, asked: SendCall, *, provider: bool = False
) -> tuple[Any, Notice | None]:
    """Take a turn: what the seat may see then, and why the turn does not count, if it does not.

    Args:
        table: the sessions.
        texts: of the page.
        seat: who moves.
        asked: the turn.
        provider: whether it may give parts of the answer (ClarQ-LLM).
    """
    try:
        view = await table.submit(
            seat.episode_id, seat.seat, _reply(asked, provider=provider), number=asked.number
        )
        return view, None
    except ConflictError:
        notice = Notice(texts("play.conflict"))
    except SeatError as error:
        refusal = texts.get(f"play.refused_{error.code}", problem_text(texts, error), node=error.node)
        notice = Notice(texts("play.refused", message=refusal), "problem")
    except InputError as error:
        notice = Notice(texts("play.refused", message=problem_text(texts, error)), "problem")
    return await table.view(seat.episode_id, seat.seat), notice


def state_of(view: Any) -> Answer:
    """Return where a dialogue stands, for a page that waits."""
    return {
        "number": view.number,
        "my_turn": view.my_turn,
        "ended": view.ended,
        "trouble": view.warning is not None,
    }


def _reply(asked: SendCall, *, provider: bool) -> Reply:
    move = None
    if provider:
        move = {"give": list(asked.give), "before": asked.before.strip(), "after": asked.after.strip()}
    return Reply(
        text="" if asked.give else asked.text.strip(),
        move=move,
        key=f"{asked.number}.{asked.render}",
        seconds=asked.seconds,
    )
