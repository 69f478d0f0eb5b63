"""Studies through the log: the participants' steps as seeker and provider, and reports on them."""

from __future__ import annotations

from dataclasses import replace

import pytest
from served import Server
from shown_blocks import tree_states
from task_files import write_yaml

from simulator import asking, frames
from simulator.clarq.assignment import DialogueStudy
from simulator.clarq.benchmark import BENCHMARK
from simulator.clarq.benchmark import BENCHMARK as CLARQ
from simulator.clarq.data import load_items, read_item
from simulator.clarq.runs import judge_run
from simulator.clarq.score import SUCCESS, score_run
from simulator.clarq.sessions import ClarqSessions
from simulator.clarq.show import replay, result
from simulator.commands.compare import comparison
from simulator.errors import ConflictError, InputError, SeatError
from simulator.models import ScriptModel
from simulator.reports import run_summary
from simulator.seats import Reply
from simulator.studies import Study
from simulator.studies.known import builtin_studies, needs_opposite

LANGUAGES = ("en", "zh", "fr")
ASKED = ("How is the task done?", "Which of them should I use?", "Where is that?")
HARD = {
    "id": "hard",
    "text": {"en": "Was it hard?", "zh": "难吗？"},
    "kind": "number",
    "when": "after",
}


def study(seat="seeker", **more):
    settings = {"items": 2, "languages": ["en", "zh"], **more.pop("settings", {})}
    given = {
        "id": "s",
        "title": "T",
        "benchmark": "clarq",
        "seat": seat,
        "setup": "H2L" if seat == "seeker" else "L2H",
        "settings": settings,
        "judgments_per_item": 2,
        "sets_per_participant": 2,
        "completion_codes": {"complete": "C", "returned": "R"},
        "seed": 3,
    }
    return Study(**{**given, **more})


async def test_a_language_without_tasks_uses_the_english_ones(server):
    items = [(await server.sessions.draw_item({}, "seeker", {}, 1, each)).item for each in LANGUAGES]
    assert [item.language for item in items] == ["en", "zh", "en"]


@pytest.fixture
def server(log_path):
    def make(writer, reader, studies):
        return ClarqSessions(CLARQ, writer, reader, lambda name: ScriptModel(str), studies=studies, env={})

    server = Server(log_path, make, read_item)
    yield server
    server.stop()


async def answer(server, episode, seat, text="", **move):
    view = await server.sessions.view(episode, seat)
    reply = Reply(text=text, move=move or None, key=f"{view.number}.{text}")
    return await server.sessions.submit(episode, seat, reply, number=view.number)


async def enter(server, who="ann", language="en"):
    entry = await server.sessions.enter("s", identity={}, participant_key=who, language=language)
    return entry.episode_id


async def seek(server, episode, *lines):
    for line in ("yes", "ready", *ASKED, *lines, "Goodbye!"):
        view = await answer(server, episode, "seeker", line)
    return view


async def test_whoever_seeks_goes_from_consent_to_code(server):
    server.again(study(texts={"debriefing": "Thanks."}))
    episode = await enter(server)
    stages = []
    for line in ("yes", "ready", *ASKED, "Goodbye!", "read"):
        view = await server.sessions.view(episode, "seeker")
        stages.append(view.stage)
        if view.stage in ("consent", "instructions"):
            assert view.moves == (), "Jax greets once the instructions are read"
        view = await answer(server, episode, "seeker", line)
    assert stages == ["consent", "instructions", *["task"] * 4, "debriefing"]
    assert (view.stage, view.study, view.first) == ("done", True, 2)
    assert [turn.number for turn in server.reader.turns(episode)] == list(range(2 + 8 + 1))
    assert server.sessions.completion(episode).code == "C"
    assert server.reader.run("study-s").setup == "H2L"
    with pytest.raises(ConflictError):
        await server.sessions.replay(episode, "seeker")


