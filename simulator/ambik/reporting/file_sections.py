"""Report sections for files, recognized by their content, and the decisions in them (spec 2, 9, 10)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any, Final, get_args

from simulator import datasets
from simulator.ambik import conformal
from simulator.ambik.conformal import MARGINAL
from simulator.ambik.coverage import report_of
from simulator.ambik.data import (
    BUILTIN,
    DECISIONS,
    KNOWNO,
    LOGPROBS,
    METRIC_CASES,
    PAIRS,
    RESULT_TABLE,
    TABLES,
    load_scenarios,
    read_pairs,
)
from simulator.ambik.files.decisions import DecisionLine, with_items
from simulator.ambik.files.load_report import LoadedPairs, merge
from simulator.ambik.files.pairs import TITLES, PairsFile
from simulator.ambik.files.published import METRICS, Logprobs, MetricCase, ResultRow, decisions_of
from simulator.ambik.items import BENCHMARK, Pair, PairItem, Scenario
from simulator.ambik.measures import measures, overall_measure
from simulator.ambik.metrics import agrees, computed_value
from simulator.ambik.predicting import ScoredDecision, apply_threshold, calibrate, prepare
from simulator.ambik.records import Calibrated, Decision
from simulator.ambik.reporting.groups import Material, from_lines
from simulator.ambik.reporting.results import ReportSettings, Switches
from simulator.ambik.statistics import statistics
from simulator.ambik.terms import AMBIGUITIES, DEFAULT, NAMES, Metrics, Quantile, Settings, Tokens, remark
from simulator.errors import InputError
from simulator.figures import Cell, Column, Table
from simulator.jsonlines import CODE, Read, count_left_out, describe_duplicates
from simulator.reporting import Problems, Section, file_section
from simulator.stats import Interval
from simulator.tables.spec import Contents, TableSpec
from trees.faults import Fault

ContentsByKind = dict[str, dict[Path, Contents]]
"""Contents of files, by kind and path."""
_SECTIONS: Final[Mapping[str, Any]] = {
    KNOWNO.name: lambda read, file, switches: scenarios_section(read, file),
    METRIC_CASES.name: lambda read, file, switches: cases_section(read, file, switches.get("metrics")),
    LOGPROBS.name: lambda read, file, switches: logprobs_section(
        read.rows, file, left_out=count_left_out(read.faults), switches=switches
    ),
    RESULT_TABLE.name: lambda read, file, switches: results_section(read, file),
}


def score_files(
    paths: Iterable[Path], problems: Problems, settings: ReportSettings
) -> tuple[Sequence[Section], Material]:
    """Return sections for files other than decision logs, and the material of decision logs."""
    sections: list[Section] = []
    read = TABLES.read_all(paths, problems, settings.duplicates, owner="AmbiK")
    by_kind = {
        kind: {file: contents for file, contents in files.items() if contents.rows}
        for kind, files in read.items()
    }
    material = Material()
    if files := by_kind.get(PAIRS.name):
        loaded = merge([file for file in files.values() if isinstance(file, PairsFile)])
        problems.faults += [fault for fault in loaded.faults if fault not in problems.faults]
        sections.append(pairs_section(loaded, tuple(map(str, files))))
    for kind, make in _SECTIONS.items():
        for file, contents in by_kind.get(kind, {}).items():
            try:
                sections.append(make(contents, str(file), settings.switches))
            except InputError as error:
                problems.unreadable.append(str(error))
    if by_kind.get(DECISIONS.name) or settings.calibration:
        material = _decisions(by_kind, settings, problems)
    repeated = [fault for fault in problems.faults if isinstance(fault, Fault) and fault.code == CODE]
    if repeated:
        material.remarks.append(describe_duplicates(repeated))
    return sections, material


def _decisions(by_kind: ContentsByKind, settings: ReportSettings, problems: Problems) -> Material:
    calibrating: list[DecisionLine] = []
    for file in settings.calibration:
        read = DECISIONS.read(file, settings.duplicates)
        if not read.rows:
            raise InputError(f"--calibration {file}: it has no readable row")
        problems.faults += [fault for fault in read.faults if fault not in problems.faults]
        calibrating += read.rows
    lines = _rows(by_kind, DECISIONS)
    texts = texts_of([*lines, *calibrating], by_kind, settings.data)
    # A file that is also named with --calibration has only calibration rows.
    calibration_keys = {line.key for line in calibrating}
    tests = [line for line in lines if line.key not in calibration_keys]
    return from_lines(with_items(tests, *texts), with_items(calibrating, *texts))


def texts_of(
    lines: Sequence[DecisionLine], by_kind: ContentsByKind, data: str | None
) -> tuple[Mapping[str, Pair], Mapping[str, Scenario]]:
    """Return the pairs and scenarios by id that lines need for their texts.

    `data`: a name or a path; None: those in the files, the data that the lines name, or the registered data.
    """
    kinds = {type(line.decision.item) for line in lines if not line.known}
    pairs: Sequence[Pair] = ()
    scenarios: Sequence[Scenario] = ()
    if PairItem in kinds:
        in_files: list[Pair] = _rows(by_kind, PAIRS)
        name = data or (None if in_files else _named_data(lines))
        pairs = in_files if name is None else read_pairs(name).pairs
    if kinds - {PairItem}:
        scenarios = load_scenarios(data) if data else _rows(by_kind, KNOWNO)
    return {pair.id: pair for pair in pairs}, {scenario.id: scenario for scenario in scenarios}


def _rows(by_kind: ContentsByKind, kind: TableSpec[Any]) -> list[Any]:
    return [row for contents in by_kind.get(kind.name, {}).values() for row in contents.rows]


def _named_data(lines: Iterable[DecisionLine]) -> str | None:
    """Return the data that lines name, if available: the built-in or the registered data."""
    if all(line.fields.dataset_version == BUILTIN for line in lines):
        return BUILTIN
    dataset = datasets.find(BENCHMARK)
    return BENCHMARK if dataset is not None and dataset.benchmark == BENCHMARK else None


# ---- a section for each kind

RELEASED: Final = 500
QUANTILES: Final[tuple[Quantile, ...]] = get_args(Quantile)


def pairs_section(loaded: LoadedPairs, files: tuple[str, ...]) -> Section:
    """Return shares of types, the members used for calibration, and checks of published files (spec 2.1)."""
    counted = statistics(loaded.pairs)
    rows: list[list[Cell]] = [[kind, counted["types"][kind], counted["shares"][kind]] for kind in AMBIGUITIES]
    tables = [Table(["type", Column("pairs", 0), Column("%", 1, 100)], rows, "Types", "types")]
    checks: dict[str, Any] = {}
    if counted["pairs"] == RELEASED and all(file.version == "paper" for file in loaded.report.files):
        checks["B1.types_500"] = {
            kind: 100 * counted["types"][kind] / counted["pairs"] for kind in AMBIGUITIES
        }
    if balance := counted["balance"]:
        checks["B5.calibration_balance"] = {
            "amb (take_amb=1)": dict(balance["ambiguous"]),
            "unamb (0)": dict(balance["clear"]),
        }
        rows = [[member, *counts.values(), sum(counts.values())] for member, counts in balance.items()]
        heads: list[Column | str] = ["used as", *(Column(kind, 0) for kind in AMBIGUITIES), Column("all", 0)]
        tables.append(Table(heads, rows, "Calibration: which member is used", "balance"))
    return file_section(
        "pairs",
        Path(files[0]).parent.name if len(files) > 1 else Path(files[0]).stem,
        title="Pairs",
        files=files,
        rows=counted["pairs"],
        left_out=len(loaded.faults),
        tables=tables,
        remarks=tuple(loaded.report.lines()),
        data={
            "versions": [TITLES[file.version] for file in loaded.report.files],
            "types": dict(counted["types"]),
            "shares": dict(counted["shares"]),
            "calibration": dict(balance),
            "oddities": loaded.report.counts,
            "checks": checks,
        },
    )


def scenarios_section(read: Read[Scenario], file: str) -> Section:
    """Return the number of scenarios by type."""
    counts = Counter(row.type for row in read.rows)
    return file_section(
        "scenarios",
        Path(file).stem,
        title="KnowNo's scenarios",
        files=(file,),
        rows=len(read.rows),
        left_out=len(read.faults),
        tables=[Table(["type", Column("scenarios", 0)], sorted(counts.items()), name="types")],
        data={"types": dict(counts)},
    )


def cases_section(read: Read[MetricCase], file: str, shown: Metrics | None = None) -> Section:
    """Return metric cases with values by the paper's rule and in the published code."""
    modes: tuple[Metrics, ...] = get_args(Metrics) if shown is None else (shown,)
    rows: list[list[Cell]] = []
    data: dict[str, Any] = {}
    equal, known = (dict.fromkeys(modes, 0) for _ in range(2))
    for case in read.rows:
        row: list[Cell] = [case.id, case.metric]
        data[case.id] = {"metric": case.metric}
        for mode in modes:
            value, right, agreed = computed_value(case, mode), getattr(case, mode), agrees(case, mode)
            if mode not in case.modes:
                row += ["", _in_words(value)]
                continue
            known[mode] += 1
            equal[mode] += agreed
            row += [_in_words(right), "the same" if agreed else f"NOT: {_in_words(value)}"]
            data[case.id][mode] = {"expected": right, "found": value, "equal": agreed}
        rows.append(row)
    return file_section(
        "metric_cases",
        Path(file).stem,
        title="Metric cases",
        files=(file,),
        rows=len(read.rows),
        left_out=len(read.faults),
        tables=[
            Table(
                ["case", "metric", *(head for mode in modes for head in (mode, f"{mode}: found"))],
                rows,
                name="cases",
            )
        ],
        remarks=tuple(f"{mode}: {count} of {known[mode]} equal" for mode, count in equal.items()),
        data={
            "equal": equal,
            # Cases whose value differs from the paper's rule.
            "unexpected": known["paper"] - equal["paper"] if "paper" in modes else 0,
            "told": known,
            "cases": data,
        },
    )


