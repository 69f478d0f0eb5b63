"""Files in, sections and groups out: every kind of file is told by its content (spec 2, 9, 10, 13)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from simulator import datasets
from simulator.ambik.data import BUILTIN, load_scenarios, read_pairs
from simulator.ambik.files.decisions import DecisionLine, with_items
from simulator.ambik.files.kinds import DECISIONS, KNOWNO, LOGPROBS, METRIC_CASES, PAIRS, RESULT_TABLE, TABLES
from simulator.ambik.files.load_report import merge
from simulator.ambik.files.pairs import PairsFile
from simulator.ambik.items import BENCHMARK, Pair, PairItem, Scenario
from simulator.ambik.reporting.file_sections import (
    cases_section,
    logprobs_section,
    pairs_section,
    results_section,
    scenarios_section,
)
from simulator.ambik.reporting.groups import Material, from_lines
from simulator.ambik.reporting.results import ReportSettings
from simulator.duplicates import CODE, left_out, repeats_statement
from simulator.errors import InputError
from simulator.reporting import Problems, Section
from simulator.tables.spec import Contents, TableSpec
from trees.faults import Fault

Held = dict[str, dict[Path, Contents]]
"""Contents of files, by the name of their kind."""
_SECTIONS: Final[Mapping[str, Any]] = {
    KNOWNO.name: lambda read, file, switches: scenarios_section(read, file),
    METRIC_CASES.name: lambda read, file, switches: cases_section(read, file, switches.get("metrics")),
    LOGPROBS.name: lambda read, file, switches: logprobs_section(
        read.rows, file, left_out=left_out(read.faults), switches=switches
    ),
    RESULT_TABLE.name: lambda read, file, switches: results_section(read, file),
}


def score_files(
    paths: Iterable[Path], problems: Problems, settings: ReportSettings
) -> tuple[Sequence[Section], Material]:
    """Return sections of files that are no decisions, by their kinds, and groups of decisions."""
    sections: list[Section] = []
    read = TABLES.read_all(paths, problems, settings.duplicates, owner="AmbiK")
    held = {
        kind: {file: contents for file, contents in files.items() if contents.rows}
        for kind, files in read.items()
    }
    material = Material()
    if files := held.get(PAIRS.name):
        loaded = merge([file for file in files.values() if isinstance(file, PairsFile)])
        problems.faults += [fault for fault in loaded.faults if fault not in problems.faults]
        sections.append(pairs_section(loaded, tuple(map(str, files))))
    for kind, make in _SECTIONS.items():
        for file, contents in held.get(kind, {}).items():
            try:
                sections.append(make(contents, str(file), settings.switches))
            except InputError as error:
                problems.unreadable.append(str(error))
    if held.get(DECISIONS.name) or settings.calibration:
        material = _decisions(held, settings, problems)
    repeated = [fault for fault in problems.faults if isinstance(fault, Fault) and fault.code == CODE]
    if repeated:
        material.remarks.append(repeats_statement(repeated))
    return sections, material


def _decisions(held: Held, settings: ReportSettings, problems: Problems) -> Material:
    calibrating: list[DecisionLine] = []
    for file in settings.calibration:
        read = DECISIONS.read(file, settings.duplicates)
        if not read.rows:
            raise InputError(f"--calibration {file}: no row of it can be read")
        problems.faults += [fault for fault in read.faults if fault not in problems.faults]
        calibrating += read.rows
    lines = _rows(held, DECISIONS)
    texts = texts_of([*lines, *calibrating], held, settings.data)
    # A file may be named both ways: then it holds calibration rows alone.
    taken = {line.key for line in calibrating}
    tests = [line for line in lines if line.key not in taken]
    return from_lines(with_items(tests, *texts), with_items(calibrating, *texts))


def texts_of(
    lines: Sequence[DecisionLine], held: Held, data: str | None
) -> tuple[Mapping[str, Pair], Mapping[str, Scenario]]:
    """Return pairs and scenarios by id, as far as lines lack them.

    `data`: a name or a path; None: of those files, the data that the lines name, or those registered.
    """
    kinds = {type(line.decision.item) for line in lines if not line.known}
    pairs: Sequence[Pair] = ()
    scenarios: Sequence[Scenario] = ()
    if PairItem in kinds:
        beside: list[Pair] = _rows(held, PAIRS)
        name = data or (None if beside else _named_data(lines))
        pairs = beside if name is None else read_pairs(name).pairs
    if kinds - {PairItem}:
        scenarios = load_scenarios(data) if data else _rows(held, KNOWNO)
    return {pair.id: pair for pair in pairs}, {scenario.id: scenario for scenario in scenarios}


def _rows(held: Held, kind: TableSpec[Any]) -> list[Any]:
    return [row for contents in held.get(kind.name, {}).values() for row in contents.rows]


def _named_data(lines: Iterable[DecisionLine]) -> str | None:
    """Return the data that lines name, if they are at hand: the built-in ones, or those registered."""
    if all(line.fields.dataset_version == BUILTIN for line in lines):
        return BUILTIN
    dataset = datasets.find(BENCHMARK)
    return BENCHMARK if dataset is not None and dataset.benchmark == BENCHMARK else None
