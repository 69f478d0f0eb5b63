"""Plans by search: they replay, and are as short as those of breadth-first search."""

from itertools import product
from random import Random

import pytest

from simulator.handmethat.actions import Action, carry_out, domain
from simulator.handmethat.goals.model import Goal, Subgoal, find_targets, goal_holds
from simulator.handmethat.goals.templates import instantiate
from simulator.handmethat.planner.exact import ExactSearch, SearchLimitError, Symmetry, needed_operators
from simulator.handmethat.planner.exact_bound import LowerBound
from simulator.handmethat.planner.grounding import ground
from simulator.handmethat.planner.relaxed import UNREACHABLE, ground_goal
from simulator.handmethat.scene import SceneRules, sample_scene, sample_stock
from simulator.handmethat.world import bit_set, entities

RULES = SceneRules(counts="v1")


def goal(*subgoals):
    return Goal(tuple(Subgoal(**fields) for fields in subgoals))


def lying(form, x, y, relation, **requirements):
    return {"form": form, "x": x, "y": y, "relation": relation, **requirements}


def being(form, x, **states):
    return {"form": form, "x": x, "of_x": tuple(states.items())}


def replay(world, state, plan):
    state, fault = carry_out(world, state, plan)
    assert fault is None
    return state


def sampled(template, seed):
    random = Random(seed)
    while True:
        stock = sample_stock(random, RULES)
        if (aim := instantiate(template, stock, random)) is not None:
            return (*sample_scene(random, RULES, stock), aim)


def applicable(world, state, relevant):
    """By the schemas alone, without ground operators."""
    movable = {"RECEPTACLE", "FOOD", "TOOL", "THING"}
    for schema in domain("human").values():
        choices = []
        for name, bound in zip(schema.params, schema.bounds, strict=True):
            classes = movable if bound == "movable" else set(bound.upper().split("-OR-"))
            candidates = [state.at] if name in ("from", "l") else entities(relevant)
            choices.append([entity for entity in candidates if world.kinds[entity].cls in classes])
        for args in product(*choices):
            if schema.applicable(world, state, args):
                yield Action(schema.name, args)


def distance(world, state, aim, relevant):
    """Length of a shortest plan, by breadth-first search over states; None if there is none."""
    seen, layer, length = {state}, [state], 0
    while layer:
        if any(goal_holds(world, node, aim) for node in layer):
            return length
        following = []
        for node in layer:
            for action in applicable(world, node, relevant):
                after = domain("human")[action.name].apply(node, action.args)
                if after not in seen:
                    seen.add(after)
                    following.append(after)
        layer, length = following, length + 1
    return None


TINY = {
    "carry two": ({"apple#0": "table", "apple#1": "bed"}, {}, [lying("ALL", "apple", "shelf", "ontop")]),
    "by lid": ({"apple#0": "jar#0", "jar#0": "table"}, {}, [lying("ALL", "apple", "bed", "ontop")]),
    # The box is the better way for what lies in it, and for what must come into it.
    "out of a box": (
        {"pen#0": "box#0", "pen#1": "box#0", "box#0": "bed"},
        {"open": ["box#0"]},
        [lying("ALL", "pen", "shelf", "ontop")],
    ),
    "into a box": (
        {"pen#0": "table", "pen#1": "table", "box#0": "bed"},
        {"open": ["box#0"]},
        [lying("ALL", "pen", "box#0", "inside")],
    ),
    "box and contents": (
        {"pen#0": "table", "box#0": "bed"},
        {},
        [lying("ALL", "pen", "box#0", "inside"), lying("ALL", "box", "table", "ontop")],
    ),
    "shut at last": (
        {"pen#0": "table", "box#0": "bed"},
        {},
        [lying("ALL-SAME", "pen", "box", "inside", of_y=(("open", False),))],
    ),
    "either": ({"apple#0": "cabinet", "apple#1": "table"}, {}, [lying("SOME", "apple", "bed", "ontop")]),
    "any box": (
        {"pen#0": "table", "pen#1": "bed", "basket#0": "table", "basket#1": "bed"},
        {},
        [lying("ALL-ANY", "pen", "basket", "inside")],
    ),
    "slice": ({"apple#0": "table", "knife#0": "bed"}, {}, [being("BE-ALL", "apple", sliced=True)]),
    "heat": ({"egg#0": "stove"}, {}, [being("BE-ALL", "egg", cooked=True)]),
    "cool": (
        {"egg#0": "refrigerator"},
        {"cooked": ["egg#0"], "toggled": []},
        [lying("ALL", "egg", "table", "ontop", of_x=(("frozen", True),))],
    ),
    "soak and clean": ({"rag#0": "sink"}, {"stained": ["table"]}, [being("BE", "table", stained=False)]),
    "which tool": (
        {"rag#0": "sink", "scrub_brush#0": "bed"},
        {"dusty": ["table", "bed"]},
        [being("BE", "table", dusty=False), being("BE", "bed", dusty=False)],
    ),
    "switch": ({"printer#0": "table"}, {}, [being("BE-ALL", "printer", toggled=True)]),
}


