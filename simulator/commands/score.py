"""`askback score RUN` of a declared benchmark: its scores again from logged turns, and what others add."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer
from rich.console import Console

from logs import LogReader, LogWriter
from logs.paths import default_path
from logs.rows import Judgment, Score
from simulator import catalog
from simulator.benchmark import Benchmark
from simulator.reporting import json_text
from simulator.reports import print_whole, run_summary
from simulator.runner.finding import room_of
from simulator.runner.logged import PlayedToEnd, played_to_end, required_run
from simulator.runner.model_flags import ModelFlags
from simulator.runner.scoring import Scorer, refuse_judge


def scorer(benchmark: Benchmark[Any, Any]) -> Scorer:
    """Return what scores a run of a benchmark whose rules leave nothing to a judge."""

    def score(
        run: str,
        judge: str | None,
        flags: ModelFlags,
        as_json: bool,
        log: Path | None,
        *,
        exclude_aborted: bool = False,
    ) -> None:
        refuse_judge(run, judge, flags)
        path = log or default_path()
        with LogReader(path) as reader:
            with LogWriter(path, durable=False) as writer:
                for row in score_run(reader, benchmark, run):
                    writer.put(row)
            report = run_summary(reader, benchmark, [run], exclude_aborted=exclude_aborted)
        if as_json:
            typer.echo(json_text(report))
        else:
            print_whole(Console(), report)

    return score


def score_run(reader: LogReader, benchmark: Benchmark[Any, Any], run_id: str) -> Iterator[Score]:
    """Yield the scores of every episode of a run that was played to its end, as they follow from the log now.

    Raises:
        InputError: if it is a run of another benchmark.
        NotInLog: if there is no such run.
    """
    room = room_of(benchmark)
    for item, played, judgments in _played(reader, benchmark, run_id):
        yield from room.score(item, played.turns, judgments, played.episode.options)


def added_scores(reader: LogReader, benchmark: Benchmark[Any, Any], run_id: str) -> Iterator[Score]:
    """Yield the metrics that other packages add to every benchmark (entry points ``askback.scorers``).

    Raises:
        InputError: if one of these packages cannot be imported, or it is a run of another benchmark.
        NotInLog: if there is no such run.
    """
    if not (added := catalog.extensions(catalog.SCORERS)):
        return
    for item, played, judgments in _played(reader, benchmark, run_id):
        for metric, value in added.items():
            number = value(item, played.turns, judgments)
            if number is not None:
                yield Score(episode_id=played.episode.id, metric=metric, value=float(number), version="1")


def _played(
    reader: LogReader, benchmark: Benchmark[Any, Any], run_id: str
) -> Iterator[tuple[Any, PlayedToEnd, tuple[Judgment, ...]]]:
    """Yield the episodes that have scores, each with its item and judgments."""
    required_run(reader, run_id, benchmark.name)
    room = room_of(benchmark)
    items = {row.hash: room.read_item(row) for row in reader.items(run_id)}
    for played in played_to_end(reader, run_id, reader.erased_participants()):
        judgments = tuple(reader.judgments(episode_id=played.episode.id))
        yield items[played.episode.item_hash], played, judgments
