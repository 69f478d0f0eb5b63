"""What `askback run ambient` and `askback score` print of a run: the paper's measure of its task."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from logs import LogReader
from simulator.ambient.annotation.linguists import linguist_measures
from simulator.ambient.claims import claim_measures
from simulator.ambient.continuations import continuation_measures
from simulator.ambient.crowd import crowd_measures
from simulator.ambient.generation import generation_measures
from simulator.ambient.intervals import mean_interval
from simulator.ambient.items import Task, item_from_row
from simulator.ambient.nli.metrics import nli_measures
from simulator.ambient.playing import ANNOTATOR
from simulator.ambient.prepare import evaluation_measures
from simulator.ambient.reporting.measures import wording
from simulator.ambient.room import ROOM
from simulator.ambient.trial_log import JUDGED, Played, played_of, records_of
from simulator.ambient.true_false import true_false_measures
from simulator.figures import Cell, Column, Table
from simulator.frames import Frames
from simulator.reporting import Section, slug
from simulator.stats import Interval

_MEASURED: Final[Mapping[Task, Callable[[Sequence[Any]], Any]]] = {
    "crowd": crowd_measures,
    "evaluate": evaluation_measures,
    "annotate": linguist_measures,
    "generate": generation_measures,
    "true_false": true_false_measures,
    "continue": continuation_measures,
    "nli": lambda records: nli_measures(records, [record.id for record in records]),
    "claim": claim_measures,
}
"""The measures of each task, of its records; their names in a summary are in `wording.yaml`."""


class Measured(NamedTuple):
    """The figures of one task of a run: measures by title, None where one is undefined, and counts."""

    measures: Mapping[str, Interval | None]
    counts: Mapping[str, int]


def run_measures(reader: LogReader, run: str, *, exclude_aborted: bool = False) -> dict[Task, Measured]:
    """Return what each task of a run comes to, out of its turns.

    Episodes of models' tasks that a failing seat aborted count as unsuccessful, unless they are excluded.

    Raises:
        InputError: if it is a run of another benchmark.
        NotInLog: if there is no such run.
    """
    played = played_of(reader, [run], aborted=not exclude_aborted)
    return {task: _measured(played, task) for task in dict.fromkeys(episode.item.task for episode in played)}


def _measured(played: Sequence[Played], task: Task) -> Measured:
    own = [episode for episode in played if episode.item.task == task]
    found, words = _MEASURED[task](records_of(own, task)), wording()["summary"][task]
    measures = {title: getattr(found, name) for title, name in words["measures"].items()}
    counts = {title: getattr(found, name) for title, name in words["counts"].items()}
    match task:
        case "evaluate":
            measures = {f"correct, {model}": votes.correct for model, votes in found.items()}
            counts = {"items": sum(votes.rows for votes in found.values())}
        case "annotate":
            measures = {**_scored(own), **measures}
        case "true_false":
            measures |= {f"template {number}": share for number, share in enumerate(found.by_template)}
        case "continue":
            counts["missing"] = len(found.missing)
    return Measured(measures, counts)


def _scored(played: Sequence[Played]) -> dict[str, Interval | None]:
    """Return the mean scores of linguists' single annotations."""
    measures: dict[str, Interval | None] = {}
    for title, metric in {"set is the dataset's": "exact", "several labels": "ambiguous"}.items():
        pairs = [
            (score.value, episode.item.id)
            for episode in played
            for score in ROOM.score(episode.item, episode.turns, ())
            if score.metric == metric and score.value is not None
        ]
        measures[title] = mean_interval([value for value, _ in pairs], [item for _, item in pairs])
    return measures


def summary_sections(source: Frames) -> Iterator[Section]:
    """Yield who took part in each run, then each task's measures; who has withdrawn counts nowhere."""
    runs = {
        run: run_measures(source.reader, run, exclude_aborted=source.exclude_aborted) for run in source.runs
    }
    who = {run: str(source.reader.run(run).config.get("seats", {}).get(ANNOTATOR, "person")) for run in runs}
    table = Table(["run", "annotator"], [[run, name] for run, name in who.items()], name="runs")
    yield Section(name="runs", title="Runs", tables=[table])
    for task in dict.fromkeys(task for tasks in runs.values() for task in tasks):
        rows: list[list[Cell]] = []
        undefined: list[str] = []
        for run, tasks in runs.items():
            if task not in tasks:
                continue
            measures, counts = tasks[task]
            told = ([title, value, value.n if value else None] for title, value in measures.items())
            rows += ([*cells, run, who[run]] for cells in told)
            rows += ([title, count, None, run, who[run]] for title, count in counts.items())
            if missing := [title for title, value in measures.items() if value is None]:
                undefined.append(f"undefined in {run}: {'; '.join(missing)}")
        columns = ("measure", Column("value", 3), Column("n", 0), "run", "annotator")
        table = Table(columns, rows, name="measures")
        remarks = [*undefined, _aborted(task, source.exclude_aborted)]
        yield Section(name=slug(task), title=task.replace("_", "/"), tables=[table], remarks=remarks)


def _aborted(task: Task, excluded: bool) -> str:
    """Return what episodes count as that a failing seat aborted."""
    if task in JUDGED:
        return "Episodes that a failing seat aborted are in no figure: a form not filled in is no judgment."
    if excluded:
        return "Episodes that a failing seat aborted are left out (--exclude-aborted)."
    return (
        "Episodes that a failing seat aborted count as unsuccessful: what they left is answered with "
        "nothing (--exclude-aborted leaves them out)."
    )


def counts_aborted(source: Frames, run: str) -> bool:
    """Return True if aborted episodes of a run are in its figures: in those of judgments none are."""
    return not {item_from_row(row).task for row in source.reader.items(run)} <= JUDGED
