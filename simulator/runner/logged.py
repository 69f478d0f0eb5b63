"""What the log says of runs, of any benchmark: whose they are, which episodes count, how they ended."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from logs import LogReader
from logs.rows import Ending, Episode, Run, Turn
from simulator.errors import InputError

ENDED: Final = ("completed", "truncated")
"""Endings of episodes that were played to their end: these have scores."""


class PlayedToEnd(NamedTuple):
    """An episode that was played to its end, and its turns in order."""

    episode: Episode
    turns: Sequence[Turn]
    ending: Ending


class Endings(NamedTuple):
    """How the episodes of runs ended.

    Attributes:
        statuses: status -> how many episodes ended so.
        failures: what was said of those that went wrong -> how many did.
    """

    statuses: Mapping[str, int]
    failures: Mapping[str, int]


def required_run(reader: LogReader, run_id: str, benchmark: str) -> Run:
    """A run of a benchmark.

    Raises:
        InputError: if it is another benchmark's.
        NotInLog: if there is none of that name.
    """
    run = reader.run(run_id)
    if run.benchmark != benchmark:
        raise InputError(f"{run_id} is a run of {run.benchmark}, not of {benchmark}.")
    return run


def played_to_end(
    reader: LogReader, run_id: str, gone: frozenset[str] = frozenset()
) -> Iterator[PlayedToEnd]:
    """The episodes of a run that were played to their end, the latest attempt of each.

    Args:
        reader: of the log.
        run_id: the run.
        gone: people whose episodes do not count.
    """
    endings = reader.endings(run_id)
    for episode, turns in reader.turns_of_run(run_id):
        ending = endings.get(episode.id)
        if ending is not None and ending.status in ENDED and episode.participant_id not in gone:
            yield PlayedToEnd(episode, turns, ending)


def counting_episodes(reader: LogReader, run_id: str) -> tuple[str, ...]:
    """Ids of the latest attempts of a run, those of people who have withdrawn left out."""
    gone = reader.erased_participants()
    return tuple(one.id for one in reader.episodes(run_id, latest=True) if one.participant_id not in gone)


def endings_of(reader: LogReader, run_id: str, episodes: Iterable[str]) -> Endings:
    """How some episodes of a run ended: statuses by name, and why episodes failed or were aborted."""
    every = reader.endings(run_id)
    found = [every[id] for id in episodes if id in every]
    return Endings(
        dict(sorted(Counter(one.status for one in found).items())),
        dict(Counter(one.message for one in found if one.status in ("failed", "aborted"))),
    )


def endings_of_runs(reader: LogReader, runs: Iterable[str]) -> Endings:
    """How all episodes of runs ended (``open``: not yet), and why some failed, the commonest reason first."""
    statuses: Counter[str] = Counter()
    failures: Counter[str] = Counter()
    for run in runs:
        endings = reader.endings(run)
        for episode in reader.episodes(run, latest=True):
            ending = endings.get(episode.id)
            statuses[ending.status if ending else "open"] += 1
            if ending and ending.status == "failed":
                failures[ending.message or "no reason is logged"] += 1
    return Endings(dict(statuses), dict(failures.most_common()))
