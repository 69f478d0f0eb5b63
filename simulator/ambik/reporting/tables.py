"""Tables that compare results: those of the paper, and our additions (spec 10, 12).

The paper's figures (`paper.yaml`) are shown next to results on the published data.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from operator import attrgetter
from typing import Any, Final

from simulator.ambik.conformal import MARGINAL
from simulator.ambik.data import load_scenarios
from simulator.ambik.items import ScenarioItem
from simulator.ambik.measures import ASKED, RELEVANT, Measure, exchange_measures
from simulator.ambik.metrics import ALL, SHORT
from simulator.ambik.predicting import calibrate
from simulator.ambik.reporting.groups import BASELINE
from simulator.ambik.reporting.results import Result
from simulator.ambik.terms import METHODS, NAMES, TASK_TYPES, TaskType, paper, remark
from simulator.figures import Cell, Column, Table
from simulator.reporting import Section
from simulator.stats import Interval

Columns = Mapping[Any, Callable[[Result], Cell]]
"""A function from a result to its cell, by column or heading."""
_ASKING: Final = {"chr": "asks where it should and only there", "hr": "asks"}


def result_table(
    results: Iterable[Result], columns: Columns, title: str = "", name: str = "", below: Sequence[Any] = ()
) -> Table:
    """Return a table with a row for each result, beginning with method and robot, and the rows `below`."""
    rows = [
        [result.method_name, result.name, *(cell(result) for cell in columns.values())] for result in results
    ]
    return Table(["method", "robot", *columns], [*rows, *below], title, name)


def is_published(results: Iterable[Result]) -> bool:
    """Return True if results are on the paper's data; for scenarios, on any but the built-in ones."""
    return any(
        _is_foreign(result) if result.dataset == "knowno" else result.version == "paper" for result in results
    )


def _is_foreign(result: Result) -> bool:
    tasks = {scenario.task for scenario in load_scenarios()}
    items = (decision.item for decision in result.decisions)
    return not any(isinstance(item, ScenarioItem) and item.scenario.task in tasks for item in items)


# ---- the paper's tables


def table_3(results: Sequence[Result]) -> Section | None:
    """Return Table 3, AmbDif; None if no result has both members of a pair."""
    shown = [result for result in _of_pairs(results) if result.measures.ambdif.n]
    printed = paper()["table_3"] if is_published(shown) else {}
    columns: Columns = {
        "AmbDif": attrgetter("measures.ambdif.interval"),
        Column("pairs", 0): attrgetter("measures.ambdif.n"),
        **_printed_columns(printed),
    }
    remarks = [
        f"{result.label}: {sum(left_out.values())} tasks without the other member left out"
        for result in shown
        if (left_out := result.measures.ambdif.left_out)
    ]
    remarks += _notes(printed, "models", "orientation")
    return _section("table_3", "Table 3: AmbDif", shown, columns, remarks=remarks)


def table_6(results: Sequence[Result]) -> Section | None:
    """Return Table 6, thresholds and the published code's CP values; None if nothing was calibrated."""
    shown = {result: result.calibrated for result in results if result.calibrated is not None}
    printed = paper()["table_6"] if is_published(_of_pairs(shown)) else {}
    values = {result: _reference_value(result) for result in shown}
    columns: Columns = {
        "q-hat": lambda result: _q_hat(shown[result].q_hat),
        Column("n", 0): attrgetter("calibrated.n"),
        Column("rank", 0): attrgetter("calibrated.rank"),
        Column("CP value", 2): values.get,
        **_printed_columns(printed),
    }
    fields = ("q_hat", "n", "epsilon", "rank", "without", "unknown", "run")
    data = {
        result.label: {name: getattr(calibrated, name) for name in fields}
        | {"reference_value": values[result], "reference_usable": False}
        for result, calibrated in shown.items()
    }
    remarks = [remark("tables", "cp_value")]
    remarks += (
        f"{result.label}: {calibrated.without} calibration items have no right option"
        for result, calibrated in shown.items()
        if calibrated.without
    )
    remarks += _notes(printed, "models", "table_6")
    title = "Table 6: thresholds; the published code's CP value cannot be used as one"
    return _section("table_6", title, [*shown], columns, remarks=remarks, data=data)


def _reference_value(result: Result) -> float | None:
    """Return the published code's "CP value" for the same calibration, which is not a usable threshold."""
    if not result.calibration:
        return None
    value = calibrate(result.calibration, replace(result.settings, cp_rule="reference")).q_hat
    return None if value == float("inf") else value


