"""Groups: decisions of one robot under one configuration, from runs and files (spec 7, 13)."""

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
        method: one of the five, ``offline``, ``person`` or ``baseline``.
        robot: generator, plus the chooser if that differs; ``people`` for persons.
        decisions: the first decision of each episode; never empty.
        calibration: decisions on its calibration items; empty if not available.
        logged: the threshold in force; None if there was none.
        part: kind of the pairs (`files.pairs.KINDS`); empty if not divided.
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
        """The method's name as in the paper."""
        return _NAMED[self.method]

    @property
    def context(self) -> Context:
        """The context of the prompts."""
        return self.decisions[0].context

    @property
    def dialogue(self) -> Dialogue:
        """The dialogue in the task."""
        return self.decisions[0].dialogue

    @property
    def dataset(self) -> Dataset:
        """The data set of the tasks."""
        return self.decisions[0].item.dataset

    @property
    def people(self) -> int:
        """The number of persons who decided."""
        return len({decision.generator for decision in self.decisions}) if self.method == "person" else 0

    @property
    def conditions(self) -> str:
        """The conditions that differ from the paper's main runs; empty if there are none."""
        differs = {
            "action only": self.context == "action_only",
            "clarified": self.dialogue == "after",
            "answered": bool(self.exchanges),
            "scenarios": self.dataset == "knowno",
            "added 2025": self.part == "added",
        }
        return ", ".join(name for name, applies in differs.items() if applies)


@dataclass(slots=True)
class Material:
    """The contents of runs and decision files.

    `published`: by run, KnowNo's decisions on calibration items that list the right options.
    """

    groups: list[Group] = field(default_factory=list)
    forms: list[PairForm] = field(default_factory=list)
    published: dict[str, tuple[Decision, ...]] = field(default_factory=dict)
    remarks: list[str] = field(default_factory=list)


def configuration(decision: Decision) -> tuple[str, str, Context, Dialogue]:
    """Return the key of a group: method, robot, context and dialogue.

    The robot is a model, plus the chooser if that differs; ``people`` for any person.
    """
    robot = decision.generator or "unknown"
    if decision.method == "person":
        robot = PEOPLE
    elif decision.chooser and decision.chooser != decision.generator:
        robot = f"{decision.generator} + {decision.chooser}"
    return decision.method, robot, decision.context, decision.dialogue


def calibration_key(decision: Decision) -> Hashable:
    """Return a key that decisions share with those of their calibration."""
    return *configuration(decision)[:3], type(decision.item)


def _group_by(key: Callable[[T], K], values: Iterable[T]) -> dict[K, list[T]]:
    """Group values by a key, in the order of first occurrence."""
    groups: dict[K, list[T]] = {}
    for value in values:
        groups.setdefault(key(value), []).append(value)
    return groups


# ---- groups from runs and files


