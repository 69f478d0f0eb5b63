"""Test the state machine: stages, payloads, one pass and trial by trial, resuming."""

from __future__ import annotations

import json
from dataclasses import asdict

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from logs.rows import Episode, Turn
from simulator.ambibench.features import FEATURES, FORMATS
from simulator.ambibench.generation import draw_instruction, draw_multiple
from simulator.ambibench.graph import MACHINE
from simulator.ambibench.players import Options
from simulator.ambibench.prompt import beliefs, label_offsets, shown_text, whole_text
from simulator.ambibench.score import score_trials
from simulator.ambibench.sessions import AmbiBenchSessions
from simulator.errors import InputError, SeatError
from simulator.models import ScoreRequest
from simulator.runner import one_seat
from simulator.runner.machines import ActiveEpisode
from simulator.seats import PersonSeat, Reply
from simulator.studies.machine import StudyMachine

PEOPLE = StudyMachine(MACHINE, AmbiBenchSessions.outer_steps)

FIELDS = {
    "kind", "k", "gold", "raw_answer", "answer", "normalised", "valid", "correct", "strict", "tie",
    "p_x", "p_y", "p_valid", "table", "score_mode", "tie_rule", "oracle_p", "oracle_identified", "decoding",
}  # fmt: skip


def bare(turn):
    return {key: value for key, value in asdict(turn).items() if key not in {"created_at", "seconds"}}


async def test_a_built_in_player_answers_every_trial(run, prompt):
    played = await run(prompt, "offline/oracle")
    assert [payload["k"] for payload in played.payloads] == list(range(1, 21))
    assert all(payload.keys() == FIELDS for payload in played.payloads)
    assert [payload["gold"] for payload in played.payloads] == [example.label for example in prompt.examples]
    thought = beliefs(prompt)
    for payload, belief in zip(played.payloads, thought, strict=True):
        assert (payload["oracle_p"], payload["oracle_identified"]) == (belief.p_gold, belief.identified)
        assert belief.p_gold == 0.5 or payload["correct"] == belief.bayes
    assert played.ending.status == "completed"
    assert json.loads(json.dumps(played.payloads)) == played.payloads


async def test_in_4_2_only_the_third_label_is_asked_for(run, single):
    played = await run(single, "offline/oracle")
    assert [(payload["k"], payload["correct"]) for payload in played.payloads] == [(3, 1.0)]


async def test_what_is_logged_can_be_scored_again_to_the_same(run, prompt, toy):
    played = await run(prompt, toy.model(scoring=True), score_mode="reference", tie="half")
    again = score_trials(prompt, played.turns, "reference", "half")
    for payload, score in zip(played.payloads, again, strict=True):
        logged = [payload[name] for name in ("answer", "correct", "valid", "tie", "p_x", "p_y", "p_valid")]
        assert logged == [
            score.answer, score.correct, score.valid, score.tie, score.p_x, score.p_y, score.p_valid
        ]  # fmt: skip
        assert (payload["score_mode"], payload["tie_rule"]) == ("reference", "half")


async def test_a_model_that_scores_reads_a_prompt_once(run, prompt, toy):
    played = await run(prompt, toy.model(scoring=True), top=7)
    (request,) = toy.asked
    assert isinstance(request, ScoreRequest)
    assert (request.text, request.offsets, request.top) == (whole_text(prompt), label_offsets(prompt), 7)
    assert len(played.turns) == 20
    assert sum(turn.seconds for turn in played.turns) == pytest.approx(4.0)
    assert played.payloads[0]["decoding"] == {"service": "offline/toy", "scored": True, "top": 7}


