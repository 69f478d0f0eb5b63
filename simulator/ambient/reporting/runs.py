"""Summaries of runs, as printed by `askback run` and `askback score`, and exports of their answers.

Answers are exported in the published formats, and as one JSON line per form or item (spec 11, 13).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from importlib.metadata import version as installed
from itertools import chain
from pathlib import Path
from typing import Any, Final, NamedTuple

from logs import LogReader
from logs.rows import Turn
from simulator.ambient.annotation.linguists import linguist_measures
from simulator.ambient.claims import claim_measures
from simulator.ambient.continuations import continuation_measures
from simulator.ambient.crowd import crowd_measures, evaluation_measures
from simulator.ambient.files.nli import NLI_PREDICTIONS
from simulator.ambient.files.results import CLAIMS, CONTINUATIONS, CROWD, GENERATION, LINGUISTS, TRUE_FALSE
from simulator.ambient.generation import generation_measures
from simulator.ambient.intervals import mean_interval
from simulator.ambient.items import BENCHMARK, JUDGED, GenerateItem, Task
from simulator.ambient.nli.metrics import nli_measures
from simulator.ambient.payloads import FORMS
from simulator.ambient.playing import ANNOTATOR
from simulator.ambient.prompts import prompt
from simulator.ambient.reporting.measures import Results, wording
from simulator.ambient.score import values
from simulator.ambient.trial_log import items_of, played_of, records_of
from simulator.ambient.true_false import true_false_measures
from simulator.figures import Cell, Column, Table
from simulator.frames import Frames
from simulator.jsonlines import write_lines
from simulator.output_files import file_name
from simulator.reporting import Section, slug
from simulator.runner.logged import PlayedItem, required_run
from simulator.stats import Interval
from simulator.tables.spec import TableSpec

_MEASURED: Final[Mapping[Task, Callable[[Sequence[Any]], Any]]] = {
    "crowd": crowd_measures,
    "evaluate": evaluation_measures,
    "annotate": linguist_measures,
    "generate": generation_measures,
    "true_false": true_false_measures,
    "continue": continuation_measures,
    "nli": lambda records: nli_measures(records, [record.id for record in records])._asdict(),
    "claim": claim_measures,
}
"""The function that computes each task's measures from records; `wording.yaml` has the summary's titles."""


class TaskMeasures(NamedTuple):
    """The figures of one task of a run: measures by title, None where undefined, and counts."""

    measures: Mapping[str, Interval | None]
    counts: Mapping[str, int]


def run_measures(reader: LogReader, run: str, *, exclude_aborted: bool = False) -> dict[Task, TaskMeasures]:
    """Return the measures of each task of a run.

    Episodes of models' tasks that a failing seat aborted count as unsuccessful unless they are excluded.

    Raises:
        InputError: if the run is of another benchmark.
        NotInLog: if there is no such run.
    """
    played = played_of(reader, [run], aborted=not exclude_aborted)
    return {
        task: _measure_task(played, task) for task in dict.fromkeys(episode.item.task for episode in played)
    }


def _measure_task(played: Sequence[PlayedItem], task: Task) -> TaskMeasures:
    episodes = [episode for episode in played if episode.item.task == task]
    records, words = records_of(episodes, task), wording()["summary"][task]
    outcome = _MEASURED[task](records)
    if task == "evaluate":
        correct = {f"correct, {model}": votes["correct"] for model, votes in outcome.items()}
        return TaskMeasures(correct, {"items": len(records)})
    measures = {title: outcome[name] for title, name in words["measures"].items()}
    if task == "annotate":
        measures = {**_mean_scores(episodes), **measures}
    counts = {title: outcome.get(name, len(records)) for title, name in words["counts"].items()}
    return TaskMeasures(measures, {title: getattr(count, "value", count) for title, count in counts.items()})


def _mean_scores(played: Sequence[PlayedItem]) -> dict[str, Interval | None]:
    """Return the mean scores of linguists' single annotations."""
    scores = [(episode.item.id, values(episode.item, episode.turns)) for episode in played]
    measures: dict[str, Interval | None] = {}
    for title, metric in {"set is the dataset's": "exact", "several labels": "ambiguous"}.items():
        defined = [(item, value) for item, row in scores if (value := row.get(metric)) is not None]
        measures[title] = mean_interval([value for _, value in defined], [item for item, _ in defined])
    return measures


def summary_sections(source: Frames) -> Iterator[Section]:
    """Yield the annotator of each run, then each task's measures, without participants who withdrew."""
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
            measured = ([title, value, value.n if value else None] for title, value in measures.items())
            rows += ([*cells, run, who[run]] for cells in measured)
            rows += ([title, count, None, run, who[run]] for title, count in counts.items())
            if missing := [title for title, value in measures.items() if value is None]:
                undefined.append(f"undefined in {run}: {'; '.join(missing)}")
        columns = ("measure", Column("value", 3), Column("n", 0), "run", "annotator")
        table = Table(columns, rows, name="measures")
        remarks = [*undefined, _aborted_remark(task, source.exclude_aborted)]
        yield Section(name=slug(task), title=task.replace("_", "/"), tables=[table], remarks=remarks)


