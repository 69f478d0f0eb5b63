"""ClarQ-LLM's runs: selection and rules of dialogues, and the judge that decides open successes.

The judge (paper V) is asked whether a reply of the provider serves instead of a node that was never given.
Only dialogues whose success the containment rule leaves open are judged (`DialogueScores.needs_judge`). It is
asked about the missing nodes in order until the first "no", since every node must have been obtained
(spec section 5). A run may have several judges: all verdicts are kept, and `score` combines them.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial
from typing import Any, Final, Literal, NamedTuple

from pydantic import BaseModel, Field
from rich.console import Console

from logs import LogReader, LogWriter
from logs.rows import Event, Judgment
from personas.templates import render
from simulator.clarq.data import PROVIDER, Rules, load_items
from simulator.clarq.experts import models_of
from simulator.clarq.players.models import SEED
from simulator.clarq.score import (
    JUDGE,
    judge_decides,
    judge_verdicts,
    score_dialogue,
    score_rows,
    score_run,
    spoken_lines,
    unmatched_lines,
)
from simulator.models import (
    ChatModel,
    Decoding,
    Malformed,
    Message,
    ModelOptions,
    Needs,
    Refused,
    Request,
    run_preflight,
)
from simulator.models.schema import parse_answer
from simulator.orders import Limit, RunOrder, RunSpec, Selection
from simulator.runner.build import Models
from simulator.runner.command import Afterwards, RunRequest, answer_options, read_ranges, refuse_idle_options
from simulator.runner.options import ModelFlags
from simulator.runner.run_summary import say
from simulator.seeds import draw_balanced
from trees import Language, Task
from trees.model import Split

CONCURRENCY: Final = 8


# The docstring is sent to the judge with the JSON schema: it is a prompt.
class JudgeAnswer(BaseModel):
    """Did the seeker obtain the node all the same?"""

    reason: str
    obtained: bool


async def judge_run(
    reader: LogReader,
    log: LogWriter,
    run_id: str,
    model: ChatModel,
    *,
    decoding: Mapping[str, Any] | None = None,
    concurrency: int = CONCURRENCY,
    on_lost: Callable[[str, Malformed | Refused], None] | None = None,
) -> int:
    """Let `model` judge all dialogues of a run whose success is open; return the number judged.

    Each answer is written before the next question, so judging again asks only the remaining
    questions. A malformed answer or a refusal costs only the verdict on its dialogue: it is logged as an
    event, and judging again repeats the question.

    `decoding`: its decoding options, if any were chosen; with other options, it counts as another judge.
    `on_lost`: called for each dialogue without a verdict for such a reason; if None, the error is raised.

    Raises:
        ModelError: if the model failed on a dialogue, after all others have been judged.
        LogError: if the log cannot be written.
    """
    options = f" {json.dumps(decoding, ensure_ascii=False, sort_keys=True)}" if decoding else ""
    name = f"{model.name}{options}"
    semaphore = asyncio.Semaphore(concurrency)

    async def settle(case: _Case) -> None:
        async with semaphore:
            await _judge_case(case, log, model, name)

    cases = list(_open_cases(reader, run_id, name))
    outcomes = await asyncio.gather(*map(settle, cases), return_exceptions=True)
    failures = []
    for case, outcome in zip(cases, outcomes, strict=True):
        if isinstance(outcome, Malformed | Refused):
            details = {"judge": name, "error": str(outcome)}
            kind = f"judge.{type(outcome).__name__.lower()}"
            await log.write(Event(kind=kind, run_id=run_id, episode_id=case.episode_id, details=details))
            if on_lost is not None:
                on_lost(case.episode_id, outcome)
                continue
        if outcome is not None:
            failures.append(outcome)
    if failures:
        raise failures[0]
    return sum(outcome is None for outcome in outcomes)


class _Case(NamedTuple):
    """A dialogue to be judged: lines that might serve instead of nodes, and the nodes left, in order."""

    episode_id: str
    task: Task
    replies: tuple[str, ...]
    left: tuple[str, ...]


def _open_cases(reader: LogReader, run_id: str, judge: str) -> Iterator[_Case]:
    """Yield the dialogues that the rule leaves open and `judge` has not decided."""
    earlier: dict[str, list[Judgment]] = {}
    for row in reader.judgments(run_id=run_id, kind=JUDGE, annotator=judge):
        earlier.setdefault(row.episode_id or "", []).append(row)
    for scored in score_run(reader, run_id, exclude_aborted=True):
        episode_id, task = scored.episode.id, scored.task
        lines = spoken_lines(reader.turns(episode_id))
        by_rule = score_dialogue(task, lines)
        verdicts = judge_verdicts(earlier.get(episode_id, ())).get(judge, {})
        if by_rule.needs_judge and judge_decides(verdicts, by_rule.missing) is None:
            left = tuple(index for index in by_rule.missing if index not in verdicts)
            yield _Case(episode_id, task, unmatched_lines(task, lines), left)


async def _judge_case(case: _Case, log: LogWriter, model: ChatModel, name: str) -> None:
    for index in case.left:
        variables = {"node": case.task.tree.by_index[index], "said": case.replies}
        prompt = render("clarq/judge", case.task.language, variables)
        request = Request(
            messages=(Message("user", prompt.text),),
            seed=SEED,
            schema=JudgeAnswer,
            purpose=JUDGE,
            prompt_version=prompt.version,
            episode_id=case.episode_id,
        )
        answer: JudgeAnswer = parse_answer(await model.complete(request), request).parsed
        await log.write(
            Judgment(
                id=f"{case.episode_id}/{JUDGE}/{name}/{index}",
                episode_id=case.episode_id,
                annotator=name,
                kind=JUDGE,
                value={"node": index, "obtained": answer.obtained, "reason": answer.reason},
            )
        )
        if not answer.obtained:
            break


class DialogueSelection(Selection):
    """The dialogues to play."""

    data: str = Field(default="builtin", description="builtin, the name of added data (clarq), or a path")
    lang: Literal["en", "zh", "both"] = Field(default="en", description="language of the items")
    types: str | None = Field(default=None, description="task types, such as 1-10 or 3,7,12")
    split: Split | None = Field(default=None, description="test (types 1-26) or development (27-31)")
    limit: Limit = Field(default=None, description="number of items, balanced over languages and task types")
    judge: str | None = Field(default=None, description="a judge model for dialogues whose success is open")

    @property
    def languages(self) -> tuple[Language, ...]:
        """The languages of the items."""
        return ("en", "zh") if self.lang == "both" else (self.lang,)

    def items(self, seed: int = 0) -> tuple[Task, ...]:
        """Return the tasks; beyond `limit`, a sample balanced over languages, and types within them.

        Raises:
            InputError: if the data or the types are wrong, or no task matches.
        """
        types = None if self.types is None else read_ranges("--types", self.types, "1-10 or 3,7,12")
        tasks = [
            task
            for language in self.languages
            for task in load_items(self.data, language, types=types, split=self.split)
        ]
        if self.limit is None:
            return tuple(tasks)
        return draw_balanced(tasks, self.limit, lambda task: task.language, lambda task: (task.type,), seed)


def _requests(order: RunOrder[DialogueSelection, Rules]) -> list[RunRequest]:
    judge, models = order.selection.judge, order.settings.models
    # Experts and judges answer in JSON.
    json_models = (*models_of(order.players[PROVIDER][0]), *([judge] if judge else []))
    return [
        order.request(
            order.selection.items(order.settings.seed),
            config={"languages": list(order.selection.languages)},
            needs=dict.fromkeys(json_models, Needs(schema=True)),
            title="dialogues",
            # Decoding options are for the players; the judge keeps its defaults.
            afterwards=partial(_judge_afterwards, judge, replace(models, decoding=Decoding(), extra={})),
        )
    ]


RUNS: Final = RunSpec(
    selection=DialogueSelection,
    rules=Rules,
    requests=_requests,
    flags={"together": ""},
)


@asynccontextmanager
async def _judge_afterwards(
    name: str | None, options: ModelOptions, reader: LogReader, log: LogWriter
) -> AsyncIterator[Afterwards]:
    """Yield a function that lets the judge, if named, decide open successes after a run.

    The judge is loaded first, so that a wrong name is reported before anything is played.
    """
    models = Models(options=replace(options, recorder=log.post))
    try:
        judge = models(name) if name else None

        async def settle(run_id: str) -> None:
            if judge:
                await judge_run(reader, log, run_id, judge, on_lost=_warn_no_verdict)
                _rescore(run_id, reader, log)

        yield settle
    finally:
        await models.close()


def score_again(reader: LogReader, run: str, judge: str | None, flags: ModelFlags) -> None:
    """Append new scores of a run, after a judge, if named, has decided open successes."""
    options = flags.options(reader.path)
    refuse_idle_options(options, asked=bool(judge))
    with LogWriter(reader.path, durable=False) as writer:
        if judge:
            asyncio.run(_judge(run, judge, options, reader, writer))
        _rescore(run, reader, writer)


def _rescore(run_id: str, reader: LogReader, log: LogWriter) -> None:
    """Append the scores of a run computed from its turns and judgments."""
    for scored in score_run(reader, run_id, exclude_aborted=True):
        for row in score_rows(scored.episode.id, scored.scores):
            log.put(row)


def _warn_no_verdict(episode_id: str, error: Malformed | Refused) -> None:
    why = "declined" if isinstance(error, Refused) else "gave a malformed answer"
    message = f"{episode_id}: no verdict because the judge {why} ({error}); askback score --judge asks again."
    say(Console(stderr=True), message, "yellow")


async def _judge(run_id: str, name: str, options: ModelOptions, reader: LogReader, log: LogWriter) -> None:
    models = Models(options=replace(options, recorder=log.post))
    try:
        judge = models(name)
        await run_preflight(judge, Needs(schema=True))
        decoding = answer_options(options)
        await judge_run(reader, log, run_id, judge, decoding=decoding, on_lost=_warn_no_verdict)
    finally:
        await models.close()
