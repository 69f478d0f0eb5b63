"""What `askback run ambibench` and `askback score` print: one row per run, out of its scores."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from rich.box import SIMPLE
from rich.console import Console
from rich.table import Table
from rich.text import Text

from logs import LogReader
from logs.query import ModelUsage
from logs.rows import Score
from simulator.ambibench.playing import PARTICIPANT
from simulator.ambibench.room import ROOM
from simulator.ambibench.rows import BENCHMARK
from simulator.errors import InputError
from simulator.stats import Interval, cluster_bootstrap

ENDED: Final = ("completed", "truncated")
METRICS: Final = ("accuracy", "strict", "valid", "oracle", "named", "same", "other", "invalid")
_RESAMPLES: Final = 1000  # spec 7.4


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSummary:
    """A run in numbers.

    Attributes:
        who: sits in the seat.
        part: what was played; the run's name where its configuration does not say.
        statuses: episodes by how they ended.
        failures: why episodes failed, and how many did.
        metrics: metric -> its mean over labels (of free text over episodes), with a percentile bootstrap
            interval from resampling whole episodes; `n` counts these.
        usage: what the models took.
    """

    run: str
    who: str
    part: str
    statuses: Mapping[str, int]
    failures: Mapping[str, int]
    metrics: Mapping[str, Interval]
    usage: tuple[ModelUsage, ...]


def summarise(reader: LogReader, run_id: str) -> RunSummary:
    """A run in numbers, out of its newest scores. People who have withdrawn do not count.

    Raises:
        InputError: if it is a run of another benchmark.
        NotInLog: if there is no such run.
    """
    run = require_run(reader, run_id)
    gone = reader.erased_participants()
    episodes = [one.id for one in reader.episodes(run_id, latest=True) if one.participant_id not in gone]
    every = reader.endings(run_id)
    endings = [every[id] for id in episodes if id in every]
    counting = frozenset(episodes)
    values: dict[str, dict[str, float]] = {}
    for score in reader.scores(run_id=run_id):
        if score.value is not None and score.episode_id in counting:
            values.setdefault(score.metric, {})[score.episode_id] = score.value
    labels = _labels(reader, run_id)
    metrics = {metric: _mean(found, labels) for metric in METRICS if (found := values.get(metric))}
    return RunSummary(
        run=run_id,
        who=str(run["seats"][PARTICIPANT]),
        part=str(run.get("part", run_id)),
        statuses=dict(sorted(Counter(one.status for one in endings).items())),
        failures=Counter(one.message for one in endings if one.status in ("failed", "aborted")),
        metrics=metrics,
        usage=tuple(reader.usage(run_id)),
    )


def _labels(reader: LogReader, run_id: str) -> Mapping[str, int]:
    """How many labels were given in each episode that has any."""
    with reader.connection() as connection:
        found = connection.execute(
            "SELECT episode_id, COUNT(*) FROM turns WHERE json_extract(payload, '$.kind') = 'answer' "
            "AND episode_id IN (SELECT id FROM episodes WHERE run_id = ?) GROUP BY episode_id",
            [run_id],
        )
        return {str(episode): int(count) for episode, count in found}


def _mean(found: Mapping[str, float], labels: Mapping[str, int]) -> Interval:
    # By name: intervals are resampled, and must not depend on which episode happened to end first.
    names = sorted(found)
    weights = [labels.get(name, 1) for name in names]
    return cluster_bootstrap([found[name] for name in names], names, weights=weights, resamples=_RESAMPLES)


def score_run(reader: LogReader, run_id: str) -> tuple[Score, ...]:
    """The scores of every ended episode of a run, from its logged turns, read as the run itself reads them.

    Raises:
        InputError: if it is a run of another benchmark.
    """
    require_run(reader, run_id)
    gone, endings = reader.erased_participants(), reader.endings(run_id)
    items = {row.hash: ROOM.read_item(row) for row in reader.items(run_id)}
    judgments: dict[str | None, list[Any]] = {}
    for one in reader.judgments(run_id=run_id):
        judgments.setdefault(one.episode_id, []).append(one)
    return tuple(
        score
        for episode, turns in reader.turns_of_run(run_id)
        if episode.id in endings and endings[episode.id].status in ENDED
        if episode.participant_id not in gone
        for score in ROOM.score(items[episode.item_hash], turns, judgments.get(episode.id, ()))
    )


def require_run(reader: LogReader, run_id: str) -> Mapping[str, Any]:
    """The configuration of a run of AmbiBench.

    Raises:
        InputError: if it is a run of another benchmark.
    """
    run = reader.run(run_id)
    if run.benchmark != BENCHMARK:
        raise InputError(f"{run_id} is a run of {run.benchmark}, not of {BENCHMARK}.")
    return run.config


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
        table.add_row(one.who, one.part.replace("-", " "), str(ended), *cells)
    return table


def _cell(found: Interval | None, *, interval: bool) -> str:
    if found is None:
        return ""
    return f"{found.value:.3f} [{found.low:.3f}, {found.high:.3f}]" if interval else f"{found.value:.3f}"


def _print_rest(console: Console, summary: RunSummary) -> None:
    for reason, count in summary.failures.items():
        console.print(Text.assemble((f"{summary.run}: {count} not scored: ", "red"), reason))
    if not summary.metrics and summary.statuses.get("completed"):
        console.print(f"{summary.run}: {summary.statuses['completed']} answers are to be sorted by people.")
    for one in summary.usage:
        cost = f"${one.cost:.4f}" if not one.unpriced else "no price known"
        console.print(f"[dim]{one.model}: {one.calls} calls, {one.cached} from the cache, {cost}[/dim]")
