"""The FF estimate: by hand in small households, and against the layers drawn literally."""

from random import Random

import pytest

from simulator.handmethat.goals.model import Goal, Subgoal, find_targets, goal_holds
from simulator.handmethat.goals.templates import instantiate
from simulator.handmethat.planner.grounding import ground
from simulator.handmethat.planner.relaxed import NEVER, UNREACHABLE, FactGoal, RelaxedGraph, ground_goal
from simulator.handmethat.scene import SceneRules, sample_scene, sample_stock

RULES = SceneRules(counts="v1")


def goal(*subgoals):
    return Goal(tuple(Subgoal(**fields) for fields in subgoals))


def lying(form, x, y, relation, **requirements):
    return {"form": form, "x": x, "y": y, "relation": relation, **requirements}


def cost(world, state, aim, targets=None):
    grounding = ground(world, (targets or find_targets(world, state, aim, distractors=False)).grounded)
    graph, target = RelaxedGraph(grounding.operators), ground_goal(grounding, aim.subgoals)
    return graph.estimate(grounding.encode(state), target)


def plan(world, state, aim):
    grounding = ground(world, find_targets(world, state, aim, distractors=False).grounded)
    steps = RelaxedGraph(grounding.operators).plan(
        grounding.encode(state), ground_goal(grounding, aim.subgoals)
    )
    return [
        " ".join([step.action.name.removeprefix("human-"), *map(world.name, step.action.args)])
        for step in steps
    ]


def test_fetch(household):
    world, state = household({"apple#0": "table"})
    aim = goal(lying("ALL", "apple", "bed", "ontop"))
    assert plan(world, state, aim) == [
        "move floor bed",
        "move floor table",
        "pick-up-at-location apple#0 table",
        "put-ontop-location apple#0 bed",
    ]
    assert cost(world, state, aim) == 4
    # Two things share the ways, which are not undone: 2 moves, 2 picks, 2 puts.
    world, state = household({"apple#0": "table", "apple#1": "table"})
    assert cost(world, state, aim) == 6
    apple = world.index["apple#0"]
    held = state.with_place(apple, -1)._replace(holding=apple, at=world.index["table"])
    # The hand is free soonest where one stands, so that costs a put of its own: move, pick, three puts.
    assert cost(world, held, aim) == 5
    assert "put-ontop-location apple#0 table" in plan(world, held, aim)


def test_open_lid(household):
    world, state = household({"apple#0": "jar#0", "jar#0": "cabinet"})
    aim = goal(lying("ALL", "apple", "table", "ontop"))
    assert plan(world, state, aim) == [
        "move floor table",
        "move floor cabinet",
        "pick-up-from-receptacle-at-location apple#0 jar#0 cabinet",
        "put-ontop-location apple#0 table",
        "open-location cabinet",
        "open-receptacle-at-location jar#0 cabinet",
    ]
    open_jar = state._replace(open=1 << world.index["jar#0"])
    assert cost(world, open_jar, aim) == 5


def test_carry_and_shut(household):
    world, state = household({"book#0": "sofa", "box#0": "floor"})
    aim = goal(lying("ALL-SAME", "book", "box", "inside", of_y=(("open", False),)))
    # The box is shut now, and nothing is undone: it is opened, and counts as shut all the same.
    assert sorted(plan(world, state, aim)) == [
        "move floor sofa",
        "open-receptacle-at-location box#0 floor",
        "pick-up-at-location book#0 sofa",
        "put-inside-receptacle-at-location book#0 box#0 floor",
    ]
    open_box = state._replace(open=1 << world.index["box#0"])
    assert "close-receptacle-at-location box#0 floor" in plan(world, open_box, aim)


def test_slice(household):
    world, state = household({"apple#0": "table", "knife#0": "shelf"})
    aim = goal({"form": "BE-ALL", "x": "apple", "of_x": (("sliced", True),)})
    # A held thing need not be put down.
    assert plan(world, state, aim) == [
        "move floor table",
        "move floor shelf",
        "pick-up-at-location knife#0 shelf",
        "slice-obj apple#0 knife#0 table",
    ]
    inside = household({"apple#0": "sink", "knife#0": "shelf"})
    # An apple in the sink is laid on something first; on the floor one stands already.
    assert cost(*inside, aim) == 6


