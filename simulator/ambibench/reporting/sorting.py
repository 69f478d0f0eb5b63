"""How far raters are with sorting outputs, for the page on which they do it (`coding` has the rules)."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256
from typing import Final, NamedTuple

from logs import LogReader
from logs.rows import Judgment
from simulator.ambibench.coding import KIND, RATERS, Agreement, Category, Output, agreement, codes, outputs
from simulator.ambibench.reporting.pages import settings_of
from simulator.ambibench.rows import BENCHMARK
from simulator.errors import InputError

_LENGTH: Final = 10


class Sorted(NamedTuple):
    """An output that a rater has sorted, and into what."""

    output: Output
    category: Category


class Standing(NamedTuple):
    """How far one rater is.

    Attributes:
        outputs: that there are.
        mine: sorted by the rater.
        done: outputs that need no rater any more: two have sorted them alike, or a third has decided.
        differing: two differ and nobody has decided.
        raters: everybody who has sorted something, in order of appearance.
        last: what the rater sorted last.
    """

    outputs: int
    mine: int
    done: int
    differing: int
    raters: tuple[str, ...]
    last: Sorted | None


class Differing(NamedTuple):
    """An output that two raters sorted differently.

    Attributes:
        decided: the third's word, None before there is one.
    """

    output: Output
    first: Category
    second: Category
    decided: Category | None


class Compared(NamedTuple):
    """Two raters' agreement, and the outputs that they differ on.

    Attributes:
        shown: outputs that may be seen; `hidden` counts the others.
    """

    agreement: Agreement
    shown: tuple[Differing, ...]
    hidden: int


def set_key(run_id: str) -> str:
    """A name for a run's outputs that tells nothing of the run, which may be called after its model."""
    return sha256(run_id.encode()).hexdigest()[:_LENGTH]


def coding_runs(reader: LogReader) -> tuple[str, ...]:
    """Return the runs that hold outputs to be sorted, oldest first."""
    of_benchmark = [run for run in reader.runs() if run.benchmark == BENCHMARK]
    return tuple(run.id for run in of_benchmark if "verbalise" in settings_of(reader, run, ended=True))


def chosen_runs(reader: LogReader, keys: str = "") -> tuple[str, ...]:
    """Return the runs behind a comma list of `set_key`; all that hold outputs if it is empty.

    Raises:
        InputError: if there is no such set.
    """
    runs = coding_runs(reader)
    if not keys:
        return runs
    by_key = {set_key(run): run for run in runs}
    split = list(dict.fromkeys(keys.split(",")))
    if unknown := [key for key in split if key not in by_key]:
        raise InputError(
            f"There is no set of outputs {unknown[0]!r}.", code="no_output_set", token=unknown[0]
        )
    return tuple(by_key[key] for key in split)


def standing(reader: LogReader, runs: Sequence[str], rater: str) -> Standing:
    """Return how far `rater` is with the outputs of some runs."""
    there = outputs(reader, runs)
    judgments = _judgments(reader, runs)
    by_episode = codes(judgments)
    mine = [
        judgment for judgment in judgments if judgment.annotator == rater and judgment.episode_id in there
    ]
    last = None
    if mine and (episode := mine[-1].episode_id) is not None:
        last = Sorted(there[episode], by_episode[episode][rater])
    said = [tuple(by.values()) for by in by_episode.values()]
    split = [one for one in said if len(one) >= RATERS and one[0] != one[1]]
    return Standing(
        outputs=len(there),
        mine=sum(rater in by for by in by_episode.values()),
        done=sum(len(one) >= RATERS for one in said) - sum(len(one) == RATERS for one in split),
        differing=sum(len(one) == RATERS for one in split),
        raters=tuple(dict.fromkeys(judgment.annotator for judgment in judgments)),
        last=last,
    )


def sorted_by(reader: LogReader, runs: Sequence[str], rater: str, token: str) -> Sorted | None:
    """Return what a rater said of the output called `token`; None if they have not sorted it."""
    by_episode = codes(_judgments(reader, runs))
    for episode, output in outputs(reader, runs).items():
        if output.token == token and rater in by_episode.get(episode, {}):
            return Sorted(output, by_episode[episode][rater])
    return None


def compared(reader: LogReader, runs: Sequence[str], rater: str = "") -> tuple[Compared, ...]:
    """Agreement of every two raters; of outputs that `rater` has yet to sort differences are but counted."""
    there, judgments = outputs(reader, runs), _judgments(reader, runs)
    by_episode = codes(judgments)
    compareds = []
    for one in agreement(judgments):
        differings = [
            Differing(there[each.episode_id], each.first, each.second, each.decided)
            for each in one.disagreements
            if not rater or rater in by_episode[each.episode_id]
        ]
        compareds.append(Compared(one, tuple(differings), len(one.disagreements) - len(differings)))
    return tuple(compareds)


def _judgments(reader: LogReader, runs: Sequence[str]) -> list[Judgment]:
    judgments = [judgment for run in runs for judgment in reader.judgments(run_id=run, kind=KIND)]
    return sorted(judgments, key=lambda one: one.created_at or "")
