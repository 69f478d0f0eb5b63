"""Goals written as formulas, and read back."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulator.errors import InputError
from simulator.handmethat.goals.formula import parse_goal, to_formula
from simulator.handmethat.goals.model import X_IS_TYPE, Y_IS_TYPE, Goal, Subgoal
from simulator.handmethat.hierarchy import STATES
from simulator.handmethat.world import State, World

MakeWorld = Callable[..., tuple[World, State]]

FORMULAS = [
    (
        Subgoal(form="ALL", x="lemon", y="jar#1", relation="inside", of_x=(("sliced", True),)),
        "(forall (?x - phyobj) (or (not (type-lemon ?x)) (and (inside ?x jar#1) (sliced ?x))))",
    ),
    (
        Subgoal(form="ALL", x="box", y="floor", relation="ontop"),
        "(forall (?x - phyobj) (or (not (type-box ?x)) (ontop ?x floor)))",
    ),
    (
        Subgoal(form="SOME", x="alarm", y="sofa", relation="ontop", of_y=(("dusty", False),)),
        "(exists (?x - phyobj) (and (type-alarm ?x) (ontop ?x sofa) (not (dusty sofa))))",
    ),
    (Subgoal(form="BE", x="table", of_x=(("stained", False),)), "(not (stained table))"),
    (
        Subgoal(form="BE", x="floor", of_x=(("stained", False), ("dusty", False))),
        "(and (not (stained floor)) (not (dusty floor)))",
    ),
    (Subgoal(form="THE", x="lamp#0", y="chair#2", relation="ontop"), "(ontop lamp#0 chair#2)"),
    (
        Subgoal(form="BE-ALL", x="cup", of_x=(("dusty", False),)),
        "(forall (?x - phyobj) (or (not (type-cup ?x)) (not (dusty ?x))))",
    ),
    (
        Subgoal(form="ALL-SAME", x="ball", y="box", relation="inside", of_y=(("open", False),)),
        "(exists (?y - phyobj) (and (type-box ?y) (forall (?x - phyobj) (or (not (type-ball ?x))"
        " (and (inside ?x ?y) (not (open ?y)))))))",
    ),
    (
        Subgoal(form="ALL-ANY", x="apple", y="bowl", relation="inside", of_x=(("sliced", True),)),
        "(forall (?x - phyobj) (or (not (type-apple ?x))"
        " (exists (?y - phyobj) (and (type-bowl ?y) (inside ?x ?y) (sliced ?x)))))",
    ),
    (
        Subgoal(form="THE-ANY", x="rag#1", y="bucket", relation="inside", of_x=(("soaked", True),)),
        "(exists (?y - phyobj) (and (type-bucket ?y) (inside rag#1 ?y) (soaked rag#1)))",
    ),
]


@pytest.mark.each(("subgoal", "text"), FORMULAS)
def test_each_form_as_a_formula(subgoal: Subgoal, text: str) -> None:
    assert to_formula(subgoal) == text
    assert parse_goal(f"(and {text})").subgoals[0] == subgoal


def test_a_goal_is_their_conjunction() -> None:
    goal = Goal(tuple(subgoal for subgoal, _ in FORMULAS))
    assert to_formula(goal) == f"(and {''.join(text for _, text in FORMULAS)})"
    assert parse_goal(to_formula(goal)) == goal
    assert parse_goal("(and )") == Goal(())


@pytest.mark.parametrize(
    "text",
    [
        "( forall(?x - phyobj)\n(or (not (type-box ?x)) (and (ontop ?x floor))))",
        "(forall (?v - phyobj) (or (not (type-box ?v)) (and (and (ontop ?v floor)) (and))))",
    ],
)
def test_blanks_variables_and_nested_conjunctions_are_free(text: str) -> None:
    (subgoal,) = parse_goal(f"(and {text})").subgoals
    assert subgoal == Subgoal(form="ALL", x="box", y="floor", relation="ontop")


requirements = st.lists(st.tuples(st.sampled_from(STATES), st.booleans()), max_size=3).map(tuple)
types = st.sampled_from(["apple", "jar", "duffel_bag", "xmas_tree", "tray"])
things = st.builds("{}#{}".format, types, st.integers(0, 2))
locations = st.sampled_from(["floor", "sink", "table"])


@st.composite
def subgoals(draw: st.DrawFn) -> Subgoal:
    form = draw(st.sampled_from(["ALL", "SOME", "BE", "THE", "BE-ALL", "ALL-SAME", "ALL-ANY", "THE-ANY"]))
    x = draw(types if form in X_IS_TYPE else things)
    if form in ("BE", "BE-ALL"):
        of_x = draw(requirements.filter(len))
        return Subgoal(form=form, x=draw(st.one_of(st.just(x), locations)) if form == "BE" else x, of_x=of_x)
    y = draw(types if form in Y_IS_TYPE else st.one_of(things, locations).filter(lambda term: term != x))
    relation = draw(st.sampled_from(["inside", "ontop"]))
    of_x, of_y = draw(requirements), draw(requirements)
    return Subgoal(form=form, x=x, y=y, relation=relation, of_x=of_x, of_y=of_y)


@given(st.lists(subgoals(), max_size=4).map(tuple).map(Goal))
def test_reading_is_the_inverse_of_writing(goal: Goal) -> None:
    assert parse_goal(to_formula(goal)) == goal


@pytest.mark.each(
    ("text", "message"),
    [
        ("", "character 1: one formula expected, but the text ends"),
        ("   ", "character 4: one formula expected, but the text ends"),
        ("(and", r"character 5: \) expected, but the text ends"),
        ("(and (dusty floor)", r"character 19: \) expected, but the text ends"),
        ("(and) x", "character 7: a formula is one parenthesised expression, but 'x' is outside it"),
        ("(and))", r"character 6: a formula is one parenthesised expression, but '\)' is outside it"),
        ("(and x)", "character 1: a goal is a conjunction"),
        ("(and (wet floor))", "character 6: expected a state, its negation or one place"),
        ("(and (dusty ?x))", r"character 6: '\?x' is not bound"),
        ("(and (dusty floor sink))", "character 6: expected a state, its negation or one place"),
        ("(and (forall (?x - thing) (dusty ?x)))", "character 6: this is not one of the eight forms"),
        ("(not " * 60, "character 246: the formula is nested too deeply"),
        ("(dusty floor)", r"character 1: a goal is a conjunction"),
        ("(and (or (dusty floor)))", "character 6: this is not one of the eight forms"),
        ("(and (exists (?x - phyobj) (dusty ?x)))", "character 6: this is not one of the eight forms"),
        ("(and (not (and (dusty floor))))", "character 6: expected a state, its negation or one place"),
        ("(and (and))", "character 6: a subgoal must require a place or a state"),
        (
            "(and (and (inside a b) (inside a c)))",
            "character 24: expected a state, its negation or one place",
        ),
        ("(and (inside a a))", "character 6: a thing cannot be in or on itself"),
        (
            "(and (and (dusty a) (dusty b)))",
            "character 21: this subgoal is about a, but requires 'dusty' of b",
        ),
        ("(and (and (inside a b) (dusty c)))", "character 24: this subgoal is about a and b, but requires"),
        (
            "(and (exists (?x - phyobj) (and (dusty ?x) (inside ?x b))))",
            "must begin with a type, not 'dusty'",
        ),
        (
            "(and (exists (?x - phyobj) (and (type-apple ?x) (dusty ?x))))",
            r"must say that something is inside or on \?x",
        ),
        (
            "(and (forall (?x - phyobj) (or (not (type-apple ?x)) (inside b ?x))))",
            r"this ALL subgoal must say that \?x is inside or on \?x",
        ),
    ],
)
def test_an_unknown_form_is_reported_with_its_position(text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        parse_goal(text)


@pytest.mark.parametrize("kind", ["blender", "teapot", "human"])
def test_declared_but_unused_types_are_read(kind: str) -> None:
    text = f"(and (forall (?x - phyobj) (or (not (type-{kind} ?x)) (ontop ?x table))))"
    assert to_formula(parse_goal(text)) == text
    with pytest.raises(InputError, match="must begin with a type"):
        parse_goal(text.replace(kind, "tea_pot"))


@given(st.text(alphabet="()?xy -abdnorthefil", max_size=60) | st.text(max_size=20))
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        goal = parse_goal(text)
    except InputError:
        return
    assert parse_goal(to_formula(goal)) == goal


def test_names_are_checked_against_a_household(household: MakeWorld) -> None:
    world, _ = household({"apple#0": "table"})
    subgoal = Subgoal(form="THE", x="apple#0", y="jar#0", relation="inside")
    assert to_formula(subgoal) == "(inside apple#0 jar#0)"
    with pytest.raises(InputError, match="no 'jar#0' in this household"):
        to_formula(Goal((subgoal,)), world)
