"""Prompts as text, their trials (spec sections 4 and 15), and the Bayes-optimal learner.

People see exactly the text that models are sent. Labels are located by their offset in the text built here,
never by searching, because the instruction contains the two letters as well.

The learner is an upper bound (spec section 12): four hypotheses, a uniform prior, labels without noise. The
paper can be read in two ways. *Bayes-optimal*: say the label with more of the remaining mass for the current
sentence, and flip a coin if both have the same; the learner may then be certain before it knows the task.
*Literal*: perfect once one hypothesis is left, chance until then.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, lru_cache
from itertools import accumulate, product
from typing import Annotated, Any, Final, Literal, NamedTuple

from pydantic import (
    AfterValidator,
    Field,
    PlainValidator,
    SerializerFunctionWrapHandler,
    ValidationInfo,
    model_serializer,
)
from pydantic_core import PydanticKnownError

from logs.rows import Turn
from simulator.ambibench.aws import AwsPrompt
from simulator.ambibench.features import (
    FEATURES,
    PAIRS,
    Feature,
    Format,
    Hypothesis,
    Kind,
    Label,
    Pair,
    Setting,
    Variant,
    hypotheses,
    read_instruction,
    read_sentence,
    value_code,
)
from simulator.errors import InputError
from simulator.fields import Flag, OptionalText, Whole

PARTICIPANT: Final = "participant"
"""The only seat."""
# An example up to its label, and the blank before the label.
_EXAMPLE: Final[Mapping[Format, str]] = {"arrow": "{sentence}\n>", "qa": "Q: {sentence}\nA:"}
_BLANK: Final[Mapping[Format, str]] = {"arrow": "", "qa": " "}


@dataclass(frozen=True, slots=True)
class Example:
    """A sentence with the coded values of the pair's features (spec section 1), and its label."""

    sentence: str
    a: Annotated[Flag, Field(alias="task_a")]
    b: Annotated[Flag, Field(alias="task_b")]
    label: Label


def _check_pair(feature: Feature, info: ValidationInfo) -> Feature:
    known = PAIRS[info.data["pair"]] if "pair" in info.data else FEATURES
    if feature not in known:
        raise ValueError(f"is {feature!r}; it must be one of {', '.join(known)}")
    return feature


def _read_code(value: Any, info: ValidationInfo) -> bool:
    if not isinstance(value, str):
        raise PydanticKnownError("string_type")
    try:
        return "salient" in info.data and value_code(info.data["salient"], value)
    except ValueError as error:
        raise ValueError(f": {error}") from error