@pytest.mark.parametrize("feature", FEATURES)
@pytest.mark.parametrize("plain", [True, False])
async def test_one_pass_and_trial_by_trial_are_the_same(run, toy, feature, plain):
    for form in FORMATS:
        for item in (draw_multiple(3, feature, form), draw_instruction(3, feature, form)):
            at_once = await run(item, toy.model(scoring=True))
            one_by_one = await run(item, toy.model(scoring=False, plain=plain))
            assert len(toy.asked) == 1 + len(one_by_one.turns)
            toy.asked.clear()
            differs = {"decoding", "raw_answer"}
            assert [
                {key: value for key, value in payload.items() if key not in differs}
                for payload in at_once.payloads
            ] == [
                {key: value for key, value in payload.items() if key not in differs}
                for payload in one_by_one.payloads
            ]


@pytest.mark.parametrize("cut", [0, 1, 7, 19, 20])
@pytest.mark.parametrize("who", ["offline/random", "offline/oracle:literal", "scoring", "writing"])
async def test_an_episode_that_was_cut_goes_on_as_if_it_had_not_been(run, prompt, toy, cut, who):
    seat = who if "/" in who else toy.model(scoring=who == "scoring")
    whole = await run(prompt, seat)
    toy.asked.clear()
    rest = await run(prompt, seat, whole.turns[:cut])
    assert [bare(turn) for turn in rest.turns] == [bare(turn) for turn in whole.turns]
    assert rest.state["said"] == whole.state["said"]
    if who == "scoring" and cut < 20:
        assert toy.asked[0].offsets == label_offsets(prompt)[cut:], "what is in the log is not scored again"
    if cut == 20:
        assert toy.asked == []


async def test_the_stages_of_a_study(people, single):
    played = await people(single, ["yes", "ready", "x", "nice"], study=True)
    assert [payload["kind"] for payload in played.payloads] == ["consent", "ready", "answer", "comment"]
    assert (played.turns[2].payload["answer"], played.turns[2].payload["normalised"]) == ("X", True)
    assert played.turns[2].payload["strict"] == 0
    assert played.ending.status == "completed"


async def test_the_stages_of_free_play(people, prompt):
    played = await people(prompt, ["ready", *"XYXYXYXYXYXYXYXYXYXY"])
    assert [payload["kind"] for payload in played.payloads] == ["ready", *["answer"] * 20]
    assert played.ending.status == "completed"


async def test_without_consent_nothing_is_asked(people, single):
    with pytest.raises(SeatError) as error:
        await people(single, ["no"], study=True)
    assert (error.value.cause, error.value.code) == ("participant", "declined")


@pytest.mark.parametrize(
    ("answers", "code"),
    [
        (["perhaps"], "consent"),
        ([""], "consent"),
        (["yes", "ready", "  \n"], "nothing_said"),
        (["yes", "ready", "x" * 4001], "too_long"),
        (["yes", "ready", Reply(text="x", move={"keys_used": "often"})], "malformed"),
        (["yes", "ready", Reply(text="x", move={"shown_at": "yesterday"})], "malformed"),
        (["yes", "ready", "x", "", "more"], "not_due"),
    ],
)
async def test_what_people_may_not_say(people, single, answers, code):
    with pytest.raises(SeatError) as error:
        await people(single, answers, study=True)
    assert (error.value.cause, error.value.code) == ("participant", code)


async def test_what_a_page_measures_is_logged(people, single):
    shown = "2026-11-21T10:00:00.000+00:00"
    reply = Reply(text=" Z ", move={"keys_used": True, "shown_at": shown}, seconds=2.5)
    played = await people(single, ["ready", reply])
    turn = played.turns[1]
    assert (turn.text, turn.seconds) == (" Z ", 2.5)
    assert {key: turn.payload[key] for key in ("keys_used", "shown_at", "person", "valid", "answer")} == {
        "keys_used": True, "shown_at": shown, "person": True, "valid": False, "answer": None
    }  # fmt: skip


async def test_a_person_who_did_not_measure_is_timed_from_the_turn_before(people, single):
    played = await people(single, ["ready", "X"])
    earlier = [
        Turn(**{**asdict(played.turns[0]), "created_at": "2026-01-01T00:00:00.000+00:00"}),
    ]
    turn = PEOPLE.accept(played.live, PEOPLE.rebuild(earlier), "participant", Reply(text="X"))
    assert turn.seconds > 3600


