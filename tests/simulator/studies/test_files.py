from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Never

import pytest

from simulator import catalog
from simulator.clarq import data
from simulator.commands.files import check_files
from simulator.errors import InputError
from simulator.studies import Study, read_study
from simulator.studies.files import find_studies
from simulator.studies.known import check_studies, checker

TEXT = """\
id: pattern
title: Finding the pattern
benchmark: handmethat
seat: robot
settings: {examples: 20, hint: no, from: 2026-03-01}
conditions: [subject, location]
participants: {subject: 3, location: 5}
pay: {amount: 2.5, currency: USD, minutes: 10}
completion_codes:
  complete: 0123
  returned: C3ABC
completion_url: https://app.prolific.com/submissions/complete?cc={code}
exclude: []
seed: 7
"""

BUILTIN = (Path(data.__file__).parent / "studies" / "h2l.yaml").read_text(encoding="utf-8")
PAIRED = "setup: H2H\nseats: [robot, human]"
Write = Callable[..., Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def put(text: str = TEXT, name: str = "pattern.yaml") -> Path:
        path = tmp_path / name
        path.write_text(text, encoding="utf-8")
        return path

    return put


def test_a_file_is_read_as_written(write: Write) -> None:
    study = read_study(write())
    assert study.completion_codes.complete == "0123"
    assert study.settings == {"examples": 20, "hint": False, "from": "2026-03-01"}
    assert study.participants == {"subject": 3, "location": 5}
    assert (study.exclude, study.seed, study.run_id) == ((), 7, "study-pattern")
    assert study.identity == ("PROLIFIC_PID", "STUDY_ID", "SESSION_ID")
    assert Study.model_validate(study.to_json()) == study


def test_the_hash_is_of_what_the_file_says(write: Write) -> None:
    study = read_study(write())
    rearranged = "\n".join(["# a comment", *reversed(TEXT.replace("seed: 7\n", "").splitlines()[-2:])])
    head = TEXT.replace("seed: 7\n", "").splitlines()[:-2]
    other = read_study(write("\n".join([*head, rearranged, "seed: 7"]) + "\n", "other.yaml"))
    assert other.content_hash == study.content_hash
    assert read_study(write(TEXT.replace("20", "21"), "new.yaml")).content_hash != study.content_hash
    # A key left out says nothing, so that a new key of Askback's changes no study's hash.
    assert "require_identity" not in study.to_json()


def test_titles_and_texts_are_one_or_one_for_each_language(write: Write) -> None:
    study = read_study(write(f"{TEXT}texts: {{consent: {{en: Agreed, zh: 同意}}, instructions: Look.}}\n"))
    assert study.title_in("zh") == study.title_in("en") == "Finding the pattern"
    assert study.texts_in("en") == {"consent": "Agreed", "instructions": "Look."}
    assert study.texts_in("zh") == {"consent": "同意", "instructions": "Look."}
    text = TEXT.replace("title: Finding the pattern", "title: {en: Finding the pattern, zh: 找出规律}")
    both = read_study(write(text))
    assert (both.title_in("en"), both.title_in("zh")) == ("Finding the pattern", "找出规律")
    assert Study.model_validate(both.to_json()) == both


@pytest.mark.parametrize(
    ("old", "new", "line", "message"),
    [
        ("id: pattern", "id: Pattern 1", 1, "id"),
        ("seat: robot\n", "", 1, "give either seat, or seats"),
        ("seat: robot", "saet: robot", 4, "unknown key 'saet'; did you mean 'seat'?"),
        ("seat: robot", "seat: robot\nseats: [robot, user]", 1, "give either seat, or seats"),
        ("seat: robot", "seats: [robot, user]", 1, "setup: must be H2H"),
        ("seat: robot", "seats: [robot, robot]", 4, "robot occurs twice"),
        ("seat: robot", "seat: robot\npairing: {wait_minutes: 2}", 1, "pairing: only allowed with seats"),
        ("seat: robot", "setup: H2H\nseats: [robot, user]", 1, "must be even if people are paired"),
        ("seat: robot", f"{PAIRED}\npairing: {{then: model}}", 6, "`then: model` and `partner`"),
        ("seat: robot", f"{PAIRED}\npairing: {{wait: 2}}", 6, "unknown key 'pairing.wait'"),
        ("seat: robot", f"{PAIRED}\npairing: {{grace_seconds: 0}}", 6, "greater than or equal to 2"),
        ("minutes: 10", "minute: 10", 8, "unknown key 'pay.minute'; did you mean 'minutes'?"),
        ("seat: robot", "seat: robot\nlanguages: [en]", 5, "key 'languages' belongs under `settings`"),
        ("amount: 2.5", "amount: -1", 8, "pay.amount: input should be greater than or equal to 0"),
        (
            "location: 5",
            "location: some",
            7,
            "participants: must be a positive whole number",
        ),
        ("location: 5", "place: 5", 1, "participants: place is not among the conditions"),
        ("seed: 7", "judgments_per_item: 9", 1, "give either participants or judgments_per_item"),
        ("https://app", "http://app", 12, "completion_url: must begin with https://"),
        ("returned: C3ABC", "returned: C3 ABC", 11, "completion_codes.returned"),
        ("[subject, location]", "[subject, subject]", 6, "conditions: subject occurs twice"),
        ("seed: 7", "seed: 7\nseed: 8", 15, "key 'seed' occurs twice"),
        ("seed: 7", "seed: 7\nresume: {policy: never}", 15, "resume.policy: input should be 'resume'"),
        ("[subject, location]", "[subject, location", 7, "not YAML"),
        ("exclude: []", "exclude: ''", 13, "exclude: input should be a valid list"),
        ("conditions: [subject, location]", "conditions: [a//b]", 6, "conditions.0"),
        (
            "title: Finding the pattern",
            "title: {en: Finding, de: Finden}",
            2,
            "title: 'de' is not a language",
        ),
        ("title: Finding the pattern", "title: {en: ''}", 2, "title"),
        (
            "title: Finding the pattern",
            "title: {zh: 找出规律}",
            1,
            "title: lacks a text in the study's language, en",
        ),
        ("seed: 7", "texts: {consent: {zh: 同意}}", 1, "consent: lacks a text in the study's language, en"),
        ("seed: 7", "texts: {consent: {fr: Oui}}", 14, "texts.consent: 'fr' is not a language of the pages"),
        ("seed: 7", "texts: {concent: Ours.}", 14, "unknown key 'texts.concent'; did you mean 'consent'?"),
    ],
)
def test_a_fault_is_told_with_its_line_and_field(
    write: Write, old: str, new: str, line: int, message: str
) -> None:
    assert old in TEXT
    path = write(TEXT.replace(old, new))
    with pytest.raises(InputError) as caught:
        read_study(path)
    faults = check_studies([path])
    assert f"{faults[0]}" in str(caught.value)
    assert [fault.severity for fault in faults if fault.line == line and message in fault.message] == [
        "error"
    ]


def test_every_faulty_field_is_told_once(write: Write) -> None:
    text = TEXT.replace("2.5", "no").replace("USD", "Dollars").replace("seed: 7", "seed: x")
    faults = check_studies([write(text)])
    assert [fault.line for fault in faults] == [8, 8, 14]
    assert {fault.task for fault in faults} == {"pattern"}


@pytest.mark.parametrize("text", ["", "- benchmark: x\n", "benchmark: x\n\tid: y\n"])
def test_what_is_no_study_is_refused(write: Write, text: str) -> None:
    with pytest.raises(InputError, match=r"pattern\.yaml:[12]: "):
        read_study(write(text))


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"none\.yaml"):
        read_study(tmp_path / "none.yaml")


