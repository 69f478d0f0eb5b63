from __future__ import annotations

import csv
import io
import json

import pytest
import typer
from typer.testing import CliRunner

from simulator.ambient.claims import claim_measures
from simulator.ambient.records import ClaimRecord
from simulator.ambient.score_command import measures_table, score_ambient_claims
from simulator.errors import InputError

CLAIMS = ("The bridge opened again.", "Rents fell.", "Half of all buses are new.", "Nobody voted.")


def score(*words):
    app = typer.Typer()
    app.command()(score_ambient_claims)
    return CliRunner().invoke(
        app, [*map(str, words)], catch_exceptions=False, env={"COLUMNS": "160", "NO_COLOR": "1"}
    )


@pytest.fixture
def results(tmp_path):
    path = tmp_path / "results.jsonl"
    rows = [
        {
            "example_id": str(at),
            "claim": claim,
            "cleaned_claim": claim,
            "paraphrases": [[f"{claim} Really.", top], [f"{claim} Yes.", top / 2]] if top else [],
            "ambiguity_score": top,
        }
        for at, (claim, top) in enumerate(zip(CLAIMS, (0.4, 0.2, 0.01, None), strict=True))
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


@pytest.fixture
def annotations(tmp_path):
    path = tmp_path / "dev-annotations.csv"
    lines = [f"{CLAIMS[0]},a", f"{CLAIMS[1]},f", f'{CLAIMS[2]},"a, f"', "Another one.,a"]
    path.write_text("claim,annotation\n" + "\n".join(lines) + "\n", encoding="utf-8")
    return path


def test_precision_and_recall_with_intervals_and_the_claims_behind_them(results, annotations):
    result = score(results, "--annotations", annotations)
    assert result.exit_code == 0
    # The paper's figures are of 200 claims, and stand beside no others.
    assert "precision  50.0 [" in result.output and "12.4" not in result.output
    assert "3 claims marked, 2 of them as ambiguous; 2 flagged (score above 0.1224)" in result.output
    assert "0 without a paraphrase; 1 not marked" in result.output
    assert "The bridge opened again. Really." in result.output and "Half of all" not in result.output
    assert "1 of 4 claims are not in" in result.stderr
    assert "1 rows of" in result.stderr


def test_claims_are_flagged_without_annotations(results):
    result = score(results, "--show", "1")
    assert "precision" not in result.output and "0.400" in result.output and "0.200" not in result.output


def test_other_forms_have_every_claim(results, annotations):
    report = json.loads(score(results, "--annotations", annotations, "--json").stdout)
    assert (report["n"], report["flagged"], report["ambiguous"], report["unmarked"]) == (3, 2, 2, 1)
    assert report["measures"][0]["value"]["value"] == 0.5
    assert [claim["score"] for claim in report["claims"]] == [0.4, 0.2, 0.01, None]
    rows = list(csv.DictReader(io.StringIO(score(results, "--csv").stdout)))
    assert [row["paraphrase"] for row in rows][1:] == ["Rents fell. Really.", "", ""]
    assert r"precision & 50.0 [" in score(results, "--annotations", annotations, "--latex").stdout


def test_stored_scores_that_do_not_fit_and_bad_files_are_named(results, annotations, tmp_path):
    lines = results.read_text().replace('"ambiguity_score": 0.4', '"ambiguity_score": 0.5')
    results.write_text(lines + '{"example_id": 9}\n', encoding="utf-8")
    result = score(results, tmp_path / "none.jsonl")
    assert result.exit_code == 0
    for part in (
        "claim 0: stored score 0.5, recomputed 0.4",
        "results.jsonl:5: task 9: claim is missing",
        "none.jsonl: cannot be read",
    ):
        assert part in result.stderr
    assert score(tmp_path / "none.jsonl").exit_code == 1
    with pytest.raises(InputError, match="give only one of"):
        score(results, "--json", "--latex")


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"text,annotation\nx,a\n", "no column claim; the columns are text, annotation"),
        ("claim,annotation\nfa\u00e7ade,a\n".encode("latin-1"), "is not UTF-8"),
        (None, "cannot be read"),
    ],
)
def test_marks_that_cannot_be_read_end_the_command(results, tmp_path, content, reason):
    marks = tmp_path / "marks.csv"
    if content is not None:
        marks.write_bytes(content)
    with pytest.raises(InputError, match=f"marks.csv: {reason}"):
        score(results, "--annotations", marks)


def test_paraphrases_can_be_scored_anew(results, tmp_path, monkeypatch):
    from simulator.ambient import score_command

    class Fixed:
        def probabilities(self, pairs):
            return [
                {"contradiction": 0.3, "entailment": 0.6, "neutral": float("Yes" in two)} for _, two in pairs
            ]

    monkeypatch.setattr(score_command, "load_predictor", lambda folder: Fixed())
    report = json.loads(score(results, "--model", tmp_path, "--json").stdout)
    assert [claim["score"] for claim in report["claims"]] == [0.6, 0.6, 0.6, None]
    assert report["claims"][0]["labels"] == "contradiction, entailment, neutral"
    assert report["claims"][0]["paraphrase"] == "The bridge opened again. Yes."
    assert report["problems"] == []


def test_the_papers_figures_are_shown_for_as_many_claims():
    claims = [
        ClaimRecord(
            id=str(place),
            claim="c",
            cleaned="c",
            paraphrases=(),
            marks=frozenset("a" if place % 9 == 0 else "f"),
        )
        for place in range(200)
    ]
    assert "88.8" in measures_table(claim_measures(claims)).to_csv()
    assert "88.8" not in measures_table(claim_measures(claims[:150])).to_csv()
