"""Runs of the log as sections, by the same functions as published files (spec 13)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from logs import LogReader
from logs.rows import Run
from simulator.ambient.examples import Example
from simulator.ambient.items import Task
from simulator.ambient.nli.metrics import nli_measures
from simulator.ambient.nli.table import Model
from simulator.ambient.playing import ANNOTATOR
from simulator.ambient.records import CrowdRecord, NliRecord
from simulator.ambient.reporting.beside import tested_examples
from simulator.ambient.reporting.measures import Section
from simulator.ambient.reporting.model_sections import (
    claims_section,
    continuation_section,
    generation_section,
    true_false_section,
)
from simulator.ambient.reporting.people_sections import crowd_section, evaluation_section, linguists_section
from simulator.ambient.reporting.settings import Settings
from simulator.ambient.reporting.votes import table_1
from simulator.ambient.rows import BENCHMARK, item_from_row
from simulator.ambient.trial_log import (
    claim_records,
    continuation_records,
    crowd_records,
    generation_records,
    linguist_records,
    nli_records,
    true_false_records,
)
from simulator.errors import InputError
from simulator.runner.logged import not_counting, required_run

PERSON: Final = "person"
Records = tuple[Any, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Played:
    """A run, or what is of one task in it.

    Attributes:
        run: its row.
        task: what was done.
        name: who did it: the model, ``people``, or the run where a file of several people was imported.
        records: what was answered.
        open: episodes that have not ended, or that are still to be begun.
        failed: episodes that were aborted, or failed for good; of nobody who was erased.
    """

    run: Run
    task: Task
    name: str
    records: Records
    open: int
    failed: int


@dataclass(slots=True)
class RunSections:
    """What is told of runs.

    Attributes:
        sections: but for inference, which is told in tables of all models.
        models: rows of those tables.
        played: the runs.
    """

    sections: list[Section] = field(default_factory=list)
    models: list[Model] = field(default_factory=list)
    played: list[Played] = field(default_factory=list)


def sections_of_runs(
    reader: LogReader, runs: Sequence[str], settings: Settings, examples: Sequence[Example]
) -> RunSections:
    """What is told of some runs.

    Args:
        reader: of the log.
        runs: their names.
        settings: how they are scored.
        examples: of the dataset; empty if none is known.

    Raises:
        InputError: if one is another benchmark's, or holds no answer yet.
        NotInLog: if there is no such run.
    """
    found = RunSections()
    for run in dict.fromkeys(runs):
        for one in played_of(reader, run, aborted=not settings.exclude_aborted):
            found.played.append(one)
            if one.task == "nli":
                found.models.append(_model(one))
            else:
                found.sections.append(_SECTIONS[one.task](one, settings, examples))
    return found


def played_of(reader: LogReader, run_id: str, *, aborted: bool = True) -> list[Played]:
    """What was done in a run, task by task; with `aborted` also what a failing seat left undone.

    Raises:
        InputError: if it is another benchmark's, or holds no answer yet.
        NotInLog: if there is no such run.
    """
    run = required_run(reader, run_id, BENCHMARK)
    tasks = dict.fromkeys(item_from_row(row).task for row in reader.items(run_id))
    left_out = not_counting(reader, run_id)
    made = [
        Played(
            run=run,
            task=task,
            name=_who(reader, run, task),
            records=records,
            open=left_out.open,
            failed=left_out.failed,
        )
        for task in tasks
        if (records := _records(reader, run_id, task, aborted))
    ]
    if not made:
        raise InputError(
            f"{run_id} holds no answers of an episode that has ended; there is nothing to report."
        )
    return made


def _records(reader: LogReader, run_id: str, task: Task, aborted: bool) -> Records:
    if task in ("crowd", "evaluate"):
        judged = task == "evaluate"
        return tuple(one for one in crowd_records(reader, [run_id]) if bool(one.origin) == judged)
    if task == "annotate":
        return linguist_records(reader, [run_id])
    return tuple(_READERS[task](reader, [run_id], aborted=aborted))


def _who(reader: LogReader, run: Run, task: Task) -> str:
    """The model; of people's votes the run, for several studies may stand side by side."""
    if task in ("crowd", "evaluate", "annotate"):
        return str(run.config.get("model") or run.id)
    seats = dict.fromkeys(one.seats.get(ANNOTATOR, "") for one in reader.episodes(run.id, latest=True))
    names = ["people" if name == PERSON else name for name in seats]
    return names[0] if len(names) == 1 else run.id


def _model(one: Played) -> Model:
    records: Sequence[NliRecord] = one.records
    return Model(
        name=one.name, folder=one.name, measures=nli_measures(records, [record.id for record in records])
    )


def _noted(section: Section, one: Played) -> Section:
    """The section, with the run, and a word on what is not in it."""
    said = []
    if one.open:
        said.append(f"{one.open} episodes of the run have not ended and are not in these numbers")
    if one.failed:
        said.append(f"{one.failed} episodes were aborted or failed and are not scored")
    return replace(section, files=(f"run {one.run.id}",), remarks=(*section.remarks, *said))


def _generation(one: Played, settings: Settings, examples: Sequence[Example]) -> Section:
    made = generation_section(
        one.records,
        name=one.name,
        parser=settings.parser,
        examples=examples,
        variants=settings.variants,
    )
    return _noted(made, one)


def _true_false(one: Played, settings: Settings, examples: Sequence[Example]) -> Section:
    return _noted(true_false_section(one.records, name=one.name), one)


def _continuation(one: Played, settings: Settings, examples: Sequence[Example]) -> Section:
    made = continuation_section(
        one.records, name=one.name, examples=tested_examples(examples), every=examples
    )
    return _noted(made, one)


def _crowd(one: Played, settings: Settings, examples: Sequence[Example]) -> Section:
    records: Sequence[CrowdRecord] = one.records
    held = {record.id for record in records}
    wanted = [id for id in settings.votes if id == "all" or id in held]
    known = {example.id: example for example in examples}
    tables = {"table_1": table_1(records, wanted, known)} if wanted else {}
    return _noted(crowd_section(records, name=one.name, tie=settings.tie, tables=tables), one)


def _evaluation(one: Played, settings: Settings, examples: Sequence[Example]) -> Section:
    return _noted(evaluation_section(one.records, name=one.name, tie=settings.tie), one)


def _linguists(one: Played, settings: Settings, examples: Sequence[Example]) -> Section:
    finals = {example.id: example.labels for example in examples if example.labels}
    return _noted(linguists_section(one.records, finals, name=one.name), one)


def _claims(one: Played, settings: Settings, examples: Sequence[Example]) -> Section:
    return _noted(claims_section(one.records, name=one.name), one)


_SECTIONS: Final[Mapping[Task, Callable[[Played, Settings, Sequence[Example]], Section]]] = {
    "crowd": _crowd,
    "evaluate": _evaluation,
    "annotate": _linguists,
    "generate": _generation,
    "true_false": _true_false,
    "continue": _continuation,
    "claim": _claims,
}
_READERS: Final[Mapping[Task, Callable[..., Sequence[Any]]]] = {
    "generate": generation_records,
    "true_false": true_false_records,
    "continue": continuation_records,
    "nli": nli_records,
    "claim": claim_records,
}
