"""What the browser of a robot, a user or an annotator sends, and what the log says of the task."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode, urlparse

import visiting

from logs import LogReader
from simulator.ambik.annotation.rules import ORDER
from simulator.ambik.items import DraftItem, Item, PairItem
from simulator.ambik.pairs import Draft
from simulator.ambik.rows import item_from_row
from ui.actions import Actions

KEY = "participant-key-0001"


class Visit(visiting.Visit):
    """A browser at the pages of one episode, through the actions."""

    async def send(self, number: int | None = None, **said: Any) -> dict[str, Any]:
        self.count += 1
        move = {
            "number": self.number if number is None else number,
            "render": f"render-{self.count:04}",
            "seconds": 1.5,
            "shown_at": "2026-01-02T03:04:05.678Z",
            "keys_used": True,
        }
        answer = await self.actions.send(self.call | move | said)
        self.html = answer["html"]
        return answer

    async def begin(self) -> None:
        """Through consent and instructions."""
        if self.stage == "consent":
            await self.send(text="yes")
        if self.stage == "instructions":
            await self.send(text="ready")

    async def act(self, action: str, *marked: str) -> dict[str, Any]:
        return await self.send(choice={"marked": list(marked), "act": action})

    async def ask(self, question: str, *marked: str) -> dict[str, Any]:
        return await self.send(choice={"marked": list(marked), "ask": question})

    async def check(self, **fields: Any) -> dict[str, Any]:
        """What is said of an annotator's form that is not sent."""
        room = self.actions.rooms["ambik"]
        return await room.calls["check_pair"](self.call | {"filled": fields})


async def play(actions: Actions, seat: str = "robot", language: str = "en", **wishes: str) -> Visit:
    """Free play, up to the instructions."""
    answer = await actions.start({"room": "ambik", "seat": seat, "language": language} | wishes)
    visit = Visit(actions, urlparse(answer["go"]).query, language)
    await visit.look()
    return visit


async def ask_for_place(actions: Actions, study: str, who: str, language: str = "en") -> dict[str, Any]:
    query = urlencode({"study": study, "PROLIFIC_PID": who})
    call = {"path": "/study", "query": query, "language": language, "participant_key": KEY}
    return await actions.enter_study(call)


async def enter(actions: Actions, study: str, who: str, language: str = "en") -> Visit:
    """Take a place in a study, up to the consent."""
    answer = await ask_for_place(actions, study, who, language)
    visit = Visit(actions, urlparse(answer["go"]).query, language)
    await visit.look()
    return visit


def item_of(reader: LogReader, episode: str) -> Item:
    """What is played; the pages do not hold all of it."""
    return item_from_row(reader.item(reader.episode(episode).item_hash))


def task_of(reader: LogReader, episode: str) -> PairItem:
    item = item_of(reader, episode)
    assert isinstance(item, PairItem)
    return item


def draft_of(reader: LogReader, episode: str) -> Draft:
    item = item_of(reader, episode)
    assert isinstance(item, DraftItem)
    return item.draft


def pair_fields(draft: Draft) -> dict[str, Any]:
    """A form as the draft proposes it, with the first candidate that there is."""
    kind = next(kind for kind in ORDER if kind in draft.candidates)
    chosen = draft.candidates[kind]
    return {
        "clear": draft.clear,
        "objects": list(draft.objects),
        "scene": draft.scene,
        "indirect": draft.indirect,
        "type": kind,
        "passed_over": "",
        "one_ambiguity": True,
        "ambiguous": chosen.task,
        "question": chosen.question,
        "answer": chosen.answer,
        "clear_plan": list(draft.plan),
        "ambiguous_plan": list(draft.ambiguous_plan),
        "step": 1,
        "shortlist": [],
        "intent": "onion",
        "variants": ["onion"],
        "delete": "",
        "comment": "",
    }
