"""Results to be told: decisions of one robot under one configuration, with sets and measures (spec 7, 10).

Sets are made of what was logged, with the run's settings or others; a model is not needed. Where the
settings on which a threshold rests are others, it is taken anew from the calibration's decisions.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Literal

from simulator.ambik.baselines import baseline_exchanges
from simulator.ambik.files.versions import KINDS, Kind, kind_of_pair, plan_shown
from simulator.ambik.items import PairItem
from simulator.ambik.measuring.measures import Measures, measures
from simulator.ambik.records import Calibrated, Decision, Exchange, Outcome
from simulator.ambik.reporting.settings import NONE, OF_SCORES, Switches
from simulator.ambik.sets.coverage import CoverageReport, report_of
from simulator.ambik.sets.predicting import calibrate, outcome
from simulator.ambik.settings import Settings
from simulator.ambik.terms import CONFORMAL, METHODS, NAMES, Context, Dialogue
from simulator.errors import InputError

PEOPLE: Final = "people"
BUILT_IN: Final = "built in"
BASELINE: Final = "baseline"
_NAMED: Final[Mapping[str, str]] = {
    **{str(method): name for method, name in NAMES.items()},
    "offline": BUILT_IN,
    "person": PEOPLE,
    BASELINE: BASELINE,
}
_ORDER: Final = (*METHODS, "offline", "person", BASELINE)
_CLOSE: Final = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """Decisions of one robot under one configuration, before any set.

    Attributes:
        source: the run, or the file.
        method: of the five; ``offline``, ``person`` or ``baseline``.
        robot: generator, with the chooser if that is another; ``people`` for persons.
        context: what prompts had.
        dialogue: what stood in the task.
        dataset: whose tasks they are.
        version: of the data, as the run or file says it.
        settings: of the run.
        decisions: the first of each episode.
        calibration: those of its calibration items; empty where they are not at hand.
        logged: the threshold that was in force; None where there was none.
        exchanges: of episodes in which somebody could ask.
        people: how many persons decided.
        part: which pairs they are of (`files.versions.KINDS`); empty: nobody asked.
    """

    source: str
    method: str
    robot: str
    context: Context
    dialogue: Dialogue
    dataset: Literal["ambik", "knowno"]
    version: str
    settings: Settings
    decisions: tuple[Decision, ...]
    calibration: tuple[Decision, ...] = ()
    logged: Calibrated | None = None
    exchanges: tuple[Exchange, ...] = ()
    people: int = 0
    part: Literal["", "released", "added"] = ""

    @property
    def method_name(self) -> str:
        """The method as the paper writes it."""
        return _NAMED[self.method]

    @property
    def conditions(self) -> str:
        """What is not as in the paper's main runs; empty if nothing is."""
        told = {
            "action only": self.context == "action_only",
            "clarified": self.dialogue == "after",
            "answered": bool(self.exchanges),
            "scenarios": self.dataset == "knowno",
            "added 2025": self.part == "added",
        }
        return ", ".join(name for name, holds in told.items() if holds)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Result:
    """A group with its sets.

    Attributes:
        group: what it is of.
        name: the robot's in tables, told apart from others of the same method.
        settings: under which the sets are made.
        outcomes: in the order of the decisions.
        measures: of them.
        calibrated: the threshold; None of methods that have none.
        coverage: the report on it; None likewise, and where what it rests on is not at hand.
        remarks: on this result alone.
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


def told_apart(
    groups: Iterable[Group], part: Literal["all", "released", "added"] = "all"
) -> tuple[Group, ...]:
    """Groups with pairs of the paper's kind apart from pairs as those added in 2025 (spec 2.5).

    Args:
        groups: of runs and files.
        part: whose decisions are kept; ``all``: both, apart where the data are those of 2025.
    """
    found: list[Group] = []
    for group in groups:
        held = {kind: _of_kind(group, kind) for kind in KINDS}
        some = [each for kind, each in held.items() if each.decisions and part in ("all", kind)]
        told = part != "all" or ("2025" in group.version and any(each.part == "added" for each in some))
        found += some if told and group.dataset == "ambik" else [group]
    return tuple(found)


def _of_kind(group: Group, kind: Kind) -> Group:
    def holds(decision: Decision) -> bool:
        return isinstance(decision.item, PairItem) and kind_of_pair(decision.item.pair) == kind

    return replace(
        group,
        part=kind,
        decisions=tuple(filter(holds, group.decisions)),
        exchanges=tuple(exchange for exchange in group.exchanges if holds(exchange.before)),
    )


def added_statement(group: Group) -> str:
    """What is odd about the pairs of a group of those added in 2025, in a sentence; empty for others."""
    if group.part != "added":
        return ""
    pairs = {
        decision.item.pair.id: decision.item.pair
        for decision in group.decisions
        if isinstance(decision.item, PairItem)
    }
    shown = Counter(map(plan_shown, pairs.values()))
    preferences = [pair for pair in pairs.values() if pair.type == "preferences"]
    return (
        f"{group.source}: {len(pairs)} pairs as added in 2025 are told apart. {shown['ambiguous']} of them "
        f"show the ambiguous plan in both columns, so their clear tasks are shown an ambiguous step and are "
        f"no evidence of what is done on clear tasks; {shown['clear']} show the clear one. "
        f"{sum(not pair.shortlist for pair in preferences)} of {len(preferences)} preferences have no "
        "shortlist"
    )


def baseline_groups(groups: Sequence[Group]) -> tuple[Group, ...]:
    """Baselines on the tasks of some groups (`baselines`): once for the same tasks under the same conditions.

    They can ask where one of the groups could, and are measured under the settings of the first of them.
    """
    found: dict[Hashable, Group] = {}
    for group in groups:
        ids = frozenset(decision.item.id for decision in group.decisions)
        key = group.context, group.dialogue, group.dataset, group.part, ids
        if group.exchanges or key not in found:
            found[key] = group if key not in found else replace(found[key], exchanges=group.exchanges)
    return tuple(made for one in found.values() for made in _baselines(one))


def _baselines(group: Group) -> Iterable[Group]:
    items = {decision.item.id: decision.item for decision in group.decisions}
    for name, held in baseline_exchanges([*items.values()], group.context, group.dialogue).items():
        yield replace(
            group,
            source=BASELINE,
            method=BASELINE,
            robot=name,
            decisions=tuple(one.before for one in held),
            calibration=(),
            logged=None,
            exchanges=held if group.exchanges else (),
            people=0,
        )


def grouped(decisions: Iterable[Decision]) -> dict[tuple[str, str, Context, Dialogue], list[Decision]]:
    """Decisions by method, robot, context and dialogue, in the order of the first of each."""
    found: dict[tuple[str, str, Context, Dialogue], list[Decision]] = {}
    for decision in decisions:
        found.setdefault(
            (decision.method, robot_of(decision), decision.context, decision.dialogue), []
        ).append(decision)
    return found


def robot_of(decision: Decision) -> str:
    """Return who decided: a model, with the one that chose if that is another; all people are one."""
    if decision.method == "person":
        return PEOPLE
    if decision.chooser and decision.chooser != decision.generator:
        return f"{decision.generator} + {decision.chooser}"
    return decision.generator or "unknown"


def results_of(groups: Sequence[Group], switches: Switches = NONE) -> tuple[Result, ...]:
    """Sets and measures of groups, by method; names tell apart those of one method.

    Raises:
        InputError: if a group cannot be calibrated, or not with these settings.
    """
    ordered = sorted(groups, key=lambda group: _ORDER.index(group.method))
    names = [f"{one.robot}{f', {one.conditions}' if one.conditions else ''}" for one in ordered]
    alike = Counter((one.method, name) for one, name in zip(ordered, names, strict=True))
    seen: Counter[tuple[str, str]] = Counter()
    made = []
    for one, name in zip(ordered, names, strict=True):
        seen[one.method, name] += 1
        number = f" ({seen[one.method, name]})" if alike[one.method, name] > 1 else ""
        made.append(_result(one, f"{name}{number}", switches))
    return tuple(made)


def _result(group: Group, name: str, switches: Switches) -> Result:
    settings = switches.over(group.settings)
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
    if group.calibration:
        found = calibrate(group.calibration, settings, run=group.calibration[0].run)
        return found, _unlike(group, found, switches)
    changed = [name for name in switches.changed(group.settings) if name in OF_SCORES]
    if changed:
        named = ", ".join(f"--{name.replace('_', '-')}" for name in changed)
        raise InputError(
            f"{group.source}: the decisions that {group.method_name} was calibrated on are not at hand, so "
            f"{named} cannot be changed; name a file of them with --calibration, or a log that has them"
        )
    if group.logged is None:
        raise InputError(
            f"{group.source}: {group.method_name} has no prediction sets without a calibration, and neither "
            "a threshold nor calibration rows are in it; name a file of them with --calibration"
        )
    return group.logged, (
        f"{group.source}: the threshold is the logged one; what it rests on is not at hand",
    )


def _unlike(group: Group, calibrated: Calibrated, switches: Switches) -> tuple[str, ...]:
    """That the threshold in force was another, though nothing was changed."""
    then = group.logged
    if then is None or any(name in OF_SCORES for name in switches.changed(group.settings)):
        return ()
    if then.q_hat == calibrated.q_hat or abs(then.q_hat - calibrated.q_hat) < _CLOSE:
        return ()
    return (
        f"{group.source}: was played with the threshold {then.q_hat:.4f} of {then.n} items; the calibration "
        f"as it is now gives {calibrated.q_hat:.4f} of {calibrated.n}, which is used here",
    )


def reference_values(result: Result) -> Calibrated | None:
    """The published code's "CP value" of the same calibration (Table 6); it is no threshold to be used."""
    if not result.group.calibration:
        return None
    return calibrate(result.group.calibration, replace(result.settings, cp_rule="reference"))


def settings_statement(results: Sequence[Result]) -> tuple[str, ...]:
    """Return what was changed after the runs were played, a sentence; none if nothing was."""
    told: dict[str, dict[str, Any]] = {}
    for result in results:
        for name in result.settings.__dataclass_fields__:
            then, now = getattr(result.group.settings, name), getattr(result.settings, name)
            if then != now:
                told.setdefault(f"{name} = {now} instead of {then}", {})[result.group.source] = None
    if not told:
        return ()
    changes = "; ".join(told)
    return (
        f"Sets are made anew of what was logged, with {changes}; no model was asked. What robots asked while "
        "they played, and what came of it, stays as it was.",
    )
