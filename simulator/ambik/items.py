"""What is played in one episode: a task of a pair, a KnowNo scenario, or a draft to be made a pair."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

from simulator.ambik.pairs import Draft, Pair, Scenario
from simulator.ambik.terms import Member, Part, TaskType, task_type
from simulator.codecs import Codec, ItemCodec
from simulator.fields import OptionalTexts

Task = Literal["decide", "annotate"]


@dataclass(frozen=True, slots=True, kw_only=True)
class PairItem:
    """One member of a pair; the robot decides at the step where the pair parts.

    Attributes:
        options: actions that are offered to a person; of the data, of a run or of the built-in robot.
    """

    kind: Literal["pair"] = "pair"
    pair: Pair
    member: Member
    part: Part = "test"
    options: OptionalTexts = ()
    task: Literal["decide"] = "decide"

    @property
    def id(self) -> str:
        """Names the item: pair and member."""
        return f"{self.pair.id}.{self.member}"

    @property
    def type(self) -> TaskType:
        """The type under which its results are told."""
        return task_type(self.member, self.pair.type)


@dataclass(frozen=True, slots=True, kw_only=True)
class ScenarioItem:
    """A scenario of KnowNo's."""

    kind: Literal["scenario"] = "scenario"
    scenario: Scenario
    part: Part = "test"
    options: OptionalTexts = ()
    task: Literal["decide"] = "decide"

    @property
    def id(self) -> str:
        """Names the item."""
        return f"knowno-{self.scenario.id}"

    @property
    def type(self) -> str:
        """The scenario's type."""
        return self.scenario.type


@dataclass(frozen=True, slots=True, kw_only=True)
class DraftItem:
    """A draft of which an annotator makes a pair."""

    kind: Literal["draft"] = "draft"
    draft: Draft
    task: Literal["annotate"] = "annotate"

    @property
    def id(self) -> str:
        """Names the item."""
        return f"draft-{self.draft.id}"


DecideItem = PairItem | ScenarioItem
Item = PairItem | ScenarioItem | DraftItem


BENCHMARK: Final = "ambik"
LANGUAGE: Final = "en"
"""The benchmark's texts are English; pages around them are in the participant's language."""

PAIRS: Final = Codec[Pair](Pair)
SCENARIOS: Final = Codec[Scenario](Scenario)
DRAFTS: Final = Codec[Draft](Draft)
ITEMS: Final = ItemCodec[Item](Item, BENCHMARK, kinds="kind")

pair_record, read_pair_record = PAIRS.write, PAIRS.read_row
scenario_record, read_scenario_record = SCENARIOS.write, SCENARIOS.read_row
draft_record, read_draft_record = DRAFTS.write, DRAFTS.read_row
item_record, read_item, item_row, item_from_row = ITEMS.write, ITEMS.read, ITEMS.row, ITEMS.read_item