async def test_everybody_but_people_goes_through_trials_alone(live, prompt, single):
    for item, trials in ((single, 1), (prompt, 20)):
        turns = []
        here = live(item, "offline/oracle", turns, study=True)
        await PEOPLE.advance(here, PEOPLE.rebuild(turns))
        assert [turn.payload["kind"] for turn in turns] == ["answer"] * trials


async def test_a_script_answers_in_turn(run, prompt):
    played = await run(prompt, [*"XY" * 9, "x", ""])
    assert [payload["answer"] for payload in played.payloads] == [*"XY" * 9, None, None]
    assert played.turns[18].payload["valid"] is False, "lower case is people's"


async def test_free_text(run, aws, question):
    written = "aws s3 mb s3://bucket-for-ava --region us-west-2"
    bucket = await run(aws, [written])
    assert [(payload["kind"], payload["category"], payload["raw_answer"]) for payload in bucket.payloads] == [
        ("text", "other", written)
    ]
    named = await run(question, ["the pronoun"])
    assert [(payload["kind"], payload["category"]) for payload in named.payloads] == [("text", None)]
    assert named.ending.status == "completed"


async def test_built_in_players_have_no_words(run, aws):
    with pytest.raises(SeatError, match="not in free text"):
        await run(aws, "offline/oracle")


@pytest.mark.each(
    "wrong",
    [
        {"score_mode": "best"},
        {"tie": "maybe"},
        {"system": "chatty"},
        {"language": "fr"},
        {"top": 0},
        {"max_tokens": 1.5},
        {"top": True},
    ],
)
def test_wrong_options_are_named(wrong):
    with pytest.raises(InputError, match=next(iter(wrong))):
        Options.read({**wrong, "unknown": 1})


@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    feature=st.sampled_from(FEATURES),
    form=st.sampled_from(FORMATS),
    kind=st.sampled_from(["uninformative", "informative", "wug"]),
    study=st.booleans(),
)
def test_nothing_is_seen_before_its_time(seed, feature, form, kind, study):
    prompt = draw_multiple(seed, feature, form, kind)
    turns = []
    seats, options = {"participant": PersonSeat()}, {"study": study}
    row = Episode(id="e", run_id="r", item_hash="h", language="en", seats={}, seed=0, options=options)
    here = ActiveEpisode(episode=row, item=prompt, seats=seats, record=None)
    while True:
        state = PEOPLE.rebuild(turns)
        view = PEOPLE.view(here, state, "participant", None, None)
        sent = json.dumps(asdict(view))
        trial, last = view.stage == "task", view.stage in ("comment", "done")
        k = view.k if trial else 20 if last else 0
        seen = {example.sentence for example in prompt.examples[:k]}
        later = {example.sentence for example in prompt.examples[k:]} - seen
        assert not any(sentence in sent for sentence in later)
        assert view.text == (shown_text(prompt, k) if trial else "")
        assert "".join(_labels(view.text)) == "".join(
            example.label for example in prompt.examples[: max(k - 1, 0)][: 20 if trial else 0]
        )
        if view.feedback:
            due = len([turn for turn in turns if turn.payload["kind"] == "answer"])
            assert view.feedback.right == prompt.examples[due - 1].label
        if trial:
            asked = one_seat.seat_view(MACHINE.context(here), state["task"])
            assert asked.task.text == view.text
            assert not any(sentence in repr(asked) for sentence in later)
        if view.stage == "done":
            break
        answer = "yes" if view.stage == "consent" else "X"
        turns.append(PEOPLE.accept(here, state, "participant", Reply(text=answer)))
    assert len(turns) == (23 if study else 21)


def _labels(text):
    """The labels in a text, found without the code under test."""
    lines = text.split("\n")[1:]
    return [line[-1] for line in lines if line[:1] == ">" and len(line) == 2] + [
        line[-1] for line in lines if line.startswith("A: ")
    ]
