"""Examples and items as JSON objects, and items as rows of the log; both hold the whole (spec 1.1, 13)."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any, Final, get_args

from logs.rows import Item as ItemRow
from logs.rows import content_hash
from simulator.ambient.examples import Disambiguation, Example
from simulator.ambient.items import (
    TASKS,
    AnnotateItem,
    Candidate,
    ClaimItem,
    ContinueItem,
    CrowdItem,
    GenerateItem,
    InstructionText,
    Item,
    NliItem,
    Task,
    TrueFalseItem,
)
from simulator.ambient.labels import (
    CATEGORIES,
    LABELS,
    SIDES,
    Category,
    LabelSet,
    Side,
    format_labels,
    parse_label,
    parse_labels,
)
from simulator.errors import InputError
from simulator.jsonlines import FieldError, Row

BENCHMARK: Final = "ambient"
# The benchmark's texts are English; pages around them are in the participant's language.
LANGUAGE: Final = "en"
SPLITS: Final = ("dev", "test")
_NUMBER: Final = re.compile(r"0|-?[1-9][0-9]{0,17}")
_ANNOTATED: Final = ("premise_ambiguous", "hypothesis_ambiguous", "labels", "disambiguations")
EXAMPLE_FIELDS: Final = (
    *("id", "premise", "hypothesis", *_ANNOTATED, "meta", "split"),
    *("category", "categories", "distractor", "distractors", "partner"),
)
"""All that a row of a dataset may have."""


def example_record(example: Example) -> dict[str, Any]:
    """The example as a JSON object: the published fields, and ours where there is something to say.

    Labels stand in canonical order. A pair that nobody has annotated is id and sentences alone.
    """
    record: dict[str, Any] = {
        "id": published_id(example.id),
        "premise": example.premise,
        "hypothesis": example.hypothesis,
    }
    if example.labels or example.ambiguous or example.disambiguations:
        record |= {
            "premise_ambiguous": example.premise_ambiguous,
            "hypothesis_ambiguous": example.hypothesis_ambiguous,
            "labels": format_labels(example.labels),
            "disambiguations": [disambiguation_record(one) for one in example.disambiguations],
        }
    ours = {
        "split": example.split,
        "categories": list(example.categories),
        "distractors": {side: example.distractors[side] for side in SIDES if side in example.distractors},
        "meta": None if example.meta is None else dict(example.meta),
    }
    return record | {name: value for name, value in ours.items() if value}


def disambiguation_record(one: Disambiguation) -> dict[str, str]:
    """A disambiguation as a JSON object."""
    return {"premise": one.premise, "hypothesis": one.hypothesis, "label": one.label}


def published_id(id: str) -> str | int:
    """An id as published files have it: a number where it is one (spec 1.1)."""
    return int(id) if _NUMBER.fullmatch(id) else id


def read_example(row: Row) -> Example:
    """An example out of a row: published, annotated with categories, ours, or an unlabelled pair.

    Labels and categories are texts or lists.

    Raises:
        FieldError: names the field that is missing or wrong.
    """
    annotated = any(name in row.data for name in _ANNOTATED)
    return Example(
        id=row.key("id"),
        premise=row.text("premise"),
        hypothesis=row.text("hypothesis"),
        premise_ambiguous=annotated and row.flag("premise_ambiguous"),
        hypothesis_ambiguous=annotated and row.flag("hypothesis_ambiguous"),
        labels=read_labels(row, "labels") if annotated else frozenset(),
        disambiguations=_disambiguations(row) if annotated else (),
        split=row.one_of("split", SPLITS) if row.get("split") else "",
        categories=read_categories(row),
        distractors=_distractors(row),
        meta=_meta(row),
    )


def read_labels(row: Row, name: str, *, empty: bool = False) -> LabelSet:
    """A set of labels, written as a text or as a list of texts; only with `empty` may there be none.

    Raises:
        FieldError: if it is neither, or names something else.
    """
    found: LabelSet = frozenset(_words(row, name, parse_label, parse_labels))
    if not found and not empty:
        raise row.wrong(name, "is empty")
    return found


def read_disambiguation(row: Row) -> Disambiguation:
    """A disambiguation out of an object.

    Raises:
        FieldError: names the field that is missing or wrong.
    """
    return Disambiguation(row.text("premise"), row.text("hypothesis"), row.one_of("label", LABELS))


def read_categories(row: Row) -> tuple[Category, ...]:
    """Kinds of ambiguity, written as a text or as a list of texts; none if there is no such field.

    Raises:
        FieldError: if it is neither, or names something else.
    """
    name = "category" if "category" in row.data else "categories"
    if row.get(name) is None:
        return ()
    found = _words(row, name, _category, lambda text: [_category(word) for word in text.split(", ")])
    return tuple(dict.fromkeys(found))


def item_record(item: Item) -> dict[str, Any]:
    """The item as a JSON object."""
    head: dict[str, Any] = {"task": item.task, "id": item.id}
    match item:
        case CrowdItem():
            return {
                **head,
                "example_id": item.example_id,
                "premise": item.premise,
                "hypothesis": item.hypothesis,
                "side": item.side,
                "candidates": [{"sentence": one.sentence, "label": one.label} for one in item.candidates],
                "gold": format_labels(item.gold),
                "origin": item.origin,
            }
        case AnnotateItem() | NliItem():
            return {**head, "example": example_record(item.example)}
        case GenerateItem():
            return {
                **head,
                "example": example_record(item.example),
                "side": item.side,
                "shots": [example_record(one) for one in item.shots],
                "instruction": item.instruction,
            }
        case TrueFalseItem():
            return {**head, **_sentences(item)}
        case ContinueItem():
            own = {"distractor": item.distractor, "stem": item.stem}
            return {**head, **_sentences(item), **own, "wanted": item.wanted, "max_tokens": item.max_tokens}
        case ClaimItem():
            return {**head, **{name: getattr(item, name) for name in _CLAIM}}


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
        return _READERS[row.one_of("task", TASKS)](row)
    except FieldError as error:
        raise InputError(f"{place}: {error}") from error


_CLAIM: Final = ("claim", "cleaned", "justification", "rating", "person", "venue", "url", "marks")


def _sentences(item: TrueFalseItem | ContinueItem) -> dict[str, Any]:
    return {
        "example_id": item.example_id,
        "side": item.side,
        "sentence": item.sentence,
        "rewrites": list(item.rewrites),
    }


def _read_sentences(row: Row) -> dict[str, Any]:
    return {
        "id": row.key("id"),
        "example_id": row.key("example_id"),
        "side": row.one_of("side", SIDES),
        "sentence": row.text("sentence"),
        "rewrites": _texts(row, "rewrites"),
    }


def _crowd_item(row: Row) -> CrowdItem:
    return CrowdItem(
        id=row.key("id"),
        example_id=row.key("example_id"),
        premise=row.text("premise"),
        hypothesis=row.text("hypothesis"),
        side=row.one_of("side", SIDES),
        candidates=tuple(
            Candidate(one.text("sentence"), None if one.get("label") is None else one.one_of("label", LABELS))
            for one in row.rows("candidates")
        ),
        gold=read_labels(row, "gold", empty=True),
        origin=row.text("origin", empty=True),
    )


def _generate_item(row: Row) -> GenerateItem:
    return GenerateItem(
        id=row.key("id"),
        example=read_example(row.object("example")),
        side=row.one_of("side", SIDES),
        shots=tuple(read_example(one) for one in row.rows("shots")),
        instruction=row.one_of("instruction", get_args(InstructionText)),
    )


def _continue_item(row: Row) -> ContinueItem:
    return ContinueItem(
        **_read_sentences(row),
        distractor=row.text("distractor"),
        stem=row.text("stem", empty=True),
        wanted=row.whole("wanted"),
        max_tokens=row.whole("max_tokens"),
    )


def _claim_item(row: Row) -> ClaimItem:
    # Cleaning may leave nothing of a claim, and the rest need not be known.
    rest: dict[str, Any] = {name: row.text(name, empty=True) for name in _CLAIM if name != "claim"}
    return ClaimItem(id=row.key("id"), claim=row.text("claim"), **rest)


_READERS: Final[Mapping[Task, Callable[[Row], Item]]] = {
    "crowd": _crowd_item,
    "evaluate": _crowd_item,
    "annotate": lambda row: AnnotateItem(id=row.key("id"), example=read_example(row.object("example"))),
    "generate": _generate_item,
    "true_false": lambda row: TrueFalseItem(**_read_sentences(row)),
    "continue": _continue_item,
    "nli": lambda row: NliItem(id=row.key("id"), example=read_example(row.object("example"))),
    "claim": _claim_item,
}


def _texts(row: Row, name: str) -> tuple[str, ...]:
    given = row.list(name)
    if not all(isinstance(one, str) and one.strip() for one in given):
        raise row.wrong(name, "is not a list of texts")
    return tuple(given)


def _words(row: Row, name: str, one: Callable[[str], Any], many: Callable[[str], Any]) -> list[Any]:
    """The words of a field that is a text or a list, each read by `one`; a text is read by `many`."""
    value = row.get(name)
    if isinstance(value, str):
        return list(row.parsed(name, many))
    if not isinstance(value, list) or not all(isinstance(word, str) for word in value):
        raise row.wrong(name, "is neither a text nor a list of texts" if name in row.data else "is missing")
    return [row.parsed(name, one, word) for word in value]


def _category(word: str) -> Category:
    for known in CATEGORIES:
        if word.strip() == known:
            return known
    raise InputError(f"{word!r} is no kind of ambiguity; known are {', '.join(CATEGORIES)}")


def _distractors(row: Row) -> dict[Side, str]:
    name = "distractor" if "distractor" in row.data else "distractors"
    if row.get(name) is None:
        return {}
    given = row.object(name)
    for side in given.data:
        if side not in SIDES:
            raise row.wrong(f"{name}.{side}", f"is neither of {', '.join(SIDES)}")
    return {side: given.text(side) for side in SIDES if side in given.data}


def _disambiguations(row: Row) -> tuple[Disambiguation, ...]:
    return tuple(read_disambiguation(one) for one in row.rows("disambiguations"))


def _meta(row: Row) -> dict[str, Any] | None:
    partner = {"partner": row.key("partner")} if row.get("partner") is not None else {}
    if row.get("meta") is None:
        return partner or None
    meta = {**row.object("meta").data, **partner}
    try:
        json.dumps(meta, allow_nan=False)
    except ValueError as error:
        raise row.wrong("meta", "holds a number that is not finite") from error
    return meta
