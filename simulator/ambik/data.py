"""AmbiK's pairs, KnowNo's scenarios and drafts: built in, registered, or files of them (spec 2, 9, 11)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple, TypeVar, get_args

import yaml

from simulator import datasets
from simulator.ambik.files.drafts import read_drafts
from simulator.ambik.files.kinds import KNOWNO, LOGPROBS, PAIRS, files_of
from simulator.ambik.files.knowno import read_knowno
from simulator.ambik.files.load_report import LoadReport, load_report
from simulator.ambik.files.logprobs import Logprobs, read_logprobs
from simulator.ambik.files.merging import merge
from simulator.ambik.files.pairs import as_file, looks_like_pairs, read_pairs_file
from simulator.ambik.files.table import header_of
from simulator.ambik.files.versions import KINDS, kind_of_pair, part_of
from simulator.ambik.pairs import Draft, Pair, Scenario
from simulator.ambik.rows import (
    BENCHMARK,
    read_draft_record,
    read_pair_record,
    read_scenario_record,
)
from simulator.ambik.terms import AMBIGUITIES, PARTS, Ambiguity
from simulator.errors import InputError
from simulator.jsonlines import FieldError, Read, Row
from trees.faults import Fault

BUILTIN: Final = "builtin"
FOLDER: Final = Path(__file__).parent / "builtin"
Which = Literal["all", "calibration", "test", "released", "added"]
"""Parts of pairs: what they serve, and whether they are of the paper's kind or as those added in 2025."""
T = TypeVar("T")
# Ten times as fast where PyYAML comes with libyaml.
_LOADER: Final[Any] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class Loaded(NamedTuple):
    """Pairs, what is wrong with the rows that are not among them, and what is odd about all of them."""

    pairs: tuple[Pair, ...]
    faults: tuple[Fault, ...]
    report: LoadReport


@dataclass(frozen=True, slots=True)
class Step:
    """A step of an annotator's work: which fields of the form it is about, and its rules in words."""

    id: str
    fields: tuple[str, ...]
    text: str


@dataclass(frozen=True, slots=True)
class Definition:
    """What a type of ambiguity is, for people."""

    name: str
    definition: str
    example: str


@dataclass(frozen=True, slots=True)
class Guidelines:
    """What people are told, in one language (spec 1, 11.1).

    Attributes:
        steps: of an annotator's work, in order.
        type_test: how an annotator tells the types apart.
        types: by type, in the order of `terms.AMBIGUITIES`.
        robot: points for a person in the robot's seat.
        user: points for a person in the user's seat.
    """

    steps: tuple[Step, ...]
    type_test: str
    types: Mapping[Ambiguity, Definition]
    robot: tuple[str, ...]
    user: tuple[str, ...]


def load_pairs(data: str | Path = BUILTIN, part: Which = "all") -> tuple[Pair, ...]:
    """The pairs of data, or of one part of them, in the order of their files.

    Args:
        data: ``builtin``, the name of registered data, or a file or folder. A folder's files hold parts of
            one set of pairs.
        part: rows that say which member to take (``take_amb``) are for calibration, the others for tests;
            ``added`` are those with neither indirect wording nor variants, ``released`` the others.

    Raises:
        InputError: if the data do not exist, have nothing of that part, or any row of them is faulty.
    """
    found = read_pairs(data, part)
    refuse(found.faults)
    return found.pairs


def read_pairs(data: str | Path = BUILTIN, part: Which = "all") -> Loaded:
    """Like `load_pairs`, but with the good rows of faulty data, the faults, and the report on all of it.

    Raises:
        InputError: if the data do not exist, or have nothing of that part.
    """
    if part not in get_args(Which):
        raise InputError(f"part {part!r}: must be one of {', '.join(get_args(Which))}")
    held = _pairs_of(data)
    pairs = tuple(pair for pair in held.pairs if part in ("all", part_of(pair), kind_of_pair(pair)))
    if part in KINDS and not pairs and not held.faults:
        raise InputError(
            f"data {str(data)!r} have no {part} pairs; those added in 2025 have neither unambiguous_indirect "
            "nor variants, released ones have"
        )
    if not pairs and (held.pairs or not held.faults):
        wanted = "" if part == "all" else f" for {part}"
        raise InputError(
            f"data {str(data)!r} have no pairs{wanted}; those with 0 or 1 in the column take_amb are for "
            "calibration, the others for tests"
        )
    return held._replace(pairs=pairs)


def refuse(faults: tuple[Fault, ...]) -> None:
    """Tell the first fault, and how many more there are.

    Raises:
        InputError: if there is one.
    """
    if faults:
        more = f" (and {len(faults) - 1} more: run `askback check` on it)" if len(faults) > 1 else ""
        raise InputError(f"{faults[0]}{more}")


def load_scenarios(data: str | Path = BUILTIN) -> tuple[Scenario, ...]:
    """KnowNo's scenarios, in the order of their files.

    Raises:
        InputError: if the data do not exist or hold none, or any row of them is faulty.
    """
    if data == BUILTIN:
        return _builtin_scenarios()
    path = datasets.locate(data, BENCHMARK, BUILTIN).path
    reads = [read_knowno(file) for file, kind in files_of(path).items() if kind is KNOWNO]
    return _once_each(path, reads, lambda one: one.id, KNOWNO.title)


