"""The paper's tables of several results side by side, all with 95 % intervals (spec 10.2, 12)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

from simulator.ambik.measuring.measures import Measure, TypeMeasures
from simulator.ambik.reporting.groups import BASELINE, Result, reference_values
from simulator.ambik.reporting.paper import is_published, paper
from simulator.ambik.reporting.section import Section
from simulator.ambik.terms import METHODS, NAMES, TASK_TYPES, TaskType
from simulator.figures import Cell, Column, Table
from simulator.stats import Interval

SHORT: Final[Mapping[TaskType, str]] = {
    "unambiguous_direct": "clear",
    "preferences": "preferences",
    "common_sense_knowledge": "common sense",
    "safety": "safety",
}
"""Types as they stand above columns."""
_HEAD: Final = ("method", "robot")
_SUFFIX: Final = "paper: "


def table_3(results: Sequence[Result]) -> Section | None:
    """AmbDif; None if no result has both members of a pair."""
    some = [one for one in _pairs(results) if one.measures.ambdif.n]
    if not some:
        return None
    printed = paper()["table_3"] if is_published(some) else {}
    rows: list[list[Cell]] = [
        [*_names(one), one.measures.ambdif.interval, one.measures.ambdif.n, *_beside(printed, one)]
        for one in some
    ]
    heads: tuple[Column | str, ...] = (*_HEAD, "AmbDif", Column("pairs", 0), *(_models() if printed else ()))
    remarks = [
        f"{one.label}: {sum(one.measures.ambdif.left_out.values())} tasks without the other member left out"
        for one in some
        if one.measures.ambdif.left_out
    ]
    return _section(
        "table_3",
        Table(heads, rows, "Table 3: AmbDif"),
        some,
        {one.label: one.measures.ambdif for one in some},
        [*remarks, *_orientation(printed)],
    )


def table_6(results: Sequence[Result]) -> Section | None:
    """Thresholds, with what the published code would have for one; None if nothing was calibrated."""
    some = [one for one in results if one.calibrated is not None]
    if not some:
        return None
    printed = paper()["table_6"] if is_published(_pairs(some)) else {}
    rows: list[list[Cell]] = []
    data: dict[str, Any] = {}
    for one in some:
        found, reference = one.calibrated, reference_values(one)
        assert found is not None
        infinite = found.q_hat == float("inf")
        told: Cell = "infinite" if infinite else f"{found.q_hat:.4f}"
        value = None if reference is None or reference.q_hat == float("inf") else reference.q_hat
        counted: list[Cell] = [told, found.n, found.rank]
        rows.append([*_names(one), *counted, value, *_beside(printed, one)])
        data[one.label] = {
            "q_hat": found.q_hat,
            "n": found.n,
            "epsilon": found.epsilon,
            "rank": found.rank,
            "without": found.without,
            "unknown": found.unknown,
            "run": found.run,
            "reference_value": value,
            "reference_usable": False,
        }
    counts = (Column("n", 0), Column("rank", 0))
    heads: tuple[Column | str, ...] = (
        *_HEAD,
        "q-hat",
        *counts,
        Column("CP value", 2),
        *(_models() if printed else ()),
    )
    title = "Table 6: thresholds; the published code's CP value is not usable as one"
    remarks = [
        "CP value: the upper quantile of the scores of all right options, as the published code takes it. It "
        "is there to be compared with the paper's and must not be used as a threshold."
    ]
    remarks += [
        f"{one.label}: of {one.calibrated.without} calibration items no option is right"
        for one in some
        if one.calibrated is not None and one.calibrated.without
    ]
    return _section(
        "table_6", Table(heads, rows, title), some, data, [*remarks, *_notes(printed, "models", "table_6")]
    )


def table_7(results: Sequence[Result]) -> Section | None:
    """ICR by type, for full plans and for the action alone."""
    some = [one for one in _pairs(results) if one.measures.overall.icr.n]
    if not some:
        return None
    rows = [[*_names(one), *(_cell(one, kind, lambda of: of.icr) for kind in TASK_TYPES)] for one in some]
    published = is_published(some)
    if published:
        methods = _methods(some)
        for context, title in (("full_plan", "full"), ("action_only", "action only")):
            printed = paper()["table_7"][context]
            rows += [[NAMES[method], f"paper, {title}", *map(float, printed[method])] for method in methods]
    return _section(
        "table_7",
        Table([*_HEAD, *SHORT.values()], rows, "Table 7: ICR"),
        some,
        {one.label: _by_type(one, lambda of: of.icr) for one in some},
        [
            *_left_out(some, "ICR", lambda of: of.icr),
            *(_notes({"": 1}, "table_7", "nohelp") if published else ()),
        ],
    )


def table_8(results: Sequence[Result]) -> Section | None:
    """Help rate and success rate on KnowNo's scenarios."""
    some = [one for one in results if one.group.dataset == "knowno"]
    if not some:
        return None
    rows: list[list[Cell]] = []
    for one in some:
        of = one.measures.overall
        rows.append([*_names(one), of.hr.interval, of.coverage.interval, of.set_size.interval, of.tasks])
    published = is_published(some)
    if published:
        rows += [
            [
                NAMES[method],
                _SUFFIX.strip(": "),
                *(_number(value) for value in paper()["table_8"][method]),
                None,
                None,
            ]
            for method in _methods(some)
        ]
    heads = (*_HEAD, "help rate", "success rate", "set size", Column("tasks", 0))
    data = {
        one.label: {"help_rate": one.measures.overall.hr, "success_rate": one.measures.overall.coverage}
        for one in some
    }
    notes = _notes({"": 1}, "table_8") if published else ()
    return _section("table_8", Table(heads, rows, "Table 8: KnowNo's scenarios"), some, data, notes)


