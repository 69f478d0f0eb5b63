"""Faults found by pydantic, in our words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, Literal

import pytest
from pydantic import Field

from simulator.errors import InputError
from simulator.fields import Fields, Flag, Key, NonBlank, OptionalText, OptionalTexts, Whole
from simulator.jsonlines import Codec, FieldError, ItemCodec, Row


@dataclass(frozen=True, kw_only=True)
class Cup:
    """Something to drink from."""

    kind: Literal["cup"] = "cup"
    id: Key
    text: NonBlank
    size: Literal["small", "large"] = "small"
    level: Annotated[Whole, Field(ge=0)] = 0
    full: Annotated[Flag, Field(alias="is_full")] = False
    note: OptionalText = ""
    marks: OptionalTexts = ()


@dataclass(frozen=True, kw_only=True)
class Tray:
    """Cups, by place."""

    kind: Literal["tray"] = "tray"
    id: Key
    cup: Cup | None = None
    cups: Annotated[tuple[Cup, ...], Field(max_length=2)] = ()
    feet: Annotated[tuple[int, ...], Field(min_length=3)] = (1, 2, 3)


ITEMS = ItemCodec[Cup | Tray](Cup | Tray, "tableware", kinds="kind")
CUP: dict[str, Any] = {"kind": "cup", "id": 3, "text": "blue"}


@pytest.mark.each(
    ("record", "message"),
    [
        ({}, "kind is missing"),
        ({"kind": "pot"}, 'kind is "pot", not one of cup, tray'),
        ({"kind": "cup", "text": "x"}, "id is missing"),
        (CUP | {"text": " "}, "text is empty"),
        (CUP | {"text": 3}, "text is 3, not a text"),
        (CUP | {"id": True}, "id is true, not a text or a whole number"),
        (CUP | {"size": "huge"}, 'size is "huge", not one of small, large'),
        (CUP | {"level": 1.5}, "level is 1.5, not a whole number"),
        (CUP | {"level": -1}, "level is -1; it must be greater than or equal to 0"),
        (CUP | {"is_full": 1}, "is_full is 1, not true or false"),
        (CUP | {"marks": "red"}, 'marks is "red", not a list'),
        (CUP | {"marks": ["red", ""]}, "marks[1] is empty"),
        ({"kind": "tray", "id": "t", "cup": {"id": "x"}}, "cup.text is missing"),
        (
            {"kind": "tray", "id": "t", "cups": [CUP, CUP | {"text": None}]},
            "cups[1].text is null, not a text",
        ),
        ({"kind": "tray", "id": "t", "cups": [CUP] * 3}, "cups has too many entries (3; at most 2)"),
        ({"kind": "tray", "id": "t", "feet": [4]}, "feet has too few entries (1; at least 3)"),
        ({"kind": "tray", "id": "t", "cups": ["x" * 50]}, f'cups[0] is "{"x" * 36}…, not an object'),
    ],
)
def test_a_fault_names_the_field_and_what_it_should_be(record: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError) as raised:
        ITEMS.read(record, "item x")
    assert str(raised.value) == f"item x: {message}"
    with pytest.raises(FieldError) as wrong:
        ITEMS.read_row(Row(record, "list[2]."))
    assert str(wrong.value) == f"list[2].{message}"


def test_an_item_comes_back_out_of_its_row() -> None:
    cup = Cup(id="3", text="blue", full=True)
    tray = Tray(id="t", cup=cup, cups=(cup, cup))
    row = ITEMS.row(tray)
    assert (row.benchmark, row.name, row.language) == ("tableware", "t", "en")
    assert ITEMS.read_item(row) == tray
    assert ITEMS.write(cup) == {
        **{"kind": "cup", "id": "3", "text": "blue", "size": "small", "level": 0, "is_full": True},
        **{"note": "", "marks": []},
    }
    assert Codec[Cup](Cup).read({"id": 3, "text": "blue", "note": None, "marks": None}, "") == Cup(
        id="3", text="blue"
    )


def test_only_what_is_read_is_checked() -> None:
    assert Cup(id="", text="").text == ""


class Rules(Fields, extra="forbid"):
    """Rules of something."""

    rounds: Annotated[int, Field(ge=1)] = 1


def test_options_say_which_keys_there_are() -> None:
    with pytest.raises(InputError, match=r"^study x: unknown key 'round'; known: rounds$"):
        Rules.parse({"round": 0, "rounds": 0}, "study x: ")
    with pytest.raises(InputError, match=r"^rounds is 0; it must be greater than or equal to 1$"):
        Rules.parse({"rounds": 0})
    with pytest.raises(InputError, match=r'^rounds is "3", not a whole number$'):
        Rules.parse({"rounds": "3"})
