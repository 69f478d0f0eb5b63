"""Samples of episodes keep the proportions of quest types and templates."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from episode_files import write_file

from simulator.errors import InputError
from simulator.handmethat.data import draw_tasks
from simulator.handmethat.items import Sample, Stratum, Task, describe_sample, makeup, stratum

# Levels and quest types of the published episodes (spec 8), each spread over 69 templates in sorted order.
PUBLISHED = [
    Stratum(level, quest, i * 69 // count)
    for level, counts in (
        (1, (1700, 700, 100)),
        (2, (900, 1300, 300)),
        (3, (900, 1500, 100)),
        (4, (1200, 1265, 35)),
    )
    for quest, count in zip(("bring_me", "move_to", "change_state"), counts, strict=True)
    for i in range(count)
]


@pytest.mark.parametrize("sample", [Sample(per_level=25), Sample(limit=100), Sample(limit=100, seed=7)])
def test_a_small_sample_looks_like_the_whole(sample: Sample) -> None:
    drawn = [PUBLISHED[i] for i in sample.draw(PUBLISHED)]
    assert Counter(episode.level for episode in drawn) == dict.fromkeys((1, 2, 3, 4), 25)
    whole, part = (
        Counter((episode.level, episode.quest) for episode in group) for group in (PUBLISHED, drawn)
    )
    for kind, count in whole.items():
        assert abs(part[kind] - count / 100) < 1, kind
    assert len({episode.goal for episode in drawn}) > 40
    assert max(episode.goal or 0 for episode in drawn) > 60


def test_a_sample_depends_only_on_the_seed() -> None:
    first, again, other = (Sample(per_level=25, seed=seed).draw(PUBLISHED) for seed in (0, 0, 1))
    assert first == again
    assert len(set(first) & set(other)) < 20


def test_levels_can_be_proportional_to_the_data() -> None:
    population = [episode for episode in PUBLISHED if episode.level in (1, 2) or episode.goal == 5]
    drawn = Sample(limit=200, shares="proportional").draw(population)
    whole, part = (
        Counter(episode.level for episode in each) for each in (population, [population[i] for i in drawn])
    )
    assert all(abs(part[level] - 200 * count / len(population)) < 1 for level, count in whole.items())


def test_rare_levels_are_taken_completely() -> None:
    population = [*PUBLISHED[:3], *(episode for episode in PUBLISHED if episode.level == 4)]
    assert makeup(population[i] for i in Sample(per_level=10).draw(population))["levels"] == {1: 3, 4: 10}
    assert makeup(population[i] for i in Sample(limit=20).draw(population))["levels"] == {1: 3, 4: 17}
    assert makeup(population[i] for i in Sample(limit=5, per_level=10).draw(population))["levels"] in (
        {1: 2, 4: 3},
        {1: 3, 4: 2},
    )
    with pytest.raises(InputError, match="limit 0"):
        Sample(per_level=0)


def test_only_the_files_drawn_are_read_unless_names_mislead(task: Task, tmp_path: Path) -> None:
    for number in range(12):
        write_file(replace(task, id=f"task-bring_me-3-{number}-2"), tmp_path)
    drawn = draw_tasks(tmp_path, Sample(limit=3))
    assert (len(drawn), drawn.population) == (3, 12)
    assert "drawn from 12 episodes (3 in all" in describe_sample(makeup(map(stratum, drawn)), drawn.to_json())
    assert draw_tasks(tmp_path).to_json() == {}
    others = set(tmp_path.glob("*.json")) - {tmp_path / f"{episode.id}.json" for episode in drawn}
    spoilt = others.pop()
    text = spoilt.read_text()
    spoilt.write_text("{")
    assert draw_tasks(tmp_path, Sample(limit=3)).tasks == drawn.tasks
    spoilt.write_text(text)
    # Names of level 3 in front of files of level 2.
    for path in tmp_path.glob("*.json"):
        path.rename(path.with_name(path.name.replace("-2.json", "-3.json")))
    drawn = draw_tasks(tmp_path, Sample(limit=4))
    assert [episode.level for episode in drawn] == [2] * 4
