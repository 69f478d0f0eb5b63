"""What people see of an episode (`views`), built out of the graph's state and the item.

A robot is shown what `playing.blinded` leaves; a user besides what a model as user is told: the clear task,
which is their wish, and the data's answer.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final, cast

from logs.rows import Ending, Turn
from simulator.ambik import graph
from simulator.ambik.items import DraftItem, Item, PairItem
from simulator.ambik.players.user import request_of
from simulator.ambik.playing import (
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
from simulator.ambik.views import Exchanged, ParticipantView, Replay, SeatName

TELL: Final = "tell"
"""The study's stage at which a user is shown the task all the same."""


def participant_view(
    table: graph.Table,
    state: graph.State,
    seat: str,
    ending: Ending | None = None,
    warning: str | None = None,
    stage: str = "",
) -> ParticipantView:
    """Return what a person in `seat` may see after `state`."""
    hidden = stage not in ("", TELL)
    if not stage:
        due = None if ending else graph.due(table, state)
        stage = "done" if due is None else due.kind if due.seat == seat else "wait"
    shown = {} if hidden else _shown(table, state, seat, stage)
    return ParticipantView(
        episode_id=table.live.episode.id,
        number=len(state["said"]),
        stage=stage,
        seat=cast(SeatName, seat),
        language=table.rules.language,
        ending=ending,
        warning=warning,
        **shown,
    )


def _shown(table: graph.Table, state: graph.State, seat: str, stage: str) -> dict[str, Any]:
    if isinstance(table.item, DraftItem):
        return {"draft": table.item.draft}
    item, rules = table.item, table.rules
    # Only the scene and the step are given in this context (spec 5).
    whole = seat == USER or rules.context == "full_plan"
    shown = {
        "scene": objects_of(item),
        "appliances": appliances_of(item),
        "task": task_of(item) if whole else "",
        "previous": previous_of(item) if whole else (),
        "step": step_of(item),
        "exchanges": _exchanged(state, exchange_of(item, rules.dialogue)),
    }
    if seat == ROBOT:
        may_ask = stage == "decide" and not graph.must_act(table, state)
        return shown | {"options": table.offered, "may_ask": may_ask}
    question = graph.pending(state) if stage == "answer" else ""
    wish = request_of(item, rules.language)
    known = {"wish": wish.text, "wish_language": wish.language, "detail": wish.detail}
    return shown | known | {"question": question}


def _exchanged(state: graph.State, before: Sequence[tuple[str, str]] = ()) -> tuple[Exchanged, ...]:
    """Return questions and answers, with the one that waits for an answer."""
    known = tuple(Exchanged(question, answer) for question, answer in (*before, *graph.exchanges(state)))
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
