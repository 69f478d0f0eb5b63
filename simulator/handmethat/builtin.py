"""The built-in episodes: a hundred of our own, 25 of each level as in the paper's study.

A line of tables/builtin.jsonl.gz holds the ``episode`` as a row of the log and what help was ``worth`` in it:
entity, argument and reward of each grounding. They were made by a rule for ties that is no longer there
(`profiles`), so rewards that are worked out anew may be others.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Mapping
from functools import cache
from typing import Any, Final

from simulator.handmethat.hierarchy import TABLES
from simulator.handmethat.items import task_from_row
from simulator.handmethat.meanings.model import Quest
from simulator.handmethat.planner.rewards import Rewards
from simulator.handmethat.task import Task

_TABLE: Final = TABLES / "builtin.jsonl.gz"


def builtin_tasks() -> tuple[Task, ...]:
    """Return the built-in episodes, by level, quest type and template, each with a demonstration."""
    return tuple(map(builtin_task, builtin_rows()))


@cache
def builtin_task(name: str) -> Task:
    """Return the built-in episode with this id, one of `builtin_rows`."""
    return task_from_row(builtin_rows()[name]["episode"])


def builtin_rewards(task: Task, quest: Quest) -> Rewards | None:
    """Return what help of its quest type was worth when a built-in episode was made; None for any other."""
    row = builtin_rows().get(task.id)
    if row is None or row["episode"]["profile"] != task.profile or quest != task.meaning.quest:
        return None
    return Rewards({(entity, argument): worth for entity, argument, worth in row["worth"]}, task.useful)


@cache
def builtin_rows() -> Mapping[str, Mapping[str, Any]]:
    """Return id -> line of the table."""
    with gzip.open(_TABLE, "rt", encoding="utf-8") as lines:
        return {row["episode"]["id"]: row for row in map(json.loads, lines)}
