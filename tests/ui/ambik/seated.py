"""Calls of the browser of a robot, a user or an annotator, and the logged task."""

from __future__ import annotations

from typing import Any

import visiting

from logs import LogReader
from simulator.ambik.annotation.form import ORDER
from simulator.ambik.items import Draft, DraftItem, Item, PairItem, item_from_row
from ui.actions import Actions


class Visit(visiting.Visit):
    """A browser at the pages of one episode, through the actions."""

    @property
    def stage(self) -> str | None:
        """The stage of the page; of the task the move that is due, or ``wait``."""
        stage = self.root.get("data-stage", "task")
        if stage == "task" and self.root["data-my-turn"] == "0":
            return "wait"
        due = {"user": "answer", "robot": "decide", "annotator": "annotate"}
        return due[self.root["data-seat"] or ""] if stage == "task" else stage

    async def act(self, action: str, *marked: str) -> dict[str, Any]:
        return await self.send(filled={"marked": list(marked), "act": action})

    async def ask(self, question: str, *marked: str) -> dict[str, Any]:
        return await self.send(filled={"marked": list(marked), "ask": question})

    async def check(self, **fields: Any) -> dict[str, Any]:
        """Return the result of checking an annotator's form that is not sent yet."""
        return await self.actions.check_form(self.call | {"filled": fields})


async def play(
    actions: Actions, seat: str = "robot", language: str = "en", opposite: str = "", type: str = "any"
) -> Visit:
    """Free play, up to the instructions."""
    other = {"robot": "user", "user": "robot"}.get(seat)
    others = (
        {other: opposite or {"user": "offline/item", "robot": "offline/always-asks"}[other]} if other else {}
    )
    wishes = {"benchmark": "ambik", "seat": seat, "others": others, "rules": {"type": type}}
    return await Visit.start(actions, **wishes, language=language)


async def enter(actions: Actions, study: str, who: str, language: str = "en") -> Visit:
    """Take a place in a study, up to the consent."""
    return await Visit.enter(actions, study, who, language=language)


def item_of(reader: LogReader, episode: str) -> Item:
    """Return the item being played; the pages do not contain all of it."""
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
