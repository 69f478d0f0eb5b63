"""Nothing is lost and nothing counts twice: reloads, second tabs, lost answers, a killed server."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from playing import acknowledgements_lost, ask, at_number, begin, number, say_goodbye, turns

pytestmark = [pytest.mark.browser, pytest.mark.slow]


def test_unsent_words_survive_a_reload_and_are_gone_once_sent(server: Any, open_page: Any) -> None:
    page = open_page().page
    begin(page, server)
    page.fill("#ab-reply", "Half a quest")
    page.reload()
    page.wait_for_selector(".ab-play")
    assert page.input_value("#ab-reply") == "Half a quest"
    ask(page, "A whole question about the task?")
    assert page.input_value("#ab-reply") == ""
    page.reload()
    page.wait_for_selector(".ab-play")
    assert page.input_value("#ab-reply") == ""
    assert len(turns(server, page)) == 3


def test_a_providers_choice_survives_a_reload(server: Any, open_page: Any) -> None:
    page = open_page().page
    begin(page, server, "provider")
    page.click("[data-act=pick]")
    page.fill("[name=before]", "Well,")
    page.reload()
    page.wait_for_selector(".ab-giving")
    assert page.input_value("[name=before]") == "Well,"
    assert page.get_attribute("[data-act=pick]", "aria-pressed") == "true"


def test_sending_twice_is_sending_once(server: Any, open_page: Any) -> None:
    page = open_page().page
    begin(page, server)
    page.fill("#ab-reply", "How is it done?")
    page.dblclick(".ab-send")
    at_number(page, 3)
    page.fill("#ab-reply", "Which one?")
    page.evaluate(
        """() => { const form = document.querySelector('[data-form=st-answer]');
                   for (let i = 0; i < 5; i += 1) form.requestSubmit(); }"""
    )
    at_number(page, 5)
    assert [seat for seat, _ in turns(server, page)] == ["provider", "seeker"] * 2 + ["provider"]


def test_a_second_tab_cannot_answer_what_the_first_has_answered(server: Any, open_page: Any) -> None:
    first = open_page().page
    begin(first, server)
    second = first.context.new_page()
    second.goto(first.url)
    second.wait_for_selector(".ab-play")
    second.evaluate("document.dispatchEvent = () => true")  # stays in the background: it does not look
    ask(first, "How is it done?")
    second.fill("#ab-reply", "Asked too late?")
    second.press("#ab-reply", "Enter")
    second.wait_for_selector(".ab-notice:has-text('continued in another window')")
    assert number(second) == 3
    assert second.input_value("#ab-reply") == "Asked too late?"
    assert len(turns(server, first)) == 3
    second.press("#ab-reply", "Enter")
    at_number(second, 5)
    assert turns(server, first)[3] == ("seeker", "Asked too late?")


def test_a_text_that_is_cut_off_says_so(server: Any, open_page: Any) -> None:
    page = open_page().page
    begin(page, server)
    page.focus("#ab-reply")
    page.keyboard.insert_text("?" * 4001)
    page.wait_for_selector(".ab-toast:has-text('cut off')")
    assert len(page.input_value("#ab-reply")) == 4000


def test_words_typed_in_a_second_tab_outlast_what_the_first_sends(server: Any, open_page: Any) -> None:
    first = open_page().page
    begin(first, server)
    first.fill("#ab-reply", "How is it done?")
    second = first.context.new_page()
    second.goto(first.url)
    second.wait_for_selector(".ab-play")
    second.fill("#ab-reply", "And what does it cost?")
    first.fill("#ab-reply", "How is it done?")
    first.press("#ab-reply", "Enter")
    at_number(first, 3)
    second.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
    at_number(second, 3)
    assert second.input_value("#ab-reply") == "And what does it cost?"
    second.reload()
    second.wait_for_selector(".ab-play")
    assert second.input_value("#ab-reply") == "And what does it cost?"
    second.press("#ab-reply", "Enter")
    at_number(second, 5)
    assert second.input_value("#ab-reply") == ""


def test_the_page_asks_again_however_long_the_server_is_away(server: Any, open_page: Any) -> None:
    page = open_page().page
    begin(page, server)
    page.evaluate("""() => { const timeout = window.setTimeout;
        window.setTimeout = (work, ms, ...rest) => timeout(work, ms / 1000, ...rest); }""")
    asked: list[str] = []

    def away(route: Any) -> None:
        asked.append(route.request.url)
        route.abort()

    page.route(re.compile("/api/call|/health"), away)
    page.fill("#ab-reply", "Are you there?")
    page.press("#ab-reply", "Enter")
    while len(asked) < 40:  # minutes, were they not made short
        page.wait_for_selector(".ab-toast:has-text('is not responding')")
        page.wait_for_timeout(20)
    page.unroute_all(behavior="ignoreErrors")
    at_number(page, 3)
    assert turns(server, page)[1] == ("seeker", "Are you there?")


def test_a_page_that_was_asked_for_before_a_turn_does_not_come_over_its_answer(
    server: Any, open_page: Any
) -> None:
    page = open_page().page
    begin(page, server)
    late: list[tuple[Any, Any]] = []

    def hold(route: Any) -> None:
        late.append((route, route.fetch()))

    page.route("**/api/call/page", hold)
    page.evaluate("() => { window.shown = askback.page.refresh().then(() => true); }")
    while not late:
        page.wait_for_timeout(50)
    page.fill("#ab-reply", "How is it done?")
    page.press("#ab-reply", "Enter")
    at_number(page, 3)
    [(route, response)] = late
    route.fulfill(response=response)
    assert page.evaluate("window.shown")
    at_number(page, 3)
    assert page.evaluate("askback.page.number") == 3


def test_a_turn_whose_answer_was_lost_is_sent_again_and_counts_once(server: Any, open_page: Any) -> None:
    page = open_page().page
    begin(page, server)
    sent = acknowledgements_lost(page)
    page.fill("#ab-reply", "How is it done?")
    page.press("#ab-reply", "Enter")
    while len(sent) < 2:
        page.wait_for_timeout(50)
    page.unroute_all(behavior="ignoreErrors")
    at_number(page, 3)
    keys = {(call["render"], call["number"]) for call in map(json.loads, sent)}
    assert len(keys) == 1
    assert len(turns(server, page)) == 3


def test_a_turn_whose_answer_was_lost_by_a_reload_leaves_no_draft(server: Any, open_page: Any) -> None:
    page = open_page().page
    begin(page, server)
    acknowledgements_lost(page)
    page.fill("#ab-reply", "How is it done?")
    page.press("#ab-reply", "Enter")
    while len(turns(server, page)) < 3:
        page.wait_for_timeout(50)
    page.unroute_all(behavior="ignoreErrors")
    page.reload()
    at_number(page, 3)
    assert page.input_value("#ab-reply") == ""


def test_unfinished_dialogues_are_on_the_home_page(server: Any, open_page: Any) -> None:
    page = open_page().page
    begin(page, server)
    address = page.url
    page.goto(f"{server.url}/")
    page.click("[data-continue-list] a")
    page.wait_for_selector(".ab-play")
    assert page.url == address
    say_goodbye(page)
    page.click(".ab-again a")
    page.wait_for_selector(".ab-home")
    assert page.locator("[data-continue]:visible").count() == 0
