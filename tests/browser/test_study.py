"""A study of several sets in Chromium: consent once, the button for the next set, stopping, withdrawing."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from looking import beyond_the_edge, broken_rules, looking
from participating import begin, link, newcomer, open_study, seat_texts, settled, tab_to
from playing import acknowledgements_lost, episode, rows
from serving import Server, free_port

pytestmark = [pytest.mark.browser, pytest.mark.slow]

STUDY = """
id: ambibench-three
title: One pattern, three times
benchmark: ambibench
seat: participant
settings: {setting: instruction, languages: [en, zh]}
participants: 24
sets_per_participant: 3
pay: {amount: 0.42, currency: USD, minutes: 2}
completion_codes: {complete: THREE-DONE, returned: THREE-BACK}
"""

LONG = "A-CODE-THAT-IS-LONGER-THAN-A-PHONE-IS-WIDE"
ASKED = f"""{STUDY.replace("ambibench-three", "ambibench-asked").replace("THREE-DONE", LONG)}
texts:
  debriefing: {{en: "Instructions say less than they mean.", zh: 说明的意思多于字面。}}
questions:
  - id: goal
    text: What is to be done?
    kind: choice
    choices: [count, label]
    when: comprehension
    right: label
  - id: age
    text: {{en: "How old are you?", zh: 您的年龄是？}}
    kind: number
    when: before
  - id: reads
    text: What do you read?
    kind: choices
    choices: [news, novels]
    when: before
  - id: hard
    text: How hard was it?
    kind: scale
    points: 11
    ends: [not hard at all for anybody, extremely hard]
  - id: why
    text: Why?
    kind: text
    optional: true
"""


@pytest.fixture(scope="session")
def sets(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server with two studies of three sets; the second asks questions of its own."""
    home: Path = tmp_path_factory.mktemp("home")
    file = home / "three.yaml"
    file.write_text(STUDY, encoding="utf-8")
    asked = home / "asked.yaml"
    asked.write_text(ASKED, encoding="utf-8")
    made = Server(home, free_port(), studies=(file, asked))
    made.start()
    yield made
    made.kill()


def press(page: Any, selector: str) -> None:
    tab_to(page, selector)
    page.keyboard.press("Enter")


def do_set(page: Any) -> str:
    """A set by keyboard, from the trial to its end; the episode."""
    page.wait_for_selector(".st-task")
    page.keyboard.type("X")
    page.keyboard.press("Enter")
    page.wait_for_selector(".st-comment")
    page.keyboard.press("Control+Enter")
    page.wait_for_selector(".st-done")
    return episode(page)


def test_three_sets_by_keyboard(sets: Any, open_page: Any) -> None:
    page = open_page().page
    who = newcomer()
    page.goto(link(sets, "ambibench-three", who))
    page.wait_for_selector(".st-welcome")
    assert "up to 3" in page.inner_text(".st-facts")
    press(page, "[data-act=st-enter]")
    for stage, button in (("consent", "[data-say=yes]"), ("instructions", "[data-say=ready]")):
        page.wait_for_selector(f".st-{stage}")
        # Enter on the heading, which has the focus, is nothing; one step on is the button.
        assert page.evaluate("document.activeElement.tagName") == "H1"
        page.keyboard.press("Enter")
        page.keyboard.press("Tab")
        assert page.evaluate("s => document.activeElement.matches(s)", button)
        page.keyboard.press("Enter")
    played = [do_set(page)]
    for number in (2, 3):
        assert page.evaluate("document.activeElement.tagName") == "H1"
        assert f"finished set {number - 1} of 3" in page.inner_text("h1")
        assert page.input_value("#st-code") == "THREE-DONE"
        assert broken_rules(page) == []
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.dataset.act") == "st-next"
        page.keyboard.press("Enter")
        page.wait_for_selector(".st-task")
        assert f"Set {number} of 3" in page.inner_text(".st-sets")
        assert page.locator(".st-steps li").all_inner_texts() == ["Task", "Comment"]
        played.append(do_set(page))
    assert len(dict.fromkeys(played)) == 3
    assert page.locator("[data-act=st-next]").count() == 0
    assert page.input_value("#st-code") == "THREE-DONE"
    assert seat_texts(sets, page) == ["X", ""]
    page.goto(link(sets, "ambibench-three", who))
    page.wait_for_selector(".st-welcome")
    page.click("[data-act=st-enter]")
    page.wait_for_selector(".ab-page[data-code=done]")
    assert page.input_value("#st-code") == "THREE-DONE"


def test_a_browser_that_was_here_before_is_known(sets: Any, open_page: Any) -> None:
    page, key = open_page().page, uuid.uuid4().hex
    page.goto(f"{sets.url}/ambibench/study/ambibench-three")
    page.evaluate("key => localStorage.setItem('askback.ambibench.participant', JSON.stringify(key))", key)
    page.click("[data-act=st-enter]")
    page.wait_for_selector(".st-consent")
    assert page.evaluate("JSON.parse(localStorage.getItem('askback.participant'))") == key


