"""Every form of subgoal, worked by hand in small households."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from simulator.errors import InputError
from simulator.handmethat.goals.model import Goal, Subgoal, goal_holds, holds
from simulator.handmethat.world import NOTHING, State, World

MakeWorld = Callable[..., tuple[World, State]]
# Two apples at home on the table, two jars in the cabinet, a bowl, a rag; tests move things.
HOME = {
    "apple#0": "table",
    "apple#1": "table",
    "jar#0": "cabinet",
    "jar#1": "cabinet",
    "bowl#0": "countertop",
    "rag#0": "sink",
    "chair#0": "floor",
}


class Check:
    """Asks a subgoal of a household, alone and as a goal, which must agree."""

    def __init__(self, make: MakeWorld) -> None:
        self._make = make

    def __call__(self, subgoal: Subgoal, places: dict[str, str] | None = None, **states: Any) -> bool:
        world, state = self._make({**HOME, **(places or {})}, **states)
        result = holds(world, state, subgoal)
        assert goal_holds(world, state, Goal((subgoal,))) == result
        return result


@pytest.fixture
def check(household: MakeWorld) -> Check:
    return Check(household)


BOTH = {"apple#0": "jar#0", "apple#1": "jar#0"}
APART = {"apple#0": "jar#0", "apple#1": "jar#1"}
FIRST = {"apple#0": "jar#0"}
APPLES = ("apple#0", "apple#1")


def test_all(check: Check) -> None:
    every = Subgoal(form="ALL", x="apple", y="jar#0", relation="inside")
    assert check(every, BOTH)
    assert not check(every, FIRST)
    assert not check(every, APART)
    assert not check(every)
    sliced = Subgoal(form="ALL", x="apple", y="jar#0", relation="inside", of_x=(("sliced", True),))
    assert check(sliced, BOTH, sliced=APPLES)
    assert not check(sliced, BOTH, sliced=["apple#0"])
    assert not check(sliced, FIRST, sliced=APPLES)
    shut = Subgoal(form="ALL", x="apple", y="jar#0", relation="inside", of_y=(("open", False),))
    assert check(shut, BOTH)
    assert not check(shut, BOTH, open=["jar#0"])
    # Of the place only something is required if there is something to lie there.
    of_nothing = Subgoal(form="ALL", x="melon", y="jar#0", relation="inside", of_y=(("open", True),))
    assert check(of_nothing)


def test_all_at_a_location(check: Check) -> None:
    on_table = Subgoal(form="ALL", x="apple", y="table", relation="ontop", of_y=(("dusty", False),))
    assert check(on_table)
    assert not check(on_table, dusty=["table"])
    # Inside the table is nowhere, and what lies in a jar at a location does not lie there directly.
    assert not check(Subgoal(form="ALL", x="apple", y="table", relation="inside"))
    assert not check(Subgoal(form="ALL", x="apple", y="cabinet", relation="inside"), BOTH)


def test_some(check: Check) -> None:
    subgoal = Subgoal(form="SOME", x="apple", y="jar#0", relation="inside")
    assert check(subgoal, FIRST)
    assert check(subgoal, BOTH)
    assert not check(subgoal)
    assert not check(subgoal, {"apple#0": "jar#1"})
    sliced = Subgoal(form="SOME", x="apple", y="jar#0", relation="inside", of_x=(("sliced", True),))
    assert check(sliced, FIRST, sliced=["apple#0"])
    # The sliced one must be the one that lies there.
    assert not check(sliced, FIRST, sliced=["apple#1"])
    assert not check(Subgoal(form="SOME", x="melon", y="jar#0", relation="inside"), BOTH)
    shut = Subgoal(form="SOME", x="apple", y="jar#0", relation="inside", of_y=(("open", False),))
    assert check(shut, FIRST)
    assert not check(shut, FIRST, open=["jar#0"])
    assert not check(Subgoal(form="SOME", x="apple", y="jar#0", relation="ontop"), FIRST)


def test_be(check: Check) -> None:
    clean = Subgoal(form="BE", x="floor", of_x=(("stained", False), ("dusty", False)))
    assert check(clean)
    assert not check(clean, dusty=["floor"])
    assert not check(clean, stained=["floor"])
    assert check(clean, stained=["table"])
    wet = Subgoal(form="BE", x="rag#0", of_x=(("soaked", True),))
    assert not check(wet)
    assert check(wet, soaked=["rag#0"])


def test_the(check: Check) -> None:
    named = Subgoal(form="THE", x="apple#1", y="chair#0", relation="ontop")
    assert check(named, {"apple#1": "chair#0"})
    assert not check(named, {"apple#0": "chair#0"})
    assert not check(Subgoal(form="THE", x="apple#1", y="chair#0", relation="inside"), {"apple#1": "chair#0"})
    states = Subgoal(
        form="THE", x="apple#1", y="chair#0", relation="ontop",
        of_x=(("cooked", True),), of_y=(("dusty", False),),
    )  # fmt: skip
    assert check(states, {"apple#1": "chair#0"}, cooked=["apple#1"])
    assert not check(states, {"apple#1": "chair#0"})
    assert not check(states, {"apple#1": "chair#0"}, cooked=["apple#1"], dusty=["chair#0"])
    assert not check(states, cooked=["apple#1"])


def test_be_all(check: Check) -> None:
    shut = Subgoal(form="BE-ALL", x="jar", of_x=(("open", False),))
    assert check(shut)
    assert not check(shut, open=["jar#1"])
    cooked = Subgoal(form="BE-ALL", x="apple", of_x=(("cooked", True), ("frozen", False)))
    assert check(cooked, cooked=APPLES)
    assert not check(cooked, cooked=["apple#0"])
    assert not check(cooked, cooked=APPLES, frozen=["apple#0"])
    assert check(Subgoal(form="BE-ALL", x="melon", of_x=(("cooked", True),)))


def test_all_same(check: Check) -> None:
    together = Subgoal(form="ALL-SAME", x="apple", y="jar", relation="inside")
    assert check(together, BOTH)
    assert not check(together, APART)
    assert not check(together, FIRST)
    assert not check(together, {"apple#0": "bowl#0", "apple#1": "bowl#0"})
    states = Subgoal(
        form="ALL-SAME", x="apple", y="jar", relation="inside",
        of_x=(("sliced", True),), of_y=(("open", False),),
    )  # fmt: skip
    assert check(states, BOTH, sliced=APPLES, open=["jar#1"])
    assert not check(states, BOTH, sliced=APPLES, open=["jar#0"])
    assert not check(states, BOTH, sliced=["apple#1"])
    # Of no melon at all, one jar is enough; without any box, nothing is.
    assert check(Subgoal(form="ALL-SAME", x="melon", y="jar", relation="inside", of_y=(("open", True),)))
    assert not check(Subgoal(form="ALL-SAME", x="melon", y="box", relation="inside"))
    assert not check(Subgoal(form="ALL-SAME", x="apple", y="jar", relation="ontop"), BOTH)


def test_all_any(check: Check) -> None:
    anywhere = Subgoal(form="ALL-ANY", x="apple", y="jar", relation="inside")
    assert check(anywhere, BOTH)
    assert check(anywhere, APART)
    assert not check(anywhere, FIRST)
    assert not check(anywhere, {"apple#0": "jar#0", "apple#1": "bowl#0"})
    states = Subgoal(
        form="ALL-ANY", x="apple", y="jar", relation="inside",
        of_x=(("sliced", True),), of_y=(("open", False),),
    )  # fmt: skip
    assert check(states, APART, sliced=APPLES)
    assert not check(states, APART, sliced=APPLES, open=["jar#1"])
    assert not check(states, APART, sliced=["apple#0"])
    assert check(Subgoal(form="ALL-ANY", x="melon", y="box", relation="inside"))
    assert not check(Subgoal(form="ALL-ANY", x="apple", y="jar", relation="ontop"), BOTH)


def test_the_any(check: Check) -> None:
    anywhere = Subgoal(form="THE-ANY", x="rag#0", y="jar", relation="inside")
    assert check(anywhere, {"rag#0": "jar#1"})
    assert not check(anywhere)
    assert not check(anywhere, BOTH)
    states = Subgoal(
        form="THE-ANY", x="rag#0", y="jar", relation="inside",
        of_x=(("soaked", True),), of_y=(("open", False),),
    )  # fmt: skip
    assert check(states, {"rag#0": "jar#1"}, soaked=["rag#0"], open=["jar#0"])
    assert not check(states, {"rag#0": "jar#1"}, soaked=["rag#0"], open=["jar#1"])
    assert not check(states, {"rag#0": "jar#1"})


def test_a_state_that_a_thing_cannot_have(check: Check) -> None:
    # Cutlery never is dusty: what must not hold is true of it, what must hold is false (template 49).
    assert check(Subgoal(form="BE", x="fork#0", of_x=(("dusty", False),)), {"fork#0": "table"})
    assert not check(Subgoal(form="BE", x="fork#0", of_x=(("dusty", True),)), {"fork#0": "table"})


def test_a_thing_that_is_held_has_no_place(household: MakeWorld) -> None:
    world, state = household({**HOME, **BOTH})
    held = state.with_place(world.entity("apple#1"), NOTHING)._replace(holding=world.entity("apple#1"))
    for form, x, y in (
        ("ALL", "apple", "jar#0"),
        ("ALL-SAME", "apple", "jar"),
        ("ALL-ANY", "apple", "jar"),
        ("THE", "apple#1", "jar#0"),
        ("THE-ANY", "apple#1", "jar"),
    ):
        subgoal = Subgoal(form=form, x=x, y=y, relation="inside")  # type: ignore[arg-type]
        assert holds(world, state, subgoal)
        assert not holds(world, held, subgoal)
    assert holds(world, held, Subgoal(form="SOME", x="apple", y="jar#0", relation="inside"))


def test_a_goal_is_all_of_its_subgoals(household: MakeWorld) -> None:
    world, state = household(HOME)
    true = Subgoal(form="BE", x="floor", of_x=(("dusty", False),))
    false = Subgoal(form="BE", x="floor", of_x=(("dusty", True),))
    assert goal_holds(world, state, Goal(()))
    assert goal_holds(world, state, Goal((true, true)))
    assert not goal_holds(world, state, Goal((true, false)))


def test_an_unknown_thing_says_so(household: MakeWorld) -> None:
    world, state = household(HOME)
    with pytest.raises(InputError, match="no 'jar#7' in this household"):
        holds(world, state, Subgoal(form="ALL", x="apple", y="jar#7", relation="inside"))


def test_a_subgoal_may_hold_that_no_action_can_reach(household: MakeWorld) -> None:
    world, state = household({**HOME, **BOTH})
    inner, outer = world.entity("jar#1"), world.entity("jar#0")
    nested = state.with_place(inner, outer)
    for relation, lies in (("inside", True), ("ontop", False)):
        subgoal = Subgoal(form="THE", x="jar#1", y="jar#0", relation=relation)  # type: ignore[arg-type]
        assert holds(world, nested, subgoal) is lies
        assert not holds(world, state, subgoal)
