"""AmbiK's pages in Chromium: languages, screens, accessibility, what is read aloud, shortcuts."""

from __future__ import annotations

import re
from typing import Any

import pytest
from in_the_kitchen import ROBOTS, begin, draft_of, fill_pair, play
from participating import foreign_words, link, press, settled

pytestmark = [pytest.mark.browser, pytest.mark.slow]


def through(page: Any, server: Any, who: str, look: Any) -> None:
    """Every page that there is, each looked at."""
    page.goto(f"{server.url}/ambik")
    page.wait_for_selector(".ak-entry")
    look()
    page.check("input[name=seat][value=user]", force=True)
    look()
    page.goto(link(server, ROBOTS, who))
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
    page.click(".ak-look summary")
    look()
    page.fill("#ak-answer", "The one I said.")
    page.focus("#ak-answer")
    press(page, "Enter")
    look()


def annotator(page: Any, server: Any, look: Any) -> None:
    play(page, server, "annotator")
    look()
    begin(page)
    look()
    page.click("[data-act=ak-delete]")
    look()
    page.click("[data-act=ak-keep]")
    for summary in page.locator(".ak-pair summary").all():
        summary.click()
    fill_pair(page, draft_of(server, page))
    page.fill("[name=step]", "")
    page.click(".ak-foot [type=submit]")
    page.wait_for_selector(".ae-problems:focus")
    look()
    page.click("[data-act=ak-delete]")
    page.fill("[name=delete]", "Absurd.")
    page.click(".ak-foot [type=submit]")
    page.wait_for_selector(".st-done")
    look()


@pytest.mark.parametrize(("scheme", "locale"), [("light", "en"), ("dark", "zh-CN")])
def test_the_pages_keep_the_accessibility_rules(
    server: Any, open_page: Any, check_rules: Any, scheme: str, locale: str
) -> None:
    page = open_page(scheme=scheme, locale=locale).page
    through(page, server, f"axe-{scheme}", lambda: check_rules(page))


@pytest.mark.parametrize("width", [360, 768, 1280])
def test_every_page_fits_its_screen(server: Any, open_page: Any, fits: Any, width: int) -> None:
    page = open_page(width=width, height=740).page
    through(page, server, f"wide-{width}", lambda: fits(page))


def test_the_pages_speak_chinese_around_the_english_text(server: Any, open_page: Any) -> None:
    page = open_page(locale="zh-CN").page
    known = re.compile("Ctrl|AmbiK|Enter|Shift|gpt|mini|claude|sonnet|OPENAI|ANTHROPIC|API|KEY")

    def look() -> None:
        """No English words stand outside of what is marked as English, but examples of the guidelines."""
        marked = "[lang=en], h1[dir], h3[dir], textarea, [hidden], .ak-example, .ae-rules, .ae-problems"
        shown = foreign_words(page, f"{marked}, .ak-written dd")
        assert [one for one in shown if not known.fullmatch(one)] == []
        assert page.evaluate("document.documentElement.lang") == "zh"

    through(page, server, "chinese", look)


def test_shortcuts_can_be_switched_off(server: Any, open_page: Any) -> None:
    page = open_page().page
    play(page, server, "robot")
    begin(page)
    assert page.locator("kbd:visible").count() > 1
    page.click("[data-act=ak-keys]")
    assert page.get_attribute("[data-act=ak-keys]", "aria-checked") == "false"
    page.keyboard.press("1")
    assert page.locator("[name=marked]:checked").count() == 0
    assert page.locator("kbd:visible").count() == 0
    page.reload()  # it is remembered
    page.wait_for_selector(".ak-decide")
    settled(page)
    page.keyboard.press("1")
    assert page.locator("[name=marked]:checked").count() == 0
    page.click("[data-act=ak-keys]")
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
