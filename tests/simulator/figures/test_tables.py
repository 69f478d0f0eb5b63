"""Test tables of results in four formats."""

from __future__ import annotations

import csv
import io
import math

import pytest
from rich.console import Console

from simulator.figures import Cell, Column, Table
from simulator.figures.tables import cell_text, escape_latex
from simulator.reporting.render import latex_table
from simulator.stats import Interval

TABLE = Table(
    ["model", "accuracy", Column("valid, %", 1, 100), "n"],
    [
        ["people & co", Interval(0.5349, 0.4751, 0.5849, 60), 0.1234, 60],
        ["[b]a_1[/b]", None, -0.0001, 720],
    ],
    "Accuracy",
)


def test_csv_keeps_every_digit() -> None:
    first, second = csv.DictReader(io.StringIO(TABLE.to_csv()))
    assert first == {
        "model": "people & co",
        "accuracy": "0.5349",
        "accuracy_low": "0.4751",
        "accuracy_high": "0.5849",
        "accuracy_n": "60",
        "valid, %": "0.1234",
        "n": "60",
    }
    assert [second[f"accuracy{end}"] for end in ("", "_low", "_high", "_n")] == [""] * 4


def test_latex_is_a_booktabs_table() -> None:
    assert TABLE.to_latex() == "\n".join(
        [
            r"\begin{tabular}{lrrr}",
            r"\toprule",
            r"model & accuracy & valid, \% & n \\",
            r"\midrule",
            r"people \& co & 0.53 [0.48, 0.58] & 12.3 & 60 \\",
            r"{}[b]a\_1[/b] & -- & 0.0 & 720 \\",
            r"\bottomrule",
            r"\end{tabular}",
            "",
        ]
    )


def test_every_sign_of_latex_is_escaped() -> None:
    assert escape_latex("& % $ # _ { }") == r"\& \% \$ \# \_ \{ \}"
    assert escape_latex("\\~^") == r"\textbackslash{}\textasciitilde{}\textasciicircum{}"
    assert escape_latex("<>") == r"\textless{}\textgreater{}"


def test_json_holds_the_cells() -> None:
    plain = TABLE.plain()
    assert plain["columns"] == ["model", "accuracy", "valid, %", "n"]
    assert plain["rows"][0]["accuracy"] == {"value": 0.5349, "low": 0.4751, "high": 0.5849, "n": 60}
    assert plain["rows"][1] == {"model": "[b]a_1[/b]", "accuracy": None, "valid, %": -0.0001, "n": 720}


def test_the_terminal_shows_texts_as_they_are() -> None:
    console = Console(width=80, file=io.StringIO(), force_terminal=False)
    with console.capture() as capture:
        console.print(TABLE.to_text())
    lines = [line.split() for line in capture.get().splitlines()]
    assert lines[0] == ["Accuracy"]
    assert lines[2] == ["people", "&", "co", "0.53", "[0.48,", "0.58]", "12.3", "60"]
    assert lines[3] == ["[b]a_1[/b]", "0.0", "720"]


def test_a_table_without_rows() -> None:
    empty = Table(["a", "b"], [])
    assert empty.to_csv() == "a,b\n"
    assert r"\begin{tabular}{rr}" in empty.to_latex()


