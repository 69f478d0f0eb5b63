"""Ended dialogues of a run with their scores, out of the log.

Everything is computed from the logged turns; nothing is read from the score rows, which are a copy.
"""

from __future__ import annotations

from dataclasses import dataclass

from logs import LogReader
from logs.rows import Episode, Judgment
from simulator.clarq.data import task_from_json
from simulator.clarq.score import JUDGE, DialogueScores, score_episode
from simulator.runner.logged import played_to_end
from trees import Task


@dataclass(frozen=True, slots=True, kw_only=True)
class Scored:
    """An ended episode with its scores."""

    episode: Episode
    task: Task
    status: str
    scores: DialogueScores


def score_run(reader: LogReader, run_id: str) -> tuple[Scored, ...]:
    """Score every ended episode of a run, the latest attempt of each, from its logged turns.

    They are ordered by language, type, task and repeat: intervals are resampled, and must not depend on
    which dialogue happened to end first.
    People who have withdrawn do not count: without their words their episodes would be failures.
    """
    judgments: dict[str, list[Judgment]] = {}
    for judgment in reader.judgments(run_id=run_id, kind=JUDGE):
        judgments.setdefault(judgment.episode_id or "", []).append(judgment)
    tasks = {item.hash: task_from_json(item.data) for item in reader.items(run_id)}
    scored = (
        Scored(
            episode=played.episode,
            task=(task := tasks[played.episode.item_hash]),
            status=played.ending.status,
            scores=score_episode(task, played.turns, judgments.get(played.episode.id, ())),
        )
        for played in played_to_end(reader, run_id, reader.erased_participants())
    )
    return tuple(sorted(scored, key=_place))


def _place(one: Scored) -> tuple[str, int, str, int]:
    return one.task.language, one.task.type, one.task.id, one.episode.repeat
