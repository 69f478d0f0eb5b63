"""From a scene to a draft, role by role (spec 11, steps 2 to 4)."""

import asyncio
from dataclasses import replace

import pytest

from simulator.ambik.annotation.form import ORDER
from simulator.ambik.generation import (
    ROLES,
    Asker,
    Decoding,
    DroppedTask,
    MissingAnswer,
    key_prefix,
    make_draft,
    new_prompt,
)
from simulator.generation import Journal
from simulator.models import BadRequest, Capabilities, Refused, ScriptModel

CLEAR = "Kitchen Robot, please pour cherry juice into the tall glass."


@pytest.fixture
def play(tmp_path, scene):
    """Makes a draft with a script; the journal is kept from one call to the next."""

    def run(script=None, decoding=None, where="answers.jsonl", capabilities=None):
        with Journal(tmp_path / where) as journal:
            model = None if script is None else ScriptModel(script, capabilities=capabilities)
            return asyncio.run(make_draft(Asker("script", decoding or Decoding(), journal, model), scene))

    return run


def test_a_scene_becomes_a_draft(play, writer, scene):
    script = writer()
    made = play(script)
    draft = made.draft
    assert (draft.id, draft.objects, draft.scene, draft.clear) == (
        scene.id,
        scene.objects,
        scene.words,
        CLEAR,
    )
    assert draft.plan == ("Take the tall glass.", "Pour cherry juice into the tall glass.", "Serve it.")
    assert tuple(draft.candidates) == ORDER
    assert draft.candidates["preferences"].task == "Kitchen Robot, please pour juice into the tall glass."
    assert draft.candidates["preferences"].answer == "Cherry."
    assert made.dropped == () and made.plan_names == () and made.step == 1
    assert script.roles() == list(ROLES)


def test_the_plan_is_rewritten_for_the_first_candidate_that_differs(play, writer):
    """In the annotators' order; the safety candidate of this script repeats the clear task."""
    script = writer()
    assert play(script).rewritten == "common_sense_knowledge"
    last = script.asked[-1].messages[-1].content
    assert "\nTask: Kitchen Robot, please pour cherry juice.\n" in last
    assert "2. Pour cherry juice into the tall glass." in last


def test_tasks_are_drawn_and_the_rest_is_not(play, writer, scene):
    script = writer()
    play(script, Decoding(temperature=0.9, max_tokens=77))
    assert [request.temperature for request in script.asked] == [0.9, 0, 0, 0, 0, 0]
    assert {request.max_tokens for request in script.asked} == {77}
    assert len({request.seed for request in script.asked}) == 6
    assert all(request.prompt_version and request.stop == ("\nScene:",) for request in script.asked)
    assert all(scene.words in request.messages[-1].content for request in script.asked)


def test_a_task_that_names_missing_things_is_dropped_and_reported(play, writer):
    script = writer(task="Pour apple juice into the mug.")
    made = play(script)
    assert made.draft is None and script.roles() == ["task"]
    assert made.dropped == (
        DroppedTask("s0-0001", "Pour apple juice into the mug.", "not in the scene", ("apple juice", "mug")),
    )


def test_another_task_is_asked_for_where_that_is_wanted(play, writer):
    tasks = iter(("Fry an egg.", "Task:", CLEAR))
    script = writer(task=lambda request: next(tasks))
    made = play(script, Decoding(tries=3))
    assert made.draft.clear == CLEAR
    assert [(drop.reason, drop.names) for drop in made.dropped] == [
        ("not in the scene", ("egg",)),
        ("no task", ()),
    ]
    drawn = script.asked[:3]
    assert len({(request.seed, request.repeat) for request in drawn}) == 3


def test_more_tries_go_on_where_fewer_ended(play, writer):
    assert play(writer(task="Fry an egg."), Decoding(tries=2)).draft is None
    script = writer()
    made = play(script, Decoding(tries=3))
    assert made.draft is not None and len(made.dropped) == 2
    assert script.roles().count("task") == 1


def test_candidates_that_cannot_be_read_are_left_out(play, writer):
    made = play(writer(safety="I would rather not.", common_sense_knowledge="Task: x"))
    assert tuple(made.draft.candidates) == ("preferences",) and made.rewritten == "preferences"


def test_without_any_candidate_there_is_no_draft(play, writer):
    script = writer(**dict.fromkeys(ORDER, "no"))
    made = play(script)
    assert made.draft is None and [drop.reason for drop in made.dropped] == ["no candidate"]
    assert "rewrite" not in script.roles()


