"""Prompts out of their text alone: format, pair, labels, and which hypotheses fit (spec section 4)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
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
from simulator.ambibench.sentences import Read, read_instruction, readings
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
        instruction: its first line.
        kind: what that tells.
        format: how examples are written.
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
    kind, told = _first_line(lines[0])
    question = lines.pop() if len(lines) > 1 and lines[-1] in _questions() else ""
    form = _format(lines)
    sentences, labels = _examples(lines, form)
    read = [_read(sentence, 2 * number) for number, sentence in enumerate(sentences, start=1)]
    pairs = tuple(pair for pair in PAIR_NAMES if all(pair in one for one in read))
    if not pairs:
        raise InputError("the sentences are not all of one pair of features")
    fitting = tuple(
        hypothesis for pair in pairs for hypothesis in hypotheses(pair) if _fits(hypothesis, read, labels)
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


def prompt_from_text(
    text: str, *, id: str, setting: Setting | None = None, task: Hypothesis | None = None, seed: int = 0
) -> Prompt:
    """Return the prompt that `text` is, whole.

    Args:
        text: with all labels.
        id: what to call it.
        setting: what it belongs to; None to tell from its form, see `likely_setting`.
        task: what it is about; None if the text tells.
        seed: what it was drawn from, if known.

    Raises:
        AmbiguousTextError: if it fits several hypotheses.
        InputError: if the text is no prompt, or is cut.
    """
    parsed = parse_text(text)
    if len(parsed.labels) < len(parsed.sentences):
        raise InputError("the last label is missing")
    if task is not None and task not in parsed.hypotheses:
        raise InputError(f"{spell(task)} does not fit the text")
    if task is None and len(parsed.hypotheses) > 1:
        raise AmbiguousTextError(parsed.hypotheses)
    task = task or parsed.hypotheses[0]
    examples = []
    for sentence, label in zip(parsed.sentences, parsed.labels, strict=True):
        read = next(reading for reading in readings(sentence) if reading.pair == task.pair)
        examples.append(Example(sentence, read.a, read.b, label))
    return Prompt(
        id=id,
        setting=setting or likely_setting(parsed.kind, examples, parsed.question),
        pair=task.pair,
        salient=task.feature,
        x_is=task.x_is,
        format=parsed.format,
        kind=parsed.kind,
        instruction=parsed.instruction,
        examples=tuple(examples),
        seed=seed,
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


def _first_line(line: str) -> tuple[Kind, Hypothesis | None]:
    try:
        return read_instruction(line)
    except InputError as error:
        raise TextError(1, str(error)) from error


def _questions() -> list[str]:
    return [text for spellings in table("instructions")["questions"].values() for text in spellings.values()]


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


def _read(sentence: str, line: int) -> dict[Pair, Read]:
    reads = {reading.pair: reading for reading in readings(sentence)}
    if not reads:
        raise TextError(line, f"{sentence!r} is outside the templates")
    return reads


def _fits(task: Hypothesis, read: Sequence[dict[Pair, Read]], labels: Sequence[Label]) -> bool:
    return all(label == said for label, said in zip(labels, _labels(task, read), strict=False))


def _labels(task: Hypothesis, read: Sequence[dict[Pair, Read]]) -> Iterator[Label]:
    return (task.label(one[task.pair].a, one[task.pair].b) for one in read)
