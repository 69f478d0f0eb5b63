"""Calls of a participant's browser for any benchmark, and readers of its pages."""

from __future__ import annotations

import re
from dataclasses import dataclass
from html.parser import HTMLParser
from typing import Any, NoReturn, Self
from urllib.parse import parse_qs, urlencode, urlparse

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

    def check_references(self) -> None:
        """Require ids that are unique, and attributes that refer to some that are there."""
        ids = [attrs["id"] for _, attrs in self.tags if "id" in attrs]
        assert len(ids) == len(set(ids))
        for name in ("aria-controls", "aria-describedby", "aria-labelledby", "for"):
            used = [attrs[name] or "" for _, attrs in self.tags if name in attrs]
            assert {id for value in used for id in value.split()} <= set(ids), name
        links = [attrs["href"] or "" for _, attrs in self.tags if "href" in attrs]
        assert {link[1:] for link in links if link.startswith("#")} <= set(ids)

    def attributes(self, name: str) -> dict[str, str | None]:
        """The attributes of the one tag that has the attribute `name`."""
        (matched,) = [attrs for _, attrs in self.tags if name in attrs]
        return matched


class Unmarked(Page):
    """English sentences that stand in nothing that is marked as English, but in notices."""

    def __init__(self, html: str) -> None:
        self.found: list[str] = []
        super().__init__(html)

    def handle_data(self, data: str) -> None:
        super().handle_data(data)
        english = len(re.findall(r"[A-Za-z]{2,}", data)) > 2 and data.isascii()
        inside = [attrs for _, attrs in self.open]
        if english and not any(attrs.get("lang") == "en" or "ab-notice" in str(attrs) for attrs in inside):
            self.found.append(data)


def no_models(name: str) -> NoReturn:
    """For benchmarks in which nobody may call a model."""
    raise AssertionError(f"{name} was asked for")


def words(html: str) -> str:
    """Return the text of a page that people read."""
    return re.sub(r"\s+", " ", " ".join(Page(html).texts))


@dataclass
class Visit:
    """A browser at the pages of one episode, through the actions."""

    actions: Actions
    query: str
    language: str = "en"
    html: str = ""
    count: int = 0

    @classmethod
    async def start(cls, actions: Actions, **wishes: Any) -> Self:
        """Free play, up to the instructions."""
        answer = await actions.start(wishes)
        return await cls._arrive(actions, answer, wishes["language"])

    @classmethod
    async def enter(
        cls, actions: Actions, study: str, who: str = "", key: str = KEY, language: str = "en"
    ) -> Self:
        """Take a place in a study, up to the consent."""
        answer = await ask_for_place(actions, study, who, key, language)
        return await cls._arrive(actions, answer, language)

    @classmethod
    async def _arrive(cls, actions: Actions, answer: dict[str, Any], language: str) -> Self:
        visit = cls(actions, urlparse(answer["go"]).query, language)
        await visit.look()
        return visit

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
        return Page(self.html).attributes("data-title")

    @property
    def stage(self) -> str | None:
        return self.root.get("data-stage")

    @property
    def number(self) -> int:
        return int(self.root["data-number"] or "")

    async def look(self) -> str:
        self.html = (await self.actions.page(self.call))["html"]
        return self.html

    async def send(self, number: int | None = None, render: str = "", **fields: Any) -> dict[str, Any]:
        self.count += 1
        move = {
            "number": self.number if number is None else number,
            "render": render or f"render-{self.count:04}",
            "seconds": 1.5,
            "shown_at": "2026-01-02T03:04:05.678Z",
            "keys_used": True,
        }
        answer = await self.actions.send(self.call | move | fields)
        self.html = answer["html"]
        return answer

    async def begin(self) -> None:
        """From consent or instructions to the first task."""
        if self.stage == "consent":
            await self.send(text="yes")
        if self.stage == "instructions":
            await self.send(text="ready")


async def ask_for_place(
    actions: Actions, study: str, who: str = "", key: str = KEY, language: str = "en"
) -> dict[str, Any]:
    """Ask for a place in a study."""
    given = {"study": study} | ({"PROLIFIC_PID": who, "SESSION_ID": "s"} if who else {})
    call = {"path": "/study", "query": urlencode(given), "language": language, "participant_key": key}
    return await actions.enter_study(call)


async def take_seat(actions: Actions, link: str, key: str = KEY, language: str = "en") -> dict[str, Any]:
    """Take the seat of an invitation; return what every later call from its page sends."""
    at = {"path": "/play", "query": urlparse(link).query, "language": language}
    answer = await actions.take_seat(at | {"participant_key": key})
    return at | {"query": urlparse(answer["go"]).query}


async def invitation_to(actions: Actions, host: dict[str, Any]) -> str:
    """The link on the page of somebody who is to invite another person."""
    return Page((await actions.page(host))["html"]).attributes("data-link")["value"] or ""