def test_heat_and_cool(household):
    world, state = household({"egg#0": "countertop"})
    hot = goal({"form": "BE-ALL", "x": "egg", "of_x": (("cooked", True),)})
    # The stove has no lid, so it is the first that works: two moves, pick, put, switch on, heat.
    assert cost(world, state, hot) == 6
    assert "heat-obj egg#0 stove" in plan(world, state, hot)
    cold = goal({"form": "BE-ALL", "x": "egg", "of_x": (("frozen", True),)})
    # The refrigerator is on: two moves, open, pick, put, cool.
    assert cost(world, state, cold) == 6
    frozen = state._replace(frozen=1 << world.index["egg#0"])
    # Heating thaws as well.
    thawed = goal({"form": "BE-ALL", "x": "egg", "of_x": (("cooked", True), ("frozen", False))})
    assert cost(world, frozen, thawed) == 6


def test_soak_and_clean(household):
    world, state = household({"rag#0": "cabinet"}, stained=["table"], dusty=["table"])
    aim = goal({"form": "BE", "x": "table", "of_x": (("stained", False), ("dusty", False))})
    assert plan(world, state, aim) == [
        "move floor table",
        "move floor cabinet",
        "move floor sink",
        "pick-up-at-location rag#0 cabinet",
        "put-inside-location rag#0 sink",
        "open-location cabinet",
        "toggle-on-location sink",
        "soak-obj rag#0 sink",
        "clean-location rag#0 table",
    ]
    # A brush need not be soaked: two moves, pick, clean.
    world, state = household({"scrub_brush#0": "pool"}, stained=["table"])
    assert cost(world, state, aim) == 4


def test_a_disjunction_counts_through_its_first_member_that_is_met(household):
    # Both apples can be on the bed in the same layer; the first one counts, though the second is cheaper
    # together with the pear goal.
    world, state = household({"apple#0": "table", "apple#1": "shelf", "banana#0": "shelf"})
    disjunction = lying("SOME", "apple", "bed", "ontop")
    assert "put-ontop-location apple#0 bed" in plan(world, state, goal(disjunction))
    assert cost(world, state, goal(disjunction)) == 4
    assert cost(world, state, goal(disjunction, lying("ALL", "banana", "bed", "ontop"))) == 7
    # Behind a lid the first comes a layer later, so the second counts.
    world, state = household({"apple#0": "cabinet", "apple#1": "shelf"})
    assert "put-ontop-location apple#1 bed" in plan(world, state, goal(disjunction))
    # Unless the goal takes another layer anyway: then the first one is met as well.
    late = (disjunction, lying("THE", "apple#0", "bed", "ontop"))
    assert cost(world, state, goal(*late)) == 5


@pytest.mark.each(
    ("places", "aim"),
    [
        ({"box#0": "bed", "jar#0": "table"}, lying("THE", "jar#0", "box#0", "inside")),
        ({"apple#0": "bed"}, lying("ALL", "apple", "table", "inside")),
        ({"water#0": "bed"}, {"form": "BE-ALL", "x": "water", "of_x": (("sliced", True),)}),
        ({"apple#0": "bed"}, {"form": "BE-ALL", "x": "apple", "of_x": (("sliced", True),)}),
        ({"apple#0": "bed"}, lying("ALL-ANY", "apple", "jar", "inside")),
        ({"shirt#0": "sink"}, {"form": "BE-ALL", "x": "shirt", "of_x": (("soaked", True),)}),
    ],
    ids=["box-in-box", "wrong-relation", "cannot", "no-tool", "no-place", "humans-soak-tools-alone"],
)
def test_unreachable(household, places, aim):
    world, state = household(places)
    assert cost(world, state, goal(aim)) == UNREACHABLE


