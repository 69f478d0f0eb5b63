"""The prompt of test 1: an instruction, four worked examples, the item (spec 6.2).

The instruction is a template, ``personas/ambient/generate_context`` or ``generate_claim``, whose English text
is that of the published prompts. The rest is fixed here, byte for byte as published, since continuations are
parsed by the same words.

Disambiguations are parsed from the part of a continuation before its first blank line (6.3).

==================  ====================================================================================
warning             meaning
==================  ====================================================================================
empty               the continuation is empty
no_list             it does not begin with ``1. `` (robust: no line begins with a number)
separator_repeated  ``2. `` or ``3. `` occurs twice; the text is split at the first (reference only)
no_verdict          an item contains no verdict
several_verdicts    an item contains several verdicts and counts for each label (reference only)
no_rewrite          an item is only a verdict (counts as an empty rewrite in reference, as none in robust)
label_repeated      two items have the same label; the last counts
==================  ====================================================================================
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final, Literal, get_args

from personas.templates import Rendered, render
from simulator.ambient.examples import Example, one_sided
from simulator.ambient.items import GenerateItem, InstructionText
from simulator.ambient.labels import SIDES, VERBALIZERS, Label, Side
from simulator.errors import InputError

Parser = Literal["reference", "robust"]
ParseWarning = Literal[
    "empty", "no_list", "separator_repeated", "no_verdict", "several_verdicts", "no_rewrite", "label_repeated"
]
PARSE_WARNINGS: Final[tuple[ParseWarning, ...]] = get_args(ParseWarning)
BLANK_LINE: Final = "\n\n"
_START: Final = "1. "
_SEPARATORS: Final = ("2. ", "3. ")
_NUMBER: Final = re.compile(r"^[ \t]*\d+[.)](?!\d)[ \t]*", re.MULTILINE)
_VERDICTS: Final[Mapping[Label, re.Pattern[str]]] = {
    label: re.compile(rf"\s*\b{re.escape(text.rstrip('.'))}\s*\.?\s*$".replace(r"\ ", r"\s+"), re.IGNORECASE)
    for label, text in VERBALIZERS.items()
}


@dataclass(frozen=True, slots=True)
class Parsed:
    """The contents of a continuation: rewrites by label, and distinct warnings."""

    rewrites: Mapping[Label, str]
    warnings: tuple[ParseWarning, ...] = ()


def cut(generation: str) -> str:
    """Return the text before the first blank line; some files contain uncut continuations."""
    return generation.partition(BLANK_LINE)[0]


def parse(generation: str, parser: Parser = "reference") -> Parsed:
    """Return the labelled rewrites of a continuation.

    `parser`: ``reference`` is the published program's rule, which gives the paper's numbers; ``robust``
    accepts any number of numbered lines that end with a verdict, in any case and with or without a full stop.
    """
    if parser == "robust":
        return _parse_robustly(generation)
    return _parse_by_reference(cut(generation).strip())


def _parse_by_reference(text: str) -> Parsed:
    if not text.startswith(_START):
        return Parsed({}, ("no_list",) if text else ("empty",))
    rest = text.removeprefix(_START).replace("\n", "")
    pieces: list[str] = []
    repeated = False
    for separator in _SEPARATORS:
        piece, split, after = rest.partition(separator)
        if not split:
            break
        repeated = repeated or separator in after
        pieces.append(piece)
        rest = after
    pieces = [piece.strip() for piece in (*pieces, rest)]
    return _parse_items(map(_labels_in, pieces), repeated=repeated, keep_empty=True)


def _labels_in(piece: str) -> list[tuple[Label, str]]:
    return [
        (label, piece.replace(verdict, "").strip())
        for label, verdict in VERBALIZERS.items()
        if verdict in piece
    ]


def _parse_robustly(generation: str) -> Parsed:
    text = cut(generation.replace("\r\n", "\n").strip())
    starts = list(_NUMBER.finditer(text))
    if not starts:
        return Parsed({}, ("no_list",) if text else ("empty",))
    ends = [*(start.start() for start in starts[1:]), len(text)]
    items = (" ".join(text[start.end() : end].split("\n")) for start, end in zip(starts, ends, strict=True))
    return _parse_items(list(_ending(item.strip())) for item in items)


def _ending(item: str) -> Iterator[tuple[Label, str]]:
    for label, pattern in _VERDICTS.items():
        match = pattern.search(item)
        if match:
            yield label, item[: match.start()].strip()


def _parse_items(
    items: Iterable[list[tuple[Label, str]]], *, repeated: bool = False, keep_empty: bool = False
) -> Parsed:
    rewrites: dict[Label, str] = {}
    warnings: set[ParseWarning] = {"separator_repeated"} if repeated else set()
    for verdicts in items:
        if len(verdicts) != 1:
            warnings.add("several_verdicts" if verdicts else "no_verdict")
        for label, rewrite in verdicts:
            if not rewrite:
                warnings.add("no_rewrite")
            if rewrite or keep_empty:
                if label in rewrites:
                    warnings.add("label_repeated")
                rewrites[label] = rewrite
    return Parsed(rewrites, tuple(code for code in PARSE_WARNINGS if code in warnings))


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

    The published prompts have a grammatical slip where the claim is ambiguous; ``corrected`` is the paper's
    wording. The rest of a prompt is English like the data, in every `language`.
    """
    published = render(f"ambient/generate_{_PARTS[side]}", language, {})
    if which == "published":
        return published
    return replace(published, text=published.text.replace(*_SLIP))