def test_studies_that_contradict_each_other_or_the_benchmark(
    write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    paths = [
        write(BUILTIN),
        write(BUILTIN, "second.yaml"),
        write(TEXT.replace("pattern", "b").replace("handmethat", "tictactoe"), "b.yaml"),
        write(TEXT.replace("pattern", "c").replace("robot", "cook"), "c.yaml"),
    ]
    faults = {Path(fault.file).name: fault for fault in check_studies(paths)}
    assert set(faults) == {"second.yaml", "b.yaml", "c.yaml"}
    assert faults["second.yaml"].code == "id"
    assert "tictactoe" in faults["b.yaml"].message
    assert "no seat 'cook'; known are: " in faults["c.yaml"].message

    def refuse(study: Study, reader: object) -> Never:
        raise InputError(f"settings: {study.settings['examples']} is too much")

    declared = replace(catalog.find("handmethat"), studies=lambda: refuse)
    monkeypatch.setattr(catalog, "find", lambda name: declared)
    (fault,) = check_studies([write()])
    assert fault.message == "settings: 20 is too much"


def test_numbers_that_do_not_fit_the_conditions_are_found(write: Write) -> None:
    text = TEXT.replace("{subject: 3, location: 5}", "{subject: 3}")
    faults = check_studies([write(text)])
    assert ["location has no number of participants" in fault.message for fault in faults].count(True) == 1


def test_everything_that_the_benchmark_refuses_is_told_at_once_with_its_line(write: Write) -> None:
    text = (
        "id: pattern\ntitle: x\nbenchmark: ambibench\nseat: participant\nsettings:\n  setting: multiple\n"
        "  examples: 20\n  kind: x\nconditions: [subject, nowhere]\nparticipants: {subject: 3}\n"
    )
    path = write(text)
    faults = check_studies([path])
    assert [(fault.line, fault.message.partition(";")[0].partition(",")[0]) for fault in faults] == [
        (7, "settings: unknown key 'examples'"),
        (8, 'settings: kind is "x"'),
        (10, "participants: the condition nowhere has no number of participants"),
    ]
    assert str(faults[0]).startswith(f"{path}:7: study pattern: settings: unknown key 'examples'; known: ")
    (seat,) = check_studies([write(text.replace("participant\n", "cook\n").replace(", nowhere", ""))])
    assert str(seat).startswith(f"{path}:4: study pattern: seat: ambibench has no seat 'cook'")
    (condition,) = check_studies(
        [write("id: c\ntitle: x\nbenchmark: clarq\nseat: seeker\nparticipants: 3\nconditions: [nowhere]\n")]
    )
    assert condition.line == 6 and "there is no condition 'nowhere'" in condition.message
    (other,) = check_studies([write(text.replace("ambibench", "tictactoe").replace(", nowhere", ""))])
    assert other.line == 3 and other.message.startswith("benchmark: there is no benchmark called 'tictactoe'")


def test_askback_check_knows_studies_from_tasks(
    write: Write, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("simulator.commands.files.all_checkers", lambda: [checker(), data.checker()])
    study = write(BUILTIN)
    broken = write("benchmark: ambibench\nid: [\n", "broken.yml")
    task = write("id: wood\ntype: 1\n", "task.yaml")
    write("benchmark: none", "notes.txt")
    assert find_studies(tmp_path) == (broken, study)
    assert find_studies(task) == ()
    faults = {Path(fault.file).name: fault.message for fault in check_files([tmp_path])}
    assert set(faults) == {"broken.yml", "task.yaml"}
    assert faults["broken.yml"].startswith("not YAML")
