"""The 69 templates, the notation they are written in, and how often their slots can be filled."""

from __future__ import annotations

from collections import Counter
from random import Random

import pytest

from simulator.errors import InputError
from simulator.handmethat.goals.model import X_IS_TYPE, Y_IS_TYPE, Goal, Subgoal
from simulator.handmethat.goals.templates import instantiate, read_patterns, template, template_set, templates
from simulator.handmethat.hierarchy import hierarchy
from simulator.handmethat.scene import SceneRules, Stock, sample_stock

# Share of v2's scenes in which a template's slots can be filled (spec 4.3); 1 for all that are not here.
FILLED = {
    0: 0.72, 1: 0.41, 5: 0.80, 37: 0.65, 38: 0.58, 39: 0.66, 40: 0.57, 41: 0.86, 42: 0.75, 44: 0.39, 50: 0.39,
    52: 0.66, 57: 0.66, 59: 0.43, 61: 0.27, 62: 0.86, 63: 0.82, 64: 0.87, 68: 0.75,
}  # fmt: skip
SUBGOALS = (
    8, 2, 1, 1, 1, 4, 5, 4, 3, 1, 5, 1, 3, 1, 3, 2, 2, 3, 1, 3, 3, 7, 4, 7, 3, 3, 1, 6, 10, 1, 3, 1, 3, 1, 1,
    4, 2, 4, 4, 5, 4, 5, 4, 10, 8, 3, 2, 2, 2, 2, 8, 2, 3, 3, 1, 1, 2, 4, 1, 11, 4, 3, 2, 4, 4, 3, 1, 3, 3,
)  # fmt: skip
FORMS = {
    "ALL": 106, "SOME": 71, "BE": 20, "THE": 11, "BE-ALL": 10, "ALL-SAME": 9, "ALL-ANY": 4, "THE-ANY": 1,
}  # fmt: skip
V2 = (2, 3, 24, 25, 26, 30, 31, 32, 33, 35, 36, 46, 52, 53, 54, 55, 56, 57, 58, 60, 62, 63, 64, 65, 66)
SCENES = 3000


def test_there_are_69_templates_of_232_subgoals() -> None:
    assert tuple(len(template.patterns) for template in templates()) == SUBGOALS
    assert (len(templates()), sum(SUBGOALS)) == (69, 232)
    assert Counter(pattern.form for template in templates() for pattern in template.patterns) == FORMS
    assert len({template.activity for template in templates()}) == 69


def test_the_named_sets() -> None:
    assert template_set("all") == tuple(range(69))
    assert template_set("v2") == V2
    with pytest.raises(InputError, match="no goal 69; goals are numbered 0 to 68"):
        template(69)
    with pytest.raises(InputError, match="no goal -1"):
        template(-1)


def test_slots_can_be_filled_as_often_as_published() -> None:
    random, rules = Random(43), SceneRules()
    filled = [0] * 69
    for _ in range(SCENES):
        stock = sample_stock(random, rules)
        for number in range(69):
            filled[number] += instantiate(number, stock, random) is not None
    shares = [count / SCENES for count in filled]
    wrong = {i: share for i, share in enumerate(shares) if abs(share - FILLED.get(i, 1)) > 0.03}
    assert wrong == {}
    assert all(shares[i] == 1 for i in range(69) if i not in FILLED)


def goals(number: int, count: int = 60) -> list[tuple[Stock, Goal]]:
    """Goals of one template, each in another household."""
    random, drawn = Random(number), []
    while len(drawn) < count:
        stock = sample_stock(random, SceneRules())
        if (goal := instantiate(number, stock, random)) is not None:
            drawn.append((stock, goal))
    return drawn


@pytest.mark.each("number", range(69))
def test_a_goal_names_what_is_in_the_household(number: int) -> None:
    kinds = hierarchy().kinds
    for stock, goal in goals(number, 10):
        assert goal.template == number
        for subgoal, pattern in zip(goal.subgoals, template(number).patterns, strict=True):
            assert subgoal.form == pattern.form
            for term, is_type in ((subgoal.x, X_IS_TYPE), (subgoal.y, Y_IS_TYPE)):
                if term is None or term in hierarchy().locations:
                    continue
                kind, _, instance = term.partition("#")
                assert bool(instance) == (subgoal.form not in is_type)
                assert stock.count(kind) > int(instance or 0)
            if subgoal.y:
                assert kinds[subgoal.y.partition("#")[0]].relation == subgoal.relation


def test_tagged_types_differ_and_untagged_ones_need_not() -> None:
    for _, goal in goals(43):
        first, second = goal.subgoals[:5], goal.subgoals[5:]
        # ?snack.a and ?baked_food.a, ?drink and ?fruit are drawn once; the second box has ?snack besides.
        assert [subgoal.x for subgoal in first[:2]] == [subgoal.x for subgoal in second[:2]]
        assert [subgoal.x for subgoal in first[3:]] == [subgoal.x for subgoal in second[3:]]
        assert first[0].y == first[4].y != second[0].y == second[4].y
    again = [goal.subgoals[7].x == goal.subgoals[0].x for _, goal in goals(43)]
    assert any(again)
    assert not all(again)
    for _, goal in goals(44):
        assert len({subgoal.x for subgoal in goal.subgoals}) == 8
        assert len({subgoal.y for subgoal in goal.subgoals}) == 3


