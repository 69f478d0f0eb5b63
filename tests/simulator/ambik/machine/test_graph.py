"""The state machine: which seat moves when, what robot and user may see, and the rules for replies."""

from __future__ import annotations

import json
from dataclasses import asdict, replace

import pytest

from simulator.ambik import graph
from simulator.ambik.playing import Options
from simulator.ambik.predicting import prepare
from simulator.errors import InputError, SeatError
from simulator.forms import LONGEST
from simulator.seats import Reply

Q_HAT = {"q_hat": 0.75, "n": 20, "epsilon": 0.2, "rank": 17, "run": "cal"}


async def test_who_acts_at_once_ends_the_episode(play, item, act):
    played = await play(item, [act("Lift the fig tray.")], questions=2)
    assert played.kinds == ["decide"]
    assert played.ending.status == "completed"
    payload = played.payload()
    assert (payload["asks"], payload["action"], payload["question"]) == (False, "Lift the fig tray.", "")
    assert payload["chosen"] == payload["prediction_set"] == ["Lift the fig tray."]
    assert played.turns[0].text == "Lift the fig tray."


async def test_a_question_is_answered_and_the_robot_decides_again(play, item, act, ask):
    seen = []

    def robot(view):
        seen.append(view)
        return ask("Figs or dates?", "figs", "dates") if view.moves == 0 else act("Lift the fig tray.")

    played = await play(item, robot, questions=3)
    assert played.kinds == ["decide", "answer", "decide"]
    assert played.turns[1].text == item.pair.answer
    assert played.payload("answer") == {"kind": "answer", "asked": 0, "question": "Figs or dates?"}
    first, second = (view.task for view in seen)
    assert (first.exchanges, first.may_ask, first.must_act) == ((), True, False)
    assert second.exchanges == (("Figs or dates?", item.pair.answer),)
    assert seen[0].seed != seen[1].seed


async def test_when_the_questions_are_used_up_the_robot_must_act(play, item, ask, knowno, decided):
    with pytest.raises(SeatError, match="used up"):
        await play(item, [ask("One?"), ask("Two?")], questions=1)
    asking = Reply(move={**knowno.move, "ask": "Which tray?"})
    played = await play(item, [asking, asking], questions=1, method="knowno", calibration=Q_HAT)
    last = played.payload()
    assert (last["asks"], last["help"], last["question"]) == (False, True, "")
    assert played.turns[-1].text == last["action"] == "Lift the fig tray."
    assert played.ending.status == "completed"


async def test_without_answers_a_decision_to_ask_ends_the_episode(play, item, ask, knowno):
    played = await play(item, [ask("Figs or dates?")])
    assert played.kinds == ["decide"]
    assert played.payload()["asks"] is True
    assert played.ending.status == "completed"
    played = await play(item, [knowno], method="knowno", calibration=Q_HAT)
    # Nobody answers, so a method need not put its question into words.
    assert (played.payload()["asks"], played.turns[0].text) == (True, "Lift the fig tray.")


async def test_a_method_that_is_being_calibrated_neither_asks_nor_acts(play, item, knowno):
    played = await play(item, [knowno], method="knowno", questions=3)
    payload = played.payload()
    assert (payload["asks"], payload["help"], payload["prediction_set"], payload["q_hat"]) == (
        None, None, [], None,
    )  # fmt: skip
    assert payload["nonconformity"].keys() == {*item.options, "do nothing"}
    assert played.ending.status == "completed"


async def test_a_threshold_makes_the_set_and_the_set_makes_the_robot_ask(play, item, knowno):
    narrow, wide = [
        (await play(item, [knowno], method="knowno", calibration={**Q_HAT, "q_hat": q_hat})).payload()
        for q_hat in (0.6, "inf")
    ]
    assert (narrow["asks"], narrow["prediction_set"]) == (False, ["Lift the fig tray."])
    assert (wide["asks"], wide["prediction_set"]) == (True, list(item.options))
    assert (wide["q_hat"], wide["n_calibration"], wide["epsilon"], wide["rank"]) == ("inf", 20, 0.2, 17)
    json.dumps(wide, allow_nan=False)


