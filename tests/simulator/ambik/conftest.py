"""Pairs, scenarios and decisions for tests, and the published files if available."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from shared_data import shared_path

from simulator.ambik.intents import parse_intent, parse_variants
from simulator.ambik.items import Pair, PairItem, Scenario, ScenarioItem
from simulator.ambik.records import Decision

ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="session")
def published() -> Callable[[str], Path]:
    """Return the path of a published file."""
    return partial(shared_path, "ambik")


@pytest.fixture(scope="session")
def make_pair() -> Callable[..., Pair]:
    """A pair about mugs; any field may be given, intent and variants as cells."""

    def make(id: str = "p1", *, intent: str | None = "glass mug", variants: str = "", **fields: Any) -> Pair:
        given: dict[str, Any] = {
            "objects": ("glass mug", "clay mug", "green tea"),
            "scene": "a glass mug, a clay mug, green tea",
            "clear": "Serve green tea in the glass mug.",
            "ambiguous": "Serve green tea in a mug.",
            "type": "preferences",
            "question": "Which mug?",
            "answer": "The glass one.",
            "clear_plan": ("take the glass mug", "pour the tea"),
            "ambiguous_plan": ("take a mug", "pour the tea"),
            "step": 0,
            "shortlist": ("glass mug", "clay mug"),
        }
        read = {
            "intent": None if intent is None else parse_intent(intent),
            "variants": parse_variants(variants),
        }
        return Pair(**{"id": id, **given, **read, **fields})

    return make


@pytest.fixture(scope="session")
def make_scenario() -> Callable[..., Scenario]:
    """A scenario with fruit."""

    def make(**fields: Any) -> Scenario:
        given: dict[str, Any] = {
            "id": "s1",
            "objects": ("plum", "pear", "corn chips"),
            "scene": "a plum, a pear, and a bag of corn chips",
            "task": "Hand me the fruit.",
            "intended": ("pear",),
            "location": "pick-up",
            "type": "singlelabel",
        }
        return Scenario(**{**given, **fields})

    return make


@pytest.fixture(scope="session")
def make_decision(make_pair: Callable[..., Pair]) -> Callable[..., Decision]:
    """A decision of KnowNo on the pair about mugs, unless said otherwise."""

    def make(
        pair: Pair | None = None, member: str = "ambiguous", part: str = "test", **fields: Any
    ) -> Decision:
        scenario = fields.pop("scenario", None)
        item: Any = PairItem(pair=pair or make_pair(), member=member, part=part)
        given: dict[str, Any] = {
            "episode_id": f"e-{item.id}",
            "run": "run",
            "item": ScenarioItem(scenario=scenario, part=part) if scenario else item,
            "method": "knowno",
        }
        if fields.get("method", "knowno") in ("knowno", "lap") and "options" not in fields:
            given["options"] = {
                "A": "take the glass mug",
                "B": "take the clay mug",
                "C": "take the green tea",
                "D": "do nothing",
            }
        return Decision(**{**given, **fields})

    return make
