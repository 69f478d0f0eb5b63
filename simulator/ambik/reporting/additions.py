"""What the paper does not print: asking in all, coverage and its promise, before and after (spec 10.1)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from simulator.ambik.cautions import MARGINAL
from simulator.ambik.measuring.outcome_rows import ALL
from simulator.ambik.records import Exchange
from simulator.ambik.reporting.groups import Result
from simulator.ambik.reporting.section import Section
from simulator.ambik.reporting.tables import SHORT
from simulator.ambik.summary import RELEVANT, exchange_measures
from simulator.figures import Cell, Column, Table
from simulator.stats import Interval

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
_ASK: Final = ("asked when needed", "asked when not needed")


def asking(results: Sequence[Result]) -> Section:
    """Right decisions to ask or not, CHR over the types, sizes of sets, what was left out of them."""
    rows: list[list[Cell]] = []
    sizes: list[list[Cell]] = []
    for one in results:
        found, names = one.measures, [one.group.method_name, one.name]
        rows.append([*names, found.accuracy.interval, found.macro_chr, found.overall.hr.interval])
        sizes.append([*names, found.overall.set_size.interval, found.overall.empty.interval, found.fillers])
    head = ("method", "robot")
    flags = [
        f"{one.label}: {', '.join(f'{name} {count}' for name, count in one.measures.flags.items())}"
        for one in results
        if one.measures.flags
    ]
    return Section(
        kind="asking",
        name="",
        title="To ask or not, over all tasks; sets",
        tables={
            "asking": Table([*head, "right to ask or not", "CHR over types", "asks"], rows),
            "sets": Table([*head, "set size", "empty sets", Column("fillers left out", 0)], sizes),
        },
        remarks=(
            *(
                ["CHR over types: plain average; one that never asks has 0.75."]
                if _has_macro(results)
                else []
            ),
            *(f"flags of {line}" for line in flags),
        ),
        data={one.label: one.measures for one in results},
    )


def _has_macro(results: Sequence[Result]) -> bool:
    return any(one.measures.macro_chr is not None for one in results)


def coverage(results: Sequence[Result]) -> Section | None:
    """What calibrations promise, what came of it, and by type what is not promised; None without any."""
    some = [(one, one.coverage) for one in results if one.coverage is not None]
    if not some:
        return None
    promised: list[list[Cell]] = []
    types: list[list[Cell]] = []
    told: dict[str, None] = {}
    for one, report in some:
        names: list[Cell] = [one.group.method_name, one.name]
        reference = one.settings.cp_rule == "reference"
        law = "" if reference else f"{report.promised.low:.2f} to {report.promised.high:.2f}"
        q_hat = "infinite" if report.q_hat == float("inf") else f"{report.q_hat:.4f}"
        counted: list[Cell] = [report.n, report.epsilon, report.rank, q_hat]
        promised.append([*names, *counted, report.coverage, law, report.tested - report.unknown])
        types.append([*names, *_by_type(one)])
        told |= {f"{one.label}: {warning}": None for warning in report.warnings}
        if report.kept is False and not reference:
            told[f"{one.label}: coverage lies outside of the range that the law predicts"] = None
    head = ("method", "robot")
    counts = (Column("n", 0), Column("epsilon", 2), Column("rank", 0), "q-hat")
    pairs = any(one.group.dataset == "ambik" for one, _ in some)
    tables = {"promised": Table([*head, *counts, "coverage", "predicted", Column("known", 0)], promised)}
    if pairs:
        tables["types"] = Table([*head, *SHORT.values()], types, "Coverage by type: shown, not promised")
    return Section(
        kind="coverage",
        name="",
        title="Coverage: what was promised, and what came of it",
        tables=tables,
        remarks=(
            "coverage: Clopper-Pearson interval; predicted: 95 % range of the beta-binomial law, given so "
            "many calibration items; known: sets whose right option is known.",
            str(MARGINAL),
            *([RIGHT_BY_INTENT] if pairs else []),
            *told,
        ),
        data={
            one.label: {"report": report, "types": dict(zip(SHORT, _by_type(one), strict=True))}
            for one, report in some
        },
    )


def _by_type(one: Result) -> list[Cell]:
    found = [one.measures.of(kind) for kind in SHORT]
    return [None if each is None else each.coverage.interval for each in found]


def exchange(results: Sequence[Result]) -> Section | None:
    """Before and after what was answered, by type; None if nobody could ask in any run."""
    some = [one for one in results if one.group.exchanges]
    if not some:
        return None
    rows: list[list[Cell]] = []
    asked: list[list[Cell]] = []
    data: dict[str, Any] = {}
    for one in some:
        held = one.group.exchanges
        whole = exchange_measures(held)
        asked.append([one.group.method_name, one.name, *(whole[name] for name in _ASK), len(held)])
        data[one.label] = {"users": _users(held)}
        for kind in (ALL, *dict.fromkeys(each.before.item.type for each in held)):
            mine = [each for each in held if kind in (ALL, each.before.item.type)]
            found = exchange_measures(mine)
            title = SHORT.get(kind, kind)  # type: ignore[call-overload]
            data[one.label][kind] = {**found, "asked": _asked(found, whole if kind == ALL else found)}
            values = (found["right before"], found["right after"], found["questions"], found[RELEVANT])
            rows.append([one.group.method_name, one.name, title, *values, len(mine)])
    return Section(
        kind="exchange",
        name="",
        title="Before and after the answer",
        tables={
            "asked": Table(["method", "robot", *_ASK, Column("episodes", 0)], asked),
            "right": Table(
                [
                    *("method", "robot", "type", "right before", "right after", "questions", "relevant"),
                    Column("episodes", 0),
                ],
                rows,
            ),
        },
        remarks=(
            "right: the action holds the whole intent and names none of the alternatives; what it adds in "
            "brackets does not count. before: what the robot would have done at first. One that ends with a "
            "question, or names no action, counts as neither. relevant: questions that ask for what is open, "
            "of those about ambiguous tasks.",
        ),
        data=data,
    )


def _asked(found: Any, whole: Any) -> Interval | None:
    """How often it asked in tasks of one type; of all there is no one share that says more than the two."""
    if found is whole and found[_ASK[0]] is not None and found[_ASK[1]] is not None:
        return None
    value: Interval | None = found[_ASK[0]] or found[_ASK[1]]
    return value


def _users(held: Sequence[Exchange]) -> list[str]:
    return list(dict.fromkeys("person" if "/" not in one.user else one.user for one in held))


def statements(results: Sequence[Result]) -> tuple[str, ...]:
    """What holds of the whole report under its switches."""
    told = []
    if any(one.settings.help == "original" and one.settings.tokens == "raw_top5" for one in results):
        told.append(COUNTS_TOKENS)
    if any(one.settings.metrics == "reference" for one in results):
        told.append(REFERENCE_METRICS)
    return tuple(told)


ADDITIONS: Final = (asking, coverage, exchange)
