"""Decisions to learn from: of published dialogues, and questions to the built-in tasks labelled by hand.

A file of questions maps a task to lines ``question -> nodes``: the indices of the nodes that answer it,
``none`` for a Response II; ``after`` and indices say what was given before. Published dialogues are all of
a chatty model's; these are how people ask, and what they ask that nobody has an answer to.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cache, cached_property
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Final

import yaml

from personas.templates import render
from simulator.clarq.experts import Situation
from simulator.clarq.features import Reading
from simulator.clarq.ranker import Example
from simulator.clarq.results import Dialogue
from simulator.errors import InputError
from simulator.seats import Line
from trees import Frontier, Language, Task, Tree
from trees.sources import load_builtin

FOLDS: Final = 5
_LINE: Final = re.compile(r"(?P<question>.+) -> (?P<nodes>none|[\d. ]+?)(?: after (?P<after>[\d. ]+))?")
_ONWARD: Final = {"en": "And then?", "zh": "然后呢？"}
_START: Final = {"en": "Please help me with my task: {}.", "zh": "请帮我完成任务：{}。"}


@dataclass(frozen=True)
class Lesson:
    """A turn of the provider after the opening at which something could be given.

    Attributes:
        situation: before it.
        given: indices of the nodes that it gave, or should give; empty for a Response II.
    """

    situation: Situation
    given: tuple[str, ...]

    @cached_property
    def reading(self) -> Reading:
        """The seeker's words, read."""
        return Reading(self.situation)

    @property
    def fold(self) -> int:
        """By task type."""
        return self.situation.task.type % FOLDS

    @property
    def positions(self) -> tuple[int, ...]:
        """Of the nodes given, in the frontier."""
        return tuple(sorted(map(self.reading.available.index, self.given)))

    @property
    def example(self) -> Example:
        """For the ranking: a multi-info provider finds the first of its nodes as a single-info one does."""
        return Example(self.reading.features, min(self.positions, default=-1))

    @property
    def bare(self) -> Lesson:
        """The same in a task whose nodes have no explanations, as in the development set."""
        task, frontier = self.situation.task, self.situation.frontier
        tree = Tree(task.tree.opening, tuple(replace(node, explanation=None) for node in task.tree.nodes))
        frontier = Frontier(tree, frontier.opened, frontier.given)
        return Lesson(replace(self.situation, task=replace(task, tree=tree), frontier=frontier), self.given)


Lessons = Mapping[str, tuple[Lesson, ...]]
"""All that is learnt from: of published dialogues of a ``single``-info provider, of a multi-info one
(``several``), and hand-labelled ``questions``."""


def lessons_of(
    single: Iterable[Dialogue], several: Iterable[Dialogue], questions: Iterable[Lesson]
) -> Lessons:
    """Return the decisions of published dialogues, and labelled questions, as lessons."""

    def decisions(dialogues: Iterable[Dialogue]) -> tuple[Lesson, ...]:
        return tuple(
            Lesson(dialogue.situation(step), step.given)
            for dialogue in dialogues
            for step in dialogue.steps
            if step.before.available
        )

    return {"single": decisions(single), "several": decisions(several), "questions": tuple(questions)}


def load_questions(path: Path | Traversable, language: Language) -> tuple[Lesson, ...]:
    """Read a file of labelled questions to the built-in tasks of `language`.

    Raises:
        InputError: if a task, a line or a node is not one.
    """
    tasks = {task.id: task for task in load_builtin(language)}
    questions: list[Lesson] = []
    for name, lines in yaml.safe_load(path.read_text(encoding="utf-8")).items():
        if name not in tasks:
            raise InputError(f"{path}: {name} is not a built-in task.")
        for line in lines:
            try:
                questions.append(_question(tasks[name], str(line)))
            except ValueError as error:
                raise InputError(f"{path}, {name}: {line}: {error}") from None
    return tuple(questions)


@cache
def training_questions() -> tuple[Lesson, ...]:
    """Return the questions that the experts are trained on, of both languages."""
    folder = files("simulator.clarq").joinpath("questions")
    languages: tuple[Language, ...] = ("en", "zh")
    return tuple(
        question
        for language in languages
        for question in load_questions(folder.joinpath(f"{language}.yaml"), language)
    )


def _question(task: Task, line: str) -> Lesson:
    match = _LINE.fullmatch(line)
    if not match:
        raise ValueError("is not of the form “question -> nodes” or “question -> nodes after nodes”")
    nodes = () if match["nodes"] == "none" else tuple(match["nodes"].split())
    frontier = Frontier(task.tree).open()
    lines = [
        Line("provider", render("clarq/greeting", task.language, {}).text),
        Line("seeker", _START[task.language].format(task.background.task)),
        Line("provider", task.tree.opening),
    ]
    for index in (match["after"] or "").split():
        frontier = frontier.give([index])
        lines += [Line("seeker", _ONWARD[task.language]), Line("provider", task.tree.by_index[index].text)]
    available = {node.index for node in frontier.available}
    if missing := set(nodes) - available:
        raise ValueError(f"node {', '.join(sorted(missing))} is not available then")
    lines.append(Line("seeker", match["question"]))
    return Lesson(Situation(task=task, lines=tuple(lines), frontier=frontier, number=len(lines)), nodes)
