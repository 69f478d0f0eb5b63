"""The list of valid commands (spec 9.4)."""

from __future__ import annotations

from itertools import product
from random import Random

import pytest

from simulator.handmethat.actions import domain
from simulator.handmethat.env.commands import HUMAN_WORD, Offers, Reader
from simulator.handmethat.scene import sample_scene
from simulator.handmethat.world import HUMAN, NOTHING, State, World

MOVES = 17


def offers(scene: tuple[World, State], at: str, holding: str | None = None, **changes: int) -> list[str]:
    """Return the listed commands except moves."""
    return listed(scene, at, holding, **changes)[MOVES:]


def listed(scene: tuple[World, State], at: str, holding: str | None = None, **options) -> list[str]:
    world, state = scene
    state = state._replace(at=world.entity(at))
    if holding:
        state = state.with_place(world.entity(holding), NOTHING)._replace(holding=world.entity(holding))
    return list(Offers(world).listed(state, **options))


def test_moving_is_always_listed_first(household) -> None:
    scene = household({"apple#0": "table"})
    commands = listed(scene, "h")
    assert len(commands) == MOVES
    assert commands == [f"move to {scene[0].names[place]}" for place in scene[0].locations] + [
        "move to human"
    ]


def test_at_the_human(household) -> None:
    world, state = household({"apple#0": "table"})
    assert offers((world, state), "h", "apple#0") == ["give apple to human"]
    given = state._replace(given=1 << world.entity("apple#0"))
    assert offers((world, given), "h") == ["take apple from human"]


def test_a_closed_location_that_toggles(household) -> None:
    scene = household({"apple#0": "microwave"})
    assert offers(scene, "microwave") == ["open microwave", "toggle on microwave"]
    scene = household({"apple#0": "microwave"}, toggled=["microwave"], open=["microwave"])
    assert offers(scene, "microwave") == [
        "close microwave",
        "toggle off microwave",
        "pick up apple",
        "heat apple",
    ]


@pytest.mark.each("name", ["rag", "dishtowel", "hand_towel", "scrub_brush", "vacuum", "broom"])
def test_holding_a_cleaning_tool(household, name: str) -> None:
    tool = f"{name}#0"
    scene = household({"book#0": "table", "apple#0": "table", tool: "sink"})
    assert offers(scene, "table", tool) == [
        f"clean table with {name}",
        f"clean book with {name}",
        f"put {name} onto table",
    ]
    # A closed place can be cleaned, what is in it cannot.
    assert offers(scene, "cabinet", tool) == ["open cabinet", f"clean cabinet with {name}"]


def test_holding_a_knife(household) -> None:
    things = {"apple#0": "table", "milk#0": "table", "knife#0": "sink", "carving_knife#0": "sink"}
    scene = household(things)
    assert offers(scene, "table", "knife#0") == ["slice apple with knife", "put knife onto table"]
    assert offers(scene, "table", "carving_knife#0") == ["put carving_knife onto table"]


def test_holding_something_beside_receptacles(household) -> None:
    things = {
        "jar#0": "table",
        "jar#1": "table",
        "bowl#0": "table",
        "tray#0": "table",
        "apple#0": "sink",
        "box#0": "sink",
    }
    scene = household(things, open=["jar#1"])
    assert offers(scene, "table", "apple#0") == [
        "put apple onto table",
        "open jar#0",
        "close jar#1",
        "put apple into jar#1",
        "put apple into bowl",
        "put apple onto tray",
    ]
    # A receptacle goes into no other.
    assert offers(scene, "table", "box#0") == ["put box onto table", "open jar#0", "close jar#1"]


def test_an_empty_hand(household) -> None:
    things = {
        "jar#0": "table",
        "jar#1": "table",
        "bowl#0": "table",
        "apple#0": "table",
        "apple#1": "jar#0",
        "apple#2": "jar#1",
        "egg#0": "bowl#0",
    }
    scene = household(things, open=["jar#1"])
    assert offers(scene, "table") == [
        "pick up jar#0",
        "pick up jar#1",
        "pick up bowl",
        "pick up apple#0",
        "open jar#0",
        "close jar#1",
        "pick up apple#2 from jar#1",
        "pick up egg from bowl",
    ]


def test_lids_of_empty_receptacles(household) -> None:
    scene = household({"jar#0": "table", "jar#1": "table", "apple#0": "jar#1"})
    assert "open jar#0" in offers(scene, "table")
    published = offers(scene, "table", only_filled=True)
    assert "open jar#0" not in published
    assert "open jar#1" in published
    # Holding something, the published program lists every lid.
    held = household({"jar#0": "table", "egg#0": "table"})
    assert "open jar" in offers(held, "table", "egg#0", only_filled=True)


def test_switches_of_things(household) -> None:
    scene = household({"printer#0": "shelf", "modem#0": "shelf"}, toggled=["modem#0"])
    assert offers(scene, "shelf")[-2:] == ["toggle on printer", "toggle off modem"]
    hidden = household({"printer#0": "cabinet"})
    assert offers(hidden, "cabinet") == ["open cabinet"]


