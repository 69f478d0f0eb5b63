"""Round trips through the log: decisions, exchanges, scores, lines; every field of spec 13."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simulator.ambik.items import PairItem
from simulator.ambik.machine import MACHINE
from simulator.ambik.payloads import decision_payload, method_decision, read_decision, score_candidates
from simulator.ambik.playing import Options, calibration_option, read_calibration
from simulator.ambik.predicting import prepare
from simulator.ambik.records import Affordance, Calibrated, Decision
from simulator.ambik.score import values
from simulator.ambik.terms import DEFAULT, Settings, read_settings, settings_option
from simulator.errors import SeatError

Q_HAT = {"q_hat": 0.75, "n": 20, "epsilon": 0.2, "rank": 17, "run": "cal"}
_TEXT = st.text(max_size=12)
_SHARE = st.floats(0, 1)
_LETTERS = st.sampled_from("ABCDE")


@st.composite
def made(draw):
    """Any decision that a method, a person or a built-in robot can make."""
    method = draw(st.sampled_from(["knowno", "lap", "lofreecp", "binary", "nohelp", "person", "offline"]))
    options = draw(st.dictionaries(_LETTERS, _TEXT, max_size=5))
    samples = draw(st.dictionaries(_TEXT, st.integers(1, 9), max_size=4))
    return {
        "method": method,
        "context": draw(st.sampled_from(["full_plan", "action_only"])),
        "dialogue": draw(st.sampled_from(["before", "after"])),
        "generator": draw(_TEXT),
        "chooser": draw(_TEXT),
        "options": options,
        "filled": tuple(draw(st.lists(_LETTERS, max_size=3))),
        "tokens": tuple(draw(st.lists(st.tuples(_TEXT, st.floats(-50, 0)), max_size=5))),
        "affordance": {
            letter: Affordance(draw(st.sampled_from([0.0, 1.0])), draw(st.none() | _SHARE))
            for letter in options
        },
        "samples": samples,
        "similarities": {text: draw(_SHARE) for text in samples},
        "draws": draw(st.integers(0, 40)),
        "action": draw(_TEXT),
        "certainty": draw(st.sampled_from([None, "certain", "uncertain", "invalid"])),
        "chosen": draw(st.none() | st.lists(_TEXT, max_size=3).map(tuple)),
        "right": draw(st.none() | st.lists(_LETTERS, max_size=2).map(tuple)),
        "question": draw(_TEXT),
        "prompts": tuple(draw(st.lists(st.tuples(_TEXT, _TEXT), max_size=3))),
        "raw": tuple(draw(st.lists(st.tuples(_TEXT, _TEXT), max_size=3))),
        "flags": tuple(draw(st.lists(_TEXT, max_size=3))),
    }


@given(made())
@settings(max_examples=120, deadline=None)
def test_a_decision_comes_back_as_it_went(fields):
    item = PairItem(pair=None, member="clear")
    decision = Decision(episode_id="e", run="r", item=item, **fields)
    payload = json.loads(json.dumps(decision_payload(decision), allow_nan=False))
    assert read_decision(payload, item, episode_id="e", run="r") == replace(decision, asked=None)


@pytest.mark.each(
    ("decision", "message"),
    [
        (3, "decision is not an object"),
        ({}, "None is not a method"),
        ({"method": "guess"}, "'guess' is not a method"),
        ({"method": "knowno", "options": {"A": 3}}, r"options.A is 3, not a text"),
        ({"method": "knowno", "tokens": [["A", "much"]]}, r'tokens\[0\]\[1\] is "much", not a number'),
    ],
)
def test_a_method_s_decision_that_cannot_be_read_is_malformed(decision, message):
    item = PairItem(pair=None, member="clear")
    with pytest.raises(SeatError, match=message) as refused:
        method_decision({"decision": decision}, item, Options(), episode_id="e", generator="m")
    assert (refused.value.cause, refused.value.code) == ("robot", "malformed")


@pytest.mark.parametrize(
    "record", [DEFAULT, Settings(not_listed=True, target_success=0.9, icr="best_option")]
)
def test_settings_and_calibrations_come_back_as_they_went(record):
    assert read_settings(json.loads(json.dumps(settings_option(record)))) == record
    for q_hat in (0.25, float("inf")):
        made = Calibrated(q_hat=q_hat, n=7, epsilon=0.2, rank=7, run="c")
        option = json.loads(json.dumps(calibration_option(made), allow_nan=False))
        assert read_calibration(option) == made
        assert Options.read({"calibration": option}).calibration == made


def test_options_with_the_same_text_get_the_smallest_value(item):
    decision = Decision(
        episode_id="e",
        run="",
        item=item,
        method="knowno",
        options={"A": "Lift it.", "B": "Lift it."},
        tokens=(("A", -3.0), ("B", -0.1)),
    )
    payload = score_candidates(prepare(decision, Options().settings), Options())
    assert payload["nonconformity"] == {"Lift it.": pytest.approx(1 - 1 / (1 + 2.718281828 ** (-2.9 / 5)))}


async def test_scores_of_a_person_who_asks_and_then_acts(play, item, act, ask):
    def robot(view):
        return act("Lift the fig tray.") if view.moves else ask("Which?", *item.options[:2])

    played = await play(item, robot, questions=1)
    assert values(item, played.turns) == {
        "icr": 1.0, "hr": 1.0, "chr": 1.0, "ssc": 1.0, "set_size": 2.0, "covered": 1.0, "needed": 1.0,
        "questions": 1.0, "relevant": 1.0, "right_before": None, "right_after": 1.0,
    }  # fmt: skip
    rows = MACHINE.score(item, played.turns, ())
    assert {row.metric for row in rows} == set(values(item, played.turns))


async def test_scores_of_who_acts_wrongly_where_asking_was_needed(play, item, clear, act):
    played = await play(item, [act("Lift the date tray.")], questions=1)
    scores = values(item, played.turns)
    assert (scores["hr"], scores["chr"], scores["questions"]) == (0, 0, 0)
    assert (scores["icr"], scores["right_before"], scores["right_after"]) == (0.5, 0, 0)
    assert (scores["covered"], scores["ssc"]) == (1, 0.5)
    scores = values(clear, (await play(clear, [act("Lift the fig tray.")])).turns)
    assert (scores["chr"], scores["needed"], scores["ssc"], scores["right_after"]) == (1, 0, None, 1)


async def test_scores_of_methods(play, item, knowno, decided):
    calibrating = await play(item, [knowno], method="knowno")
    assert values(item, calibrating.turns) == {"right_before": 1.0}
    asking = await play(item, [knowno], method="knowno", calibration={**Q_HAT, "q_hat": 0.7})
    scores = values(item, asking.turns)
    assert (scores["set_size"], scores["hr"], scores["chr"], scores["ssc"]) == (2, 1, 1, 1)
    assert (scores["right_before"], scores["right_after"]) == (1, None)
    unsure = decided("binary", action="Lift the fig tray.", certainty="uncertain")
    scores = values(item, (await play(item, [unsure], method="binary")).turns)
    assert (scores["set_size"], scores["hr"], scores["chr"]) == (1, 1, 1)
    helpless = decided("nohelp", action="Lift the fig tray.")
    scores = values(item, (await play(item, [helpless], method="nohelp")).turns)
    assert (scores["hr"], scores["chr"], scores["icr"]) == (0, 0, 1)


async def test_after_the_dialogue_asking_is_wrong(play, item, ask):
    played = await play(item, [ask("Which?", *item.options[:2])], dialogue="after")
    scores = values(item, played.turns)
    assert (scores["chr"], scores["needed"]) == (0, 0)


async def test_scores_of_scenarios_and_forms(play, scenario, draft, act):
    from simulator.seats import Reply

    played = await play(scenario, [act("Put the pear in the top drawer.")])
    scores = values(scenario, played.turns)
    assert (scores["covered"], scores["chr"], scores["needed"], scores["icr"]) == (1, None, None, None)
    assert scores["right_before"] == scores["right_after"] == 1
    played = await play(scenario, [act("Put the pear in the bottom drawer.")])
    assert values(scenario, played.turns)["right_after"] == 0
    played = await play(draft, annotator=[Reply(move={"delete": "absurd"})], task="annotate")
    assert values(draft, played.turns) == {"deleted": 1.0, "problems": 0.0}
    assert values(draft, ()) == {} == values(scenario, ())
