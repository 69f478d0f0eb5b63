"""Why the built-in provider decided as it did: one English sentence each, which the log keeps.

Pages say them in their own language: `recognise` tells which one a logged sentence is.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

REASONS: Final[Mapping[str, str]] = {
    "speaks": "speaks of: {words}",
    "asks_help": "asks for help: {words}",
    "foreign": "neither names anything of the task nor asks for help with it",
    "heard": "node {node} answers it",
    "answers": "node {node} answers what was asked",
    "answer": "nodes {nodes} answer what was asked",
    "none": "no available node answers what was asked",
    "sums_up": "sums up and asks nothing",
    "empty": "asks nothing and names nothing of the task",
    "all": "sums up and asks whether that is all",
    "anything_else": "asks whether there is anything else",
    "off_task": "asks for nothing of the task",
    "answered": "node {node} has answered it",
    "not_available": "asks for a detail that no available node gives",
}
_PATTERNS: Final = {
    code: re.compile(re.sub(r"\\\{(\w+)\\\}", r"(?P<\1>.+)", re.escape(sentence)))
    for code, sentence in REASONS.items()
}


def reason(code: str, **fields: str) -> str:
    """Return the sentence called `code`, its fields filled in."""
    return REASONS[code].format(**fields)


def recognise(sentence: str) -> tuple[str, dict[str, str]] | None:
    """Return code and fields of a logged sentence; None if it is not one of ours (a model's own words)."""
    for code, pattern in _PATTERNS.items():
        if found := pattern.fullmatch(sentence):
            return code, found.groupdict()
    return None
