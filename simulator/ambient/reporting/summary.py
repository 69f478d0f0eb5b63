"""What `askback run ambient` and `askback score` print of a run: the paper's measure of its task."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Final, NamedTuple

from logs import LogReader
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
from simulator.ambient.rows import item_from_row
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
from simulator.figures import Cell, Column, Table
from simulator.frames import Frames
from simulator.reporting import Section, slug
from simulator.stats import Interval


class Measured(NamedTuple):
    """The figures of one task of a run.

    Attributes:
        measures: by title; None where one is undefined.
        counts: what a measure's reader has to know: rows, and how many are null or empty.
    """

    measures: Mapping[str, Interval | None]
    counts: Mapping[str, int]


def summary_sections(source: Frames) -> Iterator[Section]:
    """Yield who took part in each run, then each task's measures; who has withdrawn counts nowhere."""
    runs = {
        run: run_measures(source.reader, run, exclude_aborted=source.exclude_aborted) for run in source.runs
    }
    who = {run: source.reader.run(run).config.get("seats", {}).get(ANNOTATOR, "person") for run in runs}
    played = Table(["run", "annotator"], [[run, str(name)] for run, name in who.items()], name="runs")
    yield Section(name="runs", title="Runs", tables=[played])
    for task in dict.fromkeys(task for tasks in runs.values() for task in tasks):
        rows: list[list[Cell]] = []
        for run, tasks in runs.items():
            if task in tasks:
                told = {**tasks[task].measures, **tasks[task].counts}
                rows += ([title, value, run, str(who[run])] for title, value in told.items())
        table = Table(["measure", Column("value", 3), "run", "annotator"], rows, name="measures")
        yield Section(name=slug(task), title=task.replace("_", "/"), tables=[table])


def run_measures(reader: LogReader, run: str, *, exclude_aborted: bool = False) -> dict[Task, Measured]:
    """Return what each task of a run comes to, out of its turns.

    Episodes of models' tasks that a failing seat aborted count as unsuccessful, unless they are excluded.

    Raises:
        InputError: if it is a run of another benchmark.
        NotInLog: if there is no such run.
    """
    tasks = dict.fromkeys(
        played.item.task for played in played_of(reader, [run], aborted=not exclude_aborted)
    )
    return {task: _MEASURES[task](reader, run, not exclude_aborted) for task in tasks}


def counts_aborted(source: Frames) -> bool:
    """Return True if aborted episodes are in the figures: in those of judgments none are."""
    tasks = {item_from_row(row).task for run in source.runs for row in source.reader.items(run)}
    return not tasks <= JUDGED


def _crowd(reader: LogReader, run: str, aborted: bool) -> Measured:
    votes = crowd_measures(crowd_records(reader, [run]))
    measures = {
        "kappa, original": votes.kappa_original,
        "kappa, disambiguated": votes.kappa_disambiguated,
        "true reading plausible": votes.true_plausible,
        "distractor plausible": votes.distractor_plausible,
        "… if it is no reading": votes.distractor_plausible_told_apart,
        "accepts all": votes.accepts_all,
        "agreement": votes.agreement,
    }
    return Measured(measures, {"items": votes.rows})


def _evaluated(reader: LogReader, run: str, aborted: bool) -> Measured:
    models = evaluation_measures(crowd_records(reader, [run]))
    measures = {f"correct, {model}": votes.correct for model, votes in models.items()}
    return Measured(measures, {"items": sum(votes.rows for votes in models.values())})


def _annotated(reader: LogReader, run: str, aborted: bool) -> Measured:
    annotated = linguist_measures(linguist_records(reader, [run]))
    scores: dict[str, list[tuple[float, str]]] = {"exact": [], "ambiguous": []}
    for played in played_of(reader, [run]):
        for score in ROOM.score(played.item, played.turns, ()):
            if score.value is not None and score.metric in scores:
                scores[score.metric].append((score.value, played.item.id))
    exact, several = (
        mean_interval([value for value, _ in pairs], [item for _, item in pairs]) for pairs in scores.values()
    )
    measures = {
        "set is the dataset's": exact,
        "several labels": several,
        "alpha of sets": annotated.alpha,
    }
    return Measured(measures, {"examples": annotated.rows, "discarded": annotated.discarded})


def _generated(reader: LogReader, run: str, aborted: bool) -> Measured:
    generated = generation_measures(generation_records(reader, [run], aborted=aborted))
    measures = {"EDIT-F1": generated.edit_f1, "EDIT-F1, robust parser": generated.robust}
    counts = {
        "items": generated.items,
        "empty": generated.empty,
        "unparsable": generated.unparsable,
    }
    return Measured(measures, counts)


def _judged(reader: LogReader, run: str, aborted: bool) -> Measured:
    judged = true_false_measures(true_false_records(reader, [run], aborted=aborted))
    measures = {
        "accuracy": judged.accuracy,
        **{f"template {number}": share for number, share in enumerate(judged.by_template)},
        "all four": judged.all_four,
        "inconsistent pairs": judged.inconsistent,
    }
    return Measured(measures, {"statements": judged.statements, "null": judged.null})


def _continued(reader: LogReader, run: str, aborted: bool) -> Measured:
    continued = continuation_measures(continuation_records(reader, [run], aborted=aborted))
    measures = {"ranking accuracy": continued.accuracy, "chance": continued.random}
    return Measured(measures, {"instances": continued.instances, "missing": len(continued.missing)})


def _inferred(reader: LogReader, run: str, aborted: bool) -> Measured:
    records = nli_records(reader, [run], aborted=aborted)
    inferred = nli_measures(records, [record.id for record in records])
    measures = {"EM": inferred.em, "macro F1": inferred.f1, "group EM": inferred.group_em}
    return Measured(measures, {"examples": inferred.n, "empty sets": inferred.empty})


def _claimed(reader: LogReader, run: str, aborted: bool) -> Measured:
    claims = claim_measures(claim_records(reader, [run], aborted=aborted))
    measures = {"recall": claims.recall, "precision": claims.precision}
    counts = {"marked": claims.n, "unmarked": claims.unmarked, "flagged of all": claims.flagged_of_all}
    return Measured(measures, counts)


_MEASURES: Final[Mapping[Task, Callable[[LogReader, str, bool], Measured]]] = {
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
