"""What is odd about a row of pairs that can be read all the same, rule by rule (spec 2.4, 2.5, 3)."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Final

from simulator.ambik.files.pairs import is_numbered
from simulator.ambik.files.versions import is_new, part_of
from simulator.ambik.pairs import Pair
from simulator.tables.cells import NO_BREAK, Record, parts

Oddity = tuple[str, str]
"""Its code, and a message that begins with the column."""
# By escapes: in print they cannot be told from Latin letters, which is the point.
_LOOK_ALIKE: Final = dict(
    zip(
        "\u0410\u0412\u0415\u0405\u0406\u0408\u041a\u041c\u041d\u041e\u0420\u0421\u0422\u0423\u0425"
        "\u04ae\u04c0\u050c\u051a\u051c\u0474\u042c"
        "\u0430\u0435\u043e\u0440\u0441\u0443\u0445\u043a\u0433\u0455\u0456\u0458\u04bb\u0501"
        "\u04af\u04cf\u051b\u051d\u0475"
        # Small ones that look like small capitals.
        "\u0432\u043c\u043d\u0442\u044c",
        "ABESIJKMHOPCTYXYIGQWVbaeopcyxkrsijhdylqwvBMHTb",
        strict=True,
    )
)
GROUPED: Final = ("step_equal", "plans_equal", "shortlist_missing")
"""Told once for all pairs of the kind that was added in 2025, not row by row."""
_PLANS: Final = ("plan_for_clear_task", "plan_for_amb_task")
_DIVIDED: Final[Mapping[str, str]] = {
    "environment_short": "\uff0c\u3001\uff1b",
    "amb_shortlist": "\uff0c\u3001\uff1b",
    "user_intent": "\uff0c\u3001\uff1b\uff5c\uff0d\u2212\u2013\u2014",
    "variants": "\uff0c\u3001\uff1b\uff5c\uff0d\u2212\u2013\u2014",
}
"""Columns with signs that divide or negate -> signs that are taken for these and are others."""
_SEVERAL_STEPS: Final = re.compile(r"(?<![0-9])[2-9][.)]\s+[^\W\d_]")
_CROWDED_COMMA: Final = re.compile(r",\S")


def row_oddities(pair: Pair, record: Record) -> Iterator[Oddity]:
    """Yield what is odd about a row alone, and not about all pairs of its kind (`GROUPED`)."""
    new = is_new(pair, record)
    yield from (oddity for oddity in all_oddities(pair, record) if not (new and oddity[0] in GROUPED))


def all_oddities(pair: Pair, record: Record) -> Iterator[Oddity]:
    """Yield all that is odd about a row."""
    for rule in (_cells, _letters, _lists, _shortlist, _intent, _variants, _step, _plans):
        yield from rule(pair, record)


def _cells(pair: Pair, record: Record) -> Iterator[Oddity]:
    for column in ("question", "answer", *_PLANS, "user_intent"):
        if column in record.cells and not record.text(column):
            yield "empty", f"{column}: is empty"


def _letters(pair: Pair, record: Record) -> Iterator[Oddity]:
    for column, text in record.cells.items():
        if text.isascii():
            continue
        spaces = sum(text.count(space) for space in NO_BREAK)
        if spaces:
            yield "no_break", f"{column}: {spaces} no-break space{'s' * (spaces > 1)}, read as blanks"
        signs = [sign for sign in dict.fromkeys(text) if sign in _DIVIDED.get(column, "")]
        if signs:
            yield (
                "full_width",
                f"{column}: {' '.join(signs)} divide or negate nothing; the signs that do are , | -",
            )
        letters = [letter for letter in dict.fromkeys(text) if letter in _LOOK_ALIKE]
        if letters:
            named = ", ".join(f"U+{ord(letter):04X} for {_LOOK_ALIKE[letter]}" for letter in letters)
            yield (
                "look_alike",
                f"{column}: Cyrillic letters that look Latin ({named}); nothing will match them",
            )


def _lists(pair: Pair, record: Record) -> Iterator[Oddity]:
    for column in ("environment_short", "amb_shortlist"):
        twice = [part for part, count in Counter(parts(record.text(column))).items() if count > 1]
        if twice:
            yield "repeated", f"{column}: {', '.join(twice)} twice"


def _shortlist(pair: Pair, record: Record) -> Iterator[Oddity]:
    text = record.text("amb_shortlist")
    preferences = pair.type == "preferences"
    if not pair.shortlist:
        if preferences:
            yield "shortlist_missing", "amb_shortlist: is empty in a row of preferences"
    elif not preferences:
        yield "shortlist_type", f"amb_shortlist: is filled in a row of {pair.type}"
    if len(pair.shortlist) == 1:
        yield "shortlist_single", f"amb_shortlist: holds {pair.shortlist[0]} alone"
    if text and not all(part.strip() for part in text.split(",")):
        yield "shortlist_comma", "amb_shortlist: has a comma with nothing before or after it"
    scene = {thing.casefold() for thing in pair.things}
    absent = [thing for thing in pair.shortlist if thing.casefold() not in scene]
    if absent:
        yield "shortlist_scene", f"amb_shortlist: {', '.join(absent)}: not in the scene"


def _intent(pair: Pair, record: Record) -> Iterator[Oddity]:
    if pair.intent is None:
        return
    if pair.intent.malformed:
        yield "intent_malformed", "user_intent: is a piece of text or says nothing; not measured"
        return
    for warning in pair.intent.warnings:
        yield "intent_form", f"user_intent: {warning}"
    if _CROWDED_COMMA.search(pair.intent.text):
        yield "intent_form", "user_intent: no blank after a comma"
    for concept in pair.intent.concepts:
        texts = Counter(alternative.text.casefold() for alternative in concept.alternatives)
        twice = [text for text, count in texts.items() if count > 1]
        if twice:
            yield "intent_form", f"user_intent: {', '.join(twice)}: the same alternative in two letter cases"


def _variants(pair: Pair, record: Record) -> Iterator[Oddity]:
    malformed = sum(variant.malformed for variant in pair.variants)
    if malformed:
        yield "variants_malformed", f"variants: {malformed} of {len(pair.variants)} lines are pieces of text"
    if not pair.variants and part_of(pair) == "calibration":
        yield "variants_missing", "variants: is empty in a calibration row"


def _step(pair: Pair, record: Record) -> Iterator[Oddity]:
    if pair.step is None:
        yield "step_missing", "end_of_ambiguity: is empty"
        return
    step, clear, ambiguous = pair.step, pair.clear_plan, pair.ambiguous_plan
    for column, plan in zip(_PLANS, (clear, ambiguous), strict=True):
        if plan and step >= len(plan):
            message = (
                f"end_of_ambiguity: is {step}, but {column} has {len(plan)} lines, the first of which is 0"
            )
            yield "step_outside", message
    if clear == ambiguous:
        if clear:
            yield "plans_equal", "plan_for_amb_task: is the same as plan_for_clear_task"
    elif clear and ambiguous:
        parting = first_difference(clear, ambiguous)
        if parting < step:
            yield "parts_before", f"end_of_ambiguity: is {step}, but the plans part at line {parting}"
        elif parting > step:
            yield "parts_after", f"end_of_ambiguity: is {step}, but the plans part at line {parting}"
    if step < min(len(clear), len(ambiguous)) and clear[step] == ambiguous[step]:
        yield "step_equal", f"end_of_ambiguity: line {step} of both plans is the same"


def _plans(pair: Pair, record: Record) -> Iterator[Oddity]:
    for column in _PLANS:
        lines = [line for line in record.text(column).split("\n") if line.strip()]
        notes = [line for line in lines if not is_numbered(line)]
        if notes and len(notes) < len(lines):
            yield "plan_notes", f"{column}: {len(notes)} of {len(lines)} lines have no number"
        if any(_SEVERAL_STEPS.search(line.strip(), 1) for line in lines):
            yield "plan_one_line", f"{column}: a line holds several numbered steps, which count as one"


def first_difference(clear: tuple[str, ...], ambiguous: tuple[str, ...]) -> int:
    """Index of the first line in which two plans differ; the length of the shorter if that is all of it."""
    pairs = zip(clear, ambiguous, strict=False)
    shorter = min(len(clear), len(ambiguous))
    return next((place for place, (line, other) in enumerate(pairs) if line != other), shorter)