async def test_a_study_s_dialogue_is_read_like_any_other(server):
    """Steps before and after the dialogue are logged but not counted."""
    server.again(study(questions=[HARD], settings={"items": 1, "show_result": True}))
    episode = await enter(server)
    await seek(server, episode)
    await answer(server, episode, "seeker", answers={"hard": "4"})
    item, turns = server.item(episode), server.reader.turns(episode)
    assert [turn.payload.get("kind") for turn in turns][:2] == ["consent", "ready"]
    bare = [replace(turn, number=n) for n, turn in enumerate(turns[2:-1])]
    shown = replay(item, bare)
    assert shown == replay(item, turns)
    assert await server.sessions.replay(episode, "seeker") == result(shown, "seeker", judges=False)
    assert (shown.steps[0].turn.number, shown.steps[0].turn.seat) == (0, "provider")
    (scored,) = score_run(server.reader, "study-s")
    logged = {row.metric: row.value for row in server.reader.scores(run_id="study-s")}
    assert logged == {"success": scored.scores.success, "aqd": scored.scores.aqd, "aql": scored.scores.aql}
    assert scored.scores.responses == 3
    (frame,) = frames.episodes(server.reader, ["study-s"]).to_dict("records")
    assert (frame["seat.seeker"], frame["answer.hard"], frame["aqd"]) == ("person", 4.0, scored.scores.aqd)
    (record,) = asking.read_asking(server.reader, ["study-s"]).askings
    assert record.record.questions == 2
    assert run_summary(server.reader, BENCHMARK, ["study-s"]).sections


async def test_a_killed_server_resumes_where_it_stopped(server):
    held = study(settings={"items": 1, "turn_limit": 2})
    server.again(held)
    episode = await enter(server)
    for line in ("yes", "ready", ASKED[0]):
        before = await answer(server, episode, "seeker", line)
    server.again()
    assert await server.sessions.view(episode, "seeker") == before
    assert await enter(server) == episode
    again = Reply(text=ASKED[0], key=f"{before.number - 2}.{ASKED[0]}")
    assert await server.sessions.submit(episode, "seeker", again) == before, "the same turn counts once"
    view = await answer(server, episode, "seeker", ASKED[1])
    assert (view.ending.status, view.stage) == ("truncated", "done")


async def test_further_sets_ask_for_no_consent_and_are_other_tasks(server):
    server.again(study())
    first = await enter(server)
    await seek(server, first)
    second = (await server.sessions.next_set(first)).episode_id
    view = await server.sessions.view(second, "seeker")
    assert (view.stage, view.my_turn, view.first, len(view.moves)) == ("task", True, 0, 1)
    assert server.item(first).id != server.item(second).id
    assert server.sessions.sets(second)[:2] == (1, 2)


async def test_participants_play_in_their_own_language(server):
    server.again(study(settings={"items": 1}))
    english, chinese = await enter(server), await enter(server, "ben", "zh")
    assert server.item(english).id == server.item(chinese).id
    assert (server.item(english).language, server.item(chinese).language) == ("en", "zh")
    view = await server.sessions.view(chinese, "seeker")
    assert view.language == "zh"


async def test_whoever_provides_gives_nodes_and_judges(server):
    server.again(study("provider", settings={"items": 1}))
    episode = await enter(server)
    for line in ("yes", "ready"):
        view = await answer(server, episode, "provider", line)
    assert (view.my_turn, tree_states(view)["0"], view.first) == (True, "available", 2)
    view = await answer(server, episode, "provider", give=["0"])
    while view.stage == "task":
        node = next((index for index, state in tree_states(view).items() if state == "available"), "")
        move = {"give": [node]} if node else {"text": "That is all there is to it."}
        view = await answer(server, episode, "provider", **move)
    assert (view.stage, view.ending) == ("verdict", None)
    with pytest.raises(SeatError, match="yes or no"):
        await answer(server, episode, "provider", "perhaps")
    view = await answer(server, episode, "provider", "yes")
    assert view.stage == "done"
    for _ in range(2):
        await server.sessions.view(episode, "provider")
    (verdict,) = server.reader.judgments(episode_id=episode, kind=SUCCESS)
    assert (verdict.annotator, verdict.value) == ("provider", {"success": True})
    assert server.reader.run("study-s").setup == "L2H"
    (scored,) = score_run(server.reader, "study-s")
    assert scored.scores.success


async def test_the_provider_of_a_pair_judges_their_dialogue(server):
    """A participant's own episode has only their steps of the study; the dialogue is another episode."""
    seats = {"seat": "", "seats": ["seeker", "provider"], "setup": "H2H", "sets_per_participant": 1}
    server.again(study(**seats, questions=[HARD]))
    sets = [await enter(server, who) for who in ("ann", "ben")]
    seats = {server.reader.episode(episode).options["seat"]: episode for episode in sets}
    for seat, episode in seats.items():
        for line in ("yes", "ready"):
            await answer(server, episode, seat, line)
    for seat, line in (("seeker", "How?"), ("provider", "Well."), ("seeker", "Goodbye!")):
        await answer(server, seats[seat], seat, line)
    view = await server.sessions.view(seats["provider"], "provider")
    assert (view.stage, [move.text for move in view.moves][1:]) == ("verdict", ["How?", "Well.", "Goodbye!"])
    # Directly after the dialogue; the study's own questions follow.
    await answer(server, seats["provider"], "provider", "no")
    await answer(server, seats["provider"], "provider", answers={"hard": "4"})
    await server.sessions.view(seats["provider"], "provider")
    (dialogue,) = server.reader.episodes("study-s")
    (verdict,) = server.reader.judgments(kind=SUCCESS)
    assert (verdict.episode_id, verdict.value) == (dialogue.id, {"success": False})


