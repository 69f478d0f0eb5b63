"""Files in, sections and groups out: every kind of file is told by its content (spec 2, 9, 10, 13)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from simulator import datasets
from simulator.ambik.data import BUILTIN, Loaded, load_scenarios, read_pairs
from simulator.ambik.files.decisions import DecisionLine, read_decisions, with_items
from simulator.ambik.files.kinds import (
    DECISIONS,
    KNOWNO,
    LOGPROBS,
    METRIC_CASES,
    PAIRS,
    RESULT_TABLE,
    Contents,
    Kind,
    files_of,
    kind_of,
)
from simulator.ambik.files.merging import merge
from simulator.ambik.items import PairItem
from simulator.ambik.pairs import Pair, Scenario
from simulator.ambik.reporting.file_sections import (
    cases_section,
    pairs_section,
    results_section,
    scenarios_section,
)
from simulator.ambik.reporting.logprobs_section import logprobs_section
from simulator.ambik.reporting.section import Section, named_apart
from simulator.ambik.reporting.sources import Found, from_lines
from simulator.ambik.reporting.switches import NONE, Switches
from simulator.ambik.rows import BENCHMARK
from simulator.errors import InputError
from trees.faults import Fault

_SUFFIXES: Final = (".csv", ".tsv", ".json", ".jsonl")


@dataclass(slots=True)
class Scored:
    """What files hold.

    Attributes:
        sections: of files that are no decisions, in the order of their kinds.
        found: groups of decisions.
        faults: of rows that were left out; warnings among them.
        unreadable: files that could not be read at all, with the reason.
        passed_over: files in folders that are none of AmbiK's.
        any: whether anything was read.
    """

    sections: list[Section] = field(default_factory=list)
    found: Found = field(default_factory=Found)
    faults: list[Fault] = field(default_factory=list)
    unreadable: list[str] = field(default_factory=list)
    passed_over: list[Path] = field(default_factory=list)

    @property
    def empty(self) -> bool:
        """Whether nothing could be read."""
        return not self.sections and not self.found.groups and not self.found.remarks


def score_files(
    paths: Sequence[Path],
    *,
    calibration: Sequence[Path] = (),
    data: str | None = None,
    switches: Switches = NONE,
) -> Scored:
    """Everything that files and folders hold.

    Args:
        paths: files, and folders that are looked through.
        calibration: files of decisions on calibration items.
        data: what decisions without texts are of, a name or a path; None: pairs among the files, those that
            the lines name, or those registered as ``ambik``.
        switches: over the settings of runs.

    Raises:
        InputError: if a calibration file cannot be read, or data do not exist.
    """
    scored = Scored()
    held = _read(paths, scored)
    if PAIRS.name in held:
        merged = merge([one for one in held[PAIRS.name].values() if hasattr(one, "pairs")])  # type: ignore[misc]
        loaded = Loaded(tuple(merged.pairs.values()), merged.faults, merged.report)
        scored.faults += [one for one in merged.faults if one not in scored.faults]
        scored.sections.append(pairs_section(loaded, tuple(map(str, held[PAIRS.name]))))
    for kind, make in _MAKERS.items():
        for file, contents in held.get(kind, {}).items():
            try:
                scored.sections.append(make(contents, str(file), switches))
            except InputError as error:
                scored.unreadable.append(str(error))
    if DECISIONS.name in held or calibration:
        _decisions(held, calibration, data, scored)
    scored.sections = list(named_apart(scored.sections))
    return scored


_MAKERS: Final[Mapping[str, Any]] = {
    KNOWNO.name: lambda read, file, switches: scenarios_section(read, file),
    METRIC_CASES.name: lambda read, file, switches: cases_section(read, file, switches.given.get("metrics")),
    LOGPROBS.name: lambda read, file, switches: logprobs_section(
        read.rows, file, left_out=len(read.faults), switches=switches
    ),
    RESULT_TABLE.name: lambda read, file, switches: results_section(read, file),
}
Held = dict[str, dict[Path, Contents]]


def _read(paths: Iterable[Path], scored: Scored) -> Held:
    """The files of AmbiK among paths and in folders, by kind; what is wrong with them goes to `scored`."""
    held: Held = {}
    for path in dict.fromkeys(paths):
        for file, kind in _kinds(path, scored):
            if file in held.get(kind.name, {}):
                continue
            try:
                contents = kind.read(file)
            except InputError as error:
                scored.unreadable.append(str(error))
                continue
            scored.faults += contents.faults
            if contents.rows:
                held.setdefault(kind.name, {})[file] = contents
            else:
                scored.unreadable.append(f"{file}: no row of it can be read")
    return held


def _kinds(path: Path, scored: Scored) -> Iterator[tuple[Path, Kind]]:
    if not path.exists():
        scored.unreadable.append(f"{path}: there is no such file or folder")
    elif path.is_file():
        kind = kind_of(path)
        if kind is not None:
            yield path, kind
        else:
            scored.unreadable.append(f"{path}: {_why(path)}")
    else:
        held = files_of(path)
        yield from held.items()
        others = (file for file in sorted(path.rglob("*")) if file.suffix.lower() in _SUFFIXES)
        scored.passed_over += [file for file in others if file.is_file() and file not in held]
        if not held:
            scored.unreadable.append(f"{path}: holds no file of AmbiK's")


def _why(path: Path) -> str:
    try:
        with path.open("rb") as opened:
            return "is none of AmbiK's files" if opened.read(1) else "is empty"
    except OSError as error:
        return f"cannot be read ({error.strerror})"


def _decisions(held: Held, calibration: Sequence[Path], data: str | None, scored: Scored) -> None:
    lines = [one for contents in held.get(DECISIONS.name, {}).values() for one in contents.rows]
    others: list[DecisionLine] = []
    for file in calibration:
        read = read_decisions(file)
        if not read.rows:
            raise InputError(f"--calibration {file}: no row of it can be read")
        scored.faults += [one for one in read.faults if one not in scored.faults]
        others += read.rows
    pairs, scenarios = texts_of([*lines, *others], held, data)
    # A file may be named both ways: then it holds calibration rows alone.
    taken = {one.key for one in others}
    tests = [one for one in lines if one.key not in taken]
    scored.found = from_lines(with_items(tests, pairs, scenarios), with_items(others, pairs, scenarios))


def texts_of(
    lines: Sequence[DecisionLine], held: Held, data: str | None
) -> tuple[Mapping[str, Pair], Mapping[str, Scenario]]:
    """Pairs and scenarios by id, as far as lines lack them.

    Args:
        lines: of decisions.
        held: the files beside them, by kind.
        data: a name or a path; None: of those files, the data that the lines name, or those registered.

    Raises:
        InputError: if `data` do not exist.
    """
    lacking = [one.decision.item for one in lines if not one.known]
    pairs: dict[str, Pair] = {}
    scenarios: dict[str, Scenario] = {}
    if any(isinstance(one, PairItem) for one in lacking):
        given = [row for contents in held.get(PAIRS.name, {}).values() for row in contents.rows]
        name = data or (None if given else _named(lines))
        pairs = {one.id: one for one in (given if name is None else read_pairs(name).pairs)}
    if any(not isinstance(one, PairItem) for one in lacking):
        rows = [row for contents in held.get(KNOWNO.name, {}).values() for row in contents.rows]
        scenarios = {one.id: one for one in (load_scenarios(data) if data else rows)}
    return pairs, scenarios


def _named(lines: Iterable[DecisionLine]) -> str | None:
    """The data that lines name, if they are at hand: the built-in ones, or those registered."""
    if all(one.version == BUILTIN for one in lines):
        return BUILTIN
    dataset = datasets.find(BENCHMARK)
    return BENCHMARK if dataset is not None and dataset.benchmark == BENCHMARK else None
