from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulator.errors import InputError
from simulator.jsonlines import FieldError, Row, raw_lines, read_lines, write_lines


def read(path: Path, content: bytes) -> tuple[list[str], list[str]]:
    """Ids of the good rows, and the faults without the file."""
    path.write_bytes(content)
    parsed = read_lines(path, lambda row: row.key("id"))
    assert len(parsed.rows) == len(parsed.lines)
    assert all(fault.file == str(path) for fault in parsed.faults)
    return list(parsed.rows), [f"{fault.line} {fault.task} {fault.message}" for fault in parsed.faults]


@pytest.mark.each(
    ("data", "read_field", "value"),
    [
        ({"x": "a"}, lambda row: row.text("x"), "a"),
        ({"x": " "}, lambda row: row.text("x", empty=True), " "),
        ({"x": 12}, lambda row: row.key("x"), "12"),
        ({"x": "12_c"}, lambda row: row.key("x"), "12_c"),
        ({"x": "b"}, lambda row: row.one_of("x", ("a", "b")), "b"),
        ({"x": "7"}, lambda row: row.parse("x", int), 7),
        ({"x": ["7"]}, lambda row: row.parse("x", int, row.get("x")[0]), 7),
    ],
)
def test_fields_that_are_what_they_should_be(
    data: dict[str, Any], read_field: Callable[[Row], Any], value: Any
) -> None:
    field = read_field(Row(data))
    assert field == value
    assert type(field) is type(value)


@pytest.mark.each(
    ("data", "read_field", "message"),
    [
        ({}, lambda row: row.text("x"), "x is missing"),
        ({"x": None}, lambda row: row.text("x"), "x is null, not a text"),
        ({"x": "\t"}, lambda row: row.text("x"), "x is empty"),
        ({"x": 1.0}, lambda row: row.key("x"), "x is 1.0, not a text or a whole number"),
        ({"x": " "}, lambda row: row.key("x"), 'x is " ", not a text or a whole number'),
        ({"x": 1}, lambda row: row.one_of("x", (True, False)), "x is 1, not one of True, False"),
        ({}, lambda row: row.parse("x", int), "x is missing"),
        ({"x": "a"}, lambda row: row.parse("x", int), "x: invalid literal"),
    ],
)
def test_a_wrong_field_is_named(data: dict[str, Any], read_field: Callable[[Row], Any], message: str) -> None:
    with pytest.raises(FieldError) as error:
        read_field(Row(data))
    assert str(error.value).startswith(message)


def test_bad_lines_are_faults_and_the_others_are_kept(tmp_path: Path) -> None:
    lines = [
        b'{"id": "a"}',
        b"",
        b'{"id": ',
        b'{"id": "\xff"}',
        b"[1]",
        b'{"id": true}',
        b'{"id": "b", "x": "\\ud83d\\ude00"}',
        b'{"id": "c", "x": "\\ud83d"}',
        b'{"id": "d", "x": {"y": 1, "y": 2}}',
        b"[" * 99_999,
        b'{"id": ' + b"9" * 5_000 + b"}",
        b'{"id": 7}',
    ]
    assert read(tmp_path / "x.jsonl", b"\n".join(lines)) == (
        ["a", "b", "7"],
        [
            "3  is not JSON: ends before everything is closed (column 8): a bracket is missing, or "
            "the rest of it",
            "4  is not UTF-8 (byte 9 of the line)",
            "5  is not an object",
            "6  id is true, not a text or a whole number",
            "8  contains half of a surrogate pair, which is not a character",
            "9  y occurs twice",
            "10  is not JSON: cannot be parsed",
            "11  is not JSON: cannot be parsed",
        ],
    )


def test_bom_and_windows_line_ends_do_not_matter(tmp_path: Path) -> None:
    content = b'\xef\xbb\xbf{"id": "a"}\r\n\r\n{"id": "b"}\r\n'
    assert read(tmp_path / "x.jsonl", content) == (["a", "b"], [])
    assert [line for line, _ in raw_lines(tmp_path / "x.jsonl")] == [1, 3]


def test_a_line_separator_in_a_text_ends_no_line(tmp_path: Path) -> None:
    content = '{"id": "a\u2028b\u0085c"}\n{"id": "d"}'.encode()
    assert read(tmp_path / "x.jsonl", content) == (["a\u2028b\u0085c", "d"], [])


def test_an_empty_file_is_a_fault_and_none_is_an_error(tmp_path: Path) -> None:
    assert read(tmp_path / "x.jsonl", b"\n \n") == ([], ["0  has no rows"])
    with pytest.raises(InputError, match=r"none\.jsonl: cannot be read"):
        read_lines(tmp_path / "none.jsonl", lambda row: row)
    with pytest.raises(InputError, match="cannot be read"):
        read_lines(tmp_path, lambda row: row)


def test_a_file_is_written_whole_or_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / "new" / "x.jsonl"
    write_lines(path, ["ä", "b"])
    assert path.read_bytes() == "ä\nb\n".encode()

    def lines() -> Any:
        yield "c"
        raise ValueError

    with pytest.raises(ValueError, match=r"^$"):
        write_lines(path, lines())
    assert path.read_bytes() == "ä\nb\n".encode()
    assert list(path.parent.iterdir()) == [path]
    with pytest.raises(InputError, match="cannot be written"):
        write_lines(path / "below.jsonl", ["a"])


texts = st.text(st.characters(exclude_categories=["Cs"]))


@given(st.dictionaries(texts, st.one_of(texts, st.booleans(), st.integers(), st.none())))
def test_what_is_written_is_read_again(
    tmp_path_factory: pytest.TempPathFactory, data: dict[str, Any]
) -> None:
    path = tmp_path_factory.getbasetemp() / "again.jsonl"
    for ascii_only in (True, False):
        write_lines(path, [json.dumps(data, ensure_ascii=ascii_only)])
        assert [value for _, value in raw_lines(path)] == [data]
