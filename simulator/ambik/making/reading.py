"""What a model wrote, read: a task, a plan, a candidate (spec 11, steps 2 to 4)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from simulator.ambik.naming import bare
from simulator.ambik.pairs import Candidate
from simulator.ambik.players.lines import read_line
from simulator.ambik.terms import Ambiguity

LONGEST: Final = 1000
"""Letters of a task, a question, an answer or a step; the rest is cut off."""
MOST_STEPS: Final = 20
_LABELS: Final[Mapping[str, str]] = {
    "task": r"(?:(?:new|unclear|ambiguous|clear|rewritten) )?task|(?:新的?|改写后的)?任务",
    "question": "question|问题",
    "answer": "answer|回答",
    "plan": "(?:my |the |its |new )?plan|计划",
}
_LABEL: Final[Mapping[str, re.Pattern[str]]] = {
    field: re.compile(rf"^(?:\W*[0-9][.)])?\W*(?:{words})\W*[:：]\W*", re.I)
    for field, words in _LABELS.items()
}
_STEP: Final = re.compile(
    r"^[\s*#_]*(?:[0-9]{1,3}\s*[.):、]|step\s+[0-9]{1,3}\s*[.:)]?|[-•*]\s)[\s*_]*", re.I
)


def read_task(text: str) -> str:
    """The task: the first line that says something, without its label; empty if there is none."""
    return read_line(_LABEL["task"].sub("", text.strip(), count=1), LONGEST)


def read_plan(text: str) -> tuple[str, ...]:
    """The steps, without their numbers, up to the first line after them that has none.

    Where no line has a number, every line is a step.
    """
    lines = [line for line in text.splitlines() if any(map(str.isalnum, line))]
    first = next((place for place, line in enumerate(lines) if _STEP.match(line)), None)
    if first is None:
        lines = [line for line in lines if not _LABEL["plan"].fullmatch(line.strip())]
        return tuple(_said(line) for line in lines[:MOST_STEPS])
    numbered = []
    for line in lines[first:]:
        if not _STEP.match(line):
            break
        numbered.append(_said(_STEP.sub("", line, count=1)))
    return tuple(one for one in numbered if one)[:MOST_STEPS]


def read_candidate(text: str, kind: Ambiguity) -> Candidate | None:
    """Task, question and answer, each after its label, the first of each; None if one is missing."""
    found: dict[str, str] = {}
    for line in text.splitlines():
        for field in ("task", "question", "answer"):
            label = _LABEL[field].match(line)
            if label and field not in found and (said := _said(line[label.end() :])):
                found[field] = said
    if len(found) < 3:
        return None
    return Candidate(type=kind, task=found["task"], question=found["question"], answer=found["answer"])


def parting(clear: tuple[str, ...], ambiguous: tuple[str, ...]) -> int | None:
    """The index, from 0, of the first step in which two plans differ; None if there is none in both.

    Letter case, blanks and final stops are no difference.
    """
    both = zip(clear, ambiguous, strict=False)
    return next((place for place, (one, other) in enumerate(both) if bare(one) != bare(other)), None)


def _said(line: str) -> str:
    """One line of text without what marks it up."""
    return " ".join(line.strip(" *_\t").split())[:LONGEST]