def test_an_answer_outlives_its_tab_and_is_not_called_unsent_once_it_is_in_the_log(
    sets: Any, open_page: Any
) -> None:
    first = open_page().page
    open_study(first, sets, "ambibench-three", newcomer())
    begin(first, ".st-task")
    settled(first)
    first.fill("[data-answer]", "X")
    page = first.context.new_page()
    page.goto(first.url)
    first.close()
    page.wait_for_selector(".st-task")
    settled(page)
    assert page.input_value("[data-answer]") == "X"
    acknowledgements_lost(page)
    page.press("[data-answer]", "Enter")
    while "X" not in seat_texts(sets, page):
        page.wait_for_timeout(50)
    page.unroute_all(behavior="ignoreErrors")
    page.reload()
    page.wait_for_selector(".st-comment")
    settled(page)
    assert page.locator(".st-notices .ab-notice").count() == 0


def test_who_stops_after_a_set_can_go_on_or_take_everything_back(sets: Any, open_page: Any) -> None:
    page = open_page().page
    who = newcomer()
    open_study(page, sets, "ambibench-three", who)
    page.click("[data-say=yes]")
    page.click("[data-say=ready]")
    first = do_set(page)
    address = page.url
    page.reload()
    page.wait_for_selector("[data-act=st-next]")
    page.dblclick("[data-act=st-next]")
    page.wait_for_selector(".st-task")
    page.goto(address)
    page.wait_for_selector("[data-act=st-next]")
    page.click("[data-act=st-next]")
    page.wait_for_selector(".st-task")
    second = episode(page)
    page.fill("#bl-answer", "secret words")
    page.press("#bl-answer", "Enter")
    page.wait_for_selector(".st-comment")
    page.click("[data-act=st-withdraw]")
    assert "any set of this study" in page.inner_text("[data-withdraw]")
    page.click("[data-act=st-withdraw-yes]")
    page.wait_for_selector(".ab-page[data-code=withdrawn]")
    sets.askback("study", "erase", str(sets.studies[0]))
    left = rows(sets, "SELECT episode_id, text FROM turns WHERE episode_id IN (?, ?)", first, second)
    assert {id for id, _ in left} == {first, second}
    assert {text for _, text in left} <= {"[erased]", ""}
    assert rows(sets, "SELECT COUNT(*) FROM identities WHERE value = ?", who) == [(0,)]
    page.goto(address)
    page.wait_for_selector(".ab-page[data-code=declined]")


@pytest.mark.parametrize("locale", ["en", "zh-CN"])
def test_a_narrow_screen(sets: Any, open_page: Any, locale: str) -> None:
    page = open_page(width=320, height=640, locale=locale).page
    page.goto(link(sets, "ambibench-three", newcomer()))
    page.wait_for_selector(".st-welcome")
    assert beyond_the_edge(page) == []
    page.click("[data-act=st-enter]")
    page.wait_for_selector(".st-consent")
    assert beyond_the_edge(page) == []
    page.click("[data-say=yes]")
    page.wait_for_selector(".st-instructions")
    page.wait_for_function("scrollY === 0")  # its beginning, although the button before it was far below
    page.click("[data-say=ready]")
    do_set(page)
    assert beyond_the_edge(page) == []


def test_questions_of_its_own_by_keyboard(sets: Any, open_page: Any) -> None:
    page = open_page(width=320, height=740).page
    with looking(page, broken_rules, widths=(320, 1280)) as look:
        open_study(page, sets, "ambibench-asked", newcomer())
        press(page, "[data-say=yes]")
        page.wait_for_selector("[data-say=ready]")
        press(page, "[data-say=ready]")
        page.wait_for_selector("[name=goal]")
        look()
        for tried, goal in enumerate(("count", "label")):
            tab_to(page, "[name=goal]")
            page.keyboard.press("Space" if goal == "count" else "ArrowDown")
            press(page, "[data-reads=questions] [type=submit]")
            if not tried:
                page.wait_for_selector(".st-instructions")
                assert "Some of your answers were not right" in page.inner_text(".st-notices")
                look()
                press(page, "[data-say=ready]")
                page.wait_for_selector("[name=goal]")
        page.wait_for_selector("[name=age]")
        look()
        press(page, "[data-reads=questions] [type=submit]")
        assert page.evaluate("document.activeElement.name") == "age", "the first that is empty"
        page.keyboard.type("31")
        page.reload()
        page.wait_for_function("document.querySelector('[name=age]')?.value === '31'")
        tab_to(page, "[value=novels]")
        page.keyboard.press("Space")
        press(page, "[data-reads=questions] [type=submit]")
        page.wait_for_selector(".st-task")
        page.keyboard.type("X")
        page.keyboard.press("Enter")
        page.wait_for_selector("[name=hard]")
        look()
        (first, last) = page.eval_on_selector_all(
            ".st-scale > span", "ends => ends.map(end => end.offsetWidth)"
        )
        assert first == last
        tab_to(page, "[name=hard]")
        page.keyboard.press("ArrowRight")
        press(page, "[data-reads=questions] [type=submit]")
        page.wait_for_selector(".st-comment")
        press(page, "[data-form=st-answer] [type=submit]")
        page.wait_for_selector(".st-debriefing")
        assert "less than they mean" in page.inner_text(".st-sheet")
        look()
        press(page, "[data-say=read]")
        page.wait_for_selector("[data-stage=done]")
        look()
    answers = rows(
        sets,
        "SELECT json_extract(payload, '$.answers') FROM turns"
        " WHERE episode_id = ? AND text LIKE 'questions_%' ORDER BY number",
        episode(page),
    )
    assert [json.loads(answer) for (answer,) in answers] == [
        {"age": 31, "reads": ["novels"]},
        {"hard": 2, "why": None},
    ]
