"""What a participant's browser asks of the server, and what the log says the right answers are."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from html.parser import HTMLParser
from typing import Any
from urllib.parse import parse_qs, urlencode, urlparse

from logs import LogReader
from simulator.ambibench.prompt import Prompt
from simulator.ambibench.rows import item_from_row
from ui.actions import Actions

KEY = "participant-key-0001"
VOID = {"input", "link", "meta", "br", "img"}


class Page(HTMLParser):
    """Tags with their attributes, and texts; complains of what is not closed in its order."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self.open: list[tuple[str, dict[str, str | None]]] = []
        self.shown = ""
        self.feed(html)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append((tag, dict(attrs)))

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open, f"</{tag}> closes nothing"
        assert self.open.pop()[0] == tag

    def handle_data(self, data: str) -> None:
        self.texts.append(data)
        if any("data-text" in attrs for _, attrs in self.open):
            self.shown += data

    def one(self, name: str) -> dict[str, str | None]:
        """The attributes of the one tag that has the attribute `name`."""
        (found,) = [attrs for _, attrs in self.tags if name in attrs]
        return found


@dataclass
class Visit:
    """A browser at the pages of one episode, through the actions."""

    actions: Actions
    query: str
    language: str = "en"
    html: str = ""
    count: int = field(default=0)

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

    async def say(self, text: str, number: int | None = None, render: str = "") -> dict[str, Any]:
        self.count += 1
        number = self.number if number is None else number
        move = {
            "number": number,
            "text": text,
            "render": render or f"render-{self.count:04}",
            "seconds": 1.5,
            "shown_at": "2026-01-02T03:04:05.678Z",
            "keys_used": True,
        }
        answer = await self.actions.send(self.call | move)
        self.html = answer["html"]
        return answer


async def play(actions: Actions, language: str = "en", **wishes: Any) -> Visit:
    """Free play, up to the instructions."""
    asked = {
        "room": "ambibench",
        "setting": "multiple",
        "kind": "uninformative",
        "language": language,
    } | wishes
    answer = await actions.start(asked)
    visit = Visit(actions, urlparse(answer["go"]).query, language)
    await visit.look()
    return visit


async def ask(
    actions: Actions, study: str, who: str = "", key: str = KEY, language: str = "en"
) -> dict[str, Any]:
    """Ask for a place in a study."""
    given = {"study": study} | ({"PROLIFIC_PID": who, "SESSION_ID": "s"} if who else {})
    call = {"path": "/study", "query": urlencode(given), "language": language, "participant_key": key}
    return await actions.enter_study(call)


async def enter(actions: Actions, study: str, who: str = "", **more: str) -> Visit:
    """Take a place in a study, up to the consent."""
    answer = await ask(actions, study, who, **more)
    visit = Visit(actions, urlparse(answer["go"]).query, more.get("language", "en"))
    await visit.look()
    return visit


def prompt_of(reader: LogReader, episode: str) -> Prompt:
    """The prompt that is played."""
    item = item_from_row(reader.item(reader.episode(episode).item_hash))
    assert isinstance(item, Prompt)
    return item


def words(html: str) -> str:
    """What people read of a page."""
    return re.sub(r"\s+", " ", " ".join(Page(html).texts))
