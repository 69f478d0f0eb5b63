"""Results: groups of decisions with their sets and measures (spec 7, 10).

Sets are made of what was logged, with the run's settings or others; a model is not needed. Where the settings
on which a threshold rests are others, it is taken anew from the calibration's decisions.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Annotated, Any, Final, Literal, get_args, get_type_hints

import typer
from pydantic import Field, create_model

from simulator.ambik.coverage import CoverageReport, report_of
from simulator.ambik.measures import Measures, measures
from simulator.ambik.predicting import calibrate, outcome
from simulator.ambik.records import Calibrated, Outcome
from simulator.ambik.reporting.groups import BASELINE, Group
from simulator.ambik.terms import CONFORMAL, DEFAULT, METHODS, Settings
from simulator.errors import InputError
from simulator.fields import Fields
from simulator.jsonlines import DuplicatesOption

Switches = Mapping[str, Any]
"""Settings, by field of `Settings`, that are laid over those of a run."""
OF_SCORES: Final = (
    *("target_success", "temperature", "tokens", "quantile", "cp_rule", "calibration_truth", "renormalise"),
    *("entropy_weight", "similarity_weight"),
)
"""Settings on which a threshold rests: with others it has to be taken anew."""
_SWITCHES: Final = tuple(field.name for field in fields(Settings) if field.name != "not_listed")
"""Settings that need no other decisions: whether there is a fifth option is in what was logged."""


class ReportSettings(Fields):
    """The settings of a report; those of prediction sets are fields of `REPORT_SETTINGS`."""

    calibration: Annotated[
        tuple[Path, ...], typer.Option(help="a file of decisions on calibration items; may be repeated")
    ] = ()
    data: str | None = Field(
        default=None,
        description="the pairs that files of decisions are of, where they do not say: a name or a path",
    )
    part: Literal["all", "released", "added"] = Field(
        default="all",
        description="of the pairs: of the paper's kind, or as added in 2025; all: both, separately",
    )
    task: Annotated[
        tuple[str, ...],
        typer.Option(help="App. K: show scene, plans and all sets of this pair (or all); may be repeated"),
    ] = ()
    lines: Path | None = Field(
        default=None, description="write every decision of the runs, JSON lines, calibrations first"
    )
    export: Path | None = Field(
        default=None, description="write the runs' decisions and a table of results into this folder"
    )
    duplicates: DuplicatesOption = "refuse"

    @property
    def switches(self) -> Switches:
        """The settings of prediction sets that were chosen."""
        chosen = {name: getattr(self, name, None) for name in _SWITCHES}
        return {name: value for name, value in chosen.items() if value is not None}


def _optional_field(name: str) -> tuple[Any, None]:
    """Return a field of `Settings` as one that may be left open."""
    kind, *extras = get_args(get_type_hints(Settings, include_extras=True)[name])
    described = next(extra.description for extra in extras if getattr(extra, "description", None))
    usual = getattr(DEFAULT, name)
    of_files = "" if usual is None else f", of files {usual}"
    help = f"{described}; default: as in the run{of_files}"
    return Annotated[(kind | None, *extras, Field(description=help))], None


_FIELDS: Final[dict[str, Any]] = {name: _optional_field(name) for name in _SWITCHES}
REPORT_SETTINGS: Final = create_model("REPORT_SETTINGS", __base__=ReportSettings, **_FIELDS)
"""`ReportSettings` with every switch of prediction sets; None, where nobody chose, is as a run was played."""


_ORDER: Final = (*METHODS, "offline", "person", BASELINE)
_CLOSE: Final = 1e-9


@dataclass(frozen=True, kw_only=True, eq=False)
class Result(Group):
    """A group with its sets, under `settings`.

    Attributes:
        name: the robot's in tables, told apart from others of the same method.
        played: the settings of the run.
        calibrated: the threshold; None of methods that have none.
        coverage: the report on it; None likewise, and where what it rests on is not at hand.
    """

    name: str
    played: Settings
    outcomes: tuple[Outcome, ...]
    measures: Measures
    calibrated: Calibrated | None = None
    coverage: CoverageReport | None = None
    remarks: tuple[str, ...] = ()

    @property
    def label(self) -> str:
        """Method and robot in one line."""
        return f"{self.method_name}, {self.name}"


def results_of(groups: Sequence[Group], switches: Switches | None = None) -> tuple[Result, ...]:
    """Return sets and measures of groups, by method; names tell apart those of one method."""
    ordered = sorted(groups, key=lambda group: _ORDER.index(group.method))
    keys = [(group.method, ", ".join(filter(None, (group.robot, group.conditions)))) for group in ordered]
    alike, seen = Counter(keys), Counter[tuple[str, str]]()
    results = []
    for group, key in zip(ordered, keys, strict=True):
        seen[key] += 1
        name = f"{key[1]} ({seen[key]})" if alike[key] > 1 else key[1]
        results.append(_result(group, name, switches or {}))
    return tuple(results)


def _result(group: Group, name: str, switches: Switches) -> Result:
    settings = replace(group.settings, **switches)
    calibrated, remarks = _threshold_of(group, settings, switches)
    outcomes = tuple(outcome(decision, calibrated, settings) for decision in group.decisions)
    report = None
    if calibrated is not None and len(calibrated.nonconformities) == calibrated.n:
        report = report_of(calibrated, outcomes, settings)
    return Result(
        **{**vars(group), "settings": settings},
        name=name,
        played=group.settings,
        outcomes=outcomes,
        measures=measures(outcomes, settings),
        calibrated=calibrated,
        coverage=report,
        remarks=remarks,
    )


def _threshold_of(
    group: Group, settings: Settings, switches: Switches
) -> tuple[Calibrated | None, tuple[str, ...]]:
    """Return the threshold, and what is to be said of it."""
    if group.method not in CONFORMAL:
        return None, ()
    changed = [
        name for name in switches if name in OF_SCORES and _has_changed(name, group.settings, settings)
    ]
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


def _has_changed(name: str, then: Settings, now: Settings) -> bool:
    return bool(getattr(then, name) != getattr(now, name))


def settings_statement(results: Sequence[Result]) -> tuple[str, ...]:
    """Return what was changed after the runs were played, a sentence; none if nothing was."""
    changes = dict.fromkeys(
        f"{part.name} = {getattr(result.settings, part.name)} instead of {getattr(result.played, part.name)}"
        for result in results
        for part in fields(Settings)
        if _has_changed(part.name, result.played, result.settings)
    )
    if not changes:
        return ()
    return (
        f"Sets are made anew of what was logged, with {'; '.join(changes)}; no model was asked. What robots "
        "asked while they played, and what came of it, stays as it was.",
    )
