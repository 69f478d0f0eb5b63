"""How a provider decides, compared with logged decisions.

A **decision** is what the provider gives in answer to one line of the seeker: which node or nodes, or none (a
Response II). Decisions are asked for at every logged provider turn after the opening at which something
could still be given, on the logged dialogue so far; so an early difference does not carry over to later
turns. `replay` does the opposite: it lets the provider answer the logged seeker lines from the beginning and
asks only whether the seeker gets everything.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Final, TypeVar

import pandas as pd

from simulator.clarq import provider as rules
from simulator.clarq.experts import Experts
from simulator.clarq.playing import PROVIDER
from simulator.clarq.results import Dialogue, ProviderStep
from simulator.errors import InputError
from simulator.figures import Cell, Column, Table
from simulator.reporting import Section
from simulator.runner.logged import ERASED
from simulator.seats import Line
from simulator.stats import SHARE, Bounds, Interval, cluster_bootstrap
from trees import Frontier

CONCURRENCY: Final = 8
Measures = Mapping[str, tuple[int, Bounds]]
"""Name -> how many decimals are printed, and the bounds: shares, or counts per 100 turns."""
_DECISIONS: Final[Measures] = {
    "agreement": (3, SHARE),
    "II kept": (2, SHARE),
    **dict.fromkeys(("unasked", "wrong II", "wrong", "missed"), (1, (0.0, 100.0))),
}
_REPLAYED: Final[Measures] = {"replayed": (3, SHARE), "logged": (3, SHARE), "difference": (3, (-1.0, 1.0))}
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """One decision beside the logged one.

    Attributes:
        type: the task's type, by which intervals are clustered.
    """

    dialogue: str
    position: int
    language: str
    type: int
    utterance: str
    available: tuple[str, ...]
    logged: tuple[str, ...]
    decided: tuple[str, ...]
    reason: str

    @property
    def agrees(self) -> bool:
        """Return True if exactly the logged nodes are given."""
        return set(self.decided) == set(self.logged)

    @property
    def measures(self) -> dict[str, float | None]:
        """Return what the tables tell of a decision.

        ``agreement``; ``II kept``: whether a logged Response II is one here, too (None where the log gave a
        node); and, times 100, nodes given in place of nothing (``unasked``), nothing given in place of a node
        (``wrong II``), nodes given in place of logged ones (``wrong``) and logged nodes that were not given,
        with none in their place (``missed``).
        """
        surplus, lacking = set(self.decided) - set(self.logged), set(self.logged) - set(self.decided)
        wrong = min(len(surplus), len(lacking))
        return {
            "agreement": float(self.agrees),
            "II kept": None if self.logged else float(not self.decided),
            "unasked": 100.0 * (len(surplus) - wrong),
            "wrong II": 100.0 * (bool(self.logged) and not self.decided),
            "wrong": 100.0 * wrong,
            "missed": 100.0 * (len(lacking) - wrong),
        }


async def audit(
    experts: Experts, dialogues: Iterable[Dialogue], *, multi: bool, concurrency: int = CONCURRENCY
) -> list[Compared]:
    """Return the decisions of `experts`, each beside the logged one."""
    jobs = (
        _compare(experts, dialogue, step, multi=multi)
        for dialogue in dialogues
        for step in dialogue.steps
        if step.before.available and dialogue.lines[step.position - 1].seat != PROVIDER
    )
    return await _gathered(jobs, concurrency)


async def replay(
    experts: Experts, dialogues: Iterable[Dialogue], *, multi: bool, concurrency: int = CONCURRENCY
) -> pd.DataFrame:
    """Let `experts` answer the logged seeker lines from the beginning.

    Returns:
        A row per dialogue: language, type, whether the seeker gets every node when the lines are
        ``replayed``, whether it got them in the log (``logged``), and the ``difference``.
    """
    dialogues = tuple(dialogues)
    complete = await _gathered(
        (_replay(experts, dialogue, multi=multi) for dialogue in dialogues), concurrency
    )
    rows = [
        (dialogue.task.language, dialogue.task.type, float(replayed), float(dialogue.complete))
        for dialogue, replayed in zip(dialogues, complete, strict=True)
    ]
    frame = pd.DataFrame(rows, columns=["language", "type", "replayed", "logged"])
    return frame.assign(difference=frame["replayed"] - frame["logged"])


async def _compare(experts: Experts, dialogue: Dialogue, step: ProviderStep, *, multi: bool) -> Compared:
    situation = dialogue.situation(step)
    decision = await rules.decide(experts, situation, multi=multi)
    return Compared(
        dialogue=dialogue.id,
        position=step.position,
        language=dialogue.task.language,
        type=dialogue.task.type,
        utterance=situation.utterance,
        available=tuple(node.index for node in step.before.available),
        logged=step.given,
        decided=decision.give,
        reason=decision.reason,
    )


async def _replay(experts: Experts, dialogue: Dialogue, *, multi: bool) -> bool:
    """Return True if the logged seeker lines get every node out of `experts`."""
    frontier = Frontier(dialogue.task.tree)
    lines: list[Line] = []
    heard = 0
    for step in dialogue.steps:
        lines.extend(dialogue.lines[heard : step.position])
        heard = step.position + 1
        situation = replace(dialogue.situation(step), lines=tuple(lines), frontier=frontier)
        decision = await rules.decide(experts, situation, multi=multi)
        turn = await rules.respond(experts, situation, decision)
        lines.append(Line(PROVIDER, turn.text))
        frontier = turn.frontier
    return frontier.complete


async def _gathered(jobs: Iterable[Awaitable[_T]], concurrency: int) -> list[_T]:
    gate = asyncio.Semaphore(concurrency)

    async def run(job: Awaitable[_T]) -> _T:
        async with gate:
            return await job

    return list(await asyncio.gather(*map(run, jobs)))


def audit_section(
    compared: Sequence[Compared],
    replayed: pd.DataFrame | None = None,
    *,
    provider: str,
    multi: bool,
    name: str = "audit",
    source: str = "",
    show: int = 0,
    erased: int = 0,
    asked: Mapping[str, Any] | None = None,
) -> Section:
    """Return what an audit found: tables by language and type, the replay, every decision for programs.

    Args:
        compared: the decisions.
        replayed: what came of the logged seeker lines (`replay`); None if they were not replayed.
        provider: whose decisions.
        multi: whether it was asked as the multi-info provider.
        name: of the section.
        source: what they were held against, where there are several.
        show: how many disagreements are shown.
        erased: dialogues of people who have withdrawn, which are in none of this.
        asked: how models were asked.

    Raises:
        InputError: if no dialogue has a turn at which something could be given.
    """
    if not compared:
        raise InputError("These dialogues hold no provider turn at which something could be given.")
    disagreements = [turn for turn in compared if not turn.agrees]
    more = len(disagreements) - show
    kind = "multi-info" if multi else "single-info"
    left = f", {erased} {ERASED}" if erased else ""
    return Section(
        name=name,
        title=f"{provider} as {kind} provider, {len(compared)} decisions{left}{source}",
        tables=[*decision_tables(compared), *([] if replayed is None else [replay_table(replayed)])],
        text="\n".join(map(_disagreement, disagreements[:show])),
        remarks=[
            *([f"asked with {json.dumps(asked, ensure_ascii=False)}"] if asked else []),
            *([f"{more} more disagreements; --show N prints them."] if more > 0 else []),
        ],
        data={
            "provider": provider,
            "multi": multi,
            ERASED: erased,
            **({"asked": asked} if asked else {}),
            "turns": [asdict(turn) | {"agrees": turn.agrees} for turn in compared],
        },
    )


def decision_tables(compared: Sequence[Compared]) -> tuple[Table, Table]:
    """Return the measures of decisions by language, and by language and type; intervals resample types."""
    rows = [{"language": turn.language, "type": turn.type, **turn.measures} for turn in compared]
    frame = pd.DataFrame(rows, columns=["language", "type", *_DECISIONS])
    title = "By language, 95 % intervals over types; errors per 100 turns"
    return (
        _table(frame, ["language"], "turns", _DECISIONS, title, "by_language"),
        _table(frame, ["language", "type"], "turns", _DECISIONS, "By task type", "by_type"),
    )


def replay_table(replayed: pd.DataFrame) -> Table:
    """Return the success of replayed dialogues by language, beside the logged success."""
    title = "Logged seeker lines replayed: success"
    return _table(replayed, ["language"], "dialogues", _REPLAYED, title, "replay")


def _table(frame: pd.DataFrame, by: list[str], unit: str, measures: Measures, title: str, name: str) -> Table:
    cells: list[list[Cell]] = []
    for labels, group in frame.groupby(by):
        values = (_interval(group, measure, bounds) for measure, (_, bounds) in measures.items())
        cells.append([" ".join(map(str, labels)), len(group), *values])
    columns = (Column(measure, digits) for measure, (digits, _) in measures.items())
    return Table([by[-1], Column(unit, 0), *columns], cells, title, name)


def _interval(group: pd.DataFrame, name: str, bounds: Bounds) -> Interval | None:
    """Return the mean of a column, clustered by type; None without values."""
    known = group.dropna(subset=[name])
    if known.empty:
        return None
    return cluster_bootstrap(known[name].astype(float).tolist(), known["type"].tolist(), bounds=bounds)


def _disagreement(turn: Compared) -> str:
    available, logged, decided = (
        ", ".join(indices) or "none" for indices in (turn.available, turn.logged, turn.decided)
    )
    return (
        f"{turn.dialogue} line {turn.position}: available {available}, logged {logged}, decided {decided}\n"
        f"{turn.reason}\n{turn.utterance}\n"
    )
