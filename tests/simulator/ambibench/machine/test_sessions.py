"""Test free play and studies: entering, resuming, leaving, and what participants may see."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict
from functools import partial

import pytest
from rich.console import Console
from served import Server

from logs.rows import Ending
from simulator import catalog
from simulator.ambibench.assignment import PatternStudy
from simulator.ambibench.benchmark import BENCHMARK
from simulator.ambibench.reporting.report import mean_over_labels, run_scores
from simulator.ambibench.sessions import AmbiBenchSessions
from simulator.ambibench.trial_log import trials_of_runs
from simulator.commands.score import score_run
from simulator.errors import ConflictError, InputError
from simulator.reports import print_run_report, run_summary
from simulator.runner.build import load_machine
from simulator.seats import Reply
from simulator.studies import Study
from simulator.studies.admission import erase_due
from simulator.studies.files import find_studies
from simulator.studies.known import builtin_studies, check_studies

SEAT = "participant"
MULTIPLE, BRACKET, RULE = "ambibench-multiple", "ambibench-uninformative", "ambibench-informative"


def study(**more):
    given = {
        "id": "s",
        "title": "T",
        "benchmark": "ambibench",
        "seat": SEAT,
        "settings": {"setting": "instruction"},
    }
    return Study(
        **{**given, "participants": 4, "completion_codes": {"complete": "C", "returned": "R"}, **more}
    )


@pytest.fixture
def server(log_path):
    def make(writer, reader, studies):
        return AmbiBenchSessions(BENCHMARK, writer, reader, lambda name: None, studies=studies)

    server = Server(log_path, make, load_machine("ambibench").read_item)
    yield server
    server.stop()


async def enter(server, study_id, who, language="en"):
    return await server.enter(who, study_id, language)


async def say(sessions, episode, text, view=None, **more):
    view = view or await sessions.view(episode, SEAT)
    reply = Reply(text=text, key=f"{view.number}.page", seconds=1.0, **more)
    return await sessions.submit(episode, SEAT, reply, number=view.number)


async def take_part(server, episode, answer="X"):
    replies = {"consent": "yes", "instructions": "ready", "task": answer, "comment": "It was odd."}
    view = await server.sessions.view(episode, SEAT)
    while view.stage != "done":
        view = await say(server.sessions, episode, replies[view.stage], view)
    return view


async def test_free_play(server):
    for setting, trials in (("instruction", 1), ("multiple", 20), ("wug", 20)):
        rules = {"kind": "wug"} if setting == "wug" else {"setting": setting}
        episode = await server.sessions.start(seat=SEAT, others={}, rules=rules, language="zh")
        assert server.reader.episode(episode).options["language"] == "zh"
        view = await server.sessions.view(episode, SEAT)
        assert (view.stage, view.setting, view.study) == ("instructions", setting, False)
        view = await say(server.sessions, episode, "ready")
        assert (view.stage, view.k, view.total) == ("task", 3 if trials == 1 else 1, trials)
        assert ("wug" in view.text) == (setting == "wug")
        view = await take_part(server, episode, "y")
        assert view.ending.status == "completed"
        replay = await server.sessions.replay(episode, SEAT)
        assert len(replay.blocks[2].blocks[1].rows) == (3 if trials == 1 else trials)
        assert server.sessions.completion(episode) is None
        with pytest.raises(InputError, match="not part of a study"):
            await server.sessions.withdraw(episode)


async def test_free_play_as_chosen(server):
    start = partial(server.sessions.start, seat=SEAT, others={})
    wishes = {"setting": "instruction", "kind": "informative", "format": "qa", "feature": "pronoun"}
    episode = await start(rules=wishes)
    item = server.reader.item(server.reader.episode(episode).item_hash).data
    assert (item["salient_task"], item["format"], item["instruction_kind"]) == (
        "pronoun",
        "qa",
        "informative",
    )
    assert "pronoun" not in episode
    drawn = set()
    for _ in range(12):
        episode = await start(rules={"setting": "instruction"})
        item = server.reader.item(server.reader.episode(episode).item_hash).data
        drawn.add((item["salient_task"], item["format"]))
    assert len(drawn) > 4


@pytest.mark.parametrize(
    "wrong",
    [
        {"setting": "aws"},
        {"format": "table"},
        {"feature": "age"},
        {"kind": "wug", "setting": "instruction"},
    ],
)
async def test_choices_that_are_none(server, wrong):
    with pytest.raises(InputError):
        await server.sessions.start(seat=SEAT, others={}, rules=wrong)


@pytest.mark.parametrize("wrong", [{"language": "fr"}, {"seat": "robot"}])
async def test_seats_and_languages_that_are_none(server, wrong):
    with pytest.raises(InputError):
        await server.sessions.start(**{"seat": SEAT, "others": {}, "rules": {}} | wrong)


def test_the_papers_studies(server):
    cards = {card.id: card for card in server.sessions.studies()}
    assert {id: card.places_left for id, card in cards.items()} == {BRACKET: 51, RULE: 33, MULTIPLE: 96}
    assert all(card.open for card in cards.values())
    assert (cards[MULTIPLE].task, cards[RULE].task) == ("multiple", "instruction")
    assert all(
        card.study.benchmark == "ambibench" and card.builtin and card.study.sets_per_participant == 1
        for card in cards.values()
    )
    assert (pay := cards[MULTIPLE].study.pay) and 4 <= pay.minutes <= 8
    for study in builtin_studies("ambibench"):
        assert study.pay.amount / study.pay.minutes * 60 == pytest.approx(12.5, abs=0.11)


async def test_a_whole_participation(server):
    entry = await enter(server, MULTIPLE, "ann", "zh")
    view = await server.sessions.view(entry.episode_id, SEAT)
    assert (view.stage, view.study, view.text) == ("consent", True, "")
    await say(server.sessions, entry.episode_id, "yes")
    view = await say(server.sessions, entry.episode_id, "ready")
    for k in range(1, 8):
        assert (view.stage, view.k, view.done) == ("task", k, k - 1)
        assert (view.feedback is None) == (k == 1)
        view = await say(server.sessions, entry.episode_id, "X", move={"keys_used": True})
    assert server.sessions.completion(entry.episode_id) is None
    with pytest.raises(ConflictError):
        await server.sessions.replay(entry.episode_id, SEAT)
    view = await take_part(server, entry.episode_id)
    assert server.sessions.completion(entry.episode_id).code == "AMBI43-DONE"
    with pytest.raises(ConflictError, match="does not show"):
        await server.sessions.replay(entry.episode_id, SEAT)
    (accuracy,) = server.reader.scores(episode_id=entry.episode_id, metric="accuracy")
    item = server.reader.item(server.reader.episode(entry.episode_id).item_hash).data
    assert accuracy.value == sum(example["label"] == "X" for example in item["examples"]) / 20
    (place,) = server.reader.assignments(run_id=f"study-{MULTIPLE}")
    assert place.state == "completed"
    assert [turn.payload["keys_used"] for turn in server.reader.turns(entry.episode_id)[2:4]] == [True, True]


async def test_places_are_kept_even(server):
    episodes = [(await enter(server, MULTIPLE, f"p{number}")).episode_id for number in range(24)]
    items = [server.reader.item(server.reader.episode(episode).item_hash).data for episode in episodes]
    assert set(Counter(item["salient_task"] for item in items).values()) == {4}
    assert set(Counter((item["salient_task"], item["format"]) for item in items).values()) == {2}
    assert set(Counter((item["salient_task"], item["polarity"]) for item in items).values()) == {2}
    assert len({item["prompt"] for item in items}) == 24, "each a prompt of their own"
    assert {card.id: card.places_left for card in server.sessions.studies()}[MULTIPLE] == 72


async def test_a_prompt_can_be_drawn_again_from_its_place(server):
    entry = await enter(server, RULE, "eve")
    (place,) = server.reader.assignments(run_id=f"study-{RULE}")
    study = next(offered for offered in builtin_studies("ambibench") if offered.id == RULE)
    drawn = PatternStudy(study).item(tuple(place.details["cell"].split("/")), place.details["seed"])
    row = server.reader.item(server.reader.episode(entry.episode_id).item_hash)
    assert load_machine("ambibench").read_item(row) == drawn
    assert (drawn.salient, drawn.format, drawn.hypothesis.value) == tuple(place.details["cell"].split("/"))
    assert drawn.kind == "informative"


async def test_a_killed_server_loses_and_doubles_nothing(server):
    entry = await enter(server, MULTIPLE, "kim")
    episode = entry.episode_id
    await say(server.sessions, episode, "yes")
    view = await say(server.sessions, episode, "ready")
    for number in range(20):
        view = await say(server.sessions, episode, "Y", view)
        if number % 3 == 0:
            server.again()
            again = await server.sessions.view(episode, SEAT)
            assert asdict(again) == asdict(view)
            assert (await enter(server, MULTIPLE, "kim")).episode_id == episode
    view = await take_part(server, episode)
    assert [turn.number for turn in server.reader.turns(episode)] == list(range(23))


async def test_who_declines_leaves_nothing_and_gives_the_place_back(server):
    entry = await enter(server, BRACKET, "mia")
    view = await say(server.sessions, entry.episode_id, "no")
    assert (view.stage, view.ending.status, view.ending.cause) == ("done", "aborted", SEAT)
    assert server.reader.scores(episode_id=entry.episode_id) == []
    assert server.reader.identities() == []
    assert [turn.text for turn in server.reader.turns(entry.episode_id)] == ["[erased]"]
    assert {card.id: card.places_left for card in server.sessions.studies()}[BRACKET] == 51
    assert server.sessions.completion(entry.episode_id).code == "AMBI42U-BACK"
    assert (await enter(server, BRACKET, "mia")).episode_id is not None, "nothing is known of her"
    assert (await server.sessions.view(entry.episode_id, SEAT)).stage == "done"


async def test_who_declines_keeps_what_they_did_elsewhere(server):
    other = study(id="elsewhere")
    server.again(other, study(id="here", exclude=("nothing",)))
    first = (await enter(server, "elsewhere", "joe")).episode_id
    await take_part(server, first)
    second = (await enter(server, "here", "joe")).episode_id
    await say(server.sessions, second, "no")
    assert server.reader.turns(first)[-1].text == "It was odd."
    assert [assignment.state for assignment in server.reader.assignments(run_id="study-here")] == ["returned"]


@pytest.mark.parametrize("when", ["consent", "task", "done"])
async def test_withdrawing_erases(server, when):
    episode = (await enter(server, MULTIPLE, "zoe")).episode_id
    if when != "consent":
        await say(server.sessions, episode, "yes")
        await say(server.sessions, episode, "ready")
        await say(server.sessions, episode, "a telling answer")
    if when == "done":
        await take_part(server, episode)
    await server.sessions.withdraw(episode)
    await server.sessions.withdraw(episode)
    erase_due(server.reader.path)
    assert all(turn.text in ("[erased]", "") for turn in server.reader.turns(episode))
    assert "telling" not in str([turn.payload for turn in server.reader.turns(episode)])
    # Whether an answer was right tells what it was: the letters can be looked up.
    erased = {"answer", "raw_answer", "normalised", "correct", "strict", "valid"}
    assert not any(erased & turn.payload.keys() for turn in server.reader.turns(episode))
    assert {score.value for score in server.reader.scores(episode_id=episode)} <= {None}
    assert server.reader.identities() == []
    view = await server.sessions.view(episode, SEAT)
    assert (view.stage, view.text) == ("done", "")
    assert {card.id: card.places_left for card in server.sessions.studies()}[MULTIPLE] == 96
    with pytest.raises(ConflictError):
        await say(server.sessions, episode, "X", view)


async def test_who_has_withdrawn_does_not_count(server):
    for who, answer in (("al", "X"), ("bo", "Y")):
        episode = (await enter(server, BRACKET, who)).episode_id
        await take_part(server, episode, answer)
    stays = server.reader.scores(episode_id=episode, metric="accuracy")[0].value
    first = server.reader.episodes(f"study-{BRACKET}")[0].id
    await server.sessions.withdraw(first)
    run, benchmark = f"study-{BRACKET}", catalog.find("ambibench")
    accuracy = mean_over_labels(run_scores(server.reader, run), "accuracy")
    assert (accuracy.value, accuracy.n) == (stays, 1)
    console = Console(record=True, width=100, quiet=False)
    made = run_summary(server.reader, benchmark, [run])
    assert made.endings.statuses == {"completed": 1, "erased": 1}
    print_run_report(console, made)
    assert "1 completed, 1 erased" in console.export_text()
    assert {row.episode_id for row in score_run(server.reader, benchmark, run)} == {episode}
    (trial,) = trials_of_runs(server.reader, [f"study-{BRACKET}"])
    assert trial.session_id == episode


async def test_a_withdrawal_that_was_cut_short_is_finished(server):
    episode = (await enter(server, MULTIPLE, "una")).episode_id
    await say(server.sessions, episode, "yes")
    ending = Ending(episode_id=episode, status="aborted", cause=SEAT, message="The participant withdrew.")
    await server.writer.write(ending)
    await server.sessions.view(episode, SEAT)
    erase_due(server.reader.path)
    assert [turn.text for turn in server.reader.turns(episode)] == ["[erased]"]
    assert [assignment.state for assignment in server.reader.assignments(run_id=f"study-{MULTIPLE}")] == [
        "withdrawn"
    ]


@pytest.mark.parametrize(
    ("more", "error"),
    [
        ({"settings": {}}, "setting is missing"),
        ({"settings": {"setting": "aws"}}, 'setting is "aws"'),
        ({"settings": {"setting": "multiple", "kind": "wug"}}, "kind is 'wug'"),
        ({"settings": {"setting": "multiple", "colour": 1}}, "unknown key 'colour'"),
        ({"settings": {"setting": "multiple", "languages": ["fr"]}}, r'languages\[0\] is "fr"'),
        ({"settings": {"setting": "multiple", "languages": []}}, "languages"),
        ({"settings": {"setting": "multiple", "show_result": "yes"}}, "show_result"),
        ({"conditions": ("age",)}, "no condition 'age'"),
        ({"conditions": ("subject/table",)}, "no condition"),
        ({"conditions": ("subject/arrow/he",)}, "no condition"),
        ({"conditions": ("subject/arrow/human/more",)}, "no condition"),
        ({"benchmark": "clarq"}, "benchmark must be ambibench, not clarq"),
        ({"seat": "robot"}, "ambibench has no seat 'robot'"),
        ({"participants": {"age": 3}}, "participants"),
    ],
)
def test_study_files_that_do_not_fit(server, more, error):
    with pytest.raises(InputError, match=error):
        server.again(study(**more))


def test_conditions_may_be_coarse(server):
    coarse = study(conditions=("negation", "pronoun/qa", "subject/arrow/animal"), participants=3)
    material = PatternStudy(coarse)
    assert material.cells == (("negation",), ("pronoun", "qa"), ("subject", "arrow", "animal"))
    prompt = material.item(("subject", "arrow", "animal"), 5)
    assert (prompt.salient, prompt.format, prompt.x_is) == ("subject", "arrow", False)
    assert {material.item(("negation",), seed).format for seed in range(9)} == {"arrow", "qa"}


def test_the_built_in_study_files_pass_the_check():
    files = find_studies(catalog.find("ambibench").folder)
    assert len(files) == 3
    assert check_studies(files) == ()