def _in_words(value: Any) -> str:
    if isinstance(value, Mapping):
        return "; ".join(f"{str(key).replace('_', ' ')}: {_in_words(part)}" for key, part in value.items())
    return "–" if value is None else f"{value:.4g}"


def results_section(read: Read[ResultRow], file: str) -> Section:
    """Return a result table unchanged, with its inconsistencies."""
    by_kind = [name for name in METRICS if any(name in row.values for row in read.rows)]
    rows: list[list[Cell]] = [
        [row.model, NAMES.get(row.method, row.method), row.type or "all", *map(row.values.get, by_kind)]
        for row in read.rows
    ]
    heads: list[Column | str] = ["model", "method", "type", *(Column(name, 2) for name in by_kind)]
    inconsistent = [fault for fault in read.faults if fault.code == "consistency"]
    messages = [
        f"line {fault.line}, {NAMES.get(fault.task, fault.task)}: {fault.message}" for fault in inconsistent
    ]
    return file_section(
        "result_table",
        Path(file).stem,
        title="Results as printed",
        files=(file,),
        rows=len(read.rows),
        left_out=sum(fault.severity != "warning" for fault in read.faults),
        tables=[Table(heads, rows, name="results")],
        remarks=(remark("tables", "result_rules"), *(messages or ["every row is consistent"])),
        data={
            "results": [
                {"model": row.model, "method": row.method, "type": row.type, **row.values}
                for row in read.rows
            ],
            "inconsistent": [
                {"line": fault.line, "method": fault.task, "message": fault.message} for fault in inconsistent
            ],
        },
    )


