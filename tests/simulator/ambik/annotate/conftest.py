"""A draft with all three candidates, and a form that fills it in without a fault."""

from __future__ import annotations

from typing import Any

import pytest

from simulator.ambik.forms import read_pair_form
from simulator.ambik.pairs import Candidate, Draft
from simulator.ambik.records import PairForm

CANDIDATES = (
    Candidate(
        type="preferences",
        task="Kitchen Robot, please pour some oat milk into a glass.",
        question="Which glass would you like?",
        answer="The tall one.",
    ),
    Candidate(
        type="common_sense_knowledge",
        task="Kitchen Robot, please pour some milk into the tall glass.",
        question="Which milk?",
        answer="Oat milk.",
    ),
    Candidate(
        type="safety",
        task="Kitchen Robot, please pour some oat milk into the tall glass right away.",
        question="Is the glass hot?",
        answer="Let it cool first.",
    ),
)
PLANS = {
    "clear_plan": ["Take the oat milk out of the fridge.", "Pour oat milk into the tall glass.", "Serve it."],
    "ambiguous_plan": ["Take the oat milk out of the fridge.", "Pour oat milk into a glass.", "Serve it."],
}


@pytest.fixture
def draft() -> Draft:
    """Three glasses and two cartons."""
    return Draft(
        id="x1",
        objects=("tall glass", "small glass", "beer glass", "oat milk", "apple juice", "oven gloves"),
        scene="a tall glass, a small glass, a beer glass, oat milk, apple juice, oven gloves",
        clear="Kitchen Robot, please pour some oat milk into the tall glass.",
        candidates={one.type: one for one in CANDIDATES},
        indirect="Kitchen Robot, the drink made of oats goes into the high glass.",
    )


@pytest.fixture
def move() -> dict[str, Any]:
    """Preferences, with reasons why the other two are not adequate."""
    return {
        "type": "preferences",
        "ambiguous": CANDIDATES[0].task,
        "question": CANDIDATES[0].question,
        "answer": CANDIDATES[0].answer,
        **PLANS,
        "step": 1,
        "shortlist": ["tall glass", "small glass", "beer glass"],
        "intent": "oat milk, tall glass",
        "variants": ["oat milk, tall glass", "oat milk, small glass", "oat milk, beer glass"],
        "passed_over": "No glass is hot; there is but one milk.",
        "one_ambiguity": True,
    }


@pytest.fixture
def form(draft: Draft, move: dict[str, Any]) -> PairForm:
    """The same, read."""
    return read_pair_form(draft, move, annotator="ann")
