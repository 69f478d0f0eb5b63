"""Groups: decisions of one robot under one configuration, out of runs and of files alike (spec 7, 13)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, Literal, TypeVar

from logs import LogReader
from simulator.ambik.files.decisions import DecisionLine
from simulator.ambik.files.pairs import KINDS, Kind, kind_of_pair, plan_shown
from simulator.ambik.items import BENCHMARK, Dataset, PairItem
from simulator.ambik.players import baseline_exchanges
from simulator.ambik.playing import is_calibrated
from simulator.ambik.records import Calibrated, Decision, Exchange, PairForm
from simulator.ambik.terms import CONFORMAL, NAMES, Context, Dialogue, Settings
from simulator.ambik.trial_log import (
    decisions,
    exchanges_of,
    first_decisions,
    forms_of,
    options_of,
    played_of,
)
from simulator.errors import InputError
from simulator.runner.logged import endings_of_runs, not_counting, required_run

T = TypeVar("T")
K = TypeVar("K", bound=Hashable)
PEOPLE: Final = "people"
BASELINE: Final = "baseline"
_NAMED: Final = NAMES | {"offline": "built in", "person": PEOPLE, BASELINE: BASELINE}


@dataclass(frozen=True, kw_only=True, eq=False)
class Group:
    """Decisions of one robot under one configuration, before any set.

    Attributes:
        method: of the five; ``offline``, ``person`` or ``baseline``.
        robot: generator, with the chooser if that is another; ``people`` for persons.
        version: of the data, as the run or file says it.
        decisions: the first of each episode; there is one.
        calibration: those of its calibration items; empty where they are not at hand.
        logged: the threshold that was in force; None where there was none.
        part: which pairs they are of (`files.pairs.KINDS`); empty: nobody asked.
    """

    source: str
    method: str
    robot: str
    version: str
    settings: Settings
    decisions: tuple[Decision, ...]
    calibration: tuple[Decision, ...] = ()
    logged: Calibrated | None = None
    exchanges: tuple[Exchange, ...] = ()
    part: Literal["", "released", "added"] = ""

    @property
    def method_name(self) -> str:
        """The method as the paper writes it."""
        return _NAMED[self.method]

    @property
    def context(self) -> Context:
        """Return what prompts had."""
        return self.decisions[0].context

    @property
    def dialogue(self) -> Dialogue:
        """Return what stood in the task."""
        return self.decisions[0].dialogue

    @property
    def dataset(self) -> Dataset:
        """Whose tasks they are."""
        return self.decisions[0].item.dataset

    @property
    def people(self) -> int:
        """Return how many persons decided."""
        return len({decision.generator for decision in self.decisions}) if self.method == "person" else 0

    @property
    def conditions(self) -> str:
        """Return what is not as in the paper's main runs; empty if nothing is."""
        holds = {
            "action only": self.context == "action_only",
            "clarified": self.dialogue == "after",
            "answered": bool(self.exchanges),
            "scenarios": self.dataset == "knowno",
            "added 2025": self.part == "added",
        }
        return ", ".join(name for name, is_so in holds.items() if is_so)


@dataclass(slots=True)
class Material:
    """The contents of runs and files of decisions.

    Attributes:
        published: KnowNo's decisions on calibration items that say which options are right, by run.
    """

    groups: list[Group] = field(default_factory=list)
    forms: list[PairForm] = field(default_factory=list)
    published: dict[str, tuple[Decision, ...]] = field(default_factory=dict)
    remarks: list[str] = field(default_factory=list)


def robot_of(decision: Decision) -> str:
    """Return who decided: a model, with the one that chose if that is another; all people are one."""
    if decision.method == "person":
        return PEOPLE
    if decision.chooser and decision.chooser != decision.generator:
        return f"{decision.generator} + {decision.chooser}"
    return decision.generator or "unknown"


def configuration(decision: Decision) -> tuple[str, str, Context, Dialogue]:
    """Return what all decisions of a group have in common: method, robot, context and dialogue."""
    return decision.method, robot_of(decision), decision.context, decision.dialogue


def calibration_key(decision: Decision) -> Hashable:
    """Return what decisions have in common with those that their threshold is taken of."""
    return *configuration(decision)[:3], type(decision.item)


def _group_by(key: Callable[[T], K], values: Iterable[T]) -> dict[K, list[T]]:
    """Return values by a key, in the order of the first of each."""
    groups: dict[K, list[T]] = {}
    for value in values:
        groups.setdefault(key(value), []).append(value)
    return groups


# ---- groups of runs and of files