def table_7(results: Sequence[Result]) -> Section | None:
    """Return Table 7: ICR by type, for full plans and for the action only."""
    shown = [result for result in _of_pairs(results) if result.measures.overall.icr.n]
    published = is_published(shown)
    below = [
        [NAMES[method], f"paper, {title}", *map(float, paper()["table_7"][context][method])]
        for context, title in (("full_plan", "full"), ("action_only", "action only"))
        for method in (_methods(shown) if published else ())
    ]
    reasons = dict.fromkeys(
        f"ICR of {result.label}: excluded {reasons}"
        for result in shown
        if result.method != BASELINE and (reasons := result.measures.overall.icr.reasons)
    )
    remarks = [*reasons, *_notes(published, "table_7", "nohelp")]
    return _section("table_7", "Table 7: ICR", shown, _by_type("icr"), below=below, remarks=remarks)


def table_8(results: Sequence[Result]) -> Section | None:
    """Return Table 8: help rate and success rate on KnowNo's scenarios."""
    shown = [result for result in results if result.dataset == "knowno"]
    published = is_published(shown)
    below = [
        [NAMES[method], "paper", *map(_number, paper()["table_8"][method]), None, None]
        for method in (_methods(shown) if published else ())
    ]
    columns: Columns = {
        "help rate": attrgetter("measures.overall.hr.interval"),
        "success rate": attrgetter("measures.overall.coverage.interval"),
        "set size": attrgetter("measures.overall.set_size.interval"),
        Column("tasks", 0): attrgetter("measures.overall.tasks"),
    }
    notes = _notes(published, "table_8")
    return _section("table_8", "Table 8: KnowNo's scenarios", shown, columns, below=below, remarks=notes)


