"""Test files of records: JSON lines and lists, and faults with their lines."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from simulator.errors import InputError
from simulator.tables.records import read_entries, read_records


@pytest.mark.parametrize("text", ['{"a": 1}', ""])
def test_what_is_no_list_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "a.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=r"a\.json: is not a JSON list: it does not begin with \["):
        read_entries(path)


@pytest.mark.parametrize(
    ("text", "values", "line", "problem"),
    [
        ('[1,\n{"a": ]', [1], 2, "a value is missing (column 7)"),
        ("[1 2]", [1], 1, "a comma or ] is missing (column 4)"),
        ("[1]\n2", [1], 2, "something follows the list (column 1)"),
        (
            '[{"a": 1},\n{"a": 2},\n{"a":\n"x',
            [{"a": 1}, {"a": 2}],
            4,
            "ends in the middle of a string (column 1)",
        ),
        ("[1,\n2\n", [1, 2], 3, "ends before everything is closed (column 1)"),
        ("[1,", [1], 1, "ends before everything is closed (column 4)"),
        ("[", [], 1, "ends before everything is closed (column 2)"),
        (f"[1,\n{'9' * 5000}]", [1], 2, "is not JSON: cannot be parsed"),
        (f"[1,\n2,\n{'[' * 200_000}", [1, 2], 3, "is not JSON: cannot be parsed"),
    ],
)
def test_of_a_list_that_is_not_whole_the_records_before_are_kept(
    tmp_path: Path, text: str, values: list[Any], line: int, problem: str
) -> None:
    path = tmp_path / "a.json"
    path.write_text(text, encoding="utf-8")
    *good, last = read_entries(path)
    assert [(record.value, record.problem) for record in good] == [(value, "") for value in values]
    assert (last.line, last.value) == (line, None)
    assert problem in last.problem


def test_elements_of_a_list_know_their_lines(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text('\ufeff\n[1,\n\n "a\\nb", {"c":\n 2},[]\n]\n', encoding="utf-8")
    assert read_entries(path) == ((2, 1, ""), (4, "a\nb", ""), (4, {"c": 2}, ""), (5, [], ""))
    path.write_text("[ ]", encoding="utf-8")
    assert read_entries(path) == ()
    assert [fault.message for fault in read_records(path, lambda row: row).faults] == ["has no rows"]
    path.write_text("[1]", encoding="utf-8")
    assert [fault.message for fault in read_records(path, lambda row: row).faults] == ["is not an object"]
    path.write_bytes(b'["\xff"]')
    with pytest.raises(InputError, match=r"is not UTF-8 \(byte 3\)"):
        read_entries(path)
    with pytest.raises(InputError, match="cannot be read"):
        read_entries(tmp_path / "none.json")
