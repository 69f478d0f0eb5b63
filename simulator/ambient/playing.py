"""How an episode is played: its options and its steps (spec 3, 5.1, 6.5, 7).

Every episode is a fixed list of steps, known beforehand; a step is one turn of the one seat there is. Models
and built-in players do the task alone. People read the instructions first; in a study they are asked for
their consent before, and may have to qualify, once: not again in further sets.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any, Final, Literal, NamedTuple, get_args

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
from simulator.ambient.labels import parse_label
from simulator.ambient.true_false import TEMPLATES, expected, statement
from simulator.errors import InputError
from simulator.seeds import derive_seed
from trees import Language

ANNOTATOR: Final = "annotator"
Kind = Literal[
    "consent",
    "ready",
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
KINDS: Final[tuple[Kind, ...]] = get_args(Kind)
_IN_FRONT: Final[tuple[Kind, ...]] = ("consent", "ready")


@dataclass(frozen=True, slots=True)
class Qualification:
    """A test in front of a person's first set.

    Attributes:
        questions: what is asked; they travel with the episode, so that it can be read again later.
        needed: right answers that are enough.
    """

    questions: tuple[Question, ...]
    needed: int

    def option(self) -> dict[str, Any]:
        """As an episode's options hold it."""
        asked = [{"premise": q.premise, "hypothesis": q.hypothesis, "label": q.label} for q in self.questions]
        return {"questions": asked, "pass": self.needed}

    @classmethod
    def read(cls, option: object) -> Qualification:
        """Out of an episode's option ``qualification``.

        Raises:
            InputError: if it is none.
        """
        if not isinstance(option, Mapping) or not isinstance(option.get("questions"), Sequence):
            raise InputError("qualification: must have questions and pass")
        try:
            questions = tuple(
                Question(str(one["premise"]), str(one["hypothesis"]), parse_label(one["label"]))
                for one in option["questions"]
            )
        except (KeyError, TypeError) as error:
            raise InputError(f"qualification: a question lacks {error}") from error
        needed = option.get("pass")
        if type(needed) is not int or not 0 <= needed <= len(questions):
            raise InputError(f"qualification: pass is {needed!r}, not a number up to {len(questions)}")
        return cls(questions, needed)


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What governs an episode.

    Attributes:
        study: a person's consent is asked for.
        begun: the person has done a set of this study before: nothing is in front of the task.
        qualification: the test in front of a person's first set, if any.
        max_tokens: what a model may write at most in a disambiguation or paraphrase (spec 6.2).
        top: tokens whose probabilities are asked for where True or False is due (spec 7).
        nli: folder of the model that scores paraphrases (task claim).
        top_p: of paraphrases (spec 10).
        language: of the pages around the text, which is English.
    """

    study: bool = False
    begun: bool = False
    qualification: Qualification | None = None
    max_tokens: int = 200
    top: int = 20
    nli: str = ""
    top_p: float = 0.9
    language: Language = "en"

    @classmethod
    def read(cls, options: Mapping[str, Any]) -> Options:
        """Out of an episode's options; what is no concern of an episode's is left alone.

        Raises:
            InputError: if a value is not among those that there are.
        """
        given = {name: options[name] for name in cls.__slots__ if name in options}
        if given.get("language", "en") not in get_args(Language):
            raise InputError(
                f"language {given['language']!r}: must be one of {', '.join(get_args(Language))}"
            )
        for name in ("max_tokens", "top"):
            if type(given.get(name, 1)) is not int or given.get(name, 1) < 1:
                raise InputError(f"{name} {given[name]!r}: must be a whole number, 1 or more")
        for name in ("study", "begun"):
            if not isinstance(given.get(name, False), bool):
                raise InputError(f"{name} {given[name]!r}: must be true or false")
        if not 0 < float(given.get("top_p", 0.9)) <= 1:
            raise InputError(f"top_p {given['top_p']!r}: must be above 0, and 1 at most")
        if given.get("qualification") is not None:
            given["qualification"] = Qualification.read(given["qualification"])
        return cls(**given)


class Step(NamedTuple):
    """One turn of an episode.

    Attributes:
        kind: what is said in it.
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
    """The steps of an episode of `item`.

    Args:
        item: what is played.
        person: whether a person does.
        options: of the episode.
        seed: of the episode; draws the order of statements for people.
    """
    steps = task_steps(item)
    if not person:
        return steps
    if isinstance(item, TrueFalseItem):
        steps = tuple(Random(derive_seed(seed, "statements")).sample(steps, len(steps)))
    return (*_front(options), *steps)


def _front(options: Options) -> tuple[Step, ...]:
    if not options.study:
        return (Step("ready"),)
    if options.begun:
        return ()
    asked = len(options.qualification.questions) if options.qualification else 0
    return (Step("consent"), Step("ready"), *(Step("qualification", number) for number in range(asked)))


def task_steps(item: Item) -> tuple[Step, ...]:
    """The steps of the task itself, in fixed order."""
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


def counts(step: Step) -> bool:
    """Whether a step is one of those that a person is told the number of."""
    return step.kind not in _IN_FRONT


def statements(item: TrueFalseItem) -> tuple[Statement, ...]:
    """Every rewrite in every template, rewrite by rewrite."""
    return tuple(
        Statement(rewrite, template, statement(template, item.sentence, rewrite), expected(template))
        for rewrite in item.rewrites
        for template in range(len(TEMPLATES))
    )
