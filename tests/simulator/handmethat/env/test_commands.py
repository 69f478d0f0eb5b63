"""Reading commands (spec 9.2)."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simulator.handmethat.actions import Action, domain
from simulator.handmethat.env.commands import Command, Reader, normalize
from simulator.handmethat.scene import sample_scene
from simulator.handmethat.world import HUMAN, World


@pytest.fixture
def world(household) -> World:
    things = {
        "box#0": "floor",
        "tray#0": "table",
        "apple#0": "table",
        "apple#1": "table",
        "knife#0": "table",
        "carving_knife#0": "shelf",
        "rag#0": "sink",
        "modem#0": "shelf",
    }
    return household(things)[0]


# Command, the schema it grounds to at the table, and its entities.
FORMS = [
    ("move to sofa", "robot-move", ("table", "sofa")),
    ("move to human", "robot-move", ("table", "h")),
    ("pick up apple#1", "robot-pick-up-at-location", ("apple#1", "table")),
    (
        "pick up apple#1 from tray",
        "robot-pick-up-from-receptacle-at-location",
        ("apple#1", "tray#0", "table"),
    ),
    ("put apple#0 into cabinet", "robot-put-inside-location", ("apple#0", "cabinet")),
    ("put apple#0 onto table", "robot-put-ontop-location", ("apple#0", "table")),
    ("put apple#0 into box", "robot-put-inside-receptacle-at-location", ("apple#0", "box#0", "table")),
    ("put apple#0 onto tray", "robot-put-ontop-receptacle-at-location", ("apple#0", "tray#0", "table")),
    ("give apple#0 to human", "robot-bring-to-human", ("apple#0", "h")),
    ("take apple#0 from human", "robot-take-from-human", ("apple#0", "h")),
    ("open cabinet", "robot-open-location", ("cabinet",)),
    ("close cabinet", "robot-close-location", ("cabinet",)),
    ("open box", "robot-open-receptacle-at-location", ("box#0", "table")),
    ("close box", "robot-close-receptacle-at-location", ("box#0", "table")),
    ("toggle on stove", "robot-toggle-on-location", ("stove",)),
    ("toggle off stove", "robot-toggle-off-location", ("stove",)),
    ("toggle on modem", "robot-toggle-on-movable-at-location", ("modem#0", "table")),
    ("toggle off modem", "robot-toggle-off-movable-at-location", ("modem#0", "table")),
    ("heat apple#0", "robot-heat-obj", ("apple#0", "table")),
    ("cool apple#0", "robot-cool-obj", ("apple#0", "table")),
    ("soak rag", "robot-soak-obj", ("rag#0", "table")),
    ("slice apple#0 with knife", "robot-slice-obj", ("apple#0", "knife#0", "table")),
    ("clean box with rag", "robot-clean-obj-at-location", ("box#0", "rag#0", "table")),
    ("clean floor with rag", "robot-clean-location", ("rag#0", "floor")),
]


def test_every_schema_of_the_robot_has_a_command() -> None:
    assert {name for _, name, _ in FORMS} == set(domain("robot"))


@pytest.mark.parametrize(("text", "name", "args"), FORMS)
def test_a_command_grounds_to_its_action(world: World, text: str, name: str, args: tuple[str, ...]) -> None:
    reader = Reader(world)
    action = reader.ground(reader.read(text), world.entity("table"))
    assert action == Action(name, tuple(world.entity(arg) for arg in args))
    assert len(domain("robot")[name].params) == len(args)


@pytest.mark.parametrize(
    "text",
    [
        "Pick up the red apple 1 from the large tray.",
        "pick up apple#1 from tray",
        "pick up, please, my apple # 1 from that tray",
        "PICK UP APPLE 1 FROM TRAY 0",
        "pick the apple 1 from tray",
    ],
)
def test_only_the_last_word_of_a_part_counts(world: World, text: str) -> None:
    expected = Command("action", "pick-up-from", (world.entity("apple#1"), world.entity("tray#0")))
    assert Reader(world).read(text) == expected


def test_split_identifiers_are_joined() -> None:
    assert normalize("Pick up carving _ knife 0.").split() == ["pick", "up", "carving_knife#0"]
    assert normalize("put apple 3 into box 0").split() == ["put", "apple#3", "into", "box#0"]
    assert normalize("move to table 4").split()[-1] == "4"


def test_a_bare_type_names_the_only_one(world: World) -> None:
    reader = Reader(world)
    assert reader.read("pick up carving_knife").args == (world.entity("carving_knife#0"),)
    assert reader.read("pick up apple") == Command("invalid", text="apple", error="parse")
    # Words for classes, subclasses and colours are no names.
    assert reader.read("pick up fruit").error == "parse"


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("look", "look"),
        ("look at the table", "look"),
        ("Examine.", "look"),
        ("inventory", "inventory"),
        ("help", "help"),
        ("STOP", "stop"),
    ],
)
def test_plain_commands(world: World, text: str, kind: str) -> None:
    assert Reader(world).read(text) == Command(kind)


@pytest.mark.parametrize("text", ["question: is it red?", "Question:is it red?", " question： is it red?"])
def test_a_question_keeps_its_words(world: World, text: str) -> None:
    assert Reader(world).read(text) == Command("question", text="is it red?")


@pytest.mark.parametrize(
    "text",
    [
        "",
        " . ,",
        "dance",
        "move",
        "move table",
        "move to",
        "pick",
        "pick up unicorn#0",
        "put apple#0",
        "put apple#0 in box",
        "put into box",
        "give apple#0",
        "take from human",
        "toggle modem",
        "toggle modem on",
        "slice apple#0",
        "slice with knife",
        "clean box",
        "question",
        "open",
    ],
)
def test_parse_errors(world: World, text: str) -> None:
    command = Reader(world).read(text)
    assert (command.kind, command.error) == ("invalid", "parse")


@pytest.mark.parametrize(
    "text",
    [
        "move to apple#0",
        "move to box",
        "put knife into apple#0",
        "put human into box",
        "put knife onto human",
        "pick up human",
        "pick up human from tray",
        "pick up apple#0 from human",
        "give apple#0 to table",
        "give human to human",
        "take apple#0 from table",
        "open apple#0",
        "close human",
        "toggle on human",
        "heat human",
        "slice human with knife",
        "clean human with rag",
    ],
)
def test_things_that_cannot_have_a_role(world: World, text: str) -> None:
    reader = Reader(world)
    command = reader.read(text)
    assert command.kind == "action"
    assert reader.ground(command, world.entity("table")) is None


VERBS = "move pick put give take open close toggle heat cool soak slice clean look help question:"
MARKERS = "to up from into onto on off with"
NAMES = "human the red apple 0 1 #1 # _ box#0 box table tray rag knife h -1 . , : ： 苹果"
READER = Reader(sample_scene(Random(0))[0])
WORDS = st.sampled_from([*VERBS.split(), *MARKERS.split(), *NAMES.split()])


@given(st.lists(WORDS, max_size=8).map(" ".join) | st.text(max_size=60))
@settings(max_examples=300, deadline=None)
def test_reading_never_raises(text: str) -> None:
    command = READER.read(text)
    for place in (0, HUMAN):
        if command.kind == "action":
            action = READER.ground(command, place)
            assert action is None or len(action.args) == len(domain("robot")[action.name].params)
        else:
            assert (command.kind == "invalid") == (command.error == "parse")
