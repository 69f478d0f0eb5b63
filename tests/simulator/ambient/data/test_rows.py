"""Examples and items as JSON objects."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulator.ambient.examples import Disambiguation, Example, published_id
from simulator.ambient.items import (
    AnnotateItem,
    Candidate,
    ClaimItem,
    ContinueItem,
    CrowdItem,
    GenerateItem,
    Item,
    NliItem,
    TrueFalseItem,
    example_record,
    item_from_row,
    item_record,
    item_row,
    read_example,
    read_item,
)
from simulator.ambient.labels import (
    CATEGORIES,
    LABELS,
    SIDES,
    Categories,
    LabelSet,
    SomeLabels,
    format_labels,
    parse_labels,
)
from simulator.errors import InputError
from simulator.jsonlines import Codec, FieldError, Row

SOME_LABELS = Codec[LabelSet](SomeLabels)
SOUP = Example(
    id="7_c",
    premise="The soup is not very hot.",
    hypothesis="The soup is cold.",
    premise_ambiguous=True,
    labels=frozenset({"neutral", "contradiction"}),
    disambiguations=(
        Disambiguation("The soup is at most a little hot.", "The soup is cold.", "neutral"),
        Disambiguation("The soup is hot, but not very.", "The soup is cold.", "contradiction"),
    ),
    split="dev",
    categories=("scopal",),
    distractors={"premise": "The soup is very good."},
    meta={"source": "ours"},
)

texts = st.text(st.characters(exclude_categories=["Cs"]), min_size=1).filter(str.strip)
label_sets = st.frozensets(st.sampled_from(LABELS), min_size=1)
readings = st.builds(Disambiguation, texts, texts, st.sampled_from(LABELS))
examples = st.builds(
    Example,
    id=st.one_of(st.integers().map(str), texts),
    premise=texts,
    hypothesis=texts,
    premise_ambiguous=st.booleans(),
    hypothesis_ambiguous=st.booleans(),
    labels=label_sets,
    disambiguations=st.lists(readings, max_size=4).map(tuple),
    split=st.sampled_from(["", "dev", "test"]),
    categories=st.lists(st.sampled_from(CATEGORIES), unique=True).map(tuple),
    distractors=st.dictionaries(st.sampled_from(SIDES), texts),
    meta=st.one_of(
        st.none(), st.dictionaries(texts.filter(lambda name: name != "partner"), texts, min_size=1)
    ),
)


@given(label_sets.flatmap(lambda labels: st.tuples(st.just(labels), st.permutations(sorted(labels)))))
def test_labels_are_read_in_any_order_as_text_and_as_list(case: Any) -> None:
    labels, order = case
    for value in (", ".join(order), ",".join(order), f" {'  ,'.join(order)} ", list(order)):
        assert SOME_LABELS.read_field(Row({"x": value}), "x") == labels
    assert parse_labels(format_labels(order)) == labels
    assert format_labels(order).split(", ") == sorted(labels)


words = st.one_of(st.sampled_from([*LABELS, *LABELS, "Neutral", "", "neutral entailment"]), st.text())


@given(st.lists(words, min_size=1, max_size=4).map(", ".join))
def test_a_text_is_labels_or_is_refused(text: str) -> None:
    try:
        labels = SOME_LABELS.read_field(Row({"x": text}), "x")
    except FieldError as error:
        assert str(error).startswith("x")
        assert {word.strip() for word in text.split(",")} - set(LABELS)
    else:
        assert labels == {word.strip() for word in text.split(",")}


@pytest.mark.each(
    ("data", "message"),
    [
        ({}, "labels is missing"),
        ({"labels": ""}, "labels is empty"),
        ({"labels": []}, "labels is empty"),
        ({"labels": None}, "labels is neither a text nor a list of texts"),
        ({"labels": ["neutral", 1]}, "labels is neither a text nor a list of texts"),
        ({"labels": "neutral, maybe"}, "labels: 'maybe' is not a label; labels are contradiction,"),
        ({"labels": ["Neutral"]}, "labels: 'Neutral' is not a label"),
    ],
)
def test_wrong_labels_are_named(data: dict[str, Any], message: str) -> None:
    with pytest.raises(FieldError) as error:
        SOME_LABELS.read_field(Row(data), "labels")
    assert str(error.value).startswith(message)


@given(examples)
def test_examples_survive_being_written(example: Example) -> None:
    record = example_record(example)
    again = json.loads(json.dumps(record))
    assert again == record
    assert read_example(Row(again)) == example


@pytest.mark.each(
    ("id", "published"),
    [
        ("12", 12),
        ("0", 0),
        ("-3", -3),
        ("012", "012"),
        ("-0", "-0"),
        ("1_c", "1_c"),
        ("1_000", "1_000"),
        ("٣", "٣"),
    ],
)
def test_ids_that_are_numbers_are_written_as_numbers(id: str, published: str | int) -> None:
    assert published_id(id) == published
    assert type(published_id(id)) is type(published)
    assert str(published_id(id)) == id


def test_a_pair_without_annotation_is_id_and_sentences() -> None:
    pair = {"id": "new-1", "premise": "A lamp fell.", "hypothesis": "It broke."}
    example = read_example(Row(pair))
    assert (example.labels, example.ambiguous, example.disambiguations) == (frozenset(), False, ())
    assert example_record(example) == pair


def test_the_names_that_built_in_files_use_are_read_too() -> None:
    row = {**example_record(SOUP), "category": "scopal, other", "partner": "7_cp"}
    row["distractor"] = row.pop("distractors")
    del row["categories"]
    example = read_example(Row(row))
    assert example.categories == ("scopal", "other")
    assert example.distractors == SOUP.distractors
    assert example.meta == {"source": "ours", "partner": "7_cp"}


def without(field: str) -> Callable[[dict[str, Any]], None]:
    return lambda row: row.pop(field)


def with_value(field: str, value: Any) -> Callable[[dict[str, Any]], None]:
    return lambda row: row.__setitem__(field, value)


@pytest.mark.each(
    ("change", "message"),
    [
        (without("id"), "id is missing"),
        (with_value("id", True), "id is true"),
        (with_value("premise", " "), "premise is empty"),
        (with_value("hypothesis", None), "hypothesis is null, not a text"),
        (without("premise_ambiguous"), "premise_ambiguous is missing"),
        (with_value("hypothesis_ambiguous", "yes"), 'hypothesis_ambiguous is "yes", not true or false'),
        (without("labels"), "labels is missing"),
        (without("disambiguations"), "disambiguations is missing"),
        (with_value("disambiguations", "[]"), 'disambiguations is "[]", not a list'),
        (with_value("disambiguations", [3]), "disambiguations[0] is 3, not an object"),
        (lambda row: row["disambiguations"][1].pop("label"), "disambiguations[1].label is missing"),
        (
            lambda row: row["disambiguations"][1].update(label="true"),
            'disambiguations[1].label is "true", not one of contradiction, entailment, neutral',
        ),
        (lambda row: row["disambiguations"][0].update(premise=""), "disambiguations[0].premise is empty"),
        (with_value("split", "train"), 'split is "train", not one of dev, test'),
        (
            with_value("categories", ["vague"]),
            "categories: 'vague' is not a kind of ambiguity; kinds are lexical",
        ),
        (with_value("categories", 3), "categories is neither a text nor a list of texts"),
        (
            with_value("distractors", {"claim": "x"}),
            'distractors.claim is "claim", not one of premise, hypothesis',
        ),
        (with_value("distractors", {"premise": 2}), "distractors.premise is 2, not a text"),
        (with_value("meta", [1]), "meta is [1], not an object"),
        (with_value("meta", {"x": float("inf")}), "meta contains a number that is not finite"),
    ],
)
def test_a_wrong_field_is_named(change: Callable[[dict[str, Any]], Any], message: str) -> None:
    row = example_record(SOUP)
    change(row)
    with pytest.raises(FieldError) as error:
        read_example(Row(row))
    assert str(error.value).startswith(message)


def test_kinds_of_ambiguity_named_twice_count_once() -> None:
    assert Codec[tuple[str, ...]](Categories).read_field(
        Row({"category": "lexical, other, lexical"}), "category"
    ) == ("lexical", "other")


CANDIDATES = (Candidate("It is hot.", "contradiction"), Candidate("It is soup.", None))
ITEMS: tuple[Item, ...] = (
    CrowdItem(
        id="7_c.premise",
        example_id="7_c",
        premise=SOUP.premise,
        hypothesis=SOUP.hypothesis,
        side="premise",
        candidates=CANDIDATES,
        gold=SOUP.labels,
    ),
    CrowdItem(
        id="7_c.premise",
        example_id="7_c",
        premise=SOUP.premise,
        hypothesis=SOUP.hypothesis,
        side="hypothesis",
        candidates=CANDIDATES,
        origin="davinci",
    ),
    AnnotateItem(id="7_c", example=SOUP),
    AnnotateItem(id="8", example=Example(id="8", premise="A lamp fell.", hypothesis="It broke.")),
    GenerateItem(id="7_c", example=SOUP, side="premise", shots=(SOUP, SOUP), instruction="corrected"),
    TrueFalseItem(id="7_c.premise", example_id="7_c", side="premise", sentence="a", rewrites=("b", "c")),
    ContinueItem(
        id="7_c.premise",
        example_id="7_c",
        side="premise",
        sentence="a",
        rewrites=("b", "c"),
        distractor="d",
        stem="",
        wanted=7,
        max_tokens=9,
    ),
    NliItem(id="7_c", example=SOUP),
    ClaimItem(id="1", claim="Says taxes rose.", cleaned="", marks="af", venue="a debate"),
)


@pytest.mark.each("item", ITEMS, ids=lambda item: item.task)
def test_items_come_back_from_their_row(item: Item) -> None:
    row = item_row(item)
    assert (row.benchmark, row.name, row.language) == ("ambient", item.id, "en")
    assert item_from_row(row) == item
    assert read_item(json.loads(json.dumps(item_record(item))), "here") == item


def test_the_same_item_has_the_same_hash_whatever_the_order_of_its_labels() -> None:
    other = AnnotateItem(
        id="7_c", example=read_example(Row({**example_record(SOUP), "labels": "neutral, contradiction"}))
    )
    assert item_row(other).hash == item_row(AnnotateItem(id="7_c", example=SOUP)).hash
    assert item_row(NliItem(id="7_c", example=SOUP)).hash != item_row(other).hash


@pytest.mark.each(
    ("change", "message"),
    [
        ({"task": "guess"}, 'row 3: task is "guess", not one of crowd, evaluate'),
        ({"side": "claim"}, 'row 3: side is "claim"'),
        ({"candidates": [{"sentence": "x", "label": 1}]}, "row 3: candidates[0].label is 1"),
        ({"gold": "all"}, "row 3: gold: 'all' is not a label"),
    ],
)
def test_a_row_that_is_no_item_is_refused(change: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError) as error:
        read_item({**item_record(ITEMS[0]), **change}, "row 3")
    assert str(error.value).startswith(message)
