"""How a provider decides, compared with logged decisions.

A **decision** is what the provider gives in answer to one line of the seeker: which node or nodes, or none (a
Response II). Decisions are asked for at every logged provider turn after the opening at which something
could still be given, on the logged dialogue so far; so an early difference does not carry over to later
turns. `replay_success` does the opposite: it lets the provider answer the logged seeker lines from the
beginning and asks only whether the seeker gets everything.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from functools import partial
from typing import TypeVar

from simulator.clarq import provider as rules
from simulator.clarq.audited import AuditDialogue, AuditTurn
from simulator.clarq.experts import Experts, Situation
from simulator.clarq.graph import PROVIDER
from simulator.clarq.reporting.audit_report import (
    AuditReport,
    AuditRow,
    Compared,
    ReplayRow,
)
from simulator.errors import InputError
from simulator.seats import Line
from simulator.seeds import derive_seed
from simulator.stats import Interval, cluster_bootstrap
from trees import Frontier

CONCURRENCY = 8
_T = TypeVar("_T")


async def audit(
    experts: Experts, dialogues: Iterable[AuditDialogue], *, multi: bool, concurrency: int = CONCURRENCY
) -> AuditReport:
    """Compare the decisions of `experts` with the logged ones.

    Raises:
        InputError: if no dialogue has a turn at which something could be given.
    """
    wanted = [
        (dialogue, turn)
        for dialogue in dialogues
        for turn in dialogue.turns
        if turn.frontier.available and dialogue.lines[turn.position - 1].seat != PROVIDER
    ]
    if not wanted:
        raise InputError("These dialogues hold no provider turn at which something could be given.")
    turns = await _all(
        [partial(_compare, experts, dialogue, turn, multi=multi) for dialogue, turn in wanted], concurrency
    )
    return AuditReport(
        provider=experts.name,
        multi=multi,
        by_language=_rows(turns, lambda turn: turn.language),
        by_type=_rows(turns, lambda turn: f"{turn.language} {turn.type}"),
        turns=tuple(turns),
    )


async def replay_success(
    experts: Experts, dialogues: Iterable[AuditDialogue], *, multi: bool, concurrency: int = CONCURRENCY
) -> tuple[ReplayRow, ...]:
    """Let `experts` answer the logged seeker lines from the beginning; one row per language.

    Raises:
        InputError: if there are no dialogues.
    """
    wanted = list(dialogues)
    if not wanted:
        raise InputError("There are no dialogues to replay.")
    outcomes = await _all(
        [partial(_replay, experts, dialogue, multi=multi) for dialogue in wanted], concurrency
    )
    rows = []
    for language in sorted({one.task.language for one in wanted}):
        pairs = [
            (one.task.type, float(outcome), float(one.complete))
            for one, outcome in zip(wanted, outcomes, strict=True)
            if one.task.language == language
        ]
        types, replayed, logged = zip(*pairs, strict=True)
        change = [after - before for after, before in zip(replayed, logged, strict=True)]
        rows.append(
            ReplayRow(
                label=language,
                replayed=cluster_bootstrap(replayed, types),
                logged=cluster_bootstrap(logged, types),
                difference=cluster_bootstrap(change, types, bounds=(-1, 1)),
            )
        )
    return tuple(rows)


async def _compare(experts: Experts, dialogue: AuditDialogue, turn: AuditTurn, *, multi: bool) -> Compared:
    situation = Situation(
        task=dialogue.task,
        lines=dialogue.lines[: turn.position],
        frontier=turn.frontier,
        episode_id=dialogue.id,
        number=turn.position,
        seed=derive_seed(0, dialogue.id, turn.position),
    )
    decision = await _decide(experts, situation, multi=multi)
    return Compared(
        dialogue=dialogue.id,
        position=turn.position,
        language=dialogue.task.language,
        type=dialogue.task.type,
        utterance=situation.utterance,
        available=tuple(node.index for node in turn.frontier.available),
        logged=turn.given,
        decided=decision.give,
        reason=decision.reason,
    )


async def _replay(experts: Experts, dialogue: AuditDialogue, *, multi: bool) -> bool:
    """Whether the logged seeker lines get every node out of `experts`."""
    frontier = Frontier(dialogue.task.tree)
    lines: list[Line] = []
    heard = 0
    for logged in dialogue.turns:
        lines.extend(dialogue.lines[heard : logged.position])
        heard = logged.position + 1
        situation = Situation(
            task=dialogue.task,
            lines=tuple(lines),
            frontier=frontier,
            episode_id=dialogue.id,
            number=logged.position,
            seed=derive_seed(0, dialogue.id, logged.position),
        )
        decision = await _decide(experts, situation, multi=multi)
        turn = await rules.write(experts, situation, decision)
        lines.append(Line(PROVIDER, turn.text))
        frontier = turn.frontier
    return frontier.complete


async def _decide(experts: Experts, situation: Situation, *, multi: bool) -> rules.Decision:
    decision = await rules.listen(experts, situation)
    return await rules.walk(experts, situation, decision, multi=multi) if decision.walking else decision


async def _all(jobs: Sequence[Callable[[], Awaitable[_T]]], concurrency: int) -> list[_T]:
    gate = asyncio.Semaphore(concurrency)

    async def run(job: Callable[[], Awaitable[_T]]) -> _T:
        async with gate:
            return await job()

    return list(await asyncio.gather(*map(run, jobs)))


def _rows(turns: Sequence[Compared], label: Callable[[Compared], str]) -> tuple[AuditRow, ...]:
    groups: dict[str, list[Compared]] = {}
    for turn in sorted(turns, key=lambda turn: (turn.language, turn.type)):
        groups.setdefault(label(turn), []).append(turn)

    def interval(group: Sequence[Compared], value: Callable[[Compared], float], most: float) -> Interval:
        return cluster_bootstrap(
            [value(turn) for turn in group], [turn.type for turn in group], bounds=(0, most)
        )

    return tuple(
        AuditRow(
            label=name,
            agreement=interval(group, lambda turn: float(turn.agrees), 1),
            wrong=interval(group, lambda turn: 100.0 * turn.wrong, 100),
            missed=interval(group, lambda turn: 100.0 * turn.missed, 100),
            spurious=interval(group, lambda turn: 100.0 * turn.spurious, 100),
        )
        for name, group in groups.items()
    )
