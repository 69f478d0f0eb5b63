"""Episodes of HandMeThat played through its machine, without a log."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from episode_files import write_file

from logs.rows import Ending, Episode, Turn
from simulator.handmethat import graph
from simulator.handmethat.items import Level, Task
from simulator.handmethat.machine import MACHINE
from simulator.handmethat.meanings.model import Meaning, describe
from simulator.handmethat.playing import Posed
from simulator.models import ChatModel
from simulator.runner.machines import ActiveEpisode
from simulator.seats import PersonSeat, ScriptSeat, Seat


@dataclass
class Played:
    live: ActiveEpisode
    state: graph.State
    turns: list[Turn]

    @property
    def ending(self) -> Ending | None:
        return MACHINE.ending(self.live, self.state)

    def lines(self, seat: str) -> list[str]:
        return [turn.text for turn in self.turns if turn.seat == seat]


Play = Callable[..., Awaitable[Played]]


def seated(name: str, who: Any, models: Callable[[str], ChatModel], options: dict[str, Any]) -> Seat:
    """A seat out of its name, out of lines (a script), or as it is."""
    if who == "person":
        return PersonSeat()
    if isinstance(who, str):
        return MACHINE.seat_for(name, who, models, options)
    return ScriptSeat(who) if isinstance(who, list) else who


async def play(
    task: Task,
    robot: Any,
    human: Any = "offline/giver",
    turns: Sequence[Turn] = (),
    *,
    language: Any = "en",
    seed: int = 0,
    models: Any = None,
    **options: Any,
) -> Played:
    """Play on from `turns` until the episode ends or a person is due."""
    played = list(turns)

    async def record(turn: Turn) -> None:
        played.append(turn)

    seats = {name: seated(name, who, models, options) for name, who in (("robot", robot), ("human", human))}
    episode = Episode(
        id="e",
        run_id="r",
        item_hash="h",
        language=language,
        seats={name: seat.name for name, seat in seats.items()},
        seed=seed,
        options=options,
    )
    live = ActiveEpisode(episode=episode, item=Posed(task, language), seats=seats, record=record)
    state = await MACHINE.advance(live, MACHINE.rebuild(played))
    return Played(live, state, played)


@pytest.fixture(scope="session")
def run() -> Play:
    return play


@pytest.fixture
def moving(kitchen: Task) -> Task:
    """ "Put the apple over there": meant is the table."""
    meaning = Meaning("move_to", describe({"type": "apple", "frozen": True}), "table")
    apple = kitchen.world.entity("apple#0")
    return replace(
        kitchen,
        id="task-move_to-0-1-3",
        level=3,
        meaning=meaning,
        heard=meaning,
        utterance=Meaning("move_to", describe({"type": "apple"})),
        in_meaning=((apple, "table"),),
        in_heard=((apple, "table"),),
        useful=((apple, "table"),),
        in_utterance=tuple((apple, place) for place in ("table", "sink")),
    )


@pytest.fixture
def data(kitchen: Task, tmp_path: Path) -> Path:
    """A folder with two items of each level."""
    folder = tmp_path / "data"
    folder.mkdir()
    levels: tuple[Level, ...] = (1, 2, 3, 4)
    for level in levels:
        for number in range(2):
            name = f"task-bring_me-3-{number}-{level}"
            formula = "(and (forall (?x - phyobj) (or (not (type-tile ?x)) (ontop ?x floor))))"
            write_file(
                replace(kitchen, id=name, level=level, goal_index=3, task_index=number, goal=formula), folder
            )
    return folder
