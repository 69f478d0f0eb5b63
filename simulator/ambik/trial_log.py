"""From the log to records: what the measures read, the same as published files give (spec 13).

Only episodes that were played to their end count (and, as failures, those that a failing seat aborted), and
nobody who was erased. A record's texts come from the
item as it was played, so a log can be scored without its data set.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Final, NamedTuple

from logs import LogReader
from logs.rows import Ending, Episode, Turn
from simulator.ambik.forms import read_pair_form
from simulator.ambik.items import DecideItem, DraftItem, Item, PairItem
from simulator.ambik.payloads import read_decision
from simulator.ambik.playing import ANNOTATOR, ROBOT, USER, Kind, Options, needs_question
from simulator.ambik.records import ABORTED, Calibrated, Decision, Exchange, PairForm
from simulator.ambik.rows import BENCHMARK, item_from_row
from simulator.ambik.sets.predicting import calibrate
from simulator.ambik.settings import Settings
from simulator.ambik.terms import CONFORMAL
from simulator.runner.logged import ENDED, played_to_end, required_run

_RUNS_SHOWN: Final = 5


class Played(NamedTuple):
    """An episode that was played to its end."""

    episode: Episode
    item: Item
    turns: Sequence[Turn]
    ending: Ending

    def of(self, kind: Kind) -> list[Turn]:
        """Return the turns of one kind, in order."""
        return turns_of(self.turns, kind)

    def who(self, seat: str) -> str:
        """Return the person's pseudonym, or who sat there."""
        return who_sat(self.episode, seat)


def who_sat(episode: Episode, seat: str) -> str:
    """Return the person's pseudonym, or the name of whoever sat there."""
    name = episode.seats.get(seat, "")
    return episode.participant_id or name if name == "person" else name


def turns_of(turns: Iterable[Turn], kind: Kind) -> list[Turn]:
    """Return the turns of one kind, in order."""
    return [turn for turn in turns if turn.payload.get("kind") == kind]


def played_of(reader: LogReader, runs: Iterable[str], *, aborted: bool = False) -> tuple[Played, ...]:
    """The episodes of some runs that were played to their end, run by run, in the order in which they began.

    Args:
        reader: of the log.
        runs: their names.
        aborted: also those that a failing seat aborted, as unsuccessful ones (`first_decisions`,
            `exchanges_of`).

    Raises:
        InputError: if a run is another benchmark's.
        NotInLog: if there is no such run.
    """
    gone = reader.erased_participants()
    return tuple(played for run in runs for played in _played(reader, run, gone, aborted))


def _played(reader: LogReader, run_id: str, gone: frozenset[str], aborted: bool) -> Iterator[Played]:
    required_run(reader, run_id, BENCHMARK)
    items = {row.hash: item_from_row(row) for row in reader.items(run_id)}
    for episode, turns, ending in played_to_end(reader, run_id, gone, aborted=aborted):
        yield Played(episode, items[episode.item_hash], tuple(turns), ending)


def decisions(reader: LogReader, runs: Iterable[str], *, aborted: bool = False) -> tuple[Decision, ...]:
    """Return the first decision of each episode in which a robot decided: before anything was asked in it.

    With `aborted` also that of episodes that a failing seat aborted: a set without any action, and the wrong
    answer to whether to ask, where nothing was decided.

    Raises:
        InputError: if a run is another benchmark's.
        NotInLog: if there is no such run.
    """
    return first_decisions(played_of(reader, runs, aborted=aborted))


def first_decisions(episodes: Iterable[Played]) -> tuple[Decision, ...]:
    """`decisions`, of episodes that have been read."""
    return tuple(some[0] for some in map(_decided, episodes) if some)


def _decided(played: Played) -> tuple[Decision, ...]:
    """Return the decisions of an episode; of one that broke off before any, that nothing was decided."""
    decisions = decisions_of(played)
    if decisions or played.ending.status in ENDED or isinstance(played.item, DraftItem):
        return decisions
    options = Options.read(played.episode.options)
    return (
        Decision(
            episode_id=played.episode.id,
            run=played.episode.run_id,
            item=played.item,
            method=options.method or "offline",
            context=options.context,
            dialogue=options.dialogue,
            generator=who_sat(played.episode, ROBOT),
            chosen=(),
            asked=not needs_question(played.item, options.dialogue),
            flags=(ABORTED,),
        ),
    )


def decisions_of(played: Played) -> tuple[Decision, ...]:
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
    found = read_decision(
        turn.payload, item, episode_id=episode.id, run=episode.run_id, answer=answer, seconds=turn.seconds
    )
    return replace(found, generator=who_sat(episode, ROBOT)) if found.method == "person" else found


