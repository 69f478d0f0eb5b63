"""The app over HTTP, as a browser talks to it."""

from __future__ import annotations

import asyncio
import json
from typing import Any
from urllib.parse import parse_qs, urlparse

import pytest
from fake_sessions import SECRET, TREE
from fastapi import FastAPI
from fastapi.testclient import TestClient
from httpx import ASGITransport, AsyncClient
from over_http import Browser

from simulator.errors import InputError
from simulator.models import ModelOptions
from simulator.studies import Study
from simulator.studies.known import find_study
from ui.command import _require_models
from ui.limits import Starts
from ui.server import _add_calls

HTML = {"Accept": "text/html"}


def start(browser: Browser, seat: str = "seeker") -> dict[str, Any]:
    others = {"provider": "offline/experts"} if seat == "seeker" else {"seeker": "offline/seeker"}
    answer = browser.call("start", benchmark="clarq", seat=seat, others=others)
    return {"path": "/play", "query": urlparse(answer["go"]).query, "language": "en"}


def test_health(client: TestClient) -> None:
    assert client.get("/health").json() == {"status": "ok"}


def test_the_benchmark_that_is_at_home_is_found_under_its_name(client: TestClient) -> None:
    answer = client.get("/clarq?lang=zh", headers=HTML, follow_redirects=False)
    assert answer.is_redirect and answer.headers["location"] == "/?lang=zh"


def test_nothing_of_the_tree_reaches_the_seekers_browser_before_the_end(client: TestClient) -> None:
    browser = Browser(client)
    page = start(browser)
    token = parse_qs(page["query"])["t"][0]
    given = {TREE.opening, TREE.nodes[0].text}

    def look_around() -> None:
        browser.get("/config")
        browser.get(f"/play?{page['query']}", **HTML)
        browser.get("/gradio_api/info")
        browser.get("/api/state", **{"X-Askback-Seat": token})
        browser.call("page", **page)
        browser.call("page", **(page | {"language": "zh"}))

    look_around()
    browser.call("send", **page, render="render-one", number=1, text="How do I light it?")
    look_around()
    browser.call("send", **page, render="render-one", number=3, text="Which lantern?")
    browser.call("send", **page, render="render-two", number=3, text="Too late")
    browser.call("send", **page, render="render-two", number=5, text=" ")
    browser.call("judge", **page, render="render-one", success=True)
    look_around()

    everything = "\n".join(browser.received)
    for text in given:
        everything = everything.replace(json.dumps(text)[1:-1], "").replace(escaped(text), "")
    assert SECRET not in everything
    assert not [node for node in TREE.nodes if node.explanation and node.explanation in everything]

    browser.call("send", **page, render="render-one", number=5, text="Goodbye!")
    assert escaped(TREE.nodes[1].text) in browser.received[-1]


def escaped(text: str) -> str:
    html = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return json.dumps(html)[1:-1]


def test_the_state_of_a_dialogue_needs_its_token(client: TestClient) -> None:
    assert client.get("/api/state").status_code == 403
    assert client.get("/api/state", headers={"X-Askback-Seat": "a.b"}).status_code == 403


def test_a_call_that_fails_says_so_and_no_more(client: TestClient) -> None:
    browser = Browser(client)
    page = start(browser)
    assert browser.call("send", **page, render="?", number=1, text="x") == {"failed": True}
    assert browser.call("judge", **page, render="render-one", success=True) == {"failed": True}


def test_only_the_calls_of_the_page_can_be_called(client: TestClient) -> None:
    for name in ("state", "served", "__init__", "signer", ""):
        assert client.post(f"/api/call/{name}", json={}).status_code == 404


async def test_a_call_that_a_stopping_server_cancels_is_made_again() -> None:
    class Hanging:
        def __getattr__(self, name: str) -> Any:
            return lambda call: asyncio.sleep(600)

    app = FastAPI()
    _add_calls(app, Hanging(), Starts())  # type: ignore[arg-type]
    async with AsyncClient(transport=ASGITransport(app), base_url="http://127.0.0.1") as client:
        call = asyncio.create_task(client.post("/api/call/send", json={}))
        await asyncio.sleep(0.05)
        call.cancel()
        assert (await call).status_code == 503  # pages try again after that


def test_static_files_are_named_by_their_content(client: TestClient) -> None:
    html = client.get("/", headers=HTML).text
    for name in ("askback.css", "home.css", "play.css", "askback.js", "play.js", "mark.svg"):
        (link,) = [part for part in html.split('"') if part.startswith(f"/askback/{name}?v=")]
        assert client.get(link).status_code == 200


def test_a_model_that_does_not_answer_is_named_with_its_study(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    plain = find_study("clarq-h2l").to_json()
    study = Study.model_validate(plain | {"id": "mine", "settings": {"opposite": "openai/x", "items": 1}})
    with pytest.raises(InputError, match="study mine: openai/x cannot play with people"):
        _require_models([], [study], ModelOptions())
