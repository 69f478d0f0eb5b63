"""Requests of a participant's browser, and the right answers from the log."""

from __future__ import annotations

from typing import Any

import visiting

from logs import LogReader
from simulator.ambient.items import CrowdItem, Item, item_from_row
from ui.actions import Actions


class Visit(visiting.Visit):
    """A browser on the pages of one episode, simulated by actions."""

    async def fill(self, **form: Any) -> dict[str, Any]:
        """Send a form."""
        return await self.send(filled=form)

    async def check(self, **form: Any) -> dict[str, list[dict[str, str]]]:
        """Return the problems of a form by field."""
        answer = await self.actions.check_form({**self.call, "filled": form})
        problems: dict[str, list[dict[str, str]]] = answer["problems"]
        return problems

    async def qualify(self, reader: LogReader, right: int = 5) -> None:
        """Answer the qualification, with the given number of right answers."""
        questions = reader.episode(self.episode).options["qualification"]["questions"]
        for place, question in enumerate(questions):
            wrong = "neutral" if question["label"] != "neutral" else "entailment"
            await self.fill(label=question["label"] if place < right else wrong)


async def play(actions: Actions, task: str = "crowd", language: str = "en") -> Visit:
    """Start free play, up to the instructions."""
    return await Visit.start(
        actions, benchmark="ambient", seat="annotator", rules={"task": task}, language=language
    )


async def enter(actions: Actions, study: str, who: str = "", **more: str) -> Visit:
    """Take a place in a study, up to the consent."""
    return await Visit.enter(actions, study, who, **more)


def item_of(reader: LogReader, episode: str) -> Item:
    """Return the item, which the pages do not contain."""
    return item_from_row(reader.item(reader.episode(episode).item_hash))


def crowd_item(reader: LogReader, episode: str) -> CrowdItem:
    item = item_of(reader, episode)
    assert isinstance(item, CrowdItem)
    return item


async def judge(visit: Visit, item: CrowdItem, *, label: str = "neutral") -> None:
    """Answer the three steps as in the dataset, rejecting the distractor."""
    await visit.fill(label=label)
    await visit.fill(plausible=[candidate.label is not None for candidate in item.candidates])
    await visit.fill(labels=[candidate.label or "neutral" for candidate in item.candidates], comment="")
