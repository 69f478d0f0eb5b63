"""Forms at a desk: their rows, whose count, who is asked next, what holds."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import NamedTuple

import pytest

from logs.rows import Judgment
from simulator.errors import InputError
from simulator.judging import (
    DecidingForm,
    DeskFormError,
    Form,
    JudgingForm,
    Opinions,
    rater_order,
    require_known,
    with_third_rater,
)


class Broken(NamedTuple):
    code: str
    field: str

    def __str__(self) -> str:
        return f"{self.field} is {self.code}."


class Colour(DecidingForm):
    colour: str
    note: str = ""


class Shape(Form):
    shape: str


COLOURS = JudgingForm(kind="paint.colour", model=Colour, verb="paints")
SHAPES = JudgingForm(kind="paint.shape", model=Shape, about="episode")


def colour(form: Colour) -> str:
    return form.colour


def rows(forms: Sequence[tuple[str, str, bool]]) -> list[Judgment]:
    return [
        COLOURS.judgment("item", who, Colour(colour=chosen, decides=decides), submission=str(place))
        for place, (who, chosen, decides) in enumerate(forms)
    ]


def test_a_form_that_breaks_rules_names_each_at_its_field() -> None:
    broken = (Broken("empty", "scene"), Broken("long", "answer"))
    error = DeskFormError(broken)
    assert isinstance(error, InputError) and error.problems == broken
    assert str(error) == "scene is empty. answer is long."


def test_a_form_on_an_item_as_a_row_names_where_the_item_comes_from() -> None:
    row = COLOURS.judgment("hash", "ann", Colour(colour="red"), submission="s1", source="run")
    assert row.id == "run/hash/colour/ann/s1"
    assert (row.item_hash, row.annotator, row.kind, row.key) == ("hash", "ann", "paint.colour", "s1")
    assert row.episode_id is None
    assert row.value == {"run": "run", "colour": "red", "note": "", "decides": False}


def test_a_form_on_an_episode_as_a_row() -> None:
    row = SHAPES.judgment("run/e1", "ann", Shape(shape="round"), submission="s1")
    assert (row.id, row.episode_id, row.item_hash) == ("run/e1/shape/ann/s1", "run/e1", None)
    assert row.value == {"shape": "round"}


def test_the_newest_form_of_a_rater_counts_in_the_place_of_the_first() -> None:
    forms = [("ann", "red", False), ("bob", "blue", False), ("ann", "green", False), ("bob", "red", True)]
    opinions = COLOURS.opinions([*rows(forms), *rows([("cy", "red", True)])])["item"]
    assert [(who, form.colour) for who, form in opinions.blind.items()] == [("ann", "green"), ("bob", "blue")]
    assert opinions.decided is not None and opinions.decided.decides
    assert opinions.decider == "cy"


def test_what_somebody_said_who_is_erased_is_no_opinion() -> None:
    shape = SHAPES.judgment("e", "ann", Shape(shape="round"), submission="s")
    gone = Judgment(id="x", episode_id="e", annotator="bob", kind="paint.shape", value={"erased": True})
    assert list(SHAPES.opinions([shape, gone])["e"].blind) == ["ann"]


def test_who_is_asked_and_what_holds() -> None:
    nobody: Opinions[Colour] = Opinions()
    assert nobody.awaits("ann") and nobody.settled(colour) is None and not nobody.differs(colour)
    (opinion,) = COLOURS.opinions(rows([("ann", "red", False)])).values()
    assert not opinion.awaits("ann") and opinion.awaits("bob") and not opinion.awaits("bob", 1)
    assert opinion.settled(colour) == Colour(colour="red")
    (two,) = COLOURS.opinions(rows([("ann", "red", False), ("bob", "blue", False)])).values()
    assert two.differs(colour) and two.settled(colour) is None and not two.awaits("cy")
    decided = Opinions(two.blind, Colour(colour="green", decides=True), "cy")
    assert not decided.differs(colour) and not decided.awaits("dee", 9)
    assert decided.settled(colour) == decided.decided


def test_a_third_decides_only_where_the_first_two_differ() -> None:
    def opinions(*colours: str) -> Opinions[Colour]:
        return with_third_rater(Opinions({str(n): Colour(colour=c) for n, c in enumerate(colours)}), colour)

    assert opinions("red", "blue", "green", "blue").decided == Colour(colour="green")
    assert list(opinions("red", "blue", "green").blind) == ["0", "1"]
    assert opinions("red", "red", "green").decided is None
    assert opinions("red").decided is None


def test_names_and_choices_are_required() -> None:
    COLOURS.require_name("ann")
    with pytest.raises(InputError, match="Say who paints") as refused:
        COLOURS.require_name(" ")
    assert refused.value.code == "nameless"
    require_known(["red"], ("red", "blue"), "colour")
    with pytest.raises(InputError, match="'pink' is not a colour; choose from red, blue") as refused:
        require_known(["red", "pink"], ("red", "blue"), "colour")
    assert (refused.value.code, refused.value.named) == ("no_choice", {"value": "pink"})


def test_everybody_has_an_order_of_their_own_that_does_not_change() -> None:
    due = [f"item{number}" for number in range(20)]
    ann, bob = (rater_order(due, "desk", who, str) for who in ("ann", "bob"))
    assert sorted(ann) == sorted(due) and ann != bob
    left = random.Random(1).sample(due, 12)
    assert rater_order(left, "desk", "ann", str) == tuple(item for item in ann if item in left)
