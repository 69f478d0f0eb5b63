"""Goals in plain words."""

from __future__ import annotations

from random import Random

import pytest

from simulator.errors import InputError
from simulator.handmethat.goals.model import Goal, Subgoal
from simulator.handmethat.goals.templates import (
    activity_title,
    describe_goal,
    describe_subgoal,
    instantiate,
    templates,
)
from simulator.handmethat.scene import SceneRules, sample_stock


@pytest.mark.each(
    ("subgoal", "english", "chinese"),
    [
        (
            Subgoal(form="ALL", x="gym_shoe", y="floor", relation="ontop", of_x=(("dusty", False),)),
            "Every gym shoe is dust-free and on the floor.",
            "所有运动鞋都是无灰尘的，并且在地板上。",
        ),
        (
            Subgoal(form="ALL", x="tray", y="refrigerator", relation="inside", of_y=(("stained", False),)),
            "Every tray is in the refrigerator, and the refrigerator is stain-free.",
            "所有托盘都在冰箱里；冰箱是无污渍的。",
        ),
        (
            Subgoal(form="SOME", x="alarm", y="box#1", relation="inside"),
            "At least one alarm is in box #1.",
            "至少有一个闹钟在箱子#1里。",
        ),
        (
            Subgoal(form="BE", x="floor", of_x=(("stained", False), ("dusty", False))),
            "The floor is stain-free and dust-free.",
            "地板是无污渍、无灰尘的。",
        ),
        (
            Subgoal(form="THE", x="candle#0", y="chair#2", relation="ontop"),
            "Candle #0 is on chair #2.",
            "蜡烛#0在椅子#2上。",
        ),
        (
            Subgoal(form="BE-ALL", x="box", of_x=(("open", False),)),
            "Every box is closed.",
            "所有箱子都是关着的。",
        ),
        (
            Subgoal(form="ALL-SAME", x="ball", y="box", relation="inside", of_y=(("open", False),)),
            "Every ball is in one and the same closed box.",
            "所有球都在同一个关着的箱子里。",
        ),
        (
            Subgoal(form="ALL-ANY", x="apple", y="bowl", relation="inside", of_x=(("sliced", True),)),
            "Every apple is sliced and in some bowl.",
            "所有苹果都是切好的，并且在某个碗里。",
        ),
        (
            Subgoal(form="THE-ANY", x="rag#0", y="bucket", relation="inside", of_x=(("soaked", True),)),
            "Rag #0 is soaked and in some bucket.",
            "抹布#0是浸湿的，并且在某个水桶里。",
        ),
    ],
)
def test_each_form_in_words(subgoal: Subgoal, english: str, chinese: str) -> None:
    assert describe_subgoal(subgoal, "en") == english
    assert describe_subgoal(subgoal, "zh") == chinese
    assert describe_goal(Goal((subgoal, subgoal)), "en") == (english, english)


@pytest.mark.parametrize("language", ["en", "zh"])
def test_every_template_has_a_title_and_a_line_per_subgoal(language: str) -> None:
    random = Random(0)
    assert len({activity_title(i, language) for i in range(69)}) == 69
    for template in templates():
        goal = None
        while goal is None:
            goal = instantiate(template.number, sample_stock(random, SceneRules()), random)
        lines = describe_goal(goal, language)
        assert len(lines) == len(template.patterns)
        for line in (*lines, activity_title(template.number, language)):
            assert "_" not in line
            assert "{" not in line
            assert line.isascii() == (language == "en")


def test_unknown_languages_and_words_are_reported() -> None:
    goal = Goal((Subgoal(form="BE", x="teapot#0", of_x=(("dusty", False),)),))
    with pytest.raises(InputError, match="no word for 'teapot'"):
        describe_goal(goal, "en")
    with pytest.raises(InputError, match="language 'fr'"):
        describe_goal(goal, "fr")
    with pytest.raises(InputError, match="language 'fr'"):
        activity_title(1, "fr")
    with pytest.raises(InputError, match="no goal 70"):
        activity_title(70, "en")