def exchanges(reader: LogReader, runs: Iterable[str], *, aborted: bool = False) -> tuple[Exchange, ...]:
    """Return the episodes in which the robot could ask, before and after what it was told.

    With `aborted` also those that a failing seat aborted: nothing is right in the end of these.

    Raises:
        InputError: if a run is another benchmark's.
        NotInLog: if there is no such run.
    """
    return exchanges_of(played_of(reader, runs, aborted=aborted))


def exchanges_of(episodes: Iterable[Played]) -> tuple[Exchange, ...]:
    """`exchanges`, of episodes that have been read."""
    could_ask = (played for played in episodes if played.episode.options.get("questions", 0))
    return tuple(
        Exchange(
            before=some[0],
            after=some[-1],
            questions=tuple((one.question, one.answer) for one in some if one.asked and one.answer),
            robot=played.who(ROBOT),
            user=played.who(USER),
            aborted=played.ending.status not in ENDED,
        )
        for played in could_ask
        if (some := _decided(played))
    )


def forms(reader: LogReader, runs: Iterable[str]) -> tuple[PairForm, ...]:
    """Return what annotators filled in, in the order in which they began.

    Raises:
        InputError: if a run is another benchmark's.
        NotInLog: if there is no such run.
    """
    return tuple(
        replace(
            read_pair_form(played.item.draft, turn.payload["form"], annotator=played.who(ANNOTATOR)),
            seconds=turn.seconds,
        )
        for played in played_of(reader, runs)
        if isinstance(played.item, DraftItem)
        for turn in played.of("annotate")
    )


def options_of(reader: LogReader, run_id: str) -> Options:
    """Return how a run's episodes were played; of studies and free play, how the first one was.

    Raises:
        InputError: if it is a run of another benchmark, or its options cannot be read.
        NotInLog: if there is no such run.
    """
    given = required_run(reader, run_id, BENCHMARK).config.get("options")
    if given is None:
        given = next((episode.options for episode in reader.episodes(run_id)), {})
    return Options.read(given)


def calibration_of(reader: LogReader, run_id: str, settings: Settings | None = None) -> Calibrated | None:
    """Return the calibration under which a run was played, with all that it rests on; None if it had none.

    Args:
        reader: of the log.
        run_id: the test run.
        settings: others than those of the run, to see what they would have given.

    Raises:
        InputError: if it is a run of another benchmark.
        NotInLog: if there is no such run.
    """
    options = options_of(reader, run_id)
    if options.calibration is None:
        return None
    source = options.calibration.run
    if not source or source not in {run.id for run in reader.runs()}:
        return options.calibration
    return calibrate(decisions(reader, [source]), settings or options.settings, run=source)


def offered_by(reader: LogReader, run_id: str) -> dict[str, tuple[str, ...]]:
    """Return what a run's robot had to choose from, by item id; fillers left out, each text once.

    Raises:
        InputError: if it is a run of another benchmark.
        NotInLog: if there is no such run.
    """
    found: dict[str, tuple[str, ...]] = {}
    for decision in decisions(reader, [run_id]):
        texts = [text for letter, text in decision.options.items() if letter not in decision.filled]
        texts = texts or list(decision.samples) or list(decision.chosen or ())
        found.setdefault(decision.item.id, tuple(dict.fromkeys(texts)))
    return {name: texts for name, texts in found.items() if texts}


def conformal_sets(reader: LogReader, item: PairItem) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Prediction sets of the newest conformal runs that have played the same task, by run."""
    found: list[tuple[str, tuple[str, ...]]] = []
    for run in reversed(reader.runs()):
        if run.benchmark != BENCHMARK or len(found) == _RUNS_SHOWN:
            continue
        options = run.config.get("options", {})
        if options.get("method") in CONFORMAL and options.get("calibration"):
            found += [(run.id, shown) for shown in _sets_on(reader, run.id, item)][:1]
    return tuple(found)


def _sets_on(reader: LogReader, run_id: str, item: PairItem) -> Iterator[tuple[str, ...]]:
    named = (row for row in reader.items(run_id) if row.name == item.id)
    hashes = {row.hash for row in named if _same_task(item_from_row(row), item)}
    for episode in reader.episodes(run_id, latest=True) if hashes else ():
        if episode.item_hash in hashes:
            for turn in turns_of(reader.turns(episode.id), "decide")[:1]:
                yield tuple(turn.payload["prediction_set"])


def _same_task(item: Item, other: PairItem) -> bool:
    """Return the same member of the same pair, whatever is offered to people."""
    if not isinstance(item, PairItem) or item.member != other.member:
        return False
    return replace(item.pair, options=()) == replace(other.pair, options=())
