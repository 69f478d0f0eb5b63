"""Requirements on the built-in texts, checked in the files themselves (spec 1 to 5 and 10)."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import yaml
from shared_data import SHARED

BUILTIN = Path(__file__).parents[3] / "simulator" / "ambient" / "builtin"
PUBLISHED = SHARED / "ambient" / "ambient_full.jsonl"
SIDES = ("premise", "hypothesis")
LABELS = ("contradiction", "entailment", "neutral")
CATEGORIES = ("lexical", "syntactic", "figurative", "pragmatic", "scopal", "coreferential", "other")
EXAMPLE_KEYS = {
    *("id", "premise", "hypothesis", "premise_ambiguous", "hypothesis_ambiguous"),
    *("labels", "disambiguations", "partner"),
}


def read(name: str) -> Any:
    return yaml.safe_load((BUILTIN / name).read_text(encoding="utf-8"))


EXAMPLES: list[dict[str, Any]] = read("examples.yaml")
AMBIGUOUS = [example for example in EXAMPLES if len(example["labels"]) > 1]
PARTNERS = [example for example in EXAMPLES if len(example["labels"]) == 1]
BY_ID = {example["id"]: example for example in EXAMPLES}


def named(entries: list[dict[str, Any]]) -> list[Any]:
    return [pytest.param(entry, id=entry["id"]) for entry in entries]


def flagged(example: dict[str, Any]) -> list[str]:
    return [side for side in SIDES if example[f"{side}_ambiguous"]]


def squeezed(text: str) -> str:
    """Return a sentence's words without punctuation and capitals."""
    return " ".join(re.findall(r"\w+", text.lower()))


def is_sentence(text: str) -> bool:
    """Return True if a text begins and ends like a sentence and has no stray blanks."""
    return bool(re.fullmatch(r'["A-Z]\S*( \S+)+[.?!]"?', text))


def test_numbers() -> None:
    assert len(AMBIGUOUS) >= 72
    assert len(AMBIGUOUS) == len(PARTNERS)
    kinds = Counter(kind for example in AMBIGUOUS for kind in example["category"])
    assert set(kinds) == set(CATEGORIES)
    assert min(kinds.values()) >= 8
    assert kinds.most_common(1)[0][0] == "pragmatic"
    sets = Counter(tuple(example["labels"]) for example in AMBIGUOUS)
    assert sets["entailment", "neutral"] >= 12
    assert sets["contradiction", "entailment"] >= 12
    assert sets["contradiction", "neutral"] >= 12
    assert sets["contradiction", "entailment", "neutral"] >= 6
    assert len(sets) == 4


def test_ids_and_pairs_are_unique() -> None:
    assert len(BY_ID) == len(EXAMPLES)
    pairs = Counter((squeezed(example["premise"]), squeezed(example["hypothesis"])) for example in EXAMPLES)
    assert [pair for pair, count in pairs.items() if count > 1] == []
    ambiguous = Counter(squeezed(example[side]) for example in AMBIGUOUS for side in flagged(example))
    assert [text for text, count in ambiguous.items() if count > 1] == []


@pytest.mark.each("example", named(EXAMPLES))
def test_fields(example: dict[str, Any]) -> None:
    assert set(example) - {"category", "distractor"} == EXAMPLE_KEYS
    assert all(is_sentence(example[side]) for side in SIDES)
    assert all(type(example[f"{side}_ambiguous"]) is bool for side in SIDES)
    assert example["labels"] == [label for label in LABELS if label in example["labels"]] != []
    assert bool(flagged(example)) == (len(example["labels"]) > 1)
    assert squeezed(example["premise"]) != squeezed(example["hypothesis"])


@pytest.mark.each("example", named(AMBIGUOUS))
def test_disambiguations(example: dict[str, Any]) -> None:
    given = example["disambiguations"]
    sides = flagged(example)
    assert (3 if len(sides) == 2 else 2) <= len(given) <= 4
    assert {reading["label"] for reading in given} == set(example["labels"])
    triples = [(squeezed(reading["premise"]), squeezed(reading["hypothesis"])) for reading in given]
    assert len(set(triples)) == len(given)
    for side in SIDES:
        rewrites = {reading[side] for reading in given}
        if side in sides:
            assert all(is_sentence(text) for text in rewrites)
            assert len({squeezed(text) for text in rewrites}) == len(rewrites) >= 2
            assert example[side] not in rewrites
        else:
            assert rewrites == {example[side]}


@pytest.mark.each("example", named(AMBIGUOUS))
def test_distractors_and_categories(example: dict[str, Any]) -> None:
    assert sorted(example["distractor"]) == sorted(flagged(example))
    for side, text in example["distractor"].items():
        assert is_sentence(text)
        taken = {example[side], *(reading[side] for reading in example["disambiguations"])}
        assert squeezed(text) not in {squeezed(reading) for reading in taken}
    assert example["category"] == [kind for kind in CATEGORIES if kind in example["category"]] != []