@pytest.mark.each(
    ("columns", "rows", "message"),
    [
        ([], [], "columns with different names"),
        (["a", "a"], [], "columns with different names"),
        (["a", "b"], [[1]], "row 0 of the table has 1 cells for 2 columns"),
        (["a"], [[1], [math.nan]], "row 1, 'a': nan is not finite"),
        (["a"], [[Interval(0.5, math.nan, 1, 3)]], "row 0, 'a'"),
    ],
)
def test_odd_tables_are_refused(columns: list[str], rows: list[list[float]], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Table(columns, rows)


def test_in_a_narrow_terminal_names_are_folded_and_numbers_kept() -> None:
    name = "transformers/a-folder-with-a-very-long-name-ambiguous"
    table = Table(["actor", "one", "two", "three"], [[name, 0.125, 0.25, 0.625]])
    console = Console(width=40)
    with console.capture() as capture:
        console.print(table.to_text())
    text = capture.get()
    assert "…" not in text
    assert all(shown in text for shown in ("0.13", "0.25", "0.63"))
    assert "".join(line[:20].strip() for line in text.splitlines()[1:]).startswith("transformers/a-fold")


def test_words_of_names_are_not_broken_where_a_number_has_room_beside_them() -> None:
    rows = [["12. Scientific Experiment", 0.125, 0.25, 0.5, 0.75]]
    console = Console(width=30)
    with console.capture() as capture:
        console.print(Table(["type", "one", "two", "three", "four"], rows).to_text())
    assert "Scientific" in capture.get()
    assert "Experiment" in capture.get()


def test_a_number_is_the_name_of_a_row_that_begins_with_it() -> None:
    console = Console(width=20)
    with console.capture() as capture:
        console.print(Table(["k", "people", "the oracle"], [[17, 0.5, 1.0]]).to_text())
    assert capture.get().count("17") == 2


def test_a_p_value_is_never_zero() -> None:
    columns = [Column("p", 4, never_zero=True), Column("difference", 4)]
    table = Table(columns, [[0.00001, 0.00001], [0.0, 0.0], [0.0312, 0.0312]])
    assert [cell_text(row[0], columns[0]) for row in table.rows] == ["<0.0001", "0.0000", "0.0312"]
    assert [cell_text(row[1], columns[1]) for row in table.rows] == ["0.0000", "0.0000", "0.0312"]
    assert r"{\textless{}0.0001} & 0.0000" in latex_table(table, "t", "T")


@pytest.mark.each("width", [40, 80, 120, 400])
def test_no_number_is_cut_however_narrow_the_terminal(width: int) -> None:
    columns = [f"measure {letter}" for letter in "abcdefg"]
    values = [[Interval(at / 7 + row / 100, 0.1234, 0.98, 50) for at in range(7)] for row in range(2)]
    rows = [[f"robot {row}", "local/smollm2", *numbers] for row, numbers in enumerate(values)]
    console = Console(width=width)
    with console.capture() as capture:
        console.print(Table(["method", "model", *columns], rows, "Sets").to_text())
    text = capture.get()
    cells = [cell_text(value, Column("")) for numbers in values for value in numbers]
    assert all(text.count(cell) == cells.count(cell) for cell in cells)
    assert all(text.count(name) == 1 for name in ("Sets", *columns))
    assert text.count("method") == text.count("model") == text.count("robot 0") == text.count("robot 1")
    assert (text.count("method") == 1) == (width >= 160)


@pytest.mark.each("width", [35, 36, 37, 40, 41, 60])
def test_the_last_number_is_whole_where_texts_have_to_fold(width: int) -> None:
    rows: list[list[Cell]] = [["merged", "81 and the next", Interval(0.8, 0.71, 0.87, 100)]]
    console = Console(width=width)
    with console.capture() as capture:
        console.print(Table(["tokens", "which", "left out"], rows).to_text())
    text = capture.get()
    assert "left out" in text
    assert "0.80 [0.71, 0.87]" in text
    assert all(word in text for word in ("merged", "81 and", "next"))


@pytest.mark.each("width", [24, 40, 79, 80])
def test_a_table_of_texts_alone_keeps_its_heads(width: int) -> None:
    heads = ["case", "metric", "paper", "paper: found", "reference", "reference: found"]
    rows: list[list[Cell]] = [["adb01", "AmbDif-Binary", "best single option", "the same", "0.5", "the same"]]
    console = Console(width=width)
    with console.capture() as capture:
        console.print(Table(heads, rows).to_text())
    text = capture.get()
    assert all(head in text for head in heads)
    assert "AmbDif-Binary" in text
    assert max(map(len, text.splitlines())) <= width