# ---- a published KnowNo run: thresholds by rule, help and success on its own items (spec 7, 9)


def logprobs_section(
    records: Sequence[Logprobs], file: str, *, left_out: int = 0, switches: Switches | None = None
) -> Section:
    """Return the `rules_section` of a published run.

    Raises:
        InputError: if there are no records to calibrate on, or they cannot be scored.
    """
    run = [decision for decision in decisions_of(records, file) if decision.item.part == "calibration"]
    if not run:
        raise InputError(f"{file}: no record is of the split calib, so there is nothing to calibrate on")
    section = rules_section(run, Path(file).stem, files=(file,), left_out=left_out, switches=switches)
    if len(run) == len(records):
        return section
    message = (
        f"{len(records) - len(run)} records of the split test are not used for calibration; `askback import "
        "ambik-results` imports them as tests"
    )
    return replace(section, remarks=(message, *section.remarks))


def rules_section(
    run: Sequence[Decision],
    name: str,
    *,
    files: tuple[str, ...] = (),
    left_out: int = 0,
    switches: Switches | None = None,
) -> Section:
    """Return thresholds by tokens and quantile, and the results on the same items.

    `switches`: settings other than tokens, quantile and the help rule, of which all values are shown.
    """
    base = replace(DEFAULT, **{**(switches or {}), "cp_rule": "split", "not_listed": True})
    rules: dict[tuple[Tokens, Quantile], tuple[Calibrated, dict[str, Any]]] = {}
    for tokens in get_args(Tokens):
        by_tokens = replace(base, tokens=tokens)
        ready = [prepare(decision, by_tokens) for decision in run]
        rules |= {
            (tokens, quantile): _rule(ready, replace(by_tokens, quantile=quantile)) for quantile in QUANTILES
        }
    first, report = next(iter(rules.values()))
    return file_section(
        "knowno_run",
        name,
        title="A KnowNo run: thresholds by rule, and results on the run's own items",
        files=files,
        rows=len(run),
        left_out=left_out,
        tables=_rule_tables(rules),
        remarks=(
            f"n {first.n}, epsilon {first.epsilon:g}, rank {first.rank}, temperature {base.temperature:g}; "
            f"{first.without} items have no right option",
            remark("tables", "in_sample"),
            remark("tables", "counts_tokens"),
            str(MARGINAL),
            *map(str, report["report"].warnings),
        ),
        data={
            "n": first.n,
            "epsilon": first.epsilon,
            "rank": first.rank,
            "rules": {".".join(rule): result for rule, (_, result) in rules.items()},
        },
    )


