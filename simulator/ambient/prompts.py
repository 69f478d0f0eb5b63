"""The prompt of test 1: an instruction, four worked examples, the item (spec 6.2).

The instruction is a template, ``personas/ambient/generate_context`` or ``generate_claim``; its English text
is that of the published prompts. Everything after it is fixed here, byte for byte as published, since what
a model writes is read by the same words.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from random import Random
from typing import Final

from personas.templates import Rendered, render
from simulator.ambient.examples import Disambiguation, Example
from simulator.ambient.items import GenerateItem, InstructionText
from simulator.ambient.labels import SIDES, VERBALIZERS, Label, Side
from simulator.errors import InputError
from simulator.seeds import derive_seed

SHOTS: Final = 4
_PARTS: Final[dict[Side, str]] = {"premise": "context", "hypothesis": "claim"}
_SLIP: Final = ("affects whether its correctness", "affects whether it is correct")
_QUESTION: Final = "Given the context alone, is this claim true, false, or inconclusive?"
_HEAD: Final = "Context: {premise}\nClaim: {hypothesis} " + _QUESTION + "\n{bridge}\n"
_BLOCK: Final = re.compile(
    rf"Context: (?P<premise>.*)\nClaim: (?P<hypothesis>.*) {re.escape(_QUESTION)}\n"
    r"(?P<bridge>.*)\n?(?P<readings>(?:\d+\. .*\n?)*)"
)
_READING: Final = re.compile(r"\d+\. (?P<rewrite>.*) (?P<verdict>Then the claim is \w+\.)")
_LABELS: Final[dict[str, Label]] = {text: label for label, text in VERBALIZERS.items()}


def instruction(side: Side, which: InstructionText = "published", *, language: str = "en") -> Rendered:
    """Return the first paragraph for an ambiguous side, with the version of its template.

    The published prompts have a slip of grammar where the claim is ambiguous; ``corrected`` is as the paper
    prints it. The rest of a prompt is English like the data, whatever the language.

    Raises:
        TemplateError: if the template is missing or malformed.
    """
    published = render(f"ambient/generate_{_PARTS[side]}", language, {})
    if which == "published":
        return published
    return replace(published, text=published.text.replace(*_SLIP))


def bridge(side: Side) -> str:
    """Return the line after which the interpretations are listed."""
    return f"We don't know, because the {_PARTS[side]} can be interpreted in many different ways:"


def question(example: Example, side: Side) -> str:
    """Return an example's context, claim and bridge, each on a line, with a line feed after the last."""
    return _HEAD.format(premise=example.premise, hypothesis=example.hypothesis, bridge=bridge(side))


def worked_example(example: Example, side: Side) -> str:
    """Return an example with all its readings, in the order of the dataset."""
    readings = (
        f"{number}. {reading.sentence(side)} {VERBALIZERS[reading.label]}"
        for number, reading in enumerate(example.disambiguations, start=1)
    )
    return question(example, side) + "\n".join(readings)


def prompt(item: GenerateItem, *, language: str = "en") -> str:
    """Return the whole text to be continued. It ends after the bridge's line feed, before any ``1.``.

    Raises:
        TemplateError: if the template of the instruction is missing or malformed.
    """
    first = instruction(item.side, item.instruction, language=language).text
    worked = (worked_example(shot, item.side) for shot in item.shots)
    return "\n\n".join((first, *worked, question(item.example, item.side)))


def generate_items(
    examples: Iterable[Example],
    *,
    seed: int,
    shots: int = SHOTS,
    instruction: InstructionText = "published",
) -> tuple[GenerateItem, ...]:
    """Return an item for every example of which exactly one side is ambiguous.

    The worked examples of each are drawn anew, without replacement, from the *other* examples given that are
    ambiguous on the same side alone; the draw depends on `seed` and the example's id only.

    Raises:
        InputError: if there are fewer others than `shots`.
    """
    chosen = tuple(example for example in examples if example.xor)
    pools = {side: [example for example in chosen if example.flagged(side)] for side in SIDES}

    def item(example: Example) -> GenerateItem:
        side = example.sides[0]
        others = [other for other in pools[side] if other.id != example.id]
        if len(others) < shots:
            raise InputError(
                f"{example.id}: {shots} worked examples are wanted, and {len(others)} other examples are "
                f"ambiguous in the {side} alone; give more examples, or ask for fewer worked ones"
            )
        drawn = tuple(Random(derive_seed(seed, example.id)).sample(others, shots))
        return GenerateItem(id=example.id, example=example, side=side, shots=drawn, instruction=instruction)

    return tuple(map(item, chosen))


@dataclass(frozen=True, slots=True)
class ReadPrompt:
    """What a prompt's text says.

    Attributes:
        instruction: its first paragraph.
        side: the ambiguous one.
        shots: the worked examples, with empty ids.
        example: the item, without readings.
    """

    instruction: str
    side: Side
    shots: tuple[Example, ...]
    example: Example


def read_prompt(text: str) -> ReadPrompt:
    """Return the parts of a published prompt.

    Raises:
        InputError: names the paragraph that is not as `prompt` writes it.
    """
    first, *blocks = text.split("\n\n")
    if not blocks:
        raise InputError("the prompt has one paragraph; worked examples and an item should follow it")
    *shots, example = (_block(block, number) for number, block in enumerate(blocks, start=2))
    return ReadPrompt(first, example.sides[0], tuple(shots), example)


def _block(block: str, number: int) -> Example:
    match = _BLOCK.fullmatch(block)
    side = next((side for side in SIDES if match and match["bridge"] == bridge(side)), None)
    if match is None or side is None:
        raise InputError(f"paragraph {number} of the prompt is no example")
    texts = {"premise": match["premise"], "hypothesis": match["hypothesis"]}
    readings = []
    for line in filter(None, match["readings"].split("\n")):
        reading = _READING.fullmatch(line)
        if reading is None or reading["verdict"] not in _LABELS:
            raise InputError(f"paragraph {number} of the prompt has a reading without a verdict")
        rewritten = {**texts, side: reading["rewrite"]}
        readings.append(Disambiguation(**rewritten, label=_LABELS[reading["verdict"]]))
    return Example(
        id="",
        premise=texts["premise"],
        hypothesis=texts["hypothesis"],
        premise_ambiguous=side == "premise",
        hypothesis_ambiguous=side == "hypothesis",
        labels=frozenset(reading.label for reading in readings),
        disambiguations=tuple(readings),
    )
