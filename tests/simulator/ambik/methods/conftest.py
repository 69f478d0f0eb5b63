"""A pair, a scenario and a deterministic model: texts and tables of tokens by role."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest

from simulator.ambik.intents import parse_intent, parse_variants
from simulator.ambik.items import Pair, PairItem, Scenario, ScenarioItem
from simulator.models import Capabilities, Completion, Request, ScriptModel, TokenLogprob

Table = tuple[tuple[str, float], ...]
Reply = str | Table | Callable[[Request], Any]

PAIR = Pair(
    id="7",
    objects=("red mug", "blue mug", "green tea", "black tea", "kettle brush"),
    scene="a red mug, a blue mug, green tea, black tea, a kettle brush",
    clear="Make a cup of green tea in the blue mug.",
    ambiguous="Make a cup of tea in the blue mug.",
    type="preferences",
    question="Which tea shall I take?",
    answer="The green one, please.",
    clear_plan=("Boil water in the tea kettle.", "Put green tea into the blue mug.", "Pour the water."),
    ambiguous_plan=("Boil water in the tea kettle.", "Put tea into the blue mug.", "Pour the water."),
    step=1,
    intent=parse_intent("green tea, blue mug"),
    shortlist=("green tea", "black tea"),
    variants=parse_variants("green tea, blue mug\nblack tea, blue mug"),
)
SCENARIO = Scenario(
    id="3",
    objects=("pear", "plum", "dish cloth"),
    scene="a pear, a plum, and a dish cloth",
    task="Put the fruit in the top drawer.",
    intended=("pear", "plum"),
    location="top drawer",
    type="multilabel",
)
FOUR = (
    "A) Put green tea into the blue mug.\n"
    "B) Put black tea into the blue mug.\n"
    "C) Put green tea into the red mug.\n"
    "D) Wash the silver spoon."
)
LETTERS: Table = (("A", -0.5), (" B", -1.2), ("C", -3.0), ("a", -4.0), ("The", -5.0))


@dataclass
class Model:
    """A scripted model that keeps what it was asked.

    Attributes:
        says: role -> a text, a table of tokens (the first is written), or what to answer to a request.
    """

    says: Mapping[str, Reply]
    capabilities: Capabilities | None = None
    name: str = "script"
    asked: list[Request] = field(default_factory=list)

    @property
    def model(self) -> ScriptModel:
        """The model."""
        return ScriptModel(self.answer, name=self.name, capabilities=self.capabilities)

    def answer(self, request: Request) -> Any:
        """Return its answer to a request."""
        self.asked.append(request)
        reply = self.says[request.purpose.partition(".")[2]]
        if isinstance(reply, str):
            return reply
        return reply(request) if callable(reply) else written(reply)

    def roles(self) -> list[str]:
        """Return the roles that asked, in order."""
        return [request.purpose for request in self.asked]


def written(*tables: Table) -> Completion:
    """The first token of each table, with its table."""
    return Completion(
        text="".join(table[0][0] for table in tables),
        logprobs=tuple(TokenLogprob(*table[0], table) for table in tables),
    )


@pytest.fixture
def pair_item() -> PairItem:
    return PairItem(pair=PAIR, member="ambiguous")


@pytest.fixture
def clear_item() -> PairItem:
    return PairItem(pair=PAIR, member="clear")


@pytest.fixture
def scenario_item() -> ScenarioItem:
    return ScenarioItem(scenario=SCENARIO)


@pytest.fixture
def scripted() -> type[Model]:
    return Model


@pytest.fixture
def four() -> str:
    return FOUR


@pytest.fixture
def letters() -> Table:
    return LETTERS


@pytest.fixture
def tokens() -> Callable[..., Completion]:
    return written
