"""Pages of AmbiK, made of where an episode stands."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType, SimpleNamespace

from logs import LogReader, LogWriter
from logs.rows import Ending, Episode, Turn
from simulator.ambik.benchmark import BENCHMARK
from simulator.ambik.graph import State
from simulator.ambik.intents import parse_intent
from simulator.ambik.items import DraftItem, Item, Pair, PairItem, Scenario, ScenarioItem
from simulator.ambik.machine import MACHINE
from simulator.ambik.show import KINDS, Sets, reveal
from simulator.ambik.terms import Member
from simulator.blocks import Block
from simulator.runner.machines import ActiveEpisode, Result, SeatPage
from ui.declared.pages import STEPS, end_page, link_to, step_page, task_page
from ui.declared.study import Invitation, PageContext
from ui.i18n import strings
from ui.render import Frame

Log = tuple[LogWriter, LogReader]
EVIL = "\"'><img src=x onerror=alert(1)>{{7*7}}</textarea><script>alert(2)</script>"
LINK = link_to(BENCHMARK)
SEATS = [seat.name for seat in BENCHMARK.seats]
SCENE = tuple(f"thing {n}" for n in range(15))


def view(
    stage: str,
    seat: str = "robot",
    item: Item | None = None,
    *,
    lines: Sequence[Sequence[str]] | None = None,
    people: Sequence[str] = (),
    study: bool = False,
    warning: str | None = None,
    ending: Ending | None = None,
) -> SeatPage:
    """The page of a seat at a stage; the task's are called by the move that is due, or ``wait``."""
    item = milk() if item is None else item
    waits_for_user = stage == "answer" or (stage == "wait" and seat == "robot")
    lines = (QUESTION if waits_for_user else ()) if lines is None else lines
    annotates = isinstance(item, DraftItem)
    seats = [SimpleNamespace(name=name, kind="person" if name in (seat, *people) else "") for name in SEATS]
    options = {"task": "annotate" if annotates else "decide", "questions": 1, "study": study}
    episode = Episode(id="e", run_id="r", item_hash="h", language="en", seats={}, seed=0, options=options)
    live = ActiveEpisode(
        episode=episode,
        item=item,
        seats={each.name: each for each in seats[2:] if annotates} or {each.name: each for each in seats[:2]},  # type: ignore[misc]
        record=lambda turn: asyncio.sleep(0),
        stage="" if stage in (*KINDS.values(), "wait") else stage,
    )
    state = State(said=[list(line) for line in lines], since=0.0, move={})
    return replace(MACHINE.view(live, state, seat, ending, warning), study=study, number=2)


QUESTION = (("robot", "decide", "Which?", "asks"),)
ANSWERED = (*QUESTION, ("user", "answer", "This.", ""))


def page_of(
    shown: SeatPage, invitations: Mapping[str, Invitation] = MappingProxyType({}), language: str = "en"
) -> str:
    make = task_page if shown.stage == "task" else step_page
    return make(here(shown, language), invitations)


def here(shown: SeatPage, language: str = "en") -> PageContext:
    return PageContext(frame=Frame(strings(language)), link=LINK, steps=STEPS, view=shown)


def end_of(seat: str, item: Item, turns: Sequence[Turn] = (), *, study: bool = False, sets: Sets = ()) -> str:
    return ended(view("done", seat, study=study), reveal(seat, item, turns, study=study, sets=sets))


def milk(
    member: Member = "ambiguous", intent: str = "oat milk", options: tuple[str, ...] = (), **fields: object
) -> PairItem:
    """A task about milk, one of two, among many things."""
    given: dict[str, object] = {
        "objects": ("oat milk", "soy milk", *SCENE),
        "scene": "oat milk, soy milk",
        "clear": "Bring the oat milk.",
        "ambiguous": "Bring the milk.",
        "question": "Which?",
        "answer": "Oat milk.",
        "clear_plan": ("Take the oat milk.",),
        "ambiguous_plan": ("Take the milk.",),
        "step": 0,
    }
    pair = Pair(id="p", type="preferences", intent=parse_intent(intent), **given | fields)  # type: ignore[arg-type]
    return PairItem(pair=pair, member=member, options=options)


def fruit() -> ScenarioItem:
    """A task of KnowNo's data, which have no type."""
    scenario = Scenario(
        id="s", objects=("pear",), scene="a pear", task="t", intended=("pear",), location="", type=""
    )
    return ScenarioItem(scenario=scenario)


def ended(shown: SeatPage, blocks: Sequence[Block] | None) -> str:
    result = None if blocks is None else Result(language="en", moves=(), blocks=tuple(blocks))
    return end_page(here(shown), BENCHMARK, result)


def turn(seat: str, text: str, payload: dict[str, object]) -> Turn:
    return Turn(episode_id="e", number=0, seat=seat, text=text, payload=payload)


def decided(action: str, *asked: tuple[str, str], marked: Sequence[str] = ()) -> list[Turn]:
    """The logged turns of a robot that acts after some questions."""
    decision = {"kind": "decide", "prediction_set": marked}
    turns = []
    for question, answer in asked:
        turns.append(turn("robot", question, decision | {"asks": True, "action": ""}))
        turns.append(turn("user", answer, {"kind": "answer"}))
    return [*turns, turn("robot", action, decision | {"asks": False, "action": action})]
