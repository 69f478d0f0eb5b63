"""Expert demonstrations (spec 9.6)."""

from __future__ import annotations

import pytest

from simulator.handmethat.env.game import Game
from simulator.handmethat.env.scripts import SEPARATOR, demonstrate, expert_commands, histories
from simulator.handmethat.items import Task
from simulator.handmethat.meanings.model import Meaning, describe
from simulator.seeds import derive_seed


def script(household, make_task, things, meaning: Meaning, **states) -> tuple[str, ...] | None:
    world, state = household(things, **states)
    return expert_commands(make_task(world, state, meaning), 0)


def bring(kind: str) -> Meaning:
    return Meaning("bring_me", describe({"type": kind}))


def move(kind: str, to: str) -> Meaning:
    return Meaning("move_to", describe({"type": kind}), to)


def change(kind: str, verb: str) -> Meaning:
    return Meaning("change_state", describe({"type": kind}), verb)


SCRIPTS = [
    (
        {"apple#0": "table"},
        bring("apple"),
        ["move to table", "pick up apple", "move to human", "give apple to human"],
    ),
    (
        {"apple#0": "jar#0", "jar#0": "cabinet"},
        bring("apple"),
        [
            "move to cabinet",
            "open cabinet",
            "open jar",
            "pick up apple from jar",
            "move to human",
            "give apple to human",
        ],
    ),
    (
        {"apple#0": "table"},
        move("apple", "refrigerator"),
        [
            "move to table",
            "pick up apple",
            "move to refrigerator",
            "open refrigerator",
            "put apple into refrigerator",
        ],
    ),
    (
        {"apple#0": "table", "jar#0": "cabinet", "tray#0": "shelf"},
        move("apple", "jar#0"),
        [
            "move to table",
            "pick up apple",
            "move to cabinet",
            "open cabinet",
            "open jar",
            "put apple into jar",
        ],
    ),
    (
        {"apple#0": "table", "tray#0": "shelf"},
        move("apple", "tray#0"),
        ["move to table", "pick up apple", "move to shelf", "put apple onto tray"],
    ),
    (
        {"rag#0": "shelf"},
        change("rag", "soak"),
        ["move to shelf", "pick up rag", "move to sink", "put rag into sink", "toggle on sink", "soak rag"],
    ),
    (
        {"egg#0": "table"},
        change("egg", "heat"),
        [
            "move to table",
            "pick up egg",
            "move to stove",
            "put egg onto stove",
            "toggle on stove",
            "heat egg",
        ],
    ),
    (
        {"egg#0": "table"},
        change("egg", "cool"),
        [
            "move to table",
            "pick up egg",
            "move to refrigerator",
            "open refrigerator",
            "put egg into refrigerator",
            "close refrigerator",
            "cool egg",
        ],
    ),
    (
        {"modem#0": "cabinet"},
        change("modem", "toggle"),
        ["move to cabinet", "open cabinet", "toggle on modem"],
    ),
    ({"jar#0": "table"}, change("jar", "open"), ["move to table", "open jar"]),
    (
        {"apple#0": "shelf", "knife#0": "sink"},
        change("apple", "slice"),
        [
            "move to shelf",
            "pick up apple",
            "move to table",
            "put apple onto table",
            "move to sink",
            "pick up knife",
            "move to table",
            "slice apple with knife",
        ],
    ),
    (
        {"mug#0": "shelf", "dishtowel#0": "cabinet"},
        change("mug", "clean"),
        [
            "move to shelf",
            "pick up mug",
            "move to table",
            "put mug onto table",
            "move to cabinet",
            "open cabinet",
            "pick up dishtowel",
            "move to sink",
            "put dishtowel into sink",
            "toggle on sink",
            "soak dishtowel",
            "pick up dishtowel",
            "move to table",
            "clean mug with dishtowel",
        ],
    ),
]


@pytest.mark.parametrize(("things", "meaning", "commands"), SCRIPTS)
def test_scripts(household, make_task, things, meaning: Meaning, commands: list[str]) -> None:
    dusty = ["mug#0"] if "mug#0" in things else []
    assert script(household, make_task, things, meaning, dusty=dusty) == tuple(commands)


def test_other_things_are_cleaned_with_a_rag(household, make_task) -> None:
    commands = script(
        household, make_task, {"book#0": "bed", "rag#0": "sink"}, change("book", "clean"), dusty=["book#0"]
    )
    assert commands is not None and commands[-1] == "clean book with rag"


def test_scripts_skip_open_lids_and_appliances_that_are_on(household, make_task) -> None:
    opened = script(household, make_task, {"apple#0": "cabinet"}, bring("apple"), open=["cabinet"])
    assert opened is not None and "open cabinet" not in opened
    running = script(household, make_task, {"rag#0": "bed"}, change("rag", "soak"), toggled=["sink"])
    assert running is not None and "toggle on sink" not in running


@pytest.mark.parametrize(
    ("things", "meaning"),
    [
        # No tool, or a success that comes before the end, or what is on something that is not at a place.
        ({"book#0": "bed"}, change("book", "clean")),
        ({"apple#0": "table"}, change("apple", "slice")),
        ({"apple#0": "table"}, move("apple", "table")),
        ({"box#0": "table", "jar#0": "table"}, move("jar", "box#0")),
        ({"apple#0": "table"}, bring("egg")),
    ],
)
def test_no_demonstration_without_success_at_the_very_end(
    household, make_task, things, meaning: Meaning
) -> None:
    world, state = household(things, dusty=["book#0"] if "book#0" in things else [])
    assert demonstrate(make_task(world, state, meaning), 0) is None


def test_a_demonstration_is_as_published(task: Task) -> None:
    demo = demonstrate(task, 3)
    assert demo is not None
    assert len(demo.demo) == len(demo.demo_full) == len(demo.demo_partial)
    assert not any("#" in text for text in (*demo.demo, *demo.demo_full, *demo.demo_partial))
    for mode, read in (("full", demo.demo_full), ("partial", demo.demo_partial)):
        game = Game(task, mode=mode, style="reference")
        assert read[0] == game.opening(with_task=False)
        state = game.start()
        for number, command in enumerate(demo.demo):
            assert read[number].count(SEPARATOR) == 2 * number
            assert not state.done
            assert command in game.valid(state)
            outcome = game.act(state, command)
            state = outcome.game
            if number + 1 < len(read):
                added = f" {SEPARATOR} {command} {SEPARATOR} {outcome.observation}"
                added += f" {game.look(state)}" if mode == "partial" else ""
                assert read[number + 1] == read[number] + added
        assert (state.success, state.score) == (True, 100 - len(demo.demo))


def test_the_seed_decides_which_object(task: Task) -> None:
    assert demonstrate(task, 5) == demonstrate(task, 5)
    chosen = {(expert_commands(task, derive_seed(seed)) or ("",))[-1] for seed in range(40)}
    assert len(chosen) > min(3, len(task.in_meaning) - 1)


def test_histories_end_where_the_episode_ends(task: Task) -> None:
    *texts, (_, _, state) = histories(Game(task), ("look", "stop"))
    assert len(texts) == 2 and state.stopped
