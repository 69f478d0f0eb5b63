from __future__ import annotations

import asyncio
import json
from hashlib import sha256

import pytest
from typer.testing import CliRunner

import app
from logs import LogReader, LogWriter, NotInLog
from logs.rows import Score
from simulator.ambibench.assignment import PatternStudy
from simulator.clarq.benchmark import BENCHMARK as CLARQ
from simulator.clarq.sessions import ClarqSessions
from simulator.errors import InputError
from simulator.studies import StudyDesk
from simulator.studies.known import builtin_studies, find_study
from simulator.studies.pairing import NO_PARTNER
from simulator.studies.reconcile import _in_cents, payment_of

STUDY = "ambibench-multiple"


@pytest.fixture
async def log(tmp_path):
    """A log in which one person has completed a study and one has left it."""
    path = tmp_path / "log.sqlite"
    study = next(candidate for candidate in builtin_studies("ambibench") if candidate.id == STUDY)
    async with LogWriter(path, durable=True) as writer:
        with LogReader(path) as reader:
            desk = StudyDesk(writer, reader, study, PatternStudy(study).cells)
            for name in ("anna", "ben"):
                admission = await desk.admit({"PROLIFIC_PID": name}, "en")
                await desk.start_set(admission.participant)
                await (desk.complete_set if name == "anna" else desk.return_place)(admission.participant)
    return path


def run(*words):
    return CliRunner().invoke(app.cli, ["study", *map(str, words)], catch_exceptions=False)


async def test_progress_counts_places_by_condition_and_state(log):
    result = run("progress", STUDY, "--log", log)
    assert result.exit_code == 0
    assert "completed" in result.output and "returned" in result.output
    assert "spent 1.25" in result.output


async def test_the_list_names_every_study(log):
    output = run("list", "--log", log).output
    titles = [study.title_in(study.language) for study in builtin_studies("ambibench")]
    assert [title.split()[0] in output for title in titles] == [True] * 3
    assert "…" not in output, "titles are wrapped, not cut"
    words = output.split()
    assert all(word in words for title in titles for word in title.split())


async def test_books_that_differ_end_with_status_one(log, tmp_path):
    # Somebody completed here without having played: the desk was told so directly.
    result = run("reconcile", STUDY, "--log", log)
    assert result.exit_code == 1 and "do not balance" in result.output
    export = tmp_path / "export.csv"
    export.write_text(
        "Participant id,Status,Completion code\nnobody,APPROVED,AMBI43-DONE\n", encoding="utf-8"
    )
    result = run("reconcile", STUDY, "--log", log, "--export", export)
    assert result.exit_code == 1 and "submissions" in result.output and "APPROVED 1" in result.output


def test_a_study_is_named_by_id_or_file(tmp_path):
    assert find_study(STUDY).id == STUDY
    with pytest.raises(InputError, match="neither a file nor a known study; known are clarq-"):
        find_study("ambibench-manifold")


def test_a_new_study_is_another_one_under_its_own_id(tmp_path):
    file = tmp_path / "my-study.yaml"
    assert run("new", STUDY, file).exit_code == 0
    source = find_study(STUDY)
    assert find_study(str(file)) == source.model_copy(update={"id": "my-study"})
    assert "# Paper, section 4.3" in file.read_text(encoding="utf-8")
    with pytest.raises(InputError, match="already exists"):
        run("new", STUDY, file)


def test_a_name_that_is_no_id_leaves_no_file(tmp_path):
    file = tmp_path / "My Study.yaml"
    with pytest.raises(InputError, match="id"):
        run("new", STUDY, file)
    assert not file.exists()


def test_checking_says_what_a_study_comes_to(tmp_path):
    output = run("check", STUDY).output
    assert "96 sets" in output and "total pay 120.00 USD, 12.50 per hour if a set takes 6 min" in output
    assert "no completion code for: screened_out" in output
    file = tmp_path / "mine.yaml"
    run("new", STUDY, file)
    file.write_text(file.read_text(encoding="utf-8").replace("subject: 16, ", ""), encoding="utf-8")
    with pytest.raises(InputError, match=r"mine.yaml:\d+: .*subject.* has no number .*`conditions`"):
        run("check", file)
    file.write_text(file.read_text(encoding="utf-8").replace("setting:", "seting:"), encoding="utf-8")
    with pytest.raises(InputError) as caught:
        run("check", file)
    assert "default factory" not in str(caught.value)
    assert [part in str(caught.value) for part in ("setting is missing", "unknown key 'seting'")] == [
        True
    ] * 2


