"""The human's actions in words (spec 9.1, 9.3)."""

from __future__ import annotations

import pytest

from simulator.handmethat.actions import Action, domain
from simulator.handmethat.meanings.render import render_action, render_description, render_story, wording

AT, FROM = "pick-up-at-location", "pick-up-from-receptacle-at-location"
CASES = [
    ("move", ("floor", "table"), "moves to the table", "走到桌子（table）那儿"),
    (AT, ("apple#0", "table"), "picks up the apple#0 at the table", "从桌子（table）上拿起苹果（apple#0）"),
    (
        FROM,
        ("apple#0", "jar#0", "cabinet"),
        "picks up the apple#0 from the jar#0 at the cabinet",
        "从柜子（cabinet）里的罐子（jar#0）里拿起苹果（apple#0）",
    ),
    ("put-inside-location", ("apple#0", "oven"), "puts the apple#0 into the oven",
     "把苹果（apple#0）放到烤箱（oven）里"),
    ("put-ontop-location", ("apple#0", "bed"), "puts the apple#0 on the bed",
     "把苹果（apple#0）放到床（bed）上"),
    ("put-inside-receptacle-at-location", ("apple#0", "jar#0", "table"), "puts the apple#0 into the jar#0",
     "把苹果（apple#0）放到罐子（jar#0）里"),
    ("put-ontop-receptacle-at-location", ("apple#0", "tray#0", "table"), "puts the apple#0 on the tray#0",
     "把苹果（apple#0）放到托盘（tray#0）上"),
    ("open-location", ("oven",), "opens the oven", "打开烤箱（oven）"),
    ("close-location", ("oven",), "closes the oven", "关上烤箱（oven）"),
    ("open-receptacle-at-location", ("jar#0", "table"), "opens the jar#0 at the table",
     "打开桌子（table）上的罐子（jar#0）"),
    ("close-receptacle-at-location", ("jar#0", "table"), "closes the jar#0 at the table",
     "关上桌子（table）上的罐子（jar#0）"),
    ("toggle-on-location", ("sink",), "toggles the sink on", "打开水槽（sink）的开关"),
    ("toggle-off-location", ("sink",), "toggles the sink off", "关掉水槽（sink）的开关"),
    ("toggle-on-movable-at-location", ("modem#0", "shelf"), "toggles the modem#0 on at the shelf",
     "打开架子（shelf）上的调制解调器（modem#0）的开关"),
    ("toggle-off-movable-at-location", ("modem#0", "shelf"), "toggles the modem#0 off at the shelf",
     "关掉架子（shelf）上的调制解调器（modem#0）的开关"),
    ("heat-obj", ("apple#0", "oven"), "heats apple#0 up with the oven", "用烤箱（oven）加热苹果（apple#0）"),
    ("cool-obj", ("apple#0", "refrigerator"), "cools apple#0 down in the refrigerator",
     "在冰箱（refrigerator）里冷冻苹果（apple#0）"),
    ("soak-obj", ("rag#0", "sink"), "makes rag#0 soaked in the sink", "在水槽（sink）里浸湿抹布（rag#0）"),
    ("slice-obj", ("apple#0", "knife#0", "table"), "slices up the apple#0 with the knife#0 at the table",
     "在桌子（table）上用餐刀（knife#0）切好苹果（apple#0）"),
    ("clean-obj-at-location", ("jar#0", "rag#0", "table"), "cleans up the jar#0 with the rag#0 at the table",
     "用抹布（rag#0）把桌子（table）上的罐子（jar#0）弄干净"),
    ("clean-location", ("rag#0", "table"), "cleans up the table with the rag#0",
     "用抹布（rag#0）把桌子（table）弄干净"),
]  # fmt: skip


@pytest.fixture
def home(household):
    places = {"apple#0": "table", "apple#1": "table", "jar#0": "table", "tray#0": "table", "rag#0": "sink"}
    return household(places | {"knife#0": "table", "modem#0": "shelf"}, colors={"jar#0": "blue"})


def make(world, name, args):
    return Action(f"human-{name}", tuple(world.entity(thing) for thing in args))


@pytest.mark.parametrize(("name", "args", "english", "chinese"), CASES, ids=[case[0] for case in CASES])
def test_every_action(home, name, args, english, chinese):
    world, _ = home
    action = make(world, name, args)
    assert render_action(world, action, "en") == f"Human {english}."
    assert render_action(world, action, "zh") == f"人{chinese}。"
    text = render_action(world, action, "en", labels=True)
    assert text.startswith("The human ")
    assert "#0" not in text or "apple #0" in text
    assert "（" not in render_action(world, action, "zh", labels=True)


def test_no_action_is_forgotten():
    names = {name.removeprefix("human-") for name in domain("human")}
    assert {case[0] for case in CASES} == names
    for language in ("en", "zh"):
        assert set(wording(language)["actions"]) == names
        assert set(wording(language).get("label_actions", {})) <= names


def test_labels_for_people(home):
    world, _ = home
    action = make(world, FROM, ("apple#1", "jar#0", "table"))
    assert render_action(world, action, "en", labels=True) == (
        "The human picks up the apple #1 from the blue jar at the table."
    )
    assert render_action(world, action, "zh", labels=True) == "人从桌子上的蓝色罐子里拿起苹果#1。"
    heat = make(world, "heat-obj", ("apple#0", "oven"))
    assert render_action(world, heat, "en", labels=True) == ("The human heats up the apple #0 with the oven.")


def test_stories(home):
    world, _ = home
    actions = [make(world, "move", ("floor", "table")), make(world, AT, ("apple#0", "table"))]
    assert render_story(world, actions, "en") == (
        "Human moves to the table.",
        "Human picks up the apple#0 at the table.",
    )
    assert len(render_story(world, [], "en")) == len(render_story(world, [], "zh")) == 1
    text = render_description(world, actions, "Hand me that.", "en")
    assert text.startswith("Human moves to the table. Human picks")
    assert text.endswith('"Hand me that."')
    assert render_description(world, actions, "把那个递给我。", "zh").endswith("“把那个递给我。”")
