"""How an episode is played: its options and its steps (spec 3, 5.1, 6.5, 7).

Every episode is a fixed list of steps, known beforehand; a step is one turn of the one seat there is. Models
and built-in players do the task alone; people may have to qualify before.
"""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Annotated, Any, ClassVar, Final, Literal, NamedTuple, Self

from pydantic import ConfigDict, Field, PositiveInt, StrictInt, model_validator

from simulator.ambient.data import Question
from simulator.ambient.items import (
    AnnotateItem,
    ClaimItem,
    ContinueItem,
    CrowdItem,
    GenerateItem,
    Item,
    NliItem,
    TrueFalseItem,
)
from simulator.ambient.true_false import TEMPLATES, expected, statement
from simulator.field_options import HIDDEN, Option
from simulator.fields import EpisodeOptions, Fields
from simulator.seeds import derive_seed

ANNOTATOR: Final = "annotator"
Kind = Literal[
    "qualification",
    "label",
    "plausible",
    "relabel",
    "annotate",
    "generate",
    "true_false",
    "continue",
    "nli",
    "paraphrase",
    "claim",
]


class Qualification(Fields):
    """A test in front of a person's first set.

    Attributes:
        questions: what is asked; they travel with the episode, so that it can be read again later.
    """

    model_config: ClassVar[ConfigDict] = ConfigDict(strict=False, populate_by_name=True)

    questions: tuple[Question, ...]
    needed: Annotated[StrictInt, Field(ge=0, validation_alias="pass", serialization_alias="pass")]

    @model_validator(mode="after")
    def _answerable(self) -> Self:
        if self.needed > len(self.questions):
            raise ValueError(f"pass is {self.needed}, not a number up to {len(self.questions)}")
        return self

    def option(self) -> dict[str, Any]:
        """Return what an episode's options hold of it."""
        return self.model_dump(mode="json", by_alias=True, exclude={"questions": {"__all__": {"why"}}})


class Options(EpisodeOptions):
    """The rules of an episode; `qualification` stands in front of a person's first set."""

    qualification: Annotated[Qualification | None, HIDDEN] = None
    max_tokens: Annotated[PositiveInt, Option(unset=True)] = Field(
        default=200, description="of what a model writes; default: generate, claim: 200"
    )
    top: PositiveInt = Field(default=20, description="true-false: words with probabilities asked for")
    nli: Annotated[str, Option(kind=Path, unset=True)] = Field(
        default="", description="claim: folder of the model that scores paraphrases"
    )
    top_p: Annotated[float, Option(unset=True)] = Field(
        default=0.9,
        gt=0,
        le=1,
        description="probability mass that texts are drawn from; default: all, claim: .9",
    )


class Step(NamedTuple):
    """One turn of an episode.

    Attributes:
        number: which of several of its kind, from 0: question, statement, option or pair.
    """

    kind: Kind
    number: int = 0


class Statement(NamedTuple):
    """A statement on one rewrite (spec 7): template 0 to 3, its text, and what is right."""

    rewrite: str
    template: int
    text: str
    answer: bool


def plan(item: Item, *, person: bool, options: Options, seed: int) -> tuple[Step, ...]:
    """Return the steps of an episode of `item`.

    `seed`: of the episode; draws the order of statements for people.
    """
    steps = task_steps(item)
    if not person:
        return steps
    if isinstance(item, TrueFalseItem):
        steps = tuple(Random(derive_seed(seed, "statements")).sample(steps, len(steps)))
    asked = len(options.qualification.questions) if options.qualification else 0
    return (*(Step("qualification", number) for number in range(asked)), *steps)


def task_steps(item: Item) -> tuple[Step, ...]:
    """Return the steps of the task itself, in fixed order."""
    match item:
        case CrowdItem():
            steps = (Step("label"), Step("plausible"), Step("relabel"))
            return steps[1:] if item.task == "evaluate" else steps
        case AnnotateItem():
            return (Step("annotate"),)
        case GenerateItem():
            return (Step("generate"),)
        case TrueFalseItem():
            return tuple(Step("true_false", number) for number in range(len(statements(item))))
        case ContinueItem():
            return tuple(Step("continue", number) for number in range(len(item.options)))
        case NliItem():
            return tuple(Step("nli", number) for number in range(len(item.pairs)))
        case ClaimItem():
            return (Step("paraphrase"), Step("claim"))


def statements(item: TrueFalseItem) -> tuple[Statement, ...]:
    """Return every rewrite in every template, rewrite by rewrite."""
    return tuple(
        Statement(rewrite, template, statement(template, item.sentence, rewrite), expected(template))
        for rewrite in item.rewrites
        for template in range(len(TEMPLATES))
    )
