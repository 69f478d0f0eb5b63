"""The judge (paper V): does some reply of the provider stand for a node that was never given?

Only dialogues whose success the rule of containment leaves open are judged (`DialogueScores.needs_judge`).
Missing nodes are asked about in order, and the first "no" ends it, since every one of them must have been
obtained (spec section 5). Several judges may judge a run: each verdict is kept; `score` says whose
counts.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from pydantic import BaseModel

from logs import LogReader, LogWriter
from logs.rows import Event, Judgment
from personas.templates import render
from simulator.clarq.players.experts_model import SEED
from simulator.clarq.score import (
    JUDGE,
    judge_decides,
    judge_verdicts,
    score_dialogue,
    score_run,
    unmatched_lines,
)
from simulator.models import ChatModel, Malformed, Message, Request
from simulator.models.schema import parsed
from simulator.seats import Line
from trees import Node, Task

CONCURRENCY: Final = 8


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
    how: Mapping[str, Any] | None = None,
    concurrency: int = CONCURRENCY,
    lost: Callable[[str, Malformed], None] | None = None,
) -> int:
    """Have `model` judge every success of a run that the rule leaves open; `score_run` then counts it.

    Each answer is written before the next question is asked, so judging again asks only what this judge has
    not been asked yet. An answer of the wrong form costs the verdict on its dialogue, no more: it is noted in
    the log as an event, and the same command asks again.

    Args:
        reader: of the log.
        log: writes to it.
        run_id: the run.
        model: the judge.
        how: decoding options that were chosen for it; with others, the same model is another judge.
        concurrency: dialogues at a time.
        lost: is told of each dialogue on which an answer had the wrong form; None: that is raised, too.

    Returns:
        The number of dialogues that were judged.

    Raises:
        ModelError: if the model failed on some dialogue, after all the others have been judged.
        LogError: if the log cannot be written.
    """
    name = f"{model.name} {json.dumps(how, ensure_ascii=False, sort_keys=True)}" if how else model.name
    places = asyncio.Semaphore(concurrency)

    async def settle(case: _Case) -> None:
        async with places:
            await _judge(case, log, model, name)

    cases = list(_open_cases(reader, run_id, name))
    outcomes = await asyncio.gather(*map(settle, cases), return_exceptions=True)
    failures = []
    for case, outcome in zip(cases, outcomes, strict=True):
        if isinstance(outcome, Malformed):
            details = {"judge": name, "error": str(outcome)}
            await log.write(
                Event(kind="judge.malformed", run_id=run_id, episode_id=case.episode_id, details=details)
            )
            if lost is not None:
                lost(case.episode_id, outcome)
                continue
        if outcome is not None:
            failures.append(outcome)
    if failures:
        raise failures[0]
    return sum(outcome is None for outcome in outcomes)


class _Case(NamedTuple):
    """A dialogue to be judged.

    Attributes:
        said: the provider's lines that might stand for a node.
        left: indices of the nodes that the judge is still to be asked about, in order.
    """

    episode_id: str
    task: Task
    said: tuple[str, ...]
    left: tuple[str, ...]


def _open_cases(reader: LogReader, run_id: str, judge: str) -> Iterator[_Case]:
    """Yield what the rule leaves open and `judge` has not decided."""
    asked: dict[str, list[Judgment]] = {}
    for row in reader.judgments(run_id=run_id, kind=JUDGE, annotator=judge):
        asked.setdefault(row.episode_id or "", []).append(row)
    for scored in score_run(reader, run_id, exclude_aborted=True):
        episode_id, task = scored.episode.id, scored.task
        lines = [Line(turn.seat, turn.text) for turn in reader.turns(episode_id)]
        by_rule = score_dialogue(task, lines)
        verdicts = judge_verdicts(asked.get(episode_id, ())).get(judge, {})
        if by_rule.needs_judge and judge_decides(verdicts, by_rule.missing) is None:
            left = tuple(index for index in by_rule.missing if index not in verdicts)
            yield _Case(episode_id, task, unmatched_lines(task, lines), left)


async def _judge(case: _Case, log: LogWriter, model: ChatModel, name: str) -> None:
    for index in case.left:
        node = case.task.tree.by_index[index]
        answer = await _ask(model, node, case.said, case.episode_id, case.task.language)
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


async def _ask(
    model: ChatModel, node: Node, said: Sequence[str], episode_id: str, language: str
) -> JudgeAnswer:
    prompt = render("clarq/judge", language, {"node": node, "said": said})
    request = Request(
        messages=(Message("user", prompt.text),),
        seed=SEED,
        schema=JudgeAnswer,
        purpose=JUDGE,
        prompt_version=prompt.version,
        episode_id=episode_id,
    )
    answer: JudgeAnswer = parsed(await model.complete(request), request).parsed
    return answer
