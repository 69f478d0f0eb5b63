"""The hand-coded robots (spec 11.1)."""

from __future__ import annotations

from random import Random

import pytest

from simulator.handmethat.actions import Action
from simulator.handmethat.env.game import Game, GameState
from simulator.handmethat.items import Task
from simulator.handmethat.meanings.model import Meaning, describe, matching
from simulator.handmethat.players.robots import STOP, plan, random_command
from simulator.handmethat.scene import sample_scene
from simulator.handmethat.world import World, location_of


def play(task: Task, seed: int, *, changes: bool = False) -> GameState:
    game = Game(task, mode="full", text=False)
    state = game.start()
    for command in plan(task, seed, changes=changes):
        if not state.done:
            state = game.act(state, command).game
    return state


def pick_up(world: World, name: str, place: str) -> tuple[Action, ...]:
    """The human goes there, takes it, and puts it on the sofa."""
    thing, there, sofa = world.entity(name), world.entity(place), world.entity("sofa")
    return (
        Action("human-move", (world.entity("floor"), there)),
        Action("human-pick-up-at-location", (thing, there)),
        Action("human-move", (there, sofa)),
        Action("human-put-ontop-location", (thing, sofa)),
    )


THINGS = {
    "apple#0": "table",
    "apple#1": "table",
    "orange#0": "table",
    "egg#0": "table",
    "carving_knife#0": "table",
    "knife#0": "table",
}


def test_it_fetches_more_of_what_the_human_took(household, make_task) -> None:
    world, state = household(THINGS)
    meaning = Meaning("bring_me", describe({"subclass": "fruit"}))
    task = make_task(world, state, meaning, actions=pick_up(world, "apple#0", "table"))
    for seed in range(10):
        assert plan(task, seed) == (
            "move to table",
            "pick up apple#1",
            "move to human",
            "give apple#1 to human",
            STOP,
        )


def test_the_same_type_counts_not_a_name_within_another(household, make_task) -> None:
    world, state = household(THINGS)
    actions = pick_up(world, "carving_knife#0", "table")
    task = make_task(world, state, Meaning("bring_me", describe({"class": "TOOL"})), actions=actions)
    guesses = {plan(task, seed)[-2] for seed in range(30)}
    # No other carving knife, so anything of A(u), what the human took included.
    assert guesses == {"give carving_knife to human", "give knife to human"}


def test_without_a_hint_it_guesses_anything_in_the_utterance(household, make_task) -> None:
    world, state = household(THINGS)
    task = make_task(world, state, Meaning("bring_me", describe({"subclass": "fruit"})))
    guesses = {plan(task, seed)[-2] for seed in range(60)}
    assert guesses == {f"give {name} to human" for name in ("apple#0", "apple#1", "orange")}
    assert plan(task, 7) == plan(task, 7)


def test_destinations(household, make_task) -> None:
    world, state = household(THINGS)
    egg = describe({"type": "egg"})
    task = make_task(world, state, Meaning("move_to", egg, "shelf"))
    assert plan(task, 0)[-2] == "put egg onto shelf"
    open_ = Meaning("move_to", egg)
    actions = pick_up(world, "apple#0", "table")
    seen = make_task(world, state, Meaning("move_to", egg, "sofa"), utterance=open_, actions=actions)
    assert plan(seen, 0)[-2] == "put egg onto sofa"
    assert play(seen, 0).success
    unseen = make_task(world, state, Meaning("move_to", egg, "sofa"), utterance=open_)
    assert plan(unseen, 0) == (STOP,)


def test_changes_are_given_up_unless_switched_on(household, make_task) -> None:
    world, state = household({"egg#0": "table"})
    task = make_task(world, state, Meaning("change_state", describe({"type": "egg"}), "heat"))
    given_up = play(task, 0)
    assert (given_up.stopped, given_up.moves) == (True, 1)
    assert play(task, 0, changes=True).success


def test_it_does_not_depend_on_the_meaning(household, make_task) -> None:
    world, state = household(THINGS)
    utterance = Meaning("bring_me", describe({"subclass": "fruit"}))
    apple, orange = (
        make_task(world, state, Meaning("bring_me", describe({"type": kind})), utterance=utterance)
        for kind in ("apple", "orange")
    )
    assert [plan(apple, seed) for seed in range(20)] == [plan(orange, seed) for seed in range(20)]


@pytest.mark.parametrize("seed", range(40))
def test_level_one_bring_me_always_succeeds(make_task, seed: int) -> None:
    """Self-check 8: every guess comes from A(u), which is A(m), in any household."""
    world, state = sample_scene(Random(seed))
    random = Random(seed)
    kind = world.kinds[world.movables[int(random.random() * len(world.movables))]]
    keys = {"type": kind.name} if seed % 2 else {"subclass": kind.subclass}
    assert matching(world, state, describe(keys))
    pickable = [
        entity
        for entity in world.movables
        if location_of(world, state, entity) == state.container(entity)
        and world.relation(state.container(entity)) == "ontop"
    ]
    taken = pickable[int(random.random() * len(pickable))]
    actions = pick_up(world, world.names[taken], world.names[state.container(taken)])
    task = make_task(world, state, Meaning("bring_me", describe(keys)), actions=actions)
    end = play(task, seed)
    assert end.success and end.moves <= 6


def test_the_random_robot_is_uniform_and_repeatable() -> None:
    valid = ("a", "b", "c", "d")
    drawn = [random_command(valid, seed, moves) for seed in range(200) for moves in range(10)]
    assert drawn == [random_command(valid, seed, moves) for seed in range(200) for moves in range(10)]
    for command in valid:
        assert drawn.count(command) == pytest.approx(500, abs=100)
