from __future__ import annotations

import json
import re
import signal
from dataclasses import replace
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from logs import LogReader
from simulator import studies
from simulator.ambient import assignment, generate_command
from simulator.ambient.data import load_examples, load_pool
from simulator.ambient.files.kinds import TABLES
from simulator.ambient.labels import LABELS
from simulator.ambient.pool.groups import pair_id
from simulator.errors import InputError
from simulator.models import BadRequest, Completion
from simulator.runner.options import ModelFlags
from simulator.studies.quota import quota_of

SENTENCES = re.compile(r"Sentence 1: (.*)\nSentence 2: (.*)")


class Judge:
    """A judge that reads the likely labels from the letters of the premise's first word."""

    name = "judge"

    def __init__(self):
        self.asked = []

    def probabilities(self, pairs):
        self.asked += pairs
        pairs = [(premise or "C", hypothesis) for premise, hypothesis in pairs]
        return [
            {label: 0.5 if label[0].upper() in premise.split()[0] else 0.01 for label in LABELS}
            for premise, _ in pairs
        ]


def writes(request):
    """Return five samples per prompt: variants of its seed, a copy, one that is not a pair, a duplicate."""
    premise, hypothesis = SENTENCES.findall(request.messages[0].content)[-1]
    number = request.repeat % 5
    text = {0: f"CE {premise}", 1: f"EN {premise}", 2: f"CN {premise}", 3: premise, 4: ""}[number]
    return f" {text}\nSentence 2: {hypothesis}" if text else " nothing of the kind"


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Return a function that runs the command with a scripted model and judge and further arguments."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ASKBACK_HOME", str(tmp_path / "home"))

    def invoke(*words, script=writes, judge=None):
        reached = ModelFlags.options

        def options(flags, log, **named):
            return replace(reached(flags, log, **named), script=script, cache_path=None)

        monkeypatch.setattr(ModelFlags, "options", options)
        if judge is not None:
            monkeypatch.setattr(generate_command, "load_predictor", lambda folder, device: judge)
        app = typer.Typer()
        app.command()(generate_command.generate_ambient)
        line = ["--model", "offline/script", "--out", "new", "--log", "log.sqlite", *map(str, words)]
        return CliRunner().invoke(app, line, catch_exceptions=False, env={"COLUMNS": "200", "NO_COLOR": "1"})

    return invoke


def counts(output):
    """Return step -> left and dropped, from the printed table."""
    rows = [[cell.strip() for cell in line.split("│")[1:-1]] for line in output.splitlines() if "│" in line]
    return {name: tuple(others) for name, *others in rows}


def test_from_a_pool_to_a_study(run, pool_file, tmp_path):
    judge = Judge()
    done = run("--pool", pool_file, "--nli", "judge", judge=judge)
    assert done.exit_code == 0, done.output
    numbers = counts(done.output)
    assert numbers["prompts answered"] == ("3", "")
    assert numbers["samples drawn"] == ("15", "")
    assert numbers["in two parts"] == ("12", "3")
    assert numbers["not: copies an example of its prompt"] == ("9", "3")
    assert numbers["two labels are likely"] == ("9", "0")
    assert numbers["label sets balanced"] == ("9", "0")
    assert [numbers[name] for name in ("CE", "CN", "EN")] == [("3", "3")] * 3
    assert len(judge.asked) == 9 + 1  # one to see that it gives probabilities
    examples = load_examples("new/pairs.jsonl")
    assert len(examples) == 9
    first = examples[0]
    assert first.id == pair_id(first.premise, first.hypothesis) and not first.labels
    assert first.meta["model"] == "offline/script" and len(first.meta["examples"]) == 4
    assert first.meta["probabilities"]["neutral"] in (0.5, 0.01)


def test_the_study_file_is_accepted_and_gives_each_pair_to_two(run, pool_file):
    assert run("--pool", pool_file, "--no-ambiguity-filter").exit_code == 0
    study = studies.read_study(Path("new/study.yaml"))
    assert study.judgments_per_item == 2
    quota_of(study, assignment.ExampleStudy(study).cells)
    items = assignment.ExampleStudy(study).items
    assert [item.example.id for item in items.values()] == [
        example.id for example in load_examples("new/pairs.jsonl")
    ]
    assert all(item.task == "annotate" for item in items.values())
    files = TABLES.find(Path("new"))
    assert [file.name for file in files] == ["pairs.jsonl"] and TABLES.check(files) == ()


def test_without_the_filter_of_ambiguity_nothing_is_balanced(run, pool_file):
    done = run("--pool", pool_file, "--no-ambiguity-filter")
    numbers = counts(done.output)
    assert "two labels are likely" not in numbers and "label sets balanced" not in numbers
    assert len(load_examples("new/pairs.jsonl")) == 9
    assert "probabilities" not in load_examples("new/pairs.jsonl")[0].meta


@pytest.mark.parametrize("words", [(), ("--nli", "folder", "--no-ambiguity-filter")])
def test_the_filter_of_ambiguity_is_never_left_out_silently(run, words):
    with pytest.raises(InputError, match="either --nli FOLDER"):
        run(*words)
    assert not Path("new").exists()


