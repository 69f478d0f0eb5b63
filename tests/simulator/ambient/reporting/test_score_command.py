"""`askback score ambient` on small hand-made files: printed output and JSON."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest
from ambient_rows import (
    HYPOTHESIS,
    PREMISE,
    READINGS,
    Call,
    by_kind,
    claim,
    crowd,
    estimates,
    example,
    generation,
    lines,
    linguists,
    plain,
    predicted,
    statements,
)

GOOD = {"entailment": READINGS["entailment"], "neutral": READINGS["neutral"]}


def measures(output: str, kind: str, name: str) -> dict[str, Any]:
    by_name: dict[str, Any] = by_kind(output)[kind][name]["measures"]
    return by_name


def test_generation_by_hand(tmp_path: Path, call: Call) -> None:
    half = {"entailment": READINGS["entailment"], "neutral": PREMISE}
    rows = [generation(1, GOOD, 1.0), generation(2, half, 0.5), generation(3, {}, 0.0)]
    lines(tmp_path / "someone-n4.jsonl", rows)
    result = call("score", tmp_path / "someone-n4.jsonl", "--json")
    assert result.exit_code == 0, result.output
    measured = measures(result.stdout, "generation", "someone")
    assert (measured["edit_f1"]["value"], measured["edit_f1"]["n"]) == (50.0, 3)
    assert measured["edit_f1"]["low"] < 50.0 < measured["edit_f1"]["high"]
    assert "paper" not in measured["edit_f1"]
    assert measured["edit_f1_stored"]["value"] == 50.0
    assert measured["edit_f1_recomputed"]["value"] == 50.0
    assert measured["differences"]["value"] == 0
    assert measured["pattern_empty"]["value"] == pytest.approx(100 / 3)
    assert (measured["pattern_copied"]["value"], measured["pattern_copied"]["n"]) == (25.0, 4)
    # Nothing is true of all of no rewrites, and everything is.
    assert measured["pattern_restated"]["value"] > measured["pattern_restated_found"]["value"]
    assert by_kind(result.stdout)["generation"]["someone"]["n_pred"] == {"0": 1, "2": 2}


def test_rewrites_read_by_another_rule(tmp_path: Path, call: Call) -> None:
    row = generation(1, GOOD, 1.0)
    row["generation"] = row["generation"].replace("Then the claim is true.", "then the claim is true")
    path = lines(tmp_path / "m-n4.jsonl", [row])
    measured = measures(call("score", path, "--json").stdout, "generation", "m")
    assert (measured["edit_f1"]["value"], measured["edit_f1_robust"]["value"]) == (50.0, 100.0)
    assert measured["differences"]["value"] == 2
    robust = measures(call("score", path, "--parser", "robust", "--json").stdout, "generation", "m")
    assert robust["edit_f1"]["value"] == 100.0


def test_wrong_stored_scores_are_reported(tmp_path: Path, call: Call) -> None:
    lines(tmp_path / "m-n4.jsonl", [generation(1, GOOD, 1.0), generation(2, GOOD, 0.9)])
    result = call("score", tmp_path / "m-n4.jsonl")
    assert "stored values that differ from recomputed ones: 2 (edit_f1)" in " ".join(result.stdout.split())


def test_statements_by_hand(tmp_path: Path, call: Call) -> None:
    first, other = READINGS.values()
    rows = [
        *statements(1, [True, True, False, False], first),
        *statements(1, [1.0, 0.0, 0.0, None], other),
        *statements("2_c", [True, False, True, True], first),
        *statements("2_c", [True, False, False, True], other),
    ]
    lines(tmp_path / "m.jsonl", rows)
    result = call("score", tmp_path, "--json")
    measured = measures(result.stdout, "true_false", "m")
    assert [measured[f"template_{place}"]["value"] for place in (1, 2, 3, 4)] == [100.0, 25.0, 75.0, 25.0]
    assert (measured["accuracy"]["value"], measured["accuracy"]["n"]) == (56.25, 16)
    assert (measured["answered_accuracy"]["value"], measured["answered_accuracy"]["n"]) == (60.0, 15)
    assert (measured["all_four"]["value"], measured["all_four"]["n"]) == (25.0, 4)
    assert (measured["inconsistent"]["value"], measured["inconsistent"]["n"]) == (50.0, 2)
    assert (measured["may_and_cannot"]["value"], measured["not_necessarily_and_only"]["value"]) == (1, 0)
    assert measured["null"]["value"] == 1
    assert "mass" not in measured
    printed = call("score", tmp_path).stdout
    # Half up: 56.25 is 56.3, where binary rounding would say 56.2.
    assert "56.3 %" in printed
    assert "inconsistent pairs: 1 of 2" in printed


def test_continuations_say_where_the_paper_s_baseline_is_missing(tmp_path: Path, call: Call) -> None:
    folder = tmp_path / "results" / "m"
    lines(
        folder / "results.jsonl",
        [estimates(1, 0.1, 0.2, 0.3), estimates(2, 0.1, 0.3, 0.3), estimates(3, 1, None, 2)],
    )
    measured = measures(call("score", tmp_path, "--json").stdout, "continuation", "m")
    assert (measured["accuracy"]["value"], measured["accuracy"]["n"]) == (pytest.approx(100 / 3), 3)
    assert (measured["missing"]["value"], measured["tied"]["value"]) == (1, 1)
    assert measured["random_examples"]["value"] is None
    assert "name one with --data" in call("score", folder / "results.jsonl").stdout
    lines(tmp_path / "test.jsonl", [example(1), example(2), plain(3)])
    beside = measures(call("score", folder / "results.jsonl", "--json").stdout, "continuation", "m")
    assert (beside["random_examples"]["value"], beside["random_examples"]["n"]) == (pytest.approx(100 / 3), 2)


def test_crowd_votes_and_ties(tmp_path: Path, call: Call) -> None:
    rows = [crowd(1), crowd(1, 2)]
    split = crowd(2)
    split["q1_gold"] = ["contradiction"] * 4 + ["entailment"] * 4 + ["neutral"]
    path = lines(tmp_path / "votes.jsonl", [*rows, split])

    def agreement(tie: str) -> float:
        measured = measures(call("score", path, "--tie", tie, "--json").stdout, "crowd", "votes")
        value: float = measured["agreement"]["value"]
        return value

    assert agreement("first") == agreement("strict") == agreement("majority") == pytest.approx(200 / 3)
    assert agreement("lenient") == 100.0
    measured = measures(call("score", path, "--json").stdout, "crowd", "votes")
    assert (measured["distractor_plausible"]["value"], measured["distractor_plausible"]["n"]) == (
        pytest.approx(100 / 3),
        3,
    )
    assert measured["true_plausible"]["n"] == 6


def test_table_1_shows_the_votes_of_an_example(tmp_path: Path, call: Call) -> None:
    path = lines(tmp_path / "votes.jsonl", [crowd(1), crowd(2)])
    lines(tmp_path / "full.jsonl", [example(1, categories=["scopal"]), example(2)])
    printed = call("score", tmp_path, "--votes", 1).stdout
    table = printed[printed.index("Table 1") :]
    assert "EN" in table
    assert "scopal" in table
    assert "8/9" in table
    assert "distractor" in table
    refused = call("score", path, "--votes", 77)
    assert refused.exit_code != 0
    assert "--votes 77: there are no votes on an example with this id" in str(refused.exception)


def test_linguists_need_the_dataset_for_the_final_sets(tmp_path: Path, call: Call) -> None:
    path = lines(
        tmp_path / "linguists.jsonl",
        [linguists(1, "entailment", "neutral"), linguists(2, "entailment|neutral", "neutral", "neutral")],
    )
    result = call("score", path)
    assert "no dataset to compare with (name one with --data)" in result.stdout
    lines(tmp_path / "data" / "full.jsonl", [example(1), example(2)])
    measured = measures(
        call("score", path, "--data", tmp_path / "data", "--json").stdout, "linguists", "linguists"
    )
    assert (measured["final_union"]["value"], measured["final_union"]["n"]) == (100.0, 1)
    assert (measured["final_exact"]["value"], measured["final_exact"]["n"]) == (0.0, 2)
    assert measured["workers"]["value"] == 3


def test_predictions_and_seeds(tmp_path: Path, call: Call) -> None:
    folder = tmp_path / "a-model"
    lines(
        folder / "predictions.jsonl",
        [predicted(1, "neutral", "neutral"), predicted(2, "neutral, entailment", "")],
    )
    for seed, em in ((42, 0.5), (43, 0.25)):
        text = {"logit_threshold": -1.0, "f1": 0.5, "em": em, "group_em": 0.1}
        (folder / f"seed{seed}.json").write_text(json.dumps(text))
    plain_json = by_kind(call("score", tmp_path, "--json").stdout)
    models = plain_json["nli"]["results"]["models"]
    assert models["a-model"]["em"]["mean"] == 37.5
    assert models["a-model"]["em"]["sd"] == pytest.approx(17.677669)
    assert models["a-model"]["threshold"] == -1.0
    assert plain_json["nli"]["results"]["measures"]["a-model: predictions.em"]["value"] == 50.0


def test_claims_are_joined_with_their_marks(tmp_path: Path, call: Call) -> None:
    lines(tmp_path / "results.jsonl", [claim(1, 0.2, 0.05), claim(2, 0.01), claim(3, 0.3, stored=0.4)])
    marks = [
        {"claim": f"Says taxes rose {id} times.", "annotation": mark}
        for id, mark in ((1, "a"), (2, "a"), (3, "f"))
    ]
    with (tmp_path / "marks.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, ["claim", "annotation"])
        writer.writeheader()
        writer.writerows(marks)
    result = call("score", tmp_path, "--json")
    section = next(iter(by_kind(result.stdout)["claims"].values()))
    measured = section["measures"]
    assert (measured["recall"]["value"], measured["recall"]["n"]) == (50.0, 2)
    assert (measured["precision"]["value"], measured["precision"]["n"]) == (50.0, 2)
    assert [difference["id"] for difference in section["differences"]] == ["3"]


def test_cases_of_edit_f1(tmp_path: Path, call: Call) -> None:
    cases = [
        {"original": "a b", "gold": "a c", "predicted": "a c", "edit_f1": 1.0},
        {"original": "a b", "gold": "a c", "predicted": "a b", "edit_f1": 1.0},
    ]
    path = tmp_path / "cases.json"
    path.write_text(json.dumps(cases))
    result = call("score", path)
    assert "1 of 2 equal" in result.stdout
    assert "row a b: edit_f1 is 1, but recomputed as 0" in result.stderr


def test_faulty_rows_are_reported_and_the_others_scored(tmp_path: Path, call: Call) -> None:
    bad = statements(2, [True, True, False, "perhaps"], READINGS["neutral"])
    path = lines(tmp_path / "m.jsonl", [*statements(1, [True] * 4, READINGS["neutral"]), *bad, "{"])
    result = call("score", path)
    assert result.exit_code == 0
    assert f"7 rows of {path}, 2 left out as faulty" in " ".join(result.stdout.split())
    errors = " ".join(result.stderr.split())
    assert f'{path}:8: row 2: prediction is "perhaps"' in errors
    assert f"{path}:9: is not JSON" in errors


@pytest.mark.parametrize("command", ["score", "import"])
def test_a_file_without_a_field_is_compared_with_the_closest_kind(
    command: str, tmp_path: Path, call: Call
) -> None:
    rows = statements(1, [True] * 4, READINGS["neutral"])
    path = lines(tmp_path / "m.jsonl", [{"predicted": row.pop("prediction"), **row} for row in rows])
    more = ("--log", tmp_path / "log.sqlite") if command == "import" else ()
    errors = " ".join(call(command, path, *more).stderr.split())
    nearest = "it is closest to statements judged true or false, but lacks `prediction`"
    assert f"{path}: is not one of AmbiEnt's files; {nearest}" in errors
    other = lines(tmp_path / "other.jsonl", [{"what": "ever"}])
    errors = " ".join(call(command, other, *more).stderr.split())
    assert "is not one of AmbiEnt's files; its fields fit none of these kinds: " in errors
    assert "linguists' annotations" in errors


def test_file_and_log_leave_out_the_same_repeated_statement(tmp_path: Path, call: Call) -> None:
    rows = statements(1, [True] * 4, READINGS["neutral"])
    path = lines(tmp_path / "m.jsonl", [*rows, rows[2] | {"prediction": False}])
    result = call("score", path, "--json")
    section = by_kind(result.stdout)["true_false"]["m"]
    assert (section["left_out"], section["measures"]["accuracy"]["n"]) == (1, 4)
    assert (section["measures"]["accuracy"]["value"], section["measures"]["all_four"]["value"]) == (50.0, 0.0)
    assert "row 1: repeats line 3" in result.stderr
    imported = call("import", path, "--log", tmp_path / "log.sqlite")
    assert "row 1: repeats line 3" in imported.stderr
    assert "4 rows" in imported.stdout


def test_a_files_kind_is_that_of_most_rows(tmp_path: Path, call: Call) -> None:
    rows = [predicted(id, "neutral", "neutral") for id in range(60)]
    for damaged in rows[:25]:
        del damaged["prediction"]
    path = lines(tmp_path / "m" / "predictions.jsonl", rows)
    sections = by_kind(call("score", path, "--json").stdout)
    assert list(sections) == ["nli", "faults", "unreadable"]
    assert (sections["nli"]["results"]["rows"], sections["nli"]["results"]["left_out"]) == (35, 25)
    assert len(sections["faults"]) == 25


def test_a_file_that_cannot_be_read_makes_the_exit_code_1(tmp_path: Path, call: Call) -> None:
    good = lines(tmp_path / "m.jsonl", statements(1, [True] * 4, READINGS["neutral"]))
    other = lines(tmp_path / "other.jsonl", [{"what": "ever"}])
    for path, reason in (
        (tmp_path / "missing.jsonl", "there is no such file or folder"),
        (other, "is not one of AmbiEnt's files"),
    ):
        result = call("score", good, path)
        assert result.exit_code == 1
        assert reason in " ".join(result.stderr.split())
        assert "Statements judged true or false: m" in result.stdout
    # In a folder it is merely passed over.
    passed = call("score", tmp_path)
    assert passed.exit_code == 0
    assert "skipped; not a file of AmbiEnt" in passed.stderr


def test_a_file_without_a_row_that_can_be_read_makes_the_exit_code_1(tmp_path: Path, call: Call) -> None:
    rows = statements(1, [True] * 4, READINGS["neutral"])
    good = lines(tmp_path / "good.jsonl", rows)
    bad = lines(tmp_path / "bad.jsonl", [row | {"prediction": "perhaps"} for row in rows])
    result = call("score", good, bad)
    assert result.exit_code == 1
    assert f"{bad}: no row can be read" in result.stderr
    assert "Statements judged true or false: good" in result.stdout


def test_everything_is_written(tmp_path: Path, call: Call) -> None:
    lines(tmp_path / "in" / "m.jsonl", statements(1, [True] * 4, READINGS["neutral"]))
    lines(tmp_path / "in" / "m-n4.jsonl", [generation(1, GOOD, 1.0)])
    out = tmp_path / "out"
    files = ["--csv", out / "all.csv", "--latex", out / "all.tex", "--out", out / "folder"]
    result = call("score", tmp_path / "in", "--variants", *files)
    assert result.exit_code == 0, result.output
    rows = list(csv.DictReader((out / "all.csv").read_text().splitlines()))
    accuracy = next(row for row in rows if row["name"] == "m" and row["measure"] == "accuracy")
    assert (float(accuracy["value"]), accuracy["value_n"]) == (50.0, "4")
    assert r"\toprule" in (out / "all.tex").read_text()
    names = {path.name for path in (out / "folder").iterdir()}
    assert {"report.json", "measures.csv", "true_false-m-measures.tex", "generation-m-variants.csv"} <= names


def test_two_files_of_one_model_have_different_names(tmp_path: Path, call: Call) -> None:
    rows = statements(1, [True] * 4, READINGS["neutral"])
    lines(tmp_path / "a" / "m.jsonl", rows)
    lines(tmp_path / "b" / "m.jsonl", rows[:2])
    sections = by_kind(call("score", tmp_path, "--json").stdout)["true_false"]
    assert {name: section["rows"] for name, section in sections.items()} == {"m": 4, "m (2)": 2}


def test_a_dataset_and_its_splits_are_one_section(tmp_path: Path, call: Call) -> None:
    lines(tmp_path / "ambient_full.jsonl", [example(1), plain("2_c"), example(3)])
    lines(tmp_path / "dev.jsonl", [example(1)])
    lines(tmp_path / "test.jsonl", [plain("2_c"), {**example(3), "labels": "neutral, entailment"}])
    section = by_kind(call("score", tmp_path, "--json").stdout)["dataset"][tmp_path.name]
    assert section["splits"] == {"in_both": 0, "in_neither": 0}
    assert section["ids"] == {"text": 1, "number": 2}
    assert section["measures"]["ambiguous"]["value"] == pytest.approx(200 / 3)
    assert "paper" not in section["measures"]["ambiguous"]
    other = {**plain("2_c"), "hypothesis": HYPOTHESIS}
    lines(tmp_path / "test.jsonl", [other, example(3)])
    result = call("score", tmp_path)
    assert "hypothesis: differs from another file's row with the same id" in " ".join(result.stderr.split())
