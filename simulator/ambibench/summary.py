"""What `askback run ambibench` and `askback score` print: one row per run, out of its scores."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from rich.box import SIMPLE
from rich.console import Console
from rich.table import Table

from logs import LogReader
from logs.query import ModelUsage
from logs.rows import Score
from simulator.ambibench.playing import PARTICIPANT
from simulator.ambibench.room import ROOM
from simulator.ambibench.rows import BENCHMARK
from simulator.ambibench.silence import with_silence
from simulator.runner.logged import (
    ENDED,
    counting_episodes,
    endings_of,
    failures_of,
    played_to_end,
    required_run,
    seat_failures,
)
from simulator.runner.telling import print_aborted, print_not_scored, print_usage
from simulator.stats import Interval, cluster_bootstrap

METRICS: Final = ("accuracy", "strict", "valid", "oracle", "named", "same", "other", "invalid")
_RESAMPLES: Final = 1000  # spec 7.4


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSummary:
    """A run in numbers.

    Attributes:
        who: sits in the seat.
        part: what was played; the run's name where its configuration does not say.
        statuses: episodes by how they ended; ``erased`` those of people who have withdrawn, which count
            nowhere else.
        failures: why episodes failed or people left, and how many did.
        aborted: why seats failed -> how many episodes that aborted; they count as unsuccessful.
        exclude_aborted: whether these are left out instead.
        metrics: metric -> its mean over labels (of free text over episodes), with a percentile bootstrap
            interval from resampling whole items, each with its repeats; `n` counts items.
        usage: what the models took.
    """

    run: str
    who: str
    part: str
    statuses: Mapping[str, int]
    failures: Mapping[str, int]
    metrics: Mapping[str, Interval]
    usage: tuple[ModelUsage, ...]
    aborted: Mapping[str, int] = field(default_factory=dict)
    exclude_aborted: bool = False


def summarise(reader: LogReader, run_id: str, *, exclude_aborted: bool = False) -> RunSummary:
    """A run in numbers, out of its newest scores. People who have withdrawn do not count.

    Raises:
        InputError: if it is a run of another benchmark.
        NotInLog: if there is no such run.
    """
    config = required_run(reader, run_id, BENCHMARK).config
    counting = frozenset(counting_episodes(reader, run_id))
    statuses, failures = endings_of(reader, run_id).statuses, failures_of(reader, run_id)
    values: dict[str, dict[str, float]] = {}
    for score in reader.scores(run_id=run_id):
        if score.value is not None and score.episode_id in counting:
            values.setdefault(score.metric, {})[score.episode_id] = score.value
    labels = dict(_labels(reader, run_id))
    if not exclude_aborted:
        for episode_id, scores, asked in _aborted(reader, run_id):
            labels[episode_id] = asked
            for metric, value in scores.items():
                values.setdefault(metric, {})[episode_id] = value
    items = {one.id: one.item_hash for one in reader.episodes(run_id)}
    metrics = {metric: _mean(found, labels, items) for metric in METRICS if (found := values.get(metric))}
    return RunSummary(
        run=run_id,
        who=str(config["seats"][PARTICIPANT]),
        part=str(config.get("part", run_id)),
        statuses=statuses,
        failures=failures,
        metrics=metrics,
        usage=tuple(reader.usage(run_id)),
        aborted=seat_failures(reader, [run_id]),
        exclude_aborted=exclude_aborted,
    )


def _aborted(reader: LogReader, run_id: str) -> Iterator[tuple[str, dict[str, float], int]]:
    """Of the episodes that a failing seat aborted: id, metrics, and how many labels were due."""
    items = {row.hash: ROOM.read_item(row) for row in reader.items(run_id)}
    for episode, turns, ending in played_to_end(reader, run_id, reader.erased_participants(), aborted=True):
        if ending.status not in ENDED:
            item = items[episode.item_hash]
            whole = with_silence(item, episode.id, turns)
            asked = sum(turn.payload.get("kind") == "answer" for turn in whole)
            rows = ROOM.score(item, whole, ())
            yield episode.id, {row.metric: row.value for row in rows if row.value is not None}, asked or 1


def _labels(reader: LogReader, run_id: str) -> Mapping[str, int]:
    """How many labels were given in each episode that has any."""
    with reader.connection() as connection:
        found = connection.execute(
            "SELECT episode_id, COUNT(*) FROM turns WHERE json_extract(payload, '$.kind') = 'answer' "
            "AND episode_id IN (SELECT id FROM episodes WHERE run_id = ?) GROUP BY episode_id",
            [run_id],
        )
        return {str(episode): int(count) for episode, count in found}


def _mean(found: Mapping[str, float], labels: Mapping[str, int], items: Mapping[str, str]) -> Interval:
    played = [items[name] for name in found]
    weights = [labels.get(name, 1) for name in found]
    mean = cluster_bootstrap(list(found.values()), played, weights=weights, resamples=_RESAMPLES)
    return mean._replace(n=len(set(played)))


def score_run(reader: LogReader, run_id: str) -> tuple[Score, ...]:
    """The scores of every ended episode of a run, from its logged turns, read as the run itself reads them.

    Raises:
        InputError: if it is a run of another benchmark.
    """
    required_run(reader, run_id, BENCHMARK)
    items = {row.hash: ROOM.read_item(row) for row in reader.items(run_id)}
    judgments: dict[str | None, list[Any]] = {}
    for one in reader.judgments(run_id=run_id):
        judgments.setdefault(one.episode_id, []).append(one)
    return tuple(
        score
        for episode, turns, _ in played_to_end(reader, run_id, reader.erased_participants())
        for score in ROOM.score(items[episode.item_hash], turns, judgments.get(episode.id, ()))
    )


def print_summaries(console: Console, summaries: Sequence[RunSummary]) -> None:
    """A table of runs of labels, one of runs of free text; what failed; what the models took."""
    answered = [one for one in summaries if "accuracy" in one.metrics]
    written = [one for one in summaries if "accuracy" not in one.metrics]
    if answered:
        console.print(_table(answered, ("accuracy", "valid", "oracle")))
    if any(one.metrics for one in written):
        console.print(_table(written, ("same", "other", "invalid", "named")))
    for one in summaries:
        _print_rest(console, one)


def summary_json(summary: RunSummary) -> dict[str, Any]:
    """The summary as plain JSON."""
    return {
        "run": summary.run,
        "participant": summary.who,
        "statuses": dict(summary.statuses),
        "failures": dict(summary.failures),
        "aborted": dict(summary.aborted),
        "exclude_aborted": summary.exclude_aborted,
        "metrics": {name: found._asdict() for name, found in summary.metrics.items()},
    }


def _table(summaries: Sequence[RunSummary], metrics: Sequence[str]) -> Table:
    shown = [name for name in metrics if any(name in one.metrics for one in summaries)]
    table = Table(box=SIMPLE)
    for name in ("participant", "what"):
        table.add_column(name, overflow="fold")
    for name in ("n", *shown):
        table.add_column(name, no_wrap=True)
    for one in summaries:
        cells = [
            _cell(one.metrics.get(name), interval=name in ("accuracy", "same", "named")) for name in shown
        ]
        ended = sum(count for status, count in one.statuses.items() if status in ENDED)
        ended += 0 if one.exclude_aborted else sum(one.aborted.values())
        table.add_row(one.who, one.part.replace("-", " "), str(ended), *cells)
    return table


def _cell(found: Interval | None, *, interval: bool) -> str:
    if found is None:
        return ""
    return f"{found.value:.3f} [{found.low:.3f}, {found.high:.3f}]" if interval else f"{found.value:.3f}"


def _print_rest(console: Console, summary: RunSummary) -> None:
    print_not_scored(console, summary.run, summary.statuses, summary.failures)
    if not summary.metrics and summary.statuses.get("completed"):
        console.print(f"{summary.run}: {summary.statuses['completed']} answers are to be sorted by people.")
    print_aborted(console, summary.aborted, summary.run, excluded=summary.exclude_aborted)
    print_usage(console, summary.usage)
