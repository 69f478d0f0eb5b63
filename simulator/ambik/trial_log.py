"""Readers of records from the log, equal to those of published files (spec 13).

Only ended episodes count (and, as failures, those that a failing seat aborted), without people who were
erased. A record's texts come from the item as played, so a log can be scored without its data set. A run of
another benchmark raises `InputError`, a missing run `NotInLog`. A run is scored once, so that another target
can be applied quickly (`run_at_target`).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import islice
from typing import Final, NamedTuple

from logs import LogReader
from logs.rows import Episode, Run, Turn
from simulator.ambik.forms import read_pair_form
from simulator.ambik.items import BENCHMARK, DecideItem, DraftItem, Item, PairItem, item_from_row
from simulator.ambik.metrics import asks_as_needed
from simulator.ambik.payloads import read_decision
from simulator.ambik.playing import ANNOTATOR, ROBOT, USER, Options, is_calibrated
from simulator.ambik.predicting import ScoredDecision, apply_threshold, calibrate, prepare, recalibrate
from simulator.ambik.records import ABORTED, Calibrated, Decision, Exchange, Outcome, PairForm
from simulator.ambik.terms import CONFORMAL, Settings
from simulator.runner.logged import ENDED, PlayedItem, occupant, played_items, required_run

_RUNS_SHOWN: Final = 5


def played_of(reader: LogReader, runs: Iterable[str], *, aborted: bool = False) -> tuple[PlayedItem, ...]:
    """Return the ended episodes of runs, in the order in which they began.

    `aborted`: include those that a failing seat aborted, as failures: without a decision they get one that
    neither acts nor asks, and their final action counts as wrong.
    """
    episodes = list[PlayedItem]()
    for run in runs:
        required_run(reader, run, BENCHMARK)
        episodes += played_items(reader, run, item_from_row, aborted=aborted)
    return tuple(episodes)


def decisions(reader: LogReader, runs: Iterable[str], *, aborted: bool = False) -> tuple[Decision, ...]:
    """Return the first decision of each episode with a robot's decision."""
    return first_decisions(played_of(reader, runs, aborted=aborted))


def first_decisions(episodes: Iterable[PlayedItem]) -> tuple[Decision, ...]:
    """Return the first decision of each episode with a robot's decision."""
    return tuple(made[0] for made in map(_decisions_or_nothing, episodes) if made)


def exchanges_of(episodes: Iterable[PlayedItem]) -> tuple[Exchange, ...]:
    """Return the episodes in which the robot could ask, before and after the answers."""
    return tuple(
        Exchange.from_decisions(
            made, robot=each.occupant(ROBOT), user=each.occupant(USER), aborted=_is_aborted(each)
        )
        for each in episodes
        if each.episode.options.get("questions", 0) and (made := _decisions_or_nothing(each))
    )


def forms(reader: LogReader, runs: Iterable[str]) -> tuple[PairForm, ...]:
    """Return the annotators' forms of runs, in the order in which they began."""
    return forms_of(played_of(reader, runs))


def forms_of(episodes: Iterable[PlayedItem]) -> tuple[PairForm, ...]:
    """Return the annotators' forms of episodes."""
    return tuple(
        replace(
            read_pair_form(played.item.draft, turn.payload["form"], annotator=played.occupant(ANNOTATOR)),
            seconds=turn.seconds,
        )
        for played in episodes
        if isinstance(played.item, DraftItem)
        for turn in played.turns_of("annotate")
    )


def _is_aborted(played: PlayedItem) -> bool:
    return played.ending.status not in ENDED


def _decisions_or_nothing(played: PlayedItem) -> tuple[Decision, ...]:
    """Return the decisions of an episode; for one aborted before any, a decision that was never made."""
    made = decisions_of(played)
    if made or not _is_aborted(played) or isinstance(played.item, DraftItem):
        return made
    options = Options.read(played.episode.options)
    nothing = Decision(
        episode_id=played.episode.id,
        run=played.episode.run_id,
        item=played.item,
        method=options.method or "offline",
        context=options.context,
        dialogue=options.dialogue,
        generator=played.occupant(ROBOT),
        chosen=(),
        asked=False,
        flags=(ABORTED,),
    )
    return (nothing,)


def decisions_of(played: PlayedItem) -> tuple[Decision, ...]:
    """Return all decisions of an episode, in order, with their answers."""
    if isinstance(played.item, DraftItem):
        return ()
    answers = {turn.payload["asked"]: turn.text for turn in played.turns_of("answer")}
    return tuple(
        decision(turn, played.episode, played.item, answer=answers.get(turn.number, ""))
        for turn in played.turns_of("decide")
    )


def decision(turn: Turn, episode: Episode, item: DecideItem, *, answer: str = "") -> Decision:
    """Return the decision of a logged turn: the inverse of `payloads.act_or_ask`."""
    made = read_decision(
        turn.payload, item, episode_id=episode.id, run=episode.run_id, answer=answer, seconds=turn.seconds
    )
    return replace(made, generator=occupant(episode, ROBOT)) if made.method == "person" else made


def options_of(reader: LogReader, run_id: str) -> Options:
    """Return the options of a run's episodes; for studies and free play, those of the first episode."""
    options = required_run(reader, run_id, BENCHMARK).config.get("options")
    if options is None:
        options = next((episode.options for episode in reader.episodes(run_id)), {})
    return Options.read(options)


def task_of_run(reader: LogReader, run: Run) -> str:
    """Return the task of a run: ``decide`` or ``annotate``; empty if that is not known yet."""
    for configured in (run.config.get("options"), (run.config.get("study") or {}).get("settings")):
        if isinstance(configured, dict) and "task" in configured:
            return str(configured["task"])
    first = next(iter(reader.episodes(run.id)), None)
    return "" if first is None else str(first.options.get("task", "decide"))


