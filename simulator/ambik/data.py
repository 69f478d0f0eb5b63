"""Loaders of AmbiK pairs, KnowNo scenarios and drafts: built in, registered, or from files (spec 2, 9, 11).

A file's kind is recognized by its columns, or by the fields of its first records (`TABLES`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Final, Literal, TypeVar, get_args

from pydantic import BaseModel

from simulator import datasets
from simulator.ambik.files.decisions import DecisionLine, is_decision, read_decisions
from simulator.ambik.files.load_report import LoadedPairs, load_report, merge
from simulator.ambik.files.pairs import (
    KINDS,
    PairsFile,
    as_file,
    is_pairs,
    kind_of_pair,
    looks_like_pairs,
    part_of,
    read_pairs_file,
)
from simulator.ambik.files.published import (
    Logprobs,
    MetricCase,
    ResultRow,
    is_knowno,
    is_metric_case,
    is_result_table,
    read_knowno,
    read_logprobs_record,
    read_metric_case,
    read_result_table,
)
from simulator.ambik.items import (
    BENCHMARK,
    Draft,
    Pair,
    Scenario,
    read_draft_record,
    read_pair_record,
    read_scenario_record,
)
from simulator.ambik.terms import PARTS, Ambiguity
from simulator.errors import InputError
from simulator.jsonlines import Row
from simulator.tables.builtin import read_list, read_texts
from simulator.tables.registering import Registration
from simulator.tables.spec import Tables, TableSpec, has
from trees.faults import Fault, first_and_more

# ---- kinds of files

PAIRS: Final = TableSpec[Pair](
    name="pairs", title="pairs of tasks", matches=is_pairs, csv=True, reader=read_pairs_file, repeats=False
)
KNOWNO: Final = TableSpec[Scenario](
    name="knowno", title="KnowNo scenarios", matches=is_knowno, csv=True, reader=read_knowno, repeats=False
)
LOGPROBS: Final = TableSpec[Logprobs](
    name="logprobs",
    title="log-probabilities of a KnowNo run",
    matches=has("options", "true_options", "top_tokens", "top_logprobs"),
    parse=read_logprobs_record,
    key=lambda record: (record.item, ""),
    id="item",
)
METRIC_CASES: Final = TableSpec[MetricCase](
    name="metric_cases",
    title="metric cases",
    matches=is_metric_case,
    parse=read_metric_case,
    key=lambda case: (case.id, ""),
    repeats=False,
)
RESULT_TABLE: Final = TableSpec[ResultRow](
    name="result_table",
    title="results of methods",
    matches=is_result_table,
    csv=True,
    reader=read_result_table,
    repeats=False,
)
DECISIONS: Final = TableSpec[DecisionLine](
    name="decisions", title="logs of decisions", matches=is_decision, reader=read_decisions
)
DRAFTS: Final = TableSpec[Draft](
    name="drafts",
    title="drafts of pairs",
    matches=has("clear", "candidates", "objects"),
    parse=read_draft_record,
    key=lambda draft: (draft.id, ""),
    repeats=False,
)


def _pairs_faults(files: Mapping[Path, PairsFile]) -> tuple[Fault, ...]:
    merged = merge(list(files.values()))
    return (*merged.faults, *merged.report.warnings)


TABLES: Final = Tables(
    title="AmbiK's pairs, drafts, KnowNo scenarios and runs (.csv, .json or .jsonl, known by their columns)",
    specs=(PAIRS, KNOWNO, LOGPROBS, METRIC_CASES, RESULT_TABLE, DECISIONS, DRAFTS),
    main=PAIRS,
    looks_main=looks_like_pairs,
    check_main=_pairs_faults,
)


# ---- data by name

BUILTIN: Final = "builtin"
FOLDER: Final = Path(__file__).parent / "builtin"
Which = Literal["all", "calibration", "test", "released", "added"]
"""A subset of the pairs: by purpose, or by release (the paper's, or the pairs added in 2025)."""
T = TypeVar("T")


class Step(BaseModel, frozen=True):
    """A step of an annotator's work: the form fields that it covers, and its rules in words."""

    id: str
    fields: tuple[str, ...]
    text: str


class Definition(BaseModel, frozen=True):
    """The definition of an ambiguity type, for people."""

    name: str
    definition: str
    example: str


class Guidelines(BaseModel, frozen=True):
    """The guidelines for people, in one language (spec 1, 11.1).

    `type_test`: how an annotator distinguishes the types; `types`: definitions by type, in the order of
    `terms.AMBIGUITIES`.
    """

    steps: tuple[Step, ...]
    type_test: str
    types: Mapping[Ambiguity, Definition]
    robot: tuple[str, ...]
    user: tuple[str, ...]


def load_pairs(data: str | Path = BUILTIN, part: Which = "all") -> tuple[Pair, ...]:
    """Return the pairs of a data set, or of one part of it, in the order of its files.

    Args:
        data: ``builtin``, the name of registered data, or a file or folder. The files of a folder are parts
            of one set of pairs.
        part: pairs that name the member to use (``take_amb``) are for calibration, the others for tests;
            ``added`` are pairs with neither indirect wording nor variants, ``released`` the others.

    Raises:
        InputError: if the data do not exist, have no pairs of that part, or contain a faulty row.
    """
    loaded = read_pairs(data, part)
    raise_first(loaded.faults)
    return loaded.pairs


def read_pairs(data: str | Path = BUILTIN, part: Which = "all") -> LoadedPairs:
    """Load pairs like `load_pairs`, but return the good rows, the faults and a report instead of raising.

    Raises:
        InputError: if the data do not exist, or have no pairs of that part.
    """
    if part not in get_args(Which):
        raise InputError(f"part {part!r}: must be one of {', '.join(get_args(Which))}")
    if data == BUILTIN:
        loaded = _builtin_pairs()
    else:
        path, fixed = datasets.locate(data, BENCHMARK, BUILTIN)
        # A registered folder is named by its content and never changes, so it is read only once.
        loaded = _read_registered(path) if fixed else _read_path(path)
    pairs = tuple(pair for pair in loaded.pairs if part in ("all", part_of(pair), kind_of_pair(pair)))
    if part in KINDS and not pairs and not loaded.faults:
        raise InputError(
            f"data {str(data)!r} have no {part} pairs; those added in 2025 have neither unambiguous_indirect "
            "nor variants, released ones have"
        )
    if not pairs and (loaded.pairs or not loaded.faults):
        asked = "" if part == "all" else f" for {part}"
        raise InputError(
            f"data {str(data)!r} have no pairs{asked}; those with 0 or 1 in the column take_amb are for "
            "calibration, the others for tests"
        )
    return loaded._replace(pairs=pairs)


def raise_first(faults: tuple[Fault, ...]) -> None:
    """Raise the first fault, if any, with the number of further ones.

    Raises:
        InputError: if there is a fault.
    """
    if faults:
        raise InputError(first_and_more(faults))


def load_scenarios(data: str | Path = BUILTIN) -> tuple[Scenario, ...]:
    """Return KnowNo's scenarios, in the order of their files.

    Raises:
        InputError: if the data do not exist, contain no scenarios, or have a faulty row.
    """
    if data == BUILTIN:
        return _builtin("scenarios", read_scenario_record)
    path = datasets.locate(data, BENCHMARK, BUILTIN).path
    reads = [KNOWNO.read(file) for file, kind in TABLES.files_of(path).items() if kind is KNOWNO]
    if not reads:
        raise InputError(f"{path}: no file of {KNOWNO.title}")
    raise_first(tuple(fault for read in reads for fault in read.faults))
    scenarios: dict[str, Scenario] = {}
    for scenario in (scenario for read in reads for scenario in read.rows):
        # The same scenario may be in two files.
        if scenarios.setdefault(scenario.id, scenario) != scenario:
            raise InputError(f"{path}: {KNOWNO.title}: {scenario.id} is in two files with different content")
    return tuple(scenarios.values())


def load_drafts(data: str | Path = BUILTIN) -> tuple[Draft, ...]:
    """Return drafts for annotators: built in, or from a YAML or JSON file of the same structure.

    Raises:
        InputError: if the file does not exist or an entry is faulty.
    """
    if data == BUILTIN:
        return _builtin("drafts", read_draft_record)
    path = Path(data).expanduser()
    if path.suffix.lower() not in (".json", ".jsonl"):
        return read_list(path, read_draft_record)
    read = DRAFTS.read(path)
    raise_first(read.faults)
    return read.rows


@lru_cache
def load_guidelines(language: str = "en") -> Guidelines:
    """Return the guidelines for people."""
    return Guidelines.model_validate(read_texts(FOLDER / "guidelines.yaml", language))


def _read_path(path: Path) -> LoadedPairs:
    # `main_files` includes files too damaged to be recognized, so that reading them reports what they lack.
    files = TABLES.main_files(path)
    if not files:
        raise InputError(
            f"{path}: no file of AmbiK's pairs (.csv with the columns ambiguous_task, ambiguity_type, …)"
        )
    return merge([read_pairs_file(file) for file in files])


_read_registered: Final = lru_cache(maxsize=4)(_read_path)


@lru_cache
def _builtin_pairs() -> LoadedPairs:
    pairs = read_list(FOLDER / "pairs.yaml", _builtin_pair)
    report = load_report(as_file(FOLDER / "pairs.yaml", pairs), parts_known=True)
    files = tuple(replace(file, version="builtin", why="") for file in report.files)
    return LoadedPairs(pairs, (), replace(report, files=files))


def _builtin_pair(row: Row) -> Pair:
    pair = read_pair_record(row)
    if row.one_of("part", PARTS) != part_of(pair):
        raise row.error("part", "does not fit take_amb, which only calibration rows have")
    return pair


@lru_cache
def _builtin(name: str, read: Callable[[Row], T]) -> tuple[T, ...]:
    return read_list(FOLDER / f"{name}.yaml", read)


def _count_rows(copy: Path) -> Mapping[str, int]:
    kinds = TABLES.files_of(copy)
    rows: Counter[str] = Counter()
    if PAIRS in kinds.values():
        pairs = read_pairs(copy).pairs
        rows["pairs"] = len(pairs)
        rows.update(f"for {part_of(pair)}" for pair in pairs)
    for file, kind in kinds.items():
        if kind is not PAIRS:
            rows[kind.title] += len(kind.read(file).rows)
    return rows


def _report(folder: Path) -> tuple[str, ...]:
    """Return a summary of the data and of its oddities, by kind; `askback check` names the rows."""
    if PAIRS not in TABLES.files_of(folder).values():
        return ()
    report = read_pairs(folder).report
    named = (line.removeprefix(f"{folder}/") for line in report.lines())
    return (*named, *(("`askback check` names the rows",) if report.counts else ()))


DATA: Final = Registration(
    benchmark=BENCHMARK,
    tables=TABLES,
    kinds=(PAIRS, KNOWNO, LOGPROBS),
    missing_message=(
        "no good row of AmbiK's pairs (.csv with ambiguous_task, ambiguity_type, …), of KnowNo scenarios "
        "(.csv with intent_object, intent_location, …) or of a run (.json with top_logprobs, …)"
    ),
    count_contents=_count_rows,
    report=_report,
)
