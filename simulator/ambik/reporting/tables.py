"""Tables of several results side by side: the paper's, and what it does not print (spec 10, 12)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, Final

from simulator.ambik.cautions import MARGINAL
from simulator.ambik.measuring.exchange import ASKED, RELEVANT, exchange_measures
from simulator.ambik.measuring.measures import Measure, TypeMeasures
from simulator.ambik.measuring.outcome_rows import ALL
from simulator.ambik.reporting.groups import BASELINE, Result, reference_values
from simulator.ambik.reporting.paper import is_published, paper
from simulator.ambik.terms import METHODS, NAMES, TASK_TYPES, TaskType
from simulator.figures import Cell, Column, Table
from simulator.reporting import Section
from simulator.stats import Interval

Columns = Mapping[Any, Callable[[Result], Cell]]
"""Column or its heading -> the cell of a result."""
SHORT: Final[Mapping[str, str]] = {
    "unambiguous_direct": "clear",
    "preferences": "preferences",
    "common_sense_knowledge": "common sense",
    "safety": "safety",
}
"""Types as they stand above columns."""
RIGHT_BY_INTENT: Final = (
    "The right option of a test task is what its intent says. While a preference is open it names one of "
    "several things that may be meant, where calibration takes all of them; so for preferences coverage can "
    "fall below what is promised, by construction."
)
COUNTS_TOKENS: Final = (
    "By the original rule with tokens as returned, a letter that came back twice counts twice: a set of one "
    "option may ask."
)
REFERENCE_METRICS: Final = (
    "Metrics as the published code has them, faults included: for comparison with printed numbers alone."
)
_CP_VALUE: Final = (
    "CP value: the upper quantile of the scores of all right options, as the published code takes it. It "
    "is there to be compared with the paper's and must not be used as a threshold."
)
_COVERAGE: Final = (
    "coverage: Clopper-Pearson interval; predicted: 95 % range of the beta-binomial law, given so "
    "many calibration items; known: sets whose right option is known."
)
_RIGHT: Final = (
    "right: the action holds the whole intent and names none of the alternatives; what it adds in "
    "brackets does not count. before: what the robot would have done at first. One that ends with a "
    "question, or names no action, counts as neither. relevant: questions that ask for what is open, "
    "of those about ambiguous tasks."
)
_ASKING: Final = {"chr": "asks where it should, and not where it should not", "hr": "asks"}


def result_table(
    results: Iterable[Result], columns: Columns, title: str = "", name: str = "", below: Sequence[Any] = ()
) -> Table:
    """Return a row for each result, its method and robot first, and the rows `below`."""
    rows = [
        [result.group.method_name, result.name, *(cell(result) for cell in columns.values())]
        for result in results
    ]
    return Table(["method", "robot", *columns], [*rows, *below], title, name)


# ---- the paper's tables


def table_3(results: Sequence[Result]) -> Section | None:
    """Return AmbDif; None if no result has both members of a pair."""
    shown = [result for result in _of_pairs(results) if result.measures.ambdif.n]
    printed = paper()["table_3"] if is_published(shown) else {}
    columns: Columns = {
        "AmbDif": lambda result: result.measures.ambdif.interval,
        Column("pairs", 0): lambda result: result.measures.ambdif.n,
        **_printed(printed),
    }
    remarks = [
        f"{result.label}: {sum(left_out.values())} tasks without the other member left out"
        for result in shown
        if (left_out := result.measures.ambdif.left_out)
    ]
    notes = _notes(printed, "models", "orientation")
    return _paper_section("table_3", "Table 3: AmbDif", shown, columns, remarks=[*remarks, *notes])


def table_6(results: Sequence[Result]) -> Section | None:
    """Return thresholds, with what the published code would have for one; None if nothing was calibrated."""
    shown = {result: result.calibrated for result in results if result.calibrated is not None}
    printed = paper()["table_6"] if is_published(_of_pairs(shown)) else {}
    values = {result: _finite(reference_values(result)) for result in shown}
    columns: Columns = {
        "q-hat": lambda result: _q_hat(result.calibrated),
        Column("n", 0): lambda result: shown[result].n,
        Column("rank", 0): lambda result: shown[result].rank,
        Column("CP value", 2): values.get,
        **_printed(printed),
    }
    fields = ("q_hat", "n", "epsilon", "rank", "without", "unknown", "run")
    data = {
        result.label: {name: getattr(calibrated, name) for name in fields}
        | {"reference_value": values[result], "reference_usable": False}
        for result, calibrated in shown.items()
    }
    remarks = [
        f"{result.label}: of {calibrated.without} calibration items no option is right"
        for result, calibrated in shown.items()
        if calibrated.without
    ]
    title = "Table 6: thresholds; the published code's CP value is not usable as one"
    notes = _notes(printed, "models", "table_6")
    return _paper_section(
        "table_6", title, [*shown], columns, remarks=[_CP_VALUE, *remarks, *notes], data=data
    )


def table_7(results: Sequence[Result]) -> Section | None:
    """Return ICR by type, for full plans and for the action alone."""
    shown = [result for result in _of_pairs(results) if result.measures.overall.icr.n]
    published = is_published(shown)
    below = [
        [NAMES[method], f"paper, {title}", *map(float, paper()["table_7"][context][method])]
        for context, title in (("full_plan", "full"), ("action_only", "action only"))
        for method in (_methods(shown) if published else ())
    ]
    remarks = [
        f"ICR of {result.label}: not counted {reasons}"
        for result in shown
        if result.group.method != BASELINE and (reasons := result.measures.overall.icr.reasons)
    ]
    notes = _notes(published, "table_7", "nohelp")
    columns = _by_type("icr")
    return _paper_section(
        "table_7", "Table 7: ICR", shown, columns, below=below, remarks=[*dict.fromkeys(remarks), *notes]
    )


def table_8(results: Sequence[Result]) -> Section | None:
    """Return help rate and success rate on KnowNo's scenarios."""
    shown = [result for result in results if result.group.dataset == "knowno"]
    published = is_published(shown)
    below = [
        [NAMES[method], "paper", *map(_number, paper()["table_8"][method]), None, None]
        for method in (_methods(shown) if published else ())
    ]
    columns: Columns = {
        "help rate": lambda result: result.measures.overall.hr.interval,
        "success rate": lambda result: result.measures.overall.coverage.interval,
        "set size": lambda result: result.measures.overall.set_size.interval,
        Column("tasks", 0): lambda result: result.measures.overall.tasks,
    }
    notes = _notes(published, "table_8")
    return _paper_section(
        "table_8", "Table 8: KnowNo's scenarios", shown, columns, below=below, remarks=notes
    )


