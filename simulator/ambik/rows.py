"""Pairs, scenarios, drafts and items as JSON objects, and items as rows of the log; all hold the whole."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from logs.rows import Item as ItemRow
from logs.rows import content_hash
from simulator.ambik.intents import Intent, parse_intent
from simulator.ambik.items import DraftItem, Item, PairItem, ScenarioItem
from simulator.ambik.pairs import Candidate, Draft, Pair, Scenario
from simulator.ambik.terms import AMBIGUITIES, MEMBERS, PARTS, Ambiguity
from simulator.errors import InputError
from simulator.jsonlines import FieldError, Row

BENCHMARK: Final = "ambik"
LANGUAGE: Final = "en"
"""The benchmark's texts are English; pages around them are in the participant's language."""


def pair_record(pair: Pair) -> dict[str, Any]:
    """The pair as a JSON object, with our names of fields; intents as they are written."""
    return {
        "id": pair.id,
        "objects": list(pair.objects),
        "scene": pair.scene,
        "clear": pair.clear,
        "indirect": pair.indirect,
        "ambiguous": pair.ambiguous,
        "type": pair.type,
        "shortlist": list(pair.shortlist),
        "question": pair.question,
        "answer": pair.answer,
        "clear_plan": list(pair.clear_plan),
        "ambiguous_plan": list(pair.ambiguous_plan),
        "step": pair.step,
        "intent": _intent_text(pair.intent),
        "variants": [one.text for one in pair.variants],
        "take_amb": pair.take_ambiguous,
        "options": list(pair.options),
        **({} if pair.shortlist_cell is None else {"shortlist_cell": pair.shortlist_cell}),
    }


def read_pair_record(row: Row) -> Pair:
    """A pair out of an object; what it need not have may be missing.

    Raises:
        FieldError: names the field that is missing or wrong.
    """
    return Pair(
        id=row.key("id"),
        objects=_texts(row, "objects"),
        scene=row.text("scene"),
        clear=row.text("clear"),
        indirect=_text(row, "indirect"),
        ambiguous=row.text("ambiguous"),
        type=row.one_of("type", AMBIGUITIES),
        shortlist=_texts(row, "shortlist"),
        question=_text(row, "question"),
        answer=_text(row, "answer"),
        clear_plan=_texts(row, "clear_plan"),
        ambiguous_plan=_texts(row, "ambiguous_plan"),
        step=_step(row),
        intent=_intent(row),
        variants=tuple(parse_intent(line) for line in _texts(row, "variants")),
        take_ambiguous=None if row.get("take_amb") is None else row.flag("take_amb"),
        options=_texts(row, "options"),
        shortlist_cell=_text(row, "shortlist_cell") or None,
    )


def scenario_record(scenario: Scenario) -> dict[str, Any]:
    """The scenario as a JSON object."""
    return {
        "id": scenario.id,
        "objects": list(scenario.objects),
        "scene": scenario.scene,
        "task": scenario.task,
        "intended": list(scenario.intended),
        "location": scenario.location,
        "type": scenario.type,
        "intent": _intent_text(scenario.intent),
        "part": scenario.part,
    }


def read_scenario_record(row: Row) -> Scenario:
    """A scenario out of an object; one of which a file tells the number alone has empty texts.

    Raises:
        FieldError: names the field that is missing or wrong.
    """
    return Scenario(
        id=row.key("id"),
        objects=_texts(row, "objects"),
        scene=row.text("scene", empty=True),
        task=row.text("task", empty=True),
        intended=_texts(row, "intended"),
        location=row.text("location", empty=True),
        type=row.text("type", empty=True).removesuffix("_task"),
        intent=_intent(row),
        part=None if row.get("part") is None else row.one_of("part", PARTS),
    )


def draft_record(draft: Draft) -> dict[str, Any]:
    """The draft as a JSON object; candidates in the order that they have."""
    return {
        "id": draft.id,
        "objects": list(draft.objects),
        "scene": draft.scene,
        "clear": draft.clear,
        "indirect": draft.indirect,
        "plan": list(draft.plan),
        "ambiguous_plan": list(draft.ambiguous_plan),
        "candidates": {
            kind: {"task": one.task, "question": one.question, "answer": one.answer}
            for kind, one in draft.candidates.items()
        },
    }


def read_draft_record(row: Row) -> Draft:
    """A draft out of an object.

    Raises:
        FieldError: names the field that is missing or wrong.
    """
    given = row.object("candidates")
    candidates: dict[Ambiguity, Candidate] = {}
    for name in given.data:
        kind = next((kind for kind in AMBIGUITIES if kind == name), None)
        if kind is None:
            raise row.wrong(f"candidates.{name}", f"is none of {', '.join(AMBIGUITIES)}")
        one = given.object(name)
        told = {name: one.text(name) for name in ("task", "question", "answer")}
        candidates[kind] = Candidate(type=kind, **told)
    return Draft(
        id=row.key("id"),
        objects=_texts(row, "objects"),
        scene=row.text("scene"),
        clear=row.text("clear"),
        indirect=_text(row, "indirect"),
        plan=_texts(row, "plan"),
        ambiguous_plan=_texts(row, "ambiguous_plan"),
        candidates=candidates,
    )


def item_record(item: Item) -> dict[str, Any]:
    """The item as a JSON object; ``kind`` tells what it is of."""
    match item:
        case PairItem():
            return {
                "kind": "pair",
                "task": item.task,
                "id": item.id,
                "pair": pair_record(item.pair),
                "member": item.member,
                "part": item.part,
                "options": list(item.options),
            }
        case ScenarioItem():
            return {
                "kind": "scenario",
                "task": item.task,
                "id": item.id,
                "scenario": scenario_record(item.scenario),
                "part": item.part,
                "options": list(item.options),
            }
        case DraftItem():
            return {"kind": "draft", "task": item.task, "id": item.id, "draft": draft_record(item.draft)}


def item_row(item: Item) -> ItemRow:
    """The item as a row of the log."""
    data = item_record(item)
    return ItemRow(hash=content_hash(data), benchmark=BENCHMARK, name=item.id, language=LANGUAGE, data=data)


def item_from_row(row: ItemRow) -> Item:
    """The item out of its row.

    Raises:
        InputError: if the row holds something else.
    """
    return read_item(row.data, f"item {row.name}")


def read_item(record: Mapping[str, Any], place: str) -> Item:
    """An item out of a JSON object.

    Args:
        record: the object.
        place: names it in errors.

    Raises:
        InputError: if a field is missing or wrong; names it.
    """
    row = Row(record)
    try:
        return _READERS[row.one_of("kind", tuple(_READERS))](row)
    except FieldError as error:
        raise InputError(f"{place}: {error}") from error


def _pair_item(row: Row) -> PairItem:
    return PairItem(
        pair=read_pair_record(row.object("pair")),
        member=row.one_of("member", MEMBERS),
        part=row.one_of("part", PARTS),
        options=_texts(row, "options"),
    )


def _scenario_item(row: Row) -> ScenarioItem:
    return ScenarioItem(
        scenario=read_scenario_record(row.object("scenario")),
        part=row.one_of("part", PARTS),
        options=_texts(row, "options"),
    )


_READERS: Final[Mapping[str, Callable[[Row], Item]]] = {
    "pair": _pair_item,
    "scenario": _scenario_item,
    "draft": lambda row: DraftItem(draft=read_draft_record(row.object("draft"))),
}


def _intent(row: Row) -> Intent | None:
    return None if row.get("intent") is None else parse_intent(row.text("intent"))


def _intent_text(intent: Intent | None) -> str | None:
    return None if intent is None else intent.text


def _step(row: Row) -> int | None:
    if row.get("step") is None:
        return None
    step = row.whole("step")
    if step < 0:
        raise row.wrong("step", f"is {step}; the first line of a plan is 0")
    return step


def _text(row: Row, name: str) -> str:
    return "" if row.get(name) is None else row.text(name, empty=True)


def _texts(row: Row, name: str) -> tuple[str, ...]:
    """A list of texts, none blank; empty if there is no such field."""
    if row.get(name) is None:
        return ()
    given = row.list(name)
    for place, one in enumerate(given):
        if not isinstance(one, str) or not one.strip():
            raise row.wrong(f"{name}[{place}]", "is not a text that says something")
    return tuple(given)
