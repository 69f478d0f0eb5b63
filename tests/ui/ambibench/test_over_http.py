"""AmbiBench as a browser gets it: links begin nothing, and nothing comes before its time."""

from __future__ import annotations

import json
from html import escape
from urllib.parse import parse_qs, urlparse

from fastapi.testclient import TestClient
from labelling import prompt_of
from over_http import HTML, Browser, Place, is_shown

from logs import LogReader, LogWriter
from simulator.ambibench.sessions import AmbiBenchSessions


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
    place = Place.take(Browser(client), "twenty")
    prompt = prompt_of(log[1], place.episode)
    assert not any(word in place.episode for word in (prompt.salient, prompt.hypothesis.value, prompt.id))

    def say(number: int, text: str) -> None:
        place.send(number, "right", text=text)
        # A second tab that is late, and one that types nothing, learn no more.
        place.send(number, "other", text=text)
        if number < 21:
            place.send(number + 1, "empty", text=" ")

    place.look_around()
    place.send(0, "right", text="yes")
    everything = place.look_around()
    assert not any(is_shown(example.sentence, everything) for example in prompt.examples)
    place.send(1, "right", text="ready")
    for k, example in enumerate(prompt.examples, start=1):
        everything = place.look_around()
        seen = {example.sentence for example in prompt.examples[:k]}
        later = [example.sentence for example in prompt.examples[k:] if example.sentence not in seen]
        assert is_shown(example.sentence, everything)
        assert not any(is_shown(sentence, everything) for sentence in later)
        assert prompt.hypothesis.feature not in place.browser.received[-1]
        # Right after the sentence that is due comes the place for its label, and nothing else.
        cut = {"arrow": escape("\n>"), "qa": "\nA:"}[prompt.format]
        shown = json.loads(place.browser.received[-1])["html"]
        assert f"{escape(example.sentence)}{cut}</span><input" in shown
        say(k + 1, "banana")
    assert "DONE-twenty" not in "\n".join(place.browser.received)
    say(22, "fine")
    assert "DONE-twenty" in "\n".join(place.browser.received[-3:])
