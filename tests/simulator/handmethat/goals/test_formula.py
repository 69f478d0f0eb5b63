"""Goals written as formulas, read back, and evaluated."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simulator.errors import InputError
from simulator.handmethat.goals.formula import (
    evaluate,
    parse_formula,
    parse_goal,
    parse_subgoal,
    to_formula,
)
from simulator.handmethat.goals.model import ANYWHERE, OF_A_TYPE, Goal, Subgoal, goal_holds, holds
from simulator.handmethat.goals.templates import instantiate
from simulator.handmethat.hierarchy import STATES
from simulator.handmethat.scene import SceneRules, sample_scene, sample_stock
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
    assert parse_subgoal(text) == subgoal


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
    assert parse_subgoal(text) == Subgoal(form="ALL", x="box", y="floor", relation="ontop")


requirements = st.lists(st.tuples(st.sampled_from(STATES), st.booleans()), max_size=3).map(tuple)
types = st.sampled_from(["apple", "jar", "duffel_bag", "xmas_tree", "tray"])
things = st.builds("{}#{}".format, types, st.integers(0, 2))
locations = st.sampled_from(["floor", "sink", "table"])


@st.composite
def subgoals(draw: st.DrawFn) -> Subgoal:
    form = draw(st.sampled_from(["ALL", "SOME", "BE", "THE", "BE-ALL", "ALL-SAME", "ALL-ANY", "THE-ANY"]))
    x = draw(types if form in OF_A_TYPE else things)
    if form in ("BE", "BE-ALL"):
        of_x = draw(requirements.filter(len))
        return Subgoal(form=form, x=draw(st.one_of(st.just(x), locations)) if form == "BE" else x, of_x=of_x)
    y = draw(types if form in ANYWHERE else st.one_of(things, locations).filter(lambda one: one != x))
    relation = draw(st.sampled_from(["inside", "ontop"]))
    of_x, of_y = draw(requirements), draw(requirements)
    return Subgoal(form=form, x=x, y=y, relation=relation, of_x=of_x, of_y=of_y)


@given(st.lists(subgoals(), max_size=4).map(tuple).map(Goal))
def test_reading_is_the_inverse_of_writing(goal: Goal) -> None:
    assert parse_goal(to_formula(goal)) == goal


def test_a_formula_is_true_when_its_goal_holds() -> None:
    random, rules, seen = Random(8), SceneRules(), [0, 0]
    for _ in range(10):
        stock = sample_stock(random, rules)
        world, state = sample_scene(random, rules, stock)
        for number in range(69):
            goal = instantiate(number, stock, random)
            if goal is None:
                continue
            text = to_formula(goal, world)
            assert parse_goal(text).subgoals == goal.subgoals
            assert evaluate(world, state, parse_formula(text)) == goal_holds(world, state, goal)
            for subgoal in goal.subgoals:
                found = holds(world, state, subgoal)
                assert evaluate(world, state, parse_formula(to_formula(subgoal))) == found
                seen[found] += 1
    assert min(seen) > 100


@settings(max_examples=60)
@given(st.data())
def test_any_goal_and_its_formula_agree_in_any_household(data: st.DataObject) -> None:
    random = Random(data.draw(st.integers(0, 2**32)))
    world, state = sample_scene(random)
    placed = st.sampled_from([name for name in world.names if "#" in name])
    subgoal = data.draw(subgoals())
    if subgoal.form not in OF_A_TYPE:
        subgoal = Subgoal(form="BE", x=data.draw(placed), of_x=subgoal.of_x or (("dusty", True),))
    if subgoal.y and "#" in subgoal.y:
        return
    assert evaluate(world, state, parse_formula(to_formula(subgoal))) == holds(world, state, subgoal)


@pytest.mark.parametrize(
    ("text", "true"),
    [
        ("(exists (?x - phyobj) (and (type-apple ?x) (color-red ?x)))", False),
        ("(exists (?x - phyobj) (and (type-jar ?x) (color-red ?x) (openable ?x)))", True),
        ("(forall (?x - phyobj) (or (not (type-apple ?x)) (and (sliceable ?x) (movable ?x))))", True),
        ("(forall (?x - phyobj) (movable ?x))", False),
        ("(exists (?x - phyobj) (type-teapot ?x))", False),
        ("(forall (?x - phyobj) (or (receptacle ?x) (type-apple ?x)))", True),
        # The inner ?x hides the outer one.
        ("(exists (?x - phyobj) (and (type-apple ?x) (exists (?x - phyobj) (type-jar ?x))))", True),
        (
            "(forall (?x - phyobj) (or (not (type-apple ?x)) (exists (?y - phyobj)"
            " (and (inside ?x ?y) (exists (?z - phyobj) (inside ?y ?z))))))",
            True,
        ),
        ("(exists (?x - phyobj) (exists (?y - phyobj) (and (ontop ?x ?y) (type-apple ?x))))", False),
        ("(exists (?x - phyobj) (inside ?x ?x))", False),
        ("(exists (?x - phyobj) (inside cabinet ?x))", False),
        ("(inside jar#0 cabinet)", True),
        ("(inside jar#0 h)", False),
        ("(dusty h)", False),
        ("(and )", True),
        ("(or )", False),
        ("(not (or (toggled refrigerator) (toggled sink)))", False),
    ],
)
def test_formulas_of_other_forms(household: MakeWorld, text: str, true: bool) -> None:
    world, state = household(
        {"jar#0": "cabinet", "jar#1": "cabinet", "apple#0": "jar#0", "apple#1": "jar#1"},
        colors={"jar#0": "blue", "jar#1": "red"},
    )
    assert evaluate(world, state, parse_formula(text)) is true


@pytest.mark.each(
    ("text", "message"),
    [
        ("", r"character 1: '\(' is expected, not the end"),
        ("   ", r"character 4: '\(' is expected, not the end"),
        ("(and", r"character 5: '\)' is expected, not the end"),
        ("(and (dusty floor)", r"character 19: '\)' is expected, not the end"),
        ("(and) x", "character 7: the formula is complete"),
        ("(and x)", r"character 6: '\)' is expected, not 'x'"),
        ("(not)", r"character 5: '\(' is expected, not '\)'"),
        ("()", r"character 2: a word is expected, not '\)'"),
        ("(wet floor)", "character 2: 'wet' is no predicate"),
        ("(type-aple floor)", "character 2: 'type-aple' is no predicate"),
        ("(dusty ?x)", r"character 8: '\?x' is not bound"),
        ("(dusty floor sink)", "character 2: 'dusty' is said of 1, not 2"),
        ("(inside floor)", "character 2: 'inside' is said of 2, not 1"),
        ("(forall (x - phyobj) (dusty x))", r"character 10: a bound variable is called like \?x, not 'x'"),
        ("(forall (?x - thing) (dusty ?x))", "character 15: 'phyobj' is expected, not 'thing'"),
        ("(forall ?x (dusty ?x))", r"character 9: '\(' is expected, not '\?x'"),
        ("(not " * 60, "character 251: formulas are not nested so deeply"),
    ],
)
def test_a_malformed_formula_names_the_character(text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        parse_formula(text)


@pytest.mark.each(
    ("text", "message"),
    [
        ("(dusty floor)", r"character 1: a goal is a conjunction"),
        ("(and (or (dusty floor)))", "character 10: this is none of the eight forms"),
        ("(and (exists (?x - phyobj) (dusty ?x)))", "character 28: this is none of the eight forms"),
        ("(and (not (and (dusty floor))))", "character 16: a state, its negation or one place"),
        ("(and (and))", "character 1: a subgoal must say something"),
        ("(and (and (inside a b) (inside a c)))", "character 24: a state, its negation or one place"),
        ("(and (inside a a))", "character 6: nothing lies in or on itself"),
        (
            "(and (and (dusty a) (dusty b)))",
            "character 21: one subgoal speaks of a, and here asks 'dusty' of b",
        ),
        ("(and (and (inside a b) (dusty c)))", "character 24: one subgoal speaks of a and b, and here"),
        (
            "(and (exists (?x - phyobj) (and (dusty ?x) (inside ?x b))))",
            "begins with a type, not 'dusty'",
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
def test_a_goal_of_no_form_of_ours_says_where(text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        parse_goal(text)


@given(st.text(alphabet="()?xy -abdnorthefil", max_size=60) | st.text(max_size=20))
def test_nonsense_is_refused_or_read(text: str) -> None:
    try:
        goal = parse_goal(text)
    except InputError:
        return
    assert parse_goal(to_formula(goal)) == goal


def test_names_are_checked_against_a_household(household: MakeWorld) -> None:
    world, state = household({"apple#0": "table"})
    subgoal = Subgoal(form="THE", x="apple#0", y="jar#0", relation="inside")
    assert to_formula(subgoal) == "(inside apple#0 jar#0)"
    with pytest.raises(InputError, match="no 'jar#0' in this household"):
        to_formula(Goal((subgoal,)), world)
    with pytest.raises(InputError, match="no 'jar#0' in this household"):
        evaluate(world, state, parse_formula("(inside apple#0 jar#0)"))