def table_9(results: Sequence[Result]) -> Section | None:
    """Return CHR and HR by type."""
    shown = _of_pairs(results)
    if not shown:
        return None
    published, tables = is_published(shown), []
    for name, words in _ASKING.items():
        below = [
            [NAMES[row["method"]], f"paper: {row['model']}", *map(float, row[name])]
            for row in (paper()["table_9"] if published else ())
            if row["method"] in _methods(shown)
        ]
        title = f"Table 9: {name.upper()} ({words})"
        tables.append(result_table(shown, _by_type(name), title, name, below))
    counts = dict.fromkeys(
        ", ".join(f"{SHORT.get(kind.type, kind.type)} {kind.tasks}" for kind in result.measures.types)
        for result in shown
    )
    remarks = (f"tasks: {'; or '.join(counts)}", *_notes(published, "table_9", "orientation"))
    return Section(name="table_9", title="Table 9: asking by type", tables=tables, remarks=remarks)


def table_ssc(results: Sequence[Result]) -> Section | None:
    """Return SSC, of preferences with a shortlist."""
    shown = [result for result in _of_pairs(results) if result.measures.overall.ssc.n]
    columns: Columns = {
        "SSC": lambda result: result.measures.overall.ssc.interval,
        Column("tasks", 0): lambda result: result.measures.overall.ssc.n,
    }
    return _paper_section(
        "ssc", "SSC (Fig. 4): overlap of set and shortlist, preferences alone", shown, columns
    )


