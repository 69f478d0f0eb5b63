import csv
import io
import zipfile

from ui.research import tables


def read(text):
    assert text.startswith("\ufeff")
    return list(csv.DictReader(io.StringIO(text[1:])))


def test_score_tables_hold_the_reports_numbers(calls):
    data = calls.desk.run_data("one")
    rows = read(tables.scores_csv(data))
    assert [(row["language"], row["type"]) for row in rows[:2]] == [("en", "all"), ("zh", "all")]
    english = data.report.by_language[0]
    assert float(rows[0]["success"]) == english.success.value
    assert float(rows[0]["aqd_low"]) == english.aqd.low
    assert rows[0]["needs_judge"] == "1"
    assert len(rows) == 2 + len(data.report.by_type)


def test_every_dialogue_is_a_line(calls):
    data = calls.desk.run_data("one")
    rows = {row["episode"]: row for row in read(tables.episodes_csv(data))}
    assert set(rows) == set(data.by_id)
    failed = rows["one/gather-resources-2.en/0"]
    assert (failed["success"], failed["reached"], failed["obtained"]) == ("0", "", "1")


def test_words_that_a_spreadsheet_would_run_are_disarmed(calls):
    text = "=HYPERLINK(1)"
    calls.mark(
        {"path": "/research/review", "query": "run=one&reviewer=ann", "key": "key-00001", "what": "note"}
        | {"episode": "one/gather-resources-1.en/0", "text": text, "turn": 2}
    )
    (row,) = read(tables.reviews_csv(calls.desk.run_data("one")))
    assert (row["text"], row["kind"], row["turn"]) == (f"'{text}", "review.note", "2")
    assert tables.to_csv(["n"], [[-1.5]]).splitlines()[1] == "-1.5"


def test_an_export_has_its_codebook(calls):
    archive = zipfile.ZipFile(io.BytesIO(tables.export_zip(calls.desk.reader, "two", "jsonl")))
    assert {"turns.jsonl", "codebook.md"} <= set(archive.namelist())
    assert "identities.jsonl" not in archive.namelist()
    assert b"one/" not in archive.read("episodes.jsonl")
