"""The kitchen robot's decision on a step: act or ask, and why."""

from __future__ import annotations

from dataclasses import replace

import pytest
from shared_data import shared_path

from simulator.ambik.data import load_pairs
from simulator.ambik.items import Pair, PairItem, Scenario, ScenarioItem
from simulator.ambik.kitchen.knowledge import affirmed_part
from simulator.ambik.kitchen.openings import Case
from simulator.ambik.kitchen.reasoning import judge, kitchen_case, kitchen_options
from simulator.ambik.players import ROBOTS, OfflineRobot
from simulator.ambik.playing import RobotKnows, blind_item
from simulator.ambik.selection import pair_items
from simulator.ambik.terms import APPLIANCES
from simulator.seats import View

HOME = (
    "china bowl",
    "plastic bowl",
    "oak spoon",
    "plum jam",
    "fig jam",
    "butter knife",
    "paring knife",
    "shears",
)


def _case(step, *, objects=HOME, task="", previous=(), exchanges=()):
    return Case(tuple(objects), APPLIANCES, task, tuple(previous), step, tuple(exchanges))


def test_a_step_that_names_its_things_is_done():
    judgement = judge(_case("Put the plum jam into the china bowl."))
    assert judgement.question is None
    assert judgement.marked == (judgement.action,) == ("Put the plum jam into the china bowl.",)


def test_a_kind_of_food_of_which_there_are_two_is_asked_for_with_both_marked():
    judgement = judge(_case("Put the jam into the china bowl."))
    assert judgement.question is not None
    assert judgement.marked == (
        "Put the plum jam into the china bowl.",
        "Put the fig jam into the china bowl.",
    )
    assert "plum jam or the fig jam" in judgement.question.en
    assert "plum jam 还是 fig jam" in judgement.question.zh
    assert judgement.action == judgement.marked[0]


def test_more_things_than_may_be_marked_are_cut():
    jars = [f"{name} jam" for name in ("fig", "plum", "rose", "pear", "lime", "kiwi")]
    assert len(judge(_case("Open the jam.", objects=jars)).marked) == 4
    assert len(judge(_case("Open the jam.", objects=jars), most=9).marked) == 6


def test_what_an_earlier_step_named_settles_a_word():
    judgement = judge(_case("Stir the jam.", previous=("Open the fig jam.",)))
    assert judgement.marked == ("Stir the fig jam.",)


def test_what_the_task_names_settles_a_word_and_without_the_task_it_is_open():
    task = "Please bring me the fig jam and stir it."
    assert judge(_case("Stir the jam.", task=task)).action == "Stir the fig jam."
    assert judge(_case("Stir the jam.")).question is not None


def test_common_sense_picks_the_tool():
    judgement = judge(_case("Spread the fig jam with a knife."))
    assert judgement.action == "Spread the fig jam with a butter knife."
    assert any("Common sense" in note.en for note in judgement.notes)
    assert judge(_case("Cut the pear with a knife.", objects=(*HOME, "pear"))).action.endswith(
        "paring knife."
    )


def test_safety_settles_what_common_sense_leaves_open():
    objects = ("metal bowl", "china bowl", "plastic bowl", "glass bowl", "leek soup")
    judgement = judge(
        _case("Put the leek soup into a bowl.", objects=objects, task="Warm the soup in the microwave.")
    )
    assert judgement.action == "Put the leek soup into a glass bowl."
    assert any("Safety" in note.en for note in judgement.notes)


def test_a_suitable_tool_is_one_that_serves_the_purpose():
    judgement = judge(_case("Open the package of rice with a suitable tool."))
    assert judgement.action == "Open the package of rice with a shears."


def test_a_missing_tool_is_added_and_one_that_is_named_is_not():
    assert judge(_case("Cut open the bag of flour.")).action == "Cut open the bag of flour with the shears."
    step = "Cut open the bag of flour with the paring knife."
    assert judge(_case(step)).action == step


