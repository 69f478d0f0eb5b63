"""What robots, users and annotators of AmbiK do, and what the log then holds."""

from __future__ import annotations

import json
from typing import Any

from playing import episode, number, rows

from logs import LogReader
from simulator.ambik.items import DraftItem, Item, PairItem
from simulator.ambik.pairs import Draft
from simulator.ambik.rows import item_from_row

ROBOTS = "ambik-robot"
READY = "!askback.page.busy && (askback.page.ended || askback.page.stTurn?.number === askback.page.number)"


def link(server: Any, study: str, who: str) -> str:
    """A study's link as a platform makes it."""
    return f"{server.url}/ambik/study/{study}?PROLIFIC_PID={who}&STUDY_ID=s1&SESSION_ID=x1"


def open_study(page: Any, server: Any, study: str, who: str) -> None:
    """From the link to the consent, by mouse."""
    page.goto(link(server, study, who))
    page.wait_for_selector(".st-welcome")
    page.click("[data-act=st-enter]")
    page.wait_for_selector(".st-consent")


def begin(page: Any) -> None:
    """Through consent and instructions, by mouse."""
    if page.locator("[data-say=yes]").count():
        page.click("[data-say=yes]")
        page.wait_for_selector(".st-instructions")
    page.click("[data-say=ready]")
    page.wait_for_selector(".ak-page:not(.st-instructions)")
    settled(page)


def play(page: Any, server: Any, seat: str, opposite: str = "", kind: str = "any") -> None:
    """Free play, up to the instructions."""
    page.goto(f"{server.url}/ambik")
    page.wait_for_selector(".ak-entry")
    page.check(f"input[name=seat][value={seat}]", force=True)
    if opposite:
        page.check(f"input[name=opposite-{seat}][value='{opposite}']", force=True)
    if seat != "annotator":
        page.check(f"input[name=type][value={kind}]", force=True)
    page.click("[data-form=ambik] [type=submit]")
    page.wait_for_selector(".st-instructions")


def settled(page: Any) -> None:
    """Wait until what was filled in before is in the form, and keys are heard."""
    page.wait_for_function(READY)


def press(page: Any, key: str) -> None:
    """Press a key, and wait for the page of the next turn."""
    before = number(page)
    page.keyboard.press(key)
    went_on(page, before)


def went_on(page: Any, before: int) -> None:
    page.wait_for_function(f"n => askback.page.number > n && {READY}", arg=before)


def stage(page: Any) -> str:
    return str(page.get_attribute(".ab-page", "data-stage"))


def item_of(server: Any, page: Any) -> Item:
    """What is played; the page does not hold all of it."""
    with LogReader(server.log) as reader:
        return item_from_row(reader.item(reader.episode(episode(page)).item_hash))


def task_of(server: Any, page: Any) -> PairItem:
    item = item_of(server, page)
    assert isinstance(item, PairItem)
    return item


def draft_of(server: Any, page: Any) -> Draft:
    item = item_of(server, page)
    assert isinstance(item, DraftItem)
    return item.draft


def payloads(server: Any, page: Any) -> list[dict[str, Any]]:
    """Of the turns in the log, in order."""
    question = "SELECT payload FROM turns WHERE episode_id = ? ORDER BY number"
    return [json.loads(payload) for (payload,) in rows(server, question, episode(page))]


def fill_pair(page: Any, draft: Draft) -> None:
    """A form without errors: what is open in the ambiguous plan is the first line's last word."""
    *_, kind = draft.candidates
    page.check(f"input[name=type][value={kind}]", force=True)
    if page.is_visible("[name=passed_over]"):
        page.fill("[name=passed_over]", "They leave nothing open.")
    first, *rest = draft.plan
    page.fill("[name=objects]", ", ".join(draft.objects))
    page.fill("[name=scene]", ", ".join(f"the {one}" for one in draft.objects))
    page.fill(f"[name=ambiguous-{kind}]", "Kitchen Robot, please do what has to be done.")
    page.fill(f"[name=question-{kind}]", "What has to be done?")
    page.fill(f"[name=answer-{kind}]", "What I said.")
    page.fill("[name=clear_plan]", "\n".join([first, *rest]))
    page.fill("[name=ambiguous_plan]", "\n".join(["Begin.", *rest]))
    page.fill("[name=step]", "1")
    if kind == "preferences":
        page.fill("[name=shortlist]", ", ".join(draft.objects[:2]))
    page.fill("[name=intent]", first.rstrip(".").rsplit(" ", 1)[-1])
    page.fill("[name=variants]", f"{first.rstrip('.').rsplit(' ', 1)[-1]}\nsomething else")
    page.check("[name=one_ambiguity]", force=True)
