"""Response trees (paper III-B, Fig. 3), their traversal, and the 31 task types (Table I).

A **task** is a seeker's background (role, task, items, skills, scenes) together with the **tree** of
responses that only the provider knows. Everything here is immutable: each step of a walk returns a
new `Frontier`, so a past frontier can be shown again at any time.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from importlib import resources
from typing import Annotated, Literal

import yaml
from pydantic import Field

from trees.bounded import known_place
from trees.faults import Fault, TaskError, task_error

Language = Literal["en", "zh"]
OPENING = "0"


def index_key(index: str) -> tuple[int, ...]:
    """Return the sort key of a node index, by numbers, so that ``1.10`` follows ``1.9``.

    Raises:
        ValueError: if `index` is not dot-separated whole numbers.
    """
    try:
        return tuple(int(part) for part in index.split("."))
    except ValueError:
        raise ValueError(f"node index {index!r} is not numbers joined by dots, such as 1.2") from None


@dataclass(frozen=True, slots=True)
class Node:
    """A response that resolves one uncertainty.

    Attributes:
        index: ``"1"``, ``"1.1"``, …; ``a.b`` is a child of ``a``.
        text: the provider's words, verbatim, without a speaker prefix.
        explanation: what the response clarifies and when it may be used; None in the development set.
    """

    index: str
    text: str
    explanation: str | None = None

    @property
    def parent(self) -> str | None:
        """Index of the parent node, None for a top-level node (available after the opening)."""
        head, dot, _ = self.index.rpartition(".")
        return head if dot else None

    @property
    def depth(self) -> int:
        """1 for a top-level node."""
        return self.index.count(".") + 1


@dataclass(frozen=True)
class Tree:
    """An opening response and the nodes that resolve its uncertainties, in index order."""

    opening: str
    nodes: tuple[Node, ...]

    def __post_init__(self) -> None:
        """Check indices.

        Raises:
            ValueError: on a duplicate index, an index ``0`` among the nodes or a missing parent.
        """
        ordered = tuple(sorted(self.nodes, key=lambda node: index_key(node.index)))
        object.__setattr__(self, "nodes", ordered)
        indices: set[str] = set()
        for node in ordered:
            if node.index == OPENING or node.index in indices:
                raise ValueError(f"node index {node.index!r} is used twice")
            if node.parent is not None and node.parent not in indices:
                raise ValueError(f"node {node.index!r} has no parent {node.parent!r}")
            indices.add(node.index)

    @cached_property
    def by_index(self) -> dict[str, Node]:
        """Nodes by index."""
        return {node.index: node for node in self.nodes}

    def text(self, index: str) -> str:
        """Return the text of a node, or of the opening (``"0"``)."""
        return self.opening if index == OPENING else self.by_index[index].text

    @property
    def uncertainties(self) -> int:
        """Number of nodes, not counting the opening (paper Table I)."""
        return len(self.nodes)

    @property
    def depth(self) -> int:
        """Depth of the deepest node; 1 if no node has a child."""
        return max((node.depth for node in self.nodes), default=0)


@dataclass(frozen=True, slots=True)
class Frontier:
    """The position of a dialogue in its tree: whether it is opened, and the nodes given so far, in order."""

    tree: Tree
    opened: bool = False
    given: tuple[str, ...] = ()

    @property
    def available(self) -> tuple[Node, ...]:
        """The nodes that may be given now, in index order."""
        if not self.opened:
            return ()
        return tuple(
            node
            for node in self.tree.nodes
            if node.index not in self.given and (node.parent is None or node.parent in self.given)
        )

    @property
    def withheld(self) -> tuple[Node, ...]:
        """All nodes not given yet, available or not."""
        return tuple(node for node in self.tree.nodes if node.index not in self.given)

    @property
    def complete(self) -> bool:
        """Return True if every node has been given."""
        return self.opened and len(self.given) == len(self.tree.nodes)

    def open(self) -> Frontier:
        """Return the frontier after the opening response.

        Raises:
            ValueError: if the opening has been given already.
        """
        if self.opened:
            raise ValueError("the opening response has been given already")
        return Frontier(self.tree, True, self.given)

    def give(self, indices: Iterable[str]) -> Frontier:
        """Return the frontier after one reply that gives `indices`, all of which must be available now.

        Children of these nodes become available only in the next reply (paper VI-H).

        Raises:
            ValueError: if an index is not available or is named twice.
        """
        new = tuple(indices)
        available = {node.index for node in self.available}
        for position, index in enumerate(new):
            if index not in available or index in new[:position]:
                raise ValueError(f"node {index!r} cannot be given now")
        return Frontier(self.tree, self.opened, self.given + new)


@dataclass(frozen=True, slots=True)
class Background:
    """The seeker's briefing (paper III-A): role, task, and three lists, any of which may be empty."""

    role: str
    task: str
    items: tuple[str, ...] = ()
    skills: tuple[str, ...] = ()
    scenes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Task:
    """One item in one language.

    Attributes:
        id: unique within its data set and language, the same in both languages (``"1.0"`` for
            task 0 of type 1 in the published data, ``"gather-resources-1"`` for a built-in task).
        background: the seeker's briefing.
        tree: the responses, which only the provider knows.
        prompt: the published background text, used unchanged; None if a template renders it.
        source: the file the task was read from, for error messages.
    """

    id: str
    type: int
    language: Language
    background: Background
    tree: Tree
    prompt: str | None = None
    source: Annotated[str, Field(exclude=True)] = field(default="", compare=False)


