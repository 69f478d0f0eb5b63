"""AmbiBench in Chromium: taking part by keyboard, faults, withdrawing, what must not be known too early."""

from __future__ import annotations

import json
from html import escape
from typing import Any

import pytest
from among_letters import TWENTY, UNINFORMATIVE, answer, begin_trials, play, prompt_of
from participating import Curious, newcomer, open_study, seat_texts
from playing import episode, number, rows

from simulator.ambibench.prompt import shown_text

pytestmark = [pytest.mark.browser, pytest.mark.slow]


def test_one_question_on_one_screen(server: Any, open_page: Any) -> None:
    page = open_page().page
    open_study(page, server, UNINFORMATIVE, newcomer())
    begin_trials(page)
    prompt = prompt_of(server, page)
    assert page.text_content("[data-text]") == shown_text(prompt, 3)
    assert page.locator(".st-progress").count() == 0
    page.fill("#bl-answer", prompt.examples[2].label)
    page.click(".bl-foot [type=submit]")
    page.wait_for_selector(".st-comment")
    assert page.locator("[data-feedback]").count() == 0
    page.click("[type=submit]")
    page.wait_for_selector(".st-done")
    assert page.input_value("#st-code") == "AMBI42U-DONE"
    assert seat_texts(server, page) == ["yes", "ready", prompt.examples[2].label, ""]
    question = "SELECT payload FROM turns WHERE episode_id = ? AND payload LIKE '%raw_answer%'"
    ((payload,),) = rows(server, question, episode(page))
    payload = json.loads(payload)
    assert (payload["keys_used"], payload["correct"]) == (False, 1.0)


def test_nothing_is_known_before_its_time(server: Any, open_page: Any) -> None:
    """Neither page source, nor /config, nor any response holds a later sentence or the label that is due."""
    page = open_page().page
    curious = Curious(page)
    open_study(page, server, TWENTY, newcomer())
    prompt = prompt_of(server, page)
    begin_trials(page)
    for k, example in enumerate(prompt.examples, start=1):
        held = curious.known()
        known = {shown_example.sentence for shown_example in prompt.examples[:k]}
        later = {shown_example.sentence for shown_example in prompt.examples[k:]} - known
        assert example.sentence in held
        assert [text for text in later if text in held or escape(text) in held] == []
        assert not any(word in held for word in (prompt.id, '"gold"', "posterior", "polarity"))
        # After the sentence that is due stands the field for its label; no label follows it anywhere.
        cut = ">" if prompt.format == "arrow" else "A:"
        if example.sentence not in {shown_example.sentence for shown_example in prompt.examples[: k - 1]}:
            for label in ("X", "Y"):
                shown = f"{example.sentence}\n{cut}{'' if cut == '>' else ' '}{label}"
                for form in (shown, escape(shown), json.dumps(escape(shown))[1:-1], json.dumps(shown)[1:-1]):
                    assert form not in held
        answer(page, "X" if k % 3 else "?")
    page.wait_for_selector(".st-comment")


def test_typing_twice_is_answering_once(server: Any, open_page: Any) -> None:
    page = open_page().page
    play(page, server)
    page.keyboard.type("X")
    page.keyboard.press("Enter")
    page.keyboard.press("Enter")
    page.evaluate(
        "for (let i = 0; i < 5; i += 1) document.querySelector('[data-form=st-answer]')?.requestSubmit()"
    )
    page.wait_for_selector(".ab-page[data-number='2']")
    answer(page, "Y")  # comes after all that was sent before
    assert seat_texts(server, page) == ["ready", "X", "Y"]


def test_going_back_changes_nothing(server: Any, open_page: Any) -> None:
    page = open_page().page
    play(page, server)
    answer(page, "X")
    answer(page, "Y")
    page.go_back()
    page.wait_for_selector(".bl-entry")
    page.go_forward()
    page.wait_for_selector(".ab-page[data-number='3']")
    assert seat_texts(server, page) == ["ready", "X", "Y"]


def test_a_second_tab_is_told_that_the_first_went_on(server: Any, open_page: Any) -> None:
    first = open_page().page
    play(first, server)
    second = first.context.new_page()
    second.goto(first.url)
    second.wait_for_selector(".st-task")
    answer(first, "X")
    second.fill("#bl-answer", "Y")
    second.press("#bl-answer", "Enter")
    second.wait_for_selector(".st-notices .ab-notice")
    assert "another window" in second.inner_text(".st-notices")
    assert "was not sent: Y" in second.inner_text(".st-notices")
    assert number(second) == 2
    assert second.input_value("#bl-answer") == ""
    assert seat_texts(server, first) == ["ready", "X"]


def test_withdrawing_is_always_possible(server: Any, open_page: Any) -> None:
    page = open_page().page
    who = newcomer()
    open_study(page, server, TWENTY, who)
    begin_trials(page)
    answer(page, "secret words")
    page.keyboard.press("Shift+Tab")
    page.click("[data-act=st-withdraw]")
    page.keyboard.press("Escape")
    assert not page.is_visible("[data-withdraw]")
    page.click("[data-act=st-withdraw]")
    assert page.evaluate("document.activeElement.dataset.act") == "st-withdraw-no"
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    page.wait_for_selector(".ab-page[data-code=withdrawn]")
    server.askback("study", "erase", TWENTY)
    assert rows(server, "SELECT COUNT(*) FROM turns WHERE text LIKE '%secret words%'") == [(0,)]
    assert rows(server, "SELECT COUNT(*) FROM identities WHERE value = ?", who) == [(0,)]
    page.reload()
    page.wait_for_selector(".ab-page[data-code=declined]")


def test_free_play_ends_with_a_result_and_is_gone_on_with_from_home(server: Any, open_page: Any) -> None:
    page = open_page().page
    play(page, server)
    prompt = prompt_of(server, page)
    answer(page, "never")
    page.goto(f"{server.url}/")
    page.wait_for_selector("[data-continue] a")
    page.click("[data-continue] a >> nth=0")
    page.wait_for_selector(".ab-page[data-number='2']")
    for example in prompt.examples[1:]:
        answer(page, example.label)
    page.wait_for_selector(".st-done")
    assert page.inner_text("h1") == "19 of 20 right"
    assert page.locator(".bl-bars-row").count() == 4
    assert page.locator(".bl-bars-row rect").count() == 80
    assert page.locator(".bl-table tbody tr").count() == 20
    page.goto(f"{server.url}/")
    page.wait_for_selector(".ab-home")
    assert page.locator("[data-continue] a").count() == 0


def test_a_choice_that_does_not_go_with_another_is_not_offered_beside_it(server: Any, open_page: Any) -> None:
    page = open_page().page
    page.goto(f"{server.url}/ambibench")
    page.wait_for_selector(".bl-entry")
    wug, chosen = "input[value='\"wug\"']", "document.querySelector('[name=rule-kind]:checked').value"
    page.check(wug, force=True)
    page.check("input[value='\"instruction\"']", force=True)
    assert not page.is_visible(wug)
    assert page.evaluate(chosen) == '"uninformative"'
    page.check("input[value='\"multiple\"']", force=True)
    assert page.is_visible(wug)