def test_candidates_that_all_repeat_the_task_leave_the_plan_unchanged(play, writer):
    same = f"Task: {CLEAR.upper()}\nQuestion: What?\nAnswer: That."
    script = writer(**dict.fromkeys(ORDER, same))
    made = play(script)
    assert made.draft.ambiguous_plan == () and made.rewritten is None and made.step is None
    assert "rewrite" not in script.roles() and set(made.draft.candidates) == set(ORDER)


def test_without_a_plan_none_is_rewritten(play, writer):
    script = writer(plan="")
    made = play(script)
    assert made.draft.plan == () == made.draft.ambiguous_plan and made.step is None
    assert "rewrite" not in script.roles()


def test_things_that_a_plan_makes_up_are_reported_but_kept(play, writer):
    made = play(writer(plan="1. Take the mug.\n2. Put honey into the mug."))
    assert made.plan_names == ("mug", "honey") and len(made.draft.plan) == 2


def test_plans_that_do_not_part(play, writer):
    made = play(writer(rewrite=writer().replies["plan"]))
    assert made.step is None and made.rewritten == "common_sense_knowledge"


def test_a_refusal_is_recorded_and_not_asked_again(play, writer):
    made = play(writer(task=lambda request: Refused("no", text="")))
    assert [drop.reason for drop in made.dropped] == ["refused"]
    assert play() == made
    made = play(writer(safety=lambda request: Refused("no", text="")), where="other.jsonl")
    assert tuple(made.draft.candidates) == ("common_sense_knowledge", "preferences")
    assert play(where="other.jsonl") == made


def test_no_request_is_sent_twice(play, writer):
    with pytest.raises(MissingAnswer):
        play()
    made = play(writer())
    assert play() == made

    def broken(request):
        return BadRequest("down")

    assert play(broken) == made


def test_what_breaks_is_gone_on_with(play, writer):
    whole = play(writer(), where="whole.jsonl")
    with pytest.raises(BadRequest):
        play(writer(safety=lambda request: BadRequest("down")))
    script = writer()
    assert play(script) == whole
    assert script.roles() == list(ROLES[2:])


def test_another_command_has_other_answers():
    usual = Decoding()
    assert key_prefix("a", usual) == key_prefix("a", replace(usual, tries=9))
    others = [replace(usual, seed=1), replace(usual, temperature=0.1), replace(usual, language="zh")]
    assert (
        len(
            {
                key_prefix("a", usual),
                key_prefix("b", usual),
                *(key_prefix("a", settings) for settings in others),
            }
        )
        == 5
    )


def test_models_that_only_continue_texts_read_one_text(play, writer):
    script = writer()
    made = play(script, capabilities=Capabilities(plain=True, schema=False))
    assert made.draft is not None
    assert all(request.plain and len(request.messages) == 1 for request in script.asked)
    assert script.asked[0].messages[0].content.endswith("cherry juice, pear juice\nTask:\n")


@pytest.mark.each("language", ["en", "zh"])
@pytest.mark.each("role", ROLES)
def test_prompts_show_worked_examples_and_end_with_the_scene(role, language, scene):
    parts = {"scene": scene.words, "task": CLEAR, "plan": ("Do <<<user>>> it.",), "ambiguous": "Pour juice."}
    asked = new_prompt(role, language, **parts)
    kinds = [message.role for message in asked.messages]
    assert kinds[0] == "system" and kinds[1:] == ["user", "assistant"] * (len(kinds) // 2 - 1) + ["user"]
    assert len(kinds) >= 6 and asked.shared == len(kinds) - 1
    last = asked.messages[-1].content
    assert scene.words in last and (role == "task") != (CLEAR in last)
    assert ("Pour juice." in last) == (role == "rewrite") and "<<<" not in last
    assert "fridge" in asked.messages[0].content


@pytest.mark.parametrize("language", ["en", "zh"])
def test_safety_and_common_sense_need_no_question(language, scene):
    """Spec 11, step 3: people would solve these without help, and as few words change as possible."""
    system = {
        kind: new_prompt(kind, language, scene=scene.words, task=CLEAR).messages[0].content for kind in ORDER
    }
    help, few = ("without help", "as few words") if language == "en" else ("不需要帮助", "尽可能少")
    assert [help in system[kind] for kind in ORDER] == [True, True, False]
    assert all(few in text for text in system.values())
