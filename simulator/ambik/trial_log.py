"""From the log to records: what the measures read, the same as published files give (spec 13).

Only episodes that were played to their end count (and, as failures, those that a failing seat aborted), and
nobody who was erased. A record's texts come from the item as it was played, so a log can be scored without
its data set. Who reads a run of another benchmark gets an `InputError`, of one that there is not, `NotInLog`.
A run is scored once, so that another target is laid on it in no time (`matched_run`).
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
from simulator.ambik.predicting import ScoredDecision, calibrate, outcome_prepared, prepared, recalibrated
from simulator.ambik.records import ABORTED, Calibrated, Decision, Exchange, Outcome, PairForm
from simulator.ambik.terms import CONFORMAL, Settings
from simulator.runner.logged import ENDED, PlayedItem, played_items, required_run, sitter

_RUNS_SHOWN: Final = 5


def played_of(reader: LogReader, runs: Iterable[str], *, aborted: bool = False) -> tuple[PlayedItem, ...]:
    """Return the episodes of runs that were played to their end, in the order in which they began.

    `aborted`: also those that a failing seat aborted, as unsuccessful: where nothing was decided they have a
    decision without any action and without asking, and nothing is right in the end.
    """
    episodes = list[PlayedItem]()
    for run in runs:
        required_run(reader, run, BENCHMARK)
        episodes += played_items(reader, run, item_from_row, aborted=aborted)
    return tuple(episodes)


def decisions(reader: LogReader, runs: Iterable[str], *, aborted: bool = False) -> tuple[Decision, ...]:
    """Return the first decision of each episode in which a robot decided: before anything was asked in it."""
    return first_decisions(played_of(reader, runs, aborted=aborted))


def first_decisions(episodes: Iterable[PlayedItem]) -> tuple[Decision, ...]:
    """Return the first decision of each episode in which a robot decided."""
    return tuple(made[0] for made in map(_decisions_or_nothing, episodes) if made)


def exchanges_of(episodes: Iterable[PlayedItem]) -> tuple[Exchange, ...]:
    """Return the episodes in which the robot could ask, before and after what it was told."""
    return tuple(
        Exchange.of(made, robot=played.who(ROBOT), user=played.who(USER), aborted=_is_aborted(played))
        for played in episodes
        if played.episode.options.get("questions", 0) and (made := _decisions_or_nothing(played))
    )


def forms(reader: LogReader, runs: Iterable[str]) -> tuple[PairForm, ...]:
    """Return what annotators filled in, in the order in which they began."""
    return forms_of(played_of(reader, runs))


def forms_of(episodes: Iterable[PlayedItem]) -> tuple[PairForm, ...]:
    """Return what annotators filled in."""
    return tuple(
        replace(
            read_pair_form(played.item.draft, turn.payload["form"], annotator=played.who(ANNOTATOR)),
            seconds=turn.seconds,
        )
        for played in episodes
        if isinstance(played.item, DraftItem)
        for turn in played.of("annotate")
    )


def _is_aborted(played: PlayedItem) -> bool:
    return played.ending.status not in ENDED


def _decisions_or_nothing(played: PlayedItem) -> tuple[Decision, ...]:
    """Return the decisions of an episode; of one that broke off before any, that nothing was decided."""
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
        generator=played.who(ROBOT),
        chosen=(),
        asked=False,
        flags=(ABORTED,),
    )
    return (nothing,)


def decisions_of(played: PlayedItem) -> tuple[Decision, ...]:
    """Return all decisions of an episode, in order, each with the answer that it got."""
    if isinstance(played.item, DraftItem):
        return ()
    answers = {turn.payload["asked"]: turn.text for turn in played.of("answer")}
    return tuple(
        decision(turn, played.episode, played.item, answer=answers.get(turn.number, ""))
        for turn in played.of("decide")
    )


def decision(turn: Turn, episode: Episode, item: DecideItem, *, answer: str = "") -> Decision:
    """Return the decision of a logged turn: the inverse of `payloads.decided`."""
    made = read_decision(
        turn.payload, item, episode_id=episode.id, run=episode.run_id, answer=answer, seconds=turn.seconds
    )
    return replace(made, generator=sitter(episode, ROBOT)) if made.method == "person" else made


def options_of(reader: LogReader, run_id: str) -> Options:
    """Return how a run's episodes were played; of studies and free play, how the first one was."""
    options = required_run(reader, run_id, BENCHMARK).config.get("options")
    if options is None:
        options = next((episode.options for episode in reader.episodes(run_id)), {})
    return Options.read(options)


