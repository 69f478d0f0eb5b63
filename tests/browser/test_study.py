"""A study of several sets in Chromium: consent once, the button for the next set, stopping, withdrawing."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from conftest import Server, free_port
from participating import link, open_study, said, tab_to
from playing import episode, rows

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


@pytest.fixture(scope="module")
def sets(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server with one study, of three sets."""
    home: Path = tmp_path_factory.mktemp("home")
    file = home / "three.yaml"
    file.write_text(STUDY, encoding="utf-8")
    made = Server(home, free_port(), studies=(file,))
    made.start()
    yield made
    made.kill()


def press(page: Any, selector: str) -> None:
    tab_to(page, selector)
    page.keyboard.press("Enter")


def do_set(page: Any) -> str:
    """A set by keyboard, from the trial to its end; the episode."""
    page.wait_for_selector(".st-trial")
    page.keyboard.type("X")
    page.keyboard.press("Enter")
    page.wait_for_selector(".st-comment")
    page.keyboard.press("Control+Enter")
    page.wait_for_selector(".st-done")
    return episode(page)


def test_three_sets_by_keyboard(sets: Any, open_page: Any, check_rules: Any) -> None:
    page = open_page().page
    page.goto(link(sets, "ambibench-three", "keyboard"))
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
        assert f"Set {number - 1} of 3" in page.inner_text("h1")
        assert page.input_value("#st-code") == "THREE-DONE"
        check_rules(page)
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.dataset.act") == "st-next"
        page.keyboard.press("Enter")
        page.wait_for_selector(".st-trial")
        assert f"Set {number} of 3" in page.inner_text(".st-sets")
        assert page.locator(".st-steps li").all_inner_texts() == ["Task", "Comment"]
        played.append(do_set(page))
    assert len(dict.fromkeys(played)) == 3
    assert page.locator("[data-act=st-next]").count() == 0
    assert page.input_value("#st-code") == "THREE-DONE"
    assert said(sets, page) == ["X", ""]
    page.goto(link(sets, "ambibench-three", "keyboard"))
    page.wait_for_selector(".st-welcome")
    page.click("[data-act=st-enter]")
    page.wait_for_selector(".ab-page[data-code=done]")
    assert page.input_value("#st-code") == "THREE-DONE"


def test_who_stops_after_a_set_can_go_on_or_take_everything_back(sets: Any, open_page: Any) -> None:
    page = open_page().page
    open_study(page, sets, "ambibench-three", "leaver")
    page.click("[data-say=yes]")
    page.click("[data-say=ready]")
    first = do_set(page)
    address = page.url
    page.reload()
    page.wait_for_selector("[data-act=st-next]")
    page.dblclick("[data-act=st-next]")
    page.wait_for_selector(".st-trial")
    page.goto(address)
    page.wait_for_selector("[data-act=st-next]")
    page.click("[data-act=st-next]")
    page.wait_for_selector(".st-trial")
    second = episode(page)
    page.fill("#am-answer", "secret words")
    page.press("#am-answer", "Enter")
    page.wait_for_selector(".st-comment")
    page.click("[data-act=st-withdraw]")
    assert "all your sets" in page.inner_text("[data-withdraw]")
    page.click("[data-act=st-withdraw-yes]")
    page.wait_for_selector(".ab-page[data-code=withdrawn]")
    sets.askback("study", "erase", str(sets.studies[0]))
    left = rows(sets, "SELECT episode_id, text FROM turns WHERE episode_id IN (?, ?)", first, second)
    assert {id for id, _ in left} == {first, second}
    assert {text for _, text in left} <= {"[erased]", ""}
    assert rows(sets, "SELECT COUNT(*) FROM identities WHERE value = 'leaver'") == [(0,)]
    page.goto(address)
    page.wait_for_selector(".ab-page[data-code=declined]")


@pytest.mark.parametrize("locale", ["en", "zh-CN"])
def test_a_narrow_screen(sets: Any, open_page: Any, fits: Any, locale: str) -> None:
    page = open_page(width=320, height=640, locale=locale).page
    page.goto(link(sets, "ambibench-three", f"narrow-{locale}"))
    page.wait_for_selector(".st-welcome")
    fits(page)
    page.click("[data-act=st-enter]")
    page.wait_for_selector(".st-consent")
    fits(page)
    page.click("[data-say=yes]")
    page.wait_for_selector(".st-instructions")
    page.click("[data-say=ready]")
    do_set(page)
    fits(page)