def bridge(side: Side) -> str:
    """Return the line that introduces the list of interpretations."""
    return f"We don't know, because the {_PARTS[side]} can be interpreted in many different ways:"


def question(example: Example, side: Side) -> str:
    """Return an example's context, claim and bridge, each on a line that ends with a line feed."""
    return _HEAD.format(premise=example.premise, hypothesis=example.hypothesis, bridge=bridge(side))


def worked_example(example: Example, side: Side) -> str:
    """Return an example with all its readings, in the order of the dataset."""
    readings = (
        f"{number}. {reading.sentence(side)} {VERBALIZERS[reading.label]}"
        for number, reading in enumerate(example.disambiguations, start=1)
    )
    return question(example, side) + "\n".join(readings)


def prompt(item: GenerateItem, *, language: str = "en") -> str:
    """Return the complete text to be continued, which ends after the bridge's line feed."""
    first = instruction(item.side, item.instruction, language=language).text
    worked = (worked_example(shot, item.side) for shot in item.shots)
    return "\n\n".join((first, *worked, question(item.example, item.side)))


@dataclass(frozen=True, slots=True)
class ReadPrompt:
    """The parts of a prompt: first paragraph, worked examples (without ids), the item (without readings)."""

    instruction: str
    side: Side
    shots: tuple[Example, ...]
    example: Example


def read_prompt(text: str) -> ReadPrompt:
    """Return the parts of a published prompt.

    Raises:
        InputError: if a paragraph is not as `prompt` writes it; names the paragraph.
    """
    first, *blocks = text.split("\n\n")
    if not blocks:
        raise InputError("the prompt has only one paragraph; worked examples and an item should follow")
    *shots, example = (_block(block, number) for number, block in enumerate(blocks, start=2))
    return ReadPrompt(first, example.sides[0], tuple(shots), example)


def _block(block: str, number: int) -> Example:
    match = _BLOCK.fullmatch(block)
    side = next((side for side in SIDES if match and match["bridge"] == bridge(side)), None)
    if match is None or side is None:
        raise InputError(f"paragraph {number} of the prompt is not an example")
    readings: list[tuple[Label, str]] = []
    for line in filter(None, match["readings"].split("\n")):
        reading = _READING.fullmatch(line)
        if reading is None or reading["verdict"] not in _LABELS:
            raise InputError(f"paragraph {number} of the prompt has a reading without a verdict")
        readings.append((_LABELS[reading["verdict"]], reading["rewrite"]))
    return one_sided("", match["premise"], match["hypothesis"], side, readings)
