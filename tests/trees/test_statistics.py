from __future__ import annotations

from pathlib import Path

import pytest

from trees import Background, Node, Task, Tree
from trees.checks import PUBLISHED, Statistics, differences, statistics_of
from trees.sources import load_tasks


def task(*indices: str) -> Task:
    tree = Tree("o", tuple(Node(index, index) for index in indices))
    return Task(id="x", type=1, language="en", background=Background("r", "t"), tree=tree)


def test_counts_uncertainties_and_depth() -> None:
    statistics = statistics_of([task("1", "2"), task("1", "1.1", "1.1.1"), task("1", "2", "2.1")])
    assert statistics == Statistics(3, {2: 1, 3: 2}, {1: 1, 2: 1, 3: 1})
    assert str(statistics) == "3 tasks; uncertainties 2:1, 3:2; depth 1:1, 2:1, 3:1"


def test_says_what_differs() -> None:
    statistics = Statistics(2, {3: 1, 4: 1}, {1: 2})
    assert [*differences(statistics, statistics)] == []
    assert tuple(differences(statistics, Statistics(3, {3: 3}, {1: 2, 2: 1}))) == (
        "2 tasks instead of 3",
        "uncertainties 3: 1 tasks instead of 3",
        "uncertainties 4: 1 tasks instead of 0",
        "depth 2: 0 tasks instead of 1",
    )


def test_published_numbers_add_up() -> None:
    assert sum(PUBLISHED.uncertainties.values()) == sum(PUBLISHED.depth.values()) == PUBLISHED.tasks


@pytest.mark.parametrize("folder", ["English", "Chinese"])
def test_the_published_data_have_the_published_statistics(clarq_folder: Path, folder: str) -> None:
    assert statistics_of(load_tasks(clarq_folder / folder)) == PUBLISHED
