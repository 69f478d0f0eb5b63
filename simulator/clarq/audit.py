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
Replayed = tuple[AuditDialogue, bool]
_T = TypeVar("_T")


async def audit(
    experts: Experts, dialogues: Iterable[AuditDialogue], *, multi: bool, concurrency: int = CONCURRENCY
) -> AuditReport:
    """Compare the decisions of `experts` with the logged ones.

    Raises:
        InputError: if no dialogue has a turn at which something could be given.
    """
    return report_of(
        await compare(experts, dialogues, multi=multi, concurrency=concurrency), experts.name, multi
    )


async def compare(
    experts: Experts, dialogues: Iterable[AuditDialogue], *, multi: bool, concurrency: int = CONCURRENCY
) -> tuple[Compared, ...]:
    """Return the decisions of `experts`, each beside the logged one."""
    wanted = [
        (dialogue, turn)
        for dialogue in dialogues
        for turn in dialogue.turns
        if turn.frontier.available and dialogue.lines[turn.position - 1].seat != PROVIDER
    ]
    jobs = [partial(_compare, experts, dialogue, turn, multi=multi) for dialogue, turn in wanted]
    return tuple(await _all(jobs, concurrency))


def report_of(turns: Sequence[Compared], provider: str, multi: bool) -> AuditReport:
    """Sum up what a comparison found.

    Raises:
        InputError: if there is nothing to sum up.
    """
    if not turns:
        raise InputError("These dialogues hold no provider turn at which something could be given.")
    return AuditReport(
        provider=provider,
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
    return replay_rows(await replay(experts, dialogues, multi=multi, concurrency=concurrency))


async def replay(
    experts: Experts, dialogues: Iterable[AuditDialogue], *, multi: bool, concurrency: int = CONCURRENCY
) -> tuple[Replayed, ...]:
    """Return whether every node is given when `experts` answer the logged seeker lines."""
    wanted = list(dialogues)
    jobs = [partial(_replay, experts, dialogue, multi=multi) for dialogue in wanted]
    return tuple(zip(wanted, await _all(jobs, concurrency), strict=True))


def replay_rows(outcomes: Sequence[Replayed]) -> tuple[ReplayRow, ...]:
    """Sum up replays by language.

    Raises:
        InputError: if there are none.
    """
    if not outcomes:
        raise InputError("There are no dialogues to replay.")
    rows = []
    for language in sorted({dialogue.task.language for dialogue, _ in outcomes}):
        pairs = [
            (dialogue.task.type, float(outcome), float(dialogue.complete))
            for dialogue, outcome in outcomes
            if dialogue.task.language == language
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
    """Return True if the logged seeker lines get every node out of `experts`."""
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

    def kept(group: Sequence[Compared]) -> Interval | None:
        twos = [turn for turn in group if turn.kept is not None]
        return interval(twos, lambda turn: float(not turn.decided), 1) if twos else None

    return tuple(
        AuditRow(
            label=name,
            agreement=interval(group, lambda turn: float(turn.agrees), 1),
            wrong=interval(group, lambda turn: 100.0 * turn.wrong, 100),
            missed=interval(group, lambda turn: 100.0 * turn.missed, 100),
            kept=kept(group),
            unasked=interval(group, lambda turn: 100.0 * turn.unasked, 100),
            refused=interval(group, lambda turn: 100.0 * turn.refused, 100),
        )
        for name, group in groups.items()
    )