async def test_dialogues_of_participants_who_leave_do_not_count(server):
    server.again(study())
    declined, withdrawn = await enter(server), await enter(server, "ben")
    await answer(server, declined, "seeker", "no")
    for line in ("yes", "ready", ASKED[0]):
        await answer(server, withdrawn, "seeker", line)
    await server.sessions.withdraw(withdrawn)
    assert server.reader.ending(withdrawn).message == "The participant withdrew."
    assert score_run(server.reader, "study-s") == ()


async def test_free_play_asks_for_nothing(server):
    server.again(study())
    others = {"provider": "offline/experts"}
    episode = await server.sessions.start(seat="seeker", others=others, rules={}, item=1)
    view = await server.sessions.view(episode, "seeker")
    assert (view.stage, view.number, view.study, view.my_turn) == ("task", 1, False, True)


async def test_a_run_of_people_is_compared_with_one_of_models_by_item(server):
    server.again(study(settings={"items": 1}))
    episode = await enter(server)
    await seek(server, episode)
    seats = {"seeker": "offline/seeker", "provider": "offline/experts"}
    await server.sessions.start_item(server.item(episode), seats, run_id="models")
    report = comparison(server.reader, ["study-s", "models"])
    assert "1" in str(report) and "study-s" in str(report)
    assert await judge_run(server.reader, server.writer, "study-s", ScriptModel(lambda request: None)) == 0


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"setup": "H2H"}, "setup must be H2L"),
        ({"seat": "provider", "setup": "H2L"}, "setup must be L2H"),
        ({"settings": {"opposite": "person"}}, "opposite is a person"),
        ({"settings": {"opposite": "offline/seeker"}}, "opposite: 'offline/seeker' cannot sit"),
        ({"settings": {"opposite": "nobody/x"}}, "opposite: unknown model 'nobody/x'"),
        ({"settings": {"opposite": "experts:walk=nobody/x"}}, "opposite: unknown model 'nobody/x'"),
        ({"settings": {"opposite": "script:nowhere.yaml"}}, "opposite: nowhere.yaml: cannot be read"),
        ({"settings": {"turn_limit": 0}}, "turn_limit"),
        ({"settings": {"types": [99]}}, "contain no task|99"),
        ({"settings": {"data": "nowhere"}}, "nowhere"),
        ({"settings": {"hurry": True}}, "hurry"),
    ],
)
def test_faulty_study_settings_are_reported(change, message):
    with pytest.raises(InputError, match=message):
        DialogueStudy(study(**change)).check()


def test_models_opposite_are_asked_for_what_their_seat_needs():
    def needs(seat, opposite):
        held = study(seat, settings={"opposite": opposite})
        DialogueStudy(held).check()
        return {name: need.schema for name, need in needs_opposite(held).items()}

    assert needs("seeker", "openai/llama@http://host/v1") == {"openai/llama@http://host/v1": True}
    assert needs("provider", "openai/gpt-4o") == {"openai/gpt-4o": False}
    assert needs("seeker", "experts:type=offline/experts,walk=openai/gpt-4o") == {"openai/gpt-4o": True}
    assert needs("seeker", "") == {}


def test_a_task_that_one_language_lacks_is_named(tmp_path):
    english = load_items()[:1]
    write_yaml(tmp_path / "tasks.yaml", [*english, *load_items(language="zh", types=[2])])
    held = study(settings={"data": str(tmp_path), "items": None})
    with pytest.raises(InputError, match=f"{english[0].id} does not exist in language zh"):
        DialogueStudy(held).check()
    DialogueStudy(study(settings={"data": str(tmp_path), "languages": ["en"]})).check()


def test_built_in_studies_are_of_both_seats():
    held = {study.id: DialogueStudy(study) for study in builtin_studies("clarq")}
    for material in held.values():
        material.check()
    assert {name: material.seating for name, material in held.items()} == {
        "clarq-h2h": {"seeker": "person", "provider": "person"},
        "clarq-h2l": {"seeker": "person", "provider": "offline/experts"},
        "clarq-l2h": {"seeker": "offline/seeker", "provider": "person"},
    }
    assert {task.type for task in held["clarq-h2l"].items.values()} == set(range(1, 27))
