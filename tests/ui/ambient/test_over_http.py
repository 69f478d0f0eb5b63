"""AmbiEnt over HTTP: links start nothing, and no step is sent early."""

from __future__ import annotations

from urllib.parse import urlparse

from fastapi.testclient import TestClient
from filling import crowd_item
from over_http import HTML, Browser, Place, is_shown

from logs import LogReader, LogWriter
from simulator.ambient.items import CrowdItem
from simulator.ambient.sessions import AmbientSessions


def test_a_link_leads_to_a_page_and_begins_nothing(client: TestClient, readings: AmbientSessions) -> None:
    before = [card.places_left for card in readings.studies()]
    response = client.get("/ambient/study/crowd?PROLIFIC_PID=p", headers=HTML)
    assert response.status_code == 200
    assert urlparse(response.history[0].headers["location"]).path == "/study"
    assert [card.places_left for card in readings.studies()] == before


def hidden(item: CrowdItem) -> list[list[str]]:
    """Return the texts that first appear in each step."""
    first = [item.premise, item.hypothesis]
    second = [candidate.sentence for candidate in item.candidates]
    return [first, second]


def test_nothing_reaches_the_browser_before_its_time(
    client: TestClient, log: tuple[LogWriter, LogReader]
) -> None:
    place = Place.take(Browser(client), "crowd")
    item = crowd_item(log[1], place.episode)
    first, second = hidden(item)
    assert item.id not in place.episode

    def say(number: int, **answer: object) -> None:
        # Before the answer that counts one that is no answer; after it one of a tab that is late.
        place.send(number, "empty", filled={"label": None})
        place.send(number, "right", **answer)
        place.send(number, "later", **answer)

    say(0, text="yes")
    say(1, text="ready")
    questions = log[1].episode(place.episode).options["qualification"]["questions"]
    for number, question in enumerate(questions, start=2):
        everything = place.look_around()
        assert not any(is_shown(text, everything) for text in (*first, *second))
        assert not any(is_shown(later["premise"], everything) for later in questions[number - 1 :])
        say(number, filled={"label": question["label"]})
    everything = place.look_around()
    assert all(is_shown(text, everything) for text in first)
    assert not any(is_shown(text, everything) for text in second)
    say(7, filled={"label": "neutral"})
    assert all(is_shown(text, place.look_around()) for text in second)
    # With the candidates the page shows the ambiguous sentence alone, and no pair.
    other = item.hypothesis if item.side == "premise" else item.premise
    assert not is_shown(other, place.browser.received[-1])
    say(8, filled={"plausible": [True, True, True]})
    everything = place.look_around()
    assert "DONE-crowd" not in everything
    # What they are labelled in the dataset, and which is none, is nowhere.
    assert not any(word in everything for word in ("distractor", '"gold"', item.id))
