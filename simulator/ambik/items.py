"""Items: pairs, KnowNo's scenarios and drafts, as stored in files (spec 2, 9, 11) and as played.

The annotations of a field say how it is stored in a file (`simulator.jsonlines`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar, Final, Literal

from pydantic import AfterValidator, BeforeValidator, Field, PlainSerializer, PlainValidator
from pydantic_core import PydanticKnownError

from simulator.ambik.intents import Intent, parse_intent
from simulator.ambik.terms import APPLIANCES, KNOWNO_APPLIANCES, Ambiguity, Member, Part, TaskType, task_type
from simulator.fields import Flag, Key, NonBlank, OptionalText, OptionalTexts, Whole, null_as, refuse_blank
from simulator.jsonlines import Codec, ItemCodec


def _read_intent(value: Any) -> Intent:
    if not isinstance(value, str):
        raise PydanticKnownError("string_type")
    return parse_intent(refuse_blank(value))


IntentText = Annotated[Intent, PlainValidator(_read_intent), PlainSerializer(lambda intent: intent.text)]
"""An intent, stored as the text of its cell."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """A clear task and a minimally different ambiguous one in the same scene (spec 2.2).

    Attributes:
        objects: the scene's objects, without articles (``environment_short``) and without appliances.
        scene: the objects in words, with articles (``environment_full``).
        clear: the unambiguous task (``unambiguous_direct``).
        indirect: the clear task with objects named loosely; empty where the data have none.
        shortlist: objects among which a person would be undecided; often empty.
        clear_plan: steps, without their numbers.
        ambiguous_plan: steps, without their numbers.
        step: index, from 0, of the step at which the ambiguity arises; None if the data do not say.
        intent: what the action must realise; None if the cell is empty.
        variants: possible meanings before clarification, one intent per line; empty if unknown.
        take_ambiguous: True if the ambiguous member is used for calibration; None outside calibration rows.
        options: actions that might be meant; only our own data have them.
        shortlist_cell: the raw cell, which the published code reads (spec 10.1); None if it equals the
            objects joined by comma and blank. Ignored when pairs are compared.
    """

    id: Key
    objects: OptionalTexts = ()
    scene: NonBlank
    clear: NonBlank
    ambiguous: NonBlank
    type: Ambiguity
    question: OptionalText = ""
    answer: OptionalText = ""
    clear_plan: OptionalTexts = ()
    ambiguous_plan: OptionalTexts = ()
    step: Annotated[Whole | None, Field(ge=0)] = None
    intent: IntentText | None = None
    indirect: OptionalText = ""
    shortlist: OptionalTexts = ()
    variants: Annotated[tuple[IntentText, ...], null_as(())] = ()
    take_ambiguous: Annotated[Flag | None, Field(alias="take_amb")] = None
    options: OptionalTexts = ()
    shortlist_cell: Annotated[
        str | None, AfterValidator(lambda text: text or None), Field(exclude_if=lambda text: text is None)
    ] = field(default=None, compare=False)

    @property
    def shortlist_text(self) -> str:
        """The shortlist as written in its cell."""
        return ", ".join(self.shortlist) if self.shortlist_cell is None else self.shortlist_cell

    @property
    def appliances(self) -> tuple[str, ...]:
        """The appliances of every scene (spec 2.3) that are not among its objects."""
        return tuple(name for name in APPLIANCES if name not in self.objects)

    @property
    def things(self) -> tuple[str, ...]:
        """Everything in the scene, including appliances."""
        return (*self.objects, *self.appliances)

    def task(self, member: Member) -> str:
        """Return the instruction of a member."""
        return self.ambiguous if member == "ambiguous" else self.clear

    def plan(self, member: Member) -> tuple[str, ...]:
        """Return the plan of a member."""
        return self.ambiguous_plan if member == "ambiguous" else self.clear_plan

    @property
    def clear_step(self) -> str:
        """The clear plan's line at which the ambiguity arises; empty if there is none."""
        return line_of(self.clear_plan, self.step)

    @property
    def calibration_member(self) -> Member:
        """The member used for calibration (spec 7.1); the ambiguous one if the data do not say."""
        return "clear" if self.take_ambiguous is False else "ambiguous"


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """A mobile-manipulation scenario of KnowNo as AmbiK's authors converted it (spec 9).

    Attributes:
        type: without the suffix ``_task``: ``singlelabel``, ``spatial_ambiguous``, ``winograd``, ``unsafe``,
            ``unambiguous``, ``creative_multilabel``, ``creative_singlelabel`` or ``multilabel``.
        intended: objects, any of which is right.
        location: ``pick-up``, a drawer, a bin, an appliance or another object.
        part: calibration or test, where the data say so.
    """

    id: Key
    objects: OptionalTexts = ()
    scene: str
    task: str
    intended: OptionalTexts = ()
    location: str
    type: Annotated[str, AfterValidator(lambda text: text.removesuffix("_task"))]
    intent: IntentText | None = None
    part: Part | None = None

    @property
    def appliances(self) -> tuple[str, ...]:
        """The appliances of every scene (spec 9) that are not among its objects."""
        return tuple(name for name in KNOWNO_APPLIANCES if name not in self.objects)


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A proposed ambiguous version of a draft's clear task (spec 11, step 3)."""

    type: Annotated[Ambiguity, Field(exclude=True)]
    task: NonBlank
    question: NonBlank
    answer: NonBlank


