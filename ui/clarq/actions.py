"""Calls of ClarQ-LLM's pages, beside those of all conversations (`ui.conversation`)."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar, Final, Literal
from urllib.parse import parse_qs

from pydantic import Field

from logs.rows import Turn
from simulator.clarq.data import BENCHMARK
from simulator.clarq.playing import PROVIDER, SEEKER
from simulator.clarq.sessions import VERDICT, ClarqSessions
from simulator.clarq.views import Replay, SeatView
from simulator.errors import InputError
from simulator.runner.lobby import PERSON
from simulator.seats import Reply
from ui.calls import Answer, PageCall
from ui.clarq.entry import entry_page
from ui.conversation import STEPS, ConversationActions
from ui.i18n import LANGUAGES, strings
from ui.render.frame import Frame, RoomLink
from ui.render.result import result_parts
from ui.render.tree import branches
from ui.rooms import Call
from ui.study.actions import MoveCall
from ui.tokens import Pass, Signer, TokenError

LINK: Final = RoomLink(BENCHMARK, "/", "tree")


class StartCall(PageCall):
    """Begin a dialogue."""

    seat: Literal["seeker", "provider"]
    dialogue_language: Literal["en", "zh"]
    task_id: str = Field(default="", max_length=200)
    opposite: str = Field(max_length=200)
    multi: bool = False


class JudgeCall(PageCall):
    """The provider's verdict on an ended dialogue."""

    render: str = Field(pattern=r"^[\w-]{8,64}$")
    success: bool


class SpeakCall(MoveCall):
    """A turn: words, or pieces of the answer with words around them."""

    give: tuple[str, ...] = Field(default=(), max_length=50)
    before: str = Field(default="", max_length=1000)
    after: str = Field(default="", max_length=1000)

    @classmethod
    def fields_at(
        cls, stage: str, options: Mapping[str, Any], turns: Sequence[Turn]
    ) -> dict[str, Any] | None:
        """See `MoveCall.fields_at`: people alone say how it went."""
        return {"text": VERDICT.choices[0]} if stage == VERDICT.kind else None

    @classmethod
    def fields_of(cls, reply: Reply, knows: Any) -> dict[str, Any]:
        """See `MoveCall.fields_of`: what is given stands in the tree already."""
        give = (reply.move or {}).get("give", [])
        return {"give": give} if give else {"text": reply.text}

    def form(self) -> dict[str, Any]:
        """Return what is given, for `Reply.move`."""
        return {"give": list(self.give), "before": self.before.strip(), "after": self.after.strip()}

    def reply(self) -> Reply:
        """Return the turn as the sessions take it; beside what is given, no words stand alone."""
        reply = super().reply()
        return replace(reply, text="" if self.give else reply.text.strip())


class ClarqActions(ConversationActions):
    """The calls, on live sessions."""

    room = BENCHMARK
    seat = SEEKER
    seats = (SEEKER, PROVIDER)
    link = LINK
    templates = "clarq"
    stages: ClassVar[Mapping[str, str]] = {**STEPS, VERDICT.kind: "task"}
    move_call = SpeakCall

    sessions: ClarqSessions

    def __init__(self, sessions: ClarqSessions, signer: Signer) -> None:
        super().__init__(sessions, signer)

    @property
    def calls(self) -> Mapping[str, Call]:
        """The calls of these pages alone."""
        return {"judge": self.judge}

    async def home(self, frame: Frame) -> str:
        """Return the entry."""
        catalogs = {language: self.sessions.catalog(language) for language in LANGUAGES}
        opponents = {seat: self.sessions.opponents(seat) for seat in self.seats}
        return entry_page(frame, self.link, catalogs, opponents, self.studies())

    async def start(self, call: Mapping[str, Any]) -> Pass:
        """Begin a dialogue; the pass to it.

        Raises:
            AskbackError: if it cannot begin.
            ValidationError: if the call is not of the right form.
        """
        asked = StartCall.model_validate(call)
        known = [entry.task_id for entry in self.sessions.catalog(asked.dialogue_language)]
        if not known:
            raise InputError("There are no tasks in this language.", code="no_tasks")
        # Which task a person is surprised with is nothing that a run has to reproduce.
        task_id = asked.task_id or random.SystemRandom().choice(known)
        episode_id = await self.sessions.start(
            task_id=task_id,
            language=asked.dialogue_language,
            seats={seat: PERSON if seat == asked.seat else asked.opposite for seat in self.seats},
            options={"multi": True} if asked.multi else {},
        )
        company = asked.opposite == PERSON
        return Pass(episode_id, asked.seat, person_opposite=company, host=company, room=self.room)

    async def judge(self, call: Mapping[str, Any]) -> Answer:
        """Note the provider's verdict.

        Raises:
            TokenError: if the call comes from no provider's page.
        """
        asked = JudgeCall.model_validate(call)
        seat = self.signer.read(parse_qs(asked.query).get("t", [""])[0])
        if seat.seat != PROVIDER or seat.room != self.room:
            raise TokenError("only the provider judges the seeker")
        await self.sessions.judge(seat.episode_id, seat.seat, asked.success, f"{asked.render}.judge")
        return {"accepted": True}

    def play_parts(self, frame: Frame, view: SeatView) -> Mapping[str, object]:
        """Return the words of a goodbye, and for the provider the tree."""
        tree = view.tree
        return {
            "goodbye": strings(view.language)("play.goodbye_line"),
            "tree": None if tree is None else branches(tree.opening, tree.opened, tree.nodes),
        }

    def end_parts(self, frame: Frame, view: SeatView, replay: Replay) -> Mapping[str, object]:
        """Return scores, what was found out, and the replay."""
        return result_parts(frame.texts, replay)
