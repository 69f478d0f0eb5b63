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


def through(player, form, **answers):
    """Play to the end and return the kinds of the steps."""
    kinds = []
    while kind := player.kind:
        kinds.append(kind)
        assert player.stage == STAGES.get(kind, kind)
        player.submit(answers.get(kind) or form(kind))
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
    item, player = items["crowd"], person(items["crowd"], **study)
    view = player.view
    assert (view.stage, view.done, view.total, view.study, view.shown.premise) == ("consent", 0, 6, True, "")
    player.submit(form("consent"))
    assert player.view.stage == "instructions"
    player.submit(form("ready"))
    view = player.view
    assert (view.shown.premise, view.shown.hypothesis, view.done) == ("q-premise 0", "q-hypothesis 0", 0)
    for label in ("neutral", "contradiction", "neutral"):
        turn = player.submit(Reply(move={"label": label}))
        right = label == "neutral"
        assert (turn.payload["answer"], turn.payload["gold"]) == (label, "neutral")
        assert turn.payload["correct"] == right
    view = player.view
    assert (view.due.kind, view.done, view.number) == ("label", 3, 5)
    assert (view.shown.premise, view.shown.hypothesis, view.shown.sentence) == (
        item.premise,
        item.hypothesis,
        "",
    )
    player.submit(form("label"))
    view = player.view
    assert (view.shown.sentence, view.shown.premise, view.shown.hypothesis) == (item.sentence, "", "")
    assert view.shown.candidates == ("First reading.", "A distractor.", "Second reading.")
    assert view.earlier == (("label", "neutral"),)
    turn = player.submit(form("plausible"))
    assert turn.payload["shown"]["distractors"] == [1]
    view = player.view
    assert view.shown.pairs == tuple(item.pair(place) for place in range(3))
    assert (view.shown.side, view.shown.candidates, view.shown.sentence) == ("premise", (), "")
    assert view.earlier == (
        ("label", "neutral"),
        ("First reading.", "yes"),
        ("A distractor.", "no"),
        ("Second reading.", "yes"),
    )
    player.submit(form("relabel"))
    assert (player.stage, player.view.done, player.view.total) == ("done", 6, 6)
    assert PEOPLE.ending(player.live, player.state).status == "completed"


def test_a_person_leaves_behind(person, items, form, study):
    player = person(items["crowd"], **study)
    more = {"shown_at": "2026-01-02T03:04:05Z", "keys_used": True}
    while kind := player.kind:
        reply = form(kind)
        player.submit(replace(reply, move={**(reply.move or {}), **more}, key=f"k{len(player.turns)}"))
    payloads = {turn.payload["kind"]: turn.payload for turn in player.turns}
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
    for turn in player.turns:
        sensitive = {"answer", "answers", "correct", "comment"} & turn.payload.keys()
        assert sensitive <= set(turn.payload["private"])
    assert json.loads(json.dumps([turn.payload for turn in player.turns])) == [
        t.payload for t in player.turns
    ]


@pytest.mark.parametrize("task", ["crowd", "evaluate", "annotate", "true_false"])
def test_nothing_of_a_later_step_is_in_a_view(person, items, form, study, qualification, task):
    player = person(items[task], **study)
    texts = [
        *(text for q in qualification.questions for text in (q.premise, q.hypothesis)),
        *item_texts(items[task]),
    ]
    seen = ""
    while player.kind:
        view = player.view
        allowed = set(expected_texts(items[task], player, qualification))
        for text in texts:
            # The sentences are made so that none is a part of another.
            assert (text in repr(view)) == (text in allowed), (view.stage, text)
        # The blocks are made of what else is in the view.
        for label in ("entailment", "contradiction", "neutral"):
            assert label not in repr(replace(view, earlier=(), blocks=()))
        assert page_blocks(replace(view, blocks=())) == view.blocks or view.due.kind == "annotate"
        seen += repr(view)
        player.submit(form(player.kind))
    assert all(text in seen for text in texts)


def item_texts(item):
    if item.task == "true_false":
        return [statement.text for statement in statements(item)]
    if item.task == "annotate":
        return [item.example.premise, item.example.hypothesis]
    whole = [] if item.task == "evaluate" else [item.sentence]
    return [*whole, item.hypothesis, *(candidate.sentence for candidate in item.candidates)]


def expected_texts(item, player, qualification):
    done = len(player.turns)
    match player.kind:
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
            step = one_seat.step_due(MACHINE.context(player.live), player.state["task"])
            return [statements(item)[step.number].text]
    return []


