"""AmbiK as a browser gets it: links begin nothing, and nothing of what was meant comes before the end."""

from __future__ import annotations

from urllib.parse import urlparse

from fastapi.testclient import TestClient
from over_http import HTML, Browser, Place, is_shown
from seated import task_of

from logs import LogReader, LogWriter
from simulator.ambik.sessions import AmbikSessions


def test_a_link_leads_to_a_page_and_begins_nothing(client: TestClient, kitchen: AmbikSessions) -> None:
    before = [card.places_left for card in kitchen.studies()]
    response = client.get("/ambik/study/robots?PROLIFIC_PID=p", headers=HTML)
    assert response.status_code == 200
    assert urlparse(response.history[0].headers["location"]).path == "/study"
    assert [card.places_left for card in kitchen.studies()] == before


def test_what_was_meant_reaches_no_robots_browser(
    client: TestClient, log: tuple[LogWriter, LogReader]
) -> None:
    place = Place.take(Browser(client), "robots")
    pair = (item := task_of(log[1], place.episode)).pair
    other = pair.clear if item.member == "ambiguous" else pair.ambiguous

    def look_around() -> str:
        place.browser.call("check_form", **place.page, filled={"intent": "x", "clear_plan": ["x"]})
        return place.look_around()

    def say(number: int, **answer: object) -> None:
        place.send(number, "empty", filled={"marked": []})
        place.send(number, "right", **answer)
        place.send(number, "later", **answer)

    say(0, text="yes")
    assert not is_shown(item.pair.task(item.member), look_around())  # the instructions come first
    say(1, text="ready")
    everything = look_around()
    assert is_shown(item.pair.task(item.member), everything)
    for hidden in (other, pair.question, pair.answer):
        assert not is_shown(hidden, everything)
    assert pair.intent is not None
    assert f'"{pair.intent.text}"' not in everything
    say(2, filled={"marked": list(item.options[:2]), "ask": "Which one do you want?"})
    say(4, filled={"marked": [], "act": item.options[0]})
    everything = look_around()
    assert "DONE-robots" in everything
    # Nor in the end, where the study does not show it.
    for hidden in (other, pair.question):
        assert not is_shown(hidden, everything)
    assert "shortlist" not in everything