@pytest.mark.each("name", TINY)
def test_shortest_plans_are_shortest(household, name):
    places, states, subgoals = TINY[name]
    world, state = household(places, **states)
    aim = goal(*subgoals)
    targets = find_targets(world, state, aim, distractors=False)
    plan = ExactSearch(world, aim, targets).plan(state)
    assert goal_holds(world, replay(world, state, plan), aim)
    assert len(plan) == distance(world, state, aim, targets.grounded)
    assert ExactSearch(world, aim, targets).cost(state) == len(plan)


@pytest.mark.each("template", [3, 7, 9, 12, 15, 16, 25, 26, 32, 36, 49, 56, 60, 62, 64, 66])
def test_shortest_plans_of_whole_goals(template):
    world, state, aim = sampled(template, template)
    targets = find_targets(world, state, aim, distractors=False)
    plan = ExactSearch(world, aim, targets).plan(state)
    assert goal_holds(world, replay(world, state, plan), aim)


@pytest.mark.each(
    ("places", "subgoals"),
    [
        (
            {"apple#0": "floor"},
            [lying("THE", "apple#0", "table", "ontop"), lying("THE", "apple#0", "bed", "ontop")],
        ),
        (
            {"apple#0": "floor"},
            [lying("SOME", "apple", "table", "ontop"), lying("ALL", "apple", "bed", "ontop")],
        ),
        ({"jar#0": "table", "box#0": "bed"}, [lying("THE", "jar#0", "box#0", "inside")]),
        ({"apple#0": "floor"}, [being("BE-ALL", "apple", sliced=True)]),
        (
            {"printer#0": "table"},
            [being("BE", "printer#0", toggled=True), being("BE", "printer#0", toggled=False)],
        ),
    ],
    ids=["two places", "two places by type", "box in box", "no tool", "on and off"],
)
def test_unsolvable(household, places, subgoals):
    world, state = household(places)
    aim = goal(*subgoals)
    targets = find_targets(world, state, aim, distractors=False)
    assert ExactSearch(world, aim, targets).plan(state) is None
    assert ExactSearch(world, aim, targets).cost(state) == UNREACHABLE


def test_two_places_need_no_search(household):
    world, state = household({f"apple#{i}": "floor" for i in range(3)})
    aim = goal(lying("THE", "apple#0", "table", "ontop"), lying("ALL", "apple", "bed", "ontop"))
    targets = find_targets(world, state, aim, distractors=False)
    assert ExactSearch(world, aim, targets, limit=0).plan(state) is None


def test_a_goal_that_holds_has_an_empty_plan(household):
    world, state = household({"apple#0": "bed"})
    aim = goal(lying("ALL", "apple", "bed", "ontop"))
    targets = find_targets(world, state, aim, distractors=False)
    assert ExactSearch(world, aim, targets, limit=0).plan(state) == ()
    assert ExactSearch(world, aim, targets).cost(state._replace(waiting=True)) == 0


def test_a_waiting_human_has_no_plan(household):
    world, state = household({"apple#0": "table"})
    aim = goal(lying("ALL", "apple", "bed", "ontop"))
    targets = find_targets(world, state, aim, distractors=False)
    waiting = state._replace(waiting=True)
    assert ExactSearch(world, aim, targets).plan(waiting) is None


def test_the_limit_is_an_error_with_a_way_out(household):
    world, state = household({"apple#0": "table", "apple#1": "sofa"})
    aim = goal(lying("ALL", "apple", "bed", "ontop"))
    targets = find_targets(world, state, aim, distractors=False)
    with pytest.raises(SearchLimitError, match=r"first 2 states; raise the limit"):
        ExactSearch(world, aim, targets, limit=2).cost(state)


