"""AmbiBench as a browser gets it: links begin nothing, and nothing comes before its time."""

from __future__ import annotations

import json
from html import escape
from urllib.parse import parse_qs, urlparse

from fastapi.testclient import TestClient
from over_http import Browser
from visiting import KEY, prompt_of

from logs import LogReader, LogWriter
from simulator.ambibench.sessions import AmbiBenchSessions

HTML = {"Accept": "text/html"}


def test_a_link_leads_to_a_page_and_begins_nothing(client: TestClient, letters: AmbiBenchSessions) -> None:
    before = [card.places_left for card in letters.studies()]
    link = "/ambibench/study/twenty?PROLIFIC_PID=p%26q&STUDY_ID=s&study=other&lang=zh"
    response = client.get(link, headers=HTML)
    assert response.status_code == 200
    (step,) = response.history
    where = urlparse(step.headers["location"])
    assert where.path == "/study"
    assert parse_qs(where.query) == {
        "study": ["twenty"],
        "PROLIFIC_PID": ["p&q"],
        "STUDY_ID": ["s"],
        "lang": ["zh"],
    }
    assert "askback.mount" in response.text
    assert "twenty" not in response.text
    assert [card.places_left for card in letters.studies()] == before


def test_nothing_reaches_the_browser_before_its_time(
    client: TestClient, log: tuple[LogWriter, LogReader]
) -> None:
    browser = Browser(client)
    page = {"path": "/study", "query": "study=twenty&PROLIFIC_PID=pid-1", "language": "en"}
    browser.call("page", **page)
    answer = browser.call("enter_study", **page, participant_key=KEY)
    query = urlparse(answer["go"]).query
    token = parse_qs(query)["t"][0]
    page = {"path": "/play", "query": query, "language": "en"}
    episode = json.loads(_decoded(token))[0]
    prompt = prompt_of(log[1], episode)
    assert not any(word in episode for word in (prompt.salient, prompt.hypothesis.value, prompt.id))

    def look_around() -> None:
        browser.get("/config")
        browser.get(f"/play?{query}", **HTML)
        browser.get("/gradio_api/info")
        browser.get("/api/state", **{"X-Askback-Seat": token})
        browser.call("page", **page)
        browser.call("page", **(page | {"language": "zh"}))

    def say(number: int, text: str) -> None:
        browser.call("send", **page, render=f"render-{number:04}", number=number, text=text)
        # A second tab that is late, and one that types nothing, learn no more.
        browser.call("send", **page, render=f"other-{number:05}", number=number, text=text)
        if number < 21:
            browser.call("send", **page, render=f"empty-{number:05}", number=number + 1, text=" ")

    look_around()
    browser.call("send", **page, render="render-0000", number=0, text="yes")
    look_around()
    everything = "\n".join(browser.received)
    assert not any(_said(one.sentence, everything) for one in prompt.examples)
    browser.call("send", **page, render="render-0001", number=1, text="ready")
    for k, example in enumerate(prompt.examples, start=1):
        look_around()
        everything = "\n".join(browser.received)
        seen = {one.sentence for one in prompt.examples[:k]}
        later = [one.sentence for one in prompt.examples[k:] if one.sentence not in seen]
        assert _said(example.sentence, everything)
        assert not any(_said(sentence, everything) for sentence in later)
        assert prompt.hypothesis.feature not in browser.received[-1]
        # Right after the sentence that is due comes the place for its label, and nothing else.
        cut = {"arrow": escape("\n>"), "qa": "\nA:"}[prompt.format]
        shown = json.loads(browser.received[-1])["html"]
        assert f"{escape(example.sentence)}{cut}</span><input" in shown
        say(k + 1, "banana")
    assert "DONE-twenty" not in "\n".join(browser.received)
    say(22, "fine")
    assert "DONE-twenty" in "\n".join(browser.received[-3:])


def _said(sentence: str, everything: str) -> bool:
    return sentence in everything or json.dumps(escape(sentence))[1:-1] in everything


def _decoded(token: str) -> str:
    import base64

    head = token.partition(".")[0]
    return base64.urlsafe_b64decode(head + "=" * (-len(head) % 4)).decode()
