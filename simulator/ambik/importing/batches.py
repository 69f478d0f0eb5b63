"""Lines as the runs that they become: one for each robot, method and configuration of a file."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from simulator.ambik.files.decisions import DecisionLine
from simulator.ambik.importing.lines import Answered, Lines, Logged
from simulator.ambik.records import Calibrated, Decision
from simulator.ambik.reporting.groups import robot_of
from simulator.ambik.reporting.terminal import safe
from simulator.ambik.sets.predicting import calibrate
from simulator.ambik.terms import CONFORMAL
from simulator.errors import InputError
from trees.faults import Fault

CALIBRATION: Final = "calibration"


@dataclass(frozen=True, slots=True)
class Sitting:
    """The lines of one episode.

    Attributes:
        lines: decisions, by turn.
        answers: which people gave, in the file's order.
    """

    lines: tuple[Logged, ...]
    answers: tuple[Answered, ...] = ()

    @property
    def every(self) -> tuple[Logged | Answered, ...]:
        """All lines."""
        return (*self.lines, *self.answers)

    @property
    def first(self) -> DecisionLine:
        """Before anything was asked."""
        return self.lines[0].line


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """What becomes one run.

    Attributes:
        file: that it is of.
        source: the run, as the file calls it.
        sittings: its episodes, in the order in which the file has them.
    """

    file: Path
    source: str
    sittings: tuple[Sitting, ...]

    @property
    def first(self) -> DecisionLine:
        """A line like which all others are, as far as the configuration goes."""
        return self.sittings[0].first

    @property
    def calibrates(self) -> bool:
        """Whether a threshold is taken of it, and it has no sets."""
        return self.first.calibrates

    @property
    def decisions(self) -> tuple[Decision, ...]:
        """The first of each episode."""
        return tuple(one.first.decision for one in self.sittings)


def batches_of(file: Path, lines: Lines) -> tuple[tuple[Batch, ...], tuple[Fault, ...]]:
    """The batches of a file, and what is wrong with answers that belong to no question."""
    answers: dict[tuple[str, str], list[Answered]] = {}
    for one in lines.answers:
        answers.setdefault(one.episode, []).append(one)
    episodes: dict[tuple[bool, str, str], list[Logged]] = {}
    for each in lines.decisions:
        episodes.setdefault((each.line.calibrates, *each.episode), []).append(each)
    groups: dict[Hashable, list[Sitting]] = {}
    faults: list[Fault] = []
    for (_, run, episode), some in episodes.items():
        some.sort(key=lambda one: one.line.turn)
        asked = sum(bool(one.line.decision.answer) for one in some)
        given = answers.pop((run, episode), [])
        faults += [_unasked(file, one) for one in given[asked:]]
        sitting = Sitting(tuple(some), tuple(given[:asked]))
        groups.setdefault(_key(sitting.first), []).append(sitting)
    faults += [_unasked(file, one) for some in answers.values() for one in some]
    made = (
        Batch(file=file, source=one[0].first.decision.run, sittings=tuple(one)) for one in groups.values()
    )
    return tuple(made), tuple(faults)


def _unasked(file: Path, one: Answered) -> Fault:
    problem = "typed_text: answers no question of its episode"
    return Fault(str(file), one.episode[1], one.number, "format", problem)


def _key(line: DecisionLine) -> Hashable:
    """What all lines of a batch have in common."""
    one = line.decision
    who = (one.run, line.calibrates, one.method, robot_of(one), one.context)
    if line.calibrates:
        return (*who, type(one.item))
    return (*who, one.dialogue, line.settings, _threshold(line))


def _threshold(line: DecisionLine) -> Hashable:
    one = line.threshold if line.decision.method in CONFORMAL else None
    return None if one is None else (one.q_hat, one.n, one.epsilon, one.rank, one.run)


def calibration_of(batch: Batch, among: Iterable[Batch]) -> Batch | None:
    """The batch that a batch of tests is calibrated on; None if there is none among these.

    It is the one that the lines name, or else the one of the same method, robot, context and kind of task.

    Raises:
        InputError: if there are several of those, and the lines do not say which.
    """
    if batch.first.decision.method not in CONFORMAL:
        return None
    same = [one for one in among if one.calibrates and _alike(one, batch)]
    threshold = batch.first.threshold
    fit = [one for one in same if threshold is not None and one.source == threshold.run] or same
    if len(fit) > 1:
        named = ", ".join(dict.fromkeys(one.source for one in fit))
        raise InputError(
            f"calibration_run does not say which of several calibrations it is of ({named}); give the rows "
            "of one"
        )
    return fit[0] if fit else None


def _alike(one: Batch, other: Batch) -> bool:
    keys = ((of.method, robot_of(of), of.context, type(of.item)) for of in (_of(one), _of(other)))
    return len(set(keys)) == 1


def _of(batch: Batch) -> Decision:
    return batch.first.decision


def threshold_of(batch: Batch, calibration: Batch | None, run: str) -> Calibrated | None:
    """The threshold under which a batch's sets are: as its lines have it, or else of its calibration.

    Args:
        batch: of tests.
        calibration: what it is calibrated on; None if that is not at hand.
        run: how the calibration is called in the log.

    Raises:
        InputError: if its method needs one, and there is neither.
    """
    if batch.first.decision.method not in CONFORMAL:
        return None
    if batch.first.threshold is not None:
        return batch.first.threshold
    if calibration is None:
        raise InputError(
            "q_hat is missing (with epsilon, n_calibration and rank), and no decisions on calibration items "
            "of this method, robot and context are among the files; import both together"
        )
    return calibrate(calibration.decisions, batch.first.settings, run=run)


def names_of(batches: Sequence[Batch], name: str | None = None) -> tuple[str, ...]:
    """How the runs of one file are called: as the file calls them, with what tells them apart.

    Args:
        batches: of the file.
        name: in place of the file's names; several begin with it.
    """
    by_source: dict[str, list[Batch]] = {}
    for one in batches:
        by_source.setdefault(one.source, []).append(one)
    parts = {source: _apart(some) for source, some in by_source.items()}
    seen: Counter[str] = Counter()
    made = []
    for one in batches:
        base = safe(one.source)
        if name is not None:
            base = f"{name}-{base}" if len(by_source) > 1 else name
        called = "-".join((base, *(safe(part(one)) for part in parts[one.source])))
        if one.calibrates and len(by_source[one.source]) > 1:
            called = f"{called}-{CALIBRATION}"
        seen[called] += 1
        made.append(f"{called}-{seen[called]}" if seen[called] > 1 else called)
    return tuple(made)


_PARTS: Final[tuple[Callable[[Batch], str], ...]] = (
    lambda one: _of(one).method,
    lambda one: robot_of(_of(one)),
    lambda one: _of(one).context,
    lambda one: _of(one).dialogue,
)


def _apart(some: Sequence[Batch]) -> Sequence[Callable[[Batch], str]]:
    """What of the configuration tells the batches of one run apart."""
    return [part for part in _PARTS if len({part(one) for one in some}) > 1]
