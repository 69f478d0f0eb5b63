"""Faults of JSON that cannot be read, in plain words for whoever wrote the file."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Final

_WORDS: Final[Mapping[str, str]] = {
    "Expecting value": "a value is missing",
    "Expecting property name enclosed in double quotes": "a name in double quotes is missing",
    "Expecting ',' delimiter": "a comma is missing",
    "Expecting ':' delimiter": "a colon is missing",
    "Extra data": "something follows the end",
    "Invalid control character at": "a line break or control character stands in a text; JSON writes \\n",
    "Invalid \\escape": "a text holds a \\ that escapes nothing; JSON writes \\\\",
    "Invalid \\uXXXX escape": "\\u is not followed by four hexadecimal digits",
}
"""Python's messages, as far as they are known, in our words."""


def json_problem(error: ValueError | RecursionError, *, line: bool = False, expected: str = "JSON") -> str:
    """Return a sentence without its subject that says what is wrong with JSON, and where.

    Args:
        error: what `json` raised.
        line: whether the line is told beside.
        expected: what it should have been.
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
        return "holds nothing"
    if error.msg.startswith("Unterminated string"):
        return f"ends in the middle of a text ({place}): a quote is missing, or the rest of it"
    if not error.doc[error.pos :].strip():
        return f"ends before everything is closed ({place}): a bracket is missing, or the rest of it"
    if error.msg == "Extra data" and not line and _are_lines(error):
        return "these are JSON lines, a value in each; one list or object is expected"
    return f"{_WORDS.get(error.msg, error.msg)} ({place})"


def _are_lines(error: json.JSONDecodeError) -> bool:
    """Return True if something follows a value that is one line, and looks like another value."""
    return error.lineno > 1 and "\n" not in error.doc[: error.pos].strip() and error.doc[error.pos] in "{["
