"""Ended episodes of a run with their scores, out of the log.

Everything is computed from the logged turns; nothing is read from the score rows, which are a copy.
"""

from __future__ import annotations

from dataclasses import dataclass

from logs import LogReader
from logs.rows import Episode
from simulator.handmethat.playing import Options
from simulator.handmethat.rows import BENCHMARK, task_from_row
from simulator.handmethat.score import EpisodeScores, score_episode, score_unplayed
from simulator.handmethat.task import Task
from simulator.runner.logged import PlayedToEnd, played_to_end, required_run


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
        _scored(played.episode, played.ending.status, _scores(task, played), task.id)
        for played in played_to_end(reader, run_id, reader.erased_participants(), aborted=not exclude_aborted)
        if (task := tasks[played.episode.item_hash])
    ]
    return tuple(sorted(scored, key=_place))


def _scores(task: Task, played: PlayedToEnd) -> EpisodeScores:
    if played.turns:
        return score_episode(task, played.turns)
    return score_unplayed(task, Options.read(played.episode.options))


def _scored(episode: Episode, status: str, scores: EpisodeScores, item: str) -> Scored:
    name = episode.seats["robot"]
    base, _, many = name.partition(":")
    most = episode.options.get("max_questions")
    if base == "offline/asker" and many.isdigit():
        allowed: int | None = int(many) if most is None else min(int(many), int(most))
        name = base
    else:
        allowed = None if most is None else int(most)
    if scores.protocol == "paper":
        allowed = 0
    return Scored(episode=episode, status=status, robot=name, item=item, allowed=allowed, scores=scores)


def _place(one: Scored) -> tuple[int, str, str, int]:
    return one.scores.level, one.item, one.episode.language, one.episode.repeat
