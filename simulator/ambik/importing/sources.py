"""Which of some files hold decisions, and what their tasks say (spec 2, 9, 13)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from simulator.ambik.data import load_scenarios
from simulator.ambik.files.decisions import DecisionLine, DecisionsFile, read_decisions, with_items
from simulator.ambik.files.kinds import DECISIONS, KNOWNO, LOGPROBS, METRIC_CASES, PAIRS, RESULT_TABLE, TABLES
from simulator.ambik.files.knowno import decisions_of
from simulator.ambik.importing.batches import Batch, batches_of
from simulator.ambik.items import PairItem
from simulator.ambik.naming import is_not_listed
from simulator.ambik.pairs import Pair
from simulator.ambik.reporting.scoring import texts_of
from simulator.ambik.settings import DEFAULT
from simulator.duplicates import Duplicates
from simulator.errors import InputError
from simulator.tables.importing import file_digest
from simulator.tables.spec import TableSpec
from trees.faults import Fault

_TEXTS: Final = (PAIRS.name, KNOWNO.name)
_SCORED: Final = (RESULT_TABLE, METRIC_CASES)
_DECISIONS: Final = (DECISIONS, LOGPROBS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """A file that holds decisions.

    Attributes:
        path: the file.
        digest: of its content, SHA-256.
        batches: what becomes a run each.
        faults: of lines that are in none.
        forms: lines that are annotators' forms, and are in none.
        bare: decisions on scenarios of which the number alone is known.
    """

    path: Path
    digest: str
    batches: tuple[Batch, ...]
    faults: tuple[Fault, ...]
    forms: int = 0
    bare: int = 0


@dataclass(frozen=True, slots=True)
class Sources:
    """What files and folders hold.

    Attributes:
        files: with decisions.
        unreadable: files that were named and cannot be imported, with the reason.
        passed_over: files in folders that hold something else.
    """

    files: tuple[Source, ...]
    unreadable: tuple[str, ...]
    passed_over: tuple[Path, ...]


def read_sources(
    paths: Sequence[Path], *, data: str | None = None, duplicates: Duplicates = "refuse"
) -> Sources:
    """Return the decisions of files and folders, with the texts of their tasks.

    Args:
        paths: files, and folders that are looked through; pairs and scenarios among them serve texts.
        data: what decisions without texts are of, a name or a path; None: those of `paths`, the data that
            the lines name, or those registered as ``ambik``.
        duplicates: what becomes of lines that a file holds twice.

    Raises:
        InputError: if the data do not exist.
    """
    kinds: dict[Path, TableSpec[Any]] = {}
    unreadable: list[str] = []
    passed_over: list[Path] = []
    for path in dict.fromkeys(paths):
        held, problem = _kinds(path)
        unreadable += problem
        kinds |= held
        if path.is_dir():
            passed_over += [file for file, kind in held.items() if not _is_used(kind)]
    texts = {
        name: {file: kind.read(file) for file, kind in kinds.items() if kind.name == name} for name in _TEXTS
    }
    files: list[Source] = []
    for file, kind in kinds.items():
        if kind not in _DECISIONS:
            continue
        try:
            source = _source(file, kind, texts, data, duplicates)
        except InputError as error:
            unreadable.append(str(error))
            continue
        # The same content under two names is one file.
        if source.digest not in {other.digest for other in files}:
            files.append(source)
    return Sources(tuple(files), tuple(unreadable), tuple(passed_over))


def _is_used(kind: TableSpec[Any]) -> bool:
    return kind in _DECISIONS or kind.name in _TEXTS


def _kinds(path: Path) -> tuple[dict[Path, TableSpec[Any]], list[str]]:
    """Return the files of a path by kind, and why there are none."""
    if not path.exists():
        return {}, [f"{path}: there is no such file or folder"]
    held = TABLES.files_of(path)
    if path.is_dir():
        usable = any(kind in _DECISIONS for kind in held.values())
        return held, [] if usable else [f"{path}: holds no decisions of AmbiK's that could be imported"]
    if path not in held:
        return {}, [f"{path}: is none of AmbiK's files, or empty"]
    kind = held[path]
    if _is_used(kind):
        return held, []
    way = "give it to `askback score ambik`" if kind in _SCORED else "annotate them: `askback study`"
    return {}, [f"{path}: holds {kind.title}, which are no decisions; {way}"]


def _source(
    file: Path, kind: TableSpec[Any], texts: Mapping[str, Any], data: str | None, duplicates: Duplicates
) -> Source:
    lacking: tuple[Fault, ...] = ()
    if kind is LOGPROBS:
        held = _published(file, texts, data, duplicates)
    else:
        held, lacking = _with_texts(file, read_decisions(file, duplicates, details=True), texts, data)
    batches, unasked = batches_of(file, held)
    faults = (*held.faults, *lacking, *unasked)
    if not batches:
        first = f"; the first problem: line {faults[0].line}: {faults[0].message}" if faults else ""
        raise InputError(f"{file}: holds no decision that could be imported{first}")
    return Source(
        path=file,
        digest=file_digest(file),
        batches=batches,
        faults=faults,
        forms=held.forms,
        bare=sum(_is_bare(line) for line in held.rows),
    )


def _is_bare(line: DecisionLine) -> bool:
    item = line.decision.item
    return not isinstance(item, PairItem) and not item.scenario.task


def _published(
    file: Path, texts: Mapping[str, Any], data: str | None, duplicates: Duplicates
) -> DecisionsFile:
    """Return a published run of KnowNo: decisions on calibration scenarios or tests, without sets (spec 9).

    Of scenarios that are not at hand the number alone is told.
    """
    rows = [row for contents in texts[KNOWNO.name].values() for row in contents.rows]
    scenarios = {scenario.id: scenario for scenario in (load_scenarios(data) if data else rows)}
    read = LOGPROBS.read(file, duplicates)
    decisions = decisions_of(read.rows, file.stem, scenarios=scenarios)
    return DecisionsFile(
        rows=tuple(
            DecisionLine(
                decision=decision,
                known=True,
                calibrates=decision.item.part == "calibration",
                settings=replace(DEFAULT, not_listed=any(map(is_not_listed, decision.options.values()))),
                dataset="knowno",
                number=number,
            )
            for decision, number in zip(decisions, read.lines, strict=True)
        ),
        faults=read.faults,
    )


def _with_texts(
    file: Path, held: DecisionsFile, texts: Mapping[str, Any], data: str | None
) -> tuple[DecisionsFile, tuple[Fault, ...]]:
    """Return the lines whose tasks are at hand, and the others as faults."""
    pairs, scenarios = texts_of(held.rows, dict(texts), data)
    lines = with_items(held.rows, pairs, scenarios)
    faults = tuple(
        Fault(str(file), _id(line), line.number, "format", _lacking(line, pairs))
        for line in lines
        if not line.known
    )
    return replace(held, rows=tuple(line for line in lines if line.known)), faults


def _id(line: DecisionLine) -> str:
    item = line.decision.item
    return item.pair.id if isinstance(item, PairItem) else item.scenario.id


def _lacking(line: DecisionLine, pairs: Mapping[str, Pair]) -> str:
    item = line.decision.item
    if isinstance(item, PairItem) and item.pair.id in pairs:
        return (
            f"type is {item.pair.type}, but this pair of the data is of {pairs[item.pair.id].type}; name "
            "other data with --data"
        )
    return "pair_id: the task is not at hand; name the data that it is of with --data"
