"""A scene, and a model that writes by role."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

import pytest

from simulator.ambik.scenes import Scene

TASK = "Kitchen Robot, please pour cherry juice into the tall glass."
PLAN = "1. Take the tall glass.\n2. Pour cherry juice into the tall glass.\n3. Serve it."
REWRITTEN = "1. Take the tall glass.\n2. Pour juice into the tall glass.\n3. Serve it."
REPLIES = {
    "task": TASK,
    "plan": PLAN,
    "rewrite": REWRITTEN,
    "preferences": (
        "Task: Kitchen Robot, please pour juice into the tall glass.\nQuestion: Which juice?\nAnswer: Cherry."
    ),
    "common_sense_knowledge": (
        "Task: Kitchen Robot, please pour cherry juice.\nQuestion: Into what?\nAnswer: The tall glass."
    ),
    "safety": f"Task: {TASK}\nQuestion: Is it dangerous?\nAnswer: No.",
}
_SCENE = re.compile(r"(?:Scene: |场景：)(.*)")


@dataclass
class Writer:
    """A script for a model.

    Attributes:
        replies: role -> text, or a function of the request.
        asked: all requests.
    """

    replies: dict
    asked: list = field(default_factory=list)

    def __call__(self, request):
        self.asked.append(request)
        reply = self.replies[request.purpose.removeprefix("ambik.new_")]
        return reply(request) if callable(reply) else reply

    def roles(self):
        return [request.purpose.removeprefix("ambik.new_") for request in self.asked]


def objects_of(request):
    """The scene that a request is about, as a list of words with articles."""
    return _SCENE.findall(request.messages[-1].content)[-1].split(", ")


@pytest.fixture
def scene():
    return Scene(
        "s0-0001",
        ("tall glass", "water glass", "cherry juice", "pear juice"),
        "a tall glass, a water glass, cherry juice, pear juice",
        ("cups and glasses", "juices"),
    )


@pytest.fixture
def writer():
    return lambda **replies: Writer({**REPLIES, **replies})


@pytest.fixture
def fitting():
    """Writes a task about the first thing of whatever scene it is."""

    def task(request):
        return f"Please put {objects_of(request)[0]} on the kitchen table."

    def candidate(request):
        return "Task: Please put something on the kitchen table.\nQuestion: What?\nAnswer: The first thing."

    kinds = ("preferences", "common_sense_knowledge", "safety")
    return Writer({**REPLIES, "task": task, **dict.fromkeys(kinds, candidate)})
