"""Prompts, character by character, their trials (spec sections 4 and 15), and the best learner of them.

What a person sees and a model is sent is the same text. Labels are found by their place in the text that was
built here, never by searching: the instruction holds the two letters, too.

Nobody can beat the learner (spec section 12): four hypotheses, a uniform prior, labels without noise. Two
readings of the paper. *Bayes-optimal*: say the label that has more of the remaining mass for the sentence at
hand, and flip a coin where both have the same; so the learner may be certain before it knows the task.
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
"""The one seat that there is."""
# An example up to its label, and what stands between that and the label itself.
_EXAMPLE: Final[Mapping[Format, str]] = {"arrow": "{sentence}\n>", "qa": "Q: {sentence}\nA:"}
_BLANK: Final[Mapping[Format, str]] = {"arrow": "", "qa": " "}


@dataclass(frozen=True, slots=True)
class Example:
    """A sentence with its label.

    Attributes:
        a: coded value of the pair's feature a (spec section 1); `b` of feature b.
    """

    sentence: str
    a: Annotated[Flag, Field(alias="task_a")]
    b: Annotated[Flag, Field(alias="task_b")]
    label: Label


def _of_pair(feature: Feature, info: ValidationInfo) -> Feature:
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
    """The facts that every published prompt states, from which the rest of it follows.

    Attributes:
        salient: the feature that the labels follow.
    """

    pair: Annotated[Pair, Field(alias="construction_type")]
    salient: Annotated[Feature, AfterValidator(_of_pair), Field(alias="salient_task")]
    instruction: str
    examples: Annotated[tuple[Example, ...], Field(min_length=1)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt(Labelled):
    """An instruction and labelled examples; which labels are asked for is `scored_positions`.

    Attributes:
        id: names it within its data set.
        x_is: the coded value of it that is labelled X (polarity).
        seed: the prompt is drawn from this seed alone, given the other choices.
        fold: of finetuning and its evaluation: the pair that is held out.
        variant: of finetuning: ambiguous data or the control.
        question: what is asked after the whole prompt (verbalisation); empty otherwise.
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
        """Return what the task is about."""
        return Hypothesis(self.salient, self.x_is)

    @model_serializer(mode="wrap")
    def _with_text(self, write: SerializerFunctionWrapHandler) -> dict[str, Any]:
        return {**write(self), "polarity": self.hypothesis.value, "prompt": whole_text(self)}


def whole_text(prompt: Prompt) -> str:
    """Return instruction and all examples with their labels, without a question; no line feed at the end."""
    return "".join(_pieces(prompt)) + prompt.examples[-1].label


def shown_text(prompt: Prompt, k: int) -> str:
    """Return what is seen when label `k` (from 1) is due: right labels before it, and nothing from it on."""
    return "".join(_pieces(prompt)[:k]).rstrip(" ")


def completion(prompt: Prompt, k: int) -> str:
    """Return what continues `shown_text`: the label, after a blank in ``qa``."""
    return _BLANK[prompt.format] + prompt.examples[k - 1].label


def finetune_record(prompt: Prompt) -> dict[str, str]:
    """Return a prompt in the form of finetuning services: the last label completes the rest (5.3)."""
    last = len(prompt.examples)
    return {"prompt": shown_text(prompt, last), "completion": completion(prompt, last)}


def label_offsets(prompt: Prompt) -> tuple[int, ...]:
    """Return where each label stands in `whole_text`: character offsets from 0."""
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
    """Make sure that sentences, codes, labels and instruction agree.

    Raises:
        InputError: if they do not; names the prompt, the example and what is wrong.
    """
    for number, example in enumerate(prompt.examples, start=1):
        where = f"prompt {prompt.id}, example {number}"
        try:
            read = read_sentence(example.sentence, prompt.pair)
        except InputError as error:
            raise InputError(f"{where}: {error}") from error
        if (read.a, read.b) != (example.a, example.b):
            raise InputError(f"{where}: its features are coded otherwise than the sentence says.")
        if prompt.hypothesis.label(example.a, example.b) != example.label:
            rule = f"{prompt.salient}, {prompt.hypothesis.value} labelled X"
            raise InputError(f"{where}: the label {example.label} does not follow {rule}.")
    kind, hypothesis = read_instruction(prompt.instruction)
    if kind != prompt.kind:
        raise InputError(f"prompt {prompt.id}: its instruction is {kind}, not {prompt.kind}.")
    # The labels follow the hypothesis (above), so an instruction that names it cannot contradict them.
    if hypothesis not in (None, prompt.hypothesis):
        raise InputError(f"prompt {prompt.id}: its instruction tells another task than its labels follow.")


