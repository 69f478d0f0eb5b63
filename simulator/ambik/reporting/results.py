"""Results: groups of decisions with their sets and measures (spec 7, 10).

Sets are made of what was logged, with the run's settings or others; a model is not needed. Where the settings
on which a threshold rests are others, it is taken anew from the calibration's decisions.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Final

from simulator.ambik.measuring.measures import Measures, measures
from simulator.ambik.records import Calibrated, Outcome
from simulator.ambik.reporting.groups import BASELINE, Group
from simulator.ambik.reporting.settings import OF_SCORES, Switches
from simulator.ambik.sets.coverage import CoverageReport, report_of
from simulator.ambik.sets.predicting import calibrate, outcome
from simulator.ambik.settings import Settings
from simulator.ambik.terms import CONFORMAL, METHODS
from simulator.errors import InputError

_ORDER: Final = (*METHODS, "offline", "person", BASELINE)
_CLOSE: Final = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Result:
    """A group with its sets.

    Attributes:
        name: the robot's in tables, told apart from others of the same method.
        calibrated: the threshold; None of methods that have none.
        coverage: the report on it; None likewise, and where what it rests on is not at hand.
    """

    group: Group
    name: str
    settings: Settings
    outcomes: tuple[Outcome, ...]
    measures: Measures
    calibrated: Calibrated | None = None
    coverage: CoverageReport | None = None
    remarks: tuple[str, ...] = ()

    @property
    def label(self) -> str:
        """Method and robot in one line."""
        return f"{self.group.method_name}, {self.name}"


def results_of(groups: Sequence[Group], switches: Switches | None = None) -> tuple[Result, ...]:
    """Return sets and measures of groups, by method; names tell apart those of one method.

    Raises:
        InputError: if a group cannot be calibrated, or not with these settings.
    """
    ordered = sorted(groups, key=lambda group: _ORDER.index(group.method))
    names = [", ".join(filter(None, (group.robot, group.conditions))) for group in ordered]
    methods = [group.method for group in ordered]
    alike, seen = Counter(zip(methods, names, strict=True)), Counter[tuple[str, str]]()
    results = []
    for group, name in zip(ordered, names, strict=True):
        key = group.method, name
        seen[key] += 1
        results.append(_result(group, f"{name} ({seen[key]})" if alike[key] > 1 else name, switches or {}))
    return tuple(results)


def _result(group: Group, name: str, switches: Switches) -> Result:
    settings = replace(group.settings, **switches)
    calibrated, remarks = _calibrated(group, settings, switches)
    outcomes = tuple(outcome(decision, calibrated, settings) for decision in group.decisions)
    report = None
    if calibrated is not None and len(calibrated.nonconformities) == calibrated.n:
        report = report_of(calibrated, outcomes, settings)
    return Result(
        group=group,
        name=name,
        settings=settings,
        outcomes=outcomes,
        measures=measures(outcomes, settings),
        calibrated=calibrated,
        coverage=report,
        remarks=remarks,
    )


def _calibrated(
    group: Group, settings: Settings, switches: Switches
) -> tuple[Calibrated | None, tuple[str, ...]]:
    """Return the threshold, and what is to be said of it."""
    if group.method not in CONFORMAL:
        return None, ()
    changed = [name for name in switches if name in OF_SCORES and _differs(name, group.settings, settings)]
    then = group.logged
    if group.calibration:
        now = calibrate(group.calibration, settings, run=group.calibration[0].run)
        if changed or then is None or then.q_hat == now.q_hat or abs(then.q_hat - now.q_hat) < _CLOSE:
            return now, ()
        return now, (
            f"{group.source}: was played with the threshold {then.q_hat:.4f} of {then.n} items; the "
            f"calibration as it is now gives {now.q_hat:.4f} of {now.n}, which is used here",
        )
    if changed:
        options = ", ".join(f"--{name.replace('_', '-')}" for name in changed)
        raise InputError(
            f"{group.source}: the decisions that {group.method_name} was calibrated on are not at hand, so "
            f"{options} cannot be changed; name a file of them with --calibration, or a log that has them"
        )
    if then is None:
        raise InputError(
            f"{group.source}: {group.method_name} has no prediction sets without a calibration, and neither "
            "a threshold nor calibration rows are in it; name a file of them with --calibration"
        )
    return then, (f"{group.source}: the threshold is the logged one; what it rests on is not at hand",)


def _differs(name: str, then: Settings, now: Settings) -> bool:
    return bool(getattr(then, name) != getattr(now, name))


def settings_statement(results: Sequence[Result]) -> tuple[str, ...]:
    """Return what was changed after the runs were played, a sentence; none if nothing was."""
    changes = dict.fromkeys(
        f"{part.name} = {getattr(result.settings, part.name)} instead of "
        f"{getattr(result.group.settings, part.name)}"
        for result in results
        for part in fields(Settings)
        if _differs(part.name, result.group.settings, result.settings)
    )
    if not changes:
        return ()
    return (
        f"Sets are made anew of what was logged, with {'; '.join(changes)}; no model was asked. What robots "
        "asked while they played, and what came of it, stays as it was.",
    )