def test_rerunning_the_command_gives_the_same_without_model_calls(run, pool_file):
    words = ("--pool", pool_file, "--nli", "judge", "--seed", "3")
    judge = Judge()
    assert run(*words, judge=judge).exit_code == 0
    before = {name: Path("new", name).read_bytes() for name in ("pairs.jsonl", "study.yaml")}

    def nobody(request):
        raise AssertionError("asked again")

    again = Judge()
    done = run(*words, judge=again, script=nobody)
    assert done.exit_code == 0 and "model was not called" in done.output
    assert len(again.asked) == 1
    assert before == {name: Path("new", name).read_bytes() for name in before}


def test_an_interrupted_command_continues_with_the_same_result(run, pool_file):
    words = ("--pool", pool_file, "--no-ambiguity-filter", "--concurrency", "1")
    assert run(*words).exit_code == 0
    whole = Path("new/pairs.jsonl").read_bytes()
    for name in ("samples.jsonl", "pairs.jsonl", "study.yaml"):
        Path("new", name).unlink()
    calls = []

    def breaks(request):
        calls.append(request)
        return BadRequest("down") if len(calls) > 7 else writes(request)

    with pytest.raises(BadRequest):
        run(*words, script=breaks)
    assert len(Path("new/samples.jsonl").read_text().splitlines()) == 1
    assert not Path("new/pairs.jsonl").exists()
    assert run(*words).exit_code == 0
    assert Path("new/pairs.jsonl").read_bytes() == whole


def test_interrupted(run, pool_file):
    pressed = []

    def stops(request):
        if not pressed:
            pressed.append(request)
            signal.raise_signal(signal.SIGINT)  # as Ctrl-C does; a second would leave a task unawaited
        return writes(request)

    done = run("--pool", pool_file, "--no-ambiguity-filter", script=stops)
    assert done.exit_code == 130 and "same command continues" in done.output


def test_more_prompts_go_on_and_other_settings_do_not(run, pool_file):
    words = ("--pool", pool_file, "--no-ambiguity-filter")
    assert run(*words, "--prompts", "1").exit_code == 0
    ids = {example.id for example in load_examples("new/pairs.jsonl")}
    calls = []

    def counting(request):
        calls.append(request)
        return writes(request)

    assert run(*words, "--prompts", "3", script=counting).exit_code == 0
    assert len(calls) == 10 and ids <= {example.id for example in load_examples("new/pairs.jsonl")}
    assert run(*words, "--prompts", "1").exit_code == 0
    assert ids == {example.id for example in load_examples("new/pairs.jsonl")}
    with pytest.raises(InputError, match="another command"):
        run(*words, "--seed", "9")
    with pytest.raises(InputError, match=r"--prompts 4.*3 pairs"):
        run(*words, "--prompts", "4")


def test_other_filters_need_no_new_samples(run, pool_file):
    words = ("--pool", pool_file, "--no-ambiguity-filter")

    def asks(request):
        return writes(request).replace(".", "?", 1)

    assert run(*words, script=asks).exit_code == 0
    done = run(*words, "--filters", "reference", script=asks)
    assert done.exit_code == 1 and "No pair is left to annotate" in done.output
    assert counts(done.output)["not: question mark"][0] == "0"
    assert not Path("new/pairs.jsonl").exists() and not Path("new/study.yaml").exists()


def test_calls_are_logged(run, pool_file):
    assert run("--pool", pool_file, "--no-ambiguity-filter", "--prompts", "2").exit_code == 0
    with LogReader("log.sqlite") as reader:
        purposes = [call.purpose for call in reader.model_calls()]
    assert purposes == ["ambient.new_pairs"] * 10


def test_the_builtin_pool_and_groups_of_five(run):
    seen = []

    def script(request):
        seen.append(SENTENCES.findall(request.messages[0].content))
        return Completion(text=" Some cats.\nSentence 2: All cats.")

    assert run("--no-ambiguity-filter", "--group", "5", "--samples", "1", script=script).exit_code == 0
    seeds = {(pair.premise, pair.hypothesis) for pair in load_pool() if pair.disagree}
    assert {pairs[-1] for pairs in seen} == seeds and {len(pairs) for pairs in seen} == {5}
    assert len(load_examples("new/pairs.jsonl")) == 1


def test_a_model_of_inference_and_an_encoder_in_folders(run, pool_file, encoder, inference):
    words = ("--pool", pool_file, "--encoder", encoder, "--nli", inference, "--device", "cpu")
    done = run(*words)
    numbers = counts(done.output)
    assert "last layer, [CLS]" in done.output
    assert numbers["two labels are likely"][0].isdigit()
    rows = [json.loads(line) for line in Path("new/predictions.jsonl").read_text().splitlines()]
    assert len(rows) == 9 and all(set(row["probabilities"]) == set(LABELS) for row in rows)
    again = run(*words)
    assert counts(again.output) == numbers
    assert len(Path("new/predictions.jsonl").read_text().splitlines()) == 9


def test_a_folder_without_a_model_is_refused_before_sampling(run, tmp_path):
    def nobody(request):
        raise AssertionError("asked")

    with pytest.raises(InputError, match="gone"):
        run("--nli", tmp_path / "gone", script=nobody)
