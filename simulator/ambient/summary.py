"""What `askback run ambient` and `askback score` print of a run: the paper's measure of its task."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from rich.box import SIMPLE
from rich.console import Console
from rich.table import Table
from rich.text import Text

from logs import LogReader
from logs.query import ModelUsage
from logs.rows import Score
from simulator.ambient.annotation.linguists import linguist_measures
from simulator.ambient.claims import claim_measures
from simulator.ambient.continuations import continuation_measures
from simulator.ambient.crowd import crowd_measures
from simulator.ambient.evaluation import evaluation_measures
from simulator.ambient.generation import generation_measures
from simulator.ambient.intervals import mean_interval
from simulator.ambient.items import Task
from simulator.ambient.nli.metrics import nli_measures
from simulator.ambient.playing import ANNOTATOR
from simulator.ambient.room import ROOM
from simulator.ambient.trial_log import (
    claim_records,
    continuation_records,
    crowd_records,
    generation_records,
    linguist_records,
    nli_records,
    played_of,
    true_false_records,
)
from simulator.ambient.true_false import true_false_measures
from simulator.runner.logged import endings_of, failures_of, seat_failures
from simulator.runner.telling import print_aborted, print_not_scored, print_usage
from simulator.stats import Interval

Measured = Mapping[str, Interval | None]
Noted = Mapping[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSummary:
    """A run in numbers.

    Attributes:
        who: sits in the seat.
        statuses: episodes by how they ended; ``erased`` those of people who have withdrawn, which count
            nowhere else.
        failures: why episodes failed or people left, and how many did.
        aborted: why seats failed -> how many episodes that aborted; they count as unsuccessful.
        exclude_aborted: whether these are left out instead.
        measures: task -> measure -> its value with its interval and n; None where it is undefined.
        counted: task -> what a measure's reader has to know: rows, and how many are null or empty.
        usage: what the models took.
    """

    run: str
    who: str
    statuses: Mapping[str, int]
    failures: Mapping[str, int]
    measures: Mapping[Task, Measured]
    counted: Mapping[Task, Noted]
    usage: tuple[ModelUsage, ...]
    aborted: Mapping[str, int] = field(default_factory=dict)
    exclude_aborted: bool = False


def summarise(reader: LogReader, run_id: str, *, exclude_aborted: bool = False) -> RunSummary:
    """A run in numbers, out of its turns. People who have withdrawn do not count.

    Episodes of models' tasks that a failing seat aborted count as unsuccessful, unless they are excluded.

    Raises:
        InputError: if it is a run of another benchmark.
        NotInLog: if there is no such run.
    """
    played = played_of(reader, [run_id], aborted=not exclude_aborted)
    tasks = dict.fromkeys(one.item.task for one in played)
    found = {task: _MEASURES[task](reader, run_id, not exclude_aborted) for task in tasks}
    seats = reader.run(run_id).config.get("seats", {})
    return RunSummary(
        run=run_id,
        who=str(seats.get(ANNOTATOR, "person")),
        statuses=endings_of(reader, run_id).statuses,
        failures=failures_of(reader, run_id),
        aborted=seat_failures(reader, [run_id]),
        exclude_aborted=exclude_aborted,
        measures={task: one[0] for task, one in found.items()},
        counted={task: one[1] for task, one in found.items()},
        usage=tuple(reader.usage(run_id)),
    )


def score_run(reader: LogReader, run_id: str) -> tuple[Score, ...]:
    """The scores of every ended episode of a run, from its logged turns.

    Raises:
        InputError: if it is a run of another benchmark.
    """
    played = played_of(reader, [run_id])
    return tuple(score for one in played for score in ROOM.score(one.item, one.turns, ()))


def _crowd(reader: LogReader, run: str, aborted: bool) -> tuple[Measured, Noted]:
    found = crowd_measures(crowd_records(reader, [run]))
    measures = {
        "kappa, original": found.kappa_original,
        "kappa, disambiguated": found.kappa_disambiguated,
        "true reading plausible": found.true_plausible,
        "distractor plausible": found.distractor_plausible,
        "… if it is no reading": found.distractor_plausible_told_apart,
        "accepts all": found.accepts_all,
        "agreement": found.agreement,
    }
    return measures, {"items": found.rows}


def _evaluated(reader: LogReader, run: str, aborted: bool) -> tuple[Measured, Noted]:
    found = evaluation_measures(crowd_records(reader, [run]))
    rows = sum(one.rows for one in found.values())
    return {f"correct, {model}": one.correct for model, one in found.items()}, {"items": rows}


def _annotated(reader: LogReader, run: str, aborted: bool) -> tuple[Measured, Noted]:
    found = linguist_measures(linguist_records(reader, [run]))
    scores: dict[str, list[tuple[float, str]]] = {"exact": [], "ambiguous": []}
    for one in played_of(reader, [run]):
        for score in ROOM.score(one.item, one.turns, ()):
            if score.value is not None and score.metric in scores:
                scores[score.metric].append((score.value, one.item.id))
    exact, several = (
        mean_interval([value for value, _ in some], [item for _, item in some]) for some in scores.values()
    )
    measures = {"set is the dataset's": exact, "several labels": several, "alpha of sets": found.alpha}
    return measures, {"examples": found.rows, "discarded": found.discarded}


def _generated(reader: LogReader, run: str, aborted: bool) -> tuple[Measured, Noted]:
    found = generation_measures(generation_records(reader, [run], aborted=aborted))
    return {"EDIT-F1": found.edit_f1, "EDIT-F1, robust parser": found.robust}, {
        "items": found.items,
        "empty": found.empty,
        "unparsable": found.unparsable,
    }


def _judged(reader: LogReader, run: str, aborted: bool) -> tuple[Measured, Noted]:
    found = true_false_measures(true_false_records(reader, [run], aborted=aborted))
    by_template = {f"template {number}": one for number, one in enumerate(found.by_template)}
    measures = {"accuracy": found.accuracy, **by_template, "all four": found.all_four}
    return {**measures, "inconsistent pairs": found.inconsistent}, {
        "statements": found.statements,
        "null": found.null,
    }


def _continued(reader: LogReader, run: str, aborted: bool) -> tuple[Measured, Noted]:
    found = continuation_measures(continuation_records(reader, [run], aborted=aborted))
    return {"ranking accuracy": found.accuracy, "chance": found.random}, {
        "instances": found.instances,
        "missing": len(found.missing),
    }


def _inferred(reader: LogReader, run: str, aborted: bool) -> tuple[Measured, Noted]:
    records = nli_records(reader, [run], aborted=aborted)
    found = nli_measures(records, [record.id for record in records])
    return {"EM": found.em, "macro F1": found.f1, "group EM": found.group_em}, {
        "examples": found.n,
        "empty sets": found.empty,
    }


def _claimed(reader: LogReader, run: str, aborted: bool) -> tuple[Measured, Noted]:
    found = claim_measures(claim_records(reader, [run], aborted=aborted))
    return {"recall": found.recall, "precision": found.precision}, {
        "marked": found.n,
        "unmarked": found.unmarked,
        "flagged of all": found.flagged_of_all,
    }


_MEASURES: Final[Mapping[Task, Callable[[LogReader, str, bool], tuple[Measured, Noted]]]] = {
    "crowd": _crowd,
    "evaluate": _evaluated,
    "annotate": _annotated,
    "generate": _generated,
    "true_false": _judged,
    "continue": _continued,
    "nli": _inferred,
    "claim": _claimed,
}
JUDGED: Final[frozenset[Task]] = frozenset({"crowd", "evaluate", "annotate"})
"""Tasks of judgments, which have no wrong answer that silence could be (`silence.has_silence`)."""


def print_summaries(console: Console, summaries: Sequence[RunSummary]) -> None:
    """A table of each task's measures, what failed, and what the models took."""
    for task in dict.fromkeys(task for one in summaries for task in one.measures):
        console.print(_table(task, [one for one in summaries if task in one.measures]))
    for one in summaries:
        print_not_scored(console, one.run, one.statuses, one.failures)
        counted = not one.measures.keys() <= JUDGED
        print_aborted(console, one.aborted, one.run, excluded=one.exclude_aborted, counted=counted)
        print_usage(console, one.usage)


