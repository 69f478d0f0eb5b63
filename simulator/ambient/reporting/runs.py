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
    """Return what is told of some runs.

    Args:
        reader: of the log.
        runs: their names.
        settings: how they are scored.
        examples: of the dataset; empty if none is known.

    Raises:
        InputError: if one is another benchmark's, or holds no answer yet.
        NotInLog: if there is no such run.
    """
    sections = RunSections()
    for run in dict.fromkeys(runs):
        for one in played_of(reader, run, aborted=not settings.exclude_aborted):
            sections.played.append(one)
            if one.task == "nli":
                sections.models.append(_model(one))
            else:
                sections.sections.append(_SECTIONS[one.task](one, settings, examples))
    return sections


def played_of(reader: LogReader, run_id: str, *, aborted: bool = True) -> list[Played]:
    """Return what was done in a run, task by task; with `aborted` also what a failing seat left undone.

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
        return tuple(
            crowd_record
            for crowd_record in crowd_records(reader, [run_id])
            if bool(crowd_record.origin) == judged
        )
    if task == "annotate":
        return linguist_records(reader, [run_id])
    return tuple(_READERS[task](reader, [run_id], aborted=aborted))


def _who(reader: LogReader, run: Run, task: Task) -> str:
    """Return the model; of people's votes the run, for several studies may stand side by side."""
    if task in ("crowd", "evaluate", "annotate"):
        return str(run.config.get("model") or run.id)
    seats = dict.fromkeys(
        episode.seats.get(ANNOTATOR, "") for episode in reader.episodes(run.id, latest=True)
    )
    names = ["people" if name == PERSON else name for name in seats]
    return names[0] if len(names) == 1 else run.id


def _model(played: Played) -> Model:
    records: Sequence[NliRecord] = played.records
    return Model(
        name=played.name,
        folder=played.name,
        measures=nli_measures(records, [record.id for record in records]),
    )


def _noted(section: Section, played: Played) -> Section:
    """Return the section, with the run, and a word on what is not in it."""
    said = []
    if played.open:
        said.append(f"{played.open} episodes of the run have not ended and are not in these numbers")
    if played.failed:
        said.append(f"{played.failed} episodes were aborted or failed and are not scored")
    return replace(section, files=(f"run {played.run.id}",), remarks=(*section.remarks, *said))


def _generation(played: Played, settings: Settings, examples: Sequence[Example]) -> Section:
    made = generation_section(
        played.records,
        name=played.name,
        parser=settings.parser,
        examples=examples,
        variants=settings.variants,
    )
    return _noted(made, played)


def _true_false(played: Played, settings: Settings, examples: Sequence[Example]) -> Section:
    return _noted(true_false_section(played.records, name=played.name), played)


def _continuation(played: Played, settings: Settings, examples: Sequence[Example]) -> Section:
    made = continuation_section(
        played.records, name=played.name, examples=tested_examples(examples), every=examples
    )
    return _noted(made, played)


def _crowd(played: Played, settings: Settings, examples: Sequence[Example]) -> Section:
    records: Sequence[CrowdRecord] = played.records
    held = {record.id for record in records}
    votes = [id for id in settings.votes if id == "all" or id in held]
    known = {example.id: example for example in examples}
    tables = {"table_1": table_1(records, votes, known)} if votes else {}
    return _noted(crowd_section(records, name=played.name, tie=settings.tie, tables=tables), played)


def _evaluation(played: Played, settings: Settings, examples: Sequence[Example]) -> Section:
    return _noted(evaluation_section(played.records, name=played.name, tie=settings.tie), played)


def _linguists(played: Played, settings: Settings, examples: Sequence[Example]) -> Section:
    finals = {example.id: example.labels for example in examples if example.labels}
    return _noted(linguists_section(played.records, finals, name=played.name), played)


def _claims(played: Played, settings: Settings, examples: Sequence[Example]) -> Section:
    return _noted(claims_section(played.records, name=played.name), played)


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
