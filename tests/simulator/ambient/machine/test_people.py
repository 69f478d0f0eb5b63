"""People's views and forms: stages, rules, logged payloads, and nothing of a later step."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from simulator.ambient.annotation.rules import read_annotation
from simulator.ambient.graph import MACHINE
from simulator.ambient.payloads import FormError
from simulator.ambient.playing import Options, statements
from simulator.ambient.sessions import AmbientSessions
from simulator.ambient.show import page_blocks
from simulator.errors import InputError, SeatError
from simulator.forms import LONGEST
from simulator.runner import one_seat
from simulator.seats import Reply
from simulator.studies.machine import StudyMachine

PEOPLE = StudyMachine(MACHINE, AmbientSessions.outer_steps)
CROWD = ["label", "plausible", "relabel"]
FRONT = ["consent", "ready", *["qualification"] * 3]
STAGES = {"ready": "instructions"}


def through(one, form, **answers):
    """Play to the end and return the kinds of the steps."""
    kinds = []
    while kind := one.kind:
        kinds.append(kind)
        assert one.stage == STAGES.get(kind, kind)
        one.submit(answers.get(kind) or form(kind))
    return kinds


@pytest.fixture
def study(qualification):
    return {"study": True, "qualification": qualification.option()}


def test_a_crowdworkers_first_set_and_further_ones(person, items, form, study):
    assert through(person(items["crowd"], **study), form) == [*FRONT, *CROWD]
    assert through(person(items["crowd"], study=True, begun=True), form) == CROWD
    assert through(person(items["crowd"], study=True), form) == ["consent", "ready", *CROWD]
    assert through(person(items["crowd"]), form) == ["ready", *CROWD]
    assert through(person(items["evaluate"]), form) == ["ready", "plausible", "relabel"]
    assert through(person(items["annotate"]), form) == ["ready", "annotate"]
    assert through(person(items["true_false"]), form) == ["ready", *["true_false"] * 8]


def test_what_a_crowdworker_sees_and_says(person, items, form, study):
    item, one = items["crowd"], person(items["crowd"], **study)
    view = one.view
    assert (view.stage, view.done, view.total, view.study, view.shown.premise) == ("consent", 0, 6, True, "")
    one.submit(form("consent"))
    assert one.view.stage == "instructions"
    one.submit(form("ready"))
    view = one.view
    assert (view.shown.premise, view.shown.hypothesis, view.done) == ("q-premise 0", "q-hypothesis 0", 0)
    for label in ("neutral", "contradiction", "neutral"):
        turn = one.submit(Reply(move={"label": label}))
        right = label == "neutral"
        assert (turn.payload["answer"], turn.payload["gold"]) == (label, "neutral")
        assert turn.payload["correct"] == right
    view = one.view
    assert (view.due.kind, view.done, view.number) == ("label", 3, 5)
    assert (view.shown.premise, view.shown.hypothesis, view.shown.sentence) == (
        item.premise,
        item.hypothesis,
        "",
    )
    one.submit(form("label"))
    view = one.view
    assert (view.shown.sentence, view.shown.premise, view.shown.hypothesis) == (item.sentence, "", "")
    assert view.shown.candidates == ("First reading.", "A distractor.", "Second reading.")
    assert view.earlier == (("label", "neutral"),)
    turn = one.submit(form("plausible"))
    assert turn.payload["shown"]["distractors"] == [1]
    view = one.view
    assert view.shown.pairs == tuple(item.pair(place) for place in range(3))
    assert (view.shown.side, view.shown.candidates, view.shown.sentence) == ("premise", (), "")
    assert view.earlier == (
        ("label", "neutral"),
        ("First reading.", "yes"),
        ("A distractor.", "no"),
        ("Second reading.", "yes"),
    )
    one.submit(form("relabel"))
    assert (one.stage, one.view.done, one.view.total) == ("done", 6, 6)
    assert PEOPLE.ending(one.live, one.state).status == "completed"


def test_a_person_leaves_behind(person, items, form, study):
    one = person(items["crowd"], **study)
    more = {"shown_at": "2026-01-02T03:04:05Z", "keys_used": True}
    while kind := one.kind:
        reply = form(kind)
        one.submit(replace(reply, move={**(reply.move or {}), **more}, key=f"k{len(one.turns)}"))
    payloads = {turn.payload["kind"]: turn.payload for turn in one.turns}
    assert payloads["relabel"] == {
        "kind": "relabel",
        "answers": ["neutral", "contradiction", "entailment"],
        "comment": "Hm.",
        "shown": {
            "pairs": [
                [text, "A hypothesis."] for text in ("First reading.", "A distractor.", "Second reading.")
            ],
            "side": "premise",
            "distractors": [1],
        },
        "person": True,
        "private": ["answers", "comment"],
        "shown_at": "2026-01-02T03:04:05.000+00:00",
        "keys_used": True,
    }
    for turn in one.turns:
        told = {"answer", "answers", "correct", "comment"} & turn.payload.keys()
        assert told <= set(turn.payload["private"])
    assert json.loads(json.dumps([turn.payload for turn in one.turns])) == [t.payload for t in one.turns]


@pytest.mark.parametrize("task", ["crowd", "evaluate", "annotate", "true_false"])
def test_nothing_of_a_later_step_is_in_a_view(person, items, form, study, qualification, task):
    one = person(items[task], **study)
    texts = [*(text for q in qualification.questions for text in (q.premise, q.hypothesis)), *of(items[task])]
    seen = ""
    while one.kind:
        view = one.view
        allowed = set(expected_texts(items[task], one, qualification))
        for text in texts:
            # The sentences are made so that none is a part of another.
            assert (text in repr(view)) == (text in allowed), (view.stage, text)
        # The blocks are made of what else is in the view.
        for label in ("entailment", "contradiction", "neutral"):
            assert label not in repr(replace(view, earlier=(), blocks=()))
        assert page_blocks(replace(view, blocks=())) == view.blocks or view.due.kind == "annotate"
        seen += repr(view)
        one.submit(form(one.kind))
    assert all(text in seen for text in texts)


def of(item):
    if item.task == "true_false":
        return [one.text for one in statements(item)]
    if item.task == "annotate":
        return [item.example.premise, item.example.hypothesis]
    whole = [] if item.task == "evaluate" else [item.sentence]
    return [*whole, item.hypothesis, *(one.sentence for one in item.candidates)]


def expected_texts(item, one, qualification):
    done = len(one.turns)
    match one.kind:
        case "qualification":
            question = qualification.questions[done - 2]
            return [question.premise, question.hypothesis]
        case "label":
            return [item.premise, item.hypothesis]
        case "plausible":
            return [item.sentence, *(each.sentence for each in item.candidates)]
        case "relabel":
            return [item.hypothesis, *(each.sentence for each in item.candidates)]
        case "annotate":
            return [item.example.premise, item.example.hypothesis]
        case "true_false":
            step = one_seat.step_due(MACHINE.context(one.live), one.state["task"])
            return [statements(item)[step.number].text]
    return []


def test_statements_come_in_an_order_of_the_episodes_own(person, items, form):
    def order(seed):
        one = person(items["true_false"], seed=seed)
        through(one, form)
        return [turn.payload["number"] for turn in one.turns[1:]]

    assert sorted(order(1)) == list(range(8))
    assert order(1) == order(1)
    assert len({tuple(order(seed)) for seed in range(5)}) == 5


def test_no_consent(person, items, run):
    one = person(items["crowd"], study=True)
    one.submit(Reply(text="no"))
    assert (one.kind, one.view.stage) == ("", "done")
    with pytest.raises(SeatError, match="not the annotator's turn"):
        one.submit(Reply(text="yes"))


@pytest.mark.parametrize(("labels", "good"), [("nnn", True), ("nnc", True), ("ncc", False), ("ccc", False)])
async def test_the_qualification(person, items, form, study, labels, good):
    one = person(items["crowd"], **study)
    names = {"n": "neutral", "c": "contradiction"}
    for letter in labels:
        while one.kind != "qualification":
            one.submit(form(one.kind))
        one.submit(Reply(move={"label": names[letter]}))
    assert one.kind == ("label" if good else "")
    if not good:
        with pytest.raises(SeatError, match="qualify") as caught:
            await PEOPLE.advance(one.live, one.state)
        assert caught.value.code == "screened_out"
    else:
        await PEOPLE.advance(one.live, one.state)


@pytest.mark.parametrize(
    ("kind", "reply", "code"),
    [
        ("consent", Reply(text="maybe"), "consent"),
        ("qualification", Reply(move={"label": "no label"}), "label"),
        ("label", Reply(), "label"),
        ("label", Reply(move={"label": ["neutral"]}), "label"),
        ("plausible", Reply(move={"plausible": [True, True]}), "plausible"),
        ("plausible", Reply(move={"plausible": [True, True, "yes"]}), "plausible"),
        ("plausible", Reply(move={"plausible": "yes"}), "plausible"),
        ("relabel", Reply(move={"labels": ["neutral"] * 4}), "relabel"),
        ("relabel", Reply(move={"labels": ["neutral", "maybe", "neutral"]}), "relabel"),
        ("relabel", Reply(move={"labels": ["neutral"] * 3, "comment": 3}), "malformed"),
        ("relabel", Reply(move={"labels": ["neutral"] * 3, "comment": "x" * (LONGEST + 1)}), "too_long"),
        ("label", Reply(move={"label": "neutral", "shown_at": "yesterday"}), "malformed"),
        ("label", Reply(move={"label": "neutral", "keys_used": "yes"}), "malformed"),
    ],
)
def test_invalid_forms_are_not_logged(person, items, form, study, kind, reply, code):
    one = person(items["crowd"], **study)
    while one.kind != kind:
        one.submit(form(one.kind))
    before = len(one.turns)
    with pytest.raises(SeatError) as caught:
        one.submit(reply)
    assert (caught.value.code, caught.value.cause) == (code, "annotator")
    assert len(one.turns) == before
    one.submit(form(kind))


def test_a_linguists_form(person, items, form):
    one = person(items["annotate"])
    one.submit(form("ready"))
    view = one.view
    assert (view.shown.premise, view.shown.hypothesis) == ("premise 7 whole", "hypothesis 7 whole")
    good = form("annotate")
    one_changed = [{**good.move["rewrites"][0]}, {**good.move["rewrites"][1], "premise": "premise 7 whole"}]
    with pytest.raises(FormError) as caught:
        one.submit(Reply(move={**good.move, "rewrites": one_changed}))
    assert [(problem.code, problem.field) for problem in caught.value.problems] == [
        ("one_changed", "premise")
    ]
    assert caught.value.code == "annotation"
    assert "one_changed" in str(caught.value)
    with pytest.raises(SeatError) as caught:
        one.submit(Reply(move={"labels": ["nothing"]}))
    assert caught.value.code == "malformed"
    long = [{**each, "premise": each["premise"] * LONGEST} for each in good.move["rewrites"]]
    with pytest.raises(SeatError) as caught:
        one.submit(Reply(move={**good.move, "rewrites": long}))
    assert caught.value.code == "too_long"
    turn = one.submit(good)
    assert turn.text == "entailment, neutral"
    assert turn.payload["shown"] == {"premise": "premise 7 whole", "hypothesis": "hypothesis 7 whole"}
    assert set(turn.payload["private"]) == {"discard", "labels", "rewrites", "comment"}
    assert read_annotation(turn.payload).labels == {"neutral", "entailment"}
    assert [one["label"] for one in turn.payload["rewrites"]] == ["neutral", "entailment"]


def test_discarding(person, items, form):
    one = person(items["annotate"])
    one.submit(form("ready"))
    turn = one.submit(Reply(move={"discard": "not_fluent", "labels": [], "rewrites": [], "comment": ""}))
    assert (turn.text, turn.payload["discard"]) == ("discarded (not_fluent)", "not_fluent")


def test_what_a_result_shows(person, items, form):
    one = person(items["crowd"])
    through(one, form)
    verdict, *cards = MACHINE.replay(items["crowd"], one.turns, ()).blocks
    assert (verdict.heading.fields["correct"], verdict.heading.fields["of"], len(cards)) == (2, 2, 2)
    one = person(items["annotate"])
    through(one, form)
    verdict, *cards = MACHINE.replay(items["annotate"], one.turns, ()).blocks
    assert (verdict.heading.name, len(cards)) == ("result.annotate_same", 3)
    one = person(items["true_false"])
    through(one, form)
    verdict, *cards = MACHINE.replay(items["true_false"], one.turns, ()).blocks
    assert (verdict.heading.fields["correct"], verdict.heading.fields["of"], len(cards)) == (4, 8, 1)
    with pytest.raises(InputError, match="not a task for people"):
        MACHINE.replay(items["nli"], (), ())


def test_options():
    with pytest.raises(InputError, match="language"):
        Options.read({"language": "fr"})
    with pytest.raises(InputError, match="top_p"):
        Options.read({"top_p": 0})
    with pytest.raises(InputError, match="pass is 4"):
        Options.read({"qualification": {"questions": [], "pass": 4}})
    with pytest.raises(InputError, match=r"questions\[0\].label is missing"):
        Options.read({"qualification": {"questions": [{"premise": "p", "hypothesis": "h"}], "pass": 1}})
    with pytest.raises(InputError, match="questions"):
        Options.read({"qualification": {"pass": 0}})
