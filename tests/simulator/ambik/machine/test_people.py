"""People in the seats: stages, what they see and may do, and the log as the only memory."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from random import Random

import pytest
from kitchen_pages import seen
from served import doing

from simulator.ambik.annotation.form import PairFormError
from simulator.ambik.machine import MACHINE
from simulator.ambik.sessions import AmbikSessions
from simulator.ambik.show import reveal
from simulator.blocks import message
from simulator.errors import SeatError
from simulator.seats import Reply
from simulator.studies.machine import StudyMachine

PEOPLE = StudyMachine(MACHINE, AmbikSessions.outer_steps)
READY = Reply(text="ready")


async def test_a_person_as_robot(play, submit, item, act, ask):
    played = await play(item, "person", questions=1)
    view = played.view("robot")
    assert (doing(view), view.seat, seen(view).task, seen(view).scene, seen(view).options) == (
        "instructions",
        "robot",
        "",
        (),
        (),
    )
    played = await submit(played, "robot", READY)
    view = played.view("robot")
    assert (doing(view), view.number, seen(view).may_ask) == ("decide", 1, True)
    shown = seen(view)
    assert (shown.task, shown.step, shown.previous) == (
        "Carry a tray to the guests.", "Lift a tray.", ("Wash your grippers.",),
    )  # fmt: skip
    assert shown.scene == item.pair.objects and "oven" in shown.appliances
    assert sorted(shown.options) == sorted(item.options)
    played = await submit(played, "robot", ask("Figs or dates?", *item.options[:2]))
    payload = played.payload()
    assert (payload["method"], payload["offered"], payload["person"]) == (
        "person",
        list(seen(view).options),
        True,
    )
    assert payload["prediction_set"] == list(item.options[:2])
    view = played.view("robot")
    assert [(move.seat, move.text) for move in view.moves] == [
        ("robot", "Figs or dates?"),
        ("user", item.pair.answer),
    ]
    assert (doing(view), seen(view).may_ask) == ("decide", False)
    # Their words are held in their own turn alone.
    assert "question" not in played.payload("answer")
    played = await submit(played, "robot", act("Lift the figs and bow.", item.options[0]))
    assert doing(played.view("robot")) == "done"
    assert played.payload()["prediction_set"] == [item.options[0], "Lift the figs and bow."]
    verdict, went, meant, sets = reveal("robot", *MACHINE.replay(item, played.turns, ()))
    assert (verdict.heading.name, verdict.good) == ("result.heading.robot_asked_needed_wrong", False)
    # Nothing was held for the best before it asked, so nothing is said of that.
    talk, facts = went.blocks
    assert [move.text for move in talk.moves] == [
        item.instruction, "Figs or dates?", item.pair.answer,
    ]  # fmt: skip
    assert facts.rows[1:] == [
        (message("result.action_robot"), "Lift the figs and bow."),
        (message("result.was"), message("result.wrong")),
    ]
    meaning, _, intent, *_, kind = meant.blocks
    assert meaning.rows == [(message("result.wish"), item.pair.clear)]
    assert [*intent.texts] == ["fig tray", "− zzsecret"]
    assert kind.rows[0][0] == message("type.preferences")
    assert sets.blocks[1].rows[0][1] == item.options[:2]


async def test_until_the_end_a_robot_sees_nothing_of_the_answer(play, submit, item, ask):
    played = await play(item, "person", ["In the tray."] * 2, questions=2)
    for reply in (READY, ask("Which?"), ask("And which?")):
        assert (seen(played.view("robot")).wish, seen(played.view("robot")).detail) == ("", "")
        view = json.dumps(asdict(played.view("robot")), default=str).lower()
        assert not [word for word in ("zz", "preferences", "purple", "p1", "ambiguous") if word in view]
        played = await submit(played, "robot", reply)


async def test_a_person_marks_what_is_offered(play, submit, item, act):
    played = await submit(await play(item, "person"), "robot", READY)
    with pytest.raises(SeatError) as broken:
        await submit(played, "robot", act("Lift it.", "Something else."))
    assert broken.value.code == "not_offered"
    free = await submit(await play(replace(item, options=()), "person"), "robot", READY)
    free = await submit(free, "robot", act("Lift it.", "Something else."))
    assert free.payload()["chosen"] == ["Something else.", "Lift it."]


async def test_a_person_as_user(play, submit, item, act, ask):
    played = await play(item, [ask("Figs or dates?"), act("Lift the date tray.")], "person", questions=1)
    assert played.kinds == []
    assert (doing(played.view("user")), seen(played.view("user")).wish) == ("instructions", "")
    played = await submit(played, "user", READY)
    view = played.view("user")
    assert (doing(view), view.moves[-1].text, seen(view).wish) == (
        "answer",
        "Figs or dates?",
        item.pair.clear,
    )
    assert seen(view).detail == item.pair.answer
    assert seen(view).options == () and not seen(view).may_ask
    assert "zzsecret" not in json.dumps(asdict(view))
    with pytest.raises(SeatError):
        await submit(played, "user", Reply(text=" "))
    played = await submit(
        played, "user", Reply(text="Dates!", move={"shown_at": "2026-01-01T10:00:00+00:00"})
    )
    assert played.payload("answer")["question"] == "Figs or dates?"
    assert played.payload("answer")["shown_at"].startswith("2026-01-01T10:00:00")
    assert doing(played.view("user")) == "done"


async def test_two_people(play, submit, item, act, ask):
    played = await play(item, "person", "person", questions=1)
    assert (doing(played.view("robot")), doing(played.view("user"))) == ("instructions", "instructions")
    played = await submit(played, "robot", READY)
    assert (doing(played.view("robot")), doing(played.view("user"))) == ("gather", "instructions")
    played = await submit(played, "user", READY)
    played = await submit(played, "robot", ask("Which?"))
    assert (doing(played.view("robot")), doing(played.view("user"))) == ("wait", "answer")
    assert [move.text for move in played.view("robot").moves] == ["Which?"]
    with pytest.raises(SeatError):
        await submit(played, "robot", act("Lift it."))
    played = await submit(played, "user", Reply(text="Figs."))
    played = await submit(played, "robot", act("Lift the fig tray."))
    assert played.ending.status == "completed"
    assert MACHINE.setup({"robot": "person", "user": "person"}) == "H2H"
    assert MACHINE.setup({"robot": "model", "user": "person"}) == "L2H"
    assert MACHINE.setup({"annotator": "person"}) == "H2L"


async def test_in_a_study_consent_comes_first_and_only_once(play, submit, item, act):
    played = await play(item, "person", study=True)
    assert doing(played.view("robot")) == "consent"
    with pytest.raises(SeatError):
        await submit(played, "robot", Reply(text="maybe"))
    with pytest.raises(SeatError, match="consent"):
        await submit(await play(item, "person", study=True), "robot", Reply(text="no"))
    played = await submit(played, "robot", Reply(text="yes"))
    assert doing(played.view("robot")) == "instructions"
    further = await play(item, "person", study=True, begun=True)
    assert doing(further.view("robot")) == "decide"


async def test_without_the_plan_a_person_sees_scene_and_step(play, submit, item):
    played = await submit(await play(item, "person", context="action_only"), "robot", READY)
    view = played.view("robot")
    assert (seen(view).task, seen(view).previous, seen(view).step) == ("", (), "Lift a tray.")


async def test_an_annotator_sees_the_draft_once_the_guidelines_are_read(play, submit, draft):
    played = await play(draft, annotator="person", task="annotate")
    assert (doing(played.view("annotator")), seen(played.view("annotator")).fields) == ("instructions", {})
    played = await submit(played, "annotator", READY)
    assert doing(played.view("annotator")) == "annotate"
    assert seen(played.view("annotator")).fields["clear"] == draft.draft.clear
    played = await submit(played, "annotator", Reply(move={"delete": "absurd"}))
    assert played.payload("annotate")["private"] == ["form", "problems"]
    verdict, form = reveal("annotator", *MACHINE.replay(draft, played.turns, ()))
    assert verdict.heading == message("result.heading.deleted")
    assert (message("field.delete"), "absurd") in form.blocks[0].rows


async def test_two_people_read_at_the_same_time_and_see_nothing_before_both_are_through(play, submit, item):
    for first, second in (("robot", "user"), ("user", "robot")):
        begun = await submit(await play(item, "person", "person", questions=1), first, READY)
        for seat in ("robot", "user"):
            view = begun.view(seat)
            shown = seen(view)
            assert (shown.opening, shown.scene, shown.step, shown.wish, shown.detail) == ((), (), "", "", "")
        with pytest.raises(SeatError):
            await submit(begun, first, READY)
        both = await submit(begun, second, READY)
        assert (doing(both.view("robot")), doing(both.view("user"))) == ("decide", "wait")
        assert seen(both.view("user")).wish == item.pair.clear


async def test_the_log_is_the_state_after_any_replies(play, submit, item, act, ask):
    """Any sequence of submissions, good and bad: what is rebuilt after each is what the machine has."""
    for seed in range(25):
        random = Random(seed)
        people = random.choice([("robot",), ("user",), ("robot", "user")])
        robot = "person" if "robot" in people else [ask("Which?"), ask("Which one?"), act("Lift it.")]
        user = "person" if "user" in people else "offline/item"
        questions = random.choice([1, 2]) if "user" in people else random.choice([0, 1, 2])
        if robot != "person":
            questions = 2
        played = await play(item, robot, user, questions=questions)
        for _ in range(30):
            if played.ending is not None:
                break
            seat = random.choice(("robot", "user"))
            reply = random.choice(
                [
                    READY,
                    Reply(text="The figs."),
                    act("Lift it."),
                    ask("Which tray?", item.options[0]),
                    ask(" "),
                ]
            )
            before = list(played.turns)
            try:
                played = await submit(played, seat, reply)
            except SeatError:
                assert played.turns == before
                continue
            rebuilt = PEOPLE.rebuild(played.turns)
            assert rebuilt["said"] == played.state["said"]
            assert len(rebuilt["said"]) == len(played.turns) > len(before)
            assert [turn.number for turn in played.turns] == list(range(len(played.turns)))
            # A killed process that reads the log goes on where this one is.
            again = await play(item, robot, user, turns=tuple(played.turns), questions=questions)
            assert again.turns == played.turns
            assert PEOPLE.due(again.live, again.state) == PEOPLE.due(played.live, played.state)
        asked = sum(bool(turn.payload.get("asks")) for turn in played.turns)
        assert asked <= max(questions, 1)


async def test_a_form_that_breaks_rules_is_named_field_by_field_and_can_be_mended(play, submit, draft):
    played = await submit(await play(draft, annotator="person", task="annotate"), "annotator", READY)
    before = list(played.turns)
    with pytest.raises(PairFormError) as broken:
        await submit(played, "annotator", Reply(move={"ambiguous": "Fill it."}))
    assert {"type", "question", "intent"} <= {problem.field for problem in broken.value.problems}
    assert played.turns == before
    mended = {
        "type": "preferences",
        "passed_over": "Nothing is dangerous here.",
        "one_ambiguity": True,
        "indirect": "Fill the thing to drink from.",
        "ambiguous": "Fill one.",
        "question": "Which one?",
        "answer": "The mug.",
        "objects": ["mug", "jar"],
        "clear_plan": ["Fetch the mug.", "Fill it."],
        "ambiguous_plan": ["Fetch one.", "Fill it."],
        "step": 0,
        "shortlist": ["mug", "jar"],
        "intent": "mug",
        "variants": ["mug", "jar"],
    }
    played = await submit(played, "annotator", Reply(move=mended))
    payload = played.payload("annotate")
    assert payload["form"] == {
        "delete": "",
        "comment": "",
        "clear": "Fill the mug.",
        "scene": "a mug, a jar",
        **mended,
    }
    assert all(problem["level"] != "error" for problem in payload["problems"])


async def test_rules_that_a_model_breaks_are_logged(play, draft):
    form = Reply(move={"type": "preferences", "ambiguous": "Fill it."})
    payload = (await play(draft, annotator=[form], task="annotate")).payload("annotate")
    assert {"question", "intent"} <= {
        problem["field"] for problem in payload["problems"] if problem["level"] == "error"
    }
