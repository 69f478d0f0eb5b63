"""Requirements on the built-in texts, checked on the files (spec sections 1 to 3, 7.1, 9, 11)."""

from __future__ import annotations

import csv
import re
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml
from shared_data import SHARED

from simulator.ambik.intents import acceptable, parse_intent, realises
from simulator.ambik.terms import AMBIGUITIES, APPLIANCES

BUILTIN = Path(__file__).parents[3] / "simulator" / "ambik" / "builtin"
PUBLISHED = SHARED / "ambik"
PAIR_KEYS = {
    *("id", "part", "type", "objects", "scene", "clear", "indirect", "ambiguous", "shortlist", "question"),
    *("answer", "clear_plan", "ambiguous_plan", "step", "intent", "variants", "options"),
}
TEXTS = ("clear", "indirect", "ambiguous", "question", "answer")
PLANS = ("clear_plan", "ambiguous_plan")
ELSEWHERE = re.compile(
    r"stove|cooktop|hob|freezer|pantry|cupboard|drawer|shelf|counter|tray|kettle|pot|pan|bowl|plate|mug|cup|glass"
    r"|knife|fork|spoon|board|towel|cloth|lid|jar|bin"
)
"""Kitchen words that denote an object: a text with one of them means a thing of the scene."""


def read(name: str) -> Any:
    return yaml.safe_load((BUILTIN / name).read_text(encoding="utf-8"))


PAIRS: list[dict[str, Any]] = read("pairs.yaml")
GROUPS: dict[str, dict[str, list[str]]] = read("objects.yaml")
KIND = {name: kind for kind, groups in GROUPS.items() for group in groups.values() for name in group}
PREFERENCES = [pair for pair in PAIRS if pair["type"] == "preferences"]
KNOWLEDGE = [pair for pair in PAIRS if pair["type"] != "preferences"]
SHORTLISTED = [pair for pair in PAIRS if pair["shortlist"]]


def named(entries: list[dict[str, Any]]) -> list[Any]:
    return [pytest.param(entry, id=entry["id"]) for entry in entries]


def squeezed(text: str) -> str:
    """The words alone: sentences that differ in punctuation or capitals count as the same."""
    return " ".join(re.findall(r"\w+", text.casefold()))


def is_prose(text: str) -> bool:
    """Begins like a sentence, ends like one, and has no stray blanks."""
    return bool(re.fullmatch(r"[A-Z]\S*( \S+)+[.?!]", text))


def sentences(text: str) -> int:
    return len(re.findall(r"[.?!](?= |$)", text))


KNOWN = {item.casefold(): item for item in sorted((*KIND, *APPLIANCES), key=lambda name: (-len(name), name))}
NAMES = re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, KNOWN))})(?!\w)")


def objects_named(text: str) -> list[str]:
    """Objects of any scene that a text names: whole words, longest first, none inside another's name."""
    return [KNOWN[name] for name in NAMES.findall(text.casefold())]


def own_texts(pair: dict[str, Any]) -> list[str]:
    lines = [line for plan in PLANS for line in pair[plan]]
    return [*(pair[key] for key in TEXTS), *lines, *pair["options"]]


def test_numbers() -> None:
    assert len(PAIRS) >= 60
    assert Counter((pair["part"], pair["type"]) for pair in PAIRS) == {
        ("calibration", "preferences"): 10,
        ("calibration", "common_sense_knowledge"): 8,
        ("calibration", "safety"): 2,
        ("test", "preferences"): 18,
        ("test", "common_sense_knowledge"): 16,
        ("test", "safety"): 6,
    }
    assert sum(bool(pair["shortlist"]) for pair in PREFERENCES) >= 22


def test_the_calibration_part_is_balanced() -> None:
    taken = Counter((pair["type"], pair["take_amb"]) for pair in PAIRS if pair["part"] == "calibration")
    assert all(taken[kind, True] == taken[kind, False] for kind in AMBIGUITIES)


def test_no_text_serves_twice() -> None:
    for key in ("id", "scene", "clear", "indirect", "ambiguous", "question"):
        assert max(Counter(pair[key] for pair in PAIRS).values()) == 1, key