def _with_types(candidates: Any) -> Any:
    """Return candidates with their type added, which in a file is their key."""
    if not isinstance(candidates, dict):
        return candidates
    return {
        kind: {**fields, "type": kind} if isinstance(fields, dict) else fields
        for kind, fields in candidates.items()
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """Proposals from which annotators make a pair (spec 11).

    Attributes:
        candidates: by type; the page decides in which order annotators see them.
        plan: steps of the clear task, without numbers; may be empty.
        ambiguous_plan: proposed steps of the ambiguous task; may be empty.
        indirect: proposed clear task with objects named loosely; may be empty.
    """

    id: Key
    objects: OptionalTexts = ()
    scene: NonBlank
    clear: NonBlank
    indirect: OptionalText = ""
    plan: OptionalTexts = ()
    ambiguous_plan: OptionalTexts = ()
    candidates: Annotated[Mapping[Ambiguity, Candidate], BeforeValidator(_with_types)]


def parting(plan: Sequence[str], other: Sequence[str]) -> int | None:
    """Return the index, from 0, of the first line in which two plans differ; None if there is none."""
    lines = enumerate(zip(plan, other, strict=False))
    return next((index for index, (line, counterpart) in lines if line != counterpart), None)


def line_of(plan: Sequence[str], step: int | None) -> str:
    """Return the line of a plan at index `step`; empty if there is none."""
    return plan[step] if step is not None and 0 <= step < len(plan) else ""


Task = Literal["decide", "annotate"]
Dataset = Literal["ambik", "knowno"]


@dataclass(frozen=True, slots=True, kw_only=True)
class PairItem:
    """One member of a pair; the robot decides at the step where the two plans differ.

    `options`: actions offered to a person, from the data, a run or the built-in robot.
    """

    kind: Literal["pair"] = "pair"
    pair: Pair
    member: Member
    part: Part = "test"
    options: OptionalTexts = ()
    task: Literal["decide"] = "decide"
    dataset: ClassVar[Dataset] = "ambik"

    @property
    def about(self) -> Pair:
        """The pair."""
        return self.pair

    @property
    def id(self) -> str:
        """The item's name: pair and member."""
        return f"{self.pair.id}.{self.member}"

    @property
    def cluster(self) -> str:
        """The pair's id: decisions on its two members are not independent."""
        return self.pair.id

    @property
    def instruction(self) -> str:
        """The instruction of the member."""
        return self.pair.task(self.member)

    @property
    def previous(self) -> tuple[str, ...]:
        """The plan's steps before the one to decide on (spec 5); empty if that is unknown."""
        return () if self.pair.step is None else self.pair.plan(self.member)[: self.pair.step]

    @property
    def step(self) -> str:
        """The step to decide on; empty if there is none."""
        return line_of(self.pair.plan(self.member), self.pair.step)

    @property
    def type(self) -> TaskType:
        """The type under which its results are reported."""
        return task_type(self.member, self.pair.type)


@dataclass(frozen=True, slots=True, kw_only=True)
class ScenarioItem:
    """A KnowNo scenario; it has no plan."""

    kind: Literal["scenario"] = "scenario"
    scenario: Scenario
    part: Part = "test"
    options: OptionalTexts = ()
    task: Literal["decide"] = "decide"
    dataset: ClassVar[Dataset] = "knowno"
    previous: ClassVar[tuple[str, ...]] = ()
    step: ClassVar[str] = ""

    @property
    def about(self) -> Scenario:
        """The scenario."""
        return self.scenario

    @property
    def id(self) -> str:
        """The item's name."""
        return f"knowno-{self.scenario.id}"

    @property
    def cluster(self) -> str:
        """The scenario."""
        return self.id

    @property
    def instruction(self) -> str:
        """The instruction."""
        return self.scenario.task

    @property
    def type(self) -> str:
        """The scenario's type."""
        return self.scenario.type


@dataclass(frozen=True, slots=True, kw_only=True)
class DraftItem:
    """A draft from which an annotator makes a pair."""

    kind: Literal["draft"] = "draft"
    draft: Draft
    task: Literal["annotate"] = "annotate"

    @property
    def id(self) -> str:
        """The item's name."""
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