def from_runs(reader: LogReader, runs: Iterable[str], *, exclude_aborted: bool = False) -> Material:
    """Return what runs hold; of each conformal one with the decisions of its calibration run.

    Raises:
        InputError: if a run is another benchmark's, or none of its episodes has been played to its end.
        NotInLog: if there is no such run.
    """
    material, known = Material(), {run.id for run in reader.runs()}
    for run in dict.fromkeys(runs):
        options = options_of(reader, run)
        calibrates = is_calibrated(options)
        aborted = not exclude_aborted and not calibrates
        played = played_of(reader, [run], aborted=aborted)
        made, forms = first_decisions(played), forms_of(played)
        if not made and not forms:
            raise InputError(f"{run} has no episode that was played to its end; there is nothing to report.")
        material.forms += forms
        if calibrates:
            if options.method == "knowno" and all(decision.right is not None for decision in made):
                material.published[run] = made
            material.remarks.append(
                f"{run} is a calibration: it has no sets, and is reported with its test run"
            )
            continue
        version = str(required_run(reader, run, BENCHMARK).config.get("dataset_version") or "")
        source = options.calibration.run if options.calibration else ""
        calibration = decisions(reader, [source]) if source in known else ()
        exchanges = exchanges_of(played)
        for key, alike in _group_by(configuration, made).items():
            own = calibration if key[0] == options.method else ()
            material.groups.append(
                _group(run, version, options.settings, options.calibration, alike, own, exchanges)
            )
        material.remarks += _unfinished_remarks(reader, run, aborted)
    return material


def _group(
    source: str,
    version: str,
    settings: Settings,
    logged: Calibrated | None,
    alike: Sequence[Decision],
    calibration: Sequence[Decision],
    exchanges: Iterable[Exchange],
) -> Group:
    key = configuration(alike[0])
    return Group(
        source=source,
        method=key[0],
        robot=key[1],
        version=version,
        settings=settings,
        decisions=tuple(alike),
        calibration=tuple(calibration),
        logged=logged,
        exchanges=tuple(exchange for exchange in exchanges if configuration(exchange.before) == key),
    )


def _unfinished_remarks(reader: LogReader, run: str, aborted: bool) -> list[str]:
    still, failed, _ = not_counting(reader, run)
    broken = sum(endings_of_runs(reader, [run]).aborted.values())
    counted = "count as unsuccessful" if aborted else "are left out"
    remarks = {
        f"{still} episodes have not ended and are not in these numbers": still,
        f"{broken} episodes were aborted by a seat and {counted}": broken,
        f"{failed} episodes were aborted or failed and do not count": failed,
    }
    return [f"{run}: {remark}" for remark, count in remarks.items() if count]


def from_lines(lines: Sequence[DecisionLine], calibration: Sequence[DecisionLine] = ()) -> Material:
    """Return what lines of files hold.

    Raises:
        InputError: if thresholds, or the rows that one rests on, cannot be told apart.
    """
    material, used = Material(), set[str]()
    calibrating = [
        played[0] for played in _episodes([*(line for line in lines if line.calibrates), *calibration])
    ]
    tests = (line for line in lines if not line.calibrates)
    for run, of_run in _group_by(lambda line: line.decision.run, tests).items():
        episodes = _episodes(of_run)
        exchanges = [
            Exchange.of(
                [line.decision for line in played], robot=played[0].fields.robot, user=played[0].fields.user
            )
            for played in episodes
            if any(line.fields.questions or line.decision.answer for line in played)
        ]
        firsts = (played[0] for played in episodes)
        for key, alike in _group_by(lambda line: configuration(line.decision), firsts).items():
            made, threshold = [line.decision for line in alike], _threshold(alike)
            fitting = _fitting_calibration(calibrating, made[0], threshold) if key[0] in CONFORMAL else []
            if key[0] in CONFORMAL and not fitting and threshold is None and any(x.threshold for x in alike):
                raise InputError(
                    f"{run}: the lines of {key[0]} do not all have the same q_hat; give those of each "
                    "threshold a run_id of their own, or name a file of calibration rows with --calibration"
                )
            used |= {decision.episode_id for decision in fitting}
            first = alike[0]
            version = first.fields.dataset_version
            material.groups.append(_group(run, version, first.settings, threshold, made, fitting, exchanges))
            if count := sum(not line.known for line in alike):
                material.remarks.append(
                    f"{run}: of {count} decisions the task is not at hand (name the data with --data), so "
                    "that ICR, SSC and coverage do not count them"
                )
    if spare := sum(line.decision.episode_id not in used for line in calibrating):
        material.remarks.append(
            f"{spare} calibration rows (part = calibration, or neither a part nor q_hat) are of no method, "
            "robot and context that was tested"
        )
    return material


