"""ClarQ-LLM's runs: which dialogues are played by which rules, and the judge that settles open successes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Final, Literal

import typer
from pydantic import Field
from rich.console import Console

from logs import LogReader, LogWriter
from logs.paths import default_path
from simulator.clarq.benchmark import BENCHMARK
from simulator.clarq.data import load_items
from simulator.clarq.graph import PROVIDER, Rules
from simulator.clarq.judge import judge_run
from simulator.clarq.room import models_of
from simulator.clarq.score import score_rows, score_run
from simulator.models import ChatModel, Decoding, Malformed, ModelOptions, Needs, run_preflight
from simulator.orders import Limit, RunOrder, RunSpec, Selection
from simulator.reporting import json_text
from simulator.reports import print_whole, run_summary
from simulator.runner.build import Models
from simulator.runner.command import Afterwards, RunRequest, asked_how, read_ranges, refuse_idle_options
from simulator.runner.model_flags import ModelFlags
from simulator.runner.run_summary import say
from simulator.sampling import balanced
from trees import Language, Task
from trees.types import Split


class DialogueSelection(Selection):
    """The dialogues that are played.

    Attributes:
        lang: language of the items, or ``both``.
        types: of tasks, as numbers and ranges; None for all.
        split: None for all.
        judge: a model; None to leave open what the rules leave open.
    """

    data: str = Field(default="builtin", description="builtin, the name of added data (clarq), or a path")
    lang: Literal["en", "zh", "both"] = Field(default="en", description="language of the items")
    types: str | None = Field(default=None, description="task types, such as 1-10 or 3,7,12")
    split: Split | None = Field(default=None, description="test (types 1-26) or development (27-31)")
    limit: Limit = Field(
        default=None, description="so many items, equally many of each language and task type"
    )
    judge: str | None = Field(default=None, description="a model that settles open successes")

    @property
    def languages(self) -> tuple[Language, ...]:
        """The languages of the items."""
        return ("en", "zh") if self.lang == "both" else (self.lang,)

    def items(self, seed: int = 0) -> tuple[Task, ...]:
        """Return the tasks; where there are more than `limit`, equally many of each language, and type in it.

        Raises:
            InputError: if the data or the types are wrong, or nothing is left.
        """
        types = None if self.types is None else read_ranges("--types", self.types, "1-10 or 3,7,12")
        tasks = [
            task
            for language in self.languages
            for task in load_items(self.data, language, types=types, split=self.split)
        ]
        if self.limit is None:
            return tuple(tasks)
        return balanced(tasks, self.limit, lambda task: task.language, lambda task: (task.type,), seed)


def _requests(order: RunOrder[DialogueSelection, Rules]) -> list[RunRequest]:
    judge, models = order.selection.judge, order.settings.models
    # Experts and judges fill in forms.
    forms = (*models_of(order.players[PROVIDER][0]), *([judge] if judge else []))
    return [
        order.request(
            order.selection.items(order.settings.seed),
            config={"languages": list(order.selection.languages)},
            needs=dict.fromkeys(forms, Needs(schema=True)),
            title="dialogues",
            # Decoding options are the players': who judges does so as ever.
            afterwards=partial(_judged, judge, replace(models, decoding=Decoding(), extra={})),
        )
    ]


RUNS: Final = RunSpec(
    selection=DialogueSelection,
    rules=Rules,
    requests=_requests,
    flags={"together": ""},
)


@asynccontextmanager
async def _judged(
    name: str | None, options: ModelOptions, reader: LogReader, log: LogWriter
) -> AsyncIterator[Afterwards]:
    """Let the judge, if one is named, settle what is open when a run has been played."""
    async with _judge_called(name, replace(options, recorder=log.put)) as judge:

        async def settle(run_id: str) -> None:
            if judge:
                await judge_run(reader, log, run_id, judge, lost=_tell_lost)
                _rescore(run_id, reader, log)

        yield settle


def score_command(
    run: str,
    judge: str | None,
    flags: ModelFlags,
    as_json: bool,
    log: Path | None,
    *,
    exclude_aborted: bool = False,
) -> None:
    """See `simulator.runner.scoring.Scorer`; here a judge may be named."""
    path = log or default_path()
    options = flags.options(path)
    refuse_idle_options(options, asked=bool(judge))
    with LogReader(path) as reader:
        reader.run(run)
        with LogWriter(path, durable=False) as writer:
            if judge:
                asyncio.run(_judge(run, judge, replace(options, recorder=writer.put), reader, writer))
            _rescore(run, reader, writer)
        summary = run_summary(reader, BENCHMARK, [run], exclude_aborted=exclude_aborted)
    if as_json:
        typer.echo(json_text(summary))
    else:
        print_whole(Console(), summary)


def _rescore(run_id: str, reader: LogReader, log: LogWriter) -> None:
    """Append the scores of a run as they follow from its turns and judgments now."""
    for scored in score_run(reader, run_id, exclude_aborted=True):
        for row in score_rows(scored.episode.id, scored.scores):
            log.put(row)


def _tell_lost(episode_id: str, error: Malformed) -> None:
    message = f"{episode_id}: no verdict, for the judge's answer has the wrong form ({error}); "
    message += "askback score --judge asks again."
    say(Console(stderr=True), message, "yellow")


async def _judge(run_id: str, name: str, options: ModelOptions, reader: LogReader, log: LogWriter) -> None:
    async with _judge_called(name, options) as judge:
        if judge:
            await run_preflight(judge, Needs(schema=True))
            how = asked_how(options)
            await judge_run(reader, log, run_id, judge, how=how, lost=_tell_lost)


@asynccontextmanager
async def _judge_called(name: str | None, options: ModelOptions) -> AsyncIterator[ChatModel | None]:
    """Load the judge, if one is named: a wrong name is reported before anything is played."""
    models = Models(options=options)
    try:
        yield models(name) if name else None
    finally:
        await models.close()
