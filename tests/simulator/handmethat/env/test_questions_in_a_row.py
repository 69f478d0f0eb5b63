"""Questions in a row are answered one by one; all parts of a single question must be true."""

from __future__ import annotations

import pytest

from simulator.handmethat.data import load_tasks
from simulator.handmethat.env.questions import answer
from simulator.handmethat.hierarchy import word


@pytest.mark.each(
    ("text", "answers", "cost"),
    [
        ("Is it {color}? Is it on the floor?", ("Yes.", "No."), 20),
        ("Is it {color}, and is it on the floor?", ("Yes.", "No."), 20),
        ("Is it {other} or {color}? Is it on the floor?", ("The {color} one.", "No."), 30),
        ("它是{zh}的吗？它在地板上吗？", ("是", "不"), 20),
        ("Is it a {color} one on the floor?", ("No.",), 20),
        ("Is it {other}? Or {color}?", ("The {color} one.",), 20),
    ],
)
def test_questions_in_a_row(text: str, answers: tuple[str, ...], cost: int) -> None:
    task, color = next(
        (task, str(known["color"]))
        for task in load_tasks()
        if {"color"} <= (known := dict(task.meaning.description)).keys()
        and {"ontop", "inside"} & known.keys()
    )
    words = {"color": color, "other": "green" if color == "red" else "red", "zh": word(color, "zh")}
    reply = answer(task, text.format(**words), "zh" if text[0] == "它" else "en")
    assert reply.cost == cost, reply
    place = 0
    for part in answers:
        place = reply.text.index(part.format(**words), place)
