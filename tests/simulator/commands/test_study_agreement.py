"""Agreement of people on the same items: known values, and reasons where there is none."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pytest

from simulator.commands.agreement import agreement_of
from simulator.studies.questions import Question

CHOICE = Question(id="clear", text="?", kind="choice", choices={"yes": "Yes", "no": "No"})
SEVERAL = Question(id="seen", text="?", kind="choices", choices={"a": "A", "b": "B", "c": "C"})
SCALE = Question(id="hard", text="?", kind="scale")
BESIDE = (
    Question(id="age", text="?", kind="number", when="before"),
    Question(id="said", text="?", kind="text"),
)


def episodes(**columns: list[Any]) -> pd.DataFrame:
    """Episodes of two people per item, one column each of what was answered or scored."""
    length = len(next(iter(columns.values())))
    items = [f"item {number // 2}" for number in range(length)]
    return pd.DataFrame({"item": items, "language": "en", **columns})


def measured(frame: pd.DataFrame, *questions: Question, metrics: tuple[str, ...] = ()) -> dict[str, Any]:
    (row,) = agreement_of(frame, [*questions, *BESIDE], metrics).to_dict("records")
    return {str(name): value for name, value in row.items()}


def test_alpha_of_names_is_krippendorffs() -> None:
    """Two of three items agree: four pairs of twelve values differ between items, by hand 1 - 5 * 2 / 18."""
    row = measured(episodes(**{"answer.clear": ["yes", "yes", "no", "no", "yes", "no"]}), CHOICE)
    assert (row["what"], row["measured"], row["items"], row["people"]) == ("clear", "names", 3, 2)
    assert row["alpha"] == pytest.approx(1 - 5 * 2 / 18)
    assert row["low"] <= row["alpha"] <= row["high"] and row["remark"] == ""


def test_sets_numbers_and_scores_are_measured_each_in_its_way() -> None:
    alike: list[Any] = [["a"], ["a"], ["b", "c"], ["c", "b"]]
    assert measured(episodes(**{"answer.seen": alike}), SEVERAL)["alpha"] == 1
    near = measured(episodes(**{"answer.hard": [1, 2, 6, 7]}), SCALE)
    far = measured(episodes(**{"answer.hard": [1, 6, 2, 7]}), SCALE)
    assert near["alpha"] > 0.9 > 0 > far["alpha"]
    assert measured(episodes(success=[True, True, False, False]), metrics=("success",))["alpha"] == 1


@pytest.mark.parametrize(
    ("answers", "remark"),
    [
        ([None, None], "no answers yet"),
        (["yes", None, "no", None], "no item has two answers yet (items: 2)"),
        (["yes", "yes", "yes", "yes"], "all answers are the same"),
    ],
)
def test_where_alpha_is_undefined_it_says_why(answers: list[Any], remark: str) -> None:
    row = measured(episodes(**{"answer.clear": answers}), CHOICE)
    assert pd.isna(row["alpha"]) and pd.isna(row["low"]) and remark in row["remark"]


def test_of_one_item_the_interval_is_not_to_be_trusted() -> None:
    assert "a single item" in measured(episodes(**{"answer.clear": ["yes", "no"]}), CHOICE)["remark"]
