"""AmbiK in Chromium: who waits for whom and sees what meanwhile, what is said at its place, another one."""

from __future__ import annotations

from typing import Any

import pytest
from in_the_kitchen import begin, draft_of, play, task_of
from participating import READY
from playing import episode, rows, take_seat

pytestmark = [pytest.mark.browser, pytest.mark.slow]

IN_SIGHT = """() => { const at = document.querySelector('.ab-toast').getBoundingClientRect();
                      return at.height > 0 && at.top >= 0 && at.bottom <= innerHeight; }"""
SLOWER = """() => { const call = askback.page.call.bind(askback.page);
                    askback.page.call = async (...asked) => {
                      await new Promise((done) => setTimeout(done, 2500)); return call(...asked); }; }"""


def at(page: Any, selector: str) -> None:
    """Wait for a page, and until it hears what is done."""
    page.wait_for_selector(selector)
    page.wait_for_function(READY)


@pytest.mark.parametrize(("host", "guest"), [("robot", "user"), ("user", "robot")])
def test_either_may_be_ready_first_and_nothing_is_shown_before_both_are(
    server: Any, open_page: Any, host: str, guest: str
) -> None:
    pages = {host: open_page().page, guest: open_page().page}
    play(pages[host], server, host, "person", "preferences")
    take_seat(pages[guest], pages[host].input_value("[data-link]"), ".st-instructions")
    for page in pages.values():
        at(page, ".st-instructions")
    pair = task_of(server, pages[host]).pair
    pages[guest].click("[data-say=ready]")
    at(pages[guest], ".st-gather")
    pages[guest].reload()
    at(pages[guest], ".st-gather")
    for page in pages.values():
        shown = page.inner_text("#ab-content")
        assert not [text for text in (pair.clear, pair.ambiguous, pair.answer) if text in shown]
    assert pages[guest].locator("[data-link]").count() == 0
    pages[host].dblclick("[data-say=ready]")  # its page is as old as the episode
    at(pages["robot"], ".fm-form")
    pages["user"].wait_for_selector(".ab-play-user")
    assert pages[host].locator(".st-notices .ab-notice").count() == 0
    assert pair.clear in pages["user"].inner_text(".ab-side")
    assert pair.clear not in pages["robot"].inner_text("#ab-content")
    assert pages[host].locator(".ab-invite:not([open])").count() == 1
    seats = rows(server, "SELECT seat FROM turns WHERE episode_id = ? ORDER BY number", episode(pages[host]))
    assert seats == [(guest,), (host,)]


def test_an_empty_answer_is_told_at_its_field(server: Any, open_page: Any) -> None:
    page = open_page(width=390, height=600).page
    play(page, server, "user", "offline/always-asks", "preferences")
    begin(page)
    page.wait_for_selector(".ab-play-user")
    page.focus("#ab-reply")
    page.keyboard.press("Enter")
    page.wait_for_function(IN_SIGHT)
    page.keyboard.type("The left one")
    assert page.inner_text(".ab-toast") == ""


def test_the_page_says_what_is_waited_for(server: Any, open_page: Any) -> None:
    page = open_page().page
    play(page, server, "user", "offline/always-asks", "preferences")
    at(page, ".st-instructions")
    page.evaluate(SLOWER)
    page.click("[data-say=ready]")
    page.wait_for_function("document.querySelector('.ab-toast').textContent === 'The robot is thinking …'")
    page.wait_for_selector(".ab-play-user")
    assert page.inner_text(".ab-toast") == ""


def test_what_cannot_be_mended_yet_is_not_complained_of(server: Any, open_page: Any) -> None:
    page = open_page().page
    play(page, server, "annotator")
    begin(page)
    at(page, ".fm-form")
    draft = draft_of(server, page)
    lines = enumerate(zip(draft.plan, draft.ambiguous_plan, strict=False), 1)
    parting = next((str(number) for number, (first, other) in lines if first != other), "")
    assert page.input_value("[name=step]") == parting
    page.fill("[name=clear]", f"{draft.clear} Use the Zzpan.")
    page.click(".fm-foot [type=submit]")
    page.wait_for_selector("#fm-problems-type:focus")  # a fault comes before a hint
    for field in ("ambiguous", "one_ambiguity", "question", "answer"):
        assert page.locator(f"[id^=fm-problems-{field}]:visible").count() == 0
    wrong = page.locator("[data-problems]:not(.fm-hints) > li:not(.fm-hint):visible").count()
    assert page.inner_text("[data-problem-count]").startswith(f"{wrong} things")


def test_another_one_is_as_the_last_one(server: Any, open_page: Any) -> None:
    page = open_page().page
    play(page, server, "user", "offline/never-asks", "safety")
    page.click("[data-say=ready]")
    at(page, ".st-done")
    first = episode(page)
    page.click("[data-act=en-again]")
    at(page, ".st-instructions")
    assert episode(page) != first
    assert task_of(server, page).type == "safety"
    (seats,) = rows(server, "SELECT seats FROM episodes WHERE id = ?", episode(page))
    assert "offline/never-asks" in seats[0]
