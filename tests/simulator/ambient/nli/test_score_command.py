from __future__ import annotations

import csv
import io
import json
import shutil

import pytest
import typer
from typer.testing import CliRunner

from simulator.ambient.files.nli import (
    NLI_LOGITS,
    NLI_PREDICTIONS,
    NLI_SEED,
    PairScores,
    read_seed,
    write_seed,
)
from simulator.ambient.nli.results import read_nli_results
from simulator.ambient.nli.table import paper_rows
from simulator.ambient.records import SeedRecord
from simulator.ambient.score_command import score_ambient_nli
from simulator.errors import InputError

E, N = frozenset({"entailment"}), frozenset({"neutral"})


def score(*words):
    app = typer.Typer()
    app.command()(score_ambient_nli)
    return CliRunner().invoke(
        app, [*map(str, words)], catch_exceptions=False, env={"COLUMNS": "200", "NO_COLOR": "1"}
    )


def pair(id, number, scores, labels):
    return PairScores(
        id=id, pair=number, premise="It rains.", hypothesis=f"It pours {id}.", scores=scores, labels=labels
    )


def logits(folder, test=None):
    folder.mkdir(parents=True, exist_ok=True)
    dev = [pair("1", 0, (-3.0, 2.0, -1.0), E), pair("2", 0, (-3.0, 1.0, 3.0), E | N)]
    test = test or [
        pair("3", 0, (-3.0, 2.0, 1.0), E | N),
        pair("3", 1, (-3.0, 2.0, -1.0), E),
        pair("3", 2, (-3.0, -1.5, 1.5), N),
        pair("4", 0, (-3.0, 2.0, 1.0), N),
    ]
    NLI_LOGITS.write(folder / "dev_logits.jsonl", dev)
    NLI_LOGITS.write(folder / "test_logits.jsonl", test)
    return folder


def rows_of(output):
    return {row["model"]: row for row in json.loads(output)["table_5"]["rows"]}


def test_published_folders_give_the_tables(published):
    result = score(published)
    assert result.exit_code == 0
    assert "roberta-large-wanli-set: 1545 examples, 0 with an empty set" in result.output
    for cells in (
        ("roberta-large-mnli", "5", "25.3 (1.8)", "68.0 (0.9)", "4.0 (2.5)"),
        ("roberta-large-wanli", "5", "30.8 (3.8)", "71.4 (0.3)", "10.1 (7.9)"),
        ("binary_models", "5", "37.6 (3.1)", "72.3 (0.6)", "20.0 (6.2)"),
        ("roberta-large-wanli-set", "43.4", "70.6", "43.6/70.7/37.8"),
        ("roberta-large-wanli-set", "43.4 [41.0, 45.8]", "70.6 [69.1, 72.1]"),
        ("random set (1/7)", "14.3"),
        ("roberta-large-mnli", "-2.68", "-2.68"),
        ("binary_models", "-2.22"),
    ):
        joined = "  ".join(cells)
        lines = ["  ".join(line.split("  ")) for line in result.output.splitlines()]
        assert any(_in_order(line, cells) for line in lines), joined
    assert "always N " in result.output and "always E+N+C" in result.output


def _in_order(line, cells):
    at = 0
    for cell in cells:
        at = line.find(cell, at)
        if at < 0:
            return False
        at += len(cell)
    return True


def test_json_and_csv_have_every_digit(published):
    rows = rows_of(score(published, "--json").output)
    summed = [read_seed(published / "binary_models" / f"seed{seed}.json").em for seed in (42, 43, 44, 45, 46)]
    assert rows["binary_models"]["em_mean"] == pytest.approx(sum(summed) / 5, abs=1e-12)
    assert rows["roberta-large-wanli-set"]["em"]["n"] == 1545
    assert rows["roberta-large-wanli-set"]["paper_em_mean"] == pytest.approx(0.436)
    table = list(csv.DictReader(io.StringIO(score(published, "--csv").output)))
    assert float(table[0]["em_sd"]) == rows["binary_models"]["em_sd"]
    latex = score(published, "--latex").output
    assert r"37.6 (3.1) & 72.3 (0.6)" in latex
    assert r"43.4 [41.0, 45.8] & 70.6 [69.1, 72.1] & -- & 43.6 (0.8) & 70.7 (0.2)" in latex


def test_logits_of_dev_tune_and_those_of_test_are_scored(tmp_path):
    result = score(logits(tmp_path / "mine"), "--json")
    row = rows_of(result.output)["mine"]
    # Above -1 lie: E alone, both, on dev; so on test both of 3 and of 4.
    assert (row["em"]["value"], row["group_em"]["value"], row["examples"]) == (0.5, 0.5, 2)
    tables = json.loads(result.output)
    assert tables["table_11"]["rows"] == [{"model": "mine", "threshold": -1.0, "paper": None}]
    assert rows_of(result.output)["always N"]["em"]["value"] == 0.5


