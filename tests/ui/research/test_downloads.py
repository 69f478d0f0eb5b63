import csv
import io
import zipfile

from markup import judge_desk

from simulator.clarq.score import score_run
from simulator.figures import Table
from simulator.reporting import Report, Section
from ui.research import downloads
from ui.research.downloads import run_file


def read(text):
    assert text.startswith("\ufeff")
    return list(csv.DictReader(io.StringIO(text[1:])))


def test_every_episode_that_counts_is_a_row_with_its_scores(calls):
    rows = {row["episode"]: row for row in read(downloads.episodes_csv(calls.reader, "one"))}
    assert set(rows) == {scored.episode.id for scored in score_run(calls.reader, "one")}
    failed = rows["one/gather-resources-2.en/0"]
    assert (failed["success"], failed["status"], failed["seat.seeker"]) == (
        "0.0",
        "completed",
        "offline/seeker",
    )


def test_a_report_s_tables_are_disarmed_once():
    table = Table(["name", "n"], [["=HYPERLINK(1)", -1.5], ["-1.5", 2]])
    _, write = downloads._FORMS["csv"]
    text = write(Report(title="", sections=[Section(name="a", title="A", tables=[table])]))
    assert [(row["name"], row["n"]) for row in read(text)] == [("'=HYPERLINK(1)", "-1.5"), ("-1.5", "2")]


def test_words_that_a_spreadsheet_would_run_are_disarmed(calls):
    text = "=HYPERLINK(1)"
    judge_desk(
        calls,
        {"path": "/research/desk", "query": "desk=review&data=one&reviewer=ann", "key": "key-00001"}
        | {"item": "one/gather-resources-1.en/0", "form": {"2.note": text}},
    )
    (row,) = read(run_file(calls.reader, "one", "reviews.csv").decode())
    assert (row["text"], row["kind"], row["turn"]) == (f"'{text}", "review.note", "2")
    assert downloads.to_csv(["n"], [[-1.5]]).splitlines()[1] == "-1.5"


def test_an_export_has_its_codebook(calls):
    archive = zipfile.ZipFile(io.BytesIO(downloads.export_zip(calls.reader, "two", "jsonl")))
    assert {"turns.jsonl", "codebook.md"} <= set(archive.namelist())
    assert "identities.jsonl" not in archive.namelist()
    assert b"one/" not in archive.read("episodes.jsonl")
