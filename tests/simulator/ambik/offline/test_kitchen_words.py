"""Words in one form, things in categories, nouns of a step."""

from __future__ import annotations

import re

import pytest

from simulator.ambik.kitchen.knowledge import note, sense, settle
from simulator.ambik.kitchen.openings import mentions
from simulator.ambik.naming import kitchen, plural, stem, stems, thing, with_article


@pytest.mark.each(
    ("word", "stemmed"),
    [
        ("Knives", "knife"),
        ("berries", "berry"),
        ("glasses", "glass"),
        ("potatoes", "potato"),
        ("couscous", "couscous"),
        ("chef’s", "chef's"),
        ("boxes", "box"),
    ],
)
def test_a_word_is_brought_to_one_form(word, stemmed):
    assert stem(word) == stemmed


@pytest.mark.each("name", ["knife", "loaf", "berry", "dish", "bowl", "potato"])
def test_a_plural_has_the_same_form_as_its_singular(name):
    assert plural(name) != name
    assert stem(plural(name)) == stem(name)


def test_the_article_follows_the_name():
    assert with_article("Open it with an ", "corkscrew") == "Open it with a "
    assert with_article("Open it with a ", "opener") == "Open it with an "
    assert with_article("Take the ", "egg") == "Take the "


@pytest.mark.each(
    ("name", "category", "head"),
    [
        ("steel soup plate", "plate", "plate"),
        ("peach yoghurt cup", "yogurt", "yogurt"),
        ("beer mug", "mug", "mug"),
        ("bottle of rose wine", "wine", "wine"),
        ("a butter knife", "knife", "knife"),
        ("smoked mozzarella slices", "cheese", "mozzarella"),
        ("fish slice", "spatula", "slice"),
        ("tea cup", "cup", "cup"),
        ("tin of zorblax", "", "zorblax"),
    ],
)
def test_a_thing_is_known_by_what_it_is_called(name, category, head):
    named = thing(name)
    assert (named.category, named.head) == (category, head)


def test_a_category_is_within_wider_ones_and_all_of_them_exist():
    assert thing("butter knife").is_a("utensil")
    assert not thing("butter knife").is_a("ingredient")
    for category in kitchen().categories.values():
        assert set(category.wider) <= set(kitchen().categories)


def test_the_tables_name_categories_that_exist_and_hold_some_hundred_things():
    table = sense()
    named = {name for rule in table.choices for name in rule.about}
    named |= {name for rule in table.purposes for name in rule.named}
    named |= {name for rule in table.rewrites for name in rule.food}
    named |= {*table.perishable, *table.wide, *(each.category for each in table.somethings)}
    assert named <= set(kitchen().categories)
    assert len(kitchen().things) > 300
    assert all(len(amount.options) > 1 for amount in table.amounts)
    assert all("{}" in purpose.phrase for purpose in table.purposes if purpose.phrase)


def test_every_reason_is_in_both_languages():
    rules = (*sense().choices, *sense().purposes, *sense().rewrites, *sense().places.values())
    for rule in rules:
        assert rule.why.en.endswith((".", "!"))
        assert re.search(r"[\u4e00-\u9fff]", rule.why.zh)


def test_a_note_has_its_details_in_both_languages():
    assert note("acts", action="Wash the rug") == (
        "Nothing is left open: I do “Wash the rug”",
        "没有不清楚的地方：我做“Wash the rug”",
    )


def _things(*names):
    return tuple(thing(name) for name in names)


SCENE = _things(
    "china bowl", "tin bowl", "plum jam", "fig jam", "rye bread", "bread knife", "peeler", "wine glass"
)


@pytest.mark.each(
    ("text", "nouns"),
    [
        ("Put the china bowl away.", [("china bowl", 1, True)]),
        ("Put a bowl on the rug", [("bowl", 2, False)]),
        ("Spread some jam on a slice of bread", [("jam", 2, False), ("bread", 1, False)]),
        ("Slice the rye bread with the bread knife.", [("rye bread", 1, True), ("bread knife", 1, True)]),
        ("Take the bowl and the jam", [("bowl", 2, False), ("jam", 2, False)]),
        ("Fill a red bowl", [("bowl", 2, False)]),
        ("Wipe the window.", []),
    ],
)
def test_nouns_are_found_with_what_they_may_mean(text, nouns):
    mentioned = mentions(text, SCENE)
    assert [
        (text[mention.start : mention.end], len(mention.things), mention.exact) for mention in mentioned
    ] == nouns


def test_a_name_of_something_that_is_not_there_means_nothing_that_is():
    (noun,) = mentions("Use the bread bowl.", _things("china bowl", "tin bowl", "rye bread"))
    assert noun.things == ()


def test_amounts_and_sorts_are_distinguished_from_things():
    (noun,) = mentions("Take two kinds of jam", SCENE)
    assert noun.sorts
    assert noun.before == "two"
    (noun,) = mentions("Take a jar of jam", _things("plum jam", "fig jam"))
    assert (noun.stems, noun.amount, noun.sorts) == (stems("jam"), "jar", False)


def test_common_sense_takes_rules_one_after_the_other_until_one_thing_is_left():
    knives = _things("bread knife", "butter knife", "paring knife")
    (rule,) = settle("knife", "knife", knives, "Spread the jam with a knife", "Spread the jam with a knife")
    assert [thing.name for thing in rule.things] == ["butter knife"]
    assert rule.by_step
    assert settle("jam", "jam", _things("plum jam", "fig jam"), "Open the jam", "Open the jam") == ()


def test_metal_and_plastic_stay_out_of_the_microwave():
    bowls = _things("metal bowl", "plastic bowl", "ceramic bowl", "glass bowl")
    rules = settle("bowl", "bowl", bowls, "Put the soup into a bowl", "Put it into a bowl. Use the microwave")
    assert rules[0].rule.kind == "safety"
    assert [thing.name for thing in rules[-1].things] == ["ceramic bowl"]