def _rule(ready: Sequence[ScoredDecision], settings: Settings) -> tuple[Calibrated, dict[str, Any]]:
    """Return the threshold by a rule, and its results, with both help rules."""
    calibrated = calibrate(ready, settings)
    by_size, by_original = replace(settings, help="size"), replace(settings, help="original")
    outcomes = [apply_threshold(each, calibrated.q_hat, by_size) for each in ready]
    original = [apply_threshold(each, calibrated.q_hat, by_original) for each in ready]
    overall = measures(outcomes, by_size).overall
    return calibrated, {
        "q_hat": calibrated.q_hat,
        "order": conformal.order(calibrated.n, _epsilon(settings), settings.quantile),
        "success_rate": overall.coverage,
        "help_rate": {"size": overall.hr, "original": overall_measure("hr", original, by_original)},
        "set_size": overall.set_size,
        "empty": overall.empty,
        "left_out_coverage": _leave_one_out(ready, calibrated.nonconformities, by_size),
        "report": report_of(calibrated, outcomes, by_size),
    }


def _leave_one_out(
    ready: Sequence[ScoredDecision], nonconformities: Sequence[float], settings: Settings
) -> Interval | None:
    """Return the coverage of each item by the threshold of all others."""
    known = [each for each in ready if each.known]
    if len(known) < 2 or len(known) != len(nonconformities):  # not defined with repeats of items
        return None
    covered = 0
    for place, item in enumerate(known):
        others = [*nonconformities[:place], *nonconformities[place + 1 :]]
        q_hat = conformal.threshold(others, _epsilon(settings), settings.quantile)
        covered += bool(apply_threshold(item, q_hat, settings).covered)
    return conformal.coverage(covered, len(known))


def _epsilon(settings: Settings) -> Fraction:
    return conformal.epsilon_of(settings.target_success)


def _rule_tables(rules: Mapping[tuple[Tokens, Quantile], tuple[Calibrated, dict[str, Any]]]) -> list[Table]:
    thresholds: list[list[Cell]] = []
    asking: list[list[Cell]] = []
    for rule, (calibrated, result) in rules.items():
        q_hat = None if calibrated.q_hat == float("inf") else calibrated.q_hat
        place = f"{result['order']} and next" if rule[1] == "numpy_linear" else str(result["order"])
        success = result["success_rate"].interval
        thresholds.append([*rule, place, q_hat, success, result["left_out_coverage"]])
        rates = (*result["help_rate"].values(), result["set_size"], result["empty"])
        asking.append([*rule, *(rate.interval for rate in rates)])
    heads = ("tokens", "quantile", "which", Column("q-hat", 6), "in the set", "left out")
    heads_of_help = ("tokens", "quantile", "asks, by size", "asks, original", "set size", "empty sets")
    return [
        Table(heads, thresholds, "Thresholds", "thresholds"),
        Table(heads_of_help, asking, "Help", "help"),
    ]
