"""The house as data for the templates: every thing once, commands where they belong."""

from __future__ import annotations

import pytest

from simulator.handmethat.hierarchy import hierarchy
from simulator.handmethat.playing import Posed
from simulator.handmethat.show import before
from simulator.handmethat.task import Task
from simulator.handmethat.views import CommandView, PlaceView, ThingView
from ui.handmethat.drawing import PLACES, Chip, Pile, chip, draw, glyph_of


def thing(name: str, *states: str, label: str = "", **more: object) -> ThingView:
    kind = name.partition("#")[0]
    return ThingView(name=name, label=label or name.replace("#", " #"), kind=kind, states=states, **more)


def place(name: str, *things: ThingView, here: bool = False, **more: object) -> PlaceView:
    given = {"states": (), "lid": None, "contents": things} | more
    return PlaceView(name=name, label=name, relation="inside", here=here, **given)


def command(text: str, verb: str, *things: str) -> CommandView:
    return CommandView(text=text, label=text.capitalize(), verb=verb, things=things)


def chips(piles: tuple[Pile, ...] | None) -> list[Chip]:
    return [one for pile in piles or () for shown in pile.chips for one in (shown, *chips(shown.piles))]


def test_every_location_has_its_place_on_the_plan() -> None:
    assert sorted(PLACES) == sorted(hierarchy().locations)


@pytest.mark.parametrize("language", ["en", "zh"])
def test_every_thing_of_a_household_is_drawn_once(task: Task, language) -> None:
    drawing = draw(before(Posed(task, language)).places, (), language)
    names = [one.thing.name for tile in drawing.tiles for _, piles in tile.classes for one in chips(piles)]
    assert len(names) == len(set(names))
    assert set(names) == {task.world.names[one] for one in task.world.movables}
    assert sum(tile.count or 0 for tile in drawing.tiles) == len(names)
    assert [tile.place.name for tile in drawing.tiles] == list(PLACES)


def test_things_of_a_kind_lie_together_by_class() -> None:
    (tile,) = draw(
        [place("table", thing("apple#0"), thing("box#1"), thing("apple#2", "frozen"))], (), "en"
    ).tiles
    assert [(name, [pile.word for pile in piles]) for name, piles in tile.classes] == [
        ("FOOD", ["apple"]),
        ("RECEPTACLE", ["box"]),
    ]
    apples = tile.classes[0][1][0].chips
    assert [one.title for one in apples] == ["#0", "#2"]
    assert [tag.key for tag in apples[1].tags] == ["frozen"]


def test_what_is_alone_of_its_kind_needs_no_number() -> None:
    assert chip(thing("backpack#0", label="red backpack"), (), "en").title == ""


def test_commands_stand_with_what_they_are_about() -> None:
    commands = [
        command("move to table", "move", "table"),
        command("open cabinet", "open", "cabinet"),
        command("put apple#0 into box#1", "put-inside", "apple#0", "box#1"),
        command("move to human", "move"),
        command("look", "look"),
        command("stop", "stop"),
    ]
    drawing = draw([place("cabinet", thing("box#1"), here=True), place("table")], commands, "en")
    cabinet, table = drawing.tiles
    assert drawing.here is cabinet
    assert [one.text for one in cabinet.commands] == ["open cabinet"]
    assert cabinet.go is None
    assert table.go is not None
    assert table.go.text == "move to table"
    (box,) = chips(cabinet.classes[0][1])
    assert [one.text for one in box.commands] == ["put apple#0 into box#1"]
    assert drawing.to_human is not None
    assert drawing.to_human.text == "move to human"
    assert drawing.stop is not None
    assert drawing.stop.text == "stop"


def test_what_cannot_be_seen_is_not_counted() -> None:
    closed = thing("box#1", lid="closed", contents=None)
    drawing = draw([place("oven", lid="closed", contents=None), place("table", closed)], (), "en")
    oven, table = drawing.tiles
    assert (oven.count, oven.classes) == (None, ())
    assert table.count == 1
    (box,) = chips(table.classes[0][1])
    assert box.piles is None


def test_the_commonest_pictures_stand_for_the_rest() -> None:
    kinds = ("apple", "apple", "banana", "box", "shoe", "hammer", "pen", "fork", "book")
    things = [thing(f"{kind}#{number}") for number, kind in enumerate(kinds)]
    (tile,) = draw([place("table", *things)], (), "en").tiles
    assert (tile.marks[0].glyph, tile.marks[0].count) == ("fruit", 3)
    assert sum(mark.count for mark in tile.marks) + tile.more == len(kinds)


def test_every_kind_has_a_picture() -> None:
    known = set(hierarchy().subclasses)
    assert {glyph_of(kind) for kind in hierarchy().kinds} <= known | {"thing"}
