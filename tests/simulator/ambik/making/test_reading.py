"""Parsing tasks, plans and candidates from model output."""

import pytest

from simulator.ambik.generation import LONGEST, MOST_STEPS, read_candidate, read_plan, read_task
from simulator.ambik.items import Candidate, parting
from simulator.ambik.naming import bare


@pytest.mark.each(
    "text",
    [
        "Boil the eggs.",
        " Boil the eggs.\nScene: more",
        'Task: "Boil the eggs."',
        "**Task:** Boil the eggs.",
        "Task:\nBoil the eggs.",
        "Here is a task:\n\nBoil the eggs.",
        "任务：Boil the eggs.",
    ],
)
def test_a_task(text):
    assert read_task(text) == "Boil the eggs."


@pytest.mark.each("text", ["", "\n", "Task:", "...", "**"])
def test_no_task(text):
    assert read_task(text) == ""


def test_a_long_task_is_cut():
    assert len(read_task("egg " * 1000)) == LONGEST


@pytest.mark.each(
    "text",
    [
        "1. Take a pot.\n2. Boil the eggs.",
        "Plan:\n1) Take a pot.\n\n2) Boil the eggs.\nScene: a pan",
        "Here is my plan.\n1. **Take a pot.**\n2. Boil   the eggs.",
        "- Take a pot.\n- Boil the eggs.",
        "Step 1: Take a pot.\nStep 2: Boil the eggs.",
        "Take a pot.\nBoil the eggs.",
        "Plan:\nTake a pot.\nBoil the eggs.",
        "1、Take a pot.\n2、Boil the eggs.",
    ],
)
def test_a_plan(text):
    assert read_plan(text) == ("Take a pot.", "Boil the eggs.")


def test_amounts_at_the_beginning_of_a_step_are_no_numbers():
    assert read_plan("Take a pot.\n2 eggs go into it.") == ("Take a pot.", "2 eggs go into it.")


@pytest.mark.parametrize("text", ["", "\n \n", "..."])
def test_no_plan(text):
    assert read_plan(text) == ()


def test_a_plan_without_end_is_cut():
    assert len(read_plan("\n".join(f"{n}. Stir." for n in range(1, 99)))) == MOST_STEPS


@pytest.mark.each(
    "text",
    [
        "Task: Boil some.\nQuestion: What?\nAnswer: Eggs.",
        "Sure!\n\n**Task**: Boil some.\n**Question:** What?\n\nAnswer: Eggs.\nTask: Fry some.",
        "New task: Boil some.\nQUESTION: What?\nAnswer : Eggs.",
        "任务：Boil some.\n问题：What?\n回答：Eggs.",
        "1. Task: Boil some.\n2. Question: What?\n3. Answer: Eggs.",
    ],
)
def test_a_candidate(text):
    expected = Candidate(type="safety", task="Boil some.", question="What?", answer="Eggs.")
    assert read_candidate(text, "safety") == expected


@pytest.mark.each(
    "text", ["", "Boil some.", "Task: Boil some.\nQuestion: What?", "Task: Boil.\nQuestion:\nAnswer: Eggs."]
)
def test_a_candidate_lacks_nothing(text):
    assert read_candidate(text, "preferences") is None


@pytest.mark.each(
    ("clear", "ambiguous", "step"),
    [
        (("A.", "B.", "C."), ("A.", "D.", "C."), 1),
        (("A.", "B."), ("a", " B. "), None),
        (("A.", "B."), ("A.",), None),
        (("A.",), ("B.",), 0),
        ((), ("A.",), None),
        (("A.", "B.", "C."), ("D.", "B.", "E."), 0),
    ],
)
def test_where_plans_part(clear, ambiguous, step):
    assert parting([*map(bare, clear)], [*map(bare, ambiguous)]) == step
