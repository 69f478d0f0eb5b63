"""AmbiBench's pages in Chromium: languages, screens, accessibility, what is read aloud."""

from __future__ import annotations

import re
from typing import Any

import pytest
from among_letters import ONE, TWENTY, answer, begin_trials, play, prompt_of
from participating import foreign_words, link, open_study

pytestmark = [pytest.mark.browser, pytest.mark.slow]


def test_the_pages_speak_chinese_around_the_english_text(server: Any, open_page: Any) -> None:
    page = open_page(locale="zh-CN").page

    def strange() -> list[str]:
        """English words outside of what is marked as English."""
        return [one for one in foreign_words(page) if not re.fullmatch("USD|Ctrl|[XY]+", one)]

    page.goto(f"{server.url}/ambibench")
    page.wait_for_selector(".am-entry")
    assert page.evaluate("document.documentElement.lang") == "zh"
    page.goto(link(server, ONE, "chinese"))
    page.wait_for_selector(".st-welcome")
    assert strange() == []
    page.click("[data-act=st-enter]")
    page.wait_for_selector(".st-consent")
    assert strange() == []
    page.click("[data-say=yes]")
    page.wait_for_selector(".st-instructions")
    assert strange() == []
    begin_trials(page)
    assert page.get_attribute("[data-text]", "lang") == "en"
    assert strange() == []
    answer(page, "X")
    page.wait_for_selector(".st-comment")
    assert strange() == []
    play(page, server, setting="instruction")
    answer(page, "X")
    page.wait_for_selector(".st-done")
    assert strange() == []


@pytest.mark.parametrize(("scheme", "locale"), [("light", "en"), ("dark", "zh-CN")])
def test_the_pages_keep_the_accessibility_rules(
    server: Any, open_page: Any, check_rules: Any, scheme: str, locale: str
) -> None:
    page = open_page(scheme=scheme, locale=locale).page
    page.goto(f"{server.url}/ambibench")
    page.wait_for_selector(".am-entry")
    check_rules(page)
    page.goto(link(server, TWENTY, f"axe-{scheme}"))
    page.wait_for_selector(".st-welcome")
    check_rules(page)
    page.click("[data-act=st-enter]")
    page.wait_for_selector(".st-consent")
    check_rules(page)
    page.click("[data-act=st-withdraw]")
    check_rules(page)
    page.keyboard.press("Escape")
    page.click("[data-say=yes]")
    page.wait_for_selector(".st-instructions")
    check_rules(page)
    begin_trials(page)
    check_rules(page)
    for k, example in enumerate(prompt_of(server, page).examples, start=1):
        answer(page, "wrong" if k in (1, 19) else example.label)
        if k in (1, 2, 19):  # corrected, right, and a history that has to be scrolled
            check_rules(page)
    page.wait_for_selector(".st-comment")
    check_rules(page)
    page.keyboard.press("Control+Enter")
    page.wait_for_selector(".st-done")
    check_rules(page)
    open_study(page, server, TWENTY, f"axe-{scheme}")
    page.wait_for_selector(".ab-page[data-code=taken]")
    check_rules(page)
    play(page, server)
    for label in "XY" * 10:
        answer(page, label)
    page.wait_for_selector(".st-done")
    page.click(".am-whole summary")
    check_rules(page)


@pytest.mark.parametrize("width", [360, 390, 768, 1280])
def test_every_page_fits_its_screen(server: Any, open_page: Any, fits: Any, width: int) -> None:
    page = open_page(width=width, height=740).page

    page.goto(f"{server.url}/ambibench")
    page.wait_for_selector(".am-entry")
    fits(page)
    page.goto(link(server, TWENTY, f"wide-{width}"))
    page.wait_for_selector(".st-welcome")
    fits(page)
    page.click("[data-act=st-enter]")
    page.wait_for_selector(".st-consent")
    fits(page)
    page.click("[data-act=st-withdraw]")
    fits(page)
    page.keyboard.press("Escape")
    page.click("[data-say=yes]")
    page.wait_for_selector(".st-instructions")
    fits(page)
    begin_trials(page)
    fits(page)
    for _ in range(19):
        answer(page, "no idea what this could be")
        # Where one types is in sight, however long the history has grown.
        seen = """() => { const box = (s) => document.querySelector(s).getBoundingClientRect();
                  const [field, foot] = [box('#am-answer'), box('.am-foot')];
                  return field.top >= 0 && field.bottom < foot.top + 1 && foot.bottom < innerHeight + 1; }"""
        assert page.evaluate(seen)
    fits(page)
    answer(page, "X")
    page.wait_for_selector(".st-comment")
    fits(page)
    page.click("[type=submit]")
    page.wait_for_selector(".st-done")
    fits(page)
    play(page, server, setting="instruction")
    answer(page, "X")
    page.wait_for_selector(".st-done")
    fits(page)


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
    described = page.get_attribute("#am-answer", "aria-describedby").split()
    assert prompt.examples[1].sentence in page.text_content(f"#{described[0]}")


def test_looks_after_the_colours_of_the_screen(server: Any, open_page: Any) -> None:
    """A wrong answer is told by words and a line below the label, not by colour alone."""
    page = open_page(scheme="dark").page
    play(page, server)
    answer(page, "wrong")
    style = page.evaluate("getComputedStyle(document.querySelector('.am-corrected')).textDecorationLine")
    assert style == "underline"
    assert page.get_attribute(".am-corrected", "data-mark") == "corrected"
    assert page.evaluate("document.body.classList.contains('dark')")
