"""Ended dialogues of a run with their scores, out of the log.

Everything is computed from the logged turns; nothing is read from the score rows, which are a copy.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from logs import LogReader
from logs.rows import Episode, Judgment
from simulator.clarq.data import task_from_json
from simulator.clarq.score import REVIEW_SUCCESS, DialogueScores, score_episode
from simulator.runner.logged import ENDED, PlayedToEnd, played_to_end
from trees import Task


@dataclass(frozen=True, slots=True, kw_only=True)
class Scored:
    """An episode that counts, with its scores.

    Attributes:
        status: ``completed`` or ``truncated``; ``aborted`` where a seat failed.
        scores: of an aborted one: those of its turns, without success.
        automatic: what rule and judges say, without the reviewers.
    """

    episode: Episode
    task: Task
    status: str
    scores: DialogueScores
    automatic: DialogueScores

    @property
    def absent(self) -> tuple[str, ...]:
        """Nodes whose text was never given."""
        return (*self.automatic.judged, *self.automatic.missing)

    @property
    def ended(self) -> bool:
        """Return True if it was played to its end."""
        return self.status in ENDED


def score_run(reader: LogReader, run_id: str, *, exclude_aborted: bool = False) -> tuple[Scored, ...]:
    """Score every ended episode of a run, the latest attempt of each, from its logged turns.

    An episode that was aborted because a seat failed is an unsuccessful one, unless it is excluded
    (`simulator.runner.logged`).

    They are ordered by language, type, task and repeat: intervals are resampled, and must not depend on
    which dialogue happened to end first.
    People who have withdrawn do not count: without their words their episodes would be failures.
    """
    judgments: dict[str, list[Judgment]] = {}
    for judgment in reader.judgments(run_id=run_id):
        judgments.setdefault(judgment.episode_id or "", []).append(judgment)
    tasks = {item.hash: task_from_json(item.data) for item in reader.items(run_id)}
    gone = reader.erased_participants()
    played = played_to_end(reader, run_id, gone, aborted=not exclude_aborted)
    scored = (_scored(one, tasks[one.episode.item_hash], judgments.get(one.episode.id, ())) for one in played)
    return tuple(sorted(scored, key=_place))


def _scored(played: PlayedToEnd, task: Task, judgments: Sequence[Judgment]) -> Scored:
    automatic = score_episode(task, played.turns, [row for row in judgments if row.kind != REVIEW_SUCCESS])
    scores = score_episode(task, played.turns, judgments) if judgments else automatic
    if played.ending.status not in ENDED:
        scores = automatic = replace(automatic, success=False, needs_judge=False, reached=None)
    return Scored(
        episode=played.episode,
        task=task,
        status=played.ending.status,
        scores=scores,
        automatic=automatic,
    )


def _place(scored: Scored) -> tuple[str, int, str, int]:
    return scored.task.language, scored.task.type, scored.task.id, scored.episode.repeat