@pytest.mark.each("partner", named(PARTNERS))
def test_partners(partner: dict[str, Any]) -> None:
    example = BY_ID[partner["partner"]]
    assert partner["id"] == f"{example['id']}p"
    assert example["partner"] == partner["id"]
    assert partner["disambiguations"] == []
    assert "category" not in partner
    assert "distractor" not in partner
    same = [side for side in SIDES if partner[side] == example[side]]
    assert bool(same) != (len(flagged(example)) == 2), (
        "one sentence is the example's, unless both are ambiguous"
    )


def test_partners_have_every_label() -> None:
    counts = Counter(partner["labels"][0] for partner in PARTNERS)
    assert set(counts) == set(LABELS)
    assert min(counts.values()) >= 12


def test_nothing_is_taken_from_the_published_data() -> None:
    if not PUBLISHED.is_file():
        pytest.skip(f"published examples not found at {PUBLISHED}; set ASKBACK_SHARED")
    rows = [json.loads(line) for line in PUBLISHED.read_text(encoding="utf-8").splitlines()]
    pairs = {(squeezed(row["premise"]), squeezed(row["hypothesis"])) for row in rows}
    sentences = {text for pair in pairs for text in pair}
    sentences |= {squeezed(entry[side]) for row in rows for entry in row["disambiguations"] for side in SIDES}
    assert len(pairs) > 1600
    ours = [*EXAMPLES, *read("qualification.yaml"), *read("pool.yaml")]
    assert [entry for entry in ours if squeezed(entry["premise"]) in sentences] == []
    assert [entry for entry in ours if squeezed(entry["hypothesis"]) in sentences] == []


def test_qualification() -> None:
    questions = read("qualification.yaml")
    assert len(questions) == 5
    assert {question["label"] for question in questions} == set(LABELS)
    for question in questions:
        assert set(question) == {"premise", "hypothesis", "label", "why"}
        assert is_sentence(question["premise"])
        assert is_sentence(question["hypothesis"])
        assert question["why"].endswith(".")


def texts(value: Any) -> list[dict[str, str]]:
    """Yield every text of the guidelines with its translations."""
    if isinstance(value, dict) and "en" in value:
        return [value]
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [text for part in parts for text in texts(part)]


def test_guidelines() -> None:
    guidelines = read("guidelines.yaml")
    assert set(guidelines) == {"labels", "rewriting", "discard", "checklist", "categories"}
    assert set(guidelines["labels"]) == set(LABELS)
    assert set(guidelines["discard"]) == {"offensive", "not_fluent", "incoherent"}
    assert [kind["priority"] for kind in guidelines["categories"].values()] == [1, 2, 3, 4, 5, 6, 7]
    assert tuple(guidelines["categories"]) == CATEGORIES
    ids = [entry["id"] for entry in guidelines["checklist"]]
    assert {"temporal_order", "vagueness", "missed_readings"} <= set(ids)
    assert len(set(ids)) == len(ids)
    for entry in [*guidelines["labels"].values(), *guidelines["categories"].values()]:
        assert set(entry) - {"priority"} == {"name", "definition", "example"}
    all_texts = texts(guidelines)
    assert len(all_texts) == 3 * 3 + len(guidelines["rewriting"]) + 3 + len(ids) + 7 * 3
    for text in all_texts:
        assert set(text) == {"en", "zh"}
        assert re.search("[\u4e00-\u9fff]", text["zh"])
        assert not re.search("[\u4e00-\u9fff] | [\u4e00-\u9fff]", text["zh"]), "a blank inside Chinese text"
        assert not re.search("[\u4e00-\u9fff]", text["en"])


def test_pool() -> None:
    pool = read("pool.yaml")
    assert len(pool) == 120
    assert len({(squeezed(pair["premise"]), squeezed(pair["hypothesis"])) for pair in pool}) == 120
    assert all(set(pair) == {"premise", "hypothesis", "labels"} for pair in pool)
    assert all(is_sentence(pair[side]) for pair in pool for side in SIDES)
    assert {label for pair in pool for label in pair["labels"]} == set(LABELS)
    assert all(len(pair["labels"]) == 2 for pair in pool)
    assert sum(pair["labels"][0] != pair["labels"][1] for pair in pool) == 40
    headings = re.findall(r"\n\n# ", (BUILTIN / "pool.yaml").read_text(encoding="utf-8"))
    assert len(headings) == 24
    ours = {(squeezed(pair["premise"]), squeezed(pair["hypothesis"])) for pair in EXAMPLES}
    assert ours.isdisjoint((squeezed(pair["premise"]), squeezed(pair["hypothesis"])) for pair in pool)
