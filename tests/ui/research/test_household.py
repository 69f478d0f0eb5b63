"""HandMeThat for researchers: browsing episodes, a run's scores, watching it turn by turn."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from episode_files import write_file
from markup import office_at, page_at

from logs import LogReader, LogWriter
from logs.rows import Run
from simulator.handmethat.data import list_episodes, load_episode
from simulator.handmethat.items import Task
from simulator.handmethat.machine import MACHINE
from simulator.handmethat.meanings.rsa import rsa_view
from simulator.handmethat.playing import Posed
from simulator.handmethat.reveal import percent
from simulator.runner.sessions import Sessions
from ui.research.office import Office


def no_models(name: str) -> Any:
    raise AssertionError(f"{name} was asked for")


@pytest.fixture(scope="module")
def tasks() -> tuple[Task, ...]:
    names = {known.level: name for name, known in list_episodes("builtin").items()}
    return tuple(load_episode("builtin", names[level]) for level in (1, 4))


@pytest.fixture
async def played(tmp_path: Path, tasks: tuple[Task, ...]) -> Any:
    """A run of two episodes, of an expert and of a robot that asks; the second in Chinese."""
    path = tmp_path / "log.sqlite"
    with LogWriter(path, durable=False, group_seconds=0.001) as writer, LogReader(path) as reader:
        sessions = Sessions(MACHINE, writer, reader, no_models)
        config = {"planned": 2, "seats": {"robot": "offline/asker:1", "human": "offline/giver"}}
        writer.put(Run(id="house", benchmark="handmethat", setup="L2L", seed=0, config=config)).result()
        robots = ("offline/expert", "offline/asker:1")
        for task, robot, language in zip(tasks, robots, ("en", "zh"), strict=True):
            seats = {"robot": robot, "human": "offline/giver"}
            await sessions.start_item(Posed(task, language), seats, {}, run_id="house")
        writer.flush()
        yield office_at(writer, reader)


def page(calls: Office, path: str = "/research", query: str = "", language: str = "en") -> dict[str, Any]:
    return page_at(calls, path, query, language)


def words(answer: dict[str, Any]) -> str:
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", answer["html"]))


@pytest.fixture
def empty(tmp_path: Path) -> Iterator[Office]:
    path = tmp_path / "log.sqlite"
    with LogWriter(path, durable=False) as writer, LogReader(path) as reader:
        yield office_at(writer, reader)


async def test_scores_by_level(played: Office) -> None:
    shown = words(page(played, query="run=house"))
    assert "Level 1" in shown
    assert "Level 4" in shown
    assert "2 of 2" in shown


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("query", ["", "&outcome=success", "&outcome=unscored", "&f.level=4"])
async def test_the_list_of_episodes(played: Office, query: str, language: str) -> None:
    answer = page(played, query=f"run=house&tab=dialogues{query}", language=language)
    assert "research." not in words(answer)
    count = len(re.findall("<li><a href=", answer["html"]))
    assert count == {"": 2, "&outcome=unscored": 0}.get(query, count)
    if query == "&f.level=4":
        assert count == 1


async def test_every_turn_can_be_watched(played: Office) -> None:
    reader = played.reader
    for episode in reader.episodes("house"):
        turns = reader.turns(episode.id)
        for step in range(len(turns)):
            for seen in ("", "&s.seen=robot"):
                query = f"run=house&tab=dialogues&episode={episode.id}&step={step}{seen}"
                answer = page(played, query=query)
                assert f'data-step="{step}" data-last="{len(turns) - 1}"' in answer["html"]
        moves = [turn for turn in turns if turn.seat == "robot"]
        assert f"Moves: {len(moves)} of 40" in words(answer)


async def test_the_robots_eyes_see_less(played: Office) -> None:
    episode = played.reader.episodes("house")[0]
    query = f"run=house&tab=dialogues&episode={episode.id}&step=0"
    everything, seen = (
        set(re.findall(r'data-thing="([^"]+)"', page(played, query=query + more)["html"]))
        for more in ("", "&s.seen=robot")
    )
    assert seen < everything


@pytest.mark.parametrize(
    ("path", "query"),
    [
        ("/research", "run=house&tab=compare&runs=house"),
        ("/research", "run=house&tab=dialogues&episode=nowhere"),
        ("/research/review", "run=house&reviewer=ann"),
        ("/research/review", "run=house&tab=agreement"),
        ("/research/review", ""),
        ("/research/data", "benchmark=handmethat&data=/no/such/folder"),
        ("/research/data", "benchmark=handmethat&item=nothing"),
    ],
)
async def test_what_there_is_not_is_said_and_breaks_nothing(played: Office, path: str, query: str) -> None:
    assert "Skip to the content" in words(page(played, path, query))


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_builtin_episodes_are_listed_and_filtered(empty: Office, language: str) -> None:
    listed = list_episodes("builtin")
    answer = page(empty, "/research/data", "benchmark=handmethat", language)
    assert "research." not in words(answer)
    assert len(re.findall("<li><a href=", answer["html"])) == len(listed)
    filtered = page(empty, "/research/data", "benchmark=handmethat&f.level=4&f.quest=bring_me", language)
    expected = [known for known in listed.values() if known[:2] == (4, "bring_me")]
    assert len(re.findall("<li><a href=", filtered["html"])) == len(expected)
    goal = page(
        empty, "/research/data", f"benchmark=handmethat&f.goal={next(iter(listed.values())).goal}", language
    )
    assert 0 < len(re.findall("<li><a href=", goal["html"])) < len(listed)


@pytest.mark.parametrize("language", ["en", "zh"])
def test_an_episode_with_its_tables(empty: Office, tasks: tuple[Task, ...], language: str) -> None:
    for task in tasks:
        answer = page(empty, "/research/data", f"benchmark=handmethat&item={task.id}", language)
        tables, shown = rsa_view(task), words(answer)
        for values in (tables.listener, tables.speaker):
            assert all(f"{value:.3f}" in shown for value in values.flatten())
        assert all(percent(float(prior)) in shown for prior in tables.prior)
        things = re.findall(r'data-thing="([^"]+)"', answer["html"])
        assert sorted(things) == sorted(task.world.names[thing] for thing in task.world.movables)
        assert all(command in words(answer) for command in task.demo)


def test_a_folder_of_generated_episodes(empty: Office, tasks: tuple[Task, ...], tmp_path: Path) -> None:
    folder = tmp_path / "own"
    folder.mkdir()
    write_file(replace(tasks[0], id="task-bring_me-32-0-1"), folder)
    answer = page(empty, "/research/data", f"benchmark=handmethat&data={folder}")
    assert len(re.findall("<li><a href=", answer["html"])) == 1
    shown = page(empty, "/research/data", f"benchmark=handmethat&data={folder}&item=task-bring_me-32-0-1")
    assert "How an expert does it" in words(shown)
