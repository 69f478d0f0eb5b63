"""Actions of people on the players' pages, and checks of the log afterwards."""

from __future__ import annotations

import sqlite3
from typing import Any

from simulator.clarq.data import load_items
from trees import Task

TASKS = {task.id: task for task in load_items("builtin", "en")}


def begin(page: Any, server: Any, seat: str = "seeker", task: str = "", opposite: str = "offline") -> None:
    """From the home page to the first turn."""
    page.goto(f"{server.url}/")
    page.wait_for_selector(".ab-home")
    page.check(f"input[name=seat][value={seat}]", force=True)
    if task:
        place = next(str(place) for place, id in enumerate(TASKS, start=1) if id == task)
        page.select_option("select[name=item-en]", place)
    other, player = {
        "seeker": ("provider", "offline/experts"),
        "provider": ("seeker", "offline/seeker"),
    }[seat]
    name = "person" if opposite == "person" else player
    page.check(f"input[name=opposite-{other}][value='{name}']", force=True)
    page.click("[data-form=begin] [type=submit]")
    page.wait_for_selector(f".ab-play-{seat}")


def take_seat(page: Any, link: str, seen: str) -> None:
    """Open an invitation, take the seat, and wait for `seen`."""
    page.goto(link)
    page.click("[data-act=st-take]")
    page.wait_for_selector(seen)


def number(page: Any) -> int:
    """The number that the next turn will have."""
    return int(page.get_attribute(".ab-page", "data-number"))


def at_number(page: Any, number: int) -> None:
    """Wait until the page shows the dialogue up to there."""
    page.wait_for_selector(f".ab-page[data-number='{number}']")


def ask(page: Any, text: str) -> None:
    """Say something as the seeker, and wait for the answer."""
    before = number(page)
    page.fill("#ab-reply", text)
    page.press("#ab-reply", "Enter")
    moved_on(page, before + 1)


def moved_on(page: Any, before: int) -> None:
    """Wait until a provider's turn number `before` is answered, or the dialogue is over."""
    page.wait_for_function("n => Number(document.querySelector('.ab-page').dataset.number) > n", arg=before)


def say_goodbye(page: Any) -> None:
    page.click("[data-act=goodbye]")
    page.click("[data-act=goodbye-yes]")
    page.wait_for_selector(".ab-result")


def episode(page: Any) -> str:
    return str(page.get_attribute(".ab-page", "data-episode"))


def rows(server: Any, question: str, *values: Any) -> list[tuple[Any, ...]]:
    with sqlite3.connect(f"file:{server.log}?mode=ro", uri=True) as connection:
        return connection.execute(question, values).fetchall()


def turns(server: Any, page: Any) -> list[tuple[str, str]]:
    """Seat and text of every turn in the log."""
    question = "SELECT seat, text FROM turns WHERE episode_id = ? ORDER BY number"
    return [(str(seat), str(text)) for seat, text in rows(server, question, episode(page))]


def task_of(server: Any, page: Any) -> Task:
    question = "SELECT i.name FROM episodes e JOIN items i ON i.hash = e.item_hash WHERE e.id = ?"
    return TASKS[str(rows(server, question, episode(page))[0][0])]


def acknowledgements_lost(page: Any) -> list[str]:
    """From now on a turn reaches the server, but its answer does not reach the page."""
    sent: list[str] = []

    def swallow(route: Any) -> None:
        sent.append(route.request.post_data)
        route.fetch()
        route.abort()

    page.route("**/api/call/send", swallow)
    return sent