def _pieces(prompt: Prompt) -> list[str]:
    """Return the text up to the first label, from it to the second, and so on, without the last label."""
    before = (prompt.instruction, *(example.label for example in prompt.examples))
    return [
        f"{line}\n{_EXAMPLE[prompt.format].format(sentence=example.sentence)}{_BLANK[prompt.format]}"
        for line, example in zip(before, prompt.examples, strict=False)
    ]


Item = Prompt | AwsPrompt


@dataclass(frozen=True, slots=True)
class Trial:
    """One answer that is due.

    Attributes:
        k: the position in the prompt, from 1; for free text 1.
        text: what the participant sees: right labels before `k`, nothing of what comes after.
        gold: the right label, and `offset` its place in the whole text, in characters; None for free text.
    """

    k: int
    text: str
    answer: Literal["label", "text"]
    gold: Label | None = None
    offset: int | None = None

    @property
    def kind(self) -> Literal["answer", "text"]:
        """The kind of the turn that answers it."""
        return "answer" if self.answer == "label" else "text"


# Asked for when an episode begins, and when it has ended.
@lru_cache(maxsize=64)
def trials(item: Item) -> tuple[Trial, ...]:
    """Return the trials of an item, in order; an episode has a turn for each."""
    if isinstance(item, AwsPrompt):
        return (Trial(1, item.text, "text"),)
    if item.setting == "verbalise":
        # The question stands on a line of its own (spec section 8).
        return (Trial(1, f"{whole_text(item)}\n{item.question}", "text"),)
    text, offsets = whole_text(item), label_offsets(item)
    return tuple(
        Trial(k, text[:offset].rstrip(" "), "label", item.examples[k - 1].label, offset)
        for k in scored_positions(item)
        for offset in (offsets[k - 1],)
    )


def with_silence(item: Item, episode_id: str, turns: Sequence[Turn]) -> tuple[Turn, ...]:
    """Return the turns of an aborted episode of a model's, and an empty answer for each that is missing.

    An episode that was aborted because its seat failed counts as unsuccessful (`simulator.runner.logged`):
    the labels that it never gave are wrong, like any other answer that is no label.
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
    """The learner's belief when label `k` is due.

    Attributes:
        posterior: each hypothesis of the pair with its probability, labels before `k` seen.
        p_x: its probability that label `k` is X.
        p_gold: that label `k` is what it is.
        identified: whether one hypothesis is left.
        bayes: expected correctness of the Bayes-optimal reading: 1, 0 or .5.
    """

    k: int
    posterior: Mapping[Hypothesis, float]
    p_x: float
    p_gold: float
    identified: bool
    bayes: float


class Curve(NamedTuple):
    """The learner's accuracy by each reading at k = 1, 2, … over all episodes of setting 4.3.

    `identified`: probability that the task is known before example k.
    """

    bayes: tuple[float, ...]
    literal: tuple[float, ...]
    identified: tuple[float, ...]


# An episode asks twice: while it is played, and when it is scored.
@lru_cache(maxsize=64)
def beliefs(prompt: Prompt) -> tuple[Belief, ...]:
    """Return what the learner thinks at each position of `prompt`; an informative instruction is told.

    Raises:
        ValueError: if every hypothesis contradicts an example.
    """
    _, hypothesis = read_instruction(prompt.instruction)
    left = hypotheses(prompt.pair) if hypothesis is None else (hypothesis,)
    thought = []
    for k, example in enumerate(prompt.examples, start=1):
        if not left:
            raise ValueError(f"no hypothesis about {prompt.pair} explains these labels")
        thought.append(_belief(k, prompt.pair, left, example))
        left = tuple(task for task in left if task.label(example.a, example.b) == example.label)
    return tuple(thought)


@cache
def exact_curve(length: int = 20) -> Curve:
    """Return the three curves by exact enumeration over what examples can look like.

    By symmetry it does not matter which task is the true one. After each example a set of hypotheses is
    left; each of the four combinations of values has probability 1/4.
    """
    pair: Pair = next(iter(PAIRS))
    truth, *_ = hypotheses(pair)
    sets = {frozenset(hypotheses(pair)): Fraction(1)}
    bayes, literal, identified = [], [], []
    for _ in range(length):
        known = sum((mass for left, mass in sets.items() if len(left) == 1), Fraction(0))
        identified.append(float(known))
        literal.append(float(known + (1 - known) / 2))
        gained = Fraction(0)
        after: dict[frozenset[Hypothesis], Fraction] = {}
        for (left, mass), (a, b) in product(sets.items(), product((True, False), repeat=2)):
            agreeing = frozenset(task for task in left if task.label(a, b) == truth.label(a, b))
            gained += mass / 4 * _expected_correct(Fraction(len(agreeing), len(left)))
            after[agreeing] = after.get(agreeing, Fraction(0)) + mass / 4
        bayes.append(float(gained))
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
    """Return expected correctness of saying the more probable label."""
    return Fraction(1, 2) if 2 * p_gold == 1 else int(2 * p_gold > 1)