async def test_a_study_that_was_opened_by_command_can_be_entered(tmp_path):
    log = tmp_path / "log.sqlite"
    await asyncio.to_thread(run, "open", "clarq-h2l", "--log", log)
    async with LogWriter(log, durable=True) as writer:
        with LogReader(log) as reader:
            sessions = ClarqSessions(CLARQ, writer, reader, lambda name: None)
            entry = await sessions.enter("clarq-h2l", identity={}, participant_key="k", language="en")
            assert entry.episode_id is not None


def test_opening_prints_both_links_and_pausing_takes_nobody_new(tmp_path, monkeypatch):
    log, file = tmp_path / "log.sqlite", tmp_path / "mine.yaml"
    run("new", STUDY, file)
    opened = run("open", file, "--site", "https://lab.example", "--log", log).output
    assert "mine is open.\n" in opened
    assert "https://lab.example/ambibench/study/mine?PROLIFIC_PID={{%PROLIFIC_PID%}}" in opened
    assert "/ambibench/study/mine.preview." in opened
    # The log knows it from now on: the file need not be named.
    assert "mine is paused; 0 under way" in run("pause", "mine", "--log", log).output
    assert "mine is already paused" in run("pause", "mine", "--log", log).output
    assert "paused" in run("list", "--log", log).output
    assert "mine is open again" in run("open", "mine", "--log", log).output
    file.write_text(file.read_text(encoding="utf-8").replace("amount: 1.25", "amount: 9"), encoding="utf-8")
    with pytest.raises(InputError, match="opened with different content"):
        run("progress", file, "--log", log)
    monkeypatch.setattr("ui.command._serve", lambda *_: None)
    serve = ["app", "--port", "7996", "--study", str(file), "--log", str(log)]
    with pytest.raises(InputError, match="opened with different content"):
        CliRunner().invoke(app.cli, serve, catch_exceptions=False)


async def test_a_snapshot_holds_the_study_and_nobodys_identity(log, tmp_path):
    folder = tmp_path / "snapshot"
    shown = run("snapshot", STUDY, folder, "--log", log).output
    assert f"askback score study-{STUDY} --log" in shown
    manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    assert manifest["study_hash"] == find_study(STUDY).content_hash
    files = {name: sha256((folder / name).read_bytes()).hexdigest() for name in manifest["files"]}
    assert files == manifest["files"]
    names = {str(file.relative_to(folder)) for file in folder.rglob("*") if file.is_file()}
    assert names == {*manifest["files"], "manifest.json"}
    with LogReader(folder / "log.sqlite") as reader, LogReader(log) as before:
        assert list(reader.assignments()) == list(before.assignments())
        assert list(before.identities()) and not list(reader.identities())
    assert b"anna" not in (folder / "log.sqlite").read_bytes()
    with pytest.raises(NotInLog):
        run("snapshot", "ambik-robot", tmp_path / "other", "--log", log)


async def test_the_platform_is_told_whom_to_approve_and_what_they_earned(log, tmp_path):
    folder = tmp_path / "pay"
    shown = run("bonus", STUDY, folder, "--log", log).output
    assert "1 to approve, 0 missed a check, 0 excluded, bonuses 0.00" in shown
    assert [file.name for file in folder.iterdir()] == ["approve.csv"]
    assert (folder / "approve.csv").read_text(encoding="utf-8") == "anna\n"
    with pytest.raises(InputError, match="must be given together"):
        run("bonus", STUDY, folder, "--metric", "right", "--log", log)
    with pytest.raises(InputError, match="has no score 'right'; it has none"):
        run("bonus", STUDY, folder, "--metric", "right", "--amount", "1", "--log", log)


async def test_a_bonus_is_a_score_summed_over_sets(office, tmp_path):
    more = {"sets_per_participant": 2, "participants": 8}
    desk, study = office.desk(**more), office.study(**more)
    for name in ("anna", "ben", "ben", "carla"):
        admission = await desk.admit({"PROLIFIC_PID": name})
        await desk.start_set(admission.participant)
        episode = office.play(study, admission)
        value = {"anna": 0.0, "ben": 3.0, "carla": None}[name]
        office.log.put(Score(episode_id=episode, metric="right", value=value, version="1"))
        await desk.complete_set(admission.participant, failed_check=name == "carla")
    alone = await desk.admit({"PROLIFIC_PID": "dora"})
    await desk.return_place(alone.participant, NO_PARTNER)
    office.log.flush()
    owed = payment_of(desk, office.reader, metric="right", amount=0.25)
    assert (owed.approve, owed.review, owed.unknown) == (("anna", "ben"), ("carla",), ())
    assert owed.bonus == {"ben": 1.5}
    assert (owed.further_sets, owed.paid_exits) == (1, 1)
    names = ["approve.csv", "review.csv", "bonus.csv", "further.csv"]
    assert [file.name for file in owed.write(tmp_path / "pay")] == names
    further = (tmp_path / "pay" / "further.csv").read_text(encoding="utf-8").splitlines()
    assert further == ["ben,2.00,further sets: 1", f"dora,,paid exit: {NO_PARTNER}"]
    # Submissions and further sets together are what the ledger says.
    paid = study.pay.amount * (len(owed.approve) + len(owed.review)) + float(further[0].split(",")[1])
    assert paid == desk.progress().spent
    assert (tmp_path / "pay" / "bonus.csv").read_text(encoding="utf-8") == "ben,1.50\n"