def test_perishable_food_is_fetched_from_the_fridge():
    assert (
        judge(_case("Take two eggs.", objects=("eggs", "flour"))).action == "Take two eggs from the fridge."
    )
    assert judge(_case("Take the flour.", objects=("eggs", "flour"))).action == "Take the flour."


def test_produce_is_washed_and_raw_meat_cooked_where_a_step_only_says_prepare():
    assert "Wash" in judge(_case("Prepare the leek.", objects=("leek",))).action
    assert "ook" in judge(_case("Prepare the ham.", objects=("ham",))).action


def test_the_robot_asks_how_long_unless_the_text_says_so():
    judgement = judge(_case("Boil the eggs.", objects=("eggs",)))
    assert judgement.question is not None
    assert "how long" in judgement.question.en
    assert judge(_case("Boil the eggs.", objects=("eggs",), task="Boil them for 6 minutes.")).question is None


def test_an_answer_is_put_into_the_step():
    asked = judge(_case("Open the jam."))
    again = judge(_case("Open the jam.", exchanges=((asked.question.en, "The fig one, please."),)))
    assert again.question is None
    assert again.action == "Open the fig jam."
    several = judge(_case("Open the jam.", exchanges=(("Which?", "Both the fig jam and the plum jam."),)))
    assert "fig jam" in several.action
    assert "plum jam" in several.action


@pytest.mark.each(
    ("step", "task", "action"),
    [
        (
            "Wipe the china bowl.",
            "Wipe the china bowl with the oak spoon.",
            "Wipe the china bowl with the oak spoon.",
        ),
        (
            "Stir the fig jam.",
            "Use the oak spoon to stir the fig jam.",
            "Stir the fig jam with the oak spoon.",
        ),
        ("Shake the fig jam.", "Shake the fig jam for two minutes.", "Shake the fig jam for two minutes."),
        ("Wipe the china bowl.", "Stir it with the oak spoon.", "Wipe the china bowl."),
        (
            "Wipe the bowls.",
            "Wipe the china bowl and the plastic bowl.",
            "Wipe the china bowl and the plastic bowl.",
        ),
    ],
)
def test_what_the_task_says_and_the_step_does_not_belongs_to_the_action(step, task, action):
    assert judge(_case(step, task=task)).action == action


@pytest.mark.each(
    ("step", "answer", "action"),
    [
        ("Shut the lid.", "Twice, and slowly.", "Shut the lid."),
        ("Shut the lid.", "You should wash it.", "Wash it, then shut the lid."),
        ("Shut the lid.", "No, rinse it first.", "Rinse it first, then shut the lid."),
        ("Stir the soup.", "With the oak spoon.", "Stir the soup with the oak spoon."),
        ("Pour out the soup.", "Into the china bowl.", "Pour out the soup in the china bowl."),
        (
            "Cut the cake.",
            "Into twelve pieces, please.",
            "Cut the cake with the butter knife, into twelve pieces.",
        ),
    ],
)
def test_what_an_answer_tells_and_no_noun_takes_up_is_done_and_nothing_is_pasted(step, answer, action):
    assert judge(_case(step, exchanges=(("How?", answer),))).action == action


@pytest.mark.each(
    ("answer", "left"),
    [
        ("No, that is not safe. You should use the oven.", "You should use the oven."),
        ("No, lids are for later.", ""),
        ("Use the oven. Never the stove.", "Use the oven."),
        ("The blue one.", "The blue one."),
        ("Yellow, not the green one.", "Yellow,"),
    ],
)
def test_what_an_answer_denies_is_left_out(answer, left):
    assert affirmed_part(answer) == left


@pytest.mark.each(
    ("pair", "answer", "meant"),
    [
        ("k001", "not the glass one, and not ceramic", "wooden"),
        ("k043", "yellow, not the green one", "yellow"),
        ("k023", "stripey one", "striped"),
        ("k030", "不要萨拉米，要蘑菇的", "mushroom"),
    ],
)
def test_what_an_answer_rules_out_is_not_taken(pair, answer, meant):
    item = PairItem(pair=next(each for each in load_pairs("builtin") if each.id == pair), member="ambiguous")
    case = replace(kitchen_case(item), exchanges=(("Which one?", answer),))
    assert meant in judge(case).action


