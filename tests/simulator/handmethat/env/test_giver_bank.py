"""The bank of questions: most answers of every kind are right, and no answer reveals anything else."""

from __future__ import annotations

import runpy
from collections import Counter
from pathlib import Path

import pytest
import yaml

from simulator.handmethat.data import load_tasks
from simulator.handmethat.players.asking import believe, candidates
from simulator.handmethat.players.knows import guards, hear
from simulator.handmethat.world import bit_set

BENCH = runpy.run_path(str(Path(__file__).parents[3] / "benchmarks" / "bench_giver.py"))


@pytest.fixture(scope="module")
def rows():
    return BENCH["ask_all"](yaml.safe_load(BENCH["BANK"].read_text(encoding="utf-8")))


def test_the_bank_is_large_and_halved(rows) -> None:
    counted = Counter((row.language, row.half) for row in rows)
    assert sum(counted.values()) >= 300
    assert all(counted[language, half] >= 75 for language in ("en", "zh") for half in ("dev", "held"))


@pytest.mark.parametrize("half", ["dev", "held"])
@pytest.mark.parametrize("language", ["en", "zh"])
def test_nine_in_ten_answers_are_right(rows, language: str, half: str) -> None:
    asked = [row for row in rows if (row.language, row.half) == (language, half)]
    wrong = [(row.text, row.kind, row.answer) for row in asked if not row.right]
    assert len(wrong) <= (1 - BENCH["FLOOR"]) * len(asked), wrong


def test_yes_and_no_answers_reveal_nothing_more(rows) -> None:
    """No answer in the bank, right or wrong, names anything its question did not ask for."""
    revealing = [
        (row.text, row.answer.text, sorted(row.revealed))
        for row in rows
        if row.answer.kind in ("yes", "no", "indifferent", "unknown") and row.revealed
    ]
    assert not revealing


def test_answers_are_accepted_and_mislead_no_robot(rows) -> None:
    """The expert's answers pass the guards, and leave the target among the robot's candidates."""
    tasks = {task.id: task for task in load_tasks()}
    wrong = []
    for row in rows:
        task = tasks[row.episode]
        heard = hear(task, row.text, row.language, ())
        belief = believe(task, [(f"question: {row.text}", heard.answer.text)])
        meant = bit_set(entity for entity, _ in task.in_meaning)
        if guards(task, heard, heard.answer.text) or not candidates(task.world, task.current, belief) & meant:
            wrong.append((row.text, heard.answer.text))
    assert not wrong
