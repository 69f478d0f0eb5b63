"""Replies of methods in the robot's seat, and of users."""

import json
from dataclasses import replace

import pytest

from simulator.ambik.methods import background
from simulator.ambik.payloads import read_decision
from simulator.ambik.players import ItemUser, MethodRobot, ModelUser
from simulator.ambik.playing import RobotKnows, UserKnows, blind_item
from simulator.ambik.predicting import outcome
from simulator.ambik.records import Calibrated
from simulator.ambik.terms import METHODS, Settings
from simulator.errors import SeatError
from simulator.seats import View

WIDE = {"q_hat": "inf", "n": 3, "epsilon": 0.2, "rank": 4}


def view_of(task, seat="robot", **options) -> View:
    return View(
        episode_id="e", seat=seat, number=2, language="en", lines=(), task=task, seed=4, options=options
    )


def robot_knows(item, exchanges=(), *, may_ask=True, actions=None):
    return RobotKnows(item=blind_item(item), exchanges=exchanges, may_ask=may_ask, actions=actions)


@pytest.fixture
def says(four, letters):
    return {
        "generate": four,
        "generate_one": "Put green tea into the blue mug.",
        "choose": letters,
        "afford": (("True", -0.1), ("False", -3.0)),
        "certainty": "Uncertain",
        "ask": 'Question: "Which tea shall I take?"',
        "answer": "Your answer: Take the green tea.\nAnd hurry.",
    }


class TestRobot:
    async def test_it_proposes_before_any_threshold(self, scripted, says, pair_item):
        model = scripted(says)
        view = view_of(robot_knows(pair_item), method="knowno", calibration=WIDE, questions=1)
        reply = await MethodRobot(model.model).reply(view)
        assert (reply.text, reply.move["decision"]["question"], reply.trace) == ("", "", {"flags": []})
        assert "robot.ask" not in model.roles()

    async def test_it_asks_which_of_the_sets_actions_is_meant(self, scripted, says, pair_item):
        model = scripted(says)
        actions = ("Put green tea into the blue mug.", "an option not listed here", "Put black tea in it.")
        view = view_of(
            robot_knows(pair_item, actions=actions), method="knowno", calibration=WIDE, questions=1
        )
        reply = await MethodRobot(model.model).reply(view)
        assert reply.text == "Which tea shall I take?"
        ((role, asked),) = reply.move["prompts"]
        assert (role, reply.move["flags"]) == ("ask", [])
        assert "What may be meant:\n- Put green tea into the blue mug.\n- Put black tea in it.\n" in asked
        assert "not listed" not in model.asked[-1].messages[-1].content

    async def test_answers_are_in_every_prompt_of_the_next_decision(self, scripted, says, pair_item):
        model = scripted(says)
        knows = robot_knows(pair_item, (("Which tea?", "The green one."),), may_ask=False)
        await MethodRobot(model.model).reply(view_of(knows, method="knowno", calibration=WIDE, questions=1))
        for request in model.asked:
            assert "You asked: Which tea?\nYou were told: The green one." in request.messages[-1].content

    async def test_while_it_is_calibrated_nothing_is_asked(self, scripted, says, pair_item):
        reply = await MethodRobot(scripted(says).model).reply(view_of(robot_knows(pair_item), method="lap"))
        assert reply.move["decision"]["affordance"]["A"]["context"] == 1.0

    @pytest.mark.parametrize("method", METHODS)
    async def test_its_move_is_the_decision_as_plain_values(self, method, scripted, says, pair_item):
        known = background([pair_item.pair])
        robot = MethodRobot(scripted(says).model, scripted(says, name="other").model, known)
        view = view_of(robot_knows(pair_item), method=method, samples=2)
        reply = await robot.reply(view)
        plain = json.loads(json.dumps(reply.move["decision"]))
        decision = read_decision(plain, pair_item, episode_id="e", run="r")
        calibrated = Calibrated(q_hat=2.0, n=9, epsilon=0.2, rank=8)
        seen = outcome(decision, calibrated, Settings())
        assert decision.method == method
        assert decision.generator == "offline/script"
        assert decision.chooser == ("offline/other" if method in ("knowno", "lap", "binary") else "")
        assert seen.action.lower().startswith("put green tea")
        assert seen.help is (method != "nohelp")

    @pytest.mark.parametrize(
        ("actions", "question"),
        [
            (
                ("Take the mug.",),
                "Shall I do this, or do you mean something else: Take the mug.?",
            ),
            (("Take the mug.", "Take tea."), "Which of these do you mean: Take the mug. / Take tea."),
        ],
    )
    async def test_a_model_without_a_question_names_the_actions(
        self, actions, question, scripted, says, pair_item
    ):
        model = scripted({**says, "ask": ' \n""\n?\nQuestion:'})
        reply = await MethodRobot(model.model).reply(view_of(robot_knows(pair_item, actions=actions)))
        assert reply.text.startswith(question)
        assert reply.move["flags"] == ["question_made"]

    async def test_without_a_method_it_has_nothing_to_play(self, scripted, says, pair_item):
        with pytest.raises(SeatError, match="the options name none"):
            await MethodRobot(scripted(says).model).reply(view_of(robot_knows(pair_item)))

    async def test_chinese_frames_around_english_data(self, scripted, says, pair_item):
        model = scripted(says)
        view = view_of(robot_knows(pair_item), method="knowno", calibration=WIDE, questions=1, language="zh")
        reply = await MethodRobot(model.model).reply(view)
        assert reply.move["decision"]["options"]["A"]
        assert "场景：a red mug" in model.asked[0].messages[-1].content