def test_thresholds_have_full_precision(tmp_path):
    folder = tmp_path / "roberta-large-unli"
    for seed, low in ((42, 0.123456789), (43, 0.2)):
        ends = {"entailment": (low, 0.9), "neutral": (0.25, 0.75), "contradiction": (0.0, 0.5)}
        write_seed(folder, SeedRecord(model="x", seed=seed, em=0.5, f1=0.5, group_em=0.5, threshold=ends))
    write_seed(
        tmp_path / "other", SeedRecord(model="o", seed=42, em=0.5, f1=0.5, group_em=0.5, threshold=-1.23456)
    )
    table = json.loads(score(tmp_path, "--json").stdout)["table_11"]
    assert table["columns"] == ["model", "threshold", "paper"]
    rows = {row["model"]: row for row in table["rows"]}
    assert rows["other"]["threshold"] == -1.23456
    median = (0.123456789 + 0.2) / 2
    assert rows["roberta-large-unli"]["threshold"] == {
        "entailment": [pytest.approx(median, abs=1e-15), 0.9],
        "neutral": [0.25, 0.75],
        "contradiction": [0.0, 0.5],
    }


def test_stored_scores_are_compared_with_those_of_the_logits(tmp_path):
    right = SeedRecord(model="m", seed=42, em=0.5, f1=(0 + 2 / 3 + 1) / 3, group_em=0.5, threshold=-1.0)
    write_seed(tmp_path / "m", right)
    logits(tmp_path / "m" / "seed42")
    write_seed(tmp_path / "m", SeedRecord(model="m", seed=43, em=0.75, f1=0.5, group_em=0.5, threshold=-2))
    logits(tmp_path / "m" / "seed43")
    checks = json.loads(score(tmp_path / "m", "--json").output)["checks"]
    assert checks[0] == "m, seed 42: agrees with its logits"
    assert checks[1].startswith(
        "m, seed 43: em is stored as 0.75, but recomputed as 0.5; f1 is stored as 0.5"
    )
    assert checks[1].endswith("threshold 1 is stored as -2, but recomputed as -1")


def test_without_stored_scores_those_of_the_logits_are_summed_up(tmp_path):
    logits(tmp_path / "m" / "seed42")
    logits(tmp_path / "m" / "seed43", [pair("4", 0, (-3.0, -2.0, 1.0), N)])
    row = rows_of(score(tmp_path, "--json").output)["m"]
    assert (row["runs"], row["em_mean"]) == (2, 0.75)
    assert row["em_sd"] == pytest.approx(0.5**0.5 / 2)


def test_logits_of_originals_only_give_no_group_score(tmp_path):
    logits(tmp_path / "m" / "seed42", [pair("4", 0, (-3.0, -2.0, 1.0), E | N)])
    result = score(tmp_path, "--json")
    row = rows_of(result.stdout)["m, seed 42"]
    assert (row["em"]["value"], row["group_em"]) == (0.0, None)
    assert "no group EM" in result.stderr


def test_predictions_are_matched_with_their_seed(published, tmp_path):
    folder = tmp_path / "roberta-large-wanli-set"
    shutil.copytree(published / "roberta-large-wanli-set", folder)
    rows = rows_of(score(folder, "--json").output)
    em, f1 = rows[folder.name]["em"]["value"], rows[folder.name]["f1"]["value"]
    write_seed(folder, SeedRecord(model="x", seed=42, em=em, f1=f1, group_em=0.3))
    write_seed(folder, SeedRecord(model="x", seed=43, em=0.4, f1=f1, group_em=0.3))
    printed = score(folder, "--json").output
    assert json.loads(printed)["checks"] == [f"{folder / 'predictions.jsonl'}: agrees with seed 42"]
    shown = rows_of(printed)
    assert shown[folder.name]["runs"] == 2
    assert shown[f"{folder.name}: predictions"]["paper_em_mean"] == pytest.approx(0.436)


def test_bad_files_are_named_and_the_rest_is_scored(tmp_path):
    write_seed(tmp_path / "m", SeedRecord(model="m", seed=42, em=0.5, f1=0.5, group_em=0.5))
    (tmp_path / "m" / "seed43.json").write_text("{", encoding="utf-8")
    good = '{"id": 1, "premise": "a", "hypothesis": "b", "labels": "neutral", "prediction": "neutral"}\n'
    (tmp_path / "mine.jsonl").write_text(good + '{"id": 2}\n', encoding="utf-8")
    gapped = [pair("4", 0, (0.0, 0.0, 1.0), N), pair("4", 2, (0.0, 0.0, 1.0), N)]
    logits(tmp_path / "gap", gapped)
    (tmp_path / "empty").mkdir()
    names = ("m", "mine.jsonl", "gap", "empty", "gap/dev_logits.jsonl", "nowhere.jsonl")
    result = score(*(tmp_path / name for name in names), "--json")
    assert result.exit_code == 0
    report = json.loads(result.stdout)
    assert {row["model"] for row in report["table_5"]["rows"]} >= {"m", "mine"}
    for part in (
        "seed43.json: is not JSON",
        "mine.jsonl:2: task 2: premise is missing",
        "gap: example 4: has pairs [0, 2]",
        "empty: contains no results",
        "needs both dev and test logits",
        "nowhere.jsonl: cannot be read",
    ):
        assert any(part in problem for problem in report["problems"]), (part, report["problems"])
        assert part in result.stderr


