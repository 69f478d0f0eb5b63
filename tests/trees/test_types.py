from __future__ import annotations

import pytest

from trees.model import TASK_TYPES, task_type


def test_there_are_31_types_of_which_26_are_for_testing() -> None:
    assert [type.number for type in TASK_TYPES] == list(range(1, 32))
    assert [type.number for type in TASK_TYPES if type.split == "development"] == [27, 28, 29, 30, 31]
    for names in ([type.en for type in TASK_TYPES], [type.zh for type in TASK_TYPES]):
        assert len(set(names)) == 31


@pytest.mark.each("which", [25, "25", "cooking-delicacies", "Cooking Delicacies", "Cooking_Delicacies"])
def test_a_type_is_found_by_number_slug_and_name(which: int | str) -> None:
    assert task_type(which).zh == "烹饪美食"
    assert task_type(which).name("zh") == "烹饪美食"
    assert task_type(which).slug == "cooking-delicacies"


@pytest.mark.each("which", [0, 32, "32", "cooking", ""])
def test_an_unknown_type_is_refused(which: int | str) -> None:
    with pytest.raises(ValueError, match="is not a task type"):
        task_type(which)