def table_9(results: Sequence[Result]) -> Section | None:
    """CHR and HR by type."""
    some = _pairs(results)
    if not some:
        return None
    published = is_published(some)
    tables = {}
    for name, of in _ASKING.items():
        rows = [[*_names(one), *(_cell(one, kind, of) for kind in TASK_TYPES)] for one in some]
        if published:
            rows += [
                [NAMES[row["method"]], f"{_SUFFIX}{row['model']}", *map(float, row[name])]
                for row in paper()["table_9"]
                if row["method"] in _methods(some)
            ]
        title = f"Table 9: {name.upper()} ({_WORDS[name]})"
        tables[name] = Table([*_HEAD, *SHORT.values()], rows, title)
    counted = {one.label: {name: _by_type(one, of) for name, of in _ASKING.items()} for one in some}
    remarks = [_tasks(some), *(_notes({"": 1}, "table_9", "orientation") if published else ())]
    return Section(
        kind="table_9",
        name="",
        title="Table 9: asking by type",
        tables=tables,
        data=counted,
        remarks=tuple(remarks),
    )


_ASKING: Final[Mapping[str, Callable[[TypeMeasures], Measure]]] = {
    "chr": lambda one: one.chr,
    "hr": lambda one: one.hr,
}
_WORDS: Final = {"chr": "asks where it should, and not where it should not", "hr": "asks"}


def table_ssc(results: Sequence[Result]) -> Section | None:
    """SSC, of preferences with a shortlist."""
    some = [one for one in _pairs(results) if one.measures.overall.ssc.n]
    if not some:
        return None
    rows: list[list[Cell]] = [
        [*_names(one), one.measures.overall.ssc.interval, one.measures.overall.ssc.n] for one in some
    ]
    data = {one.label: one.measures.overall.ssc for one in some}
    heads = (*_HEAD, "SSC", Column("tasks", 0))
    title = "SSC (Fig. 4): overlap of set and shortlist, preferences alone"
    return _section("ssc", Table(heads, rows, title), some, data)


def _pairs(results: Iterable[Result]) -> list[Result]:
    return [one for one in results if one.group.dataset == "ambik"]


def _names(one: Result) -> list[Cell]:
    return [one.group.method_name, one.name]


def _models() -> tuple[Column, ...]:
    return tuple(Column(name, 2) for name in paper()["models"])


def _beside(printed: Mapping[str, Sequence[float | None]], one: Result) -> list[Cell]:
    """What the paper prints of the method; nothing where the data are not the published ones."""
    if not printed:
        return []
    return list(map(_number, printed.get(one.group.method, [None] * len(paper()["models"]))))


def _number(value: float | None) -> float | None:
    return None if value is None else float(value)


def _methods(results: Iterable[Result]) -> list[Any]:
    """Methods of the paper that are there, in its order."""
    there = {one.group.method for one in results}
    return [method for method in METHODS if method in there]


def _cell(one: Result, kind: TaskType, of: Callable[[TypeMeasures], Measure]) -> Interval | None:
    found = one.measures.of(kind)
    return None if found is None else of(found).interval


def _by_type(one: Result, of: Callable[[TypeMeasures], Measure]) -> dict[str, Measure]:
    return {kind.type: of(kind) for kind in (one.measures.overall, *one.measures.types)}


def _tasks(results: Iterable[Result]) -> str:
    """How many tasks stand behind each column."""
    counts: dict[str, None] = {}
    for one in results:
        told = ", ".join(f"{SHORT.get(kind.type, kind.type)} {kind.tasks}" for kind in one.measures.types)  # type: ignore[call-overload]
        counts[told] = None
    return f"tasks: {'; or '.join(counts)}"


def _left_out(
    results: Iterable[Result], title: str, of: Callable[[TypeMeasures], Measure]
) -> tuple[str, ...]:
    """Why rows do not count for a measure."""
    told: dict[str, None] = {}
    for one in (each for each in results if each.group.method != BASELINE):
        reasons = of(one.measures.overall).left_out
        if reasons:
            said = ", ".join(f"{count} with {why}" for why, count in reasons.items())
            told[f"{title} of {one.label}: not counted {said}"] = None
    return tuple(told)


def _orientation(printed: Mapping[str, Any]) -> tuple[str, ...]:
    return _notes(printed, "models", "orientation")


def _notes(printed: Mapping[str, Any], *names: str) -> tuple[str, ...]:
    return tuple(" ".join(paper()["notes"][name].split()) for name in names) if printed else ()


def _section(
    kind: str, table: Table, results: Sequence[Result], data: Mapping[str, Any], remarks: Iterable[str] = ()
) -> Section:
    return Section(
        kind=kind,
        name="",
        title=table.title,
        tables={"": Table(table.columns, table.rows)},
        data=data,
        remarks=tuple(remarks),
    )


PAPER_TABLES: Final = (table_3, table_6, table_7, table_8, table_9, table_ssc)
