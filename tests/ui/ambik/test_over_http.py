"""AmbiK as a browser gets it: links begin nothing, and nothing of what was meant comes before the end."""

from __future__ import annotations

import base64
import json
from html import escape
from urllib.parse import parse_qs, urlparse

from fastapi.testclient import TestClient
from over_http import Browser
from seated import KEY, task_of

from logs import LogReader, LogWriter
from simulator.ambik.sessions import AmbikSessions

HTML = {"Accept": "text/html"}


def test_a_link_leads_to_a_page_and_begins_nothing(client: TestClient, kitchen: AmbikSessions) -> None:
    before = [card.places_left for card in kitchen.studies()]
    response = client.get("/ambik/study/robots?PROLIFIC_PID=p", headers=HTML)
    assert response.status_code == 200
    assert urlparse(response.history[0].headers["location"]).path == "/study"
    assert [card.places_left for card in kitchen.studies()] == before


def test_what_was_meant_reaches_no_robots_browser(
    client: TestClient, log: tuple[LogWriter, LogReader]
) -> None:
    browser = Browser(client)
    welcome = {"path": "/study", "query": "study=robots&PROLIFIC_PID=pid-1", "language": "en"}
    browser.call("page", **welcome)
    query = urlparse(browser.call("enter_study", **welcome, participant_key=KEY)["go"]).query
    token = parse_qs(query)["t"][0]
    page = {"path": "/play", "query": query, "language": "en"}
    head = token.partition(".")[0]
    episode = json.loads(base64.urlsafe_b64decode(head + "=" * (-len(head) % 4)))[0]
    pair = (item := task_of(log[1], episode)).pair
    other = pair.clear if item.member == "ambiguous" else pair.ambiguous

    def look_around() -> str:
        browser.get("/config")
        browser.get(f"/play?{query}", **HTML)
        browser.get("/gradio_api/info")
        browser.get("/api/state", **{"X-Askback-Seat": token})
        browser.call("page", **page)
        browser.call("page", **(page | {"language": "zh"}))
        browser.call("check_pair", **page, filled={"intent": "x", "clear_plan": ["x"]})
        return "\n".join(browser.received)

    def say(number: int, **said: object) -> None:
        browser.call("send", **page, render=f"empty-{number:05}", number=number, choice={"marked": []})
        browser.call("send", **page, render=f"right-{number:05}", number=number, **said)
        browser.call("send", **page, render=f"later-{number:05}", number=number, **said)

    def told(sentence: str, everything: str) -> bool:
        return sentence in everything or json.dumps(escape(sentence))[1:-1] in everything

    say(0, text="yes")
    assert not told(item.pair.task(item.member), look_around())  # the instructions come first
    say(1, text="ready")
    everything = look_around()
    assert told(item.pair.task(item.member), everything)
    for kept in (other, pair.question, pair.answer):
        assert not told(kept, everything)
    assert pair.intent is not None
    assert f'"{pair.intent.text}"' not in everything
    say(2, choice={"marked": list(item.options[:2]), "ask": "Which one do you want?"})
    say(4, choice={"marked": [], "act": item.options[0]})
    everything = look_around()
    assert "DONE-robots" in everything
    # Nor in the end, where the study does not show it.
    for kept in (other, pair.question):
        assert not told(kept, everything)
    assert "shortlist" not in everything