def load_logprobs(data: str | Path) -> tuple[Logprobs, ...]:
    """The log-probabilities of a published KnowNo run, in the order of its file.

    Raises:
        InputError: if the data do not exist or hold none, or any record of them is faulty.
    """
    path = datasets.locate(data, BENCHMARK, BUILTIN).path
    reads = [read_logprobs(file) for file, kind in files_of(path).items() if kind is LOGPROBS]
    return _once_each(path, reads, lambda one: one.item, LOGPROBS.title)


def load_drafts(data: str | Path = BUILTIN) -> tuple[Draft, ...]:
    """Drafts for annotators; they are built in, or a YAML file like the built-in one, or the same as JSON.

    Raises:
        InputError: if there is no such file, or an entry of it is faulty.
    """
    if data == BUILTIN:
        return _builtin_drafts()
    path = Path(data).expanduser()
    if path.suffix.lower() not in (".json", ".jsonl"):
        return _entries(path, read_draft_record)
    found = read_drafts(path)
    refuse(found.faults)
    return found.rows


@lru_cache
def load_guidelines(language: str = "en") -> Guidelines:
    """What people are told.

    Args:
        language: ``en`` or ``zh``.

    Raises:
        InputError: if it is another.
    """
    if language not in ("en", "zh"):
        raise InputError(f"language {language!r}: guidelines are in en and zh")
    given = _yaml(FOLDER / "guidelines.yaml")
    types = {
        kind: Definition(**{name: given["types"][kind][name][language] for name in _DEFINITION})
        for kind in AMBIGUITIES
    }
    return Guidelines(
        steps=tuple(
            Step(str(step["id"]), tuple(step["fields"]), step["text"][language]) for step in given["steps"]
        ),
        type_test=given["type_test"][language],
        types=types,
        robot=tuple(point[language] for point in given["robot"]),
        user=tuple(point[language] for point in given["user"]),
    )


_DEFINITION: Final = ("name", "definition", "example")


def _pairs_of(data: str | Path) -> Loaded:
    if data == BUILTIN:
        return _builtin_pairs()
    path, fixed = datasets.locate(data, BENCHMARK, BUILTIN)
    return _read_registered(path) if fixed else _read_path(path)


@lru_cache(maxsize=4)
def _read_registered(folder: Path) -> Loaded:
    """Registered folders are named by content and never change, so they are read once."""
    return _read_path(folder)


def _read_path(path: Path) -> Loaded:
    files = [file for file, kind in files_of(path).items() if kind is PAIRS]
    # A file so damaged that it is of no kind tells what it lacks, where it is asked for.
    if not files and path.is_file() and looks_like_pairs(header_of(path)):
        files = [path]
    if not files:
        raise InputError(
            f"{path}: no file of AmbiK's pairs (.csv with the columns ambiguous_task, ambiguity_type, …)"
        )
    merged = merge([read_pairs_file(file) for file in files])
    return Loaded(tuple(merged.pairs.values()), merged.faults, merged.report)


@lru_cache
def _builtin_pairs() -> Loaded:
    pairs = _entries(FOLDER / "pairs.yaml", _builtin_pair)
    report = load_report(as_file(FOLDER / "pairs.yaml", pairs), parts_told=True)
    files = tuple(replace(one, version="builtin", why="") for one in report.files)
    return Loaded(pairs, (), replace(report, files=files))


@lru_cache
def _builtin_scenarios() -> tuple[Scenario, ...]:
    return _entries(FOLDER / "scenarios.yaml", read_scenario_record)


def _builtin_pair(row: Row) -> Pair:
    pair = read_pair_record(row)
    if row.one_of("part", PARTS) != part_of(pair):
        raise row.wrong("part", "does not fit take_amb, which rows for calibration have and others have not")
    return pair


@lru_cache
def _builtin_drafts() -> tuple[Draft, ...]:
    return _entries(FOLDER / "drafts.yaml", read_draft_record)


def _once_each(path: Path, reads: list[Read[T]], key: Callable[[T], str], title: str) -> tuple[T, ...]:
    if not reads:
        raise InputError(f"{path}: no file of {title}")
    refuse(tuple(fault for read in reads for fault in read.faults))
    found: dict[str, T] = {}
    for one in (one for read in reads for one in read.rows):
        if found.setdefault(key(one), one) != one:
            raise InputError(f"{path}: {title}: {key(one)} is in two files, which differ in it")
    return tuple(found.values())


def _entries(path: Path, read: Callable[[Row], T]) -> tuple[T, ...]:
    given = _yaml(path)
    if not isinstance(given, list) or not all(isinstance(one, dict) for one in given):
        raise InputError(f"{path}: is no list of entries with fields")
    found = []
    for entry in given:
        try:
            found.append(read(Row(entry)))
        except FieldError as error:
            raise InputError(f"{path}: entry {entry.get('id', '')}: {error}") from error
    return tuple(found)


def _yaml(path: Path) -> Any:
    try:
        return yaml.load(path.read_text(encoding="utf-8"), Loader=_LOADER)
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror})") from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: is not YAML ({error})") from error
