"""The report: runs of the log and published files side by side, people and models together (spec 12)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from logs import LogReader
from simulator.ambient.annotation.consolidation import Flow, flow
from simulator.ambient.data import read_examples
from simulator.ambient.examples import Example
from simulator.ambient.labels import CATEGORIES
from simulator.ambient.reporting.beside import examples_beside
from simulator.ambient.reporting.figures import label_sets_venn, templates_figure
from simulator.ambient.reporting.measures import Section
from simulator.ambient.reporting.nli_section import nli_results, nli_section
from simulator.ambient.reporting.runs import Played, RunSections, sections_of_runs
from simulator.ambient.reporting.scoring import Scored, named_apart, score_files
from simulator.ambient.reporting.settings import Settings
from simulator.ambient.reporting.tables import Wide, crowd_table, table_4, table_9, table_10
from simulator.errors import InputError
from simulator.figures import Figure, Table, Venn
from simulator.runner.logged import Endings, endings_of_runs, seat_failures


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """What is told of some runs and files.

    Attributes:
        sections: of single runs and files.
        tables: of several side by side, by name, as people read them.
        exact: the same with all digits, where that is another table.
        figures: by name.
        venns: of label sets, one a dataset.
        flows: how far the examples of linguists' runs came, by run.
        played: the runs with what was answered.
        scored: what is wrong with the files.
        runs: their names.
        statuses: how many of their episodes ended how; ``open`` for those that have not, ``erased`` for those
            of people who have withdrawn, which count nowhere else.
        failures: why episodes failed -> how many did, the most frequent first.
        aborted: why seats failed -> how many episodes that aborted; they count as unsuccessful.
        exclude_aborted: whether these are left out instead.
    """

    sections: tuple[Section, ...]
    tables: Mapping[str, Table]
    exact: Mapping[str, Table]
    figures: tuple[Figure, ...]
    venns: tuple[Venn, ...]
    flows: Mapping[str, Flow]
    played: tuple[Played, ...]
    scored: Scored = field(default_factory=Scored)
    runs: tuple[str, ...] = ()
    statuses: Mapping[str, int] = field(default_factory=dict)
    failures: Mapping[str, int] = field(default_factory=dict)
    aborted: Mapping[str, int] = field(default_factory=dict)
    exclude_aborted: bool = False


def report(
    reader: LogReader | None,
    runs: Sequence[str] = (),
    files: Sequence[Path] = (),
    settings: Settings | None = None,
) -> Report:
    """Return the report of some runs and files.

    Args:
        reader: of the log; None if only files are reported.
        runs: names of runs.
        files: files and folders, as `askback score ambient` takes them.
        settings: how everything is scored.

    Raises:
        InputError: if a run is another benchmark's or empty, or data do not exist.
        NotInLog: if there is no such run.
    """
    settings = settings or Settings()
    scored = score_files(files, settings, votes_may_miss=True) if files else Scored()
    examples = examples_beside(settings.data or _played_on(reader, runs), files, scored.datasets)
    of_runs = (
        RunSections() if reader is None or not runs else sections_of_runs(reader, runs, settings, examples)
    )
    sections = [*of_runs.sections, *(one for one in scored.sections if one.kind != "nli")]
    sections += _inference(of_runs, scored, examples)
    found = tuple(named_apart(sections))
    if settings.votes and not any("table_1" in one.tables for one in found):
        raise InputError(f"--votes {settings.votes[0]}: no run or file here has votes on such an example")
    wide = _wide(found)
    tables = {name: one.shown for name, one in wide.items()}
    shares = {
        measure.key: measure
        for section in found
        if section.kind == "categories"
        for measure in section.measures
    }
    if shares:
        tables["table_9"] = table_9({kind: shares[kind] for kind in CATEGORIES if kind in shares})
    figure = templates_figure(found)
    names = tuple(dict.fromkeys(runs))
    endings = Endings({}, {}) if reader is None else endings_of_runs(reader, names)
    return Report(
        sections=found,
        tables=tables,
        exact={name: one.exact for name, one in wide.items()},
        figures=(figure,) if figure else (),
        venns=_venns(found),
        flows={} if reader is None else _flows(reader, of_runs.played),
        played=tuple(of_runs.played),
        scored=scored,
        runs=names,
        statuses=endings.statuses,
        failures=endings.failures,
        aborted={} if reader is None else seat_failures(reader, names),
        exclude_aborted=settings.exclude_aborted,
    )


def _played_on(reader: LogReader | None, runs: Sequence[str]) -> str | None:
    """Return the data of the first run that says so and whose data are still there."""
    for run in runs if reader is not None else ():
        data = reader.run(run).config.get("data") if reader is not None else None
        try:
            if isinstance(data, str) and read_examples(data).examples:
                return data
        except InputError:
            continue
    return None


def _inference(of_runs: RunSections, scored: Scored, examples: Sequence[Example]) -> list[Section]:
    """Runs and files of label sets in one section, for their tables stand beside each other."""
    if not of_runs.models and not scored.nli_places:
        return []
    found = nli_results(scored.nli_places, examples, first=of_runs.models)
    if not found.gold:
        records = next((one.records for one in of_runs.played if one.task == "nli"), ())
        found.gold = tuple(record.gold for record in records)
    files = [f"run {one.run.id}" for one in of_runs.played if one.task == "nli"]
    return [nli_section(found, [*files, *map(str, scored.nli_places)])]


def _wide(sections: Sequence[Section]) -> dict[str, Wide]:
    found = {"table_4": table_4(sections), "table_10": table_10(sections), "crowd": crowd_table(sections)}
    return {name: one for name, one in found.items() if one is not None}


def _venns(sections: Sequence[Section]) -> tuple[Venn, ...]:
    return tuple(
        label_sets_venn(section.data["label_sets"], section.name)
        for section in sections
        if section.kind == "dataset"
    )


def _flows(reader: LogReader, played: Sequence[Played]) -> dict[str, Flow]:
    runs: dict[str, Any] = {one.run.id: one for one in played if one.task == "annotate"}
    return {run: flow(reader, run) for run in runs}
