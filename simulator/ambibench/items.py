"""Items as JSON objects and as rows of the log, both complete (spec sections 15 and 16).

A prompt can also be parsed from its text alone: format, pair, labels and hypothesis (spec section 4).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any, Final, cast

from simulator.ambibench.aws import AwsPrompt
from simulator.ambibench.features import (
    PAIR_NAMES,
    Format,
    Hypothesis,
    Kind,
    Label,
    Setting,
    read_instruction,
    readings,
    table,
)
from simulator.ambibench.prompt import (
    Example,
    Item,
    Labelled,
    Prompt,
    completion,
    consistent,
    shown_text,
    whole_text,
)
from simulator.errors import InputError
from simulator.jsonlines import Codec, ItemCodec

# The line of a sentence and that of its label; the last label may be missing, as in prompts sent to models.
_LINES: Final[dict[Format, tuple[str, str]]] = {
    "arrow": (r"(?P<sentence>[^>].*)", r">(?P<label>[XY]?)"),
    "qa": (r"Q: (?P<sentence>.+)", r"A:(?: (?P<label>[XY]))?"),
}
GROUPED: Final = 3  # examples of a prompt of the setting "instruction"


class TextError(InputError):
    """An error in a line of a prompt's text, counted from 1."""

    def __init__(self, line: int, problem: str) -> None:
        super().__init__(f"line {line} of the text: {problem}")
        self.line, self.problem = line, problem


class AmbiguousTextError(InputError):
    """An error because several hypotheses fit the text of a prompt."""

    def __init__(self, fitting: Sequence[Hypothesis]) -> None:
        tasks = (f"{task.feature} ({task.value} is X)" for task in fitting)
        super().__init__(f"several tasks fit the text: {', or '.join(tasks)}")
        self.hypotheses = tuple(fitting)


def prompt_from_text(text: str, *, id: str, setting: Setting | None = None) -> Prompt:
    """Return the prompt with this complete text, which may end with a question; its seed is set to 0.

    `setting`: the prompt's setting; None to guess it from the form (`likely_setting`).

    Raises:
        TextError: if a line is wrong.
        AmbiguousTextError: if several hypotheses fit.
        InputError: if the lines contradict each other, or the last label is missing.
    """
    lines = text.split("\n")
    try:
        kind, hypothesis = read_instruction(lines[0])
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
    # A sentence about a person in a place fits two pairs.
    pairs = tuple(pair for pair in PAIR_NAMES if all(pair in read for read in reads))
    if not pairs:
        raise InputError("the sentences do not all belong to the same pair of features")
    examples = {
        pair: tuple(
            Example(sentence, read[pair].a, read[pair].b, label)
            for sentence, read, label in zip(sentences, reads, labels, strict=True)
        )
        for pair in pairs
    }
    fitting = [task for pair in pairs for task in consistent(pair, examples[pair])]
    if hypothesis is not None and hypothesis not in fitting:
        raise TextError(1, "the instruction contradicts the labels")
    if not fitting:
        raise InputError(f"the labels follow neither feature of {' or '.join(pairs)}")
    if hypothesis is None and len(fitting) > 1:
        raise AmbiguousTextError(fitting)
    task = hypothesis or fitting[0]
    return Prompt(
        id=id,
        setting=setting or likely_setting(kind, examples[task.pair], question),
        pair=task.pair,
        salient=task.feature,
        x_is=task.x_is,
        format=form,
        kind=kind,
        instruction=lines[0],
        examples=examples[task.pair],
        question=question,
    )


def likely_setting(kind: Kind, examples: Sequence[Example], question: str = "") -> Setting:
    """Return the most likely setting of a prompt, judged by its form."""
    if question:
        return "verbalise"
    if is_grouped([(example.a, example.b) for example in examples]):
        return "instruction"
    return "wug" if kind == "wug" else "multiple"


def is_grouped(combinations: Sequence[tuple[bool, bool]]) -> bool:
    """Return True for one example of each of two opposite groups and a query that breaks them (spec 5.1)."""
    if len(combinations) != GROUPED:
        return False
    (a, b), (c, d), (e, f) = combinations
    return a == b and c == d and a != c and e != f


def _format(lines: Sequence[str]) -> Format:
    if len(lines) < 3:
        raise TextError(len(lines), "an example needs a line for the sentence and one for its label")
    return "qa" if lines[1].startswith("Q: ") or lines[2].startswith("A:") else "arrow"


def _examples(lines: Sequence[str], form: Format) -> tuple[list[str], list[Label]]:
    sentences: list[str] = []
    labels: list[Label] = []
    for number, line in enumerate(lines[1:], start=2):
        name = "sentence" if number % 2 == 0 else "label"
        match = re.fullmatch(_LINES[form][number % 2], line)
        if match is None or (name == "label" and match[name] in ("", None) and number < len(lines)):
            raise TextError(number, f"{line!r} is not a {name} in the format {form}")
        if name == "sentence":
            sentences.append(match[name])
        elif match[name]:
            labels.append(cast(Label, match[name]))
    if len(lines) % 2 == 0:
        raise TextError(len(lines), "the line for its label is missing")
    if len(labels) < len(sentences):
        raise InputError("the last label is missing")
    return sentences, labels


BENCHMARK: Final = "ambibench"


class _Items(ItemCodec[Item]):
    """Codec of our items and of published prompts, which lack id, setting, seed and polarity."""

    def read(self, record: Any, place: str) -> Item:
        """Return the item of a JSON object.

        Raises:
            InputError: with the field that is missing or wrong, or disagrees with the examples.
        """
        if record.get("setting") == "aws":
            item: Item = _BUCKETS.read(record, place)
        else:
            item = _PROMPTS.read({**_infer_fields(record, place), **record}, place)
        for field, text in _texts(item).items():
            if field in record and record[field] != text:
                raise InputError(f"{place}: {field} contradicts the other fields")
        return item


ITEMS: Final = _Items(Item, BENCHMARK)
_BUCKETS: Final = Codec[AwsPrompt](AwsPrompt)
_PROMPTS: Final = Codec[Prompt](Prompt)
_LABELLED: Final = Codec[Labelled](Labelled)
item_record, read_item, item_row, item_from_row = ITEMS.write, ITEMS.read, ITEMS.row, ITEMS.read_item


def _infer_fields(record: Mapping[str, Any], place: str) -> dict[str, Any]:
    """Return the fields that published prompts lack, inferred from instruction and labels."""
    prompt = _LABELLED.read(record, place)
    try:
        kind, _ = read_instruction(prompt.instruction)
    except InputError as error:
        raise InputError(f"{place}: instruction: {error}") from error
    setting = likely_setting(record.get("instruction_kind", kind), prompt.examples)
    fields: dict[str, Any] = {
        "id": place,
        "instruction_kind": kind,
        "setting": "ft_train" if "finetune_prompt" in record else setting,
    }
    if "polarity" not in record:
        hypotheses = consistent(prompt.pair, prompt.examples)
        fitting = [hypothesis for hypothesis in hypotheses if hypothesis.feature == prompt.salient]
        if not fitting:
            raise InputError(f"{place}: salient_task: the labels do not follow {prompt.salient}")
        fields["polarity"] = fitting[0].value
    return fields


def _texts(item: Item) -> dict[str, Any]:
    """Return the optional fields of a record that follow from its other fields."""
    if isinstance(item, AwsPrompt):
        return {"prompt": item.text}
    last = len(item.examples)
    return {
        "prompt": whole_text(item),
        "finetune_prompt": shown_text(item, last),
        "finetune_completion": completion(item, last),
        "n_examples": last,
    }