async def test_the_question_of_a_method_is_put_into_words_once_it_is_decided_to_ask(play, item, knowno):
    seen = []

    def robot(view):
        seen.append(view)
        if view.task.actions is None:
            return replace(knowno, trace={"flags": ["filled"]}, seconds=1.5)
        return Reply(
            text="Figs or dates?",
            move={"prompts": [["ask", "?"]], "raw": [["ask", "!"]], "flags": ["x"]},
            trace={"words": "mine"},
            seconds=0.25,
        )

    played = await play(item, robot, method="knowno", calibration=Q_HAT, questions=1)
    first, again, _ = seen
    assert (first.number, first.seed) == (again.number, again.seed)
    payload = played.payload(place=0)
    assert again.task.actions == tuple(payload["prediction_set"]) == item.options
    assert played.turns[0].text == payload["question"] == "Figs or dates?"
    assert [role for role, _ in payload["prompts"]] == ["generate", "choose", "ask"]
    assert payload["flags"] == ["filled", "x"]
    assert payload["trace"] == {
        "flags": ["filled"],
        "set": payload["prediction_set"],
        "help": True,
        "question": {"words": "mine"},
    }
    assert played.turns[0].seconds == 1.75


async def test_a_proposal_is_scored_once(play, item, knowno, monkeypatch):
    scored = []
    monkeypatch.setattr(graph, "prepare", lambda *given: scored.append(given) or prepare(*given))
    await play(item, [knowno], method="knowno", calibration={**Q_HAT, "q_hat": 0.6})
    assert len(scored) == 1


async def test_a_method_whose_question_has_no_words_breaks_the_rules(play, item, knowno):
    with pytest.raises(SeatError) as broken:
        await play(item, [knowno], method="knowno", calibration=Q_HAT, questions=1)
    assert broken.value.code == "no_question"


@pytest.mark.parametrize(
    ("move", "code"),
    [
        ({"marked": []}, "no_action"),
        ({"act": "   "}, "no_action"),
        ({"ask": " "}, "no_question"),
        ({"act": 3}, "malformed"),
        ({"marked": [1], "act": "Lift."}, "malformed"),
        ({"marked": {"a": 1}, "act": "Lift."}, "malformed"),
        ({"act": "x" * (LONGEST + 1)}, "too_long"),
        ({"ask": "x" * (LONGEST + 1)}, "too_long"),
        ({"marked": [f"a{n}" for n in range(51)], "act": "Lift."}, "too_many"),
        ({"act": "Lift it.", "ask": "Which?"}, ""),
    ],
)
async def test_replies_that_are_no_decisions(play, item, move, code):
    robot = [Reply(move=move)]
    if not code:  # what one would do otherwise may be told beside a question
        payload = (await play(item, robot)).payload()
        assert (payload["asks"], payload["action"]) == (True, "Lift it.")
        return
    with pytest.raises(SeatError) as broken:
        await play(item, robot)
    assert (broken.value.code, broken.value.cause) == (code, "robot")


async def test_an_answer_needs_words(play, item, ask):
    for text, code in (("  ", "no_answer"), ("x" * (LONGEST + 1), "too_long")):
        with pytest.raises(SeatError) as broken:
            await play(item, [ask("Which?")], [text], questions=1)
        assert (broken.value.code, broken.value.cause) == (code, "user")


async def test_a_plain_text_is_an_action(play, item):
    payload = (await play(item, ["Lift the date tray."], questions=1)).payload()
    assert (payload["method"], payload["action"], payload["generator"]) == (
        "offline", "Lift the date tray.", "script:robot",
    )  # fmt: skip


HIDDEN = ("zz", "purple", "preferences")