class TestItemUser:
    @pytest.mark.parametrize("language", ["en", "zh"])
    async def test_the_datas_answer(self, language, pair_item):
        knows = UserKnows(item=pair_item, question="Which?")
        assert (
            await ItemUser().reply(view_of(knows, "user", language=language))
        ).text == "The green one, please."

    async def test_a_clear_task_is_repeated(self, clear_item):
        answer = (await ItemUser().reply(view_of(UserKnows(item=clear_item, question="Which?"), "user"))).text
        assert answer == "Just as I said: Make a cup of green tea in the blue mug."

    async def test_an_item_without_an_answer_says_what_is_wanted(self, pair_item):
        item = replace(pair_item, pair=replace(pair_item.pair, answer=""))
        answer = (await ItemUser().reply(view_of(UserKnows(item=item, question="Which?"), "user"))).text
        assert answer.endswith("Make a cup of green tea in the blue mug.")

    @pytest.mark.parametrize(
        ("location", "answer"),
        [
            ("top drawer", "I mean the pear or the plum; it goes to: top drawer."),
            ("pick-up", "I mean the pear or the plum."),
        ],
    )
    async def test_a_scenario_names_what_is_meant(self, location, answer, scenario_item):
        item = replace(scenario_item, scenario=replace(scenario_item.scenario, location=location))
        assert (
            await ItemUser().reply(view_of(UserKnows(item=item, question="Which?"), "user"))
        ).text == answer


class TestModelUser:
    async def test_it_knows_what_it_wants_and_says_one_line(self, scripted, says, pair_item):
        model = scripted(says)
        knows = UserKnows(item=pair_item, question="Which tea?", exchanges=(("Hot?", "Yes."),))
        reply = await ModelUser(model.model).reply(view_of(knows, "user"))
        assert reply.text == "Take the green tea."
        (request,) = model.asked
        assert request.purpose == "user.answer"
        text = request.messages[-1].content
        assert "What you want: Make a cup of green tea in the blue mug." in text
        assert "What matters to you: The green one, please." in text
        assert "The robot asked: <<Hot?>>" in text
        assert "The robot asks: <<Which tea?>>" in text

    async def test_of_a_clear_task_there_is_no_more_to_know(self, scripted, says, clear_item):
        model = scripted(says)
        await ModelUser(model.model).reply(view_of(UserKnows(item=clear_item, question="Which?"), "user"))
        assert "What matters to you" not in model.asked[0].messages[-1].content

    async def test_no_words_break_the_rules(self, scripted, says, pair_item):
        model = scripted({**says, "answer": "\n ... \n"})
        with pytest.raises(SeatError, match="answered without words"):
            await ModelUser(model.model).reply(view_of(UserKnows(item=pair_item, question="Which?"), "user"))
