"""The tables and curves of a run (the shapes of the paper's Tables I to V and Fig. 4).

Everything is computed from the logged turns; nothing is read from the score rows, which are a copy.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from logs import LogReader
from logs.rows import Episode
from simulator.clarq.data import task_from_json
from simulator.clarq.score import DialogueScores, score_episode, success_by_responses
from simulator.stats import Interval, bootstrap_mean, wilson
from trees import Language, Task
from trees.types import type_name

ENDED = ("completed", "truncated")


@dataclass(frozen=True, slots=True, kw_only=True)
class Scored:
    """An ended episode with its scores."""

    episode: Episode
    task: Task
    status: str
    scores: DialogueScores


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One line of a table.

    Attributes:
        label: a language, a type, or ``all``.
        success: S, with Wilson's interval.
        aqd: D, with a bootstrap interval.
        aql: L, with a bootstrap interval.
        needs_judge: episodes whose success a judge has still to settle.
    """

    label: str
    success: Interval
    aqd: Interval
    aql: Interval
    needs_judge: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """Everything that is told of a run.

    Attributes:
        by_language: one row per language.
        by_type: one row per task type and language, in their order.
        curve: language -> share of dialogues that had succeeded within 1, 2, … responses (Fig. 4).
        statuses: how many episodes ended how; ``open`` for those that have not.
        unscored: episodes without scores (aborted, failed, open).
    """

    run_id: str
    by_language: tuple[Row, ...]
    by_type: tuple[Row, ...]
    curve: dict[Language, tuple[float, ...]] = field(default_factory=dict)
    statuses: dict[str, int] = field(default_factory=dict)
    unscored: int = 0


def score_run(reader: LogReader, run_id: str) -> tuple[Scored, ...]:
    """Score every ended episode of a run, the latest attempt of each, from its logged turns."""
    endings = reader.endings(run_id)
    ended = {
        episode.id: episode
        for episode in latest_attempts(reader.episodes(run_id))
        if episode.id in endings and endings[episode.id].status in ENDED
    }
    tasks: dict[str, Task] = {}
    judgments = {key: [row for row in rows] for key, rows in reader.judgments_of_run(run_id)}
    scored: list[Scored] = []
    for episode_id, turns in reader.turns_of_run(run_id):
        episode = ended.get(episode_id)
        if episode is None:
            continue
        if episode.item_hash not in tasks:
            tasks[episode.item_hash] = task_from_json(reader.item(episode.item_hash).data)
        task = tasks[episode.item_hash]
        scores = score_episode(task, turns, judgments.get(episode_id, ()))
        status = endings[episode_id].status
        scored.append(Scored(episode=episode, task=task, status=status, scores=scores))
    return tuple(scored)


def latest_attempts(episodes: Iterable[Episode]) -> tuple[Episode, ...]:
    """One episode per item and repeat: the attempt that counts."""
    latest: dict[tuple[str, str, int], Episode] = {}
    for episode in episodes:
        key = (episode.item_hash, episode.language, episode.repeat)
        if key not in latest or latest[key].attempt < episode.attempt:
            latest[key] = episode
    return tuple(latest.values())


def report(reader: LogReader, run_id: str) -> Report:
    """The report of a run."""
    scored = score_run(reader, run_id)
    endings = reader.endings(run_id)
    episodes = latest_attempts(reader.episodes(run_id))
    statuses: dict[str, int] = {}
    for episode in episodes:
        status = endings[episode.id].status if episode.id in endings else "open"
        statuses[status] = statuses.get(status, 0) + 1
    languages: dict[Language, list[Scored]] = {}
    for one in scored:
        languages.setdefault(one.task.language, []).append(one)
    return Report(
        run_id=run_id,
        by_language=rows(scored, lambda one: one.task.language),
        by_type=rows(scored, _type_label, order=lambda one: (one.task.language, one.task.type)),
        curve={
            language: success_by_responses(one.scores for one in some) for language, some in languages.items()
        },
        statuses=statuses,
        unscored=len(episodes) - len(scored),
    )


def rows(
    scored: Sequence[Scored],
    label: Callable[[Scored], str],
    order: Callable[[Scored], tuple[str, int]] | None = None,
) -> tuple[Row, ...]:
    """One row per label, in the order of `order` (default: of first appearance)."""
    groups: dict[str, list[Scored]] = {}
    for one in sorted(scored, key=order) if order else scored:
        groups.setdefault(label(one), []).append(one)
    return tuple(row(name, some) for name, some in groups.items())


def row(label: str, scored: Sequence[Scored]) -> Row:
    """Summarise episodes, at least one."""
    scores = [one.scores for one in scored]
    return Row(
        label=label,
        success=wilson(sum(score.success for score in scores), len(scores)),
        aqd=bootstrap_mean([score.aqd for score in scores]),
        aql=bootstrap_mean([score.aql for score in scores]),
        needs_judge=sum(score.needs_judge for score in scores),
    )


def _type_label(one: Scored) -> str:
    return f"{one.task.type}. {type_name(one.task.type, one.task.language)}"
