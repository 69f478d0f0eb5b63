from __future__ import annotations

from typing import Annotated, NamedTuple

import pytest
import typer
from pydantic import BaseModel

from simulator.errors import SeatError
from simulator.field_options import options_of
from simulator.forms import LONGEST, SeatFormError, checked_length, measurements, read_consent
from simulator.model_forms import option_field, option_words


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


class Options(BaseModel):
    """Options, two of which are typed by names of their own."""

    first_turn: Annotated[int, typer.Option("-f", "--from")] = 1
    loud: Annotated[bool, typer.Option("--loud/--quiet")] = True
    by_name: bool = True
    many: int = 2


def test_a_command_has_the_names_by_which_its_options_are_typed() -> None:
    fields = {name: option_field(name, option) for name, option in options_of(Options).items()}
    chosen = {"first_turn": 3, "loud": False, "by_name": False, "many": 4}
    words = [word for name, value in chosen.items() for word in option_words(fields[name], value)]
    assert words == ["--from=3", "--quiet", "--no-by-name", "--many=4"]
