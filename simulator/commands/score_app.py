"""`askback score`: a run of the log, with the scorers of its benchmark; result files, if it has any.

``askback score NAME`` scores the run called so. Benchmarks add commands for files (``askback score
NAME FILES``), which come first: a run with the name of a command is scored by ``askback score run NAME``.
"""

from __future__ import annotations

from typing import Annotated, Any, Final

import typer
from typer.core import TyperGroup

from logs import LogReader, LogWriter
from logs.cli import LogOption
from logs.paths import default_path
from simulator import catalog
from simulator.benchmark import Benchmark
from simulator.errors import InputError
from simulator.runner.model_flags import NO_FLAGS, ModelFlags, asks_models
from simulator.runner.options import ExcludeAbortedOption, JsonOption
from simulator.runner.scoring import Scorer

_RUN: Final = "run"


class _RunByDefault(TyperGroup):
    """A group in which anything that is no command is said to `_RUN`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if args and args[0] not in self.commands and args[0] != "--help":
            args = [_RUN, *args]
        return super().parse_args(ctx, args)


score_app = typer.Typer(
    cls=_RunByDefault,
    no_args_is_help=True,
    help="Score a run of the log again (its name will do), or files of results.",
)


def score_command(
    run: Annotated[str, typer.Argument(help="the run's name (askback log list shows them)")],
    judge: Annotated[str | None, typer.Option(help="a model that settles open successes")] = None,
    flags: ModelFlags = NO_FLAGS,
    as_json: JsonOption = False,
    exclude_aborted: ExcludeAbortedOption = False,
    log: LogOption = None,
) -> None:
    """Score a run again from its logged turns; the new scores are appended to the log."""
    from simulator.commands.score import added_scores  # it brings pandas

    path = log or default_path()
    with LogReader(path) as reader:
        try:
            benchmark = catalog.find(reader.run(run).benchmark)
        except InputError as error:
            raise InputError(f"{run} cannot be scored here. {error}") from error
        if rows := list(added_scores(reader, benchmark, run)):
            with LogWriter(path, durable=False) as writer:
                for row in rows:
                    writer.put(row)
    score = scorer_of(benchmark)
    score(run, judge, flags, as_json, log, exclude_aborted=exclude_aborted)


score_app.command(_RUN)(asks_models(score_command))


def scorer_of(benchmark: Benchmark[Any, Any]) -> Scorer:
    """Return what scores a run of a benchmark."""
    if benchmark.scorer is not None:
        return benchmark.scorer()
    from simulator.commands.score import scorer  # it brings pandas

    return scorer(benchmark)