@pytest.mark.each(
    ("place", "verb", "thing", "other"),
    [
        ("microwave", "heat", "apple#0", "rag#0"),
        ("oven", "heat", "apple#0", "rag#0"),
        ("stove", "heat", "apple#0", "rag#0"),
        ("refrigerator", "cool", "apple#0", "rag#0"),
        ("sink", "soak", "rag#0", "apple#0"),
    ],
)
def test_appliances_that_are_on(household, place: str, verb: str, thing: str, other: str) -> None:
    name = thing.split("#")[0]
    scene = household({thing: place, other: place}, toggled=[place])
    assert [command for command in offers(scene, place) if command.startswith(verb)] == [f"{verb} {name}"]
    off = household({thing: place, other: place}, toggled=[])
    assert not [command for command in offers(off, place) if command.startswith(verb)]
    held = household({thing: place, other: place, "pen#0": "table"}, toggled=[place])
    assert not [command for command in offers(held, place, "pen#0") if command.startswith(verb)]


def test_a_dishwasher_that_is_on_does_nothing(household) -> None:
    scene = household({"bowl#0": "dishwasher"}, toggled=["dishwasher"])
    assert offers(scene, "dishwasher") == ["open dishwasher", "toggle off dishwasher"]


def test_extra_commands_are_only_in_the_extended_list(task) -> None:
    from simulator.handmethat.env.game import Game

    game = Game(task)
    short, long = game.valid(game.start()), game.valid(game.start(), extended=True)
    assert long[: len(short)] == short
    extra = long[len(short) :]
    assert extra[:3] == ("look", "inventory", "help")
    assert "question: do you want a dusty one" in extra
    assert "stop" not in long
    assert all(game.act(game.start(), text).error is None for text in extra)


def walk(world: World, state: State, steps: int, seed: int) -> list[State]:
    """States on a random way through what is strictly applicable."""
    random, offers_, reader, schemas = Random(seed), Offers(world), Reader(world), domain("robot")
    states = [state]
    for _ in range(steps):
        valid = offers_.strict(state)
        # Most commands are moves; half the time another one is chosen.
        choices = valid[MOVES:] if len(valid) > MOVES and random.random() < 0.6 else valid
        action = reader.ground(reader.read(choices[int(random.random() * len(choices))]), state.at)
        assert action is not None
        state = schemas[action.name].apply(state, action.args)
        states.append(state)
    return states


def brute_force(world: World, state: State) -> set[tuple[str, tuple[int, ...]]]:
    """Every applicable action of the robot, of all arguments there are."""
    actions = set()
    for name, schema in domain("robot").items():
        ranges = [choices(world, state, *param) for param in zip(schema.params, schema.bounds, strict=True)]
        actions |= {(name, args) for args in product(*ranges) if schema.applicable(world, state, args)}
    return actions


def choices(world: World, state: State, parameter: str, bound: str) -> tuple[int, ...]:
    if parameter == "to":
        return (*world.locations, HUMAN)
    if bound == "human":
        return (HUMAN,)
    if bound == "location":
        # Every schema needs the robot to be there; only moving away may begin beside the human.
        return (state.at,) if state.at != HUMAN or parameter == "from" else ()
    return tuple(range(len(world)))


SMALL = {
    "jar#0": "table",
    "tray#0": "table",
    "box#0": "sink",
    "apple#0": "table",
    "apple#1": "tray#0",
    "milk#0": "refrigerator",
    "rag#0": "sink",
    "rag#1": "box#0",
    "knife#0": "table",
    "modem#0": "stove",
    "egg#0": "stove",
    "shirt#0": "sink",
    "broom#0": "table",
}


@pytest.mark.each("seed", range(4))
def test_the_strict_list_is_exactly_what_is_applicable(household, seed: int) -> None:
    dusty = ["table", "jar#0", "shirt#0"]
    world, state = household(
        SMALL, dusty=dusty, soaked=["rag#1"], open=["box#0"], toggled=["stove", "sink", "refrigerator"]
    )
    offers_, reader = Offers(world), Reader(world)
    for visited in walk(world, state, 40, seed):
        strict = offers_.strict(visited)
        assert len(set(strict)) == len(strict)
        grounded = [reader.ground(reader.read(text), visited.at) for text in strict]
        assert {(action.name, action.args) for action in grounded if action} == brute_force(world, visited)


def test_a_walk_meets_every_schema(household) -> None:
    world, state = household(SMALL, soaked=["rag#1"], toggled=["stove", "sink", "refrigerator"])
    reader, met = Reader(world), set()
    for seed in range(12):
        for visited in walk(world, state, 120, seed):
            actions = [reader.ground(reader.read(text), visited.at) for text in Offers(world).strict(visited)]
            met |= {action.name for action in actions if action}
    assert met == set(domain("robot"))


@pytest.mark.each("seed", range(3))
def test_listed_commands_are_understood_and_cover_most_that_is_applicable(seed: int) -> None:
    world, state = sample_scene(Random(seed))
    offers_, reader = Offers(world), Reader(world)
    for visited in walk(world, state, 60, seed):
        commands = offers_.listed(visited)
        assert len(set(commands)) == len(commands)
        assert all(reader.ground(reader.read(text), visited.at) is not None for text in commands)
        # Applicable but never listed: soaking with something in the hand.
        missing = set(offers_.strict(visited)) - set(commands)
        assert all(text.startswith(("soak", "toggle")) for text in missing)
        assert HUMAN_WORD in commands[MOVES - 1]