def from_runs(reader: LogReader, runs: Iterable[str], *, exclude_aborted: bool = False) -> Material:
    """Return the contents of runs, with the decisions of their calibration runs.

    Raises:
        InputError: if a run belongs to another benchmark, or none of its episodes has ended.
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
            raise InputError(f"{run} has no completed episode; there is nothing to report.")
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
        for key, members in _group_by(configuration, made).items():
            fitting = calibration if key[0] == options.method else ()
            material.groups.append(
                _group(run, version, options.settings, options.calibration, members, fitting, exchanges)
            )
        material.remarks += _unfinished_remarks(reader, run, aborted)
    return material


def _group(
    source: str,
    version: str,
    settings: Settings,
    logged: Calibrated | None,
    members: Sequence[Decision],
    calibration: Sequence[Decision],
    exchanges: Iterable[Exchange],
) -> Group:
    key = configuration(members[0])
    return Group(
        source=source,
        method=key[0],
        robot=key[1],
        version=version,
        settings=settings,
        decisions=tuple(members),
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
    """Return the contents of decision lines.

    Raises:
        InputError: if the threshold, or the calibration rows of a threshold, are ambiguous.
    """
    material, used = Material(), set[str]()
    calibrating = [
        played[0] for played in _episodes([*(line for line in lines if line.calibrates), *calibration])
    ]
    tests = (line for line in lines if not line.calibrates)
    for run, of_run in _group_by(lambda line: line.decision.run, tests).items():
        episodes = _episodes(of_run)
        exchanges = [
            Exchange.from_decisions(
                [line.decision for line in played], robot=played[0].fields.robot, user=played[0].fields.user
            )
            for played in episodes
            if any(line.fields.questions or line.decision.answer for line in played)
        ]
        firsts = (played[0] for played in episodes)
        for key, members in _group_by(lambda line: configuration(line.decision), firsts).items():
            made = [line.decision for line in members]
            same = len({line.threshold and line.threshold.q_hat for line in members}) == 1
            threshold = members[0].threshold if same else None
            fitting = _fitting_calibration(calibrating, made[0], threshold) if key[0] in CONFORMAL else []
            if key[0] in CONFORMAL and not (fitting or threshold) and any(x.threshold for x in members):
                raise InputError(
                    f"{run}: the lines of {key[0]} do not all have the same q_hat; give each threshold its "
                    "own run_id, or name a file of calibration rows with --calibration"
                )
            used |= {decision.episode_id for decision in fitting}
            first = members[0]
            version = first.fields.dataset_version
            material.groups.append(_group(run, version, first.settings, threshold, made, fitting, exchanges))
            if count := sum(not line.known for line in members):
                material.remarks.append(
                    f"{run}: {count} decisions are excluded from ICR, SSC and coverage because their task is "
                    "not available (name the data with --data)"
                )
    if spare := sum(line.decision.episode_id not in used for line in calibrating):
        material.remarks.append(
            f"{spare} calibration rows (part = calibration, or neither a part nor q_hat) fit no tested "
            "method, robot and context"
        )
    return material


def _fitting_calibration(
    calibrating: Sequence[DecisionLine], tested: Decision, threshold: Calibrated | None
) -> list[Decision]:
    """Return calibration decisions of the same method, robot, context and data set, of the named run.

    Raises:
        InputError: if they are from several runs, and the threshold does not name one of them.
    """
    key, decisions = calibration_key(tested), (line.decision for line in calibrating)
    same = [decision for decision in decisions if calibration_key(decision) == key]
    named = [decision for decision in same if threshold is not None and decision.run == threshold.run]
    fitting = named or same
    if len({decision.item.id for decision in fitting}) < len(fitting):
        runs = ", ".join(dict.fromkeys(decision.run for decision in fitting))
        raise InputError(
            f"{tested.run}: there are several calibrations on the same tasks ({runs}), and the lines do not "
            "name the one of the threshold; give the calibration rows of only one"
        )
    return fitting


def _episodes(lines: Iterable[DecisionLine]) -> list[list[DecisionLine]]:
    """Return the lines of each episode, sorted by turn."""
    episodes = _group_by(lambda line: line.episode, lines).values()
    return [sorted(played, key=lambda line: line.fields.turn) for played in episodes]


# ---- kinds of pairs, and baselines


def split_by_kind(
    groups: Iterable[Group], part: Literal["all", "released", "added"] = "all"
) -> tuple[Group, ...]:
    """Split groups into released pairs and pairs added in 2025 (spec 2.5).

    `part`: the kind to keep; ``all`` keeps both, and splits them only for the data of 2025.
    """
    split: list[Group] = []
    for group in groups:
        kinds = [kind for kind in KINDS if part in ("all", kind)]
        parts = [of_kind for kind in kinds if (of_kind := _of_kind(group, kind)).decisions]
        divides = part != "all" or ("2025" in group.version and any(each.part == "added" for each in parts))
        split += parts if divides and group.dataset == "ambik" else [group]
    return tuple(split)


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
    """Return a statement on the oddities of pairs added in 2025; empty for other groups."""
    if group.part != "added":
        return ""
    items = (decision.item for decision in group.decisions)
    pairs = {item.pair.id: item.pair for item in items if isinstance(item, PairItem)}
    shown = Counter(map(plan_shown, pairs.values()))
    preferences = [pair for pair in pairs.values() if pair.type == "preferences"]
    return (
        f"{group.source}: {len(pairs)} pairs of the kind added in 2025 are reported separately. "
        f"{shown['ambiguous']} of them have the ambiguous plan in both columns, so their clear tasks have an "
        f"ambiguous step and tell nothing about decisions on clear tasks; {shown['clear']} have the clear "
        "one. "
        f"{sum(not pair.shortlist for pair in preferences)} of {len(preferences)} preferences have no "
        "shortlist"
    )


def baseline_groups(groups: Sequence[Group]) -> tuple[Group, ...]:
    """Return baselines (`players.BASELINES`) on the groups' tasks, once for equal tasks and conditions.

    They can ask if one of the groups could, and are measured under the settings of the first group.
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