def test_groups_do_not_overlap() -> None:
    listed = [name for groups in GROUPS.values() for group in groups.values() for name in group]
    assert set(GROUPS) == {"kitchenware", "food"}
    assert len(listed) == len(set(listed))
    assert set(listed) == {name for pair in PAIRS for name in pair["objects"]}
    assert not set(listed) & set(APPLIANCES)


@pytest.mark.each("pair", named(PAIRS))
def test_fields(pair: dict[str, Any]) -> None:
    assert set(pair) == PAIR_KEYS | ({"take_amb"} if pair["part"] == "calibration" else set())
    assert pair["type"] in AMBIGUITIES
    assert all(is_prose(text) for text in own_texts(pair)), [t for t in own_texts(pair) if not is_prose(t)]
    assert all(pair[key].startswith("Kitchen Robot, ") for key in ("clear", "indirect", "ambiguous"))
    assert all(1 <= sentences(pair[key]) <= 4 for key in ("clear", "indirect", "ambiguous"))
    assert pair["question"].count("?") == 1
    assert "?" not in pair["answer"]
    assert not any("," in name or "|" in name for name in pair["objects"])


@pytest.mark.each("pair", named(PAIRS))
def test_all_that_is_named_is_there(pair: dict[str, Any]) -> None:
    there = {*pair["objects"], *APPLIANCES}
    for text in (pair["clear"], *pair["clear_plan"], *pair["ambiguous_plan"], *pair["options"]):
        assert set(objects_named(text)) <= there, text
    parts = {word for name in there for word in name.split()}
    for word in re.findall(r"\w+", pair["clear"].casefold()):
        assert not ELSEWHERE.fullmatch(word) or word in parts, word
    assert set(pair["shortlist"]) <= set(pair["objects"])


@pytest.mark.each("pair", named(PAIRS))
def test_the_plans_part_at_the_step(pair: dict[str, Any]) -> None:
    clear, ambiguous, step = pair["clear_plan"], pair["ambiguous_plan"], pair["step"]
    assert 3 <= len(clear) == len(ambiguous) <= 8
    parted = [at for at, lines in enumerate(zip(clear, ambiguous, strict=True)) if lines[0] != lines[1]]
    assert parted[0] == step
    assert not any(re.match(r"\d", line) for line in (*clear, *ambiguous))


@pytest.mark.each("pair", named(PAIRS))
def test_intents(pair: dict[str, Any]) -> None:
    intent = parse_intent(pair["intent"])
    variants = [parse_intent(line) for line in pair["variants"]]
    assert not any(reading.malformed or reading.warnings for reading in (intent, *variants))
    assert pair["intent"] in pair["variants"]
    step = pair["step"]
    assert realises(intent, pair["clear_plan"][step])
    assert not acceptable(variants, pair["ambiguous_plan"][step]), "the step gives away what is meant"
    assert not acceptable(variants, pair["ambiguous"]), "the task gives away what is meant"
    required = [concept for concept in intent.concepts if not concept.negative]
    assert required, "an action that says nothing would do"
    assert realises(intent.__class__(intent.text, tuple(required)), pair["clear"])
    assert not any(realises(intent, line) for line in pair["ambiguous_plan"][:step])


@pytest.mark.each("pair", named(PAIRS))
def test_options(pair: dict[str, Any]) -> None:
    intent = parse_intent(pair["intent"])
    assert len(set(pair["options"])) == 4
    assert sum(realises(intent, option) for option in pair["options"]) == 1


@pytest.mark.each("pair", named(PREFERENCES))
def test_preferences(pair: dict[str, Any]) -> None:
    variants = [parse_intent(line) for line in pair["variants"]]
    assert len(variants) in (2, 3)
    for variant in variants:
        assert sum(realises(variant, option) for option in pair["options"]) == 1
    assert sum(acceptable(variants, option) for option in pair["options"]) == len(variants)


@pytest.mark.each("pair", named(KNOWLEDGE))
def test_knowledge(pair: dict[str, Any]) -> None:
    assert pair["variants"] == [pair["intent"]]
    assert pair["shortlist"] == []


@pytest.mark.each("pair", named(SHORTLISTED))
def test_shortlists(pair: dict[str, Any]) -> None:
    shortlist = pair["shortlist"]
    assert len(shortlist) >= 2
    variants = [parse_intent(line) for line in pair["variants"]]
    assert [[realises(variant, thing) for thing in shortlist].count(True) for variant in variants] == [
        1
    ] * len(shortlist)
    for option in pair["options"]:
        hits = [thing for thing in shortlist if thing.casefold() in option.casefold()]
        assert len(hits) == acceptable(variants, option), option
    assert not set(shortlist) & set(objects_named(pair["ambiguous"]))


