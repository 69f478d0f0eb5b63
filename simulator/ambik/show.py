"""What people see of an episode (`views`), built out of the graph's state and the item.

A robot is shown what `playing.blinded` leaves; a user besides what a model as user is told: the clear task,
which is their wish, and the data's answer.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from logs.rows import Ending, Turn
from simulator.ambik import graph
from simulator.ambik.items import LANGUAGE, DraftItem, Item, PairItem
from simulator.ambik.players.user import request_of
from simulator.ambik.playing import (
    ANNOTATOR,
    ROBOT,
    USER,
    appliances_of,
    exchange_of,
    needs_question,
    objects_of,
    previous_of,
    scene_of,
    step_of,
    task_of,
)
from simulator.ambik.score import is_right, right_in_the_end
from simulator.ambik.views import Exchanged, ParticipantView, Replay
from simulator.benchmark import Due, Move

TELL: Final = "tell"
"""The study's stage at which a user is shown the task all the same."""
KINDS: Final[Mapping[str, str]] = {ROBOT: "decide", USER: "answer", ANNOTATOR: "annotate"}
"""The turns of each seat."""


def participant_view(
    table: graph.Table,
    state: graph.State,
    seat: str,
    ending: Ending | None = None,
    warning: str | None = None,
    stage: str = "",
) -> ParticipantView:
    """Return what a person in `seat` may see after `state`."""
    due = None if ending else graph.due(table, state)
    my_turn = due is not None and due.seat == seat
    stage = stage or ("task" if due else "done")
    seats = table.live.seats.items()
    people = tuple(other for other, who in seats if who.kind == "person" and other != seat)
    awaited = people[0] if stage == "gather" else "" if due is None or my_turn else due.seat
    return ParticipantView(
        episode_id=table.live.episode.id,
        seat=seat,
        people=people,
        language=LANGUAGE,
        stage=stage,
        due=Due(seat, KINDS[seat]) if my_turn or seat == USER else None,
        my_turn=my_turn,
        waits_for=awaited,
        first=table.live.first,
        number=len(state["said"]),
        ending=ending,
        warning=warning,
        **(_shown(table, state, seat, my_turn=my_turn) if stage in ("task", "done", TELL) else {}),
    )


def _shown(table: graph.Table, state: graph.State, seat: str, *, my_turn: bool) -> dict[str, Any]:
    if isinstance(table.item, DraftItem):
        return {"draft": table.item.draft}
    item, rules = table.item, table.rules
    # Only the scene and the step are given in this context (spec 5).
    whole = seat == USER or rules.context == "full_plan"
    task = task_of(item) if whole else ""
    shown = {
        "scene": objects_of(item),
        "appliances": appliances_of(item),
        "task": task,
        "previous": previous_of(item) if whole else (),
        "step": step_of(item),
        "opening": (*([Move(USER, "", task)] if task else []), *_said(exchange_of(item, rules.dialogue))),
        "moves": tuple(Move(who, kind, text) for who, kind, text, _ in state["said"]),
    }
    if seat == ROBOT:
        may_ask = my_turn and not graph.must_act(table, state)
        return shown | {"options": table.offered, "may_ask": may_ask}
    wish = request_of(item, rules.language)
    return shown | {"wish": wish.text, "wish_language": wish.language, "detail": wish.detail}


def _said(exchanges: Sequence[tuple[str, str]]) -> Iterator[Move]:
    for question, answer in exchanges:
        yield from (Move(ROBOT, "", question), Move(USER, "", answer))


def _exchanged(state: graph.State) -> tuple[Exchanged, ...]:
    """Return questions and answers, with the one that waits for an answer."""
    known = tuple(Exchanged(question, answer) for question, answer in graph.exchanges(state))
    awaits = bool(state["said"]) and state["said"][-1][3] == "asks"
    return (*known, Exchanged(graph.pending(state), None)) if awaits else known


def replay(item: Item, turns: Sequence[Turn]) -> Replay:
    """Return an ended episode with everything that was hidden, out of its logged turns."""
    if isinstance(item, DraftItem):
        return _annotated(item, turns)
    decisions = [turn for turn in turns if turn.payload.get("kind") == "decide"]
    first, last = (decisions[0].payload, decisions[-1].payload) if decisions else ({}, {})
    answers = [turn.text for turn in turns if turn.payload.get("kind") == "answer"]
    shown = Replay(
        task=task_of(item),
        scene=scene_of(item),
        step=step_of(item),
        wish=request_of(item, "en").text,
        marked=tuple(first.get("prediction_set", ())),
        asked=_exchanged(graph.rebuild(turns)),
        needed=bool(needs_question(item, first.get("dialogue", "before"))),
        action="" if last.get("asks") else str(last.get("action", "")),
        right=right_in_the_end(item, last.get("asks"), last.get("action"), answers),
        right_before=is_right(item, str(first.get("action", ""))),
    )
    if not isinstance(item, PairItem):
        intent = item.scenario.intent
        return replace(shown, intent=intent.text if intent else "")
    pair = item.pair
    return replace(
        shown,
        type=pair.type if item.member == "ambiguous" else None,
        member=item.member,
        intent=pair.intent.text if pair.intent else "",
        shortlist=pair.shortlist,
        question=pair.question,
        answer=pair.answer,
    )


def _annotated(item: DraftItem, turns: Sequence[Turn]) -> Replay:
    payload = next((turn.payload for turn in turns if turn.payload.get("kind") == "annotate"), {})
    form = payload.get("form", {})
    return Replay(
        task=item.draft.clear,
        scene=item.draft.scene,
        form=tuple((name, _words(value)) for name, value in form.items()),
        problems=tuple(str(problem.get("code", problem)) for problem in payload.get("problems", ())),
    )


def _words(value: object) -> str:
    if isinstance(value, list):
        return "\n".join(map(str, value))
    return "" if value is None else str(value)
