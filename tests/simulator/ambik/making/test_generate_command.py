"""`askback generate ambik`: from scenes to a study for annotators."""

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from logs import LogReader
from simulator import studies
from simulator.ambik import assignment, generate_command
from simulator.ambik.data import TABLES, load_drafts
from simulator.ambik.scenes import draw_scenes
from simulator.ambik.terms import AMBIGUITIES
from simulator.errors import InputError
from simulator.models import BadRequest
from simulator.runner.options import ModelFlags
from simulator.studies.quota import quota_of


@pytest.fixture
def run(tmp_path, monkeypatch, fitting):
    """Runs the command with a script; anything may be said beside."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ASKBACK_HOME", str(tmp_path / "home"))

    def invoke(*words, script=fitting, model=True):
        reached = ModelFlags.options

        def options(flags, log, **named):
            return replace(reached(flags, log, **named), script=script, cache_path=None)

        monkeypatch.setattr(ModelFlags, "options", options)
        app = typer.Typer()
        app.command()(generate_command.generate_ambik)
        line = [*(["--model", "offline/script"] if model else []), "--log", "log.sqlite", *map(str, words)]
        return CliRunner().invoke(app, line, catch_exceptions=False, env={"COLUMNS": "200", "NO_COLOR": "1"})

    return invoke


def lines(path):
    return [json.loads(line) for line in Path(path).read_text(encoding="utf-8").splitlines()]


def counts(output):
    rows = re.findall(r"│ (.+?) +│ +([0-9,]+) +│", output)
    return {name: int(number) for name, number in rows}


def nobody(request):
    raise AssertionError("asked")


def test_without_a_model_there_are_only_scenes(run):
    done = run("--scenes", 4, "--seed", 9, "--out", "new", model=False, script=nobody)
    assert done.exit_code == 0, done.output
    assert [row["id"] for row in lines("new/scenes.jsonl")] == [f"s9-000{n}" for n in range(1, 5)]
    assert [tuple(row["objects"]) for row in lines("new/scenes.jsonl")] == [
        scene.objects for scene in draw_scenes(4, 9)
    ]
    assert [path.name for path in Path("new").iterdir()] == ["scenes.jsonl"]


def test_from_scenes_to_a_study(run):
    done = run("--scenes", 4, "--out", "new")
    assert done.exit_code == 0, done.output
    numbers = counts(done.output)
    assert (numbers["scenes"], numbers["tasks asked for"], numbers["drafts"]) == (4, 4, 4)
    assert numbers["with candidates that all repeat the task"] == 0
    assert [numbers[f"with a candidate: {kind}"] for kind in AMBIGUITIES] == [4, 4, 4]
    assert numbers["with the plan of: safety"] == 4 and numbers["with two plans that differ"] == 4
    drafts = load_drafts("new/drafts.jsonl")
    scenes = draw_scenes(4, 0)
    assert [(draft.id, draft.objects, draft.scene) for draft in drafts] == [
        (scene.id, scene.objects, scene.words) for scene in scenes
    ]
    assert all(draft.plan and draft.ambiguous_plan and len(draft.candidates) == 3 for draft in drafts)
    (first, *_) = lines("new/drafts.jsonl")
    assert (first["model"], first["step"], first["rewritten"]) == ("offline/script", 1, "safety")
    assert lines("new/dropped.jsonl") == []


def test_the_study_gives_each_draft_to_two_annotators(run):
    assert run("--scenes", 3, "--out", "new").exit_code == 0
    study = studies.read_study(Path("new/study.yaml"))
    quota_of(study, assignment.KitchenStudy(study).cells)
    items = assignment.KitchenStudy(study).items
    assert [item.draft for item in items.values()] == list(load_drafts(Path("new/drafts.jsonl").resolve()))
    assert study.judgments_per_item == 2 and study.seat == "annotator"


def test_dropped_tasks_are_reported(run, fitting):
    def task(request):
        return (
            "Fry the bacon on the stove." if "s0-0002" in ids(request) else fitting.replies["task"](request)
        )

    ids = scene_ids(draw_scenes(3, 0))
    done = run("--scenes", 3, "--out", "new", script=type(fitting)({**fitting.replies, "task": task}))
    assert done.exit_code == 0, done.output
    numbers = counts(done.output)
    assert (numbers["dropped: not in the scene"], numbers["drafts"]) == (1, 2)
    assert "s0-0002: names things not in the scene (bacon, stove): Fry the bacon on the stove." in done.output
    (row,) = lines("new/dropped.jsonl")
    assert (row["scene"], row["reason"], row["names"]) == ("s0-0002", "not in the scene", ["bacon", "stove"])
    assert [draft.id for draft in load_drafts("new/drafts.jsonl")] == ["s0-0001", "s0-0003"]


def scene_ids(scenes):
    """Return a function for the ids of the scenes that a request is about."""

    def ids(request):
        return [scene.id for scene in scenes if scene.words in request.messages[-1].content]

    return ids


def test_candidates_that_only_repeat_the_task_are_reported(run, fitting):
    replies = dict.fromkeys(
        AMBIGUITIES, lambda request: f"Task: {clear(request)}\nQuestion: What?\nAnswer: It."
    )
    done = run("--scenes", 3, "--out", "new", script=type(fitting)({**fitting.replies, **replies}))
    numbers = counts(done.output)
    assert (numbers["drafts"], numbers["with candidates that all repeat the task"]) == (3, 3)
    assert numbers["with two plans that differ"] == 0


def clear(request):
    return request.messages[-1].content.rpartition("Clear task: ")[2]


def test_nothing_left_is_a_failure_and_leaves_no_old_study(run, fitting):
    assert run("--scenes", 1, "--out", "new").exit_code == 0
    Path("new/answers.jsonl").unlink()
    script = type(fitting)({**fitting.replies, "task": "Fry the bacon on the stove."})
    done = run("--scenes", 1, "--tries", 2, "--out", "new", script=script)
    assert done.exit_code == 1 and "nothing to annotate" in done.output
    assert sorted(path.name for path in Path("new").iterdir()) == [
        "answers.jsonl",
        "dropped.jsonl",
        "scenes.jsonl",
    ]
    assert len(lines("new/dropped.jsonl")) == 2


def test_the_same_command_writes_the_same_and_asks_no_model(run):
    assert run("--scenes", 3, "--out", "new").exit_code == 0
    before = {path.name: path.read_bytes() for path in Path("new").iterdir()}
    done = run("--scenes", 3, "--out", "new", script=nobody)
    assert done.exit_code == 0 and "model was not asked" in done.output
    assert {path.name: path.read_bytes() for path in Path("new").iterdir()} == before


def test_more_scenes_go_on_with_the_same(run, fitting):
    assert run("--scenes", 2, "--out", "new").exit_code == 0
    before = load_drafts(Path("new/drafts.jsonl").resolve())
    asked = len(fitting.asked)
    assert run("--scenes", 3, "--out", "new").exit_code == 0
    assert len(fitting.asked) == asked * 3 / 2
    assert load_drafts("new/drafts.jsonl")[:2] == before


def test_what_breaks_is_gone_on_with_and_ends_the_same(run, fitting):
    assert run("--scenes", 3, "--out", "whole").exit_code == 0

    def breaks(request):
        return BadRequest("down") if len(fitting.asked) > 24 else fitting(request)

    with pytest.raises(BadRequest):
        run("--scenes", 3, "--out", "new", "--concurrency", 1, script=breaks)
    assert len(lines("new/answers.jsonl")) == 7 and not Path("new/drafts.jsonl").exists()
    assert run("--scenes", 3, "--out", "new").exit_code == 0
    assert Path("new/drafts.jsonl").read_bytes() == Path("whole/drafts.jsonl").read_bytes()


def test_concurrency_changes_nothing(run):
    for number in (1, 5):
        assert run("--scenes", 5, "--out", f"new{number}", "--concurrency", number).exit_code == 0
    assert Path("new1/drafts.jsonl").read_bytes() == Path("new5/drafts.jsonl").read_bytes()


@pytest.mark.parametrize(
    "words",
    [("--seed", 1), ("--language", "zh"), ("--temperature", 0.1), ("--top-p", 0.5), ("--set", "top_k=3")],
)
def test_another_command_needs_another_place(run, words):
    assert run("--scenes", 2, "--out", "new").exit_code == 0
    before = {path.name: path.read_bytes() for path in Path("new").iterdir()}
    with pytest.raises(InputError, match="another model, server, seed"):
        run("--scenes", 2, "--out", "new", *words)
    assert {path.name: path.read_bytes() for path in Path("new").iterdir()} == before


def test_every_call_is_in_the_log(run):
    assert run("--scenes", 2, "--out", "new").exit_code == 0
    with LogReader(Path("log.sqlite")) as reader:
        purposes = [call.purpose for call in reader.model_calls()]
    assert len(purposes) == 12 and set(map(type, purposes)) == {str}
    assert {name.rpartition(".")[0] for name in purposes} == {"ambik"}


def test_the_files_can_be_checked(run):
    assert run("--scenes", 3, "--out", "new").exit_code == 0
    files = TABLES.find(Path("new"))
    assert [file.name for file in files] == ["drafts.jsonl"] and TABLES.check(files) == ()
    rows = lines("new/drafts.jsonl")
    rows[1]["clear"] = ""
    Path("new/drafts.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in [*rows, rows[0]]))
    faults = TABLES.check(files)
    assert [(fault.line, fault.task) for fault in faults] == [(2, "s0-0002"), (4, "s0-0001")]


@pytest.mark.parametrize("text", ["", '{"id": "a"}\n', "[1]\n"])
def test_files_of_drafts_that_are_none(tmp_path, text):
    path = tmp_path / "drafts.jsonl"
    path.write_text(text)
    with pytest.raises(InputError, match=r"drafts\.jsonl"):
        load_drafts(path)


def test_a_draft_is_in_a_file_only_once(run):
    assert run("--scenes", 1, "--out", "new").exit_code == 0
    path = Path("new/twice.jsonl")
    path.write_bytes(Path("new/drafts.jsonl").read_bytes() * 2)
    with pytest.raises(InputError, match="repeats line 1"):
        load_drafts(path.resolve())
