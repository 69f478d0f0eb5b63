"""The items of AmbiEnt, one dataclass per task: an example prepared for that task.

============== ======================================================== ==========================
item           task                                                     turns (`Turn.payload` kind)
============== ======================================================== ==========================
CrowdItem      crowd (spec 5), evaluate (6.5, without the first step)    label, plausible, relabel
AnnotateItem   annotate (3)                                             annotate
GenerateItem   generate (6)                                             generate
TrueFalseItem  true_false (7)                                           true_false, one per statement
ContinueItem   continue (8)                                             continue, one per option
NliItem        nli (9)                                                  nli, one per pair
ClaimItem      claim (10)                                               paraphrase, claim
============== ======================================================== ==========================
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal, get_args

from simulator.ambient.examples import Example
from simulator.ambient.labels import AnyLabels, Label, LabelSet, Side
from simulator.fields import Key, NonBlank, Whole
from simulator.jsonlines import Codec, ItemCodec

Task = Literal["crowd", "evaluate", "annotate", "generate", "true_false", "continue", "nli", "claim"]
TASKS: Final[tuple[Task, ...]] = get_args(Task)
JUDGED: Final = frozenset[Task](("crowd", "evaluate", "annotate"))
"""Judgment tasks, which have no wrong answers, so aborted episodes count for nothing (`payloads`)."""
InstructionText = Literal["published", "corrected"]


@dataclass(frozen=True, slots=True)
class Candidate:
    """A candidate interpretation; `label` is that of the pair that contains it, None for a distractor."""

    sentence: NonBlank
    label: Label | None


@dataclass(frozen=True, slots=True, kw_only=True)
class CrowdItem:
    """One example for crowdworkers (spec 5.1).

    Attributes:
        id: unique in a data set, unlike `example_id`.
        candidates: three, in display order, the same for all participants.
        origin: the model whose rewrites are evaluated (spec 6.5); empty in the crowdworkers' task.
        task: derived from `origin`.
    """

    id: Key
    example_id: Key
    premise: NonBlank
    hypothesis: NonBlank
    side: Side
    candidates: tuple[Candidate, ...]
    gold: AnyLabels = frozenset()
    origin: str = ""
    task: Literal["crowd", "evaluate"] = "crowd"

    def __post_init__(self) -> None:
        object.__setattr__(self, "task", "evaluate" if self.origin else "crowd")

    @property
    def sentence(self) -> str:
        """The ambiguous sentence."""
        return self.premise if self.side == "premise" else self.hypothesis

    def pair(self, candidate: int) -> tuple[str, str]:
        """Return premise and hypothesis, with a candidate instead of the ambiguous sentence."""
        text = self.candidates[candidate].sentence
        return (text, self.hypothesis) if self.side == "premise" else (self.premise, text)


@dataclass(frozen=True, slots=True, kw_only=True)
class AnnotateItem:
    """An example for a linguist to annotate (spec 3), who does not see its annotation."""

    id: Key
    example: Example
    task: Literal["annotate"] = "annotate"


@dataclass(frozen=True, slots=True, kw_only=True)
class GenerateItem:
    """An example to be disambiguated by continuing a prompt with worked examples (`shots`; spec 6.2)."""

    id: Key
    example: Example
    side: Side
    shots: tuple[Example, ...]
    instruction: InstructionText = "published"
    task: Literal["generate"] = "generate"


@dataclass(frozen=True, slots=True, kw_only=True)
class TrueFalseItem:
    """An ambiguous sentence and its distinct rewrites, with four statements on each (spec 7)."""

    id: Key
    example_id: Key
    side: Side
    sentence: NonBlank
    rewrites: tuple[NonBlank, ...]
    task: Literal["true_false"] = "true_false"


@dataclass(frozen=True, slots=True, kw_only=True)
class ContinueItem:
    """An ambiguous sentence, its distinct rewrites and a distractor, to be continued (spec 8).

    `wanted`: number of continuations of each.
    """

    id: Key
    example_id: Key
    side: Side
    sentence: NonBlank
    rewrites: tuple[NonBlank, ...]
    distractor: NonBlank
    stem: str = '"'
    wanted: Whole = 100
    max_tokens: Whole = 60
    task: Literal["continue"] = "continue"

    @property
    def options(self) -> tuple[tuple[str, str], ...]:
        """Name (``y0``, ``y1``, …, ``d``) and sentence of each option, without the stem."""
        return (*((f"y{place}", text) for place, text in enumerate(self.rewrites)), ("d", self.distractor))


@dataclass(frozen=True, slots=True, kw_only=True)
class NliItem:
    """An example whose original pair and disambiguations are to be labelled (spec 9)."""

    id: Key
    example: Example
    task: Literal["nli"] = "nli"

    @property
    def pairs(self) -> tuple[tuple[str, str], ...]:
        """Premise and hypothesis of the original, then of each disambiguation."""
        example = self.example
        readings = ((reading.premise, reading.hypothesis) for reading in example.disambiguations)
        return ((example.premise, example.hypothesis), *readings)

    @property
    def gold(self) -> tuple[LabelSet, ...]:
        """The gold label set of each of `pairs`."""
        readings = (frozenset({reading.label}) for reading in self.example.disambiguations)
        return (self.example.labels, *readings)


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimItem:
    """A claim to be paraphrased and tested for ambiguity (spec 10)."""

    id: Key
    claim: NonBlank
    cleaned: str
    justification: str = ""
    rating: str = ""
    person: str = ""
    venue: str = ""
    url: str = ""
    marks: str = ""
    task: Literal["claim"] = "claim"


Item = CrowdItem | AnnotateItem | GenerateItem | TrueFalseItem | ContinueItem | NliItem | ClaimItem


BENCHMARK: Final = "ambient"
# The data are English; the pages around them are in the participant's language.
LANGUAGE: Final = "en"
SPLITS: Final[tuple[Literal["dev", "test"], ...]] = ("dev", "test")
EXAMPLE_FIELDS: Final = (*Example.__dataclass_fields__, "category", "distractor", "partner")
"""All fields that a row of a dataset may have."""

EXAMPLES: Final = Codec[Example](Example)
ITEMS: Final = ItemCodec[Item](Item, BENCHMARK, kinds="task")

example_record, read_example = EXAMPLES.write, EXAMPLES.read_row
item_record, read_item, item_row, item_from_row = ITEMS.write, ITEMS.read, ITEMS.row, ITEMS.read_item
