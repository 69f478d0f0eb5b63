"""Test that kinds of files are recognised by most rows, and damaged files are read if named."""

from __future__ import annotations

import gzip
import json
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from simulator.errors import InputError
from simulator.jsonlines import Read, Row
from simulator.reporting.section import Problems
from simulator.tables.cells import Columns, read_table
from simulator.tables.spec import Tables, TableSpec, has


class Word(NamedTuple):
    id: str
    word: str


def read_word(row: Row) -> Word:
    return Word(row.key("id"), row.text("word"))


def read_marks(path: Path) -> Read[str]:
    return read_table(path, Columns(("mark",), ("mark",))).read(
        lambda row, record: row.text("mark"), lambda record: record.text("mark")
    )


WORDS = TableSpec[Word](
    name="words",
    title="words",
    matches=has("id", "word"),
    parse=read_word,
    key=lambda word: (word.id, ""),
    line=lambda word: json.dumps(word._asdict()),
)
MARKS = TableSpec[str](
    name="marks", title="marks", matches=has("mark"), csv=True, reader=read_marks, repeats=False
)
TABLES = Tables(
    title="words and marks",
    specs=(WORDS, MARKS),
    main=WORDS,
    looks_main=lambda row: "word" in row,
    check_main=lambda files: [fault for read in files.values() for fault in read.faults],
)


def write(path: Path, *rows: Any) -> Path:
    path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    return path


def test_a_file_is_what_most_of_its_rows_are(tmp_path: Path) -> None:
    words = write(tmp_path / "a.jsonl", {"word": "x"}, {"id": 1, "word": "x"}, [1])
    marks = tmp_path / "b.csv"
    marks.write_text("mark,other\nx,y\n", encoding="utf-8")
    write(tmp_path / "c.jsonl", {"mark": "x"})  # cells alone have marks
    (tmp_path / ".hidden.jsonl").write_bytes(words.read_bytes())
    assert TABLES.files_of(tmp_path) == {words: WORDS, marks: MARKS}
    assert TABLES.find(tmp_path) == (words, marks) and TABLES.main_files(tmp_path) == (words,)
    assert [fault.message for fault in TABLES.check([words, marks])] == ["id is missing", "is not an object"]


def test_a_damaged_file_is_read_where_it_is_named(tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", {"word": "x"})
    assert TABLES.find(path) == (path,) and TABLES.find(tmp_path) == ()
    (fault,) = TABLES.check([path, tmp_path / "none.jsonl"])[1:]
    assert (fault.line, fault.message) == (1, "id is missing")


def test_a_table_of_others_is_not_taken_for_damaged_json(tmp_path: Path) -> None:
    path = tmp_path / "b.tsv"
    path.write_text("mark\tother\nx\ty\n", encoding="utf-8")
    assert TABLES.find(path) == ()


@pytest.mark.parametrize("first", ["sep=,\r\n", '\ufeff"sep=,"\n'])
def test_excel_s_line_with_the_separator_is_skipped(tmp_path: Path, first: str) -> None:
    path = tmp_path / "b.csv"
    path.write_bytes(f"{first}mark,other\r\nx,y\r\n".encode())
    assert TABLES.files_of(path) == {path: MARKS}
    read = MARKS.read(path)
    assert (len(read.rows), read.lines, read.faults) == (1, (3,), ())


@pytest.mark.parametrize(("mark", "name"), [(";", "semicolons"), ("\t", "tabs")])
@pytest.mark.parametrize("first", ["", "sep={}\n"])
def test_a_table_without_commas_says_what_to_do(tmp_path: Path, mark: str, name: str, first: str) -> None:
    path = tmp_path / "b.csv"
    path.write_text(f"{first.format(mark)}mark{mark}other\nx{mark}y\n", encoding="utf-8")
    problems = Problems()
    assert TABLES.read_all([path], problems, owner="Words") == {}
    assert problems.unreadable == [f"{path}: columns are separated by {name}; save it as CSV with commas"]
    with pytest.raises(InputError, match=f"columns are separated by {name}"):
        MARKS.read(path)


def test_a_table_without_commas_is_refused_among_others_too(tmp_path: Path) -> None:
    WORDS.write(tmp_path / "a.jsonl", [Word("1", "x")])
    path = tmp_path / "b.csv"
    path.write_text('\ufeff"mark";"other"\nx;y\n', encoding="utf-8")
    notes = tmp_path / "notes.csv"
    notes.write_text("who;what\nI;this\n", encoding="utf-8")
    assert replace(TABLES, main=MARKS).find(notes) == ()  # another benchmark's
    assert TABLES.files_of(tmp_path)[path] is MARKS
    (fault,) = TABLES.check(TABLES.find(tmp_path))
    assert (fault.file, fault.severity) == (str(path), "error")
    assert fault.message == "columns are separated by semicolons; save it as CSV with commas"


@pytest.mark.parametrize(("repeats", "ids"), [("refuse", ["1", "2"]), ("keep", ["1", "2", "1"])])
def test_rows_that_are_there_twice_are_left_out_or_kept(tmp_path: Path, repeats: Any, ids: list[str]) -> None:
    path = tmp_path / "a.jsonl"
    WORDS.write(path, [Word("1", "x"), Word("2", "x"), Word("1", "y")])
    read = WORDS.read(path, repeats)
    assert [word.id for word in read.rows] == ids
    assert [(fault.line, fault.severity) for fault in read.faults] == [
        (3, "warning" if repeats == "keep" else "error")
    ]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (gzip.compress(b'{"id": 1, "word": "x"}', mtime=0), "is compressed (gzip); unpack it first"),
        (b"PK\x03\x04rest", "is a zip archive or a spreadsheet; unpack it, or save it as CSV UTF-8"),
        ('{"id": 1, "word": "x"}'.encode("utf-16"), "is UTF-16, not UTF-8; save it as UTF-8"),
        (b"\n\n<!DOCTYPE html><title>x", "is a web page (HTML), perhaps of a download; save the file itself"),
    ],
)
def test_a_file_that_is_no_text_says_what_to_do(tmp_path: Path, content: bytes, message: str) -> None:
    path, problems = tmp_path / "a.jsonl", Problems()
    path.write_bytes(content)
    assert TABLES.read_all([path], problems, owner="Askback") == {}
    assert problems.unreadable == [f"{path}: {message}"]


def test_a_named_file_without_a_field_of_the_main_kind_says_which(tmp_path: Path) -> None:
    path, problems = write(tmp_path / "a.jsonl", {"word": "x"}, {"word": "y"}), Problems()
    assert TABLES.read_all([path], problems, owner="Askback") == {}
    assert problems.unreadable == [f"{path}: has no good row of words: line 1: id is missing"]


def test_a_first_row_may_be_longer_than_what_is_read_of_a_file(tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", {"id": 1, "word": "x" * (1 << 20)}, {"id": 2, "word": "y"})
    assert TABLES.kind_of(path) is WORDS
