"""Questions to the built-in tasks with the nodes that a careful provider gives, labelled by hand.

A file maps a task to lines ``question -> nodes``: the indices of the nodes that answer it, ``none`` for a
Response II. ``after`` and indices say what was given before. The published dialogues are all of a chatty
model's; these are how people ask, and what they ask that nobody has an answer to.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Final

import yaml

from personas.templates import render
from simulator.clarq.experts import Situation
from simulator.errors import InputError
from simulator.seats import Line
from trees import Frontier, Language, Task
from trees.builtin import load_builtin

_LINE: Final = re.compile(r"(?P<question>.+) -> (?P<nodes>none|[\d. ]+?)(?: after (?P<after>[\d. ]+))?")
_ONWARD: Final = {"en": "And then?", "zh": "然后呢？"}
_START: Final = {"en": "Please help me with my task: {}.", "zh": "请帮我完成任务：{}。"}


@dataclass(frozen=True, slots=True)
class Labelled:
    """A question in its situation.

    Attributes:
        situation: the dialogue up to the question.
        nodes: indices of the nodes that answer it; empty for a Response II.
    """

    situation: Situation
    nodes: tuple[str, ...]


def load_questions(path: Path | Traversable, language: Language) -> tuple[Labelled, ...]:
    """Read a file of labelled questions to the built-in tasks of `language`.

    Raises:
        InputError: if a task, a line or a node is not one.
    """
    tasks = {task.id: task for task in load_builtin(language)}
    labelleds: list[Labelled] = []
    for name, lines in yaml.safe_load(path.read_text(encoding="utf-8")).items():
        if name not in tasks:
            raise InputError(f"{path}: {name} is not a built-in task.")
        for line in lines:
            try:
                labelleds.append(_labelled(tasks[name], str(line)))
            except ValueError as error:
                raise InputError(f"{path}, {name}: {line}: {error}") from None
    return tuple(labelleds)


@cache
def training_questions() -> tuple[Labelled, ...]:
    """Return the questions that the experts are trained on, of both languages."""
    folder = files("simulator.clarq").joinpath("questions")
    return tuple(
        labelled
        for language in ("en", "zh")
        for labelled in load_questions(folder.joinpath(f"{language}.yaml"), language)
    )


def _labelled(task: Task, line: str) -> Labelled:
    match = _LINE.fullmatch(line)
    if not match:
        raise ValueError("is not of the form “question -> nodes” or “question -> nodes after nodes”")
    nodes = () if match["nodes"] == "none" else tuple(match["nodes"].split())
    frontier = Frontier(task.tree).open()
    lines = [*_opened(task)]
    for index in (match["after"] or "").split():
        frontier = frontier.give([index])
        lines += [Line("seeker", _ONWARD[task.language]), Line("provider", task.tree.by_index[index].text)]
    available = {node.index for node in frontier.available}
    if missing := set(nodes) - available:
        raise ValueError(f"node {', '.join(sorted(missing))} is not available then")
    situation = Situation(
        task=task, lines=(*lines, Line("seeker", match["question"])), frontier=frontier, number=len(lines)
    )
    return Labelled(situation, nodes)


def _opened(task: Task) -> Iterator[Line]:
    yield Line("provider", render("clarq/greeting", task.language, {}).text)
    yield Line("seeker", _START[task.language].format(task.background.task))
    yield Line("provider", task.tree.opening)
