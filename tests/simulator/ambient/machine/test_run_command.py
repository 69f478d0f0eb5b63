"""`askback run ambient` and `askback score`: runs, their names, errors before anything is played."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from logs import LogReader
from simulator.ambient.benchmark import BENCHMARK
from simulator.ambient.continuations import STEMS
from simulator.ambient.data import load_examples
from simulator.ambient.files.dataset import DATASET
from simulator.ambient.files.results import GENERATION
from simulator.ambient.generation import generation_measures
from simulator.ambient.playing import Options
from simulator.ambient.reporting.answers import generation_results
from simulator.ambient.reporting.measures import Results
from simulator.ambient.reporting.runs import run_measures
from simulator.ambient.reporting.sources import Context
from simulator.ambient.runs import ExampleSelection, refusal, suited_stem
from simulator.ambient.trial_log import (
    claim_records,
    continuation_records,
    crowd_records,
    generation_records,
    nli_records,
    true_false_records,
)
from simulator.commands.score import score_run
from simulator.errors import InputError
from simulator.models import AuthenticationFailed, Capabilities
from simulator.runner.logged import endings_of_runs


@pytest.fixture
def askback(commands):
    return commands(BENCHMARK)


def runs(path):
    with LogReader(path) as reader:
        return {run.id: run for run in reader.runs()}


def test_each_task_of_each_player_is_a_run(askback, log_path):
    printed = askback(
        "run", "--task", "generate,true-false", "--model", "offline/gold", "--model", "offline/random",
        "--limit", 4,
    )  # fmt: skip
    played = runs(log_path)
    assert [run.config["task"] for run in played.values()] == ["generate", "true_false"] * 2
    assert {run.config["planned"] for run in played.values()} == {4}
    assert next(iter(played)).startswith("ambient-gold-generate-")
    assert "EDIT-F1" in printed and "accuracy" in printed
    with LogReader(log_path) as reader:
        calls = sum(1 for _ in reader.turns_of_run(next(iter(played))))
    askback("run", "--task", "generate", "--limit", 4)
    with LogReader(log_path) as reader:
        assert sum(1 for _ in reader.turns_of_run(next(iter(played)))) == calls == 4
    assert len(runs(log_path)) == 4


def test_all_skips_tasks_that_a_player_cannot_do(askback, log_path):
    printed = askback("run", "--task", "all", "--model", "offline/copy", "--limit", 2, "--run", "x")
    assert list(runs(log_path)) == ["x"]
    assert "true-false, continue, nli, claim left out: offline/copy cannot do this task" in printed
    assert "evaluate left out: name the results file" in printed


def test_all_may_be_written_in_capitals(askback, log_path):
    askback("run", "--task", "ALL", "--model", "offline/copy", "--limit", 2, "--run", "x")
    assert list(runs(log_path)) == ["x"]


@pytest.mark.parametrize(
    ("arguments", "error", "problem"),
    [
        (["--task", "sing"], InputError, "known are crowd"),
        (["--task", "continue"], InputError, "--task continue: offline/gold cannot do this task"),
        (["--task", "claim", "--model", "local/smollm2"], InputError, "--nli FOLDER"),
        (["--task", "evaluate"], InputError, "--results"),
        (["--task", "crowd", "--model", "nli:folder"], InputError, "only the task nli"),
        (["--task", "nli", "--model", "nli:/no/folder"], InputError, "no such folder"),
        (["--task", "generate", "--model", "offline/nobody"], InputError, "offline/nobody"),
        (["--task", "generate", "--model", "openai/m"], AuthenticationFailed, "OPENAI_API_KEY"),
        (["--data", "nowhere"], InputError, "nowhere"),
        (["--task", "claim", "--model", "x", "--nli", "f"], InputError, "x"),
        (["--task", "claim", "--top-p", "0"], InputError, "--top-p is 0.0; it must be greater than 0"),
    ],
)
def test_invalid_runs_are_refused_before_anything_is_played(askback, log_path, arguments, error, problem):
    assert problem in askback("run", *arguments, error=error)
    assert not log_path.exists() or not runs(log_path)


def test_chat_models_without_likelihoods_do_not_continue(askback, monkeypatch, log_path):
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    printed = askback("run", "--task", "continue", "--model", "openai/m", error=InputError)
    assert "openai/m gives no probabilities of texts" in printed
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    printed = askback("run", "--task", "crowd", "--model", "completions/m", error=InputError)
    assert "needs a chat model" in printed
    assert not log_path.exists() or not runs(log_path)


def test_refusals():
    every = Capabilities(scoring=True, plain=True, schema=True)
    assert refusal("continue", "m", lambda: every, Options()) == ""
    assert refusal("claim", "m", lambda: every, Options(nli="folder")) == ""
    assert refusal("generate", "m", lambda: Capabilities(schema=False), Options()) == ""
    assert "chat model" in refusal("nli", "m", lambda: Capabilities(schema=False), Options())
    assert ExampleSelection(task="true-false, crowd,crowd").tasks == ("crowd", "true_false")


def test_data_with_splits_are_played_by_their_test_split(askback, tmp_path):
    examples = [pair for pair in load_examples() if pair.xor][:12]
    folder = tmp_path / "data"
    folder.mkdir()
    for split, part in (("dev", examples[:4]), ("test", examples[4:])):
        DATASET.write(folder / f"{split}.jsonl", part)
    selection = ExampleSelection(data=str(folder), shots=1)
    ids = {item.example.id for item in selection.items("generate", "m")}
    assert ids == {pair.id for pair in examples[4:]}
    dev = selection.model_copy(update={"split": "dev"}).items("generate", "m")
    assert {item.example.id for item in dev} == {pair.id for pair in examples[:4]}
    assert len(selection.model_copy(update={"split": "all"}).items("true_false", "m")) == 12
    alone = tmp_path / "alone.jsonl"
    DATASET.write(alone, examples)
    assert len(ExampleSelection(data=str(alone)).items("nli", "m")) == 12
    assert len(ExampleSelection(data=str(alone), limit=5).items("nli", "m")) == 5


def test_items_are_made_as_wished():
    first, *_ = ExampleSelection(shots=2, instruction="corrected", limit=1).items("generate", "m")
    assert (len(first.shots), first.instruction) == (2, "corrected")
    first, *_ = ExampleSelection(continuations=7, limit=1).items("continue", "local/smollm2")
    assert (first.wanted, first.stem) == (7, STEMS["instructed"])
    first, *_ = ExampleSelection(stem="plain", limit=1).items("continue", "local/smollm2")
    assert first.stem == STEMS["plain"]
    assert suited_stem("transformers/big-Instruct") == "instructed"
    assert suited_stem("completions/davinci") == "plain"
    claims = ExampleSelection().items("claim", "m")
    assert claims[0].cleaned[0].isupper()
    assert any("a" in claim.marks for claim in claims)


def test_scoring_again(askback, log_path):
    askback("run", "--task", "generate", "--model", "offline/random", "--limit", 6, "--run", "x")
    report = json.loads(askback("score", "x", "--json"))
    (section,) = [each for each in report["sections"] if each["name"] == "generate"]
    rows = {row["measure"]: row for row in section["tables"][0]["rows"]}
    assert rows["items"]["value"] == 6
    assert rows["EDIT-F1"]["n"] == rows["EDIT-F1"]["value"]["n"] == 6
    with LogReader(log_path) as reader:
        records = generation_records(reader, ["x"])
        summary = run_measures(reader, "x")["generate"]
        rows = score_run(reader, BENCHMARK, "x")
        means = [row.value for row in rows if row.metric == "edit_f1"]
    measures = generation_measures(records)
    assert summary.measures["EDIT-F1"] == measures["edit_f1"]
    assert summary.counts["items"] == 6
    assert sum(means) / 6 == pytest.approx(measures["edit_f1"].value)
    assert "EDIT-F1, robust parser" in askback("score", "x")
    assert "there is no judge" in askback("score", "x", "--judge", "m", error=InputError)


def test_undefined_measures_are_reported(askback):
    askback("run", "--task", "crowd", "--model", "offline/gold", "--limit", 2, "--run", "x")
    (section,) = (
        part for part in json.loads(askback("score", "x", "--json"))["sections"] if part["name"] == "crowd"
    )
    undefined = [row["measure"] for row in section["tables"][0]["rows"] if row["value"] is None]
    assert undefined
    remark, aborted = section["remarks"]
    assert remark == f"undefined in x: {'; '.join(undefined)}"
    assert aborted.startswith("Episodes aborted by a failing seat are not counted")


def test_an_item_that_was_played_twice_is_one_item(askback, log_path):
    askback("run", "--task", "annotate,generate", "--limit", 3, "--repeat", 2, "--run", "x")
    counts = {}
    with LogReader(log_path) as reader:
        for run in ("x-annotate", "x-generate"):
            for section in run_measures(reader, run).values():
                counts |= {name: value.n for name, value in section.measures.items() if value is not None}
        answers = Results(kind="generation", name="gold", records=generation_records(reader, ["x-generate"]))
    results = generation_results(answers, Context())
    counts |= {measure.title: measure.value.n for measure in results.measures if measure.key == "copy"}
    assert set(counts.values()) == {3}, counts


def test_a_run_is_written_in_the_published_format_and_evaluated(askback, log_path, tmp_path, monkeypatch):
    askback("run", "--task", "generate", "--model", "offline/gold", "--limit", 6, "--run", "x")
    with LogReader(log_path) as reader:
        records = generation_records(reader, ["x"])
    path = tmp_path / "gold-n4.jsonl"
    GENERATION.write(path, records)
    again, _, faults = GENERATION.read(path)
    assert not faults
    assert generation_measures(again) == generation_measures(records)
    for results in ("x", path):
        printed = askback(
            "run", "--task", "evaluate", "--model", "offline/gold", "--results", results, "--no-cache"
        )
        assert "correct, " in printed
    # The run is in the log that is named, not in the usual one.
    monkeypatch.setenv("ASKBACK_LOG", str(tmp_path / "other.sqlite"))
    printed = askback("run", "--task", "evaluate", "--results", "x", "--no-cache", "--run", "judged")
    assert "correct, offline/gold" in printed
    assert "neither a results file nor a run" in askback(
        "run", "--task", "evaluate", "--results", "nothing", error=InputError
    )


def test_a_script_of_forms(askback, log_path, tmp_path):
    script = tmp_path / "script.yaml"
    script.write_text(
        '- {label: "neutral"}\n- {plausible: [true, true, true]}\n- {labels: [neutral, neutral, neutral]}\n'
    )
    askback("run", "--task", "crowd", "--model", f"script:{script}", "--limit", 2, "--run", "x")
    with LogReader(log_path) as reader:
        assert endings_of_runs(reader, ["x"]).statuses == {"completed": 2}


def test_records_of_every_test(askback, log_path):
    for task in ("true-false", "nli"):
        askback("run", "--task", task, "--model", "offline/gold", "--limit", 3, "--run", task)
    with LogReader(log_path) as reader:
        judged = true_false_records(reader, ["true-false"])
        assert all(record.correct for record in judged)
        assert all(record.disambiguation in record.prompt for record in judged)
        for record in nli_records(reader, ["nli"]):
            assert record.predicted == record.gold
            assert record.readings == tuple(frozenset({label}) for label in record.reading_labels)
        assert continuation_records(reader, ["nli"]) == ()
        assert claim_records(reader, ["nli"]) == ()


def test_crowd_items_take_distractors_out_of_a_file(askback, log_path, tmp_path):
    examples = [replace(example, distractors={}) for example in load_examples() if example.xor][:3]
    DATASET.write(tmp_path / "examples.jsonl", examples)
    line = ("run", "--task", "crowd", "--data", tmp_path / "examples.jsonl")
    assert "--distractors FILE" in askback(*line, error=InputError)
    rows = [
        {
            "id": example.id,
            "side": example.sides[0],
            "sentence": example.sentence(example.sides[0]),
            "distractor": f"Or {example.id}.",
        }
        for example in examples
    ]
    (tmp_path / "distractors.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    assert "agreement" in askback(*line, "--distractors", tmp_path / "distractors.jsonl")
    with LogReader(log_path) as reader:
        shown = [
            example.interpretations for example in crowd_records(reader, [run.id for run in reader.runs()])
        ]
    assert sorted(text for row in shown for text in row if text.startswith("Or ")) == sorted(
        f"Or {example.id}." for example in examples
    )
