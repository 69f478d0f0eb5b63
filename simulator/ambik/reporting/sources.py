"""Groups out of runs of the log and out of files of decisions, by the same rules (spec 13)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal

from logs import LogReader
from simulator.ambik.files.decisions import DecisionLine
from simulator.ambik.items import PairItem
from simulator.ambik.playing import Options
from simulator.ambik.records import Calibrated, Decision, Exchange, PairForm
from simulator.ambik.reporting.groups import Group, grouped, robot_of
from simulator.ambik.rows import BENCHMARK
from simulator.ambik.terms import CONFORMAL
from simulator.ambik.trial_log import decisions, exchanges, forms, options_of
from simulator.errors import InputError
from simulator.runner.logged import not_counting, required_run, seat_failures

Key = tuple[str, str, str, str]


@dataclass(slots=True)
class Found:
    """What runs and files of decisions hold.

    Attributes:
        groups: to be measured.
        forms: of annotators.
        published: KnowNo's decisions on calibration items that say which options are right, by run.
        remarks: on what is not measured.
    """

    groups: list[Group] = field(default_factory=list)
    forms: list[PairForm] = field(default_factory=list)
    published: dict[str, tuple[Decision, ...]] = field(default_factory=dict)
    remarks: list[str] = field(default_factory=list)

    def add(self, other: Found) -> None:
        """Add what others hold."""
        self.groups += other.groups
        self.forms += other.forms
        self.published |= other.published
        self.remarks += other.remarks


def from_runs(reader: LogReader, runs: Iterable[str], *, exclude_aborted: bool = False) -> Found:
    """Return the groups of some runs; of each conformal one with the decisions of its calibration run.

    Raises:
        InputError: if a run is another benchmark's, or none of its episodes has been played to its end.
        NotInLog: if there is no such run.
    """
    found = Found()
    known = {one.id for one in reader.runs()}
    for run in dict.fromkeys(runs):
        options = options_of(reader, run)
        calibrates = options.method in CONFORMAL and options.calibration is None
        aborted = not exclude_aborted and not calibrates
        made, filled_in = decisions(reader, [run], aborted=aborted), forms(reader, [run])
        if not made and not filled_in:
            raise InputError(f"{run} has no episode that was played to its end; there is nothing to report.")
        found.forms += filled_in
        if calibrates:
            if options.method == "knowno" and all(one.right is not None for one in made):
                found.published[run] = made
            found.remarks.append(f"{run} is a calibration: it has no sets, and is told with its test run")
            continue
        source = options.calibration.run if options.calibration else ""
        calibration = decisions(reader, [source]) if source in known else ()
        found.groups += _of_run(reader, run, made, calibration, options, aborted)
        found.remarks += _unfinished(reader, run, aborted)
    return found


def _of_run(
    reader: LogReader,
    run: str,
    made: Sequence[Decision],
    calibration: Sequence[Decision],
    options: Options,
    aborted: bool,
) -> list[Group]:
    version = str(required_run(reader, run, BENCHMARK).config.get("dataset_version") or "")
    talks = exchanges(reader, [run], aborted=aborted)
    return [
        _group(
            run,
            some,
            version=version,
            calibration=calibration if some[0].method == options.method else (),
            logged=options.calibration,
            options=options,
            talks=talks,
        )
        for some in grouped(made).values()
    ]


def _unfinished(reader: LogReader, run: str, aborted: bool) -> list[str]:
    still, failed, _ = not_counting(reader, run)
    told = [f"{run}: {still} episodes have not ended and are not in these numbers"] if still else []
    if broken := sum(seat_failures(reader, [run]).values()):
        counted = "count as unsuccessful" if aborted else "are left out"
        told.append(f"{run}: {broken} episodes were aborted by a seat and {counted}")
    return [*told, *([f"{run}: {failed} episodes were aborted or failed and do not count"] if failed else [])]


def from_lines(lines: Sequence[DecisionLine], calibration: Sequence[DecisionLine] = ()) -> Found:
    """Return the groups of lines of files.

    Args:
        lines: of one file or several; some of them may be of calibration items.
        calibration: of other files, all of calibration items.
    """
    found = Found()
    calibrating = _first([*(line for line in lines if line.calibrates), *calibration])
    tests = [line for line in lines if not line.calibrates]
    by_run: dict[str, list[DecisionLine]] = {}
    for test in tests:
        by_run.setdefault(test.decision.run, []).append(test)
    used: set[str] = set()
    for run, some in by_run.items():
        firsts = _first(some)
        talks = _exchanges(some)
        for (method, *_), made in grouped(first.decision for first in firsts).items():
            mine = {one.episode_id for one in made}
            of = [first for first in firsts if first.decision.episode_id in mine]
            threshold = _threshold(of)
            fit = _fitting(calibrating, made[0], threshold) if method in CONFORMAL else []
            if method in CONFORMAL and not fit and threshold is None and any(one.threshold for one in of):
                raise InputError(
                    f"{run}: the lines of {method} do not all have the same q_hat; give those of each "
                    "threshold a run_id of their own, or name a file of calibration rows with --calibration"
                )
            used |= {one.episode_id for one in fit}
            options = Options(settings=of[0].settings)
            found.groups.append(
                _group(
                    run,
                    made,
                    version=of[0].version,
                    calibration=fit,
                    logged=threshold,
                    options=options,
                    talks=talks,
                )
            )
            found.remarks += _without_texts(run, of)
    if spare := sum(one.decision.episode_id not in used for one in calibrating):
        found.remarks.append(
            f"{spare} calibration rows (part = calibration, or neither a part nor q_hat) are of no method, "
            "robot and context that was tested"
        )
    return found


def _fitting(
    calibrating: Sequence[DecisionLine], tested: Decision, threshold: Calibrated | None
) -> list[Decision]:
    """Calibration decisions of the same method, robot, context and kind of task, of the run that is named.

    Raises:
        InputError: if they are of several runs, and it is not said of which the threshold was taken.
    """
    same = [one.decision for one in calibrating if _fits(one.decision, tested)]
    named = [one for one in same if threshold is not None and one.run == threshold.run]
    fit = named or same
    runs = dict.fromkeys(one.run for one in fit)
    if len({one.item.id for one in fit}) < len(fit):
        raise InputError(
            f"{tested.run}: the same tasks are calibrated on several times ({', '.join(runs)}), and the "
            "lines do not say which run the threshold is of; give the calibration rows of one"
        )
    return fit


def _fits(decision: Decision, tested: Decision) -> bool:
    return (*_key(decision)[:3], type(decision.item)) == (*_key(tested)[:3], type(tested.item))


def _first(lines: Iterable[DecisionLine]) -> list[DecisionLine]:
    """Return the first decision of each episode: before anything was asked in it."""
    found: dict[tuple[str, str], DecisionLine] = {}
    for line in lines:
        key = line.decision.run, line.decision.episode_id
        if key not in found or line.turn < found[key].turn:
            found[key] = line
    return list(found.values())


def _exchanges(lines: Iterable[DecisionLine]) -> tuple[Exchange, ...]:
    episodes: dict[str, list[DecisionLine]] = {}
    for line in lines:
        episodes.setdefault(line.decision.episode_id, []).append(line)
    made = []
    for episode in episodes.values():
        episode.sort(key=lambda one: one.turn)
        if any(one.questions or one.decision.answer for one in episode):
            said = [one.decision for one in episode]
            made.append(
                Exchange(
                    before=said[0],
                    after=said[-1],
                    questions=tuple((one.question, one.answer) for one in said if one.asked and one.answer),
                    robot=episode[0].robot,
                    user=episode[0].user,
                )
            )
    return tuple(made)


def _threshold(lines: Sequence[DecisionLine]) -> Calibrated | None:
    """Return the one threshold that was in force for all; None if there is none, or there are several."""
    values = {None if line.threshold is None else line.threshold.q_hat for line in lines}
    return lines[0].threshold if len(values) == 1 else None


def _without_texts(run: str, lines: Sequence[DecisionLine]) -> list[str]:
    count = sum(not line.known for line in lines)
    if not count:
        return []
    return [
        f"{run}: of {count} decisions the task is not at hand (name the data with --data), so that ICR, SSC "
        "and coverage do not count them"
    ]


def _group(
    source: str,
    made: Sequence[Decision],
    *,
    version: str,
    calibration: Sequence[Decision],
    logged: Calibrated | None,
    options: Options,
    talks: Sequence[Exchange],
) -> Group:
    first = made[0]
    key = _key(first)
    dataset: Literal["ambik", "knowno"] = "ambik" if isinstance(first.item, PairItem) else "knowno"
    return Group(
        source=source,
        method=first.method,
        robot=robot_of(first),
        context=first.context,
        dialogue=first.dialogue,
        dataset=dataset,
        version=version,
        settings=options.settings,
        decisions=tuple(made),
        calibration=tuple(calibration),
        logged=logged,
        exchanges=tuple(talk for talk in talks if _key(talk.before) == key),
        people=len({one.generator for one in made}) if first.method == "person" else 0,
    )


def _key(decision: Decision) -> Key:
    return decision.method, robot_of(decision), decision.context, decision.dialogue