def summary_json(summary: RunSummary) -> dict[str, Any]:
    """The summary as plain JSON."""
    return {
        "run": summary.run,
        "annotator": summary.who,
        "statuses": dict(summary.statuses),
        "failures": dict(summary.failures),
        "aborted": dict(summary.aborted),
        "exclude_aborted": summary.exclude_aborted,
        "measures": {
            task: {name: None if one is None else one._asdict() for name, one in found.items()}
            for task, found in summary.measures.items()
        },
        "counts": {task: dict(found) for task, found in summary.counted.items()},
    }


def _table(task: Task, summaries: Sequence[RunSummary]) -> Table:
    table = Table(box=SIMPLE, title=task.replace("_", "/"), title_justify="left")
    for name in ("annotator", "measure"):
        table.add_column(name, overflow="fold")
    for name in ("value", "95 % interval", "n"):
        table.add_column(name, no_wrap=True, justify="right")
    for one in summaries:
        who = one.who
        for name, found in one.measures[task].items():
            cells = ("—", "", "") if found is None else _cells(found)
            table.add_row(who, name, *cells)
            who = ""
        noted = ", ".join(f"{count} {name}" for name, count in one.counted[task].items())
        table.add_row("", Text(noted, style="dim"), "", "", "")
    return table


def _cells(found: Interval) -> tuple[str, str, str]:
    return f"{found.value:.3f}", f"{found.low:.3f} to {found.high:.3f}", str(found.n)