def test_where_nothing_is_scored_the_exit_code_says_so(tmp_path):
    result = score(tmp_path)
    assert result.exit_code == 1
    assert "contains no results" in result.stderr


def test_logits_without_labels_take_them_from_the_data(tmp_path, ambient):
    from simulator.ambient.data import load_examples
    from simulator.ambient.nli.metrics import example_pairs, with_scores

    folder = tmp_path / "m"
    folder.mkdir()
    for split in ("dev", "test"):
        pairs = example_pairs(load_examples(str(ambient), split))
        scores = [(float("never" in pair.hypothesis), 0.5, 0.25) for pair in pairs]
        bare = [
            PairScores(
                id=row.id, pair=row.pair, premise=row.premise, hypothesis=row.hypothesis, scores=values
            )
            for row, values in zip(pairs, scores, strict=True)
        ]
        NLI_LOGITS.write(folder / f"{split}_logits.jsonl", bare)
        NLI_LOGITS.write(tmp_path / "with" / f"{split}_logits.jsonl", with_scores(pairs, scores))
    bare, labelled = score(folder, "--data", ambient, "--json"), score(tmp_path / "with", "--json")
    first, second = rows_of(bare.stdout)["m"], rows_of(labelled.stdout)["with"]
    assert {**first, "model": ""} == {**second, "model": ""}
    other = score(folder, "--json")
    assert other.exit_code == 1 and "name its data with --data" in other.stderr


def test_data_give_baselines_for_seeds_without_predictions(tmp_path, ambient):
    write_seed(tmp_path / "m", SeedRecord(model="m", seed=42, em=0.5, f1=0.5, group_em=0.5))
    assert "always N" not in score(tmp_path / "m").output
    row = rows_of(score(tmp_path / "m", "--data", ambient, "--json").output)["always N"]
    assert row["em"]["n"] == 18


def test_one_form_at_a_time(tmp_path):
    with pytest.raises(InputError, match="give only one of --json, --csv and --latex"):
        score(tmp_path, "--json", "--csv")


def test_the_papers_values_are_those_of_the_specification():
    printed = {row.title: (row.em, row.f1, row.group_em) for row in paper_rows() if row.em}
    assert len(printed) == 6 and len(paper_rows()) == 9
    assert printed["multi-label WANLI"] == ((35.1, 3.0), (72.5, 0.3), (19.1, 4.8))
    thresholds = {row.title: row.threshold for row in paper_rows()}
    assert thresholds["multi-label WANLI"] == -1.97
    assert thresholds["Uncertain NLI"]["contradiction"] == (0.03, 0.71)


@pytest.mark.parametrize(("name", "model"), [("predictions.json", "mine"), ("gpt.jsonl", "gpt")])
def test_predictions_may_have_another_name(tmp_path, name, model):
    path = tmp_path / "mine" / name
    path.parent.mkdir()
    row = {"id": 1, "premise": "It rains.", "hypothesis": "It pours.", "labels": "neutral"}
    path.write_text(json.dumps([row | {"prediction": "neutral"}]), encoding="utf-8")
    results = read_nli_results({path: NLI_PREDICTIONS.read(path)}, (), ())
    assert (results.models[0].name, results.problems) == (model, [])


def test_files_that_have_been_read_are_not_read_again(tmp_path):
    row = {"id": 1, "premise": "It rains.", "hypothesis": "It pours.", "labels": "neutral"}
    lines = [json.dumps(row | {"prediction": prediction}) + "\n" for prediction in ("neutral", "entailment")]
    (tmp_path / "predictions.jsonl").write_text("".join(lines), encoding="utf-8")
    (tmp_path / "seed42.json").write_text(json.dumps(dict.fromkeys(("em", "f1", "group_em"), 0.5)))
    files = {
        file: kind.read(file, "keep")
        for file, kind in (
            (tmp_path / "predictions.jsonl", NLI_PREDICTIONS),
            (tmp_path / "seed42.json", NLI_SEED),
        )
    }
    for file in files:
        file.write_text("{}")
    results = read_nli_results(files, (), ())
    assert [model.name for model in results.models[:2]] == [tmp_path.name, f"{tmp_path.name}: predictions"]
    assert len(results.gold) == 2
