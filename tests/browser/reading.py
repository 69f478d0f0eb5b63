"""Actions of AmbiEnt's participants, and lookups in the log and the dataset."""

from __future__ import annotations

from typing import Any

import participating
from participating import press
from playing import episode

from logs import LogReader
from simulator.ambient.items import AnnotateItem, CrowdItem, Item, item_from_row

CROWD = "ambient-crowd"
LINGUISTS = "ambient-linguists"
KEYS = {"entailment": "1", "neutral": "2", "contradiction": "3"}


def begin(page: Any) -> None:
    """Go from the consent or the instructions to the first form, by mouse."""
    participating.begin(page, ".fm-page")
    participating.settled(page)


def play(page: Any, server: Any, task: str) -> None:
    """Start free play, up to the first form."""
    page.goto(f"{server.url}/ambient")
    page.wait_for_selector(".bl-entry")
    page.check(f"input[name=rule-task][value='\"{task}\"']", force=True)
    page.click("[data-form=begin] [type=submit]")
    page.wait_for_selector(".st-instructions")
    begin(page)


def step(page: Any) -> str:
    """Return the current step of the task; empty after the last."""
    return page.get_attribute(".ab-page", "data-due") or ""


def item_of(server: Any, page: Any) -> Item:
    """Return the item, which the page does not contain."""
    with LogReader(server.log) as reader:
        return item_from_row(reader.item(reader.episode(episode(page)).item_hash))


def crowd_item(server: Any, page: Any) -> CrowdItem:
    item = item_of(server, page)
    assert isinstance(item, CrowdItem)
    return item


def pair_of(server: Any, page: Any) -> tuple[str, str]:
    item = item_of(server, page)
    assert isinstance(item, AnnotateItem)
    return item.example.premise, item.example.hypothesis


def questions(server: Any, page: Any) -> list[dict[str, str]]:
    """Return the questions of the qualification, with their labels."""
    with LogReader(server.log) as reader:
        asked: list[dict[str, str]] = reader.episode(episode(page)).options["qualification"]["questions"]
    return asked


def qualify(page: Any, server: Any) -> None:
    """Answer the qualification, by keyboard."""
    for question in questions(server, page):
        page.keyboard.press(KEYS[question["label"]])
        press(page)
    assert step(page) == "label"


def press_all(page: Any, keys: str) -> None:
    for key in keys:
        page.keyboard.press(key)
