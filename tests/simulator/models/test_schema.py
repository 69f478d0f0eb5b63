import json
from enum import IntEnum
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, Field

from simulator.models import Malformed, Unsupported
from simulator.models.anthropic_backend import output_format
from simulator.models.schema import has_free_maps, openai_format, parse, strict_schema


class Kind(IntEnum):
    PLAIN = 1
    STRIPED = 2


class Shade(BaseModel):
    tone: Literal["light", "dark"]
    note: str | None = None


class Colour(BaseModel):
    name: str = Field(min_length=1)
    kind: Kind = Kind.PLAIN
    shades: tuple[Shade, ...] = ()


class Cat(BaseModel):
    is_a: Literal["cat"]
    lives: int


class Dog(BaseModel):
    is_a: Literal["dog"]


class Pet(BaseModel):
    pet: Cat | Dog = Field(discriminator="is_a")


PLAIN = {
    "title": "colour",
    "type": "object",
    "properties": {"name": {"type": "string"}, "shade": {"type": "integer", "minimum": 0}},
    "required": ["name"],
    "additionalProperties": False,
}
RED = Colour(name="red", kind=Kind.STRIPED, shades=(Shade(tone="dark"),))
RED_TEXT = '{"name": "red", "kind": 2, "shades": [{"tone": "dark", "note": null}]}'


@pytest.mark.each(
    "text",
    [
        RED_TEXT,
        f"  {RED_TEXT}\n",
        f"```json\n{RED_TEXT}\n```",
        f"```\n{RED_TEXT}\n```",
        f"Here it is:\n\n```json\n{RED_TEXT}\n```\nI hope that helps!",
        f"Sure! {RED_TEXT}",
        f"<think>A {{set}} of [things], {{'name': 1}}.</think>{RED_TEXT} Done.",
        f"First {RED_TEXT}, and once more: {RED_TEXT}",
    ],
)
def test_objects_are_found(text):
    assert parse(text, Colour) == RED


@pytest.mark.each(
    ("text", "message"),
    [
        ("", "no JSON"),
        ("red", "no JSON"),
        ('{"name": "re', "no JSON"),
        ("{'name': 'red'}", "no JSON"),
        ("null", "top:"),
        ("[]", "top:"),
        ('{"colour": "red"}', "name: Field required"),
        ('{"name": ""}', "name: String should have at least 1 character"),
        ('{"name": 3}', "name: Input should be a valid string"),
        ('{"name": "red", "kind": "2"}', "kind: Input should be"),
        ('{"name": "red", "kind": 7}', "kind: Input should be"),
        ('{"name": "red", "shades": [{"tone": "grey"}]}', "shades.0.tone: Input should be 'light' or 'dark'"),
        ('{"name": "red"} or {"name": "blue"}', "2 different objects"),
    ],
)
def test_nothing_is_guessed(text, message):
    with pytest.raises(Malformed, match=message) as caught:
        parse(text, Colour)
    assert caught.value.text == text


def test_plain_json_schemas():
    assert parse('Well: {"name": "red", "shade": 2}', PLAIN) == {"name": "red", "shade": 2}
    for text, message in [
        ('{"shade": 2}', "'name' is a required property"),
        ('{"name": "red", "shade": -1}', r"\$.shade"),
        ('{"name": "red", "shad": 1}', "shad"),
        ('{"name": null}', r"\$.name"),
    ]:
        with pytest.raises(Malformed, match=message):
            parse(text, PLAIN)


@given(st.text(max_size=200))
def test_any_text_is_parsed_or_malformed(text):
    try:
        assert isinstance(parse(text, PLAIN), dict)
    except Malformed as error:
        assert error.text == text


@given(
    st.builds(Colour, name=st.text(min_size=1), kind=st.sampled_from(Kind)),
    st.text(alphabet="abc \n`.,", max_size=20),
    st.text(alphabet="abc \n`.,", max_size=20),
)
def test_any_object_is_found_in_any_prose(colour, before, after):
    assert parse(f"{before}{colour.model_dump_json()}{after}", Colour) == colour


@pytest.mark.parametrize("text", ["[" * 100_000, '{"a":' * 50_000, "[1," * 20_000])
def test_deep_nesting_does_no_harm(text):
    with pytest.raises(Malformed):
        parse(text, Colour)
    with pytest.raises(Malformed):
        parse(f"```json\n{text}\n```", PLAIN)


def objects(schema):
    parts = [schema] if schema.get("type") == "object" else []
    for value in schema.values():
        for part in value if isinstance(value, list) else [value]:
            if isinstance(part, dict):
                parts += objects(part)
    return parts


@pytest.mark.parametrize("model", [Colour, Pet])
def test_strict_schemas(model):
    before = json.dumps(model.model_json_schema())
    schema = strict_schema(model.model_json_schema())
    assert objects(schema)
    for part in objects(schema):
        assert part["additionalProperties"] is False
        assert part["required"] == list(part["properties"])
    text = json.dumps(schema)
    assert not [word for word in ("oneOf", "discriminator", '"default"') if word in text]
    assert json.dumps(model.model_json_schema()) == before, "the model's own schema is left alone"


def test_a_property_may_be_called_like_a_keyword():
    schema = {"type": "object", "properties": {"default": {"type": "string"}, "items": {"type": "integer"}}}
    assert strict_schema(schema)["required"] == ["default", "items"]
    assert strict_schema(schema)["properties"]["default"] == {"type": "string"}


def test_free_maps_cannot_be_strict():
    class Counts(BaseModel):
        counts: dict[str, int]

    assert has_free_maps(Counts.model_json_schema())
    assert not has_free_maps(Colour.model_json_schema())
    sent = openai_format(Counts)["json_schema"]
    assert sent["strict"] is False
    assert sent["schema"]["properties"]["counts"]["additionalProperties"] == {"type": "integer"}
    with pytest.raises(Unsupported, match="list"):
        output_format(Counts)


@pytest.mark.each("schema", [{"type": "array", "items": {"type": "string"}}, {"enum": ["a", "b"]}])
@pytest.mark.each("put", [openai_format, output_format])
def test_the_top_must_be_an_object(schema, put):
    with pytest.raises(Unsupported, match="not an object at the top"):
        put(schema)


@pytest.mark.parametrize("put", [openai_format, output_format])
def test_a_top_that_refers_to_an_object_is_one(put):
    class Tree(BaseModel):
        name: str
        children: list["Tree"]

    assert "$ref" in Tree.model_json_schema()
    assert "children" in json.dumps(put(Tree))


def test_names_are_made_fit_for_the_provider():
    named = openai_format({**PLAIN, "title": "Farbe: größer als " + "x" * 80})["json_schema"]["name"]
    assert named.startswith("Farbe_gr_er_als_xxx")
    assert len(named) == 64


def test_anthropic_format():
    sent = output_format(Colour)
    assert sent["type"] == "json_schema"
    for part in objects(sent["schema"]):
        assert part["additionalProperties"] is False
