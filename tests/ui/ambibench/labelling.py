"""Calls of a participant's browser, and the right answers by the log."""

from __future__ import annotations

from typing import Any

import visiting

from logs import LogReader
from simulator.ambibench.items import item_from_row
from simulator.ambibench.prompt import Prompt
from ui.actions import Actions


class Visit(visiting.Visit):
    """A browser at the pages of one episode, through the actions."""

    async def say(self, text: str, number: int | None = None, render: str = "") -> dict[str, Any]:
        return await self.send(number, render, text=text)


async def play(actions: Actions, language: str = "en", **wishes: Any) -> Visit:
    """Free play, up to the instructions."""
    return await Visit.start(
        actions, benchmark="ambibench", seat="participant", rules=wishes, language=language
    )


async def enter(actions: Actions, study: str, who: str = "", **more: str) -> Visit:
    """Take a place in a study, up to the consent."""
    return await Visit.enter(actions, study, who, **more)


def prompt_of(reader: LogReader, episode: str) -> Prompt:
    """The prompt that is played."""
    item = item_from_row(reader.item(reader.episode(episode).item_hash))
    assert isinstance(item, Prompt)
    return item
