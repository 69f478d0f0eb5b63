"""What a participant's browser sends, and what the log says is right."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qs, urlencode, urlparse

from visiting import Page

from logs import LogReader
from simulator.ambient.items import CrowdItem, Item
from simulator.ambient.rows import item_from_row
from ui.actions import Actions

KEY = "participant-key-0001"


@dataclass
class Visit:
    """A browser at the pages of one episode, through the actions."""

    actions: Actions
    query: str
    language: str = "en"
    html: str = ""
    count: int = 0

    @property
    def call(self) -> dict[str, Any]:
        return {"path": "/play", "query": self.query, "language": self.language, "participant": ""}

    @property
    def token(self) -> str:
        return parse_qs(self.query)["t"][0]

    @property
    def episode(self) -> str:
        return self.actions.signer.read(self.token).episode_id

    @property
    def root(self) -> dict[str, str | None]:
        return Page(self.html).one("data-title")

    @property
    def stage(self) -> str | None:
        return self.root.get("data-stage")

    @property
    def number(self) -> int:
        return int(self.root["data-number"] or "")

    async def look(self) -> str:
        self.html = (await self.actions.page(self.call))["html"]
        return self.html

    async def send(self, number: int | None = None, render: str = "", **said: Any) -> dict[str, Any]:
        self.count += 1
        move = {
            "number": self.number if number is None else number,
            "render": render or f"render-{self.count:04}",
            "seconds": 1.5,
            "shown_at": "2026-01-02T03:04:05.678Z",
            "keys_used": True,
        }
        answer = await self.actions.send(self.call | move | said)
        self.html = answer["html"]
        return answer

    async def fill(self, **form: Any) -> dict[str, Any]:
        """Send a form."""
        return await self.send(filled=form)

    async def begin(self) -> None:
        """From consent or instructions to the first form."""
        if self.stage == "consent":
            await self.send(text="yes")
        if self.stage == "instructions":
            await self.send(text="ready")

    async def qualify(self, reader: LogReader, right: int = 5) -> None:
        """Through the questions, so many of them answered rightly."""
        questions = reader.episode(self.episode).options["qualification"]["questions"]
        for place, question in enumerate(questions):
            wrong = "neutral" if question["label"] != "neutral" else "entailment"
            await self.fill(label=question["label"] if place < right else wrong)


async def play(actions: Actions, task: str = "crowd", language: str = "en") -> Visit:
    """Free play, up to the instructions."""
    answer = await actions.start({"room": "ambient", "task": task, "language": language})
    visit = Visit(actions, urlparse(answer["go"]).query, language)
    await visit.look()
    return visit


async def ask(
    actions: Actions, study: str, who: str = "", key: str = KEY, language: str = "en"
) -> dict[str, Any]:
    """Ask for a place in a study."""
    given = {"study": study} | ({"PROLIFIC_PID": who} if who else {})
    call = {"path": "/study", "query": urlencode(given), "language": language, "participant_key": key}
    return await actions.enter_study(call)


async def enter(actions: Actions, study: str, who: str = "", **more: str) -> Visit:
    """Take a place in a study, up to the consent."""
    answer = await ask(actions, study, who, **more)
    visit = Visit(actions, urlparse(answer["go"]).query, more.get("language", "en"))
    await visit.look()
    return visit


def item_of(reader: LogReader, episode: str) -> Item:
    """What is played; the pages do not hold it."""
    return item_from_row(reader.item(reader.episode(episode).item_hash))


def crowd_item(reader: LogReader, episode: str) -> CrowdItem:
    item = item_of(reader, episode)
    assert isinstance(item, CrowdItem)
    return item


async def judge(visit: Visit, item: CrowdItem, *, label: str = "neutral") -> None:
    """Through the three steps as the dataset has it; the distractor is no reading."""
    await visit.fill(label=label)
    await visit.fill(plausible=[one.label is not None for one in item.candidates])
    await visit.fill(labels=[one.label or "neutral" for one in item.candidates], comment="")
