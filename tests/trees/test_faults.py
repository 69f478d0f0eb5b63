from __future__ import annotations

import json
from typing import Any

import pytest

from trees.faults import json_problem


def refuse(constant: str) -> Any:
    raise ValueError(f"{constant} is no number")


def message_of(text: str | bytes, **how: Any) -> str:
    with pytest.raises((ValueError, RecursionError)) as caught:
        json.loads(text, parse_constant=refuse)
    return json_problem(caught.value, **how)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            '[1,\n"abc',
            "ends in the middle of a string (line 2, column 1): a quote is missing, or the rest of it",
        ),
        (
            '[{"a": 1},\n',
            "ends before everything is closed (line 2, column 1): a bracket is missing, or the rest of it",
        ),
        (
            '{"a": 1',
            "ends before everything is closed (line 1, column 8): a bracket is missing, or the rest of it",
        ),
        ('{"a": 1}\n{"a": 2}\n', "contains JSON lines, one value each; a single list or object is expected"),
        ("[1] 2", "there is text after the end (line 1, column 5)"),
        ("[\n{},\n]", "a value is missing (line 3, column 1)"),
        ("{a: 1}", "a name in double quotes is missing (line 1, column 2)"),
        ('{"a" 1}', "a colon is missing (line 1, column 6)"),
        ("[1 2]", "a comma is missing (line 1, column 4)"),
        (
            '["a\nb"]',
            "a string contains a line break or control character; JSON writes \\n (line 1, column 4)",
        ),
        (r'["a\x"]', "a string contains a stray \\; JSON writes \\\\ (line 1, column 4)"),
        ('{"a": 1,}', "a name in double quotes is missing (line 1, column 9)"),
        ("[NaN]", "NaN is no number"),
        (" ", "is empty"),
        (b'["\xff"]', "is not UTF-8 (byte 3)"),
        ("[" * 200_000, "cannot be parsed"),
        ("9" * 5000, "cannot be parsed"),
    ],
)
def test_errors_are_described_in_plain_words(text: str | bytes, message: str) -> None:
    assert message_of(text) == f"is not JSON: {message}"


def test_for_a_json_line_only_the_column_is_given() -> None:
    assert message_of('{"a": "b', line=True) == (
        "is not JSON: ends in the middle of a string (column 7): a quote is missing, or the rest of it"
    )
    assert message_of("{} {}", line=True) == "is not JSON: there is text after the end (column 4)"
    assert message_of("[1", expected="a whole JSON list").startswith("is not a whole JSON list: ends before")