# ---- what the paper does not print


def asking(results: Sequence[Result]) -> Section:
    """Return right decisions to ask or not, CHR over the types, sizes of sets, what was left out of them."""
    columns: Columns = {
        "right to ask or not": lambda result: result.measures.accuracy.interval,
        "CHR over types": lambda result: result.measures.macro_chr,
        "asks": lambda result: result.measures.overall.hr.interval,
    }
    sizes: Columns = {
        "set size": lambda result: result.measures.overall.set_size.interval,
        "empty sets": lambda result: result.measures.overall.empty.interval,
        Column("fillers left out", 0): lambda result: result.measures.fillers,
    }
    remarks = [
        f"flags of {result.label}: {', '.join(f'{name} {count}' for name, count in flags.items())}"
        for result in results
        if (flags := result.measures.flags)
    ]
    if any(result.measures.macro_chr is not None for result in results):
        remarks.insert(0, "CHR over types: plain average; one that never asks has 0.75.")
    return Section(
        name="asking",
        title="To ask or not, over all tasks; sets",
        tables=[result_table(results, columns, name="asking"), result_table(results, sizes, name="sets")],
        remarks=remarks,
        data={result.label: result.measures for result in results},
    )


def coverage(results: Sequence[Result]) -> Section | None:
    """Return what calibrations promise, what came of it, and by type what is not promised; else None."""
    shown = {result: result.coverage for result in results if result.coverage is not None}
    if not shown:
        return None
    remarks: dict[str, None] = {}
    for result, report in shown.items():
        remarks |= {f"{result.label}: {warning}": None for warning in report.warnings}
        if report.kept is False and result.settings.cp_rule != "reference":
            remarks[f"{result.label}: coverage lies outside of the range that the law predicts"] = None
    columns: Columns = {
        Column("n", 0): lambda result: shown[result].n,
        Column("epsilon", 2): lambda result: shown[result].epsilon,
        Column("rank", 0): lambda result: shown[result].rank,
        "q-hat": lambda result: _q_hat(shown[result]),
        "coverage": lambda result: shown[result].coverage,
        "predicted": _predicted,
        Column("known", 0): lambda result: shown[result].tested - shown[result].unknown,
    }
    types = _by_type("coverage")
    tables = [result_table(shown, columns, name="promised")]
    pairs = bool(_of_pairs(shown))
    if pairs:
        tables.append(result_table(shown, types, "Coverage by type: shown, not promised", "types"))
    return Section(
        name="coverage",
        title="Coverage: what was promised, and what came of it",
        tables=tables,
        remarks=(_COVERAGE, str(MARGINAL), *([RIGHT_BY_INTENT] if pairs else []), *remarks),
        data={
            result.label: {
                "report": report,
                "types": {kind: types[title](result) for kind, title in SHORT.items()},
            }
            for result, report in shown.items()
        },
    )


def exchange(results: Sequence[Result]) -> Section | None:
    """Return shares before and after what was answered, by type; None if nobody could ask in any run."""
    shown = [result for result in results if result.group.exchanges]
    if not shown:
        return None
    rows: list[list[Cell]] = []
    data: dict[str, Any] = {}
    for result in shown:
        exchanges = result.group.exchanges
        users = dict.fromkeys("person" if "/" not in each.user else each.user for each in exchanges)
        data[result.label] = {"users": [*users]}
        for kind in (ALL, *dict.fromkeys(each.before.item.type for each in exchanges)):
            of_kind = [each for each in exchanges if kind in (ALL, each.before.item.type)]
            measured = exchange_measures(of_kind)
            when_needed, when_not = (measured[name] for name in ASKED)
            data[result.label][kind] = {**measured, "asked": when_needed or when_not}
            values = (measured[name] for name in ("right before", "right after", "questions", RELEVANT))
            names = (result.group.method_name, result.name, SHORT.get(kind, kind))
            rows.append([*names, *values, len(of_kind)])
    asked: Columns = {
        **{name: partial(_asked, data, name) for name in ASKED},
        Column("episodes", 0): lambda result: len(result.group.exchanges),
    }
    heads = ("method", "robot", "type", "right before", "right after", "questions", "relevant")
    return Section(
        name="exchange",
        title="Before and after the answer",
        tables=[
            result_table(shown, asked, name="asked"),
            Table([*heads, Column("episodes", 0)], rows, name="right"),
        ],
        remarks=[_RIGHT],
        data=data,
    )


