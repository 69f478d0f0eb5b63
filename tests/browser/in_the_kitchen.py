"""Actions of AmbiK's robots, users and annotators, and checks of the log afterwards."""

from __future__ import annotations

from typing import Any

import participating
from playing import episode

from logs import LogReader
from simulator.ambik.items import Draft, DraftItem, Item, PairItem, item_from_row

ROBOTS = "ambik-robot"


def begin(page: Any) -> None:
    """Through consent and instructions, by mouse."""
    participating.begin(page, ".st-page:not(.st-consent, .st-instructions), .ab-play")
    if page.locator(".ab-play").count() == 0:  # a conversation is not a sheet that is filled in
        participating.settled(page)


def play(page: Any, server: Any, seat: str, opposite: str = "", kind: str = "any") -> None:
    """Free play, up to the instructions."""
    page.goto(f"{server.url}/ambik")
    page.wait_for_selector(".bl-entry")
    page.check(f"input[name=seat][value={seat}]", force=True)
    if opposite:
        page.check(f"[data-opposite]:not([hidden]) input[value='{opposite}']", force=True)
    if seat != "annotator":
        page.check(f"""input[name=rule-type][value='"{kind}"']""", force=True)
    page.click("[data-form=begin] [type=submit]")
    page.wait_for_selector(".st-instructions")


def item_of(server: Any, page: Any) -> Item:
    """Return the item being played; the page does not contain all of it."""
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


def fill_pair(page: Any, draft: Draft) -> None:
    """A form without errors: what is open in the ambiguous plan is the first line's last word."""
    *_, kind = draft.candidates
    page.check(f"input[name=type][value={kind}]", force=True)
    if page.is_visible("[name=passed_over]"):
        page.fill("[name=passed_over]", "They leave nothing open.")
    first, *rest = draft.plan
    page.fill("[name=objects]", ", ".join(draft.objects))
    page.fill("[name=scene]", ", ".join(f"the {thing}" for thing in draft.objects))
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