def _fitting_calibration(
    calibrating: Sequence[DecisionLine], tested: Decision, threshold: Calibrated | None
) -> list[Decision]:
    """Return calibration decisions of the same method, robot, context and kind of task, of the run named.

    Raises:
        InputError: if they are of several runs, and it is not said of which the threshold was taken.
    """
    alike, decisions = calibration_key(tested), (line.decision for line in calibrating)
    same = [decision for decision in decisions if calibration_key(decision) == alike]
    named = [decision for decision in same if threshold is not None and decision.run == threshold.run]
    fitting = named or same
    if len({decision.item.id for decision in fitting}) < len(fitting):
        runs = ", ".join(dict.fromkeys(decision.run for decision in fitting))
        raise InputError(
            f"{tested.run}: the same tasks are calibrated on several times ({runs}), and the "
            "lines do not say which run the threshold is of; give the calibration rows of one"
        )
    return fitting


def _episodes(lines: Iterable[DecisionLine]) -> list[list[DecisionLine]]:
    """Return the lines of each episode by turn: the first is of before anything was asked in it."""
    episodes = _group_by(lambda line: line.episode, lines).values()
    return [sorted(played, key=lambda line: line.fields.turn) for played in episodes]


def _threshold(lines: Sequence[DecisionLine]) -> Calibrated | None:
    """Return the one threshold that was in force for all; None if there is none, or there are several."""
    values = {None if line.threshold is None else line.threshold.q_hat for line in lines}
    return lines[0].threshold if len(values) == 1 else None


# ---- parts of the data, and baselines


def split_by_kind(
    groups: Iterable[Group], part: Literal["all", "released", "added"] = "all"
) -> tuple[Group, ...]:
    """Return groups with pairs of the paper's kind apart from pairs as those added in 2025 (spec 2.5).

    `part`: whose decisions are kept; ``all``: both, apart where the data are those of 2025.
    """
    apart: list[Group] = []
    for group in groups:
        kinds = [kind for kind in KINDS if part in ("all", kind)]
        parts = [made for kind in kinds if (made := _of_kind(group, kind)).decisions]
        divides = part != "all" or ("2025" in group.version and any(made.part == "added" for made in parts))
        apart += parts if divides and group.dataset == "ambik" else [group]
    return tuple(apart)


def _of_kind(group: Group, kind: Kind) -> Group:
    def is_of_kind(decision: Decision) -> bool:
        return isinstance(decision.item, PairItem) and kind_of_pair(decision.item.pair) == kind

    return replace(
        group,
        part=kind,
        decisions=tuple(filter(is_of_kind, group.decisions)),
        exchanges=tuple(exchange for exchange in group.exchanges if is_of_kind(exchange.before)),
    )


def added_statement(group: Group) -> str:
    """Return what is odd about a group's pairs, if they are those added in 2025; empty for others."""
    if group.part != "added":
        return ""
    items = (decision.item for decision in group.decisions)
    pairs = {item.pair.id: item.pair for item in items if isinstance(item, PairItem)}
    shown = Counter(map(plan_shown, pairs.values()))
    preferences = [pair for pair in pairs.values() if pair.type == "preferences"]
    return (
        f"{group.source}: {len(pairs)} pairs as added in 2025 are reported separately. "
        f"{shown['ambiguous']} of them show the ambiguous plan in both columns, so their clear tasks are "
        f"shown an ambiguous step and are no evidence of what is done on clear tasks; {shown['clear']} show "
        "the clear one. "
        f"{sum(not pair.shortlist for pair in preferences)} of {len(preferences)} preferences have no "
        "shortlist"
    )


def baseline_groups(groups: Sequence[Group]) -> tuple[Group, ...]:
    """Return baselines (`players.BASELINES`) on the tasks of groups: once for the same tasks and conditions.

    They can ask where one of the groups could, and are measured under the settings of the first of them.
    """
    by_tasks: dict[Hashable, Group] = {}
    for group in groups:
        ids = frozenset(decision.item.id for decision in group.decisions)
        key = group.context, group.dialogue, group.dataset, group.part, ids
        if group.exchanges or key not in by_tasks:
            by_tasks[key] = replace(by_tasks.get(key, group), exchanges=group.exchanges)
    return tuple(
        replace(
            group,
            source=BASELINE,
            method=BASELINE,
            robot=name,
            decisions=tuple(exchange.before for exchange in exchanges),
            calibration=(),
            logged=None,
            exchanges=exchanges if group.exchanges else (),
        )
        for group in by_tasks.values()
        for name, exchanges in baseline_exchanges(
            (decision.item for decision in group.decisions), group.context, group.dialogue
        ).items()
    )
