"""The judge (paper V): does some reply of the provider stand for a node that was never given?

Only dialogues whose success the rule of containment leaves open are judged (`DialogueScores.needs_judge`).
Missing nodes are asked about in order, and the first "no" ends it, since every one of them must have been
obtained (spec section 5).
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Final

from pydantic import BaseModel

from logs import LogReader, LogWriter
from logs.rows import Judgment
from personas.templates import render
from simulator.clarq.players.experts_model import SEED
from simulator.clarq.reporting.scored import Scored, score_run
from simulator.clarq.score import JUDGE, unmatched_lines
from simulator.models import ChatModel, Message, Request
from simulator.models.schema import parse
from simulator.seats import Line
from trees import Node

CONCURRENCY: Final = 8


class JudgeAnswer(BaseModel):
    """Did the seeker obtain the node all the same?"""

    reason: str
    obtained: bool


async def judge_run(
    reader: LogReader, log: LogWriter, run_id: str, model: ChatModel, *, concurrency: int = CONCURRENCY
) -> int:
    """Have `model` settle every open success of a run; `report` and `score_run` then count what it said.

    Each answer is written before the next question is asked, so judging again asks only what is still
    open and adds nothing to what is settled.

    Returns:
        The number of dialogues that were settled.

    Raises:
        ModelError: if the model failed on some dialogue, after all the others have been judged.
        LogError: if the log cannot be written.
    """
    places = asyncio.Semaphore(concurrency)

    async def settle(scored: Scored) -> None:
        async with places:
            await _judge(scored, reader, log, model)

    open_ones = [scored for scored in score_run(reader, run_id) if scored.scores.needs_judge]
    outcomes = await asyncio.gather(*map(settle, open_ones), return_exceptions=True)
    if failures := [outcome for outcome in outcomes if outcome is not None]:
        raise failures[0]
    return len(open_ones)


async def _judge(scored: Scored, reader: LogReader, log: LogWriter, model: ChatModel) -> None:
    episode, task = scored.episode, scored.task
    lines = [Line(turn.seat, turn.text) for turn in reader.turns(episode.id)]
    said = unmatched_lines(task, lines)
    for index in scored.scores.missing:
        answer = await _ask(model, task.tree.by_index[index], said, episode.id, task.language)
        await log.write(
            Judgment(
                id=f"{episode.id}/{JUDGE}/{model.name}/{index}",
                episode_id=episode.id,
                annotator=model.name,
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
    completion = await model.complete(request)
    if isinstance(completion.parsed, JudgeAnswer):
        return completion.parsed
    answer: JudgeAnswer = parse(completion.text, JudgeAnswer)
    return answer
