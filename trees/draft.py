"""A task as it stands in a file, before its content has been judged.

Readers make drafts, `trees.checks` finds their faults, and `Draft.task` makes the task. A draft may hold
what a `Task` cannot (an orphan, two nodes of one index), so that all faults can be named at once.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from trees.faults import Fault, TaskError, task_error
from trees.model import Background, Language, Node, Task, Tree, task_type

Kind = Literal["yaml", "published", "memory"]


@dataclass(frozen=True, kw_only=True)
class Draft:
    """An unjudged task.

    Attributes:
        nodes: in the order of the file.
        kind: what it was read from.
        line: where the task begins in `source`, from 1; 0 if unknown.
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
    kind: Kind = "memory"
    line: int = 0
    lines: Mapping[str, int] = field(default_factory=dict)

    def where(self, place: str = "") -> int:
        """Return the line of a field, else of the nearest thing around it."""
        while place and place not in self.lines:
            place = place.rpartition(".")[0]
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
            raise TaskError(self.source, self.id, self.where(), str(error)) from error
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
    """All that could be read of a file and what could not."""

    drafts: tuple[Draft, ...] = ()
    faults: tuple[Fault, ...] = ()

    def tasks(self) -> tuple[Task, ...]:
        """Return the tasks.

        Raises:
            TaskError: if something could not be read, or is not a tree.
        """
        if self.faults:
            raise task_error(self.faults)
        return tuple(draft.task() for draft in self.drafts)