def test_statements_come_in_an_order_of_the_episodes_own(person, items, form):
    def order(seed):
        player = person(items["true_false"], seed=seed)
        through(player, form)
        return [turn.payload["number"] for turn in player.turns[1:]]

    assert sorted(order(1)) == list(range(8))
    assert order(1) == order(1)
    assert len({tuple(order(seed)) for seed in range(5)}) == 5


def test_no_consent(person, items, run):
    player = person(items["crowd"], study=True)
    player.submit(Reply(text="no"))
    assert (player.kind, player.view.stage) == ("", "done")
    with pytest.raises(SeatError, match="not the annotator's turn"):
        player.submit(Reply(text="yes"))


@pytest.mark.parametrize(("labels", "good"), [("nnn", True), ("nnc", True), ("ncc", False), ("ccc", False)])
async def test_the_qualification(person, items, form, study, labels, good):
    player = person(items["crowd"], **study)
    names = {"n": "neutral", "c": "contradiction"}
    for letter in labels:
        while player.kind != "qualification":
            player.submit(form(player.kind))
        player.submit(Reply(move={"label": names[letter]}))
    assert player.kind == ("label" if good else "")
    if not good:
        with pytest.raises(SeatError, match="qualify") as caught:
            await PEOPLE.advance(player.live, player.state)
        assert caught.value.code == "screened_out"
    else:
        await PEOPLE.advance(player.live, player.state)


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
    player = person(items["crowd"], **study)
    while player.kind != kind:
        player.submit(form(player.kind))
    before = len(player.turns)
    with pytest.raises(SeatError) as caught:
        player.submit(reply)
    assert (caught.value.code, caught.value.cause) == (code, "annotator")
    assert len(player.turns) == before
    player.submit(form(kind))


def test_a_linguists_form(person, items, form):
    player = person(items["annotate"])
    player.submit(form("ready"))
    view = player.view
    assert (view.shown.premise, view.shown.hypothesis) == ("premise 7 whole", "hypothesis 7 whole")
    good = form("annotate")
    one_changed = [{**good.move["rewrites"][0]}, {**good.move["rewrites"][1], "premise": "premise 7 whole"}]
    with pytest.raises(FormError) as caught:
        player.submit(Reply(move={**good.move, "rewrites": one_changed}))
    assert [(problem.code, problem.field) for problem in caught.value.problems] == [
        ("one_changed", "premise")
    ]
    assert caught.value.code == "annotation"
    assert "one_changed" in str(caught.value)
    with pytest.raises(SeatError) as caught:
        player.submit(Reply(move={"labels": ["nothing"]}))
    assert caught.value.code == "malformed"
    long = [{**each, "premise": each["premise"] * LONGEST} for each in good.move["rewrites"]]
    with pytest.raises(SeatError) as caught:
        player.submit(Reply(move={**good.move, "rewrites": long}))
    assert caught.value.code == "too_long"
    turn = player.submit(good)
    assert turn.text == "entailment, neutral"
    assert turn.payload["shown"] == {"premise": "premise 7 whole", "hypothesis": "hypothesis 7 whole"}
    assert set(turn.payload["private"]) == {"discard", "labels", "rewrites", "comment"}
    assert read_annotation(turn.payload).labels == {"neutral", "entailment"}
    assert [player["label"] for player in turn.payload["rewrites"]] == ["neutral", "entailment"]


def test_discarding(person, items, form):
    player = person(items["annotate"])
    player.submit(form("ready"))
    turn = player.submit(Reply(move={"discard": "not_fluent", "labels": [], "rewrites": [], "comment": ""}))
    assert (turn.text, turn.payload["discard"]) == ("discarded (not_fluent)", "not_fluent")


def test_what_a_result_shows(person, items, form):
    player = person(items["crowd"])
    through(player, form)
    verdict, *cards = MACHINE.replay(items["crowd"], player.turns, ()).blocks
    assert (verdict.heading.fields["correct"], verdict.heading.fields["of"], len(cards)) == (2, 2, 2)
    player = person(items["annotate"])
    through(player, form)
    verdict, *cards = MACHINE.replay(items["annotate"], player.turns, ()).blocks
    assert (verdict.heading.name, len(cards)) == ("result.annotate_same", 3)
    player = person(items["true_false"])
    through(player, form)
    verdict, *cards = MACHINE.replay(items["true_false"], player.turns, ()).blocks
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
