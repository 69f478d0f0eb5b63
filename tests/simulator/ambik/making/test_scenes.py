"""Groups and the scenes drawn from them (spec 11, step 1)."""

from collections import Counter

import pytest

from simulator.ambik.intents import fold
from simulator.ambik.scenes import KINDS, Group, all_groups, draw_scene, draw_scenes, in_words, scene_record
from simulator.ambik.terms import APPLIANCES

OBJECTS = [name for group in all_groups() for name in group.objects]
GROUP = {name: group for group in all_groups() for name in group.objects}
SCENES = draw_scenes(300, seed=5)


def test_there_are_about_as_many_things_as_in_the_paper():
    assert 310 <= len(OBJECTS) <= 330
    assert all(len(group.objects) >= 3 for group in all_groups())
    assert len({group.name for group in all_groups()}) == len(all_groups())


def test_no_thing_is_in_two_groups_and_no_appliance_in_any():
    assert [name for name, times in Counter(map(fold, OBJECTS)).items() if times > 1] == []
    assert not {fold(name) for name in OBJECTS} & set(APPLIANCES)


def test_only_an_article_precedes_a_name():
    for name in OBJECTS:
        assert in_words(name) in (name, f"a {name}", f"an {name}")
        assert "," not in name


@pytest.mark.each(
    ("name", "words"),
    [
        ("saucepan", "a saucepan"),
        ("espresso cup", "an espresso cup"),
        ("olive oil", "olive oil"),
        ("gravy boat", "a gravy boat"),
        ("prunes", "prunes"),
    ],
)
def test_articles(name, words):
    assert in_words(name) == words


def test_a_scene_is_of_two_to_five_groups_of_each_kind():
    numbers = {kind: Counter() for kind in KINDS}
    for scene in SCENES:
        groups = tuple(dict.fromkeys(GROUP[name] for name in scene.objects))
        assert tuple(group.name for group in groups) == scene.groups
        for kind in KINDS:
            numbers[kind][sum(group.kind == kind for group in groups)] += 1
    assert {kind: sorted(counts) for kind, counts in numbers.items()} == {
        kind: [2, 3, 4, 5] for kind in KINDS
    }


def test_at_least_three_things_of_each_group_and_none_twice():
    for scene in SCENES:
        assert min(Counter(GROUP[name].name for name in scene.objects).values()) >= 3
        assert len(set(scene.objects)) == len(scene.objects)
        assert scene.words.split(", ") == [in_words(name) for name in scene.objects]


def test_kitchenware_comes_first():
    for scene in SCENES[:50]:
        kinds = [KINDS.index(GROUP[name].kind) for name in scene.objects]
        assert kinds == sorted(kinds)


def test_every_group_is_drawn_and_all_scenes_differ():
    assert {name for scene in SCENES for name in scene.groups} == {group.name for group in all_groups()}
    assert len({scene.objects for scene in SCENES}) == len(SCENES) == len({scene.id for scene in SCENES})


def test_more_scenes_of_a_seed_begin_with_the_same_and_other_seeds_are_others():
    assert draw_scenes(7, seed=5) == SCENES[:7]
    assert {scene.objects for scene in draw_scenes(7, seed=6)}.isdisjoint(scene.objects for scene in SCENES)


def test_a_scene_is_the_same_everywhere():
    scene = draw_scene(1, seed=0)
    assert scene.id == "s0-0001"
    assert scene.groups == ("bowls", "plates", "knives", "pans", "nuts", "jams", "teas")
    assert scene.objects[:3] == ("dessert bowl", "mixing bowl", "snack bowl")


def test_small_groups_are_passed_over():
    made = [
        *(Group(f"k{n}", "kitchenware", ("ladle", "whisk", "spatula")) for n in range(2)),
        *(Group(f"f{n}", "food", ("honey", "butter", "lemon")) for n in range(2)),
        Group("few", "food", ("kiwi", "lime")),
    ]
    for number in range(20):
        assert "few" not in draw_scene(number, 0, made).groups


def test_a_record_has_the_complete_scene():
    scene = SCENES[0]
    assert scene_record(scene) == {
        "id": scene.id,
        "objects": list(scene.objects),
        "scene": scene.words,
        "groups": list(scene.groups),
    }
