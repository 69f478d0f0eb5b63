"""`askback score`: score a logged run with the scorers of its benchmark, or result files.

``askback score NAME`` scores the run of that name. Benchmarks add commands for files (``askback score NAME
FILES``), which take precedence: a run with the name of a command is scored by ``askback score run NAME``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import Annotated, Any, Final

import typer
from rich.console import Console
from typer.core import TyperGroup

from logs import LogReader, LogWriter
from logs.cli import LogOption
from logs.paths import default_path
from logs.rows import Judgment, Score
from simulator import catalog
from simulator.benchmark import Benchmark
from simulator.catalog import attempt, package_error
from simulator.errors import InputError
from simulator.runner.build import load_machine, machine_of
from simulator.runner.logged import PlayedItem, played_items, required_run
from simulator.runner.machines import AnyMachine, score_rows
from simulator.runner.options import (
    HERE,
    LOCAL,
    NO_FLAGS,
    Engine,
    ExcludeAbortedOption,
    ExecutorOption,
    JsonOption,
    ModelFlags,
    WorkersOption,
    with_model_options,
)
from simulator.runner.spreading import engine_of, in_order

_RUN: Final = "run"
# Episodes sent to a worker process at a time.
_GROUP: Final = 32

_Episode = tuple[PlayedItem, tuple[Judgment, ...]]


class _RunByDefault(TyperGroup):
    """A command group that passes anything that is not a command to `_RUN`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if args and args[0] not in self.commands and args[0] != "--help":
            args = [_RUN, *args]
        return super().parse_args(ctx, args)


score_app = typer.Typer(
    cls=_RunByDefault,
    no_args_is_help=True,
    help="Score a logged run again, by its name, or files of results.",
)


def score_command(
    run: Annotated[str, typer.Argument(help="name of the run (askback log list shows them)")],
    judge: Annotated[str | None, typer.Option(help="model that judges undecided successes")] = None,
    flags: ModelFlags = NO_FLAGS,
    as_json: JsonOption = False,
    exclude_aborted: ExcludeAbortedOption = False,
    workers: WorkersOption = None,
    executor: ExecutorOption = LOCAL,
    log: LogOption = None,
) -> None:
    """Score a run again from its logged turns; the new scores are appended to the log."""
    from simulator.reporting import json_text
    from simulator.reports import print_run_report, require_complete, run_summary  # these bring pandas

    path, engine = log or default_path(), engine_of(executor, workers, worth=False)
    with LogReader(path) as reader:
        try:
            benchmark = catalog.find(reader.run(run).benchmark)
        except InputError as error:
            raise InputError(f"{run} cannot be scored here. {error}") from error
        _append(path, added_scores(reader, benchmark, run))
        if benchmark.scorer is None:
            if judge or flags != NO_FLAGS:
                raise InputError(f"{run} is scored by its benchmark's rules: there is no judge.")
            _append(path, score_run(reader, benchmark, run, engine))
        elif engine.is_here:
            benchmark.scorer()(reader, run, judge, flags)
        else:
            raise InputError(
                f"Scoring runs of {benchmark.name} is faster than reading them; "
                "leave out --executor and --workers."
            )
        report = run_summary(reader, benchmark, [run], exclude_aborted=exclude_aborted)
    if as_json:
        typer.echo(json_text(report))
    else:
        print_run_report(Console(), report)
    require_complete(report)


score_app.command(_RUN)(with_model_options(score_command))


def score_run(
    reader: LogReader, benchmark: Benchmark[Any, Any], run_id: str, engine: Engine = HERE
) -> Iterator[Score]:
    """Yield the scores of every episode of a run that was played to its end, computed from the log.

    `engine`: the processes that score; the log is read in this process.

    Raises:
        InputError: if it is a run of another benchmark.
        NotInLog: if there is no such run.
    """
    episodes = _scorable_episodes(reader, benchmark, run_id)
    if engine.is_here:
        yield from _scores(machine_of(benchmark), episodes)
        return
    groups = iter(lambda: list(islice(episodes, _GROUP)), [])
    for scores in in_order(partial(_scores_of, benchmark.name), groups, engine):
        yield from scores


def _scores_of(benchmark: str, episodes: Sequence[_Episode]) -> list[Score]:
    return list(_scores(load_machine(benchmark), episodes))


def _scores(machine: AnyMachine, episodes: Iterable[_Episode]) -> Iterator[Score]:
    for played, judgments in episodes:
        try:
            yield from machine.score(played.item, played.turns, judgments, played.episode.options)
        except Exception as error:
            raise package_error(f"{machine.name}: score of {played.episode.id}", error) from error


def added_scores(reader: LogReader, benchmark: Benchmark[Any, Any], run_id: str) -> Iterator[Score]:
    """Yield the metrics that other packages add to every benchmark (entry points ``askback.scorers``).

    A metric that fails is reported, and left out for the entire run: a mean over some episodes would mislead.

    Raises:
        InputError: if it is a run of another benchmark.
        NotInLog: if there is no such run.
    """
    if not (added := catalog.extensions(catalog.SCORERS)):
        return
    package = {metric: catalog.package_name(catalog.SCORERS, metric) for metric in added}
    scores: dict[str, list[Score]] = {metric: [] for metric in added}
    for episode in _scorable_episodes(reader, benchmark, run_id):
        for metric in [*scores]:
            about = f"the metric {metric} of the package {package[metric]}"
            row = attempt(about, partial(_added_score, metric, added[metric], episode))
            if row is None:
                del scores[metric]
            else:
                scores[metric] += row
    yield from chain.from_iterable(scores.values())


def _added_score(metric: str, scorer: Callable[..., Any], episode: _Episode) -> tuple[Score, ...]:
    played, judgments = episode
    value = scorer(played.item, played.turns, judgments)
    return () if value is None else score_rows(played.episode.id, {metric: value}, "1")


def _append(path: Path, scores: Iterable[Score]) -> None:
    if rows := list(scores):
        with LogWriter(path, durable=False) as writer:
            for row in rows:
                writer.put(row)


def _scorable_episodes(reader: LogReader, benchmark: Benchmark[Any, Any], run_id: str) -> Iterator[_Episode]:
    """Yield the episodes that can be scored, each with its judgments."""
    required_run(reader, run_id, benchmark.name)
    for played in played_items(reader, run_id, machine_of(benchmark).read_item, reader.erased_participants()):
        yield played, tuple(reader.judgments(episode_id=played.episode.id))