async def test_half_a_cent_is_rounded_up_for_everybody(office, tmp_path):
    desk, study = office.desk(participants=8), office.study(participants=8)
    for name, value in {"anna": 0.5, "ben": 1.5, "carla": 0.01}.items():
        admission = await desk.admit({"PROLIFIC_PID": name})
        await desk.start_set(admission.participant)
        score = Score(episode_id=office.play(study, admission), metric="right", value=value, version="1")
        office.log.put(score)
        await desk.complete_set(admission.participant)
    office.log.flush()
    owed = payment_of(desk, office.reader, metric="right", amount=0.37)  # 0.185, 0.555 and 0.0037
    assert _in_cents(0.35 + 0.1, 0.1) == 0.05
    assert owed.bonus == {"anna": 0.19, "ben": 0.56}
    owed.write(tmp_path)
    assert (tmp_path / "bonus.csv").read_text(encoding="utf-8") == "anna,0.19\nben,0.56\n"
    # What an earlier call wrote is not left to be submitted.
    payment_of(desk, office.reader).write(tmp_path)
    assert [file.name for file in tmp_path.glob("*.csv")] == ["approve.csv"]
    with pytest.raises(InputError, match="cannot be written"):
        owed.write(tmp_path / "approve.csv" / "pay")


@pytest.mark.parametrize(
    "called",
    [
        "ben,99.00",
        "x,99.00\nben",
        '=HYPERLINK("http://a.example")',
        "@SUM(1)",
        "ben\u202e",
        "-1",
        "",
        '"ben"',
    ],
)
async def test_nobody_is_paid_by_what_they_call_themselves(office, tmp_path, called):
    desk, study = office.desk(), office.study()
    for name in ("ben", called or " x y "):
        admission = await desk.admit({"PROLIFIC_PID": name})
        await desk.start_set(admission.participant)
        episode = office.play(study, admission)
        office.log.put(Score(episode_id=episode, metric="right", value=1.0, version="1"))
        await desk.complete_set(admission.participant)
    office.log.flush()
    owed = payment_of(desk, office.reader, metric="right", amount=0.5)
    assert owed.unknown == (admission.participant,)
    by_hand = ("2.00,no platform id: 1 finished", "0.50,no platform id: bonus")
    further = "".join(f"{admission.participant},{row}\n" for row in by_hand)
    written = [file.read_text(encoding="utf-8") for file in owed.write(tmp_path)]
    assert written == ["ben\n", "ben,0.50\n", further]


async def test_a_paid_exit_pays_what_the_study_says(office):
    pay = {"pay": {"amount": 2.0, "currency": "EUR", "minutes": 10, "paid_exit": 0.5}}
    desk = office.desk(**pay)
    people = [await desk.admit({"PROLIFIC_PID": name}) for name in ("dora", "x y")]
    for admission in people:
        await desk.return_place(admission.participant, NO_PARTNER)
    rows = {("dora", "0.50"), (people[1].participant, "0.50")}
    assert {row[:2] for row in payment_of(desk, office.reader).further} == rows
    assert desk.progress().spent == 1.0


async def test_a_paid_exit_from_a_further_set_is_paid_as_well(office):
    pay = {"pay": {"amount": 2.0, "currency": "EUR", "minutes": 10, "paid_exit": 0.5}}
    more = {"sets_per_participant": 2, "participants": 8}
    desk, study = office.desk(**pay, **more), office.study(**pay, **more)
    admission = await desk.admit({"PROLIFIC_PID": "dora"})
    await desk.start_set(admission.participant)
    office.play(study, admission)
    await desk.complete_set(admission.participant)
    await desk.admit({"PROLIFIC_PID": "dora"})
    await desk.return_place(admission.participant, NO_PARTNER)
    owed = payment_of(desk, office.reader)
    assert (owed.approve, owed.further) == (("dora",), (("dora", "0.50", f"paid exit: {NO_PARTNER}"),))
    assert (owed.further_sets, owed.paid_exits, desk.progress().spent) == (0, 1, 2.5)
