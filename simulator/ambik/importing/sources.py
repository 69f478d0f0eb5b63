"""Which of some files hold decisions, and what their tasks say (spec 2, 9, 13)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

from simulator.ambik.data import load_scenarios
from simulator.ambik.files.decisions import with_items
from simulator.ambik.files.kinds import (
    DECISIONS,
    KNOWNO,
    LOGPROBS,
    METRIC_CASES,
    PAIRS,
    RESULT_TABLE,
    Kind,
    files_of,
    kind_of,
)
from simulator.ambik.importing.batches import Batch, batches_of
from simulator.ambik.importing.lines import Lines, Logged, read_log, read_published
from simulator.ambik.items import PairItem
from simulator.ambik.pairs import Pair, Scenario
from simulator.ambik.reporting.scoring import texts_of
from simulator.errors import InputError
from trees.faults import Fault

_TEXTS: Final = (PAIRS.name, KNOWNO.name)
_SCORED: Final = (RESULT_TABLE.name, METRIC_CASES.name)


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


def read_sources(paths: Sequence[Path], *, data: str | None = None) -> Sources:
    """The decisions of files and folders, with the texts of their tasks.

    Args:
        paths: files, and folders that are looked through; pairs and scenarios among them serve texts.
        data: what decisions without texts are of, a name or a path; None: those of `paths`, the data that
            the lines name, or those registered as ``ambik``.

    Raises:
        InputError: if the data do not exist.
    """
    kinds: dict[Path, Kind] = {}
    unreadable: list[str] = []
    passed_over: list[Path] = []
    for path in dict.fromkeys(paths):
        held, problem = _kinds(path)
        unreadable += problem
        kinds |= held
        if path.is_dir():
            passed_over += [file for file, kind in held.items() if not _wanted(kind)]
    texts = {
        name: {file: kind.read(file) for file, kind in kinds.items() if kind.name == name} for name in _TEXTS
    }
    files: list[Source] = []
    for file, kind in kinds.items():
        if kind not in (DECISIONS, LOGPROBS):
            continue
        try:
            found = _source(file, kind, texts, data)
        except InputError as error:
            unreadable.append(str(error))
            continue
        # The same content under two names is one file.
        if found.digest not in {one.digest for one in files}:
            files.append(found)
    return Sources(tuple(files), tuple(unreadable), tuple(passed_over))


def _wanted(kind: Kind) -> bool:
    return kind in (DECISIONS, LOGPROBS) or kind.name in _TEXTS


def _kinds(path: Path) -> tuple[dict[Path, Kind], list[str]]:
    """The files of a path by kind, and why there are none."""
    if not path.exists():
        return {}, [f"{path}: there is no such file or folder"]
    if path.is_dir():
        held = files_of(path)
        some = any(kind in (DECISIONS, LOGPROBS) for kind in held.values())
        return held, [] if some else [f"{path}: holds no decisions of AmbiK's that could be imported"]
    kind = kind_of(path)
    if kind is None:
        return {}, [f"{path}: is none of AmbiK's files, or empty"]
    if _wanted(kind):
        return {path: kind}, []
    way = "give it to `askback score ambik`" if kind.name in _SCORED else "annotate them: `askback study`"
    return {}, [f"{path}: holds {kind.title}, which are no decisions; {way}"]


def _source(file: Path, kind: Kind, texts: Mapping[str, Any], data: str | None) -> Source:
    if kind is LOGPROBS:
        lines = read_published(file, _scenarios(texts, data))
        faults: tuple[Fault, ...] = ()
    else:
        lines, faults = _with_texts(file, read_log(file), texts, data)
    batches, unasked = batches_of(file, lines)
    found = (*lines.faults, *faults, *unasked)
    if not batches:
        raise InputError(f"{file}: holds no decision that could be imported{_first(found)}")
    return Source(
        path=file,
        digest=sha256(file.read_bytes()).hexdigest(),
        batches=batches,
        faults=found,
        forms=lines.forms,
        bare=sum(_is_bare(one) for one in lines.decisions),
    )


def _is_bare(one: Logged) -> bool:
    item = one.line.decision.item
    return not isinstance(item, PairItem) and not item.scenario.task


def _scenarios(texts: Mapping[str, Any], data: str | None) -> Mapping[str, Scenario]:
    read = [row for contents in texts[KNOWNO.name].values() for row in contents.rows]
    return {one.id: one for one in (load_scenarios(data) if data else read)}


def _with_texts(
    file: Path, lines: Lines, texts: Mapping[str, Any], data: str | None
) -> tuple[Lines, tuple[Fault, ...]]:
    """The lines whose tasks are at hand, and the others as faults."""
    every = [one.line for one in lines.decisions]
    pairs, scenarios = texts_of(every, dict(texts), data)
    known = with_items(every, pairs, scenarios)
    whole = tuple(
        replace(one, line=line) for one, line in zip(lines.decisions, known, strict=True) if line.known
    )
    lacking = [one for one, line in zip(lines.decisions, known, strict=True) if not line.known]
    faults = tuple(Fault(str(file), _id(one), one.number, "format", _lacking(one, pairs)) for one in lacking)
    return replace(lines, decisions=whole), faults


def _id(one: Logged) -> str:
    item = one.line.decision.item
    return item.pair.id if isinstance(item, PairItem) else item.scenario.id


def _lacking(one: Logged, pairs: Mapping[str, Pair]) -> str:
    item = one.line.decision.item
    if isinstance(item, PairItem) and item.pair.id in pairs:
        told = pairs[item.pair.id].type
        return (
            f"type is {item.pair.type}, but this pair of the data is of {told}; name other data with --data"
        )
    return "pair_id: the task is not at hand; name the data that it is of with --data"


def _first(faults: Iterable[Fault]) -> str:
    for one in faults:
        return f"; the first problem: line {one.line}: {one.message}"
    return ""