@pytest.fixture(scope="module")
def items():
    return tuple(pair_items(load_pairs("builtin", "all")))


async def _reply(name, item, *, may_ask=True, must_act=False, **options):
    knows = RobotKnows(item=item, may_ask=may_ask, must_act=must_act)
    view = View(
        episode_id="e", seat="robot", number=0, language="en", lines=(), task=knows, seed=1, options=options
    )
    return await OfflineRobot(name).reply(view)


@pytest.mark.parametrize("name", sorted(ROBOTS))
async def test_robots_say_the_same_whether_the_answer_is_hidden_or_not(name, items):
    for item in items[:40]:
        assert await _reply(name, item) == await _reply(name, blind_item(item))


async def test_the_baselines_keep_to_their_answer(items):
    for item in items[:30]:
        always = (await _reply("offline/always-asks", blind_item(item))).move
        assert always["ask"]
        assert len(always["marked"]) > 1
        assert "ask" not in (await _reply("offline/always-asks", blind_item(item), must_act=True)).move
        never = (await _reply("offline/never-asks", blind_item(item))).move
        assert never["marked"] == [never["act"]]
        kitchen = (await _reply("offline/kitchen", blind_item(item))).move
        assert kitchen["act"] == never["act"]
        assert len(kitchen["marked"]) > 1 or "ask" not in kitchen


async def test_questions_are_in_the_language_of_the_page(items):
    asking = next(item for item in items if judge(kitchen_case(blind_item(item))).question)
    english = await _reply("offline/kitchen", blind_item(asking))
    chinese = await _reply("offline/kitchen", blind_item(asking), language="zh")
    assert english.move["marked"] == chinese.move["marked"]
    assert english.text.isascii()
    assert "？" in chinese.text
    assert len(chinese.trace["why"]) == len(chinese.trace["why_zh"]) > 0


def test_options_for_people_are_two_to_five_and_rest_on_nothing_hidden(items):
    for item in items:
        options = kitchen_options(item)
        assert 2 <= len(set(options)) == len(options) <= 5
        assert options == kitchen_options(blind_item(item)) == tuple(sorted(options))


def test_options_are_found_where_nothing_is_there_to_choose_from():
    bare = Pair(
        id="1",
        objects=(),
        scene="",
        clear="Wait.",
        ambiguous="Wait.",
        type="safety",
        question="",
        answer="",
        clear_plan=("Wait.",),
        ambiguous_plan=("Wait.",),
        step=0,
        intent=None,
    )
    assert len(kitchen_options(PairItem(pair=bare, member="clear"))) >= 2


def test_a_scenario_without_a_plan_is_decided_by_its_instruction():
    scenario = Scenario(
        id="1",
        objects=("green cup", "grey cup", "apple"),
        scene="a green cup, a grey cup and an apple",
        task="Pick up the cup.",
        intended=("green cup", "grey cup"),
        location="pick-up",
        type="multilabel",
    )
    judgement = judge(kitchen_case(ScenarioItem(scenario=scenario)))
    assert judgement.question is not None
    assert judgement.marked == ("Pick up the green cup.", "Pick up the grey cup.")


def test_on_the_built_in_pairs_it_asks_where_a_good_robot_does(items):
    asked = {item.id: judge(kitchen_case(blind_item(item))).question is not None for item in items}
    rightly = [asked[item.id] == (item.type == "preferences") for item in items]
    assert sum(rightly) / len(rightly) > 0.9


def test_on_the_published_calibration_pairs_too():
    path = shared_path("ambik", "ambik_calib_100.csv")
    pairs = pair_items(load_pairs(str(path), "all"))
    asked = [judge(kitchen_case(blind_item(item))).question is not None for item in pairs]
    rightly = [asks == (item.type == "preferences") for asks, item in zip(asked, pairs, strict=True)]
    assert len(rightly) == 200
    assert sum(rightly) / len(rightly) > 0.9