def table_9(results: Sequence[Result]) -> Section | None:
    """Return Table 9: CHR and HR by type."""
    shown = _of_pairs(results)
    if not shown:
        return None
    published, methods, tables = is_published(shown), _methods(shown), []
    for name, words in _ASKING.items():
        below = [
            [NAMES[row["method"]], f"paper: {row['model']}", *map(float, row[name])]
            for row in (paper()["table_9"] if published else ())
            if row["method"] in methods
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
    """Return SSC for preferences with a shortlist."""
    shown = [result for result in _of_pairs(results) if result.measures.overall.ssc.n]
    columns: Columns = {
        "SSC": attrgetter("measures.overall.ssc.interval"),
        Column("tasks", 0): attrgetter("measures.overall.ssc.n"),
    }
    return _section("ssc", "SSC (Fig. 4): overlap of set and shortlist, preferences only", shown, columns)


# ---- our additions


def asking(results: Sequence[Result]) -> Section:
    """Return accuracy of asking, CHR over types, set sizes and fillers removed."""
    columns: Columns = {
        "right to ask or act": attrgetter("measures.accuracy.interval"),
        "CHR over types": attrgetter("measures.macro_chr"),
        "asks": attrgetter("measures.overall.hr.interval"),
    }
    sizes: Columns = {
        "set size": attrgetter("measures.overall.set_size.interval"),
        "empty sets": attrgetter("measures.overall.empty.interval"),
        Column("fillers left out", 0): attrgetter("measures.fillers"),
    }
    remarks = [
        f"flags of {result.label}: {', '.join(f'{name} {count}' for name, count in flags.items())}"
        for result in results
        if (flags := result.measures.flags)
    ]
    if any(result.measures.macro_chr is not None for result in results):
        remarks.insert(0, "CHR over types: unweighted average; a robot that never asks has 0.75.")
    return Section(
        name="asking",
        title="Asking over all tasks; sets",
        tables=[result_table(results, columns, name="asking"), result_table(results, sizes, name="sets")],
        remarks=remarks,
        data={result.label: result.measures for result in results},
    )


def coverage(results: Sequence[Result]) -> Section | None:
    """Return guaranteed and observed coverage, also by type; None if nothing was calibrated."""
    shown = {result: result.coverage for result in results if result.coverage is not None}
    if not shown:
        return None
    cautions: dict[str, None] = {}
    for result, report in shown.items():
        cautions |= {f"{result.label}: {warning}": None for warning in report.warnings}
        if report.kept is False and result.settings.cp_rule != "reference":
            cautions[f"{result.label}: coverage is outside the predicted range"] = None
    columns: Columns = {
        Column("n", 0): attrgetter("coverage.n"),
        Column("epsilon", 2): attrgetter("coverage.epsilon"),
        Column("rank", 0): attrgetter("coverage.rank"),
        "q-hat": lambda result: _q_hat(shown[result].q_hat),
        "coverage": attrgetter("coverage.coverage"),
        "predicted": lambda result: (
            ""
            if result.settings.cp_rule == "reference"
            else "{:.2f} to {:.2f}".format(*shown[result].promised)
        ),
        Column("known", 0): lambda result: shown[result].tested - shown[result].unknown,
    }
    types, pairs = _by_type("coverage"), bool(_of_pairs(shown))
    tables = [result_table(shown, columns, name="promised")]
    if pairs:
        tables.append(result_table(shown, types, "Coverage by type: not guaranteed", "types"))
    by_type = {
        result.label: {kind: types[title](result) for kind, title in SHORT.items()} for result in shown
    }
    remarks = [remark("tables", "coverage"), str(MARGINAL)]
    remarks += [remark("tables", "right_by_intent")] if pairs else []
    return Section(
        name="coverage",
        title="Coverage: guaranteed and observed",
        tables=tables,
        remarks=[*remarks, *cautions],
        data={
            result.label: {"report": report, "types": by_type[result.label]}
            for result, report in shown.items()
        },
    )


def exchange(results: Sequence[Result]) -> Section | None:
    """Return shares before and after the answer, by type; None if no run allowed questions."""
    shown = [result for result in results if result.exchanges]
    if not shown:
        return None
    rows: list[list[Cell]] = []
    data: dict[str, Any] = {}
    for result in shown:
        exchanges = result.exchanges
        users = dict.fromkeys("person" if "/" not in each.user else each.user for each in exchanges)
        data[result.label] = {"users": [*users]}
        for kind in (ALL, *dict.fromkeys(each.before.item.type for each in exchanges)):
            of_kind = [each for each in exchanges if kind in (ALL, each.before.item.type)]
            measured = exchange_measures(of_kind)
            when_needed, when_not = (measured[name] for name in ASKED)
            data[result.label][kind] = {**measured, "asked": when_needed or when_not}
            values = (measured[name] for name in ("right before", "right after", "questions", RELEVANT))
            names = (result.method_name, result.name, SHORT.get(kind, kind))
            rows.append([*names, *values, len(of_kind)])
    asked: Columns = {
        **{name: partial(lambda name, result: data[result.label][ALL][name], name) for name in ASKED},
        Column("episodes", 0): lambda result: len(result.exchanges),
    }
    heads = ("method", "robot", "type", "right before", "right after", "questions", "relevant")
    right = Table([*heads, Column("episodes", 0)], rows, name="right")
    return Section(
        name="exchange",
        title="Before and after the answer",
        tables=[result_table(shown, asked, name="asked"), right],
        remarks=[remark("tables", "right")],
        data=data,
    )


TABLES: Final[tuple[Callable[[Sequence[Result]], Section | None], ...]] = (
    *(table_3, table_6, table_7, table_8, table_9, table_ssc),
    *(asking, coverage, exchange),
)


def _section(
    name: str,
    title: str,
    results: Sequence[Result],
    columns: Columns,
    *,
    below: Sequence[Any] = (),
    **parts: Any,
) -> Section | None:
    tables = [result_table(results, columns, below=below)]
    return Section(name=name, title=title, tables=tables, **parts) if results else None


def _of_pairs(results: Iterable[Result]) -> list[Result]:
    return [result for result in results if result.dataset == "ambik"]


def _by_type(measure: str) -> dict[str, Callable[[Result], Interval | None]]:
    """Return a column for each type, with one measure of `TypeMeasures`."""

    def interval(kind: TaskType, result: Result) -> Interval | None:
        measured: Measure | None = getattr(result.measures.find_type(kind), measure, None)
        return None if measured is None else measured.interval

    return {SHORT[kind]: partial(interval, kind) for kind in TASK_TYPES}


def _printed_columns(values: Mapping[str, Sequence[float | None]]) -> dict[Column, Callable[[Result], Cell]]:
    """Return a column for each of the paper's models, with its printed value for the method."""

    def cell(place: int, result: Result) -> float | None:
        printed = values.get(result.method)
        return None if printed is None else _number(printed[place])

    models = paper()["models"] if values else ()
    return {Column(model, 2): partial(cell, place) for place, model in enumerate(models)}


def _methods(results: Iterable[Result]) -> list[Any]:
    """Return the paper's methods among the results, in its order."""
    present = {result.method for result in results}
    return [method for method in METHODS if method in present]


def _notes(printed: Any, *names: str) -> list[str]:
    return [" ".join(paper()["notes"][name].split()) for name in names] if printed else []


def _number(value: float | None) -> float | None:
    return None if value is None else float(value)


def _q_hat(value: float) -> str:
    return "infinite" if value == float("inf") else f"{value:.4f}"
