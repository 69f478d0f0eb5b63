"""The robot's observations (spec 9.3)."""

from __future__ import annotations

import re
from random import Random

import pytest
import yaml

from simulator.handmethat.actions import Action
from simulator.handmethat.env.game import Game
from simulator.handmethat.env.observe import Observer, collapse, reference_text, visible
from simulator.handmethat.hierarchy import TABLES
from simulator.handmethat.items import Task
from simulator.handmethat.meanings.model import Meaning, describe
from simulator.handmethat.world import NOTHING, entities, location_of

THINGS = {
    "box#0": "table",
    "box#1": "table",
    "tray#0": "table",
    "apple#0": "table",
    "apple#1": "box#0",
    "egg#0": "box#1",
    "bread#0": "tray#0",
    "milk#0": "refrigerator",
    "rag#0": "sink",
}
COLORS = {"box#0": "red", "box#1": "green"}
SIZES = {"box#0": "large", "box#1": "small"}


@pytest.fixture
def scene(household):
    states = {
        "open": ["box#1"],
        "dusty": ["box#0", "table"],
        "stained": ["table"],
        "sliced": ["apple#0"],
        "frozen": ["apple#0"],
        "soaked": ["rag#0"],
        "toggled": ["refrigerator"],
    }
    return household(THINGS, colors=COLORS, sizes=SIZES, **states)


@pytest.fixture
def task(scene, make_task) -> Task:
    world, state = scene
    moves = [Action("human-move", (world.entity("floor"), world.entity("sofa")))]
    return make_task(world, state, Meaning("bring_me", describe({"type": "apple"})), actions=tuple(moves))


def view(scene, at: str, mode: str = "partial", **options: bool) -> list[str]:
    world, state = scene
    return Observer(world).view(state._replace(at=world.entity(at)), mode, **options).split("\n")


def test_a_place_in_partial_mode(scene) -> None:
    assert view(scene, "table") == [
        "You are at the dusty stained table. "
        "On it: a red large closed dusty box#0, a green small open box#1, a tray, a frozen sliced apple#0. "
        "In the box#1: an egg. On the tray: a bread."
    ]


def test_a_closed_place_hides_what_is_in_it(scene) -> None:
    assert view(scene, "refrigerator") == ["You are at the closed toggled-on refrigerator."]
    world, state = scene
    opened = state._replace(open=state.open | 1 << world.entity("refrigerator"))
    assert view((world, opened), "refrigerator") == [
        "You are at the open toggled-on refrigerator. In it: a milk."
    ]
    assert view(scene, "sofa") == ["You are at the sofa. On it: nothing."]
    assert view(scene, "sink") == ["You are at the toggled-off sink. In it: a soaked rag."]


def test_a_view_next_to_the_human(scene) -> None:
    world, state = scene
    assert view(scene, "h") == ["You are beside the human.", "The human holds: nothing."]
    given = state._replace(given=1 << world.entity("milk#0"))
    assert view((world, given), "h")[1] == "The human holds: a milk."


def test_full_mode_shows_everything_in_every_place(scene) -> None:
    lines = view(scene, "table", "full")
    assert len(lines) == 16 + 1
    assert "In the box#0: an apple#1." in lines[0]
    assert "There is a closed toggled-on refrigerator. In it: a milk." in lines
    assert "There is an oven" not in lines
    assert "There is a closed toggled-off oven. In it: nothing." in lines
    assert lines[-1] == "The human holds: nothing."
    # Next to the human, all 16 places are remote, and the human's things are listed once.
    assert [line for line in view(scene, "h", "full") if "human holds" in line] == [
        "The human holds: nothing."
    ]
    assert len(view(scene, "h", "full")) == 1 + 16 + 1


def test_the_published_quirk_of_full_mode(scene) -> None:
    assert "In the box#0" not in view(scene, "table", "full", quirk=True)[0]
    assert (
        view(scene, "refrigerator", "full", quirk=True)[0] == "You are at the closed toggled-on refrigerator."
    )
    assert any("In the box#0: an apple#1." in line for line in view(scene, "sofa", "full", quirk=True))


def test_texts_follow_the_state(scene, make_task) -> None:
    """After heating, the stove shows as off, because the rules switched it off (B10)."""
    world, state = scene
    stove, apple = world.entity("stove"), world.entity("apple#0")
    state = state.with_place(apple, stove)._replace(toggled=1 << stove)
    task = make_task(world, state, Meaning("bring_me", describe({"type": "egg"})))
    game = Game(task)
    at_stove = game.act(game.start(), "move to stove").game
    assert "toggled-on stove" in game.look(at_stove)
    hot = game.act(at_stove, "heat apple#0").game
    assert "toggled-off stove" in game.look(hot)
    assert "a cooked sliced apple#0" in game.look(hot)
    assert "toggle on stove" in game.valid(hot)