def calibration_of(reader: LogReader, run_id: str) -> Calibrated | None:
    """Return the calibration that a run was played with, including its data; None if it had none."""
    options = options_of(reader, run_id)
    if options.calibration is None:
        return None
    source = options.calibration.run
    if not source or source not in {run.id for run in reader.runs()}:
        return options.calibration
    return calibrate(decisions(reader, [source]), options.settings, run=source)


def offered_by(reader: LogReader, run_id: str) -> dict[str, tuple[str, ...]]:
    """Return the options of a run's robot by item id, without fillers and duplicates."""
    offers: dict[str, tuple[str, ...]] = {}
    for made in decisions(reader, [run_id]):
        texts = [text for letter, text in made.options.items() if letter not in made.filled]
        texts = texts or list(made.samples) or list(made.chosen or ())
        offers.setdefault(made.item.id, tuple(dict.fromkeys(texts)))
    return {item: texts for item, texts in offers.items() if texts}


def conformal_sets(reader: LogReader, item: PairItem) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Return the prediction sets of the newest conformal runs on the same task, by run."""
    sets = ((run, _set_on(reader, run, item)) for run in conformal_runs(reader))
    return tuple(islice(((run, texts) for run, texts in sets if texts is not None), _RUNS_SHOWN))


def conformal_runs(reader: LogReader) -> Iterator[str]:
    """Yield the runs of conformal methods with a threshold, newest first."""
    for run in reversed(reader.runs()):
        options = run.config.get("options") or {}
        if run.benchmark == BENCHMARK and options.get("method") in CONFORMAL and options.get("calibration"):
            yield run.id


def _set_on(reader: LogReader, run_id: str, item: PairItem) -> tuple[str, ...] | None:
    named = (row for row in reader.items(run_id) if row.name == item.id)
    hashes = {row.hash for row in named if _is_same_task(item_from_row(row), item)}
    for episode in reader.episodes(run_id, latest=True) if hashes else ():
        if episode.item_hash in hashes:
            for turn in reader.turns(episode.id):
                if turn.payload.get("kind") == "decide":
                    return tuple(turn.payload["prediction_set"])
    return None


def _is_same_task(item: Item, other: PairItem) -> bool:
    """Return True if both are the same member of the same pair, regardless of the offered options."""
    if not isinstance(item, PairItem) or item.member != other.member:
        return False
    return replace(item.pair, options=()) == replace(other.pair, options=())


# ---- a run at another target

LEAST: Final = 0.05
MOST: Final = 0.99
"""The smallest and the largest target, in steps of a hundredth."""


class RunRead(NamedTuple):
    """The decisions of a run, before any threshold.

    `ready`: its first decisions, scored, without prompts and raw texts; `calibrated`: the calibration it was
    played with or provides; None if there is none.
    """

    options: Options
    ready: tuple[ScoredDecision, ...]
    calibrated: Calibrated | None

    @property
    def movable(self) -> bool:
        """True if the threshold can be recomputed at another target."""
        return self.calibrated is not None and 0 < len(self.calibrated.nonconformities) == self.calibrated.n


class Entry(NamedTuple):
    """A decision of a run at a target.

    `outcome`: its outcome; None in a calibration run, which has no sets.
    `judged`: True if it asked or acted as it should; None if that is unknown.
    """

    ready: ScoredDecision
    outcome: Outcome | None = None
    judged: bool | None = None

    @property
    def decision(self) -> Decision:
        """The decision."""
        return self.ready.decision

    @property
    def item(self) -> DecideItem:
        """The task decided on."""
        return self.decision.item


class RunAtTarget(NamedTuple):
    """A run at a target, `own` if it is the run's: the threshold, and the decisions in order."""

    own: bool
    settings: Settings
    calibrated: Calibrated | None
    entries: tuple[Entry, ...]

    @property
    def outcomes(self) -> tuple[Outcome, ...]:
        """The outcomes; empty for a calibration run."""
        return tuple(entry.outcome for entry in self.entries if entry.outcome is not None)


def read_run(reader: LogReader, run: str) -> RunRead:
    """Read and score a run."""
    options = options_of(reader, run)
    calibrates = is_calibrated(options)
    logged = decisions(reader, [run], aborted=not calibrates)
    ready = tuple(prepare(replace(each, prompts=(), raw=()), options.settings) for each in logged)
    own = calibrate(ready, options.settings, run) if calibrates and ready else None
    return RunRead(options, ready, own or calibration_of(reader, run))


def run_at_target(read: RunRead, target: str = "") -> RunAtTarget:
    """Return the run at a target; at its own if `target` is empty or cannot be applied."""
    own = read.options.settings.target_success
    chosen = read_target(target) if read.movable else None
    settings = replace(read.options.settings, target_success=own if chosen is None else chosen)
    calibrated = read.calibrated
    if calibrated is not None and chosen is not None:
        calibrated = recalibrate(calibrated, settings)
    q_hat = math.inf if calibrated is None else calibrated.q_hat

    def entry(ready: ScoredDecision) -> Entry:
        if is_calibrated(read.options):
            return Entry(ready)
        outcome = apply_threshold(ready, q_hat, settings)
        judged = asks_as_needed(outcome, settings)
        return Entry(ready, outcome, None if judged is None else bool(judged))

    return RunAtTarget(settings.target_success == own, settings, calibrated, tuple(map(entry, read.ready)))


def read_target(text: str) -> float | None:
    """Parse a target and clip it to the allowed range; None if it is not a number."""
    try:
        value = float(text)
    except ValueError:
        return None
    return min(max(round(value, 2), LEAST), MOST) if math.isfinite(value) else None