@dataclass(frozen=True, slots=True, kw_only=True)
class Labelled:
    """The fields that every published prompt has, from which the others follow; labels follow `salient`."""

    pair: Annotated[Pair, Field(alias="construction_type")]
    salient: Annotated[Feature, AfterValidator(_check_pair), Field(alias="salient_task")]
    instruction: str
    examples: Annotated[tuple[Example, ...], Field(min_length=1)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt(Labelled):
    """An instruction and labelled examples; `scored_positions` returns the labels asked for.

    Attributes:
        x_is: the coded value of the salient feature that is labelled X (polarity).
        seed: the seed from which the prompt is drawn, given the other choices.
        fold: the held-out pair, in finetuning and its evaluation.
        variant: ambiguous data or the control, in finetuning.
        question: the question after the prompt (verbalise); empty otherwise.
    """

    id: str
    setting: Setting
    x_is: Annotated[bool, PlainValidator(_read_code), Field(alias="polarity")]
    format: Format
    kind: Annotated[Kind, Field(alias="instruction_kind")]
    seed: Whole = 0
    fold: Pair | None = None
    variant: Annotated[Variant | None, Field(alias="ft_variant")] = None
    question: OptionalText = ""

    @property
    def hypothesis(self) -> Hypothesis:
        """The rule behind the labels."""
        return Hypothesis(self.salient, self.x_is)

    @model_serializer(mode="wrap")
    def _add_text(self, write: SerializerFunctionWrapHandler) -> dict[str, Any]:
        return {**write(self), "polarity": self.hypothesis.value, "prompt": whole_text(self)}


def whole_text(prompt: Prompt) -> str:
    """Return instruction and all examples with labels, without a question and without a final line feed."""
    return "".join(_pieces(prompt)) + prompt.examples[-1].label


def shown_text(prompt: Prompt, k: int) -> str:
    """Return the text up to label `k` (from 1), with right labels before it."""
    return "".join(_pieces(prompt)[:k]).rstrip(" ")


def completion(prompt: Prompt, k: int) -> str:
    """Return the continuation of `shown_text`: the label, after a blank in ``qa``."""
    return _BLANK[prompt.format] + prompt.examples[k - 1].label


def finetune_record(prompt: Prompt) -> dict[str, str]:
    """Return a prompt as a record for finetuning services, with the last label as completion (5.3)."""
    last = len(prompt.examples)
    return {"prompt": shown_text(prompt, last), "completion": completion(prompt, last)}


def label_offsets(prompt: Prompt) -> tuple[int, ...]:
    """Return the character offset of each label in `whole_text`, from 0."""
    return tuple(accumulate(map(len, _pieces(prompt))))


def scored_positions(prompt: Prompt) -> tuple[int, ...]:
    """Return the positions (from 1) whose labels are asked for and scored (spec section 5)."""
    n = len(prompt.examples)
    if prompt.setting == "verbalise":
        return ()
    return (n,) if prompt.setting in ("instruction", "ft_train") else tuple(range(1, n + 1))


def consistent(pair: Pair, examples: Sequence[Example]) -> tuple[Hypothesis, ...]:
    """Return the hypotheses that agree with every label of `examples`."""
    return tuple(
        hypothesis
        for hypothesis in hypotheses(pair)
        if all(hypothesis.label(example.a, example.b) == example.label for example in examples)
    )


def check_prompt(prompt: Prompt) -> None:
    """Check that sentences, codes, labels and instruction agree.

    Raises:
        InputError: if they do not; names the prompt, the example and the contradiction.
    """
    for number, example in enumerate(prompt.examples, start=1):
        where = f"prompt {prompt.id}, example {number}"
        try:
            read = read_sentence(example.sentence, prompt.pair)
        except InputError as error:
            raise InputError(f"{where}: {error}") from error
        if (read.a, read.b) != (example.a, example.b):
            raise InputError(f"{where}: the codes of its features contradict the sentence.")
        if prompt.hypothesis.label(example.a, example.b) != example.label:
            rule = f"{prompt.salient}, {prompt.hypothesis.value} labelled X"
            raise InputError(f"{where}: the label {example.label} does not follow {rule}.")
    kind, hypothesis = read_instruction(prompt.instruction)
    if kind != prompt.kind:
        raise InputError(f"prompt {prompt.id}: its instruction is {kind}, not {prompt.kind}.")
    # The labels follow the hypothesis (above), so an instruction that names it cannot contradict them.
    if hypothesis not in (None, prompt.hypothesis):
        raise InputError(f"prompt {prompt.id}: its instruction contradicts its labels.")


def _pieces(prompt: Prompt) -> list[str]:
    """Return the text split before each label, without the last label."""
    before = (prompt.instruction, *(example.label for example in prompt.examples))
    return [
        f"{line}\n{_EXAMPLE[prompt.format].format(sentence=example.sentence)}{_BLANK[prompt.format]}"
        for line, example in zip(before, prompt.examples, strict=False)
    ]


Item = Prompt | AwsPrompt


@dataclass(frozen=True, slots=True)
class Trial:
    """A request for one answer.

    Attributes:
        k: the position in the prompt, from 1; 1 for free text.
        text: the text that the participant sees: with right labels before `k`, up to label `k`.
        gold: the right label; None for free text.
        offset: character offset of the label in the complete text; None for free text.
    """

    k: int
    text: str
    answer: Literal["label", "text"]
    gold: Label | None = None
    offset: int | None = None

    @property
    def kind(self) -> Literal["answer", "text"]:
        """The kind of the turn with the answer."""
        return "answer" if self.answer == "label" else "text"


# Called when an episode begins, and when it has ended.
@lru_cache(maxsize=64)
def trials(item: Item) -> tuple[Trial, ...]:
    """Return the trials of an item, in order; an episode has a turn for each."""
    if isinstance(item, AwsPrompt):
        return (Trial(1, item.text, "text"),)
    if item.setting == "verbalise":
        # The question is on a separate line (spec section 8).
        return (Trial(1, f"{whole_text(item)}\n{item.question}", "text"),)
    text, offsets = whole_text(item), label_offsets(item)
    return tuple(
        Trial(k, text[:offset].rstrip(" "), "label", item.examples[k - 1].label, offset)
        for k in scored_positions(item)
        for offset in (offsets[k - 1],)
    )


def fill_missing_answers(item: Item, episode_id: str, turns: Sequence[Turn]) -> tuple[Turn, ...]:
    """Return the turns of an aborted episode, with an empty answer for each trial that has none.

    An episode aborted by a failing seat counts as unsuccessful (`simulator.runner.logged`): missing labels
    are wrong, like any answer that is not a label.
    """
    answered = {turn.payload.get("k", 1) for turn in turns if turn.payload.get("kind") in ("answer", "text")}
    missing = (trial for trial in trials(item) if trial.k not in answered)
    silent = (
        Turn(
            episode_id=episode_id,
            number=number,
            seat=PARTICIPANT,
            text="",
            payload={"kind": trial.kind, "k": trial.k, "silent": True},
        )
        for number, trial in enumerate(missing, start=len(turns))
    )
    return (*turns, *silent)


# ---- the learner


@dataclass(frozen=True, slots=True)
class Belief:
    """The learner's belief before it sees label `k`.

    Attributes:
        posterior: probability of each hypothesis of the pair, given the labels before `k`.
        p_x: probability that label `k` is X.
        p_gold: probability of the right label `k`.
        identified: whether only one hypothesis is left.
        bayes: expected correctness of the Bayes-optimal reading: 1, 0 or .5.
    """

    k: int
    posterior: Mapping[Hypothesis, float]
    p_x: float
    p_gold: float
    identified: bool
    bayes: float


class Curve(NamedTuple):
    """The learner's expected accuracy in each reading at k = 1, 2, … in setting 4.3.

    `identified`: probability that the task is known before label k.
    """

    bayes: tuple[float, ...]
    literal: tuple[float, ...]
    identified: tuple[float, ...]


# Called twice per episode: while it is played, and when it is scored.
@lru_cache(maxsize=64)
def beliefs(prompt: Prompt) -> tuple[Belief, ...]:
    """Return the learner's belief at each position of `prompt`; it follows an informative instruction.

    Raises:
        ValueError: if every hypothesis contradicts an example.
    """
    _, hypothesis = read_instruction(prompt.instruction)
    left = hypotheses(prompt.pair) if hypothesis is None else (hypothesis,)
    by_position = []
    for k, example in enumerate(prompt.examples, start=1):
        if not left:
            raise ValueError(f"no hypothesis about {prompt.pair} explains these labels")
        by_position.append(_belief(k, prompt.pair, left, example))
        left = tuple(task for task in left if task.label(example.a, example.b) == example.label)
    return tuple(by_position)


@cache
def exact_curve(length: int = 20) -> Curve:
    """Return the three curves by exact enumeration of the possible examples.

    By symmetry the result does not depend on the true task. The state is the set of hypotheses left after
    each example; each of the four combinations of values has probability 1/4.
    """
    pair: Pair = next(iter(PAIRS))
    truth, *_ = hypotheses(pair)
    sets = {frozenset(hypotheses(pair)): Fraction(1)}
    bayes, literal, identified = [], [], []
    for _ in range(length):
        known = sum((mass for left, mass in sets.items() if len(left) == 1), Fraction(0))
        identified.append(float(known))
        literal.append(float(known + (1 - known) / 2))
        correct = Fraction(0)
        after: dict[frozenset[Hypothesis], Fraction] = {}
        for (left, mass), (a, b) in product(sets.items(), product((True, False), repeat=2)):
            agreeing = frozenset(task for task in left if task.label(a, b) == truth.label(a, b))
            correct += mass / 4 * _expected_correct(Fraction(len(agreeing), len(left)))
            after[agreeing] = after.get(agreeing, Fraction(0)) + mass / 4
        bayes.append(float(correct))
        sets = after
    return Curve(tuple(bayes), tuple(literal), tuple(identified))


def best_guess(p_x: float) -> Label | None:
    """Return the label with more mass; None if both have the same."""
    return None if p_x == 0.5 else "X" if p_x > 0.5 else "Y"


def _belief(k: int, pair: Pair, left: tuple[Hypothesis, ...], example: Example) -> Belief:
    posterior = {task: (1 / len(left) if task in left else 0.0) for task in hypotheses(pair)}
    p_x = sum(mass for task, mass in posterior.items() if task.label(example.a, example.b) == "X")
    p_gold = p_x if example.label == "X" else 1 - p_x
    return Belief(k, posterior, p_x, p_gold, len(left) == 1, float(_expected_correct(p_gold)))


def _expected_correct(p_gold: float | Fraction) -> Fraction | int:
    """Return the expected correctness of saying the more probable label."""
    return Fraction(1, 2) if 2 * p_gold == 1 else int(2 * p_gold > 1)
