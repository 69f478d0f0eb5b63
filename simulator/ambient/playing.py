"""The options, steps and shown texts of an episode (spec 3, 5.1, 6.5, 7).

Every episode is a fixed list of steps, and each step is one turn of the only seat. Models and built-in
players do only the task; people may have to qualify first.

`shown_in` alone selects the texts shown in a step, for a person's page, a model's prompt and the log's
``shown`` (spec 13). It reveals nothing of later steps and none of the dataset's labels.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Annotated, Any, ClassVar, Final, Literal, NamedTuple, Protocol, Self, runtime_checkable

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
    Task,
    TrueFalseItem,
)
from simulator.ambient.labels import Side
from simulator.ambient.true_false import TEMPLATES, right_answer, statement
from simulator.fields import HIDDEN, EpisodeOptions, Fields, Option
from simulator.jsonlines import Codec
from simulator.models import Message, Request
from simulator.runner.machines import SeatPage
from simulator.seats import Reply, View
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


# ---- options and steps


class Qualification(Fields):
    """A test before a person's first set.

    `questions`: stored with the episode, so that it can be read later.
    """

    model_config: ClassVar[ConfigDict] = ConfigDict(strict=False, populate_by_name=True)

    questions: tuple[Question, ...]
    needed: Annotated[StrictInt, Field(ge=0, validation_alias="pass", serialization_alias="pass")]

    @model_validator(mode="after")
    def _answerable(self) -> Self:
        if self.needed > len(self.questions):
            raise ValueError(f"pass is {self.needed}; it must not exceed {len(self.questions)}")
        return self

    def option(self) -> dict[str, Any]:
        """Return the value stored in an episode's options."""
        return self.model_dump(mode="json", by_alias=True, exclude={"questions": {"__all__": {"why"}}})


class Options(EpisodeOptions):
    """The rules of an episode; `qualification` precedes a person's first set."""

    qualification: Annotated[Qualification | None, HIDDEN] = None
    max_tokens: Annotated[PositiveInt, Option(unset=True)] = Field(
        default=200, description="limit on a model's tokens per answer; default for generate, claim: 200"
    )
    top: PositiveInt = Field(default=20, description="true-false: number of likeliest words to request")
    nli: Annotated[str, Option(kind=Path, unset=True)] = Field(
        default="", description="claim: folder of the model that scores paraphrases"
    )
    top_p: Annotated[float, Option(unset=True)] = Field(
        default=0.9,
        gt=0,
        le=1,
        description="probability mass to sample from (nucleus sampling); default: 1, for claim .9",
    )


class Step(NamedTuple):
    """One turn of an episode.

    `number`: index among the steps of its kind, from 0: of the question, statement, option or pair.
    """

    kind: Kind
    number: int = 0


class Statement(NamedTuple):
    """A statement on one rewrite (spec 7): its template (0 to 3), its text, and the right answer."""

    rewrite: str
    template: int
    text: str
    answer: bool


def plan(item: Item, *, person: bool, options: Options, seed: int) -> tuple[Step, ...]:
    """Return the steps of an episode of `item`.

    `seed`: the episode's seed, which shuffles the statements for people.
    """
    steps = task_steps(item)
    if not person:
        return steps
    if isinstance(item, TrueFalseItem):
        steps = tuple(Random(derive_seed(seed, "statements")).sample(steps, len(steps)))
    questions = len(options.qualification.questions) if options.qualification else 0
    return (*(Step("qualification", number) for number in range(questions)), *steps)


def task_steps(item: Item) -> tuple[Step, ...]:
    """Return the steps of the task, without a qualification, in fixed order."""
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
        Statement(rewrite, template, statement(template, item.sentence, rewrite), right_answer(template))
        for rewrite in item.rewrites
        for template in range(len(TEMPLATES))
    )


