"""AmbiEnt as a browser gets it: links begin nothing, and nothing comes before its time."""

from __future__ import annotations

import json
from html import escape
from urllib.parse import parse_qs, urlparse

from fastapi.testclient import TestClient
from filling import KEY, crowd_item
from over_http import Browser

from logs import LogReader, LogWriter
from simulator.ambient.items import CrowdItem
from simulator.ambient.sessions import AmbientSessions

HTML = {"Accept": "text/html"}


def test_a_link_leads_to_a_page_and_begins_nothing(client: TestClient, readings: AmbientSessions) -> None:
    before = [card.places_left for card in readings.studies()]
    response = client.get("/ambient/study/crowd?PROLIFIC_PID=p", headers=HTML)
    assert response.status_code == 200
    assert urlparse(response.history[0].headers["location"]).path == "/study"
    assert [card.places_left for card in readings.studies()] == before


def hidden(item: CrowdItem) -> list[list[str]]:
    """Per step, the texts that come with it and were in none before."""
    first = [item.premise, item.hypothesis]
    second = [one.sentence for one in item.candidates]
    return [first, second]


def test_nothing_reaches_the_browser_before_its_time(
    client: TestClient, log: tuple[LogWriter, LogReader]
) -> None:
    browser = Browser(client)
    welcome = {"path": "/study", "query": "study=crowd&PROLIFIC_PID=pid-1", "language": "en"}
    browser.call("page", **welcome)
    query = urlparse(browser.call("enter_study", **welcome, participant_key=KEY)["go"]).query
    token = parse_qs(query)["t"][0]
    page = {"path": "/play", "query": query, "language": "en"}
    episode = json.loads(_decoded(token))[0]
    item = crowd_item(log[1], episode)
    first, second = hidden(item)
    assert item.id not in episode

    def look_around() -> str:
        browser.get("/config")
        browser.get(f"/play?{query}", **HTML)
        browser.get("/gradio_api/info")
        browser.get("/api/state", **{"X-Askback-Seat": token})
        browser.call("page", **page)
        browser.call("page", **(page | {"language": "zh"}))
        return "\n".join(browser.received)

    def say(number: int, **said: object) -> None:
        # Before the answer that counts one that is no answer; after it one of a tab that is late.
        browser.call("send", **page, render=f"empty-{number:05}", number=number, filled={"label": None})
        browser.call("send", **page, render=f"right-{number:05}", number=number, **said)
        browser.call("send", **page, render=f"later-{number:05}", number=number, **said)

    say(0, text="yes")
    say(1, text="ready")
    questions = log[1].episode(episode).options["qualification"]["questions"]
    for number, question in enumerate(questions, start=2):
        everything = look_around()
        assert not any(_said(text, everything) for text in (*first, *second))
        assert not any(_said(one["premise"], everything) for one in questions[number - 1 :])
        say(number, filled={"label": question["label"]})
    everything = look_around()
    assert all(_said(text, everything) for text in first)
    assert not any(_said(text, everything) for text in second)
    say(7, filled={"label": "neutral"})
    assert all(_said(text, look_around()) for text in second)
    # With the candidates the page shows the ambiguous sentence alone, and no pair.
    other = item.hypothesis if item.side == "premise" else item.premise
    assert not _said(other, browser.received[-1])
    say(8, filled={"plausible": [True, True, True]})
    everything = look_around()
    assert "DONE-crowd" not in everything
    # What they are labelled in the dataset, and which is none, is nowhere.
    assert not any(word in everything for word in ("distractor", '"gold"', item.id))


def _said(sentence: str, everything: str) -> bool:
    return sentence in everything or json.dumps(escape(sentence))[1:-1] in everything


def _decoded(token: str) -> str:
    import base64

    head = token.partition(".")[0]
    return base64.urlsafe_b64decode(head + "=" * (-len(head) % 4)).decode()
