"""Prompts out of their text alone: format, pair, labels, and which hypotheses fit (spec section 4)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Final, cast

from simulator.ambibench.features import (
    PAIR_NAMES,
    Format,
    Hypothesis,
    Kind,
    Label,
    Pair,
    Setting,
    hypotheses,
    table,
)
from simulator.ambibench.prompt import Example, Prompt
from simulator.ambibench.sentences import read_instruction, read_sentence, readings
from simulator.errors import InputError

# A sentence's line and its label's line; a missing label is a cut (spec section 4).
_LINES: Final[dict[Format, tuple[str, str]]] = {
    "arrow": (r"(?P<sentence>[^>].*)", r">(?P<label>[XY]?)"),
    "qa": (r"Q: (?P<sentence>.+)", r"A:(?: (?P<label>[XY]))?"),
}
GROUPED: Final = 3  # examples of a prompt of the setting "instruction"


class TextError(InputError):
    """A line of a prompt's text is not what it must be.

    Attributes:
        line: in the text, from 1.
        problem: what is wrong with it.
    """

    def __init__(self, line: int, problem: str) -> None:
        super().__init__(f"line {line} of the text: {problem}")
        self.line, self.problem = line, problem


class AmbiguousTextError(InputError):
    """Several hypotheses fit the text of a prompt.

    Attributes:
        hypotheses: all that do.
    """

    def __init__(self, fitting: Sequence[Hypothesis]) -> None:
        super().__init__(f"the text does not tell what it is about: {', or '.join(map(spell, fitting))}")
        self.hypotheses = tuple(fitting)


@dataclass(frozen=True, slots=True)
class ParsedPrompt:
    """What the text of a prompt says.

    Attributes:
        instruction: its first line; `kind` is what that tells.
        sentences: in order.
        labels: of the sentences; one fewer than those if the text is cut before the last label.
        pairs: those whose templates fit all sentences; a person in a place fits two of them.
        question: what is asked after the examples; empty if nothing.
        hypotheses: those that agree with the labels and with the instruction.
    """

    instruction: str
    kind: Kind
    format: Format
    sentences: tuple[str, ...]
    labels: tuple[Label, ...]
    pairs: tuple[Pair, ...]
    question: str
    hypotheses: tuple[Hypothesis, ...]


def parse_text(text: str) -> ParsedPrompt:
    """Read the text of a prompt, whole or cut before its last label, with or without a question.

    Raises:
        TextError: if a line is not what it must be.
        InputError: if the lines do not go together.
    """
    lines = text.split("\n")
    try:
        kind, told = read_instruction(lines[0])
    except InputError as error:
        raise TextError(1, str(error)) from error
    questions = (spellings.values() for spellings in table("instructions")["questions"].values())
    question = lines.pop() if len(lines) > 1 and lines[-1] in chain.from_iterable(questions) else ""
    form = _format(lines)
    sentences, labels = _examples(lines, form)
    reads = [{read.pair: read for read in readings(sentence)} for sentence in sentences]
    for number, (sentence, read) in enumerate(zip(sentences, reads, strict=True), start=1):
        if not read:
            raise TextError(2 * number, f"{sentence!r} is outside the templates")
    pairs = tuple(pair for pair in PAIR_NAMES if all(pair in read for read in reads))
    if not pairs:
        raise InputError("the sentences are not all of one pair of features")
    fitting = tuple(
        task
        for pair in pairs
        for task in hypotheses(pair)
        if all(
            task.label(read[pair].a, read[pair].b) == label
            for read, label in zip(reads, labels, strict=False)
        )
    )
    if told is not None:
        if told not in fitting:
            raise TextError(1, "the instruction contradicts the labels")
        fitting = (told,)
    if not fitting:
        raise InputError(f"the labels follow no feature of {' or '.join(pairs)}")
    return ParsedPrompt(
        lines[0], kind, form, tuple(sentences), tuple(labels), pairs, question, hypotheses=fitting
    )


def prompt_from_text(text: str, *, id: str, setting: Setting | None = None) -> Prompt:
    """Return the prompt that `text` is, whole; what it was drawn from is not known.

    Args:
        text: with all labels.
        id: what to call it.
        setting: what it belongs to; None to tell from its form, see `likely_setting`.

    Raises:
        AmbiguousTextError: if it fits several hypotheses.
        InputError: if the text is no prompt, or is cut.
    """
    parsed = parse_text(text)
    if len(parsed.labels) < len(parsed.sentences):
        raise InputError("the last label is missing")
    if len(parsed.hypotheses) > 1:
        raise AmbiguousTextError(parsed.hypotheses)
    (task,) = parsed.hypotheses
    reads = [read_sentence(sentence, task.pair) for sentence in parsed.sentences]
    examples = tuple(
        Example(sentence, read.a, read.b, label)
        for sentence, read, label in zip(parsed.sentences, reads, parsed.labels, strict=True)
    )
    return Prompt(
        id=id,
        setting=setting or likely_setting(parsed.kind, examples, parsed.question),
        pair=task.pair,
        salient=task.feature,
        x_is=task.x_is,
        format=parsed.format,
        kind=parsed.kind,
        instruction=parsed.instruction,
        examples=examples,
        question=parsed.question,
    )


def likely_setting(kind: Kind, examples: Sequence[Example], question: str = "") -> Setting:
    """Return the setting that a prompt which does not say it is of, by its form."""
    if question:
        return "verbalise"
    if is_grouped([(example.a, example.b) for example in examples]):
        return "instruction"
    return "wug" if kind == "wug" else "multiple"


def is_grouped(combinations: Sequence[tuple[bool, bool]]) -> bool:
    """Return True if they are two opposite groups and a query that breaks the grouping (spec section 5.1)."""
    if len(combinations) != GROUPED:
        return False
    (a, b), (c, d), (e, f) = combinations
    return a == b and c == d and a != c and e != f


def spell(task: Hypothesis) -> str:
    """Return a hypothesis in words."""
    return f"{task.feature} ({task.value} is X)"


def _format(lines: Sequence[str]) -> Format:
    if len(lines) < 3:
        raise TextError(len(lines), "an example is a line with a sentence and one for its label")
    return "qa" if lines[1].startswith("Q: ") or lines[2].startswith("A:") else "arrow"


def _examples(lines: Sequence[str], form: Format) -> tuple[list[str], list[Label]]:
    sentences: list[str] = []
    labels: list[Label] = []
    for number, line in enumerate(lines[1:], start=2):
        name = "sentence" if number % 2 == 0 else "label"
        match = re.fullmatch(_LINES[form][number % 2], line)
        if match is None or (name == "label" and match[name] in ("", None) and number < len(lines)):
            raise TextError(number, f"{line!r} is no {name} in the format {form}")
        if name == "sentence":
            sentences.append(match[name])
        elif match[name]:
            labels.append(cast(Label, match[name]))
    if len(lines) % 2 == 0:
        raise TextError(len(lines), "there is no line for the label after it")
    return sentences, labels
