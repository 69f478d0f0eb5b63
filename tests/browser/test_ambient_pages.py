"""AmbiEnt's pages in Chromium: languages, screens, accessibility, announcements."""

from __future__ import annotations

import re
from typing import Any

import pytest
from looking import broken_rules, looking
from participating import foreign_words, link, newcomer, open_study, press
from reading import CROWD, LINGUISTS, begin, crowd_item, pair_of, play, press_all, qualify, step

pytestmark = [pytest.mark.browser, pytest.mark.slow]


def through(page: Any, server: Any, look: Any) -> None:
    """Visit every page and look at it."""
    page.goto(f"{server.url}/ambient")
    page.wait_for_selector(".bl-entry")
    look()
    page.goto(link(server, CROWD, newcomer()))
    page.wait_for_selector(".st-welcome")
    look()
    page.click("[data-act=st-enter]")
    page.wait_for_selector(".st-consent")
    look()
    page.click("[data-say=yes]")
    page.wait_for_selector(".st-instructions")
    look()
    begin(page)
    page.click(".fm-help summary")
    look()
    qualify(page, server)
    page.keyboard.press("2")
    look()
    press(page)
    page.keyboard.press("y")
    page.keyboard.press("Enter")  # two are missing
    page.wait_for_selector("[data-problems]:visible")
    look()
    press_all(page, "ny")
    press(page)
    look()
    press_all(page, "123")
    press(page)
    page.wait_for_selector(".st-done")
    look()
    crowd_result(page, server, look)
    linguist(page, server, look)
    play(page, server, "true_false")
    while step(page) == "true_false":
        page.keyboard.press("t")
        if page.locator("[data-progress]:has-text('1')").count():
            look()
        press(page)
    look()


def crowd_result(page: Any, server: Any, look: Any) -> None:
    play(page, server, "crowd")
    page.keyboard.press("1")
    press(page)
    press_all(page, "ynn")
    press(page)
    press_all(page, "213")
    press(page)
    page.wait_for_selector(".st-done")
    look()


def linguist(page: Any, server: Any, look: Any) -> None:
    play(page, server, "annotate")
    look()
    page.check("[name=discarding]", force=True)
    look()
    page.uncheck("[name=discarding]", force=True)
    press_all(page, "12")
    page.click("[data-act=fm-add]")
    page.fill(
        "[name='rewrites[0].premise']",
        "A sentence that is quite another one, and a good deal longer than before.",
    )
    page.fill("[name='rewrites[1].hypothesis']", "")
    page.keyboard.press("Control+Enter")
    page.wait_for_selector(".fm-problems:visible")
    look()
    page.fill("[name='rewrites[1].premise']", "A sentence that is quite another one.")
    page.fill("[name='rewrites[1].hypothesis']", pair_of(server, page)[1])
    page.fill("[name='rewrites[2].premise']", "A third one.")
    page.keyboard.press("Control+Enter")
    page.wait_for_selector(".st-done")
    look()


def test_every_page_keeps_the_accessibility_rules_and_fits_its_screen(server: Any, open_page: Any) -> None:
    page = open_page(width=360, height=740).page
    with looking(page, broken_rules, widths=(360, 768, 1280)) as look:
        through(page, server, look)


def english_words(page: Any) -> list[str]:
    """Return English words outside of elements marked as English, except the guidelines' examples."""
    assert page.evaluate("document.documentElement.lang") == "zh"
    shown = foreign_words(page, "[lang=en], h1[dir], h3[dir], .bl-named dd, textarea, [hidden]")
    return [word for word in shown if not re.fullmatch("USD|Ctrl|AmbiEnt|Enter", word)]


def test_every_page_in_chinese_and_in_the_dark(server: Any, open_page: Any) -> None:
    page = open_page(scheme="dark", locale="zh-CN").page
    with looking(page, broken_rules, english_words) as look:
        through(page, server, look)


def test_what_is_new_is_read_aloud(server: Any, open_page: Any) -> None:
    page = open_page().page
    open_study(page, server, CROWD, newcomer())
    begin(page)
    heard = """words => [...document.querySelectorAll('[role=status]')].some(
                 (one) => one.textContent.includes(words))"""
    page.wait_for_function(heard, arg="Question 1 of 5")
    qualify(page, server)
    page.wait_for_function(heard, arg="Step 1 of 3")
    page.keyboard.press("Enter")
    described = page.get_attribute("[name=label] >> nth=0", "aria-describedby")
    assert page.inner_text(f"#{described}") == "Please answer this first."
    page.keyboard.press("1")
    press(page)
    assert page.evaluate("document.activeElement.matches('h1')")
    # Which candidate an answer is for is said with it.
    page.keyboard.press("y")
    legend = page.evaluate("document.activeElement.closest('fieldset').querySelector('legend').textContent")
    assert legend.startswith("Reading 2")
    assert len(crowd_item(server, page).candidates) == 3


def test_the_next_form_begins_at_its_top(server: Any, open_page: Any) -> None:
    page = open_page(width=390, height=640).page
    open_study(page, server, LINGUISTS, newcomer())
    begin(page)
    press_all(page, "12")
    page.evaluate("scrollTo(0, document.body.scrollHeight)")
    page.keyboard.press("Control+Enter")
    page.wait_for_selector(".fm-problems:focus")
    seen = "document.activeElement.getBoundingClientRect().top"
    assert 0 <= page.evaluate(seen) < 640
    play(page, server, "crowd")
    page.evaluate("scrollTo(0, document.body.scrollHeight)")
    page.keyboard.press("1")
    press(page)
    assert page.evaluate("scrollY") == 0
