"""Objects that a task names and the scene lacks (spec 11, step 2)."""

import pytest

from simulator.ambik.data import load_drafts, load_pairs
from simulator.ambik.scenes import absent, vocabulary

SCENE = (
    "bread knife",
    "dinner plate",
    "mixing bowl",
    "whisk",
    "baguette",
    "cream cheese",
    "red onion",
    "butter",
)


@pytest.mark.each(
    "text",
    [
        "Cut the baguette with the bread knife.",
        "Cut the bread with the knife.",
        "Put the butter on the plate.",
        "Spread cheese on a slice of the baguette.",
        "Put the onion into the fridge.",
        "Heat the oven, then wipe the table.",
        "Boil water in the kettle.",
        "Whisk the butter until it is soft.",
        "Please butter the baguette.",
        "Take a cup of cream cheese.",
        "Make an onion soup, then put it into the refrigerator.",
        "Prepare me a fresh chicken sandwich.",
        "",
    ],
)
def test_what_may_mean_something_of_the_scene_is_there(text):
    assert absent(text, SCENE) == ()


@pytest.mark.each(
    ("text", "names"),
    [
        ("Cut the baguette with the steak knife.", ("steak knife",)),
        ("Put the Butter on a soup plate, with honey.", ("soup plate", "honey")),
        ("Pour the water into a mug.", ("mug",)),
        ("Put a cup beside the plate.", ("cup",)),
        ("Chop the green onion.", ("green onion",)),
        ("Heat the butter on the stove.", ("stove",)),
        ("Spread Brie on the baguette, and more brie.", ("Brie",)),
        ("Put the mushroom soup on the table.", ("mushroom soup",)),
        ("Slice the tomatoes.", ("tomato",)),
    ],
)
def test_things_that_a_model_made_up_are_reported(text, names):
    assert tuple(name.casefold() for name in absent(text, SCENE)) == tuple(name.casefold() for name in names)


def test_no_built_in_task_names_what_is_not_there():
    assert {pair.id: names for pair in load_pairs() if (names := absent(pair.clear, pair.objects))} == {}


def test_the_faulty_drafts_are_found():
    absent_things = {draft.id: absent(draft.clear, draft.objects) for draft in load_drafts()}
    assert {id: names for id, names in absent_things.items() if names} == {
        "d02": ("colander",),
        "d10": ("wire rack",),
    }


def test_the_vocabulary_holds_each_name_once():
    assert len({name.casefold() for name in vocabulary()}) == len(vocabulary()) > 800
    assert "water" not in vocabulary() and "fridge" in vocabulary()
