"""Ground operators do what the actions do."""

from itertools import product
from random import Random

from simulator.handmethat.actions import Action, domain
from simulator.handmethat.goals.model import Goal, Subgoal, find_targets
from simulator.handmethat.hierarchy import STATES
from simulator.handmethat.planner.grounding import ground
from simulator.handmethat.world import NOTHING, bit_set, entities

BOUNDS = {
    "location": ("LOCATION",),
    "receptacle": ("RECEPTACLE",),
    "movable": ("RECEPTACLE", "FOOD", "TOOL", "THING"),
    "food": ("FOOD",),
    "tool": ("TOOL",),
    "receptacle-or-thing": ("RECEPTACLE", "THING"),
}


def bits_of(world, *names):
    return bit_set(world.index[name] for name in names)


def names(grounding, facts):
    """Facts in words: ``in apple#0 table``."""
    world = grounding.world
    return tuple(
        " ".join(term if isinstance(term, str) else world.name(term) for term in atom)
        for atom, bit in grounding.atoms.items()
        if bit & facts
    )


def worded(world, operator):
    action = operator.action
    return " ".join([action.name.removeprefix("human-"), *(world.name(entity) for entity in action.args)])


def applicable(world, state, relevant):
    """By the schemas alone: every action over relevant entities of the right class."""
    for schema in domain("human").values():
        choices = [[e for e in entities(relevant) if world.kinds[e].cls in BOUNDS[b]] for b in schema.bounds]
        for args in product(*choices):
            if schema.applicable(world, state, args) and schema.apply(state, args) != state:
                yield Action(schema.name, args)


def shuffled(world, state, relevant, random):
    """A state with everything relevant somewhere else, and as it may or may not be."""
    movable = list(entities(relevant & world.find_all("movable")))
    places = list(entities(relevant & world.find_all("receptacle")))
    for entity in movable:
        # Receptacles lie at locations.
        allowed = [
            where for where in places if not (world.kinds[entity].receptacle and world.kinds[where].movable)
        ]
        state = state.with_place(entity, random.choice(allowed))
    if random.random() < 0.5:
        held = random.choice(movable)
        state = state.with_place(held, NOTHING)._replace(holding=held)
    for name in STATES:
        able = bit_set(entity for entity in entities(relevant) if name in world.kinds[entity].states)
        bits = getattr(state, name) & ~relevant | random.getrandbits(len(world)) & able
        state = state._replace(**{name: bits})
    standing = [entity for entity in places if not world.kinds[entity].movable]
    return state._replace(at=random.choice(standing))


def test_the_operators_of_a_tiny_household(household):
    world, _ = household({"apple#0": "table", "banana#0": "bed"})
    grounding = ground(world, bits_of(world, "apple#0", "table", "cabinet"))
    assert [worded(world, operator) for operator in grounding.operators] == [
        "move table cabinet",
        "move cabinet table",
        "pick-up-at-location apple#0 table",
        "pick-up-at-location apple#0 cabinet",
        "put-inside-location apple#0 cabinet",
        "put-ontop-location apple#0 table",
        "open-location cabinet",
        "close-location cabinet",
    ]


def test_preconditions_and_effects_in_words(household):
    world, _ = household({"apple#0": "table"})
    grounding = ground(world, bits_of(world, "apple#0", "table", "cabinet"))
    by_name = {worded(world, operator): operator for operator in grounding.operators}
    pick = by_name["pick-up-at-location apple#0 cabinet"]
    # reach o c: on c, or in c and c is not shut; here only the second can be.
    assert set(names(grounding, pick.needs)) == {
        "at cabinet",
        "hand-empty",
        "in apple#0 cabinet",
        "open cabinet",
        "working",
    }
    assert names(grounding, pick.adds) == ("holding apple#0",)
    assert set(names(grounding, pick.deletes)) == {"in apple#0 cabinet", "in apple#0 table", "hand-empty"}
    close = by_name["close-location cabinet"]
    assert names(grounding, close.adds) == ("not open cabinet",)
    assert names(grounding, close.deletes) == ("open cabinet",)


def test_classes_restrict_more_than_the_logic(household):
    things = {"shirt#0": "sink", "rag#0": "sink", "apple#0": "stove", "hammer#0": "table", "knife#0": "table"}
    world, _ = household(things)
    everything = (1 << len(world)) - 1
    words = {worded(world, operator) for operator in ground(world, everything).operators}
    assert "soak-obj rag#0 sink" in words
    # Clothing soaks, but the human soaks tools alone.
    assert "soak-obj shirt#0 sink" not in words
    assert "clean-obj-at-location shirt#0 rag#0 bed" in words
    assert {word for word in words if word.startswith("slice")} == {
        f"slice-obj apple#0 knife#0 {kind.name}"
        for kind in world.kinds
        if kind.cls == "LOCATION"
        if kind.relation == "ontop"
    }
    assert "heat-obj apple#0 stove" in words
    assert not any(word.startswith("heat-obj") and word.endswith("table") for word in words)


def test_operators_do_what_the_actions_do(household):
    things = ["box#0", "tray#0", "knife#0", "rag#0", "scrub_brush#0", "printer#0", "apple#0", "shirt#0"]
    world, state = household(dict.fromkeys([*things, "hammer#0", "soup#0"], "floor"))
    locations = ["floor", "table", "sink", "stove", "microwave", "refrigerator"]
    relevant = bits_of(world, *things, *locations)
    grounding, random, seen = ground(world, relevant), Random(5), set()
    for _ in range(600):
        here = shuffled(world, state, relevant, random)
        facts = grounding.encode(here)
        operators = [operator for operator in grounding.operators if operator.needs & facts == operator.needs]
        # Some change nothing where they apply: wiping what is clean.
        changing = [operator for operator in operators if operator.apply(facts) != facts]
        assert {operator.action for operator in changing} == set(applicable(world, here, relevant))
        for operator in operators:
            after = domain("human")[operator.action.name].apply(here, operator.action.args)
            assert operator.apply(facts) == grounding.encode(after)
            seen.add(operator.action.name)
    assert seen == set(domain("human"))


def test_a_waiting_human_does_nothing(household):
    world, state = household({"apple#0": "table"})
    grounding = ground(world, bits_of(world, "apple#0", "table", "floor"))
    facts = grounding.encode(state._replace(waiting=True))
    assert not [operator for operator in grounding.operators if operator.needs & facts == operator.needs]


def test_only_relevant_entities_are_grounded(household):
    world, state = household({"apple#0": "table", "banana#0": "table"})
    goal = Goal((Subgoal(form="ALL", x="apple", y="bed", relation="ontop"),))
    targets = find_targets(world, state, goal, distractors=False)
    used = {
        entity for operator in ground(world, targets.grounded).operators for entity in operator.action.args
    }
    assert bit_set(used) == targets.grounded
    assert not targets.grounded & bits_of(world, "banana#0", "sofa")
