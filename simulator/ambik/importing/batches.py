"""Lines as the runs that they become: one for each robot, method and configuration of a file."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from simulator.ambik.files.decisions import PERSON, AnswerLine, DecisionLine, DecisionsFile
from simulator.ambik.records import Calibrated, Decision
from simulator.ambik.reporting.exporting import safe
from simulator.ambik.reporting.groups import robot_of
from simulator.ambik.sets.predicting import calibrate
from simulator.ambik.terms import CONFORMAL
from simulator.errors import InputError
from trees.faults import Fault

CALIBRATION: Final = "calibration"


@dataclass(frozen=True, slots=True)
class ImportedEpisode:
    """The lines of one episode.

    Attributes:
        lines: decisions, by turn.
        answers: which people gave, in the file's order.
        repeat: 0, or how many episodes of the file say the same before this one.
    """

    lines: tuple[DecisionLine, ...]
    answers: tuple[AnswerLine, ...] = ()
    repeat: int = 0

    @property
    def every(self) -> tuple[DecisionLine | AnswerLine, ...]:
        """All lines."""
        return (*self.lines, *self.answers)

    @property
    def first(self) -> DecisionLine:
        """Before anything was asked."""
        return self.lines[0]

    @property
    def id(self) -> str:
        """As the file has it, with the number of an episode that is there again."""
        return f"{self.first.decision.episode_id}{f'.{self.repeat + 1}' if self.repeat else ''}"

    @property
    def questions(self) -> int:
        """Return how many questions could be answered: as the lines say, or else how many were."""
        said = [line.questions for line in self.lines if line.questions is not None]
        return max([*said, sum(bool(line.decision.answer) for line in self.lines)])

    @property
    def actor(self) -> str:
        """The person who plays, by the name that the file has; empty if none is named."""
        names = [line.details.actor for line in self.every]
        if self.first.decision.method == PERSON:
            names += [line.decision.generator for line in self.lines]
        return next((name for name in names if name and name != PERSON), "")


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """What becomes one run.

    Attributes:
        file: that it is of.
        source: the run, as the file calls it.
        episodes: its episodes, in the order in which the file has them.
    """

    file: Path
    source: str
    episodes: tuple[ImportedEpisode, ...]

    @property
    def first(self) -> DecisionLine:
        """A line like which all others are, as far as the configuration goes."""
        return self.episodes[0].first

    @property
    def calibrates(self) -> bool:
        """Whether a threshold is taken of it, and it has no sets."""
        return self.first.calibrates

    @property
    def decisions(self) -> tuple[Decision, ...]:
        """The first of each episode."""
        return tuple(episode.first.decision for episode in self.episodes)


def batches_of(file: Path, held: DecisionsFile) -> tuple[tuple[Batch, ...], tuple[Fault, ...]]:
    """Return the batches of a file, and what is wrong with answers that belong to no question."""
    answers: defaultdict[tuple[str, str], list[AnswerLine]] = defaultdict(list)
    for answer in held.answers:
        answers[answer.episode].append(answer)
    seen: Counter[tuple[bool, str]] = Counter()
    episodes: defaultdict[tuple[bool, tuple[str, str], int], list[DecisionLine]] = defaultdict(list)
    for line in held.rows:
        # Lines that are kept though they are there twice are of an episode that was played twice.
        repeat = seen[line.calibrates, line.key]
        seen[line.calibrates, line.key] += 1
        episodes[(line.calibrates, line.episode, repeat)].append(line)
    groups: defaultdict[Hashable, list[ImportedEpisode]] = defaultdict(list)
    for (_, episode, repeat), lines in episodes.items():
        lines.sort(key=lambda line: line.turn)
        asked = sum(bool(line.decision.answer) for line in lines)
        given, answers[episode] = answers[episode][:asked], answers[episode][asked:]
        groups[_key(lines[0])].append(ImportedEpisode(tuple(lines), tuple(given), repeat))
    batches = [
        Batch(file=file, source=group[0].first.decision.run, episodes=tuple(group))
        for group in groups.values()
    ]
    problem = "typed_text: answers no question of its episode"
    unasked = [
        Fault(str(file), answer.episode[1], answer.number, "format", problem)
        for rest in answers.values()
        for answer in rest
    ]
    return tuple(batches), tuple(unasked)


def _key(line: DecisionLine) -> Hashable:
    """Return what all lines of a batch have in common."""
    decision = line.decision
    who = (decision.run, line.calibrates, decision.method, robot_of(decision), decision.context)
    if line.calibrates:
        return (*who, type(decision.item))
    return (*who, decision.dialogue, line.settings, _threshold(line))


def _threshold(line: DecisionLine) -> Hashable:
    threshold = line.threshold if line.decision.method in CONFORMAL else None
    if threshold is None:
        return None
    return threshold.q_hat, threshold.n, threshold.epsilon, threshold.rank, threshold.run


def calibration_of(batch: Batch, among: Iterable[Batch]) -> Batch | None:
    """Return the batch that a batch of tests is calibrated on; None if there is none among these.

    It is the one that the lines name, or else the one of the same method, robot, context and kind of task.

    Raises:
        InputError: if there are several of those, and the lines do not say which.
    """
    if batch.first.decision.method not in CONFORMAL:
        return None
    same = [other for other in among if other.calibrates and _kind(other) == _kind(batch)]
    threshold = batch.first.threshold
    fit = [other for other in same if threshold is not None and other.source == threshold.run] or same
    if len(fit) > 1:
        named = ", ".join(dict.fromkeys(other.source for other in fit))
        raise InputError(
            f"calibration_run does not say which of several calibrations it is of ({named}); give the rows "
            "of one"
        )
    return fit[0] if fit else None


def _kind(batch: Batch) -> Hashable:
    decision = batch.first.decision
    return decision.method, robot_of(decision), decision.context, type(decision.item)


def threshold_of(batch: Batch, calibration: Batch | None, run: str) -> Calibrated | None:
    """Return the threshold under which a batch's sets are: as its lines have it, or else of its calibration.

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
    """Return how the runs of one file are called: as the file calls them, with what tells them apart.

    Args:
        batches: of the file.
        name: in place of the file's names; several begin with it.
    """
    by_source: defaultdict[str, list[Batch]] = defaultdict(list)
    for batch in batches:
        by_source[batch.source].append(batch)
    seen: Counter[str] = Counter()
    names = []
    for batch in batches:
        beside = by_source[batch.source]
        base = safe(batch.source)
        if name is not None:
            base = f"{name}-{base}" if len(by_source) > 1 else name
        # What of the configuration tells the batches of one run apart.
        parts = [
            part for part in _PARTS if len(set(map(part, (other.first.decision for other in beside)))) > 1
        ]
        called = "-".join((base, *(safe(part(batch.first.decision)) for part in parts)))
        if batch.calibrates and len(beside) > 1:
            called = f"{called}-{CALIBRATION}"
        seen[called] += 1
        names.append(f"{called}-{seen[called]}" if seen[called] > 1 else called)
    return tuple(names)


_PARTS: Final[tuple[Callable[[Decision], str], ...]] = (
    lambda decision: decision.method,
    robot_of,
    lambda decision: decision.context,
    lambda decision: decision.dialogue,
)