def test_a_goal_that_holds_costs_nothing(household):
    world, state = household({"apple#0": "bed", "fork#0": "table"}, dusty=["fork#0"])
    assert cost(world, state, goal(lying("ALL", "apple", "bed", "ontop"))) == 0
    # There is no pen, so all of them lie well; and a fork never counts as dusty.
    assert cost(world, state, goal(lying("ALL-SAME", "pen", "bed", "ontop"))) == 0
    assert cost(world, state, goal({"form": "BE-ALL", "x": "fork", "of_x": (("dusty", False),)})) == 0


def test_a_waiting_human_gets_nowhere_alone(household):
    world, state = household({"apple#0": "table"})
    waiting = state._replace(waiting=True)
    assert cost(world, waiting, goal(lying("ALL", "apple", "bed", "ontop"))) == UNREACHABLE
    assert cost(world, waiting, goal(lying("ALL", "apple", "table", "ontop"))) == 0


def test_a_goal_outside_its_targets_is_an_error(household):
    world, state = household({"apple#0": "table", "pen#0": "bed"})
    targets = find_targets(world, state, goal(lying("ALL", "apple", "sofa", "ontop")), distractors=False)
    with pytest.raises(ValueError, match="pen#0"):
        cost(world, state, goal(lying("ALL", "pen", "sofa", "ontop")), targets)


def literal_estimate(operators, facts, aim):
    """Return the estimate of spec 5.2(4), implemented literally."""
    layers, levels, rest = [facts], [], list(operators)
    while not aim.holds(layers[-1]):
        level = [operator for operator in rest if operator.needs & layers[-1] == operator.needs]
        following = layers[-1]
        for operator in level:
            following |= operator.adds
        if following == layers[-1]:
            return UNREACHABLE
        layers.append(following)
        levels.append(level)
        rest = [operator for operator in rest if operator not in level]
    first = {}
    for number, layer in enumerate(layers):
        for i in range(layer.bit_length()):
            if layer >> i & 1:
                first.setdefault(1 << i, number)
    needed = [set() for _ in layers]

    def charge(condition):
        for fact, number in first.items():
            if fact & condition:
                needed[number].add(fact)

    charge(aim.first_met(layers[-1]))
    picked = 0
    for number in range(len(levels), 0, -1):
        open_ = set(needed[number])
        for operator in levels[number - 1]:
            if any(operator.adds & fact for fact in open_):
                open_ = {fact for fact in open_ if not operator.adds & fact}
                picked += 1
                charge(operator.needs)
    return picked


def sampled(template, seed):
    random = Random(seed)
    while True:
        stock = sample_stock(random, rules=RULES)
        if (aim := instantiate(template, stock, random)) is not None:
            return *sample_scene(random, RULES, stock), aim


@pytest.mark.each("template", [1, 4, 6, 16, 24, 37, 46, 51, 54, 61])
def test_the_shortcut_is_the_published_extraction(template):
    world, state, aim = sampled(template, template)
    grounding = ground(world, find_targets(world, state, aim, distractors=False).grounded)
    graph, aims = RelaxedGraph(grounding.operators), ground_goal(grounding, aim.subgoals)
    facts, random = grounding.encode(state), Random(template)
    for _ in range(8):
        assert graph.estimate(facts, aims) == literal_estimate(grounding.operators, facts, aims)
        for _ in range(5):
            able = [operator for operator in grounding.operators if operator.needs & facts == operator.needs]
            facts = random.choice(able).apply(facts)


@pytest.mark.each("template", range(0, 69, 6))
def test_a_goal_as_facts_holds_where_the_goal_holds(template):
    world, state, aim = sampled(template, template)
    grounding = ground(world, find_targets(world, state, aim, distractors=False).grounded)
    for subgoal in aim.subgoals:
        holds = ground_goal(grounding, [subgoal]).holds(grounding.encode(state))
        assert holds == goal_holds(world, state, Goal((subgoal,)))


def test_ground_goal():
    choice = FactGoal(1, ((FactGoal(2), FactGoal(4)),))
    assert [choice.holds(facts) for facts in (1, 3, 5, 6)] == [False, True, True, False]
    assert [choice.first_met(facts) for facts in (3, 5, 7)] == [3, 5, 3]
    assert choice.mentioned() == 7
    assert not NEVER.holds(-1)
