"""A published run of KnowNo: thresholds under every rule, help and success on its own items (spec 7, 9)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any, Final, get_args

from simulator.ambik import conformal
from simulator.ambik.cautions import MARGINAL
from simulator.ambik.files.knowno import Logprobs, decisions_of
from simulator.ambik.measuring.measures import Measures, measures
from simulator.ambik.records import Calibrated, Decision
from simulator.ambik.reporting.settings import NONE, Switches
from simulator.ambik.reporting.tables import COUNTS_TOKENS
from simulator.ambik.sets.coverage import CoverageReport, report_of
from simulator.ambik.sets.predicting import Prepared, calibrate_prepared, outcome_prepared, prepared
from simulator.ambik.settings import DEFAULT, Quantile, Settings, Tokens
from simulator.errors import InputError
from simulator.figures import Cell, Column, Table
from simulator.reporting import Section, file_section
from simulator.stats import Interval

TOKENS: Final[tuple[Tokens, ...]] = get_args(Tokens)
QUANTILES: Final[tuple[Quantile, ...]] = get_args(Quantile)
IN_SAMPLE: Final = (
    "In the set and help rate are of the calibration items themselves; left out: each item's set is made "
    "with the threshold of all others, which is what coverage can be told of."
)


@dataclass(frozen=True, slots=True)
class Rule:
    """What comes of one rule.

    Attributes:
        settings: the rule.
        calibrated: its threshold; `order` says which of the nonconformities it is.
        by_size: measures if a set of more than one option asks.
        by_original: measures if one that has not exactly one, or the fifth option, does.
        left_out: coverage of items by the threshold of all others.
        report: on the calibration.
    """

    settings: Settings
    calibrated: Calibrated
    order: int
    by_size: Measures
    by_original: Measures
    left_out: Interval | None
    report: CoverageReport


def logprobs_section(
    records: Sequence[Logprobs], file: str, *, left_out: int = 0, switches: Switches = NONE
) -> Section:
    """`rules_section` of a published file.

    Args:
        records: of the file.
        file: where they are from.
        left_out: records that could not be read.
        switches: all but tokens, quantile and the rule of help, which are all told.

    Raises:
        InputError: if the records cannot be scored.
    """
    run = [decision for decision in decisions_of(records, file) if decision.item.part == "calibration"]
    if not run:
        raise InputError(
            f"{file}: no record is of the split calib, so there is nothing to take a threshold of"
        )
    section = rules_section(run, Path(file).stem, files=(file,), left_out=left_out, switches=switches)
    if len(run) == len(records):
        return section
    message = (
        f"{len(records) - len(run)} records of the split test are not calibrated on; `askback import "
        "ambik-results` makes tests of them"
    )
    return replace(section, remarks=(message, *section.remarks))


def rules_section(
    run: Sequence[Decision],
    name: str,
    *,
    files: tuple[str, ...] = (),
    left_out: int = 0,
    switches: Switches = NONE,
) -> Section:
    """Thresholds by tokens and quantile, with what they do on the same items.

    Args:
        run: KnowNo's decisions on calibration items, which say which options are right.
        name: of the run or file.
        files: where they are from.
        left_out: records that could not be read.
        switches: all but tokens, quantile and the rule of help, which are all told.

    Raises:
        InputError: if the decisions cannot be scored.
    """
    base = replace(switches.over(DEFAULT), cp_rule="split", not_listed=True)
    rules = [
        _rule(run, replace(base, tokens=tokens, quantile=quantile))
        for tokens, quantile in product(TOKENS, QUANTILES)
    ]
    first = rules[0].calibrated
    return file_section(
        "knowno_run",
        name,
        title="A KnowNo run: thresholds by rule, and what they do on the run's own items",
        files=files,
        rows=len(run),
        left_out=left_out,
        tables=[_thresholds(rules), _help(rules)],
        remarks=(
            f"n {first.n}, epsilon {first.epsilon:g}, rank {first.rank}, temperature {base.temperature:g}; "
            f"{first.without} items have no right option",
            IN_SAMPLE,
            COUNTS_TOKENS,
            str(MARGINAL),
            *map(str, rules[0].report.warnings),
        ),
        data={
            "n": first.n,
            "epsilon": first.epsilon,
            "rank": first.rank,
            "rules": {f"{rule.settings.tokens}.{rule.settings.quantile}": _plain(rule) for rule in rules},
        },
    )


def _rule(run: Sequence[Decision], settings: Settings) -> Rule:
    ready = [prepared(one, settings) for one in run]
    calibrated = calibrate_prepared(ready, settings)
    # Both rules are told, whichever is chosen: each under its own name.
    settings = replace(settings, help="size")
    outcomes = [outcome_prepared(one, calibrated.q_hat, settings) for one in ready]
    original = replace(settings, help="original")
    asked = [outcome_prepared(one, calibrated.q_hat, original) for one in ready]
    return Rule(
        settings=settings,
        calibrated=calibrated,
        order=conformal.order(calibrated.n, _epsilon(settings), settings.quantile),
        by_size=measures(outcomes, settings),
        by_original=measures(asked, original),
        left_out=_left_out(ready, calibrated.nonconformities, settings),
        report=report_of(calibrated, outcomes, settings),
    )


def _left_out(
    ready: Sequence[Prepared], nonconformities: Sequence[float], settings: Settings
) -> Interval | None:
    """Return each item against the threshold of all others."""
    known = [one for one in ready if one.known]
    if len(known) < 2 or len(known) != len(nonconformities):  # with repeats of items, "all others" are not
        return None
    ordered = sorted(range(len(known)), key=nonconformities.__getitem__)
    values = [nonconformities[place] for place in ordered]
    order = conformal.order(len(values) - 1, _epsilon(settings), settings.quantile)
    # Whichever of the smaller ones is missing, the threshold is the same, and so for the larger ones.
    near = range(max(0, order - 3), min(len(values), order + 3))
    q_hats = {
        place: conformal.threshold(
            [*values[:place], *values[place + 1 :]], _epsilon(settings), settings.quantile
        )
        for place in near
    }
    covered = 0
    for place, item in enumerate(ordered):
        q_hat = q_hats[min(max(place, near[0]), near[-1])]
        covered += bool(outcome_prepared(known[item], q_hat, settings).covered)
    return conformal.coverage(covered, len(known))


def _epsilon(settings: Settings) -> Any:
    return conformal.epsilon_of(settings.target_success)


def _thresholds(rules: Sequence[Rule]) -> Table:
    rows: list[list[Cell]] = []
    for rule in rules:
        finite = rule.calibrated.q_hat != float("inf")
        success = rule.by_size.overall.coverage.interval
        place = f"{rule.order} and next" if rule.settings.quantile == "numpy_linear" else str(rule.order)
        names: list[Cell] = [rule.settings.tokens, rule.settings.quantile, place]
        rows.append([*names, rule.calibrated.q_hat if finite else None, success, rule.left_out])
    heads = ("tokens", "quantile", "which", Column("q-hat", 6), "in the set", "left out")
    return Table(heads, rows, "Thresholds", "thresholds")


def _help(rules: Sequence[Rule]) -> Table:
    rows: list[list[Cell]] = [
        [
            rule.settings.tokens,
            rule.settings.quantile,
            rule.by_size.overall.hr.interval,
            rule.by_original.overall.hr.interval,
            rule.by_size.overall.set_size.interval,
            rule.by_size.overall.empty.interval,
        ]
        for rule in rules
    ]
    heads = ("tokens", "quantile", "asks, by size", "asks, original", "set size", "empty sets")
    return Table(heads, rows, "Help", "help")


def _plain(rule: Rule) -> dict[str, Any]:
    return {
        "q_hat": rule.calibrated.q_hat,
        "order": rule.order,
        "success_rate": rule.by_size.overall.coverage,
        "help_rate": {"size": rule.by_size.overall.hr, "original": rule.by_original.overall.hr},
        "set_size": rule.by_size.overall.set_size,
        "empty": rule.by_size.overall.empty,
        "left_out_coverage": rule.left_out,
        "report": rule.report,
    }
