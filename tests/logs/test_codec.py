"""JSON in the log: as the standard library writes it, whoever writes it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from logs.codec import dump_json

PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@given(PLAIN)
@example([1e16, 1e-5, -0.0, 2**64, "\ud83d"])
@example({"a": (1, 2), "b": {}})
@example({1: "a key that is no text"})
def test_json_is_what_the_standard_library_writes(value: Any) -> None:
    assert dump_json(value) == json.dumps(value, ensure_ascii=False, separators=(",", ":"))


@pytest.mark.parametrize("value", [float("nan"), {"a": [float("inf")]}, {"a": {1, 2}}, {"a": b"bytes"}])
def test_what_is_no_json_is_refused(value: Any) -> None:
    with pytest.raises((TypeError, ValueError)):
        dump_json(value)