def test_chopping_puts_four_types_into_one_container() -> None:
    for _, goal in goals(5):
        assert len({subgoal.x for subgoal in goal.subgoals}) == 4
        assert len({subgoal.y for subgoal in goal.subgoals}) == 1


def test_things_of_a_drawn_type_are_of_one_type_and_differ() -> None:
    for _, goal in goals(61):
        lights, seats = (
            [subgoal.x for subgoal in goal.subgoals],
            [subgoal.y or "" for subgoal in goal.subgoals],
        )
        for names in (lights, seats):
            assert len(set(names)) == 3
            assert len({name.split("#")[0] for name in names}) == 1


def test_draws_are_uniform() -> None:
    stock = Stock((("plaything", (("cube", 2), ("ball", 3))), ("box", (("box", 3),))))
    random, count = Random(1), 3000
    drawn = Counter(goal.subgoals[0].x for _ in range(count) if (goal := instantiate(54, stock, random)))
    # 54 is ALL-SAME ?plaything in box; four standard deviations of a fair coin.
    assert abs(drawn["cube"] - count / 2) < 4 * (count / 4) ** 0.5
    assert set(drawn) == {"cube", "ball"}


def test_a_slot_without_a_candidate_makes_no_goal() -> None:
    box = ("box", (("box", 3),))
    assert instantiate(54, Stock((("plaything", (("ball", 1),)), box)), Random(0)) is not None
    assert instantiate(54, Stock((box,)), Random(0)) is None
    assert instantiate(54, Stock((("plaything", (("ball", 1),)),)), Random(0)) is None
    # 35 wants three boxes, 62 two types.
    rest = (("plaything", (("ball", 1),)), ("cutlery", (("fork", 2),)), ("cleansing", (("soap", 2),)))
    assert instantiate(35, Stock((*rest, box)), Random(0)) is not None
    assert instantiate(35, Stock((*rest, ("box", (("box", 2),)))), Random(0)) is None
    assert instantiate(62, Stock((("paper_product", (("book", 3),)),)), Random(0)) is None


def test_the_same_seed_gives_the_same_goal() -> None:
    stock = sample_stock(Random(3), SceneRules())
    assert instantiate(28, stock, Random(4)) == instantiate(28, stock, Random(4))
    assert len({instantiate(28, stock, Random(seed)) for seed in range(5)}) > 1


def test_the_notation() -> None:
    assert read_patterns("ALL tray{not dusty} in @refrigerator{not stained, open}") == (
        Subgoal(
            form="ALL",
            x="tray",
            y="@refrigerator",
            relation="inside",
            of_x=(("dusty", False),),
            of_y=(("stained", False), ("open", True)),
        ),
    )
    assert read_patterns("THE [<snack>#a{cooked}, apple#b]{frozen} on <furniture>#a") == tuple(
        Subgoal(form="THE", x=x, y="<furniture>#a", relation="ontop", of_x=of_x)
        for x, of_x in (
            ("<snack>#a", (("cooked", True), ("frozen", True))),
            ("apple#b", (("frozen", True),)),
        )
    )


@pytest.mark.each(
    ("text", "message"),
    [
        ("EVERY apple in @sink", "it is not of the form FORM x in y; the forms are ALL, SOME"),
        ("ALL apple", "ALL needs a place"),
        ("", "it is not of the form FORM"),
        ("ALL aple in @sink", "'aple' is not in"),
        ("ALL ?frut in @sink", r"'\?frut' is not in"),
        ("ALL apple in @apple", "'@apple' is not in"),
        ("ALL sink in @sink", "'sink' is not in"),
        ("ALL apple at @sink", "it is not of the form FORM"),
        ("ALL apple on @sink", "things cannot lie ontop 'sink'"),
        ("ALL apple on chair", "'chair' must be a location or a thing"),
        ("ALL-SAME apple on chair#a", "'chair#a' must be a type"),
        ("ALL apple#a in @sink", "'apple#a' must be a type"),
        ("THE apple in @sink", "'apple' must be a location or a thing"),
        ("BE @floor", "BE needs states in braces"),
        ("BE @floor{wet}", "'wet' is not a state"),
        ("BE @floor{not dusty stained}", "'dusty stained' is not a state"),
        ("BE [@floor @sink]{dusty}", "'@floor @sink' is not a slot with states"),
        ("BE @floor{dusty} in @sink", "BE takes no place"),
        ("ALL app-le in @sink", "'app-le' is not a slot"),
    ],
)
def test_a_mistake_in_the_notation_is_named(text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read_patterns(text)
