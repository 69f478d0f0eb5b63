"""AmbiK's terms as types (spec 1, 5, 7, 8), and its tables of words (``tables/*.yaml``)."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any, Final, Literal, get_args

import yaml

from simulator.tables.builtin import read_yaml

_TABLES: Final = Path(__file__).parent / "tables"

Ambiguity = Literal["preferences", "common_sense_knowledge", "safety"]
AMBIGUITIES: Final[tuple[Ambiguity, ...]] = get_args(Ambiguity)
"""What resolves the ambiguity of a pair; the order in which the paper's tables have them."""

TaskType = Literal["unambiguous_direct", "preferences", "common_sense_knowledge", "safety"]
TASK_TYPES: Final[tuple[TaskType, ...]] = get_args(TaskType)
"""Types by which results are told: the clear member of a pair is a type of its own."""

Member = Literal["ambiguous", "clear"]
MEMBERS: Final[tuple[Member, ...]] = get_args(Member)
Part = Literal["calibration", "test"]
PARTS: Final[tuple[Part, ...]] = get_args(Part)
Context = Literal["full_plan", "action_only"]
Dialogue = Literal["before", "after"]

Method = Literal["knowno", "lap", "lofreecp", "binary", "nohelp"]
METHODS: Final[tuple[Method, ...]] = get_args(Method)
CONFORMAL: Final[tuple[Method, ...]] = ("knowno", "lap", "lofreecp")
"""Methods whose prediction sets need a calibration."""
NAMES: Final[dict[str, str]] = {
    "knowno": "KnowNo",
    "lap": "LAP",
    "lofreecp": "LofreeCP",
    "binary": "Binary",
    "nohelp": "NoHelp",
}

Role = Literal["generate", "generate_one", "choose", "afford", "certainty", "ask", "answer"]
"""What a model is asked for (spec 6); ``ask`` and ``answer`` are the exchange after a question."""
ROLES: Final[tuple[Role, ...]] = get_args(Role)
Certainty = Literal["certain", "uncertain", "invalid"]

APPLIANCES: Final = ("fridge", "oven", "kitchen table", "microwave", "dishwasher", "sink", "tea kettle")
"""In every scene, and not in the object columns (spec 2.3)."""
KNOWNO_APPLIANCES: Final = ("microwave", "cooktop")
"""What stands in every scene of KnowNo's data besides drawers and bins (spec 9); prompts say so."""

DO_NOTHING: Final = "do nothing"
"""Stands for an option that is missing; never right, and in no prediction set that is measured (spec 6)."""
NOT_LISTED: Final = "an option not listed here"


def task_type(member: Member, ambiguity: Ambiguity) -> TaskType:
    """Return the type under which a task's results are told."""
    return "unambiguous_direct" if member == "clear" else ambiguity


@cache
def table(name: str) -> Any:
    """Return what one of the tables holds, read once; nobody changes it."""
    return read_yaml(_TABLES / f"{name}.yaml")


@cache
def _read(name: str) -> dict[str, Any]:
    held: dict[str, Any] = yaml.safe_load((Path(__file__).parent / name).read_text(encoding="utf-8"))
    return held


def remark(group: str, name: str) -> Any:
    """Return a sentence, or several, by group and name."""
    return _read("remarks.yaml")[group][name]


def paper() -> dict[str, Any]:
    """Return all that the paper prints of its results."""
    return _read("paper.yaml")
