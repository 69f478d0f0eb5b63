"""Actions of AmbiBench's participants, checks of the log afterwards, and the right answers."""

from __future__ import annotations

from typing import Any

from participating import begin, moved_on
from playing import episode, number

from logs import LogReader
from simulator.ambibench.items import item_from_row
from simulator.ambibench.prompt import Prompt

TWENTY = "ambibench-multiple"
UNINFORMATIVE = "ambibench-uninformative"


def begin_trials(page: Any) -> None:
    """From the consent, or the instructions, to the first trial, by mouse."""
    begin(page, ".st-task")


def play(page: Any, server: Any, **wishes: str) -> None:
    """Free play, up to the first trial."""
    page.goto(f"{server.url}/ambibench")
    page.wait_for_selector(".bl-entry")
    for name, value in wishes.items():
        page.check(f"input[name='rule-{name}'][value='\"{value}\"']", force=True)
    page.click("[data-form=begin] [type=submit]")
    page.wait_for_selector(".st-instructions")
    begin_trials(page)


def answer(page: Any, text: str) -> None:
    """Type and press Enter; the field has the focus."""
    before = number(page)
    assert page.evaluate("document.activeElement.id") == "bl-answer"
    page.keyboard.type(text)
    page.keyboard.press("Enter")
    moved_on(page, before)


def prompt_of(server: Any, page: Any) -> Prompt:
    """The prompt that is played; the page does not hold it."""
    with LogReader(server.log) as reader:
        item = item_from_row(reader.item(reader.episode(episode(page)).item_hash))
    assert isinstance(item, Prompt)
    return item
