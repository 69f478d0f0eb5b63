"""What participants of AmbiEnt do, and what the log then holds; what the dataset says, too."""

from __future__ import annotations

import json
from typing import Any

from playing import episode, number, rows

from logs import LogReader
from simulator.ambient.items import AnnotateItem, CrowdItem, Item
from simulator.ambient.rows import item_from_row
from simulator.ambient.views import Stage

CROWD = "ambient-crowd"
LINGUISTS = "ambient-linguists"
KEYS = {"entailment": "1", "neutral": "2", "contradiction": "3"}


def link(server: Any, study: str, who: str) -> str:
    """A study's link as a platform makes it."""
    return f"{server.url}/ambient/study/{study}?PROLIFIC_PID={who}&STUDY_ID=s1&SESSION_ID=x1"


def open_study(page: Any, server: Any, study: str, who: str) -> None:
    """From the link to the consent, by mouse."""
    page.goto(link(server, study, who))
    page.wait_for_selector(".st-welcome")
    page.click("[data-act=st-enter]")
    page.wait_for_selector(".st-consent")


def begin(page: Any) -> None:
    """From the consent, or the instructions, to the first form, by mouse."""
    if page.locator("[data-say=yes]").count():
        page.click("[data-say=yes]")
        page.wait_for_selector(".st-instructions")
    page.click("[data-say=ready]")
    page.wait_for_selector(".ae-task")
    settled(page)


def play(page: Any, server: Any, task: str) -> None:
    """Free play, up to the first form."""
    page.goto(f"{server.url}/ambient")
    page.wait_for_selector(".ae-entry")
    page.click(f"[data-act=ae-begin][data-task={task}]")
    page.wait_for_selector(".st-instructions")
    begin(page)


READY = "!askback.page.busy && (askback.page.ended || askback.page.stTurn?.number === askback.page.number)"


def settled(page: Any) -> None:
    """Wait until what was filled in before is in the form, and keys are heard."""
    page.wait_for_function(READY)


def enter(page: Any) -> None:
    """Press Enter, and wait for the page of the next turn."""
    before = number(page)
    page.keyboard.press("Enter")
    went_on(page, before)


def went_on(page: Any, before: int) -> None:
    page.wait_for_function(f"n => askback.page.number > n && {READY}", arg=before)


def stage(page: Any) -> Stage:
    found: Stage = page.get_attribute(".ab-page", "data-stage")
    return found


def item_of(server: Any, page: Any) -> Item:
    """What is played; the page does not hold it."""
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
    """Of the qualification, with their labels."""
    with LogReader(server.log) as reader:
        asked: list[dict[str, str]] = reader.episode(episode(page)).options["qualification"]["questions"]
    return asked


def qualify(page: Any, server: Any) -> None:
    """Through the questions, by keys."""
    for question in questions(server, page):
        page.keyboard.press(KEYS[question["label"]])
        enter(page)
    assert stage(page) == "label"


def press_all(page: Any, keys: str) -> None:
    for key in keys:
        page.keyboard.press(key)


def payloads(server: Any, page: Any) -> list[dict[str, Any]]:
    """Of the turns in the log, in order."""
    question = "SELECT payload FROM turns WHERE episode_id = ? ORDER BY number"
    return [json.loads(payload) for (payload,) in rows(server, question, episode(page))]
