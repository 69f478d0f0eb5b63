"""From the log to records: what the measures read, the same as published files give (spec 13).

Only episodes that were played to their end count (and, as failures, those that a failing seat aborted), and
nobody who was erased. A record's texts come from the item as it was played, so a log can be scored without
its data set. Who reads a run of another benchmark gets an `InputError`, of one that there is not, `NotInLog`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import islice
from typing import Final

from logs import LogReader
from logs.rows import Episode, Run, Turn
from simulator.ambik.forms import read_pair_form
from simulator.ambik.items import BENCHMARK, DecideItem, DraftItem, Item, PairItem, item_from_row
from simulator.ambik.payloads import read_decision
from simulator.ambik.playing import ANNOTATOR, ROBOT, USER, Options
from simulator.ambik.predicting import calibrate
from simulator.ambik.records import ABORTED, Calibrated, Decision, Exchange, PairForm
from simulator.ambik.terms import CONFORMAL
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
    return tuple(made[0] for made in map(_decisions_of, episodes) if made)


def exchanges_of(episodes: Iterable[PlayedItem]) -> tuple[Exchange, ...]:
    """Return the episodes in which the robot could ask, before and after what it was told."""
    return tuple(
        Exchange.of(made, robot=played.who(ROBOT), user=played.who(USER), aborted=_is_aborted(played))
        for played in episodes
        if played.episode.options.get("questions", 0) and (made := _decisions_of(played))
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


def _decisions_of(played: PlayedItem) -> tuple[Decision, ...]:
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
