"""Ended episodes of a run with their scores, out of the log.

Everything is computed from the logged turns; nothing is read from the score rows, which are a copy.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd

from logs import LogReader
from logs.rows import Episode
from simulator.handmethat.playing import Options
from simulator.handmethat.rows import BENCHMARK, task_from_row
from simulator.handmethat.score import EpisodeScores, score_episode, score_unplayed
from simulator.handmethat.task import Task
from simulator.runner.logged import PERSON, PlayedToEnd, played_to_end, required_run

COLUMNS = (
    *("robot", "mode", "protocol", "allowed", "level", "item", "name", "language", "repeat", "human"),
    *("success", "score", "moves", "raw_sum", "questions"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Scored:
    """An episode that counts, with its scores.

    Attributes:
        status: ``completed`` or ``truncated``; ``aborted`` where a seat failed, which is no success.
        robot: who sat in the robot's seat, without the number of questions in its name.
        item: the item's name.
        allowed: questions that the robot might ask at most; None for any number.
    """

    episode: Episode
    status: str
    robot: str
    item: str
    allowed: int | None
    scores: EpisodeScores


def score_run(reader: LogReader, run_id: str, *, exclude_aborted: bool = False) -> tuple[Scored, ...]:
    """Score every ended episode of a run, the latest attempt of each, from its logged turns.

    An episode that was aborted because a seat failed is an unsuccessful one, unless it is excluded
    (`simulator.runner.logged`).

    They are ordered by level, item and repeat: intervals are resampled, and must not depend on which
    episode happened to end first.
    People who have withdrawn do not count: without their words their episodes would be failures.

    Raises:
        InputError: if it is a run of another benchmark.
    """
    required_run(reader, run_id, BENCHMARK)
    tasks = {item.hash: task_from_row(item) for item in reader.items(run_id)}
    scored = [
        _scored(played, tasks[played.episode.item_hash])
        for played in played_to_end(reader, run_id, reader.erased_participants(), aborted=not exclude_aborted)
    ]
    return tuple(
        sorted(scored, key=lambda one: (one.scores.level, one.item, one.episode.language, one.episode.repeat))
    )


def scored_frame(scored: Sequence[Scored]) -> pd.DataFrame:
    """Return one row per scored episode (`COLUMNS`), in the order in which tables show the robots.

    People come first, then robots by name; partial observability before full. ``moves`` are those of a
    success, ``human`` is who sat in that seat, and ``item`` is the item's hash.
    """
    rows = [
        {
            "robot": one.robot,
            "mode": one.scores.mode,
            "protocol": one.scores.protocol,
            "allowed": one.allowed,
            "level": one.scores.level,
            "item": one.episode.item_hash,
            "name": one.item,
            "language": one.episode.language,
            "repeat": one.episode.repeat,
            "human": one.episode.seats.get("human"),
            "success": one.scores.success,
            "score": one.scores.score,
            "moves": one.scores.moves_of_success,
            "raw_sum": one.scores.raw_sum,
            "questions": one.scores.questions,
        }
        for one in scored
    ]
    episodes = pd.DataFrame(rows, columns=COLUMNS)
    order = episodes.assign(
        robots=episodes["robot"] != PERSON,
        full=episodes["mode"] == "full",
        most=episodes["allowed"].fillna(-1).astype(int),
    )
    order = order.sort_values(["robots", "robot", "full", "protocol", "most"], kind="stable")
    return order[[*COLUMNS]].reset_index(drop=True)


def _scored(played: PlayedToEnd, task: Task) -> Scored:
    episode = played.episode
    if played.turns:
        scores = score_episode(task, played.turns)
    else:
        scores = score_unplayed(task, Options.read(episode.options))
    robot = episode.seats["robot"]
    base, _, number = robot.partition(":")
    most = episode.options.get("max_questions")
    allowed: int | None = None if most is None else int(most)
    if base == "offline/asker" and number.isdigit():
        robot = base
        allowed = int(number) if allowed is None else min(int(number), allowed)
    if scores.protocol == "paper":
        allowed = 0
    return Scored(
        episode=episode,
        status=played.ending.status,
        robot=robot,
        item=task.id,
        allowed=allowed,
        scores=scores,
    )
