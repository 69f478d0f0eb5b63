"""The tables and curves of a run (the shapes of the paper's Tables I to V and Fig. 4)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from logs import LogReader
from simulator.clarq.reporting.agreement import PairOfJudges, judge_agreement
from simulator.clarq.reporting.scored import Scored, score_run
from simulator.clarq.reporting.tables import Row, rows
from simulator.clarq.score import success_by_responses
from simulator.runner.logged import endings_of_runs, seat_failures
from trees import Language
from trees.types import task_type


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """Everything that is told of a run.

    Attributes:
        by_language: one row per language.
        by_type: one row per task type and language, in their order.
        curve: language -> share of dialogues that had succeeded within 1, 2, … responses (Fig. 4).
        statuses: how many episodes ended how; ``open`` for those that have not, ``erased`` for those of
            people who have withdrawn, which count nowhere else.
        unscored: episodes without scores (failed, open, erased; aborted where they do not count).
        failures: why episodes failed -> how many did, the most frequent first.
        aborted: why seats failed -> how many episodes that aborted; they count as unsuccessful.
        exclude_aborted: whether these are left out instead.
        decided_by: whose verdict S is (``rule``, ``judges``, ``people``) -> of how many dialogues.
        judges: how far every two reviewers and judges agree on success.
    """

    run_id: str
    by_language: tuple[Row, ...]
    by_type: tuple[Row, ...]
    curve: dict[Language, tuple[float, ...]] = field(default_factory=dict)
    statuses: Mapping[str, int] = field(default_factory=dict)
    unscored: int = 0
    failures: Mapping[str, int] = field(default_factory=dict)
    aborted: Mapping[str, int] = field(default_factory=dict)
    exclude_aborted: bool = False
    decided_by: Mapping[str, int] = field(default_factory=dict)
    judges: tuple[PairOfJudges, ...] = ()


def report(
    reader: LogReader, run_id: str, scored: Sequence[Scored] | None = None, *, exclude_aborted: bool = False
) -> Report:
    """Return the report of a run; `scored` spares scoring it again."""
    scored = score_run(reader, run_id, exclude_aborted=exclude_aborted) if scored is None else scored
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
        aborted=seat_failures(reader, [run_id]),
        exclude_aborted=exclude_aborted,
        decided_by=dict(Counter(one.scores.decided_by for one in scored)),
        judges=judge_agreement(scored, reader.judgments(run_id=run_id)),
    )


def _type_label(scored: Scored) -> str:
    return f"{scored.task.type}. {task_type(scored.task.type).name(scored.task.language)}"
