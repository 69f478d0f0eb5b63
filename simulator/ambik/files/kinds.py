"""Which of AmbiK's files a file is, told by its columns or the fields of its first records (spec 2, 9)."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, Final, Protocol

from simulator.ambik.files.decisions import is_decision, read_decisions
from simulator.ambik.files.drafts import is_draft, read_drafts
from simulator.ambik.files.knowno import is_knowno, read_knowno
from simulator.ambik.files.logprobs import is_logprobs, read_logprobs
from simulator.ambik.files.metric_cases import is_metric_case, read_metric_cases
from simulator.ambik.files.pairs import is_pairs, read_pairs_file
from simulator.ambik.files.result_table import is_result_table, read_result_table
from simulator.ambik.files.table import header_of
from trees.faults import Fault

_ROWS: Final = 200
_HEAD: Final = 1 << 20
_BOM: Final = b"\xef\xbb\xbf"


class Contents(Protocol):
    """What is in a file: its good rows, and what is wrong with the others."""

    @property
    def rows(self) -> Sequence[Any]:
        """The good ones, in the file's order."""

    @property
    def faults(self) -> tuple[Fault, ...]:
        """One for each of the others."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """A kind of file.

    Attributes:
        name: short.
        title: what such files hold, in words.
        read: what is in one, with a fault for each row that is not good.
        columns: whether the header of a CSV file is that of such a file; None if they are not CSV.
        record: whether an object of a JSON file is of such a file; None if they are not JSON.
    """

    name: str
    title: str
    read: Callable[[Path], Contents]
    columns: Callable[[Iterable[str]], bool] | None = None
    record: Callable[[Mapping[str, Any]], bool] | None = None


PAIRS: Final = Kind(name="pairs", title="pairs of tasks", read=read_pairs_file, columns=is_pairs)
KNOWNO: Final = Kind(name="knowno", title="KnowNo scenarios", read=read_knowno, columns=is_knowno)
LOGPROBS: Final = Kind(
    name="logprobs", title="log-probabilities of a KnowNo run", read=read_logprobs, record=is_logprobs
)
METRIC_CASES: Final = Kind(
    name="metric_cases", title="cases of metrics", read=read_metric_cases, record=is_metric_case
)
RESULT_TABLE: Final = Kind(
    name="result_table", title="results of methods", read=read_result_table, columns=is_result_table
)
DECISIONS: Final = Kind(name="decisions", title="logs of decisions", read=read_decisions, record=is_decision)
DRAFTS: Final = Kind(name="drafts", title="drafts of pairs", read=read_drafts, record=is_draft)
KINDS: Final[tuple[Kind, ...]] = (PAIRS, KNOWNO, LOGPROBS, METRIC_CASES, RESULT_TABLE, DECISIONS, DRAFTS)
"""A file is of the first that fits."""


def is_csv(path: Path) -> bool:
    """Whether a file is a table of cells by its name."""
    return path.suffix.lower() in (".csv", ".tsv")


def kind_of(path: Path) -> Kind | None:
    """What a file is; None if it is none of AmbiK's, or cannot be read."""
    if is_csv(path):
        header = header_of(path)
        return next((kind for kind in KINDS if kind.columns is not None and kind.columns(header)), None)
    if path.suffix.lower() not in (".json", ".jsonl"):
        return None
    # One record that lacks a field tells nothing.
    rows = tuple(islice(_records(path), _ROWS))
    fits = ((kind, sum(map(kind.record, rows))) for kind in KINDS if kind.record is not None)
    best, count = max(fits, key=lambda one: one[1])
    return best if count else None


def files_of(path: Path) -> dict[Path, Kind]:
    """The files of AmbiK in a folder and the folders below, sorted; a file itself if it is one."""
    kinds = ((file, kind_of(file)) for file in _below(path))
    return {file: kind for file, kind in kinds if kind is not None}


def _below(path: Path) -> tuple[Path, ...]:
    if path.is_file():
        return (path,)
    below = (file for file in path.rglob("*") if not _hidden(file.relative_to(path)))
    return tuple(sorted(file for file in below if file.is_file()))


def _hidden(path: Path) -> bool:
    return any(part.startswith(".") or part == "__MACOSX" for part in path.parts)


def _records(path: Path) -> Iterator[Mapping[str, Any]]:
    """The first objects of JSON lines, or of a JSON list; what is no object is passed over."""
    try:
        with path.open("rb") as file:
            text = file.read(_HEAD).removeprefix(_BOM).decode("utf-8", "ignore").strip()
    except OSError:
        return
    if text.startswith("["):
        yield from _elements(text)
        return
    yield from _enclosed(text)
    for line in text.split("\n"):
        try:
            value = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(value, dict):
            yield value


def _enclosed(text: str) -> Iterator[Mapping[str, Any]]:
    """The objects in one object that is the whole file: such a file is none, but can be told what to be."""
    try:
        whole = json.loads(text)
    except (ValueError, RecursionError):
        return
    if isinstance(whole, dict) and "\n" in text:
        yield whole
    values = whole.values() if isinstance(whole, dict) else ()
    for value in values:
        within = value if isinstance(value, list) else [value]
        yield from (one for one in within if isinstance(one, dict))


def _elements(text: str) -> Iterator[Mapping[str, Any]]:
    """The objects of a list of which the end may be missing."""
    decoder = json.JSONDecoder()
    place = 1
    while (place := text.find("{", place)) >= 0:
        try:
            value, place = decoder.raw_decode(text, place)
        except (ValueError, RecursionError):
            return
        yield value