def statements(results: Sequence[Result]) -> tuple[str, ...]:
    """Return what holds of the whole report under its switches."""
    counted_twice = any(
        result.settings.help == "original" and result.settings.tokens == "raw_top5" for result in results
    )
    as_published = any(result.settings.metrics == "reference" for result in results)
    return (*([COUNTS_TOKENS] if counted_twice else ()), *([REFERENCE_METRICS] if as_published else ()))


TABLES: Final[tuple[Callable[[Sequence[Result]], Section | None], ...]] = (
    *(table_3, table_6, table_7, table_8, table_9, table_ssc),
    *(asking, coverage, exchange),
)


def _paper_section(
    name: str,
    title: str,
    results: Sequence[Result],
    columns: Columns,
    *,
    below: Sequence[Any] = (),
    remarks: Sequence[str] = (),
    data: Mapping[str, Any] | None = None,
) -> Section | None:
    if not results:
        return None
    table = result_table(results, columns, below=below)
    return Section(name=name, title=title, tables=[table], remarks=remarks, data=data or {})


def _of_pairs(results: Iterable[Result]) -> list[Result]:
    return [result for result in results if result.group.dataset == "ambik"]


def _by_type(measure: str) -> dict[str, Callable[[Result], Interval | None]]:
    """Return a column for each type, of one of the measures of `TypeMeasures`."""

    def interval(kind: TaskType, result: Result) -> Interval | None:
        measures: TypeMeasures | None = result.measures.of(kind)
        counted: Measure | None = None if measures is None else getattr(measures, measure)
        return None if counted is None else counted.interval

    return {SHORT[kind]: partial(interval, kind) for kind in TASK_TYPES}


def _printed(values: Mapping[str, Sequence[float | None]]) -> dict[Column, Callable[[Result], Cell]]:
    """Return a column for each of the paper's models, with what it prints of the method."""

    def cell(place: int, result: Result) -> float | None:
        printed = values.get(result.group.method)
        return None if printed is None else _number(printed[place])

    models = paper()["models"] if values else ()
    return {Column(model, 2): partial(cell, place) for place, model in enumerate(models)}


def _methods(results: Iterable[Result]) -> list[Any]:
    """Return the methods of the paper that are there, in its order."""
    there = {result.group.method for result in results}
    return [method for method in METHODS if method in there]


def _notes(printed: Any, *names: str) -> tuple[str, ...]:
    return tuple(" ".join(paper()["notes"][name].split()) for name in names) if printed else ()


def _number(value: float | None) -> float | None:
    return None if value is None else float(value)


def _q_hat(calibrated: Any) -> str:
    return "infinite" if calibrated.q_hat == float("inf") else f"{calibrated.q_hat:.4f}"


def _finite(calibrated: Any) -> float | None:
    return None if calibrated is None or calibrated.q_hat == float("inf") else calibrated.q_hat


def _predicted(result: Result) -> str:
    if result.coverage is None or result.settings.cp_rule == "reference":
        return ""
    return f"{result.coverage.promised.low:.2f} to {result.coverage.promised.high:.2f}"


def _asked(data: Mapping[str, Any], name: str, result: Result) -> Interval | None:
    share: Interval | None = data[result.label][ALL][name]
    return share
