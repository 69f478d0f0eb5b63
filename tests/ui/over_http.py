"""A browser without a screen: what the app answers over HTTP."""

from __future__ import annotations

import base64
import json
from dataclasses import dataclass
from html import escape
from typing import Any
from urllib.parse import parse_qs, urlparse

from fastapi.testclient import TestClient

HTML = {"Accept": "text/html"}
PARTICIPANT = "participant-key-0001"


class Browser:
    """Makes the calls of the pages and keeps every byte that was answered."""

    def __init__(self, client: TestClient) -> None:
        self.client = client
        self.received: list[str] = []

    def get(self, path: str, **headers: str) -> Any:
        response = self.client.get(path, headers=headers)
        self.received.append(response.text)
        return response

    def call(self, name: str, **data: Any) -> Any:
        response = self.client.post(f"/api/call/{name}", json=data)
        assert response.status_code == 200
        self.received.append(response.text)
        return response.json()


@dataclass(frozen=True)
class Place:
    """A browser at the pages of a place in a study."""

    browser: Browser
    query: str

    @classmethod
    def take(cls, browser: Browser, study: str) -> Place:
        """Ask for a place, as the page of the study does."""
        welcome = {"path": "/study", "query": f"study={study}&PROLIFIC_PID=pid-1", "language": "en"}
        browser.call("page", **welcome)
        answer = browser.call("enter_study", **welcome, participant_key=PARTICIPANT)
        return cls(browser, urlparse(answer["go"]).query)

    @property
    def page(self) -> dict[str, Any]:
        return {"path": "/play", "query": self.query, "language": "en"}

    @property
    def episode(self) -> str:
        """The episode, as anybody can read it in the link."""
        head = parse_qs(self.query)["t"][0].partition(".")[0]
        return json.loads(base64.urlsafe_b64decode(head + "=" * (-len(head) % 4)))[0]

    def look_around(self) -> str:
        """Get everything that the app has to show now; all that was ever received."""
        self.browser.get("/config")
        self.browser.get(f"/play?{self.query}", **HTML)
        self.browser.get("/gradio_api/info")
        self.browser.get("/api/state", **{"X-Askback-Seat": parse_qs(self.query)["t"][0]})
        self.browser.call("page", **self.page)
        self.browser.call("page", **(self.page | {"language": "zh"}))
        return "\n".join(self.browser.received)

    def send(self, number: int, render: str, **fields: Any) -> None:
        """Send an answer to the step of that number."""
        self.browser.call("send", **self.page, render=f"{render}-{number:05}", number=number, **fields)


def is_shown(sentence: str, everything: str) -> bool:
    """Return True if a text contains a sentence, directly or in a page inside JSON."""
    return sentence in everything or json.dumps(escape(sentence))[1:-1] in everything