def task_of_run(reader: LogReader, run: Run) -> str:
    """Return what is done in a run: ``decide`` or ``annotate``; empty if nothing tells yet."""
    for configured in (run.config.get("options"), (run.config.get("study") or {}).get("settings")):
        if isinstance(configured, dict) and "task" in configured:
            return str(configured["task"])
    first = next(iter(reader.episodes(run.id)), None)
    return "" if first is None else str(first.options.get("task", "decide"))


def calibration_of(reader: LogReader, run_id: str) -> Calibrated | None:
    """Return the calibration under which a run was played, with all that it rests on; None if it had none."""
    options = options_of(reader, run_id)
    if options.calibration is None:
        return None
    source = options.calibration.run
    if not source or source not in {run.id for run in reader.runs()}:
        return options.calibration
    return calibrate(decisions(reader, [source]), options.settings, run=source)


def offered_by(reader: LogReader, run_id: str) -> dict[str, tuple[str, ...]]:
    """Return what a run's robot had to choose from, by item id; fillers left out, each text once."""
    offers: dict[str, tuple[str, ...]] = {}
    for made in decisions(reader, [run_id]):
        texts = [text for letter, text in made.options.items() if letter not in made.filled]
        texts = texts or list(made.samples) or list(made.chosen or ())
        offers.setdefault(made.item.id, tuple(dict.fromkeys(texts)))
    return {item: texts for item, texts in offers.items() if texts}


def conformal_sets(reader: LogReader, item: PairItem) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Return prediction sets of the newest conformal runs that have played the same task, by run."""
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
    """Return True if it is the same member of the same pair, whatever is offered to people."""
    if not isinstance(item, PairItem) or item.member != other.member:
        return False
    return replace(item.pair, options=()) == replace(other.pair, options=())


# ---- a run under another target than its own

LEAST: Final = 0.05
MOST: Final = 0.99
"""Between what a target can be moved; in hundredths."""


class RunRead(NamedTuple):
    """The decisions of a run, before any threshold.

    Attributes:
        ready: its first decisions, scored; what was prompted and written is left out.
        calibrated: the calibration it was played with, or that it gives; None if there is none.
    """

    options: Options
    ready: tuple[ScoredDecision, ...]
    calibrated: Calibrated | None

    @property
    def movable(self) -> bool:
        """Return True if the threshold can be taken again, at another target."""
        return self.calibrated is not None and 0 < len(self.calibrated.nonconformities) == self.calibrated.n


class Entry(NamedTuple):
    """A decision of a run under a target.

    Attributes:
        outcome: its set and what came of it; None in a calibration, where nothing has a set.
        judged: True if it asked or acted as it should; None where nothing says.
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
        """The task that was decided on."""
        return self.decision.item


class Laid(NamedTuple):
    """A target laid on a run: `own` if it is the run's; its threshold, and the decisions in their order."""

    own: bool
    settings: Settings
    calibrated: Calibrated | None
    entries: tuple[Entry, ...]

    @property
    def outcomes(self) -> tuple[Outcome, ...]:
        """Sets and decisions; none in a calibration run."""
        return tuple(entry.outcome for entry in self.entries if entry.outcome is not None)


def read_run(reader: LogReader, run: str) -> RunRead:
    """Read and score a run."""
    options = options_of(reader, run)
    calibrates = is_calibrated(options)
    logged = decisions(reader, [run], aborted=not calibrates)
    ready = tuple(prepared(replace(each, prompts=(), raw=()), options.settings) for each in logged)
    own = calibrate(ready, options.settings, run) if calibrates and ready else None
    return RunRead(options, ready, own or calibration_of(reader, run))


def matched_run(read: RunRead, target: str = "") -> Laid:
    """Return the run under a target; its own if `target` is none or cannot be laid on it."""
    own = read.options.settings.target_success
    wished = read_target(target) if read.movable else None
    settings = replace(read.options.settings, target_success=own if wished is None else wished)
    calibrated = read.calibrated
    if calibrated is not None and wished is not None:
        calibrated = recalibrated(calibrated, settings)
    q_hat = math.inf if calibrated is None else calibrated.q_hat

    def entry(ready: ScoredDecision) -> Entry:
        if is_calibrated(read.options):
            return Entry(ready)
        outcome = outcome_prepared(ready, q_hat, settings)
        judged = asks_as_needed(outcome, settings)
        return Entry(ready, outcome, None if judged is None else bool(judged))

    return Laid(settings.target_success == own, settings, calibrated, tuple(map(entry, read.ready)))


def read_target(text: str) -> float | None:
    """Return a target that is written; None if that is no number."""
    try:
        value = float(text)
    except ValueError:
        return None
    return min(max(round(value, 2), LEAST), MOST) if math.isfinite(value) else None
