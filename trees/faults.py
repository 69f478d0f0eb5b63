"""Faults in files: `Fault`, the `TaskError` that readers raise, and plain descriptions of JSON errors."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

Severity = Literal["error", "warning"]


@dataclass(frozen=True, slots=True, order=True)
class Fault:
    """A fault in a task file.

    Attributes:
        task: the task's id; empty if the file could not be read that far.
        line: line in the file, from 1; 0 if unknown.
        code: the rule that found it, see `trees.checks.RULES`; ``format`` if the task cannot be read.
        message: one sentence for the user.
        severity: an ``error`` makes the task unusable or unfair, a ``warning`` deserves a look.
        kind: the noun for what `task` identifies.
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
    """Return a fault as text: file, line, row and message."""
    if isinstance(fault, str):
        return fault
    where = f"{fault.file}:{fault.line}" if fault.line else fault.file
    return f"{where}: {f'row {fault.task}: ' if fault.task else ''}{fault.message}"


class TaskError(Exception):
    """An unreadable task file; the message names file, line and task."""

    def __init__(self, file: str, task: str, line: int, message: str) -> None:
        super().__init__(f"{_place(file, line, task)}{message}")
        self.file, self.task, self.line, self.message = file, task, line, message


def task_error(faults: tuple[Fault, ...]) -> TaskError:
    """Return an error that states the first of a file's faults and counts the others."""
    first = faults[0]
    return TaskError(first.file, first.task, first.line, first.message + _and_more(faults))


def first_and_more(faults: Sequence[Fault], *, checkable: bool = True) -> str:
    """Return the first of a file's faults and the number of others; `checkable`: mention `askback check`."""
    return f"{faults[0]}{_and_more(faults, checkable)}"


def _and_more(faults: Sequence[Fault], checkable: bool = True) -> str:
    hint = ": run `askback check` on it" if checkable else ""
    return f" (and {len(faults) - 1} more{hint})" if len(faults) > 1 else ""


def _place(file: str, line: int, task: str, kind: str = "task") -> str:
    where = f"{file}:{line}" if file and line else file
    return "".join(f"{part}: " for part in (where, f"{kind} {task}" if task else "") if part)


_WORDS: Final[Mapping[str, str]] = {
    "Expecting value": "a value is missing",
    "Expecting property name enclosed in double quotes": "a name in double quotes is missing",
    "Expecting ',' delimiter": "a comma is missing",
    "Expecting ':' delimiter": "a colon is missing",
    "Extra data": "there is text after the end",
    "Invalid control character at": "a string contains a line break or control character; JSON writes \\n",
    "Invalid \\escape": "a string contains a stray \\; JSON writes \\\\",
    "Invalid \\uXXXX escape": "\\u is not followed by four hexadecimal digits",
}
"""Plain wording for the messages of Python's `json`."""


def json_problem(error: ValueError | RecursionError, *, line: bool = False, expected: str = "JSON") -> str:
    """Return a predicate that says what is wrong with JSON and where ("is not JSON: …").

    `line`: True if the caller states the line itself.
    """
    if isinstance(error, json.JSONDecodeError):
        return f"is not {expected}: {_describe_error(error, line)}"
    if isinstance(error, UnicodeDecodeError):
        return f"is not JSON: is not UTF-8 (byte {error.start + 1})"
    known = type(error) is ValueError and "integer string conversion" not in str(error)
    return f"is not JSON: {error if known else 'cannot be parsed'}"


def _describe_error(error: json.JSONDecodeError, line: bool) -> str:
    place = f"column {error.colno}" if line else f"line {error.lineno}, column {error.colno}"
    if not error.doc.strip():
        return "is empty"
    if error.msg.startswith("Unterminated string"):
        return f"ends in the middle of a string ({place}): a quote is missing, or the rest of it"
    if not error.doc[error.pos :].strip():
        return f"ends before everything is closed ({place}): a bracket is missing, or the rest of it"
    if error.msg == "Extra data" and not line and _are_lines(error):
        return "contains JSON lines, one value each; a single list or object is expected"
    return f"{_WORDS.get(error.msg, error.msg)} ({place})"


def _are_lines(error: json.JSONDecodeError) -> bool:
    """Return True if the first line is a value of its own and another value seems to follow."""
    return error.lineno > 1 and "\n" not in error.doc[: error.pos].strip() and error.doc[error.pos] in "{["
