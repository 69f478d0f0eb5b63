"""AmbiBench's pages in Chromium: languages, screens, accessibility, what is read aloud."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import pytest
from among_letters import TWENTY, answer, begin_trials, play, prompt_of
from looking import broken_rules, looking
from participating import foreign_words, link, newcomer, open_study

pytestmark = [pytest.mark.browser, pytest.mark.slow]


WIDTHS = (360, 390, 768, 1280)
# Where one types is in sight, however long the history has grown.
IN_SIGHT = """() => { const box = (s) => document.querySelector(s).getBoundingClientRect();
              const [field, foot] = [box('#bl-answer'), box('.bl-foot')];
              return field.top >= 0 && field.bottom < foot.top + 1 && foot.bottom < innerHeight + 1; }"""


def through(page: Any, server: Any, look: Any, widths: Sequence[int], wrong: str) -> None:
    """Every page that there is, each looked at; trials on screens of all `widths` in turn."""
    who = newcomer()
    page.goto(f"{server.url}/ambibench")
    page.wait_for_selector(".bl-entry")
    look()
    page.goto(link(server, TWENTY, who))
    page.wait_for_selector(".st-welcome")
    look()
    page.click("[data-act=st-enter]")
    page.wait_for_selector(".st-consent")
    look()
    page.click("[data-act=st-withdraw]")
    look()
    page.keyboard.press("Escape")
    page.click("[data-say=yes]")
    page.wait_for_selector(".st-instructions")
    look()
    begin_trials(page)
    assert page.get_attribute("[data-text]", "lang") == "en"
    look()
    height = page.viewport_size["height"]
    for k, example in enumerate(prompt_of(server, page).examples, start=1):
        page.set_viewport_size({"width": widths[k % len(widths)], "height": height})
        answer(page, example.label if k in (2, 20) else wrong)
        if k < 20:
            assert page.evaluate(IN_SIGHT), f"trial {k}"
        if k in (1, 2, 19):  # corrected, right, and a history that has to be scrolled
            look()
    page.wait_for_selector(".st-comment")
    look()
    page.keyboard.press("Control+Enter")
    page.wait_for_selector(".st-done")
    look()
    open_study(page, server, TWENTY, who)
    page.wait_for_selector(".ab-page[data-code=taken]")
    look()
    play(page, server, setting="instruction")
    answer(page, "X")
    page.wait_for_selector(".st-done")
    look()


def whole_result(page: Any, server: Any, look: Any) -> None:
    """Free play of all trials."""
    play(page, server)
    for label in "XY" * 10:
        answer(page, label)
    page.wait_for_selector(".st-done")
    page.click(".bl-folded summary")
    look()


def test_every_page_keeps_the_accessibility_rules_and_fits_its_screen(server: Any, open_page: Any) -> None:
    page = open_page(width=WIDTHS[0], height=740).page
    with looking(page, broken_rules, widths=WIDTHS) as look:
        through(page, server, look, WIDTHS, "no idea what this could be")
        whole_result(page, server, look)


def english_words(page: Any) -> list[str]:
    """English words outside of what is marked as English, and a page that is not marked as Chinese."""
    assert page.evaluate("document.documentElement.lang") == "zh"
    return [word for word in foreign_words(page) if not re.fullmatch("USD|Ctrl|AmbiBench|[XY]+", word)]


def test_every_page_in_chinese_and_in_the_dark(server: Any, open_page: Any) -> None:
    page = open_page(scheme="dark", locale="zh-CN").page
    with looking(page, broken_rules, english_words) as look:
        through(page, server, look, [1280], "XYXY")
    with looking(page, broken_rules) as look:
        whole_result(page, server, look)


def test_what_is_new_is_read_aloud(server: Any, open_page: Any) -> None:
    page = open_page().page
    play(page, server)
    prompt = prompt_of(server, page)
    answer(page, "wrong")
    page.wait_for_function(
        """right => [...document.querySelectorAll('[role=status]')].some((one) =>
             one.textContent.includes(`the right answer is ${right}`)
             && one.textContent.includes('Sentence 2 of 20'))""",
        arg=prompt.examples[0].label,
    )
    described = page.get_attribute("#bl-answer", "aria-describedby").split()
    assert prompt.examples[1].sentence in page.text_content(f"#{described[0]}")


def test_looks_after_the_colours_of_the_screen(server: Any, open_page: Any) -> None:
    """A wrong answer is told by words and a line below the label, not by colour alone."""
    page = open_page(scheme="dark").page
    play(page, server)
    answer(page, "wrong")
    style = page.evaluate("getComputedStyle(document.querySelector('.bl-corrected')).textDecorationLine")
    assert style == "underline"
    assert page.get_attribute(".bl-corrected", "data-note") == "corrected"
    assert page.evaluate("document.body.classList.contains('dark')")
