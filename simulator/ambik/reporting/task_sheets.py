"""App. K: per pair scene, plans, and the prediction sets of all methods for both members (spec 12)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from simulator.ambik.items import DecideItem, PairItem
from simulator.ambik.playing import objects_of, step_of, task_of
from simulator.ambik.records import Outcome
from simulator.ambik.reporting.groups import Result
from simulator.ambik.terms import MEMBERS
from simulator.errors import InputError

ALL: Final = "all"
_MARKS: Final = {True: "asks", False: "acts"}


def task_sheets(results: Sequence[Result], ids: Sequence[str] = (ALL,)) -> str:
    """Return one sheet for each pair or scenario, in the order in which they occur.

    Args:
        results: whose sets are shown.
        ids: of pairs or scenarios; ``all`` for every one.

    Raises:
        InputError: if no result has a pair or scenario that is asked for.
    """
    found: dict[str, dict[str, list[tuple[Result, Outcome]]]] = {}
    for result in results:
        for each in result.outcomes:
            key, member = _place(each.decision.item)
            found.setdefault(key, {}).setdefault(member, []).append((result, each))
    if missing := [id for id in ids if id != ALL and id not in found]:
        raise InputError(f"--task {missing[0]}: no run or file here has such a pair or scenario")
    wanted = found if ALL in ids else {id: found[id] for id in dict.fromkeys(ids)}
    return "\n".join("\n".join(_sheet(id, members)) + "\n" for id, members in wanted.items())


def _place(item: DecideItem) -> tuple[str, str]:
    return (item.pair.id, item.member) if isinstance(item, PairItem) else (item.scenario.id, "")


def _sheet(id: str, members: dict[str, list[tuple[Result, Outcome]]]) -> Iterator[str]:
    first = next(iter(members.values()))[0][1].decision.item
    kind = first.pair.type if isinstance(first, PairItem) else first.type
    yield f"== {id} ({kind})"
    yield f"scene: {', '.join(objects_of(first))}"
    if isinstance(first, PairItem):
        if first.pair.shortlist:
            yield f"shortlist: {', '.join(first.pair.shortlist)}"
        if first.pair.intent is not None:
            yield f"intent: {' '.join(first.pair.intent.text.split())}"
        if first.pair.question:
            yield f"question: {first.pair.question}  answer: {first.pair.answer}"
    for member in (*MEMBERS, ""):
        if member in members:
            yield from _member(member, members[member])


def _member(member: str, rows: Sequence[tuple[Result, Outcome]]) -> Iterator[str]:
    item = rows[0][1].decision.item
    yield f"-- {member or 'task'}: {task_of(item)}"
    if isinstance(item, PairItem):
        due = item.pair.step if step_of(item) else None
        for place, step in enumerate(item.pair.plan(item.member)):
            yield f"   {place + 1}. {step}{'   <- here' if place == due else ''}"
    for result, found in rows:
        asks = _MARKS[found.help]
        right = {True: ", right option in it", False: ", right option not in it", None: ""}[found.covered]
        yield f"   {result.label}: {asks}; {len(found.predicted)} in the set{right}"
        yield from (f"     - {text}" for text in found.predicted)