def _aborted_remark(task: Task, excluded: bool) -> str:
    """Return a remark on how episodes aborted by a failing seat are counted."""
    if task in JUDGED:
        return "Episodes aborted by a failing seat are not counted, since they have no judgment."
    if excluded:
        return "Episodes aborted by a failing seat are left out (--exclude-aborted)."
    return (
        "Episodes aborted by a failing seat count as unsuccessful, with empty answers to the remaining steps "
        "(--exclude-aborted leaves them out)."
    )


def counts_aborted(source: Frames, run: str) -> bool:
    """Return True if aborted episodes of a run count in its figures, unlike those of judgment tasks."""
    return not {item.task for item in items_of(source.reader, run).values()} <= JUDGED


_PUBLISHED: Final[Mapping[str, tuple[str, TableSpec[Any]]]] = {
    "crowd": ("{name}-crowdworker_annotations.jsonl", CROWD),
    "evaluation": ("{name}-evaluation_annotations.jsonl", CROWD),
    "linguists": ("{name}-linguist_annotations.jsonl", LINGUISTS),
    "generation": ("results/generative_evaluation/{name}-n4.jsonl", GENERATION),
    "true_false": ("results/TF_evaluation/{name}.jsonl", TRUE_FALSE),
    "continuation": ("results/continuation_evaluation/{name}/results.jsonl", CONTINUATIONS),
    "nli": ("results/multilabel/{name}/predictions.jsonl", NLI_PREDICTIONS),
    "claims": ("results/claims/{name}/results.jsonl", CLAIMS),
}
"""The path of each kind of answers in the folder of published results, and their format."""
_WITHOUT_FORMS: Final[tuple[Task, ...]] = ("generate", "continue", "nli", "claim")
_ANSWERS: Final = ("answer", "answers", "prediction", "labels", "correct", "rewrite", "template")


def export_runs(folder: Path, played: Iterable[Results]) -> Iterator[Path]:
    """Write the answers of runs, each run to its own file, and yield the paths."""
    written: set[Path] = set()
    for answers in played:
        (place, spec), name = _PUBLISHED[answers.kind], answers.name
        path = folder / place.format(name=file_name(name))
        if path in written:
            path = folder / place.format(name=file_name(f"{name}-{answers.run}"))
        spec.write(path, answers.records)
        written.add(path)
        yield path


def write_run_lines(path: Path, reader: LogReader, runs: Iterable[str]) -> int:
    """Write a JSON line per form submitted in some runs, then one per item of models' tests.

    Returns:
        The number of lines.
    """
    names = dict.fromkeys(runs)
    forms = chain.from_iterable(form_lines(reader, run) for run in names)
    items = chain.from_iterable(item_lines(reader, run) for run in names)
    lines = [json.dumps(line, ensure_ascii=False) for line in (*forms, *items)]
    write_lines(path, lines)
    return len(lines)


def form_lines(reader: LogReader, run_id: str) -> Iterator[dict[str, Any]]:
    """Yield a JSON object per submitted form, in order of submission within each episode.

    Includes aborted episodes, but not consent, instructions, and forms of erased people.
    """
    run = required_run(reader, run_id, BENCHMARK)
    erased = reader.erased_participants()
    items = items_of(reader, run_id)
    for episode, turns in reader.turns_of_run(run_id):
        if episode.participant_id in erased:
            continue
        item = items[episode.item_hash]
        for turn in turns:
            payload = turn.payload
            if payload.get("kind") in FORMS:
                yield {
                    "task": item.task,
                    "item_id": item.id,
                    "step": payload["kind"],
                    "annotator": episode.participant_id or episode.seats[ANNOTATOR],
                    "shown": payload.get("shown", {}),
                    "answers": {name: payload[name] for name in _ANSWERS if name in payload},
                    "rewrites": payload.get("rewrites") if payload["kind"] == "annotate" else None,
                    "discard": payload.get("discard"),
                    "comment": payload.get("comment"),
                    "opened_at": payload.get("shown_at") or _opened_at(turn),
                    "submitted_at": turn.created_at,
                    "seed": episode.seed,
                    "version": str(run.config.get("software_version") or installed("askback")),
                }


def _opened_at(turn: Turn) -> str | None:
    """Return the time at which a form was shown, computed from its duration."""
    if turn.seconds is None:
        return None
    submitted = datetime.fromisoformat(turn.created_at)
    return (submitted - timedelta(seconds=turn.seconds)).isoformat(timespec="milliseconds")


def item_lines(reader: LogReader, run: str) -> Iterator[dict[str, Any]]:
    """Yield a JSON object per item of a task without forms: prompt, output, scores and settings."""
    version = reader.run(run).config.get("software_version")
    for played in played_of(reader, [run]):
        item, episode = played.item, played.episode
        if item.task not in _WITHOUT_FORMS:
            continue
        results = [
            {name: value for name, value in turn.payload.items() if name != "kind"} for turn in played.turns
        ]
        generated = isinstance(item, GenerateItem)
        yield {
            "task": item.task,
            "item_id": item.id,
            "model": played.occupant(ANNOTATOR),
            "prompt": (results[0].get("prompt") or prompt(item)) if generated else None,
            "in_context": [shot.id for shot in item.shots] if generated else [],
            "output": [turn.text for turn in played.turns],
            "results": results,
            "scores": values(item, played.turns),
            "status": played.ending.status,
            "seed": episode.seed,
            "version": version,
        }