DRAFTS: list[dict[str, Any]] = read("drafts.yaml")


SCENARIOS: list[dict[str, Any]] = read("scenarios.yaml")
BY_HAND = {"singlelabel", "spatial_ambiguous", "winograd", "unsafe", "unambiguous"}
CREATIVE = {"creative_multilabel", "creative_singlelabel", "multilabel"}


def test_scenarios_are_of_all_types_in_both_parts() -> None:
    assert [scenario["id"] for scenario in SCENARIOS] == [f"s{at:02d}" for at in range(1, 25)]
    kinds = Counter(scenario["type"] for scenario in SCENARIOS)
    assert kinds == dict.fromkeys(BY_HAND | CREATIVE, 3)
    assert Counter(scenario["part"] for scenario in SCENARIOS) == {"calibration": 12, "test": 12}
    assert len({(scenario["type"], scenario["part"]) for scenario in SCENARIOS}) == 16
    assert len({scenario["task"] for scenario in SCENARIOS}) == 24


GUIDELINES: dict[str, Any] = read("guidelines.yaml")
FIELDS = {
    *("clear", "objects", "scene", "indirect", "type", "ambiguous", "question", "answer", "clear_plan"),
    *("ambiguous_plan", "step", "shortlist", "intent", "variants"),
}


def in_languages() -> list[dict[str, str]]:
    """Every text of the guidelines."""
    types = [text for kind in GUIDELINES["types"].values() for text in kind.values()]
    steps = [step["text"] for step in GUIDELINES["steps"]]
    return [*steps, GUIDELINES["type_test"], *types, *GUIDELINES["robot"], *GUIDELINES["user"]]


def test_guidelines_have_seven_steps_about_every_field() -> None:
    assert set(GUIDELINES) == {"steps", "type_test", "types", "robot", "user"}
    assert [step["id"] for step in GUIDELINES["steps"]] == [
        *("clear", "indirect", "type", "question", "plans", "shortlist", "intent"),
    ]
    fields = [field for step in GUIDELINES["steps"] for field in step["fields"]]
    assert len(fields) == len(set(fields))
    assert set(fields) == FIELDS
    assert set(GUIDELINES["types"]) == set(AMBIGUITIES)
    assert all(set(kind) == {"name", "definition", "example"} for kind in GUIDELINES["types"].values())


def test_guidelines_are_in_both_languages() -> None:
    for text in in_languages():
        assert set(text) == {"en", "zh"}
        assert re.search("[\u4e00-\u9fff]", text["zh"])
        assert not re.search("[\u4e00-\u9fff] | [\u4e00-\u9fff]", text["zh"]), "a blank inside Chinese text"
        assert not re.search("[\u4e00-\u9fff]", text["en"])
    assert all(len(text["en"]) <= 420 for text in in_languages())


@cache
def published() -> str:
    """All words of the published files, cell after cell; a bar parts the cells and the lines."""
    parts: list[str] = []
    for path in sorted(PUBLISHED.glob("*.csv")):
        with path.open(encoding="utf-8-sig", newline="") as file:
            for row in csv.DictReader(file):
                lines = (line for cell in row.values() for line in (cell or "").splitlines())
                parts.extend(squeezed(re.sub(r"^\s*\d+\.\s*", "", line)) for line in lines)
    return "|".join(parts)


needs_published = pytest.mark.skipif(not PUBLISHED.is_dir(), reason=f"no published data at {PUBLISHED}")


@needs_published
def test_the_texts_are_ours() -> None:
    theirs = published()
    assert theirs.count("|") > 1000
    texts = [text for pair in PAIRS for text in own_texts(pair)]
    for draft in DRAFTS:
        texts += [draft["clear"], draft["indirect"], *draft["plan"], *draft["ambiguous_plan"]]
        texts += [
            text
            for candidate in draft["candidates"].values()
            for text in candidate.values()
            if len(text) > 20
        ]
    texts += [scenario["task"] for scenario in SCENARIOS]
    assert not [text for text in texts if squeezed(text) in theirs]
