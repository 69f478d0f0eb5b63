from __future__ import annotations

from collections import Counter

import pytest

from trees import Language
from trees.checks import statistics_of
from trees.model import TASK_TYPES, task_type
from trees.sources import load_builtin, scan_builtin, task_key

LANGUAGES: tuple[Language, ...] = ("en", "zh")


@pytest.mark.each("language", LANGUAGES)
def test_every_type_has_at_least_two_tasks(language: Language) -> None:
    counts = Counter(task.type for task in load_builtin(language))
    assert set(counts) == {type.number for type in TASK_TYPES}
    assert min(counts.values()) >= 2


@pytest.mark.each("language", LANGUAGES)
def test_tasks_are_sorted_cached_and_in_their_language(language: Language) -> None:
    tasks = load_builtin(language)
    assert list(tasks) == sorted(tasks, key=task_key)
    assert load_builtin(language) is tasks
    assert {task.language for task in tasks} == {language}


def test_both_languages_hold_the_same_tasks() -> None:
    english, chinese = load_builtin("en"), load_builtin("zh")
    assert [task.id for task in english] == [task.id for task in chinese]
    assert statistics_of(english) == statistics_of(chinese)


@pytest.mark.each("language", LANGUAGES)
def test_files_are_named_after_type_and_id(language: Language) -> None:
    for draft in scan_builtin(language):
        stem = draft.source.rpartition("/")[2].removesuffix(".yaml")
        assert stem == f"{draft.type:02}-{draft.id}"
        assert draft.id.rpartition("-")[0] == task_type(draft.type).slug


def test_sizes_are_about_the_published_ones() -> None:
    statistics = statistics_of(load_builtin("en"))
    assert set(statistics.uncertainties) <= {2, 3, 4, 5, 6}
    assert set(statistics.depth) <= {1, 2, 3, 4}
    assert max(statistics.uncertainties, key=lambda size: statistics.uncertainties[size]) == 4
    assert statistics.depth[1] + statistics.depth[2] > 0.8 * statistics.tasks
