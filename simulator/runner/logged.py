"""Runs in the log, of any benchmark: their owner, the episodes that count, and their endings.

All benchmarks count episodes by the same rule (`seat_failed`):

* ``completed`` and ``truncated`` episodes were played to their end and are scored by their turns;
* ``aborted`` episodes in which a seat failed (said nothing, broke the rules, refused) count as unsuccessful;
* ``aborted`` episodes that a person left, and ``failed`` ones (infrastructure; run again), do not count.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from logs import LogReader, Played
from logs.rows import Ending, Episode, Item, Run, Turn
from simulator.errors import InputError

ENDED: Final = ("completed", "truncated")
"""Statuses of episodes that were played to their end, which have scores."""

ERASED: Final = "erased"
"""Status in summaries for episodes of people who have withdrawn or are excluded; they are no results."""

MODEL_FAILURE: Final = "model_failed"
"""Kind of the event that a model opposite a person gave no answer."""

PERSON: Final = "person"
_NO_SEAT: Final = ("infrastructure", "scorer")


class PlayedItem(NamedTuple):
    """An episode that counts (see the module), with its item and its turns in order."""

    episode: Episode
    item: Any
    turns: Sequence[Turn]
    ending: Ending

    def turns_of(self, kind: str) -> list[Turn]:
        """Return the turns of one kind, in order."""
        return [turn for turn in self.turns if turn.payload.get("kind") == kind]

    def occupant(self, seat: str) -> str:
        """Return the seat's occupant: a person's pseudonym, or a name."""
        return occupant(self.episode, seat)


class Endings(NamedTuple):
    """The endings of the episodes of runs.

    Attributes:
        statuses: status -> number of episodes. Episodes without an ending are ``open``; those of people who
            have withdrawn are ``erased``, however they ended, and are not counted below.
        failures: reason of failure -> number of episodes, the commonest first.
        aborted: seat that failed and reason -> number of aborted episodes, the commonest first.
        left: reason of other aborted episodes, which people left -> number.
    """

    statuses: Mapping[str, int]
    failures: Mapping[str, int]
    aborted: Mapping[str, int]
    left: Mapping[str, int]


class NotCounting(NamedTuple):
    """The numbers of a run's episodes that no score counts.

    Attributes:
        open: episodes that have not ended or not started.
        failed: episodes that failed, or were aborted without a seat's failure.
        erased: episodes of people who have withdrawn or are excluded.
    """

    open: int
    failed: int
    erased: int


def required_run(reader: LogReader, run_id: str, benchmark: str) -> Run:
    """Return a run of a benchmark.

    Raises:
        InputError: if it is another benchmark's.
        NotInLog: if there is no run of that name.
    """
    run = reader.run(run_id)
    if run.benchmark != benchmark:
        raise InputError(
            f"{run_id} is a run of {run.benchmark}, not of {benchmark}.",
            code="other_benchmark",
            run=run_id,
            benchmark=run.benchmark,
        )
    return run


def took_part(people: frozenset[str], played: Played | PlayedItem) -> bool:
    """Return True if any of `people` took part in an episode, by its participant or those of its turns."""
    return played.episode.participant_id in people or any(
        turn.payload.get("participant_id") in people for turn in played.turns
    )


def seat_failed(episode: Episode, ending: Ending) -> bool:
    """Return True if a seat's failure aborted an episode, so that it counts as unsuccessful.

    An episode of a person who withdraws, does not consent or does not qualify does not count.
    """
    if ending.status != "aborted" or ending.cause is None or ending.cause in _NO_SEAT:
        return False
    return episode.seats.get(ending.cause) != PERSON


def played_items(
    reader: LogReader,
    run_id: str,
    read_item: Callable[[Item], Any] = lambda row: row,
    gone: frozenset[str] | None = None,
    *,
    aborted: bool = False,
) -> Iterator[PlayedItem]:
    """Yield the episodes of a run that were played to their end, the latest attempt of each.

    `gone`: people whose episodes are omitted; None for those who do not count in the run. `aborted`: include
    episodes that a seat's failure aborted (`seat_failed`).
    """
    gone = reader.uncounted_participants(run_id) if gone is None else gone
    # Endings first: the run may be playing, and every ended episode has an item.
    endings, items = reader.endings(run_id), {row.hash: read_item(row) for row in reader.items(run_id)}
    for played in reader.turns_of_run(run_id):
        episode, ending = played.episode, endings.get(played.episode.id)
        if ending is None or took_part(gone, played):
            continue
        if ending.status in ENDED or (aborted and seat_failed(episode, ending)):
            yield PlayedItem(episode, items[episode.item_hash], played.turns, ending)


def occupant(episode: Episode, seat: str) -> str:
    """Return the occupant of a seat: a person's pseudonym, if any, else the name."""
    name = episode.seats.get(seat, "")
    return episode.participant_id or name if name == PERSON else name


def erased_episodes(reader: LogReader, run_id: str) -> frozenset[str]:
    """Return the ids of a run's latest attempts that involve people who do not count in it."""
    gone = reader.uncounted_participants(run_id)
    if not gone:
        return frozenset()
    return frozenset(played.episode.id for played in reader.turns_of_run(run_id) if took_part(gone, played))


def not_counting(reader: LogReader, run_id: str) -> NotCounting:
    """Return the numbers of a run's episodes that no score counts."""
    endings = endings_of_runs(reader, [run_id])
    begun, planned = sum(endings.statuses.values()), reader.progress(run_id).planned or 0
    return NotCounting(
        open=endings.statuses.get("open", 0) + max(planned - begun, 0),
        failed=sum(endings.failures.values()) + sum(endings.left.values()),
        erased=endings.statuses.get(ERASED, 0),
    )


def endings_of_runs(reader: LogReader, runs: Iterable[str]) -> Endings:
    """Return the endings of runs, by the latest attempt of each episode, with the reasons."""
    statuses, failures, aborted, left = Counter[str](), Counter[str](), Counter[str](), Counter[str]()
    for run in runs:
        ended, erased = reader.endings(run), erased_episodes(reader, run)
        for episode in reader.episodes(run, latest=True):
            ending = ended.get(episode.id)
            status = ERASED if episode.id in erased else ending.status if ending else "open"
            statuses[status] += 1
            if ending is None or status in (*ENDED, ERASED):
                continue
            why = ending.message or "no reason is logged"
            if ending.status == "failed":
                failures[why] += 1
            elif seat_failed(episode, ending):
                aborted[f"{ending.cause}: {why}"] += 1
            else:
                left[why] += 1
    reasons = (dict(counts.most_common()) for counts in (failures, aborted, left))
    return Endings(dict(statuses), *reasons)
