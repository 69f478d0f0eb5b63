from __future__ import annotations

from typing import NamedTuple

import pytest

from simulator.errors import SeatError
from simulator.forms import LONGEST, SeatFormError, checked_length, measurements, read_consent


class Broken(NamedTuple):
    code: str
    field: str

    def __str__(self) -> str:
        return f"{self.field} is {self.code}."


BROKEN = (Broken("empty", "scene"), Broken("long", "answer"))


def test_a_form_that_breaks_rules_names_each_at_its_field() -> None:
    error = SeatFormError(BROKEN, "annotator", code="form")
    assert isinstance(error, SeatError) and (error.cause, error.code) == ("annotator", "form")
    assert str(error) == "scene is empty. answer is long."
    assert error.problems == BROKEN
    assert str(SeatFormError(BROKEN, "annotator", code="form", said="Two rules.")) == "Two rules."


def test_consent_is_yes_or_no() -> None:
    assert read_consent(" yes\n", "robot") == "yes"
    with pytest.raises(SeatError, match="yes or no") as refused:
        read_consent("YES", "robot")
    assert (refused.value.cause, refused.value.code) == ("robot", "consent")


def test_a_text_may_have_so_many_letters() -> None:
    assert checked_length("x" * LONGEST, "user") == "x" * LONGEST
    with pytest.raises(SeatError, match=str(LONGEST)) as refused:
        checked_length("x" * (LONGEST + 1), "user")
    assert refused.value.code == "too_long"


def test_what_a_page_measures_is_a_time_and_a_flag() -> None:
    assert measurements({}, "user") == {"shown_at": None, "keys_used": None}
    measured = measurements(
        {"shown_at": "2026-03-01T10:00:00+00:00", "keys_used": False, "answer": "x"}, "user"
    )
    assert measured == {"shown_at": "2026-03-01T10:00:00.000+00:00", "keys_used": False}
    for wrong in ({"shown_at": "noon"}, {"keys_used": "no"}):
        with pytest.raises(SeatError) as refused:
            measurements(wrong, "user")
        assert refused.value.code == "malformed"
