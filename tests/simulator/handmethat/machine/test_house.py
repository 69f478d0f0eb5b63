"""The drawn house: every thing once, commands where they belong, a picture for everything."""

from __future__ import annotations

from typing import Any

import pytest

from simulator.handmethat.data import list_episodes, load_episode
from simulator.handmethat.hierarchy import hierarchy
from simulator.handmethat.house import House, glyph_of, pictures
from simulator.handmethat.items import Task
from simulator.handmethat.playing import Options, Play, Posed
from simulator.handmethat.show import before
from simulator.plan_blocks import Pile, Place, Thing


@pytest.fixture(scope="module")
def hard() -> Task:
    """A built-in episode of level 4."""
    return load_episode(
        "builtin", next(name for name, known in list_episodes("builtin").items() if known.level == 4)
    )


def things(piles: Any) -> list[Thing]:
    return [part for pile in piles or () for thing in pile.things for part in (thing, *things(thing.piles))]


def piles(place: Place) -> list[Pile]:
    return [pile for _, heap in place.groups or () for pile in heap]


def here(task: Task, *commands: str, mode: Any = "full", language: Any = "en") -> House:
    """The house after some commands, with what can be done then."""
    play = Play(task, language, Options(mode=mode))
    game = play.after(commands)
    return House(play, game.state, play.valid(game))


def test_every_location_has_its_place_on_the_plan() -> None:
    drawn = pictures()
    assert sorted(drawn["at"]) == sorted(drawn["places"]) == sorted(hierarchy().locations)


@pytest.mark.parametrize("language", ["en", "zh"])
def test_every_thing_of_a_household_is_drawn_once(hard: Task, language: Any) -> None:
    plan = before(Posed(hard, language)).plan()
    names = [thing.name for place in plan.places for thing in things(piles(place))]
    assert len(names) == len(set(names))
    assert set(names) == {hard.world.names[thing] for thing in hard.world.movables}
    assert sum(place.count or 0 for place in plan.places) == len(names)
    assert [place.name for place in plan.places] == list(pictures()["at"])
    for place in plan.places:
        marks = place.marks
        assert sum(many for _, many in marks) == place.count
        assert [many for _, many in marks] == sorted((many for _, many in marks), reverse=True)
        assert {glyph for glyph, _ in marks} <= set(plan.glyphs)


def test_things_of_a_kind_lie_together_by_class(hard: Task) -> None:
    for place in before(Posed(hard, "en")).plan().places:
        kinds = [(pile.label, pile.tone) for pile in piles(place)]
        assert len(kinds) == len(set(kinds))
        names = [name.name for name, _ in place.groups or ()]
        order = ["classes.FOOD", "classes.TOOL", "classes.THING", "classes.RECEPTACLE", "classes.other"]
        assert names == [name for name in order if name in names]


def test_the_only_thing_of_a_kind_has_no_number(kitchen: Task) -> None:
    shown = [thing for place in here(kitchen).plan().places for thing in things(piles(place))]
    numbers = {thing.name: thing.number for thing in shown}
    assert numbers["apple#0"] == ""
    assert (numbers["box#0"], numbers["box#1"]) == ("#0", "#1")


def test_commands_are_offered_at_their_things(kitchen: Task) -> None:
    house = here(kitchen, "move to refrigerator")
    places = {place.name: place for place in house.plan().places}
    offered = [offer.text for offer in places["refrigerator"].offers]
    assert offered == ["open refrigerator", "toggle off refrigerator"]
    assert places["refrigerator"].go is None
    assert places["table"].go is not None
    assert places["table"].go.text == "move to table"
    assert house.to_human is not None
    assert house.to_human.text == "move to human"
    assert not before(Posed(kitchen, "en")).plan().places[0].go, "who looks on does nothing"


def test_what_cannot_be_seen_is_not_counted(kitchen: Task) -> None:
    plan = here(kitchen, "move to refrigerator", mode="partial").plan()
    places = {place.name: place for place in plan.places}
    assert (places["refrigerator"].count, places["refrigerator"].is_shut) == (None, True)
    assert (places["table"].count, places["table"].is_shut, places["table"].tags) == (None, False, [])
    assert plan.glyphs == {}


@pytest.mark.parametrize("language", ["en", "zh"])
def test_states_are_named_and_drawn(kitchen: Task, language: Any) -> None:
    shut = {place.name: place for place in here(kitchen, language=language).plan().places}["refrigerator"]
    opened = here(kitchen, "move to refrigerator", "open refrigerator", language=language)
    at = {place.name: place for place in opened.plan().places}["refrigerator"]
    assert ("closed" in shut.shows, "open" in at.shows) == (True, True)
    assert (shut.more_tags[0].locked, at.more_tags[0].locked) == (True, False)
    (apple,) = things(piles(at))
    assert "water" in {tag.tone for tag in apple.tags}, "it is frozen"


def test_every_kind_has_a_picture() -> None:
    drawn = pictures()["glyphs"]
    assert set(hierarchy().subclasses) | {"thing"} <= set(drawn)
    assert {glyph_of(kind) for kind in hierarchy().kinds} <= set(drawn)


def test_shapes_are_seen_in_states_that_there_are() -> None:
    shapes = [shape for shapes in pictures()["places"].values() for shape in shapes]
    assert {condition for _, _, *rest in shapes for condition in rest} == {"open", "closed", "on"}
