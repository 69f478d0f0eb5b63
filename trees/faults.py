"""What is wrong with a task file: a `Fault`, or the `TaskError` that a reader raises for one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

Severity = Literal["error", "warning"]


@dataclass(frozen=True, slots=True, order=True)
class Fault:
    """Something wrong with a task.

    Attributes:
        file: where the task stands; empty for a task that was made in memory.
        task: the task's id; empty if the file could not be read that far.
        line: line in the file, from 1; 0 if unknown.
        code: the rule that found it, see `trees.checks.RULES`; ``format`` for what cannot be read at all.
        message: one sentence for people.
        severity: an ``error`` makes the task unusable or unfair, a ``warning`` deserves a look.
        kind: in words what `task` is the id of.
    """

    file: str
    task: str
    line: int
    code: str
    message: str
    severity: Severity = "error"
    kind: str = "task"

    def __str__(self) -> str:
        return f"{_place(self.file, self.line, self.task, self.kind)}{self.message} [{self.code}]"


def fault_text(fault: Fault | str) -> str:
    """Return file, line, row and message of a fault."""
    if isinstance(fault, str):
        return fault
    where = f"{fault.file}:{fault.line}" if fault.line else fault.file
    return f"{where}: {f'row {fault.task}: ' if fault.task else ''}{fault.message}"


class TaskError(Exception):
    """A task file cannot be read; the message names file, line and task.

    Attributes:
        file: the file.
        task: the task's id; empty if the file could not be read that far.
        line: line in the file, from 1; 0 if unknown.
        message: what is wrong.
    """

    def __init__(self, file: str, task: str, line: int, message: str) -> None:
        super().__init__(f"{_place(file, line, task)}{message}")
        self.file, self.task, self.line, self.message = file, task, line, message


def task_error(faults: tuple[Fault, ...]) -> TaskError:
    """Return the error for a file with `faults`: the first one, and how many more there are."""
    first = faults[0]
    return TaskError(first.file, first.task, first.line, first.message + _and_more(faults))


def first_and_more(faults: Sequence[Fault], *, checkable: bool = True) -> str:
    """Return the first of a file's faults, and how many more there are; `checkable` by `askback check`."""
    return f"{faults[0]}{_and_more(faults, checkable)}"


def _and_more(faults: Sequence[Fault], checkable: bool = True) -> str:
    hint = ": run `askback check` on it" if checkable else ""
    return f" (and {len(faults) - 1} more{hint})" if len(faults) > 1 else ""


def _place(file: str, line: int, task: str, kind: str = "task") -> str:
    where = f"{file}:{line}" if file and line else file
    return "".join(f"{part}: " for part in (where, f"{kind} {task}" if task else "") if part)
