"""Free play and studies through the log: opponents, visibility, restarts, withdrawals."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from dataclasses import asdict, replace

import pytest
from kitchen_pages import seen
from served import Server, doing

from simulator import catalog
from simulator.ambik.assignment import KitchenStudy, draw_tasks, with_options
from simulator.ambik.benchmark import BENCHMARK
from simulator.ambik.data import load_drafts, load_pairs
from simulator.ambik.items import item_from_row
from simulator.ambik.kitchen.reasoning import kitchen_options
from simulator.ambik.sessions import AmbikSessions, drawn_item
from simulator.ambik.terms import AMBIGUITIES, MEMBERS
from simulator.ambik.trial_log import decisions, exchanges_of, forms, played_of
from simulator.blocks import Card, Text, message
from simulator.errors import ConflictError, InputError
from simulator.runner.build import load_machine
from simulator.seats import Reply
from simulator.studies import Study
from simulator.studies.admission import erase_due
from simulator.studies.files import find_studies
from simulator.studies.known import builtin_studies, check_studies
from simulator.studies.quota import quota_of

CODES = {"complete": "C", "returned": "R"}
ITSELF = {"user": "offline/item"}


def study(seat="robot", task="decide", setup="H2L", **more):
    settings = {"task": task, "items": 3, **more.pop("settings", {})}
    given = {
        "id": "s",
        "title": "T",
        "benchmark": "ambik",
        "seat": seat,
        "settings": settings,
        "setup": setup,
    }
    return Study(
        **{**given, "judgments_per_item": 2, "sets_per_participant": 3, "completion_codes": CODES, **more}
    )


@pytest.fixture
def server(log_path):
    def make(writer, reader, studies):
        return AmbikSessions(BENCHMARK, writer, reader, lambda name: None, studies=studies, env={})

    server = Server(log_path, make, item_from_row)
    yield server
    server.stop()


def reply_to(view):
    """A good reply at the stage that a person is at."""
    match doing(view):
        case "consent":
            return Reply(text="yes")
        case "instructions" | "tell":
            return Reply(text="ready")
        case "decide" if seen(view).may_ask:
            return Reply(
                move={"marked": list(seen(view).options[:2]), "ask": "Which of them?", "keys_used": True}
            )
        case "decide":
            return Reply(move={"marked": [], "act": seen(view).options[0]})
        case "answer":
            return Reply(text="The one on the left.")
    return Reply(move={"delete": "It is absurd."})


async def to_the_end(server, episode, seat):
    view = await server.sessions.view(episode, seat)
    stages = []
    while view.stage != "done":
        stages.append(doing(view))
        view = await server.sessions.submit(episode, seat, reply_to(view), number=view.number)
    return stages


async def test_free_play_as_robot(server):
    episode = await server.sessions.start(seat="robot", others=ITSELF, rules={"type": "preferences"})
    item = server.item(episode)
    assert (item.type, item.options) == ("preferences", item.pair.options)
    assert item.pair.id not in episode and "ambiguous" not in episode
    assert await to_the_end(server, episode, "robot") == ["instructions", "decide", "decide"]
    _, went, meant, sets = (await server.sessions.replay(episode, "robot")).blocks
    assert meant.blocks[-1].rows[0][0] == message("type.preferences")
    shortlist = {name.name: texts for name, texts in sets.blocks[1].rows}.get("result.shortlist", ())
    assert shortlist == item.pair.shortlist
    assert sets.blocks[-1].text == message("result.no_runs")
    assert [move.text for move in went.blocks[0].moves][1] == "Which of them?"
    assert server.reader.ending(episode).status == "completed"
    assert {score.metric for score in server.reader.scores()} >= {"chr", "right_after"}


@pytest.mark.parametrize(("language", "words"), [("en", "I mean the "), ("zh", "我指的是 ")])
async def test_the_meaning_of_a_scenario_is_in_the_episodes_language(server, scenario, language, words):
    offered = replace(scenario, options=("Put the pear in the top drawer.",))
    options = {"task": "decide", "questions": 1, "language": language}
    seats = {"robot": "person", "user": "offline/item"}
    episode = await server.sessions.start_item(offered, seats, options, name="robot")
    await to_the_end(server, episode, "robot")
    _, _, meant, _ = (await server.sessions.replay(episode, "robot")).blocks
    meaning = meant.blocks[0]
    assert meaning.rows[0][1].startswith(words) and meaning.language == language


@pytest.mark.parametrize("type", ["unambiguous_direct", *AMBIGUITIES, "any"])
async def test_the_type_can_be_chosen(server, type):
    episode = await server.sessions.start(seat="robot", others=ITSELF, rules={"type": type}, language="zh")
    item = server.item(episode)
    assert type in (item.type, "any")
    assert server.reader.episode(episode).options["language"] == "zh"


async def test_free_play_as_user_and_as_annotator(server):
    episode = await server.sessions.start(
        seat="user", others={"robot": "offline/always-asks"}, rules={"type": "preferences"}
    )
    assert await to_the_end(server, episode, "user") == ["instructions", "answer"]
    kinds = [turn.payload["kind"] for turn in server.reader.turns(episode)]
    assert kinds == ["ready", "decide", "answer", "decide"]
    run = server.reader.episode(episode).run_id
    (exchange,) = exchanges_of(played_of(server.reader, [run]))
    assert exchange.questions[0][1] == "The one on the left."
    episode = await server.sessions.start(seat="annotator", others={}, rules={})
    assert server.item(episode).draft in load_drafts()
    assert await to_the_end(server, episode, "annotator") == ["instructions", "annotate"]
    (form,) = forms(server.reader, [server.reader.episode(episode).run_id])
    assert (form.pair, form.delete, form.annotator) == (None, "It is absurd.", "person")


async def test_two_people_play_one_episode(server):
    episode = await server.sessions.start(seat="robot", others={"user": "person"}, rules={})
    for seat in ("robot", "user", "robot", "user", "robot"):
        view = await server.sessions.view(episode, seat)
        assert doing(view) not in ("wait", "done")
        await server.sessions.submit(episode, seat, reply_to(view), number=view.number)
    assert server.reader.ending(episode).status == "completed"
    assert server.reader.run(server.reader.episode(episode).run_id).setup == "H2H"


async def test_who_is_ready_first_does_not_hold_up_the_other(server):
    """Both opened the instructions when nobody had said anything; neither is told to look again."""
    episode = await server.sessions.start(seat="robot", others={"user": "person"}, rules={})
    numbers = {seat: (await server.sessions.view(episode, seat)).number for seat in ("robot", "user")}
    ready = {seat: Reply(text="ready", key=f"0.{seat}") for seat in ("user", "robot")}
    for seat, reply in ready.items():
        shown = await server.sessions.submit(episode, seat, reply, number=numbers[seat])
        assert await server.again().submit(episode, seat, reply, number=numbers[seat]) == shown
    assert doing(shown) == "decide"
    assert [turn.seat for turn in server.reader.turns(episode)] == ["user", "robot"]
    for seat in ready:  # a second tab, whose page is old
        with pytest.raises(ConflictError):
            await server.sessions.submit(episode, seat, Reply(text="ready", key="0.tab"), number=0)


@pytest.mark.parametrize(
    "choice",
    [
        {"seat": "cook"},
        {"rules": {"type": "sweet"}},
        {"language": "fr"},
        {"others": {}},
        {"others": {"user": "offline/kitchen"}},
        {"seat": "user", "others": {"robot": "script:/etc/passwd"}},
        {"seat": "user", "others": {"robot": "openai/gpt-4o"}},
    ],
)
async def test_choices_that_there_are_not(server, choice):
    with pytest.raises(InputError):
        await server.sessions.start(**{"seat": "robot", "others": ITSELF, "rules": {}, **choice})


async def test_a_killed_server_and_a_double_click_lose_and_double_nothing(server):
    options = {"task": "decide", "questions": 2, "language": "en"}
    seats = {"robot": "person", **ITSELF}
    episode = await server.sessions.start_item(drawn_item("preferences", 7), seats, options, name="robot")
    view = await server.sessions.submit(episode, "robot", Reply(text="ready", key="k0"), number=0)
    reply = Reply(move={"marked": list(seen(view).options), "ask": "Which?"}, key="k1")
    shown = await server.sessions.submit(episode, "robot", reply, number=view.number)
    assert await server.again().submit(episode, "robot", reply, number=view.number) == shown
    assert len(server.reader.turns(episode)) == 3
    with pytest.raises(ConflictError):
        late = Reply(move={"act": "Wait."}, key="k2")
        await server.sessions.submit(episode, "robot", late, number=view.number)
    keyed = Reply(move={"act": seen(view).options[0]}, key="k3")
    await asyncio.gather(*(server.sessions.submit(episode, "robot", keyed) for _ in range(5)))
    assert len(server.reader.turns(episode)) == 4
    assert (await server.again().view(episode, "robot")).stage == "done"


async def test_a_study_from_its_first_set_to_its_last(server):
    sessions = server.again(study())
    entry = await server.enter("ann")
    assert await to_the_end(server, entry.episode_id, "robot") == [
        "consent",
        "instructions",
        "decide",
        "decide",
    ]
    assert sessions.sets(entry.episode_id)[:2] == (1, 3)
    for done in (2, 3):
        entry = await sessions.next_set(entry.episode_id)
        assert await to_the_end(server, entry.episode_id, "robot") == ["decide", "decide"]
        assert sessions.sets(entry.episode_id)[:2] == (done, 3)
    assert sessions.completion(entry.episode_id).code == "C"
    assert (await sessions.next_set(entry.episode_id)).refusal == "done"
    seats = {"robot": "person", "user": "offline/item"}
    assert server.reader.run("study-s").config["seats"] == seats
    logged = decisions(server.reader, ["study-s"])
    assert len({decision.item.pair.id for decision in logged}) == 3
    assert {decision.generator for decision in logged} == {
        server.reader.episodes("study-s")[0].participant_id
    }
    with pytest.raises(ConflictError):
        await sessions.replay(entry.episode_id, "robot")


async def test_a_person_as_user_in_a_study(server):
    settings = {"opposite": "offline/always-asks", "members": ["ambiguous"], "types": ["safety"]}
    sessions = server.again(study("user", setup="L2H", settings=settings))
    assert [(card.task, card.open) for card in sessions.studies()] == [("user", True)]
    entry = await server.enter("ann")
    assert await to_the_end(server, entry.episode_id, "user") == ["consent", "instructions", "answer"]
    assert server.item(entry.episode_id).pair.type == "safety"
    assert server.reader.run("study-s").setup == "L2H"


async def test_no_set_of_a_user_passes_by_unseen_where_the_robot_acts_at_once(server):
    settings = {"opposite": "offline/never-asks", "members": ["ambiguous"]}
    sessions = server.again(study("user", setup="L2H", settings=settings))
    entry = await server.enter("ann")
    assert await to_the_end(server, entry.episode_id, "user") == ["consent", "instructions"]
    for done in (1, 2):
        assert sessions.sets(entry.episode_id)[:2] == (done, 3)
        entry = await sessions.next_set(entry.episode_id)
        view = await server.again(study("user", setup="L2H", settings=settings)).view(
            entry.episode_id, "user"
        )
        sessions = server.sessions
        pair = server.item(entry.episode_id).pair
        assert (view.stage, seen(view).wish, seen(view).task, view.moves) == (
            "tell",
            pair.clear,
            pair.ambiguous,
            (),
        )
        assert await to_the_end(server, entry.episode_id, "user") == ["tell"]
        done = await server.sessions.view(entry.episode_id, "user")
        unasked = [Text(message("result.not_asked"))]
        assert done.blocks == (Card(message("result.talk"), unasked),)
    assert sessions.sets(entry.episode_id)[:2] == (3, 3)
    assert (await sessions.next_set(entry.episode_id)).refusal == "done"


async def test_people_who_do_not_consent_or_withdraw_leave_nothing(server):
    sessions = server.again(study())
    entry = await server.enter("ann")
    view = await sessions.submit(entry.episode_id, "robot", Reply(text="no"))
    assert (view.stage, view.ending.status) == ("done", "aborted")
    entry = await server.enter("bob")
    for reply in (Reply(text="yes"), Reply(text="ready")):
        await sessions.submit(entry.episode_id, "robot", reply)
    words = "Zzwords that bob alone would say"
    marked = list(seen(await sessions.view(entry.episode_id, "robot")).options[:1])
    await sessions.submit(entry.episode_id, "robot", Reply(move={"marked": marked, "ask": words}))
    await sessions.submit(entry.episode_id, "robot", Reply(move={"marked": [], "act": "milk"}))
    await sessions.withdraw(entry.episode_id)
    erase_due(server.reader.path)
    turns = json.dumps([asdict(turn) for turn in server.reader.turns(entry.episode_id)])
    assert "Zzwords" not in turns and "milk" not in turns and marked[0] not in turns
    assert not decisions(server.reader, ["study-s"])


async def test_annotators_in_a_study(server):
    sessions = server.again(study("annotator", "annotate"))
    for who in ("ann", "bob"):
        entry = await server.enter(who, language="zh")
        stages = await to_the_end(server, entry.episode_id, "annotator")
        assert stages == ["consent", "instructions", "annotate"]
    assert len(forms(server.reader, ["study-s"])) == 2
    assert len({form.annotator for form in forms(server.reader, ["study-s"])}) == 2
    assert sessions.completion(entry.episode_id).code == "C"


def test_the_built_in_studies_are_sound():
    assert [(study.id, study.seat) for study in builtin_studies("ambik")] == [
        ("ambik-annotate", "annotator"), ("ambik-pair", ""), ("ambik-robot", "robot"), ("ambik-user", "user"),
    ]  # fmt: skip
    assert not check_studies(find_studies(catalog.find("ambik").folder))
    for study in builtin_studies("ambik"):
        quota_of(study, KitchenStudy(study).cells)
        assert {*study.people} <= {*load_machine("ambik").seats}
    robot = next(study for study in builtin_studies("ambik") if study.seat == "robot")
    items = KitchenStudy(robot).items
    kinds = Counter((item.pair.type, item.member) for item in items.values())
    assert set(kinds.values()) == {3} and len(kinds) == 6
    assert len({item.pair.id for item in items.values()}) == len(items)
    assert all(len(item.options) > 1 for item in items.values())
    assert list(items) == list(KitchenStudy(robot).cells)


@pytest.mark.each("number", [1, 5, 6, 24])
def test_tasks_are_balanced_and_of_different_pairs_where_they_can_be(number):
    pairs = load_pairs()
    tasks = draw_tasks(pairs, AMBIGUITIES, MEMBERS, number, seed=3)
    assert tasks == draw_tasks(pairs, AMBIGUITIES, MEMBERS, number, seed=3)
    assert len(set((pair.id, member) for pair, member in tasks)) == number
    assert len({pair.id for pair, _ in tasks}) == number
    counts = Counter((pair.type, member) for pair, member in tasks)
    assert max(counts.values()) - min((*counts.values(), number // 6)) <= 1


@pytest.mark.parametrize("number", [None, 10_000])
def test_never_are_both_members_of_a_pair_drawn(number):
    pairs = load_pairs()
    tasks = draw_tasks(pairs, AMBIGUITIES, MEMBERS, number, seed=3)
    assert sorted(pair.id for pair, _ in tasks) == sorted(pair.id for pair in pairs)
    counts = Counter((pair.type, member) for pair, member in tasks)
    assert all(abs(counts[kind, "clear"] - counts[kind, "ambiguous"]) <= 1 for kind in AMBIGUITIES)
    alone = draw_tasks(pairs, ["safety"], ["clear"], number, seed=3)
    assert {(pair.type, member) for pair, member in alone} == {("safety", "clear")}
    assert not draw_tasks((), AMBIGUITIES, MEMBERS, number, seed=3)


def test_what_is_offered(pair):
    item = with_options(pair, "clear")
    assert item.options == pair.options
    assert with_options(pair, "clear", "kitchen").options == kitchen_options(item)
    assert with_options(pair, "clear", "none").options == ()
    assert with_options(pair, "clear", "run", {"p1.clear": ("a", "b")}).options == ("a", "b")
    with pytest.raises(InputError, match=r"p1\.clear"):
        with_options(pair, "clear", "run", {})


@pytest.mark.each(
    ("seat", "settings", "message"),
    [
        ("robot", {"unheard": 1}, "unknown key"),
        ("robot", {"task": "sing"}, "task"),
        ("robot", {"task": "annotate"}, "seats"),
        ("annotator", {}, "seats"),
        ("annotator", {"task": "annotate", "opposite": "offline/item"}, "an annotator has no opposite"),
        ("robot", {"opposite": "offline/kitchen"}, "the built-in players are offline/item"),
        ("robot", {"opposite": "person"}, "instead of seat"),
        ("user", {"opposite": "openai/gpt-4o"}, "set the method"),
        ("user", {"opposite": "openai/gpt-4o", "method": "knowno"}, "calibration"),
        ("user", {"method": "binary"}, "for a language model"),
        ("robot", {"questions": -1}, "questions"),
        ("robot", {"items": 0}, "items"),
        ("robot", {"members": []}, "members is empty"),
        ("robot", {"members": [{}]}, "members"),
        ("robot", {"types": ["sweet"]}, "types"),
        ("robot", {"languages": ["fr"]}, "languages"),
        ("robot", {"part": "some"}, "part"),
        ("robot", {"show_result": "yes"}, "show_result"),
        ("robot", {"data": 3}, "data"),
    ],
)
def test_studies_with_invalid_settings_are_refused(seat, settings, message):
    with pytest.raises(InputError, match=message):
        _ = KitchenStudy(study(seat, settings=settings)).settings


@pytest.mark.parametrize(
    ("robot", "message"),
    [("offline/robot", "pairing: 'offline/robot' cannot sit"), ("openai/x", "pairing: ")],
)
def test_a_partner_who_cannot_play_is_refused_before_anybody_waits(robot, message):
    pairing = {"then": "model", "partner": {"robot": robot, "user": "offline/item"}}
    paired = {"seat": "", "seats": ["robot", "user"], "setup": "H2H", "pairing": pairing}
    pair = Study.model_validate(study(settings={"items": 2}).to_json() | paired)
    with pytest.raises(InputError, match=message):
        KitchenStudy(pair).check()


async def test_options_of_a_run_come_from_the_sessions_log(server):
    server.again(study(id="a"))
    entry = await server.enter("ann", "a")
    await to_the_end(server, entry.episode_id, "robot")
    item = server.item(entry.episode_id)
    of_the_run = study(id="b", conditions=[item.id], settings={"options": "study-a"}, sets_per_participant=1)
    with pytest.raises(InputError, match="has none for the item"):
        server.again(study(id="b", settings={"options": "study-a"}))
    server.start(of_the_run)
    (marked,) = {decision.chosen for decision in decisions(server.reader, ["study-a"])}
    entry = await server.enter("bob", "b")
    assert server.item(entry.episode_id).options == marked
    assert KitchenStudy(of_the_run).cells == ((item.id,),)


def test_conditions_are_items(pair, server):
    first = load_pairs()[0].id
    chosen = study(conditions=[f"{first}.clear"])
    assert list(KitchenStudy(chosen).items) == [(f"{first}.clear",)]
    with pytest.raises(InputError, match="no condition 'nothing'"):
        _ = KitchenStudy(study(conditions=["nothing"])).items
    with pytest.raises(InputError, match="neither item"):
        _ = KitchenStudy(study(settings={"options": "no-such-run"}), server.reader).items


@pytest.mark.parametrize("type", ["unambiguous_direct", "preferences", "common_sense_knowledge", "safety"])
async def test_who_is_the_user_is_asked_at_least_once_by_the_default_robot(server, type):
    episode = await server.sessions.start(
        seat="user", others={"robot": server.sessions.opponents("robot")[0].name}, rules={"type": type}
    )
    view = await server.sessions.view(episode, "user")
    while doing(view) not in ("answer", "done"):
        view = await server.sessions.submit(episode, "user", Reply(text="ready"), number=view.number)
    assert doing(view) == "answer" and view.moves[-1].text


async def test_two_people_are_paired_in_a_study(server):
    paired = study(seat="", seats=["robot", "user"], setup="H2H", settings={"types": ["preferences"]})
    sessions = server.again(paired)
    assert [card.task for card in sessions.studies()] == ["pair"]
    entries = [await server.enter(who) for who in ("ann", "bob")]
    assert {entry.seat for entry in entries} == {"robot", "user"}
    for entry in entries:
        for _ in range(2):
            view = await sessions.view(entry.episode_id, entry.seat)
            assert view.stage in ("consent", "instructions") and not seen(view).opening
            await sessions.submit(entry.episode_id, entry.seat, reply_to(view), number=view.number)
    steps = []
    for _ in range(12):
        for entry in entries:
            view = await sessions.view(entry.episode_id, entry.seat)
            if view.stage == "task" and view.my_turn:
                steps.append(doing(view))
                await sessions.submit(entry.episode_id, entry.seat, reply_to(view), number=view.number)
    assert steps == ["decide", "answer", "decide"]
    assert {(await sessions.view(entry.episode_id, entry.seat)).stage for entry in entries} == {"done"}
    (played,) = decisions(server.reader, ["study-s"])
    assert server.reader.run("study-s").setup == "H2H"
    assert played.item.type == "preferences"
    # A further set shows a user nothing before its task: which one it will be is not known yet.
    further = await sessions.next_set(next(e for e in entries if e.seat == "user").episode_id)
    assert (await sessions.view(further.episode_id, "user")).stage == "waiting"


def test_people_are_paired_only_as_robot_and_user():
    for wrong in ({"seats": ["robot", "annotator"]}, {"settings": {"opposite": "offline/kitchen"}}):
        with pytest.raises(InputError, match="paired"):
            KitchenStudy(study(**{"seat": "", "seats": ["robot", "user"], "setup": "H2H", **wrong})).check()
