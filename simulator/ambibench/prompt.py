"""Prompts, character by character (spec sections 4 and 15).

What a person sees and a model is sent is the same text. Labels are found by their place in the text that
was built here, never by searching: the instruction holds the two letters, too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, Final

from simulator.ambibench.features import (
    Feature,
    Format,
    Hypothesis,
    Kind,
    Label,
    Pair,
    Setting,
    Variant,
    hypotheses,
)
from simulator.ambibench.instructions import read_instruction
from simulator.ambibench.sentences import read_sentence
from simulator.errors import InputError

# An example up to its label, and what stands between that and the label itself.
_EXAMPLE: Final[Mapping[Format, str]] = {"arrow": "{sentence}\n>", "qa": "Q: {sentence}\nA:"}
_BLANK: Final[Mapping[Format, str]] = {"arrow": "", "qa": " "}


@dataclass(frozen=True, slots=True)
class Example:
    """A sentence with its label.

    Attributes:
        a: coded value of the pair's feature a (spec section 1).
        b: coded value of feature b.
    """

    sentence: str
    a: bool
    b: bool
    label: Label


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt:
    """An instruction and labelled examples; which labels are asked for is `scored_positions`.

    Attributes:
        id: names it within its data set.
        salient: the feature that the labels follow.
        x_is: the coded value of it that is labelled X (polarity).
        kind: how much the instruction tells.
        seed: the prompt is drawn from this seed alone, given the other choices.
        fold: of finetuning and its evaluation: the pair that is held out.
        variant: of finetuning: ambiguous data or the control.
        question: what is asked after the whole prompt (verbalisation); empty otherwise.
    """

    id: str
    setting: Setting
    pair: Pair
    salient: Feature
    x_is: bool
    format: Format
    kind: Kind
    instruction: str
    examples: tuple[Example, ...]
    seed: int
    fold: Pair | None = None
    variant: Variant | None = None
    question: str = ""

    @property
    def hypothesis(self) -> Hypothesis:
        """What the task is about."""
        return Hypothesis(self.salient, self.x_is)


def whole_text(prompt: Prompt) -> str:
    """Instruction and all examples with their labels, without a question; no line feed at the end."""
    return "".join(_pieces(prompt)) + prompt.examples[-1].label


def shown_text(prompt: Prompt, k: int) -> str:
    """What is seen when label `k` (from 1) is due: right labels before it, and nothing from it on."""
    return "".join(_pieces(prompt)[:k]).rstrip(" ")


def asked_text(prompt: Prompt) -> str:
    """The whole prompt and, on a line of its own, the question (spec section 8)."""
    return f"{whole_text(prompt)}\n{prompt.question}"


def completion(prompt: Prompt, k: int) -> str:
    """What continues `shown_text`: the label, after a blank in ``qa``."""
    return _BLANK[prompt.format] + prompt.examples[k - 1].label


def finetune_record(prompt: Prompt) -> dict[str, str]:
    """What is learned from, in the form of finetuning services: the last label completes the rest (5.3)."""
    last = len(prompt.examples)
    return {"prompt": shown_text(prompt, last), "completion": completion(prompt, last)}


def label_offsets(prompt: Prompt) -> tuple[int, ...]:
    """Where each label stands in `whole_text`: character offsets from 0."""
    return tuple(accumulate(map(len, _pieces(prompt))))


def scored_positions(prompt: Prompt) -> tuple[int, ...]:
    """The positions (from 1) whose labels are asked for and scored (spec section 5)."""
    n = len(prompt.examples)
    if prompt.setting == "verbalise":
        return ()
    return (n,) if prompt.setting in ("instruction", "ft_train") else tuple(range(1, n + 1))


def consistent(pair: Pair, examples: Sequence[Example]) -> tuple[Hypothesis, ...]:
    """The hypotheses that agree with every label of `examples`."""
    return tuple(
        one
        for one in hypotheses(pair)
        if all(one.label(example.a, example.b) == example.label for example in examples)
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
            said = f"{prompt.salient}, {prompt.hypothesis.value} labelled X"
            raise InputError(f"{where}: the label {example.label} does not follow {said}.")
    kind, told = read_instruction(prompt.instruction)
    if kind != prompt.kind:
        raise InputError(f"prompt {prompt.id}: its instruction is {kind}, not {prompt.kind}.")
    # The labels follow the hypothesis (above), so an instruction that names it cannot contradict them.
    if told not in (None, prompt.hypothesis):
        raise InputError(f"prompt {prompt.id}: its instruction tells another task than its labels follow.")


def _pieces(prompt: Prompt) -> list[str]:
    """The text up to the first label, from it to the second, and so on, without the last label."""
    before = (prompt.instruction, *(example.label for example in prompt.examples))
    return [
        f"{said}\n{_EXAMPLE[prompt.format].format(sentence=example.sentence)}{_BLANK[prompt.format]}"
        for said, example in zip(before, prompt.examples, strict=False)
    ]


def prompt_record(prompt: Prompt) -> dict[str, Any]:
    """The prompt as a JSON object, with the keys of published files and our own (spec sections 15 and 16)."""
    return {
        "id": prompt.id,
        "setting": prompt.setting,
        "construction_type": prompt.pair,
        "salient_task": prompt.salient,
        "polarity": prompt.hypothesis.value,
        "format": prompt.format,
        "instruction_kind": prompt.kind,
        "instruction": prompt.instruction,
        "seed": prompt.seed,
        "fold": prompt.fold,
        "ft_variant": prompt.variant,
        "question": prompt.question,
        "examples": [
            {"sentence": one.sentence, "task_a": one.a, "task_b": one.b, "label": one.label}
            for one in prompt.examples
        ],
        "prompt": whole_text(prompt),
    }
