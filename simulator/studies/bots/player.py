"""The replies of a bot: it submits to a page what the built-in player of its seat would say."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from random import Random
from typing import Any, Final

from logs import LogReader
from logs.rows import Episode, Turn
from simulator import catalog
from simulator.errors import InputError
from simulator.models import ModelOptions
from simulator.runner.build import Models, load_machine
from simulator.runner.lobby import PERSON
from simulator.runner.machines import ActiveEpisode, task_turns
from simulator.seats import Reply
from simulator.studies.files import Study
from simulator.studies.machine import WAITING_ROOM
from simulator.studies.questions import ASKED, Question

_STATE: Final = re.compile(r'data-(episode|seat|number|stage|at|my-turn|ended|code)="([^"]*)"')
_OFFERED: Final = re.compile(r'data-act="st-go" data-say="(\w+)"')
_SAID: Final = {
    "consent": "yes",
    "instructions": "ready",
    "debriefing": "read",
    "break": "rested",
    "comment": "A bot was here.",
}


@dataclass(frozen=True)
class Page:
    """The state of an episode, read from its page."""

    html: str
    episode: str
    seat: str
    number: int
    stage: str
    my_turn: bool
    ended: bool

    @classmethod
    def read(cls, html: str) -> Page | str:
        """Return the state; for a page without an episode, its ``data-code``."""
        # The page's own attributes come first; lines of the dialogue have numbers as well.
        state: dict[str, str] = dict(reversed(_STATE.findall(html)))
        if "episode" not in state:
            return state.get("code", "sent away")
        stage = state.get("stage", state.get("at", ""))
        return cls(
            html,
            state["episode"],
            state.get("seat", ""),
            int(state["number"]),
            stage,
            state.get("my-turn") == "1" and stage != WAITING_ROOM,
            state.get("ended") == "1",
        )

    def is_behind(self, state: Mapping[str, Any]) -> bool:
        """Return True if the episode has moved on to `state`, an answer of ``/api/state``."""
        return state["ended"] or (state["number"], state["stage"]) != (self.number, self.stage)


class _Replied(Exception):
    def __init__(self, reply: Reply, knows: Any) -> None:
        self.reply = reply
        self.knows = knows


class _Interceptor:
    """A wrapper of a built-in player that raises its reply: the episode stops, and nothing is logged."""

    def __init__(self, seat: Any) -> None:
        self._seat = seat

    def __getattr__(self, name: str) -> Any:
        return getattr(self._seat, name)

    async def reply(self, view: Any) -> Reply:
        raise _Replied(await self._seat.reply(view), view.task)


class Player:
    """The source of the bots' replies: the built-in players of their seats."""

    def __init__(self, study: Study, reader: LogReader) -> None:
        self._study = study
        self._reader = reader
        self._machine: Any = load_machine(study.benchmark)
        # Items are immutable by hash.
        self._item = cache(lambda hash: self._machine.read_item(reader.item(hash)))
        self._models = Models(options=ModelOptions())
        benchmark = catalog.find(study.benchmark)
        self._usual = {seat.name: seat.usual for seat in benchmark.seats}
        if lacking := [seat for seat in study.people if self._usual[seat] == PERSON]:
            raise InputError(f"study {study.id!r}: {study.benchmark} has no built-in player for {lacking[0]}")

    async def fields(self, page: Page, random: Random) -> dict[str, Any]:
        """Return the fields that a page would send as the next turn."""
        stage = page.stage.removesuffix("_again")
        if stage in ASKED:
            asked = [question for question in self._study.questions if question.when == ASKED[stage]]
            return {
                "text": "",
                "answers": {question.id: answer_question(question, random) for question in asked},
            }
        if stage in _SAID:
            return {"text": _SAID[stage]}
        episode = self._reader.episode(page.episode)
        turns = task_turns(self._reader.turns(episode.id))
        offered = _OFFERED.search(page.html) if stage != "task" else None
        if offered:
            return {"text": offered[1]}
        if (answer := self._machine.cooperative_reply(episode.options, turns)) is not None:
            return _fields(answer, episode.options)
        person_only = self._machine.person_only_kinds
        task_only = [turn for turn in turns if turn.payload.get("kind") not in person_only]
        seat = page.seat if page.seat in self._study.people else self._study.people[0]
        replied = await self._builtin_reply(episode, seat, task_only)
        reply = self._machine.form_reply(replied.reply, replied.knows)
        return _fields(reply, replied.knows)

    async def _builtin_reply(self, episode: Episode, speaker: str, turns: Sequence[Turn]) -> _Replied:
        # Only the participant's seat is asked for a reply.
        seats = {
            seat: self._machine.seat_for(seat, self._usual[seat], self._models, episode.options)
            for seat in self._machine.episode_seats(episode.options)
        }
        seats[speaker] = _Interceptor(seats[speaker])
        live = ActiveEpisode(
            episode=episode,
            item=self._item(episode.item_hash),
            seats=seats,
            record=_stop,
        )
        try:
            await self._machine.advance(live, self._machine.rebuild(turns))
        except _Replied as replied:
            return replied
        raise InputError(f"{episode.id}: the built-in {speaker} has nothing to say")


def _fields(reply: Reply, knows: Any) -> dict[str, Any]:
    """Return the fields that a page would send for a reply.

    `knows`: what the player was shown (`simulator.seats.View.task`); None for a text that nobody was asked
    for, which is not a form.
    """
    return {"text": reply.text, **({"filled": reply.move} if reply.move and knows is not None else {})}


async def _stop(turn: Turn) -> None:
    raise _Replied(Reply(text=turn.text, move=turn.payload), None)


def answer_question(question: Question, random: Random) -> str | list[str]:
    """Return an answer of the question's kind; the right answer if there is one."""
    if question.right is not None:
        return question.right
    if question.kind in ("choice", "choices"):
        chosen = random.choice([*question.choices])
        return [chosen] if question.kind == "choices" else chosen
    if question.kind == "scale":
        return str(random.randint(1, question.points))
    if question.kind == "number":
        return str(question.least if question.least is not None else question.most or 30)
    return "A bot was here."
