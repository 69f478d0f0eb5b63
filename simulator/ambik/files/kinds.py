"""The kinds of AmbiK's files, each told by its columns or the fields of its first records (spec 2, 9)."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from simulator.ambik.files.decisions import DecisionLine, is_decision, read_decisions
from simulator.ambik.files.load_report import merge
from simulator.ambik.files.pairs import PairsFile, is_pairs, looks_like_pairs, read_pairs_file
from simulator.ambik.files.published import (
    Logprobs,
    MetricCase,
    is_knowno,
    is_metric_case,
    read_knowno,
    read_logprobs_record,
    read_metric_case,
)
from simulator.ambik.files.result_table import ResultRow, is_result_table, read_result_table
from simulator.ambik.items import Draft, Pair, Scenario, read_draft_record
from simulator.tables.spec import Tables, TableSpec, has
from trees.faults import Fault

PAIRS: Final = TableSpec[Pair](
    name="pairs", title="pairs of tasks", is_of=is_pairs, csv=True, reader=read_pairs_file, repeats=False
)
KNOWNO: Final = TableSpec[Scenario](
    name="knowno", title="KnowNo scenarios", is_of=is_knowno, csv=True, reader=read_knowno, repeats=False
)
LOGPROBS: Final = TableSpec[Logprobs](
    name="logprobs",
    title="log-probabilities of a KnowNo run",
    is_of=has("options", "true_options", "top_tokens", "top_logprobs"),
    parse=read_logprobs_record,
    key=lambda record: (record.item, ""),
    id="item",
)
METRIC_CASES: Final = TableSpec[MetricCase](
    name="metric_cases",
    title="cases of metrics",
    is_of=is_metric_case,
    parse=read_metric_case,
    key=lambda case: (case.id, ""),
    repeats=False,
)
RESULT_TABLE: Final = TableSpec[ResultRow](
    name="result_table",
    title="results of methods",
    is_of=is_result_table,
    csv=True,
    reader=read_result_table,
    repeats=False,
)
DECISIONS: Final = TableSpec[DecisionLine](
    name="decisions", title="logs of decisions", is_of=is_decision, reader=read_decisions
)
DRAFTS: Final = TableSpec[Draft](
    name="drafts",
    title="drafts of pairs",
    is_of=has("clear", "candidates", "objects"),
    parse=read_draft_record,
    key=lambda draft: (draft.id, ""),
    repeats=False,
)


def _faults_of_pairs(files: Mapping[Path, PairsFile]) -> tuple[Fault, ...]:
    merged = merge(list(files.values()))
    return (*merged.faults, *merged.report.warnings)


TABLES: Final = Tables(
    title="AmbiK's pairs, drafts, KnowNo scenarios and runs (.csv, .json or .jsonl, known by their columns)",
    specs=(PAIRS, KNOWNO, LOGPROBS, METRIC_CASES, RESULT_TABLE, DECISIONS, DRAFTS),
    main=PAIRS,
    looks_main=looks_like_pairs,
    check_main=_faults_of_pairs,
)
