"""The settings of a report, and the answers in logged runs and files (spec 11, 13).

Kinds of files are recognized by their content.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Final

import typer
from pydantic import Field

from logs import LogReader
from logs.rows import Run
from simulator.ambient.crowd import Tie
from simulator.ambient.examples import Example
from simulator.ambient.files.dataset import CategoryRecord
from simulator.ambient.files.results import join
from simulator.ambient.items import BENCHMARK, JUDGED, Task
from simulator.ambient.playing import ANNOTATOR
from simulator.ambient.prompts import Parser
from simulator.ambient.reporting.measures import Results, model_of
from simulator.ambient.trial_log import items_of, played_of, records_of
from simulator.errors import InputError
from simulator.fields import Fields
from simulator.jsonlines import CODE, DuplicatesOption, Read, count_left_out, describe_duplicates
from simulator.runner.logged import PERSON, not_counting, required_run


class ReportSettings(Fields):
    """The settings of scoring runs and files, and of further output."""

    data: str | None = Field(
        default=None,
        description="dataset of the results, a name or a path; default: one next to the files, or the one "
        "registered as ambient",
    )
    tie: Tie = Field(
        default="first",
        description="votes: the label that wins a tie (in the paper: first)",
    )
    votes: Annotated[
        tuple[str, ...],
        typer.Option(help="Table 1: show the votes on this example (or all); may be repeated"),
    ] = ()
    parser: Parser = Field(
        default="reference",
        description="generation: the parser of rewrites for the main score (in the paper: reference)",
    )
    variants: bool = Field(default=False, description="generation: also show EDIT-F1 by alternative rules")
    duplicates: DuplicatesOption = "refuse"
    instance: str | None = Field(
        default=None,
        description="draw the log-odds of this instance of a run's continuations (ID or ID.premise)",
    )
    pair: str | None = Field(
        default=None,
        description="draw the label probabilities of this pair of a run (ID; ID:1, its first rewrite)",
    )
    lines: Path | None = Field(
        default=None,
        description="file for the runs' forms and items of models' tests, as JSON lines",
    )
    export: Path | None = Field(
        default=None, description="folder for the runs' answers in the published formats"
    )
    csv: Path | None = Field(default=None, description="file for all measures, with full precision")
    latex: Path | None = Field(default=None, description="file for the tables in LaTeX")


@dataclass(frozen=True, kw_only=True)
class Context:
    """The settings and data for computing results; examples are empty without a dataset."""

    settings: ReportSettings = field(default_factory=ReportSettings)
    examples: tuple[Example, ...] = ()
    categories: Sequence[CategoryRecord] = ()

    @cached_property
    def by_id(self) -> Mapping[str, Example]:
        """The examples by id."""
        return {example.id: example for example in self.examples}

    @property
    def tested(self) -> tuple[Example, ...]:
        """The test split, or all examples if there are no splits."""
        return tuple(example for example in self.examples if example.split == "test") or self.examples


Files = Mapping[str, Mapping[Path, Read[Any]]]
"""The contents of files, by kind and path."""
KIND_OF: Final[Mapping[Task, str]] = {
    "crowd": "crowd",
    "evaluate": "evaluation",
    "annotate": "linguists",
    "generate": "generation",
    "true_false": "true_false",
    "continue": "continuation",
    "nli": "nli",
    "claim": "claims",
}
"""The kind of results of each task."""


def tasks_of_run(reader: LogReader, run_id: str, *, aborted: bool = True) -> list[Results]:
    """Return the answers of a run by task.

    `aborted`: include episodes aborted by a failing seat, with empty answers to the remaining steps.

    Raises:
        InputError: if the run is of another benchmark or has no answers yet.
        NotInLog: if there is no such run.
    """
    run = required_run(reader, run_id, BENCHMARK)
    played, missing = played_of(reader, [run_id], aborted=aborted), not_counting(reader, run_id)
    remarks = []
    if missing.open:
        remarks.append(f"{missing.open} episodes of the run have not ended and are not in these numbers")
    if missing.failed:
        remarks.append(f"{missing.failed} episodes were aborted or failed and are not scored")
    tasks = [
        Results(
            kind=KIND_OF[task],
            name=_source_name(reader, run, task),
            records=records,
            files=(f"run {run_id}",),
            run=run_id,
            remarks=tuple(remarks),
        )
        for task in dict.fromkeys(item.task for item in items_of(reader, run_id).values())
        if (records := records_of(played, task))
    ]
    if not tasks:
        raise InputError(f"{run_id} has no answers of finished episodes; there is nothing to report.")
    return tasks


def _source_name(reader: LogReader, run: Run, task: Task) -> str:
    """Return the name of the answers' source: the model, or the run for judgments and mixed seats."""
    if task in JUDGED:
        return str(run.config.get("model") or run.id)
    episodes = reader.episodes(run.id, latest=True)
    seats = dict.fromkeys(episode.seats.get(ANNOTATOR, "") for episode in episodes)
    names = ["people" if name == PERSON else name for name in seats]
    return names[0] if len(names) == 1 else run.id


