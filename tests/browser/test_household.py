"""A robot's episode of HandMeThat in Chromium: a house to walk through by click and by keyboard."""

from __future__ import annotations

from typing import Any

import pytest
from household import begin, commands, do, expert, moved_on, task_of, type_in
from playing import episode, number, rows

pytestmark = [pytest.mark.browser, pytest.mark.slow]


@pytest.mark.parametrize(("mode", "level"), [("partial", 1), ("partial", 2), ("full", 4)])
def test_an_episode_by_click(server: Any, open_page: Any, mode: str, level: int) -> None:
    page = open_page().page
    begin(page, server, mode=mode, level=level)
    task = task_of(server, page)
    way = expert(task)
    for command in way:
        do(page, command)
    page.wait_for_selector(".bl-done")
    assert page.inner_text("h1") == "That was it"
    assert commands(server, page) == way
    scores = dict(rows(server, "SELECT metric, value FROM scores WHERE episode_id = ?", episode(page)))
    assert scores["success"] == 1
    assert page.inner_text(".bl-figures dd >> nth=0") == str(round(scores["score"]))
    shown = page.locator(".bl-named dd:has([lang=en])").all_inner_texts()
    assert [text for text in task.demo if text not in shown] == []
    assert page.locator(".bl-amount-right:has(.bl-badge)").count() == 1
    page.click(".bl-done .ab-again a")
    page.wait_for_selector(".bl-entry")


def test_a_menu_opens_and_closes_by_keyboard(server: Any, open_page: Any) -> None:
    page = open_page().page
    begin(page, server, mode="full", level=1)
    chip = page.locator("[data-panels] button.pl-chip:visible").first
    chip.focus()
    page.keyboard.press("Enter")
    assert chip.get_attribute("aria-expanded") == "true"
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.matches('.pl-do')")
    page.keyboard.press("Escape")
    assert chip.get_attribute("aria-expanded") == "false"
    assert page.evaluate("document.activeElement.matches('button.pl-chip')")


def test_a_double_click_is_one_move(server: Any, open_page: Any) -> None:
    page = open_page().page
    begin(page, server, level=2)
    page.dblclick("[data-plan] [data-command='move to sofa']")
    moved_on(page, 1)
    do(page, "move to table")  # comes after all that was sent before
    assert commands(server, page) == ["move to sofa", "move to table"]


def test_a_question_and_its_price(server: Any, open_page: Any) -> None:
    page = open_page().page
    begin(page, server, level=4)
    task = task_of(server, page)
    page.click(".pl-ask summary")
    question = page.locator(".pl-question", has_text="type").first
    assert question.locator(".pl-price").inner_text() == "10 points"
    question.click()
    page.wait_for_selector("[data-kind=answer]")
    assert page.inner_text(".ab-turns-text") == "Moves: 1 of 40 · Cost 10"
    answer = page.inner_text("[data-kind=answer] .ab-bubble").lower()
    assert str(task.meaning.get("type")).replace("_", " ") in answer
    type_in(page, "where is it?")
    assert page.inner_text(".ab-turns-text") == "Moves: 2 of 40 · Cost 20"
    page.click("[data-act=goodbye]")
    page.keyboard.press("Escape")
    assert not page.is_visible("[data-confirm]")
    page.click("[data-act=goodbye]")
    page.click("[data-act=goodbye-yes]")
    page.wait_for_selector(".bl-done")
    assert page.inner_text("h1") == "Given up"
    assert page.locator(".bl-amounts tbody tr").count() >= 1


def test_the_story_lights_its_places(server: Any, open_page: Any) -> None:
    page = open_page().page
    begin(page, server, mode="full", level=3)
    steps = page.locator("[data-story] [data-step]")
    assert steps.count() == len(task_of(server, page).actions)
    for place in range(1, min(steps.count(), 4)):
        page.click("[data-act=story][data-by='1']")
        where = steps.nth(place).get_attribute("data-where")
        assert page.locator("[data-plan] .pl-lit[data-place]").get_attribute("data-place") == where
    page.focus("[data-act=story][data-by='-1']")
    page.keyboard.press("ArrowLeft")
    assert steps.nth(min(steps.count(), 4) - 2).is_visible()


def test_looking_elsewhere_in_full_view_costs_nothing(server: Any, open_page: Any) -> None:
    page = open_page().page
    begin(page, server, mode="full", level=2)
    page.click("[data-act=peek][data-place=countertop]")
    assert page.is_visible("[data-panel=countertop]")
    assert not page.is_visible("[data-panel=floor]")
    assert page.locator("[data-panel=countertop] button.pl-chip").count() == 0
    assert number(page) == 1