@pytest.mark.parametrize("member", ["ambiguous", "clear"])
async def test_nothing_that_a_robot_must_not_know_reaches_it(play, item, act, member):
    seen = []

    def robot(view):
        seen.append(view.task)
        return act("Lift it.")

    await play(replace(item, member=member), robot, questions=1)
    (knows,) = seen
    hidden = asdict(knows)
    assert hidden["item"]["pair"].pop("type") == "preferences"  # the same for everybody
    shown = json.dumps(hidden, default=str).lower()
    assert not [word for word in HIDDEN if word in shown]
    assert knows.item.member == "ambiguous"
    assert (knows.item.pair.clear, knows.item.pair.clear_plan) == ("", ())
    assert (knows.item.pair.intent, knows.item.pair.variants, knows.item.pair.shortlist) == (None, (), ())
    assert knows.item.pair.ambiguous == item.pair.task(member)
    assert knows.item.pair.ambiguous_plan == item.pair.plan(member)


async def test_of_a_scenario_neither_intent_nor_type_reaches_it(play, scenario, act):
    seen = []
    await play(scenario, lambda view: seen.append(view.task) or act("Lift it."))
    known = seen[0].item.scenario
    assert (known.intended, known.location, known.type, known.intent) == ((), "", "", None)
    assert known.task == scenario.scenario.task


async def test_with_dialogue_after_the_datas_exchange_is_shown(play, item, clear, act):
    for task, exchange in ((item, (item.pair.question, item.pair.answer)), (clear, ("", ""))):
        seen = []
        played = await play(task, lambda view: seen.append(view.task) or act("Lift it."), dialogue="after")  # noqa: B023
        assert (seen[0].item.pair.question, seen[0].item.pair.answer) == exchange
        assert played.payload()["dialogue"] == "after"


async def test_the_order_of_offered_actions_is_drawn_by_the_seed(play, item, act):
    orders, live = set(), (await play(item, "person")).live
    for seed in range(12):
        context = graph.Context(replace(live, episode=replace(live.episode, seed=seed)))
        assert sorted(context.offered) == sorted(item.options)
        assert context.offered == replace(context).offered
        orders.add(context.offered)
    assert len(orders) > 2


@pytest.mark.each(
    ("option", "value"),
    [
        ("method", "magic"),
        ("context", "none"),
        ("dialogue", "between"),
        ("questions", -1),
        ("questions", True),
        ("samples", 0),
        ("max_tokens", "many"),
        ("language", "fr"),
        ("task", "sing"),
        ("chooser", 4),
        ("dataset", "x"),
        ("settings", {"temperature": 0}),
        ("settings", {"target_success": 1}),
        ("settings", {"quantile": "best"}),
        ("settings", {"unheard": 1}),
        ("settings", {"not_listed": 1}),
        ("settings", 3),
        ("calibration", {"q_hat": 1}),
        ("calibration", "run"),
    ],
)
def test_options_that_there_are_not(option, value):
    with pytest.raises(InputError, match=option):
        Options.read({option: value})


async def test_an_annotators_form_is_one_turn(play, draft):
    form = Reply(
        move={
            "type": "preferences", "ambiguous": "Fill one.", "question": "Which?", "answer": "The mug.",
            "shortlist": "mug, jar", "intent": "mug", "variants": "mug\njar", "step": 0, "comment": " Hm. ",
        }
    )  # fmt: skip
    played = await play(draft, annotator=[form], task="annotate")
    assert played.kinds == ["annotate"]
    assert played.ending.status == "completed"
    filled = played.payload("annotate")["form"]
    assert (filled["clear"], filled["clear_plan"]) == ("Fill the mug.", ["Fetch the mug.", "Fill it."])
    assert (filled["shortlist"], filled["variants"]) == (["mug", "jar"], ["mug", "jar"])
    assert (filled["comment"], filled["delete"]) == ("Hm.", "")


@pytest.mark.parametrize(
    "move", [{"type": "odd"}, {}, {"type": "safety", "step": -1}, {"type": "safety", "objects": 3}]
)
async def test_forms_that_cannot_be_read(play, draft, move):
    with pytest.raises(SeatError) as broken:
        await play(draft, annotator=[Reply(move=move)], task="annotate")
    assert (broken.value.code, broken.value.cause) == ("malformed", "annotator")


async def test_a_deleted_row_needs_nothing_else(play, draft):
    played = await play(draft, annotator=[Reply(move={"delete": "absurd"})], task="annotate")
    assert played.payload("annotate")["form"] == {"delete": "absurd", "comment": ""}
