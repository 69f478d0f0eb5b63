"""Items as rows of the log: round trips without loss."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from logs.rows import content_hash
from simulator.ambik.intents import parse_intent
from simulator.ambik.items import (
    Candidate,
    Draft,
    DraftItem,
    Item,
    Pair,
    PairItem,
    Scenario,
    ScenarioItem,
    draft_record,
    item_from_row,
    item_record,
    item_row,
    pair_record,
    read_item,
    scenario_record,
)
from simulator.ambik.terms import AMBIGUITIES, MEMBERS, PARTS
from simulator.errors import InputError

anything = st.text(st.characters(codec="utf-8"), max_size=12)
text = anything.filter(str.strip)
several = st.lists(text, max_size=3).map(tuple)
intents = text.map(parse_intent)
pairs = st.builds(
    Pair,
    id=text,
    objects=several,
    scene=text,
    clear=text,
    indirect=anything,
    ambiguous=text,
    type=st.sampled_from(AMBIGUITIES),
    shortlist=several,
    question=anything,
    answer=anything,
    clear_plan=several,
    ambiguous_plan=several,
    step=st.none() | st.integers(0, 20),
    intent=st.none() | intents,
    variants=st.lists(intents, max_size=3).map(tuple),
    take_ambiguous=st.none() | st.booleans(),
    options=several,
)
scenarios = st.builds(
    Scenario,
    id=text,
    objects=several,
    scene=text,
    task=text,
    intended=several,
    location=text,
    type=text.filter(lambda value: not value.endswith("_task")),
    intent=st.none() | intents,
    part=st.none() | st.sampled_from(PARTS),
)
candidates = st.fixed_dictionaries(
    {},
    optional={
        kind: st.builds(Candidate, type=st.just(kind), task=text, question=text, answer=text)
        for kind in AMBIGUITIES
    },
)
drafts = st.builds(
    Draft,
    id=text,
    objects=several,
    scene=text,
    clear=text,
    candidates=candidates,
    plan=several,
    ambiguous_plan=several,
    indirect=anything,
)
items = (
    st.builds(
        PairItem,
        pair=pairs,
        member=st.sampled_from(MEMBERS),
        part=st.sampled_from(PARTS),
        options=several,
        task=st.just("decide"),
    )
    | st.builds(
        ScenarioItem,
        scenario=scenarios,
        part=st.sampled_from(PARTS),
        options=several,
        task=st.just("decide"),
    )
    | st.builds(DraftItem, draft=drafts, task=st.just("annotate"))
)
PAIR = Pair(
    id="7",
    objects=("red mug", "blue mug"),
    scene="a red mug, a blue mug",
    clear="Take the red mug.",
    ambiguous="Take a mug.",
    type="preferences",
    question="Which one?",
    answer="The red one.",
    clear_plan=("Take the red mug.",),
    ambiguous_plan=("Take a mug.",),
    step=0,
    intent=parse_intent("red"),
)
CLEAR = PairItem(pair=PAIR, member="clear")
SCENARIO = Scenario(
    id="3",
    objects=("Coke",),
    scene="a Coke",
    task="Bring it.",
    intended=("Coke",),
    location="pick-up",
    type="unsafe",
)
DRAFT = Draft(
    id="d1",
    objects=("mug",),
    scene="a mug",
    clear="Take the mug.",
    candidates={"safety": Candidate(type="safety", task="Take it.", question="What?", answer="The mug.")},
)


@given(items)
@settings(max_examples=150)
def test_items_come_back_as_they_were(item: Item) -> None:
    written = json.loads(json.dumps(item_record(item), ensure_ascii=False, allow_nan=False))
    assert read_item(written, "here") == item
    row = item_row(item)
    assert (row.benchmark, row.name, row.hash) == ("ambik", item.id, content_hash(written))
    assert item_from_row(row) == item


def test_content_names_an_item_the_same_in_every_version() -> None:
    item = PairItem(pair=PAIR, member="ambiguous")
    assert item_row(item).hash == "db59102cd7ee2068fe826875a1fed79319dc64510c51f26ef216cd23b7fa038a"
    assert item_row(PairItem(pair=PAIR, member="clear")).hash != item_row(item).hash
    assert item_row(replace(item, options=("Take the red mug.",))).hash != item_row(item).hash


def wrong(change: dict[str, Any], item: Item = CLEAR) -> str:
    record = item_record(item)
    for path, value in change.items():
        *place, name = path.split(".")
        inner = record
        for part in place:
            inner = inner[part]
        if value is ...:
            del inner[name]
        else:
            inner[name] = value
    with pytest.raises(InputError) as error:
        read_item(record, "item x")
    return str(error.value)


def test_what_is_wrong_with_an_item_is_named() -> None:
    assert wrong({"kind": "pears"}) == 'item x: kind is "pears", not one of pair, scenario, draft'
    assert wrong({"member": ...}) == "item x: member is missing"
    assert wrong({"pair.type": "taste"}).startswith('item x: pair.type is "taste", not one of preferences, ')
    assert wrong({"pair.objects": ["mug", " "]}) == "item x: pair.objects[1] is empty"
    assert wrong({"pair.objects": ["mug", 3]}) == "item x: pair.objects[1] is 3, not a text"
    assert wrong({"pair.intent": 3}) == "item x: pair.intent is 3, not a text"
    assert wrong({"pair.step": -1}) == "item x: pair.step is -1; it must be greater than or equal to 0"
    assert wrong({"pair.step": 1.5}) == "item x: pair.step is 1.5, not a whole number"
    assert wrong({"pair.take_amb": 1}) == "item x: pair.take_amb is 1, not true or false"
    assert wrong({"pair.clear": ""}) == "item x: pair.clear is empty"
    scenario, draft = ScenarioItem(scenario=SCENARIO), DraftItem(draft=DRAFT)
    assert wrong({"scenario.location": None}, scenario) == "item x: scenario.location is null, not a text"
    assert wrong({"draft.candidates.taste": {}}, draft).startswith(
        'item x: draft.candidates.taste is "taste", not one of preferences, '
    )
    assert wrong({"draft.candidates.safety.task": ...}, draft) == (
        "item x: draft.candidates.safety.task is missing"
    )


def test_what_need_not_be_there_may_be_missing() -> None:
    record = item_record(PairItem(pair=PAIR, member="clear"))
    for name in ("indirect", "shortlist", "variants", "take_amb", "options"):
        del record["pair"][name]
    assert read_item(record, "item x") == PairItem(pair=PAIR, member="clear")


def test_records_say_all_there_is_to_say() -> None:
    for row, record in (
        (replace(PAIR, shortlist_cell="a,b"), pair_record),
        (SCENARIO, scenario_record),
        (DRAFT, draft_record),
    ):
        assert len(record(row)) == len(type(row).__dataclass_fields__)  # type: ignore[operator]


def test_a_scenario_with_only_a_number_is_restored() -> None:
    bare = Scenario(id="7", objects=(), scene="", task="", intended=(), location="", type="")
    item = ScenarioItem(scenario=bare, part="calibration")
    assert item_from_row(item_row(item)) == item


def test_a_shortlist_comes_back_as_it_is_written_and_changes_no_other_row() -> None:
    plain = Pair(
        id="p1",
        objects=("a cup",),
        scene="a cup",
        clear="x",
        ambiguous="y",
        type="preferences",
        question="",
        answer="",
        clear_plan=(),
        ambiguous_plan=(),
        step=0,
        intent=None,
        shortlist=("a", "b"),
    )
    assert "shortlist_cell" not in pair_record(plain)
    written = replace(plain, shortlist_cell="a,b")
    item = item_from_row(item_row(PairItem(pair=written, member="clear")))
    assert isinstance(item, PairItem) and item.pair.shortlist_text == "a,b"
    # How it is written makes no other pair of it.
    assert written == plain