def test_the_opening_is_complete_and_in_order(task: Task) -> None:
    lines = Game(task).opening().split("\n")
    assert lines[0] == Observer(task.world).table["greeting"]
    assert lines[1].startswith("In this room there are: the human, a countertop,")
    assert " floor" not in lines[1]
    assert lines[2].startswith("Human moves to the sofa. ") and "apple" in lines[2]
    assert lines[3].startswith("You stand at the floor")
    assert lines[4].startswith("You are at the floor.")
    assert lines[5] == Observer(task.world).table["closing"]
    without = Game(task).opening(with_task=False).split("\n")
    assert without == lines[:2] + lines[3:]


def test_the_inventory_repeats_the_task(task: Task) -> None:
    game = Game(task)
    state = game.act(game.start(), "move to table").game
    state = game.act(state, "pick up box#0").game
    first, rest = game.inventory(state).split("\n", 1)
    assert first == "You hold: a red large closed dusty box#0."
    assert rest == game.description
    assert game.inventory(game.start()).startswith("You hold: nothing.")


def test_confirmations_have_display_names(task: Task) -> None:
    game = Game(task)
    outcome = game.act(game.start(), "move to table")
    assert outcome.observation == "You go to the table."
    outcome = game.act(outcome.game, "pick up box#0")
    assert outcome.observation == "You pick up the large red box (box#0)."
    outcome = game.act(outcome.game, "move to human")
    assert outcome.observation == "You go to the human."
    outcome = game.act(outcome.game, "give box#0 to human")
    assert outcome.observation == "You give the large red box (box#0) to the human."


def test_every_action_has_a_confirmation_in_both_languages() -> None:
    verbs = {
        "move",
        "pick-up",
        "pick-up-from",
        "put-inside",
        "put-ontop",
        "give",
        "take",
        "open",
        "close",
        "toggle-on",
        "toggle-off",
        "heat",
        "cool",
        "soak",
        "slice",
        "clean",
    }
    tables = [
        yaml.safe_load((TABLES / f"observations.{language}.yaml").read_text(encoding="utf-8"))
        for language in ("en", "zh")
    ]
    assert all(set(table["done"]) == verbs for table in tables)
    assert tables[0].keys() == tables[1].keys()
    assert len(tables[0]["command_forms"]) == len(tables[1]["command_forms"])


def test_the_published_style(task: Task) -> None:
    game = Game(task, style="reference")
    assert "#" not in game.opening() and "," not in game.opening() and "\n" not in game.opening()
    state = game.act(game.start(), "move to table").game
    look = game.look(state)
    assert "a red large closed dusty box 0 a green small open box 1 a tray a frozen sliced apple 0." in look
    assert "pick up apple 0" in game.valid(state)
    outcome = game.act(state, "pick up apple 0")
    assert outcome.error is None
    assert outcome.observation == "You pick up the apple (apple 0)."
    assert "," not in game.inventory(state) and "#" not in game.inventory(state)
    assert reference_text("a#0, b") == "a 0 b"
    assert collapse(" a \n b  c ") == "a b c"


def test_the_published_description_is_used_if_there_is_one(task: Task) -> None:
    from dataclasses import replace

    published = replace(task, description="Human sat, twice.", profile="official")
    assert Game(published).description == "Human sat, twice."
    assert Game(published, style="reference").description == "Human sat twice."
    assert Game(published, language="zh").description != published.description
    own = replace(published, profile="v2")
    assert Game(own).description == Game(task).description
    assert Game(own, style="reference").description == "Human sat twice."


def test_chinese_views_name_what_commands_need(scene, task: Task) -> None:
    game = Game(task, language="zh")
    state = game.act(game.start(), "move to table").game
    look = game.look(state)
    assert "红色、大号、关着、有灰尘的箱子（box#0）" in look
    assert re.search(r"[a-z]", re.sub(r"（[a-z_]+(#\d)?）", "", look)) is None
    assert game.act(state, "jump").observation == game.observer.failure("parse")


@pytest.mark.parametrize("mode", ["partial", "full"])
def test_a_view_names_exactly_the_visible_things(task: Task, mode) -> None:
    """Things named in the view are the ones that are visible, on a random way."""
    game, random = Game(task, mode=mode, limit=200), Random(1)
    state, world = game.start(), task.world
    for _ in range(80):
        mentioned = set(re.findall(r"[a-z_]+#\d+|[a-z_]+", game.look(state)))
        seen = visible(world, state.state, mode)
        for entity in world.movables:
            # The contents of a thing that is carried or was given have no place in the room.
            if location_of(world, state.state, entity) != NOTHING:
                assert (world.labels[entity] in mentioned) == bool(seen >> entity & 1), world.names[entity]
        valid = game.valid(state)
        state = game.act(state, valid[int(random.random() * len(valid))]).game._replace(success=False)


def test_the_quirk_hides_only_at_the_current_place(scene) -> None:
    world, state = scene
    at_table = state._replace(at=world.entity("table"))
    hidden = ~visible(world, at_table, "full", quirk=True) & visible(world, at_table, "full")
    assert [world.names[entity] for entity in entities(hidden)] == ["apple#1"]
