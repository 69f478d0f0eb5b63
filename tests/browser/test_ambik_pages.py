"""AmbiK's pages in Chromium: languages, screens, accessibility, what is read aloud, shortcuts."""

from __future__ import annotations

import re
from typing import Any

import pytest
from in_the_kitchen import ROBOTS, begin, draft_of, fill_pair, play
from looking import broken_rules, looking
from participating import foreign_words, link, newcomer, press, settled

pytestmark = [pytest.mark.browser, pytest.mark.slow]


def through(page: Any, server: Any, look: Any) -> None:
    """Every page that there is, each looked at."""
    page.goto(f"{server.url}/ambik")
    page.wait_for_selector(".bl-entry")
    look()
    page.check("input[name=seat][value=user]", force=True)
    look()
    page.goto(link(server, ROBOTS, newcomer()))
    page.wait_for_selector(".st-welcome")
    look()
    page.click("[data-act=st-enter]")
    page.wait_for_selector(".st-consent")
    look()
    page.click("[data-say=yes]")
    page.wait_for_selector(".st-instructions")
    look()
    begin(page)
    page.keyboard.press("1")
    page.keyboard.press("2")
    page.keyboard.press("a")
    page.keyboard.press("Enter")
    look()
    page.keyboard.type("Which one of the two would you like me to take?")
    press(page, "Enter")
    look()
    page.keyboard.press("1")
    page.keyboard.press("d")
    press(page, "Enter")
    look()
    robot_result(page, server, look)
    user(page, server, look)
    annotator(page, server, look)


def robot_result(page: Any, server: Any, look: Any) -> None:
    play(page, server, "robot", "person", "preferences")
    look()
    begin(page)
    look()
    play(page, server, "robot", "", "preferences")
    begin(page)
    page.keyboard.press("1")
    page.keyboard.press("a")
    page.keyboard.type("Which?")
    press(page, "Enter")
    page.keyboard.press("2")
    page.keyboard.press("d")
    press(page, "Enter")
    look()


def user(page: Any, server: Any, look: Any) -> None:
    play(page, server, "user", "offline/always-asks", "preferences")
    begin(page)
    page.click(".ab-side details:last-child summary")
    look()
    page.fill("#ab-reply", "The one I said.")
    page.focus("#ab-reply")
    press(page, "Enter")
    look()


def annotator(page: Any, server: Any, look: Any) -> None:
    play(page, server, "annotator")
    look()
    begin(page)
    look()
    page.check("[name=deleting]", force=True)
    look()
    page.uncheck("[name=deleting]", force=True)
    for summary in page.locator(".fm-form summary").all():
        summary.click()
    fill_pair(page, draft_of(server, page))
    page.fill("[name=step]", "")
    page.click(".fm-foot [type=submit]")
    page.wait_for_selector(".fm-problems:focus")
    look()
    page.check("[name=deleting]", force=True)
    page.fill("[name=delete]", "Absurd.")
    page.click(".fm-foot [type=submit]")
    page.wait_for_selector(".st-done")
    look()


def test_every_page_keeps_the_accessibility_rules_and_fits_its_screen(server: Any, open_page: Any) -> None:
    page = open_page(width=360, height=740).page
    with looking(page, broken_rules, widths=(360, 768, 1280)) as look:
        through(page, server, look)


def english_words(page: Any) -> list[str]:
    """English words outside of what is marked as English, but examples of the guidelines."""
    assert page.evaluate("document.documentElement.lang") == "zh"
    marked = "[lang=en], h1[dir], h3[dir], textarea, [hidden], .fm-problems"
    marked += ", .fm-help .fm-in, .fm-step > .st-points"
    known = "Ctrl|AmbiK|Enter|Shift|gpt|mini|claude|sonnet|OPENAI|ANTHROPIC|API|KEY"
    shown = foreign_words(page, marked)
    return [word for word in shown if not re.fullmatch(known, word)]


def test_every_page_in_chinese_and_in_the_dark(server: Any, open_page: Any) -> None:
    page = open_page(scheme="dark", locale="zh-CN").page
    with looking(page, broken_rules, english_words) as look:
        through(page, server, look)


def test_shortcuts_can_be_switched_off(server: Any, open_page: Any) -> None:
    page = open_page().page
    play(page, server, "robot")
    begin(page)
    assert page.locator("kbd:visible").count() > 1
    page.click("[data-act=fm-keys]")
    assert page.get_attribute("[data-act=fm-keys]", "aria-checked") == "false"
    page.keyboard.press("1")
    assert page.locator("[name=marked]:checked").count() == 0
    assert page.locator("kbd:visible").count() == 0
    page.reload()  # it is remembered
    page.wait_for_selector(".fm-form")
    settled(page)
    page.keyboard.press("1")
    assert page.locator("[name=marked]:checked").count() == 0
    page.click("[data-act=fm-keys]")
    page.keyboard.press("1")
    assert page.locator("[name=marked]:checked").count() == 1


def test_the_next_decision_begins_at_its_top(server: Any, open_page: Any) -> None:
    page = open_page(width=390, height=640).page
    play(page, server, "robot", "", "preferences")
    begin(page)
    page.keyboard.press("a")
    page.keyboard.type("Which?")
    page.evaluate("scrollTo(0, document.body.scrollHeight)")
    press(page, "Enter")
    assert page.evaluate("scrollY") == 0
    assert page.evaluate("document.activeElement.matches('h1')")