Split = Literal["test", "development"]
LAST_TEST_TYPE = 26


@dataclass(frozen=True, slots=True)
class TaskType:
    """A kind of task."""

    number: int
    en: str
    zh: str

    @property
    def slug(self) -> str:
        """The English name in kebab case."""
        return self.en.lower().replace(" ", "-")

    @property
    def split(self) -> Split:
        """Test set (types 1 to 26) or development set (27 to 31)."""
        return "test" if self.number <= LAST_TEST_TYPE else "development"

    def name(self, language: Language) -> str:
        """Return the name in `language`."""
        return self.zh if language == "zh" else self.en


_NAMES = yaml.safe_load(resources.files("trees").joinpath("task_types.yaml").read_text(encoding="utf-8"))
TASK_TYPES = tuple(TaskType(number, en, zh) for number, (en, zh) in enumerate(_NAMES, start=1))
_BY_NAME = {name: task_type for task_type in TASK_TYPES for name in (str(task_type.number), task_type.slug)}


def task_type(which: int | str) -> TaskType:
    """Return the task type with this number, slug or English name.

    Raises:
        ValueError: if no such type exists.
    """
    name = "-".join(re.split(r"[\s_-]+", str(which).strip().lower())).lstrip("0")
    if (match := _BY_NAME.get(name)) is None:
        slugs = ", ".join(task_type.slug for task_type in TASK_TYPES)
        raise ValueError(f"{which!r} is not a task type; use 1 to {len(TASK_TYPES)}, or a slug: {slugs}")
    return match


@dataclass(frozen=True, kw_only=True)
class Draft:
    """A task as read from a file, before its content is checked.

    Readers make drafts, `trees.checks` finds their faults, and `Draft.task` makes the task. A draft may
    contain what a `Task` cannot (an orphan, a repeated index), so that all faults are reported together.

    Attributes:
        nodes: in file order.
        kind: the format it was read from.
        line: first line of the task in `source`, from 1; 0 if unknown.
        lines: line by field (``opening``, ``items.2``, ``nodes.0.text``).
        (The other fields are those of `Task`.)
    """

    id: str
    type: int
    language: Language
    background: Background
    opening: str
    nodes: tuple[Node, ...]
    prompt: str | None = None
    source: str = ""
    kind: Literal["yaml", "published", "memory"] = "memory"
    line: int = 0
    lines: Mapping[str, int] = field(default_factory=dict)

    def line_of(self, place: str = "") -> int:
        """Return the line of a field, or of the innermost part around it that has a line."""
        place = known_place(place, self.lines)
        return self.lines[place] if place else self.line

    def task(self) -> Task:
        """Return the task.

        Raises:
            TaskError: if the type does not exist or the indices do not make a tree.
        """
        try:
            task_type(self.type)
            tree = Tree(self.opening, self.nodes)
        except ValueError as error:
            raise TaskError(self.source, self.id, self.line_of(), str(error)) from error
        return Task(
            id=self.id,
            type=self.type,
            language=self.language,
            background=self.background,
            tree=tree,
            prompt=self.prompt,
            source=self.source,
        )


@dataclass(frozen=True)
class Scan:
    """The result of reading a file: its readable tasks and its faults."""

    drafts: tuple[Draft, ...] = ()
    faults: tuple[Fault, ...] = ()

    def tasks(self) -> tuple[Task, ...]:
        """Return the tasks.

        Raises:
            TaskError: if the file has faults or a task's nodes do not form a tree.
        """
        if self.faults:
            raise task_error(self.faults)
        return tuple(draft.task() for draft in self.drafts)


_CHINESE = re.compile(r"[\u3400-\u9fff]")
_LATIN = re.compile(r"[A-Za-z]")
_WIDE = r"\u3000-\u303f\u3400-\u9fff\uff00-\uffef"
_FOLDED = re.compile(rf"(?<=[{_WIDE}])[ \n]+(?=[{_WIDE}])")


def chinese_share(text: str) -> float:
    """Return the share of Chinese characters among Chinese characters and Latin letters; 0 without either."""
    chinese, latin = len(_CHINESE.findall(text)), len(_LATIN.findall(text))
    return chinese / (chinese + latin) if chinese + latin else 0.0


def guess_language(text: str) -> Language:
    """Return ``zh`` if a fifth of the letters are Chinese: published files have English keys."""
    return "zh" if chinese_share(text) >= 0.2 else "en"


def tidy(text: str, language: Language) -> str:
    """Undo line folding: leave one blank between words, none between Chinese characters."""
    text = " ".join(text.split())
    return _FOLDED.sub("", text) if language == "zh" else text
