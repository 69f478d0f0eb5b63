"""The tables and curves of a run (the shapes of the paper's Tables I to V and Fig. 4).

Everything is computed from the logged turns; nothing is read from the score rows, which are a copy.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from logs import LogReader
from logs.rows import Episode, Judgment
from simulator.clarq.data import task_from_json
from simulator.clarq.score import JUDGE, DialogueScores, score_episode, success_by_responses
from simulator.runner.logged import endings_of_runs, played_to_end
from simulator.stats import Interval, bootstrap_mean, wilson
from trees import Language, Task
from trees.types import task_type


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
        label: a language, or a task type.
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
        statuses: how many episodes ended how; ``open`` for those that have not, ``erased`` for those of
            people who have withdrawn, which count nowhere else.
        unscored: episodes without scores (aborted, failed, open, erased).
        failures: why episodes failed -> how many did, the most frequent first.
    """

    run_id: str
    by_language: tuple[Row, ...]
    by_type: tuple[Row, ...]
    curve: dict[Language, tuple[float, ...]] = field(default_factory=dict)
    statuses: Mapping[str, int] = field(default_factory=dict)
    unscored: int = 0
    failures: Mapping[str, int] = field(default_factory=dict)


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


def report(reader: LogReader, run_id: str, scored: Sequence[Scored] | None = None) -> Report:
    """The report of a run; `scored` spares scoring it again."""
    scored = score_run(reader, run_id) if scored is None else scored
    statuses, failures = endings_of_runs(reader, [run_id])
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
        unscored=sum(statuses.values()) - len(scored),
        failures=failures,
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


def _place(one: Scored) -> tuple[str, int, str, int]:
    return one.task.language, one.task.type, one.task.id, one.episode.repeat


def _type_label(one: Scored) -> str:
    return f"{one.task.type}. {task_type(one.task.type).name(one.task.language)}"