def test_one_search_serves_many_states(household):
    world, state = household({"apple#0": "table", "apple#1": "table", "pen#0": "sofa"})
    aim = goal(lying("ALL", "apple", "bed", "ontop"))
    search = ExactSearch(world, aim, find_targets(world, state, aim, distractors=False))
    assert search.cost(state) == 8
    apple, bed, pen = (world.index[name] for name in ("apple#0", "bed", "pen#0"))
    assert search.cost(state.with_place(apple, bed)) == 4
    assert search.cost(state.with_place(apple, -1)._replace(holding=apple)) == 6
    # A thing outside the targets cannot be put down, so with it in the hand nothing can be fetched.
    assert search.cost(state.with_place(pen, -1)._replace(holding=pen)) == UNREACHABLE


def test_like_things_may_be_exchanged(household):
    places = {"pen#0": "table", "pen#1": "bed", "pen#2": "sofa", "book#0": "table", "book#1": "bed"}
    world, state = household(places)
    aim = goal(lying("ALL", "pen", "shelf", "ontop"), lying("THE", "book#0", "shelf", "ontop"))
    targets = find_targets(world, state, aim, distractors=True)
    grounding = ground(world, targets.grounded | bit_set([world.index["book#1"]]))
    symmetry = Symmetry(grounding, ground_goal(grounding, aim.subgoals))

    def exchanged(first, second):
        i, j = world.index[first], world.index[second]
        return state.with_place(i, state.place[j]).with_place(j, state.place[i])

    same = symmetry.canonical(grounding.encode(state))
    assert symmetry.canonical(grounding.encode(exchanged("pen#0", "pen#2"))) == same
    # One book is wanted by name, the other is not.
    assert symmetry.canonical(grounding.encode(exchanged("book#0", "book#1"))) != same
    assert symmetry.canonical(grounding.encode(exchanged("pen#0", "book#1"))) != same


def test_pruning_keeps_useful_operators(household):
    world, state = household({"apple#0": "table", "banana#0": "table", "knife#0": "table"})
    aim = goal(being("BE", "apple#0", sliced=True))
    targets = find_targets(world, state, aim, distractors=False)
    everything = targets.grounded | bit_set([world.index["banana#0"]])
    grounding = ground(world, everything)
    start, aims = grounding.encode(state), ground_goal(grounding, aim.subgoals)

    def fetched(operators):
        return {
            world.name(operator.action.args[0]) for operator in operators if "pick-up" in operator.action.name
        }

    # A banana is of no use, though laying it down frees the hand.
    assert fetched(needed_operators(grounding, start, aims)) == {"apple#0", "knife#0"}


@pytest.mark.each("seed", range(14))
def test_the_bound_is_never_too_high(household, seed):
    random = Random(seed)
    places = ["floor", "table", "box#0", "basket#0"]
    where = {thing: random.choice(places) for thing in ("pen#0", "pen#1", "apple#0")}
    where |= {"box#0": random.choice(places[:2]), "basket#0": random.choice(places[:2])}
    world, state = household(where, open=random.sample(["box#0"], random.randrange(2)))
    choices = [
        lying("ALL", "pen", "table", "ontop"),
        lying("ALL", "pen", "box#0", "inside"),
        lying("SOME", "pen", "basket#0", "inside"),
        lying("SOME", "pen", "box#0", "inside"),
        lying("ALL-SAME", "pen", "basket", "inside"),
        lying("ALL-ANY", "apple", "box", "inside", of_y=(("open", False),)),
        lying("ALL", "apple", "table", "ontop"),
        lying("THE", "box#0", "floor", "ontop"),
        lying("ALL", "basket", "table", "ontop"),
    ]
    aim = goal(*random.sample(choices, 2))
    targets = find_targets(world, state, aim, distractors=False)
    grounding = ground(world, targets.grounded)
    aims = ground_goal(grounding, aim.subgoals)
    plan = ExactSearch(world, aim, targets).plan(state)
    if plan is None:
        assert distance(world, state, aim, targets.grounded) is None
        return
    assert len(plan) == distance(world, state, aim, targets.grounded)
    start = grounding.encode(state)
    # Every suffix of a shortest plan is shortest, too.
    for done in range(len(plan) + 1):
        here = grounding.encode(replay(world, state, plan[:done]))
        operators = needed_operators(grounding, here, aims)
        assert LowerBound(grounding, operators, aims).value(here) <= len(plan) - done
        assert LowerBound(grounding, grounding.operators, aims).value(here) <= len(plan) - done
    assert LowerBound(grounding, grounding.operators, aims).value(start) > 0 or not plan