# ---- what is shown in a step, and to whom


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownTexts:
    """The texts shown in one step, in display order; unused fields are empty.

    `sentence`: the ambiguous sentence, or the one that the statement is about; `pairs`: premise and
    hypothesis with each candidate in place of the sentence on `side`.
    """

    premise: str = ""
    hypothesis: str = ""
    sentence: str = ""
    candidates: tuple[str, ...] = ()
    pairs: tuple[tuple[str, str], ...] = ()
    side: Side | None = None
    statement: str = ""


_SHOWN: Final = Codec[ShownTexts](ShownTexts)


def shown_in(item: Item, step: Step, questions: Sequence[Question] = ()) -> ShownTexts:
    """Return the texts shown in a step."""
    match item, step.kind:
        case _, "qualification":
            question = questions[step.number]
            return ShownTexts(premise=question.premise, hypothesis=question.hypothesis)
        case CrowdItem(), "label":
            return ShownTexts(premise=item.premise, hypothesis=item.hypothesis)
        case CrowdItem(), "plausible":
            candidates = tuple(candidate.sentence for candidate in item.candidates)
            return ShownTexts(sentence=item.sentence, candidates=candidates)
        case CrowdItem(), "relabel":
            return ShownTexts(pairs=tuple(map(item.pair, range(len(item.candidates)))), side=item.side)
        case AnnotateItem(), "annotate":
            return ShownTexts(premise=item.example.premise, hypothesis=item.example.hypothesis)
        case TrueFalseItem(), "true_false":
            return ShownTexts(sentence=item.sentence, statement=statements(item)[step.number].text)
    return ShownTexts()


def shown_record(item: Item, step: Step, shown: ShownTexts) -> dict[str, Any]:
    """Return the log's record of a step: exact texts, their order, and the distractors' places (spec 13)."""
    record: dict[str, Any] = _SHOWN.adapter.dump_python(shown, mode="json", exclude_defaults=True)
    if isinstance(item, CrowdItem) and step.kind in ("plausible", "relabel"):
        record["distractors"] = [
            place for place, candidate in enumerate(item.candidates) if candidate.label is None
        ]
    return record


@dataclass(frozen=True, slots=True, kw_only=True)
class ParticipantView(SeatPage):
    """All that a person may see at a step: nothing of later steps, and no gold labels.

    `total`: number of steps of the episode, without consent and instructions; `earlier`: the participant's
    locked answers: the label of the original, yes or no per candidate.
    """

    task: Task
    done: int
    total: int
    shown: ShownTexts = field(default_factory=ShownTexts)
    earlier: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Knows:
    """The open steps, and everything a seat may use to answer them.

    Attributes:
        steps: the current step, or all remaining steps for a seat that answers them together.
        shown: what a person sees in the first step; models in a person's place use nothing else.
        item: for built-in players, which know the right answers, and for prompts built from the item.
        seeds: one per step, for random choices.
        said: kind and text of every earlier step.
    """

    steps: tuple[Step, ...]
    shown: ShownTexts
    item: Item
    seeds: tuple[int, ...]
    said: tuple[tuple[str, str], ...] = ()


@runtime_checkable
class AnswersAll(Protocol):
    """A seat that answers all remaining steps of an item together if they are independent."""

    def answers_all(self, item: Item) -> bool:
        """Return True if the seat answers all steps of this item together."""

    async def answer_all(self, view: View) -> tuple[Reply, ...]:
        """Return one reply per step of `view.task` (a `Knows`), in order.

        Raises:
            ModelError: if the seat's model fails.
        """


def request_context(view: View, step: str, place: int = 0) -> dict[str, Any]:
    """Return the purpose, episode and turn number of a model request, for the log."""
    return {
        "purpose": f"{ANNOTATOR}.{step}",
        "episode_id": view.episode_id,
        "turn_number": view.number + place,
    }


def request_of(view: View, step: str, text: str, place: int = 0, **options: Any) -> Request:
    """Return a model request for one step, by default with temperature 0 and seed 0."""
    defaults = {"temperature": 0.0, "seed": 0, "repeat": view.repeat, **request_context(view, step, place)}
    return Request(messages=(Message("user", text),), **(defaults | options))