def answers_of_files(files: Files) -> Iterator[Results]:
    """Yield the answers in files, in the order of the paper."""
    for file, read in files.get("linguists", {}).items():
        yield _answers("linguists", file, read, file.stem)
    for file, read in files.get("crowd", {}).items():
        voted = [row for row in read.rows if not row.origin]
        judged = [row for row in read.rows if row.origin]
        if voted or not judged:
            yield replace(_answers("crowd", file, read, file.stem), records=voted)
        if judged:
            answers = _answers("evaluation", file, read, file.stem)
            yield replace(answers, records=judged, left_out=0 if voted else answers.left_out)
    for kind in ("generation", "true_false", "continuation"):
        for file, read in files.get(kind, {}).items():
            yield _answers(kind, file, read, model_of(file))
    yield from _claims(files)


def _answers(kind: str, file: Path, read: Read[Any], name: str) -> Results:
    return Results(
        kind=kind, name=name, records=read.rows, files=(str(file),), left_out=count_left_out(read.faults)
    )


def _claims(files: Files) -> Iterator[Results]:
    """Yield claims with their marks, which are in separate files."""
    marks = files.get("claim_annotations", {})
    annotations = [row for read in marks.values() for row in read.rows]
    faulty = sum(count_left_out(read.faults) for read in marks.values())
    for file, read in files.get("claims", {}).items():
        joined = join(read.rows, annotations)
        remark = f"{joined.unannotated} claims have no marks, {joined.unknown} rows of marks have no claim"
        if not annotations:
            remark = "no file with marks (claim, annotation) to compare with"
        name = file.resolve().parent.name if file.stem == "results" else file.stem
        answers = _answers("claims", file, read, name)
        yield replace(
            answers,
            records=joined.records,
            files=(str(file), *map(str, marks)),
            left_out=answers.left_out + faulty,
            remarks=(remark,),
        )


# ---- remarks on rows

# Kinds of files with one row per item, then with several; files of these kinds can share items.
_ROW_PER_ID: Final = ("crowd", "generation", "nli_predictions", "linguists")
_ITEMS: Final = (*_ROW_PER_ID, "true_false", "continuation")


def with_notes(results: Results, files: Files, known: Mapping[str, Example]) -> Results:
    """Return results with remarks on repeated rows, rows without example, and files with other items."""
    remarks: list[str] = []
    data: dict[str, Any] = {}
    faults = [
        fault
        for reads in files.values()
        for file, read in reads.items()
        if str(file) in results.files
        for fault in read.faults
        if fault.code == CODE
    ]
    if faults:
        counted = sum(fault.severity == "warning" for fault in faults)
        data["duplicates"] = {"rows": len(faults), "counted": counted}
        remarks.append(describe_duplicates(faults))
    paths = [(kind, file) for kind in _ITEMS for file in files.get(kind, {}) if str(file) in results.files]
    if len(paths) == 1:
        kind, file = paths[0]
        item_remarks, values = _item_notes(files[kind], file, known, ids=kind in _ROW_PER_ID)
        remarks, data = [*remarks, *item_remarks], data | values
    return replace(results, remarks=(*results.remarks, *remarks), data={**results.data, **data})


def _item_notes(
    reads: Mapping[Path, Read[Any]], file: Path, known: Mapping[str, Example], *, ids: bool
) -> tuple[list[str], dict[str, Any]]:
    """Compare the items of a file with other files of its kind and the dataset: remarks and values."""
    rows = reads[file].rows
    items = {path: set(map(_item_key, read.rows)) for path, read in reads.items()}
    same = {str(other): items[other] == items[file] for other in items if other != file}
    data: dict[str, Any] = {"same_items": same}
    remarks = [f"different items from {other}" for other, equal in same.items() if not equal]
    if known:
        data["foreign_ids"] = foreign = len({row.id for row in rows if _is_foreign(row, known.get(row.id))})
        if foreign:
            ids_are = "id is" if foreign == 1 else "ids are"
            remarks.insert(0, f"{foreign} {ids_are} not in the dataset, or in it with a different text")
    if ids:
        data["duplicate_ids"] = several = sum(count > 1 for count in Counter(row.id for row in rows).values())
        if several:
            remarks.insert(0, f"{several} {'id occurs' if several == 1 else 'ids occur'} in several rows")
    return remarks, data


def _item_key(row: Any) -> tuple[object, ...]:
    """Return the item that a row of a results file answers."""
    return tuple(getattr(row, name, None) for name in ("id", "side", "disambiguation", "template"))


def _is_foreign(row: Any, example: Example | None) -> bool:
    texts = ("premise", "hypothesis")
    return example is None or any(
        getattr(row, text, getattr(example, text)) != getattr(example, text) for text in texts
    )
