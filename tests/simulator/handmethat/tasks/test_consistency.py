"""Inconsistent episodes get warnings, consistent ones do not."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from episode_files import write_file

from simulator.handmethat.actions import Action
from simulator.handmethat.checking import check_folder, doubts
from simulator.handmethat.env.scripts import expert_commands
from simulator.handmethat.items import Task
from simulator.handmethat.meanings.model import Meaning, describe


def test_a_consistent_episode_has_no_warnings(task: Task) -> None:
    demo = expert_commands(task, 0)
    assert demo
    assert not list(doubts(replace(task, demo=demo)))


@pytest.mark.each(
    ("changes", "code", "message"),
    [
        ({"goal_index": 69}, "goal", "use 0 to 68"),
        ({"level": 3}, "level", "3, but according to the sets of objects it is 2"),
        ({"actions": (Action("human-open-location", (12,)),)}, "story", "action_list.0: human-open-location"),
        ({"meaning": Meaning("bring_me", describe({"type": "zebra"}))}, "meaning", "_objects_in_meaning"),
        ({"heard": Meaning("bring_me", ())}, "meaning", "_objects_in_rsa_meaning"),
        ({"utterance": Meaning("move_to", ())}, "meaning", "about move_to, _meaning about bring_me"),
        ({"demo": ("move to human", "fly")}, "demo", "do not succeed"),
    ],
)
def test_an_inconsistency_is_named(changes: dict[str, Any], code: str, message: str, task: Task) -> None:
    ((about, reason),) = doubts(replace(task, **changes))
    assert about == code
    assert message in reason


def test_things_must_be_where_the_story_leaves_them(task: Task) -> None:
    (taken, _), *_ = task.in_meaning
    moved = bytearray(task.current.place)
    moved[taken] = task.world.entity("pool")
    ((about, _),) = doubts(replace(task, current=task.current._replace(place=bytes(moved))))
    assert about == "story"


def test_a_demonstration_ends_with_success(task: Task) -> None:
    demo = expert_commands(task, 0)
    assert demo
    ((_, message),) = doubts(replace(task, demo=(*demo, "stop")))
    assert message == f"demo_actions.{len(demo)}: the episode is over before this command"


def test_an_empty_meaning_is_reported(task: Task, tmp_path: Path) -> None:
    path = write_file(replace(task, goal="(and (sliced table))", in_meaning=()), tmp_path)
    faults = check_folder(path).faults
    assert {fault.severity for fault in faults} == {"warning"}
    assert any("success is impossible" in fault.message for fault in faults)
