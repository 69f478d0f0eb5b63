"""Actions of people on HandMeThat's pages, in one episode of each level, selected by property.

The pages offer levels and no names, so the server plays a folder that holds one episode per level.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

from episode_files import write_file
from playing import episode, number, rows

from simulator.handmethat.data import load_tasks
from simulator.handmethat.items import Task

# Where the robot stands at the beginning (spec 9.1).
_START: Final = "floor"


def opens_something(task: Task) -> bool:
    """The expert has to open something."""
    return any(command.startswith("open ") for command in task.demo)


def asks_at_once(task: Task) -> bool:
    """The human asks without having done anything: there is no story."""
    return not task.actions


def has_a_story(task: Task) -> bool:
    """The human does several things, and the expert wants only what the list of commands offers."""
    return len(task.actions) > 2 and not goes_where_it_stands(task)


def goes_where_it_stands(task: Task) -> bool:
    """The expert once goes where it is, for which there is no button."""
    places = [_START, *(text.removeprefix("move to ") for text in task.demo if text.startswith("move to "))]
    return any(before == after for before, after in pairwise(places))


def confusing(task: Task) -> bool:
    """The human names a type; there is a knife and a carving knife; the expert goes where it stands."""
    kinds = {name.partition("#")[0] for name in task.world.names}
    two_knives = {"knife", "carving_knife"} <= kinds
    return task.meaning.get("type") is not None and two_knives and goes_where_it_stands(task)


PROPERTIES: Final[Mapping[int, Callable[[Task], bool]]] = {
    1: opens_something,
    2: asks_at_once,
    3: has_a_story,
    4: confusing,
}


@cache
def episodes() -> dict[int, Task]:
    """By level, the first built-in episode that has its property."""
    return {
        level: next(task for task in load_tasks("builtin", levels=[level]) if fits(task))
        for level, fits in PROPERTIES.items()
    }


def write_episodes(folder: Path) -> str:
    """Put `episodes` into `folder`, and say where it is."""
    folder.mkdir()
    for task in episodes().values():
        write_file(task, folder)
    return str(folder)


def begin(page: Any, server: Any, seat: str = "robot", *, level: int | str, **wishes: str) -> None:
    """From the entry to the house.

    Args:
        level: of the episode; empty for any.
        wishes: mode, language, opposite.
    """
    page.goto(f"{server.url}/handmethat")
    page.wait_for_selector(".bl-entry")
    page.check(f"input[name=seat][value={seat}]", force=True)
    page.select_option("select[name=rule-level]", str(level))
    other = "human" if seat == "robot" else "robot"
    fields = {"opposite": f"opposite-{other}", "mode": "rule-mode", "language": "language"}
    for name, value in wishes.items():
        chosen = f'"{value}"' if name == "mode" else value
        page.check(f"input[name='{fields[name]}'][value='{chosen}']", force=True)
    page.click("[data-form=begin] [type=submit]")
    page.wait_for_selector(f".ab-play-{seat}, .bl-done")


def task_of(server: Any, page: Any) -> Task:
    """The episode that is played, which is one of `episodes`."""
    question = "SELECT i.name FROM episodes e JOIN items i ON i.hash = e.item_hash WHERE e.id = ?"
    name = rows(server, question, episode(page))[0][0]
    return {task.id: task for task in episodes().values()}[name]


def commands(server: Any, page: Any) -> list[str]:
    """The robot's commands in the log."""
    question = "SELECT text FROM turns WHERE episode_id = ? AND seat = 'robot' ORDER BY number"
    return [str(text) for (text,) in rows(server, question, episode(page))]


def expert(task: Task) -> list[str]:
    """The expert's commands as they are offered."""
    return [re.sub(r" (\d+)\b", r"#\1", command) for command in task.demo]


def do(page: Any, command: str) -> None:
    """Give a command with the mouse: by its button, or out of the menu of a thing."""
    before = number(page)
    button = page.locator(f'[data-act=do][data-command="{command}"]').first
    if button.count() == 0:  # an expert may go where it stands; for that there is no button
        assert page.locator(f".pl-here[data-place='{command.removeprefix('move to ')}']").count() == 1
        type_in(page, command)
        return
    if not button.is_visible():
        menu = button.locator("xpath=ancestor::*[contains(@class, 'pl-menu')]").first
        page.click(f'[aria-controls="{menu.get_attribute("id")}"]')
    button.click()
    moved_on(page, before)


def moved_on(page: Any, before: int) -> None:
    """Wait until turn number `before` is on the page."""
    page.wait_for_function(
        "n => window.askback?.page?.busy === false && askback.page.root && askback.page.number > n",
        arg=before,
    )


def type_in(page: Any, text: str) -> None:
    """Type a command, a question or an answer."""
    before = number(page)
    page.fill("#ab-reply", text)
    page.press("#ab-reply", "Enter")
    moved_on(page, before)
