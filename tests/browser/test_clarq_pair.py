"""ClarQ-LLM's study for two people, in Chromium."""

from __future__ import annotations

from typing import Any

import pytest
from participating import newcomer, open_study
from playing import rows

pytestmark = [pytest.mark.browser, pytest.mark.slow]


def test_two_people_meet_and_talk(server: Any, open_page: Any) -> None:
    pages = [open_page().page, open_page(width=390, height=700).page]
    for page in pages:
        open_study(page, server, "clarq-h2h", newcomer())
        page.click("[data-say=yes]")
        page.wait_for_selector(".st-instructions")
        page.click("[data-say=ready]")
        page.wait_for_selector(".st-waiting, .ab-page[data-page=play]")
    for page in pages:
        page.wait_for_selector(".ab-page[data-page=play]")
    by_seat = {page.get_attribute(".ab-page", "data-seat"): page for page in pages}
    seeker, provider = by_seat["seeker"], by_seat["provider"]
    seeker.wait_for_function("askback.page.myTurn")
    seeker.fill("#ab-reply", "Where do I begin?")
    seeker.press("#ab-reply", "Enter")
    provider.wait_for_function("askback.page.myTurn")
    assert "Where do I begin?" in provider.inner_text(".ab-log")
    messages = rows(
        server,
        "SELECT t.text FROM turns t JOIN episodes e ON e.id = t.episode_id "
        "WHERE e.run_id = ? AND t.seat = 'seeker' AND t.payload ->> 'participant_id' IS NOT NULL",
        "study-clarq-h2h",
    )
    assert messages == [("Where do I begin?",)]
