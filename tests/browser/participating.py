"""What participants of AmbiBench do, and what the log then holds; their right answers, too."""

from __future__ import annotations

from typing import Any

from playing import episode, number, rows

from logs import LogReader
from simulator.ambibench.prompt import Prompt
from simulator.ambibench.rows import item_from_row

TWENTY = "ambibench-multiple"
ONE = "ambibench-uninformative"


def link(server: Any, study: str, who: str) -> str:
    """A study's link as a platform makes it."""
    return f"{server.url}/ambibench/study/{study}?PROLIFIC_PID={who}&STUDY_ID=s1&SESSION_ID=x1"


def open_study(page: Any, server: Any, study: str, who: str) -> None:
    """From the link to the consent, by mouse."""
    page.goto(link(server, study, who))
    page.wait_for_selector(".st-welcome")
    page.click("[data-act=st-enter]")
    page.wait_for_selector(".st-consent, .ab-page[data-page=study-message]")


def begin_trials(page: Any) -> None:
    """From the consent, or the instructions, to the first trial, by mouse."""
    if page.locator("[data-say=yes]").count():
        page.click("[data-say=yes]")
        page.wait_for_selector(".st-instructions")
    page.click("[data-say=ready]")
    page.wait_for_selector(".st-trial")


def play(page: Any, server: Any, **wishes: str) -> None:
    """Free play, up to the first trial."""
    page.goto(f"{server.url}/ambibench")
    page.wait_for_selector(".am-entry")
    for name, value in wishes.items():
        page.check(f"input[name='{name.replace('_', '-')}'][value='{value}']", force=True)
    page.click("[data-form=am-start] [type=submit]")
    page.wait_for_selector(".st-instructions")
    begin_trials(page)


def answer(page: Any, text: str) -> None:
    """Type and press Enter; the field has the focus."""
    before = number(page)
    assert page.evaluate("document.activeElement.id") == "am-answer"
    page.keyboard.type(text)
    page.keyboard.press("Enter")
    moved_on(page, before)


def moved_on(page: Any, before: int) -> None:
    page.wait_for_function(
        "n => Number(document.querySelector('.ab-page').dataset.number) > n && !askback.page.busy", arg=before
    )


def tab_to(page: Any, selector: str) -> None:
    """Move the focus there with the Tab key alone."""
    for _ in range(40):
        page.keyboard.press("Tab")
        if page.evaluate("s => document.activeElement.matches(s)", selector):
            return
    raise AssertionError(f"the Tab key does not lead to {selector}")


def prompt_of(server: Any, page: Any) -> Prompt:
    """The prompt that is played; the page does not hold it."""
    with LogReader(server.log) as reader:
        item = item_from_row(reader.item(reader.episode(episode(page)).item_hash))
    assert isinstance(item, Prompt)
    return item


def said(server: Any, page: Any) -> list[str]:
    """The texts of the turns in the log."""
    question = "SELECT text FROM turns WHERE episode_id = ? ORDER BY number"
    return [str(text) for (text,) in rows(server, question, episode(page))]
