"""Three participants, a pair and a researcher on one server at the same time, in Chromium."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from participating import begin, newcomer, open_study, press, settled
from playing import ask, number, rows
from reading import KEYS, questions

pytestmark = [pytest.mark.browser, pytest.mark.slow]

H2L, H2H, CROWD = "clarq-h2l", "clarq-h2h", "ambient-crowd"
QUESTIONS = ("How is the task done?", "What exactly do you mean by that?", "Anything else that I need?")


def shown(page: Any, name: str) -> None:
    """Keep a picture of a page, if the pictures of the documentation are to be made (`ASKBACK_PICTURES`)."""
    if folder := os.environ.get("ASKBACK_PICTURES"):
        page.screenshot(path=Path(folder) / f"{name}.png")


def code(page: Any) -> str:
    page.wait_for_selector("#st-code")
    return str(page.input_value("#st-code"))


def say(page: Any, text: str) -> None:
    """Say something in a conversation of two people, once it is this one's turn."""
    page.wait_for_function("askback.page.myTurn")
    before = number(page)
    page.fill("#ab-reply", text)
    page.press("#ab-reply", "Enter")
    page.wait_for_function("n => askback.page.number > n || askback.page.ended", arg=before)


def test_participants_a_pair_and_a_researcher_are_there_at_once(mortal: Any, open_page: Any) -> None:
    """Nobody waits for another's study, every turn is logged once, and the researcher sees all of them."""
    complaints: list[str] = []

    def someone(**screen: Any) -> Any:
        page = open_page(**screen).page
        page.on("console", lambda line: complaints.append(line.text) if line.type == "error" else None)
        return page

    seekers = [someone(), someone(width=390, height=800)]
    worker, first, second = someone(), someone(), someone()
    for seeker in seekers:
        open_study(seeker, mortal, H2L, newcomer())
    open_study(worker, mortal, CROWD, newcomer())
    open_study(first, mortal, H2H, newcomer())
    for seeker in seekers:
        begin(seeker, ".ab-play-seeker")
    begin(worker, ".fm-page")
    begin(first, ".st-waiting")
    shown(first, "waiting")
    open_study(second, mortal, H2H, newcomer())
    begin(second, ".ab-play-seeker, .ab-play-provider")
    first.wait_for_selector(".ab-play-seeker, .ab-play-provider")
    seats = {page.get_attribute(".ab-page", "data-seat"): page for page in (first, second)}
    assert set(seats) == {"seeker", "provider"}

    asked = questions(mortal, worker)
    for place, text in enumerate(QUESTIONS):
        for seeker in seekers:
            ask(seeker, text)
        say(seats["seeker"], text)
        say(seats["provider"], f"Let me think: {place}.")
        settled(worker)
        worker.keyboard.press(KEYS[asked[place]["label"]])
        press(worker)

    researcher = someone()
    researcher.goto(f"{mortal.url}/research")
    for study in (H2L, H2H, CROWD):
        researcher.wait_for_selector(f".body-cell >> text=study-{study}")
    assert researcher.locator(f"text=people-{H2H}").count() == 0, "what each is asked alone is no run"
    shown(researcher, "researcher")
    shown(seats["provider"], "provider")
    for page in (*seekers, seats["seeker"]):
        say(page, "Goodbye!")
    verdict = seats["provider"]
    verdict.wait_for_selector("[data-say=yes]")
    assert "Let me think: 2." in verdict.inner_text("#ab-content"), "it is judged by what was said"
    verdict.click("[data-say=yes]")
    codes = [code(page) for page in (*seekers, *seats.values())]
    assert codes == ["CLARQ-H2L-DONE"] * 2 + ["CLARQ-H2H-DONE"] * 2
    worker.click("[data-act=st-withdraw]")
    assert complaints == []

    turns = "SELECT text FROM turns t JOIN episodes e ON e.id = t.episode_id WHERE run_id = ? AND seat = ?"
    sought = {
        study: [text for (text,) in rows(mortal, turns, f"study-{study}", "seeker")] for study in (H2L, H2H)
    }
    assert sorted(text for text in sought[H2L] if text in QUESTIONS) == sorted(QUESTIONS * 2)
    assert [text for text in sought[H2H] if text in QUESTIONS] == list(QUESTIONS)
    judged = (
        "SELECT annotator, value FROM judgments j JOIN episodes e ON e.id = j.episode_id WHERE run_id = ?"
    )
    assert rows(mortal, judged, f"study-{H2H}") == [("provider", '{"success":true}')]
