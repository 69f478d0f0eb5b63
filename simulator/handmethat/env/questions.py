"""What the robot may ask, and what the human answers from the true meaning (spec 9.7)."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

import yaml

from simulator.handmethat.env.naming import Language
from simulator.handmethat.hierarchy import TABLES
from simulator.handmethat.task import Task

AnswerKind = Literal["value", "yes", "no", "indifferent", "unknown"]


class Answer(NamedTuple):
    """What the human says to a question.

    Attributes:
        kind: ``value``: it tells something; ``yes`` and ``no``; ``indifferent``: the human does not care;
            ``unknown``: the question was not understood.
        text: the words.
        cost: points, a positive number.
        key: which question it was, a key of tables/questions.yaml.
    """

    kind: AnswerKind
    text: str
    cost: int
    key: str


@cache
def table() -> Mapping[str, Any]:
    """tables/questions.yaml."""
    return MappingProxyType(yaml.safe_load((TABLES / "questions.yaml").read_text(encoding="utf-8")))


def question_cost(key: str, costs: Mapping[str, int] | None = None) -> int:
    """What a question costs, by its key."""
    given: Mapping[str, int] = table()["costs"] | (costs or {})
    return given.get(key, given["other"])


def official_questions(language: Language) -> tuple[str, ...]:
    """The published questions; the one about states once for each state."""
    return ()


def answer(task: Task, text: str, language: Language = "en") -> Answer:
    """The human's answer."""
    return Answer("unknown", "", question_cost("other"), "other")
