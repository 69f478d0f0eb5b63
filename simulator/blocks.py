"""The blocks of which pages are made, whatever the benchmark: what to show, not how.

``ui/templates/blocks`` has one template for each kind. A benchmark's `Benchmark.view` and `Benchmark.reveal`
return them. Words of a block are those of an item as they are, in the item's language, or a `Message`: a text
of the benchmark's ``texts.yaml``, or a `Translated` one, in the language that its reader has chosen.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from simulator.benchmark import Move
from simulator.drawn_blocks import Amounts, Bars, Tree, TreeReplay
from simulator.form_blocks import Colour, Difference, Entries, Field, Findings, Form, Part, Ways
from simulator.plan_blocks import Caller, Menu, Places, Story, Suggestions
from simulator.word_diff import Piece


@dataclass(frozen=True, slots=True)
class Message:
    """A text of a benchmark's pages.

    Attributes:
        name: in ``texts.yaml``.
        fields: what stands in its ``{fields}``; messages among them are shown in the same language.
    """

    name: str
    fields: Mapping[str, object] = field(default_factory=dict)


def message(name: str, **fields: object) -> Message:
    """Return the text called `name` with such fields."""
    return Message(name, fields)


class Translated(NamedTuple):
    """A text of the data in each language of the pages."""

    en: str
    zh: str


Words = str | Message | Translated
Look = Literal["", "right", "wrong", "strong", "muted"]
"""The way in which a part of a block is set off from the others, beside what it says."""


class Heading(NamedTuple):
    """A heading."""

    text: Words


class Text(NamedTuple):
    """Paragraphs, with an empty line between them.

    Attributes:
        text: of them.
        look: of them all.
        language: of the text; by default the item's.
    """

    text: Words
    look: Look = ""
    language: str = ""


class Points(NamedTuple):
    """Numbered points, each with a heading and what it says."""

    points: Sequence[tuple[Words, Words]]


class Talk(NamedTuple):
    """The dialogue so far, as bubbles; at most one of a page. A move of no seat tells what happened."""

    moves: Sequence[Move]


class Cell(NamedTuple):
    """A cell that is set off; one that is ``wrong`` sets off its row."""

    text: Words
    look: Look = ""


class Table(NamedTuple):
    """Rows of cells, and the names of the columns.

    Attributes:
        rows: texts, numbers, messages or cells.
        head: the names of the columns.
        rest: the columns that a narrow screen leaves out, by their places.
    """

    rows: Sequence[Sequence[object]]
    head: Sequence[Words] = ()
    rest: Sequence[int] = ()


class Tag(NamedTuple):
    """A word in a colour; `right` says whether it is what it should be, if anything should."""

    text: Words
    colour: Colour = ""
    right: bool | None = None


class Chips(NamedTuple):
    """Short texts beside each other: things, properties; among many, one can be looked for."""

    texts: Sequence[Words | Tag]
    search: bool = False


class Plan(NamedTuple):
    """Steps in their order, and the place of the one that is due, from 0; those before it are done."""

    steps: Sequence[Words]
    due: int


class Quote(NamedTuple):
    """A sentence of the item.

    Attributes:
        name: of what it is; empty for none.
        text: it.
        note: more about what it is.
        tag: beside it.
        about: the part of the text with which it begins that is not new.
    """

    name: Words
    text: str
    note: Words = ""
    tag: Tag | None = None
    about: str = ""


class Quotes(NamedTuple):
    """Sentences of the item, below each other."""

    quotes: Sequence[Quote]


class Answered(NamedTuple):
    """Answers that a reader gave before and cannot change any more: the question, and the answer."""

    rows: Sequence[tuple[Words, Words]]


class Facts(NamedTuple):
    """Names, each with what is so called: a text, or several short ones.

    Attributes:
        rows: of names and texts.
        language: of the texts; by default the item's.
    """

    rows: Sequence[tuple[Words, Words | Sequence[Words | Tag]]]
    language: str = ""


class Meter(NamedTuple):
    """An amount, as a bar.

    Attributes:
        label: a name in ``texts.yaml``, or the words themselves.
        value: from 0 to `most`.
        most: there can be.
        note: beside it.
    """

    label: str
    value: float
    most: float
    note: Words = ""


class Progress(NamedTuple):
    """The place of what is asked now in a row of such things; stands at the head of a page.

    Attributes:
        number: its place, from 1.
        total: how many there are.
        label: both in words, for screen readers.
    """

    number: int
    total: int
    label: Words


class Span(NamedTuple):
    """A part of a passage.

    Attributes:
        text: as it is, line breaks and all.
        look: ``past`` for what was there before, ``new`` for what has been added, ``corrected`` if it is
            not what was said, ``due`` for what is asked about.
        note: beside what was corrected.
    """

    text: str
    look: Literal["", "past", "new", "corrected", "due"] = ""
    note: Words = ""


class Blank(NamedTuple):
    """The place in a passage where the reply that is due is typed; its name."""

    label: Words


class Passage(NamedTuple):
    """A text exactly as a model gets it, in parts; a page with a blank in it is a form of one field."""

    parts: Sequence[Span | Blank]


class Revision(NamedTuple):
    """A text made of another, with the words that it adds and those that it leaves out.

    Attributes:
        label: what it is, as a chip; empty for none.
        pieces: of both texts (`simulator.word_diff`).
    """

    label: Words
    pieces: Sequence[Piece]


class Feedback(NamedTuple):
    """The result of what was said before; stands where the next reply is sent."""

    text: Words
    good: bool


class Figure(NamedTuple):
    """A number of a verdict: its name, its value and what to know about it."""

    name: Words
    value: Words
    note: Words = ""
    look: Look = ""


class Verdict(NamedTuple):
    """The result of an episode, at the head of its last page.

    Attributes:
        heading: it in a few words.
        text: it in a sentence.
        good: True if nobody could have been expected to do better.
        figures: its numbers.
        kicker: what stands above the heading; by default the benchmark's name.
    """

    heading: Words
    text: Words
    good: bool
    figures: Sequence[Figure] = ()
    kicker: Words = ""


class Card(NamedTuple):
    """Blocks under a heading; those of a folded one are seen when it is opened."""

    heading: Words
    blocks: Sequence[Block]
    folded: bool = False


class Detail(NamedTuple):
    """A small heading and what stands under it; `lead` sets off what everything else is about."""

    heading: Words
    content: Text | Chips
    lead: bool = False


class Example(NamedTuple):
    """A made-up conversation, and what it shows.

    Attributes:
        heading: its name.
        text: what it is about.
        lines: seats and what they say.
        note: what it shows.
    """

    heading: Words
    text: Words
    lines: Sequence[tuple[str, Words]]
    note: Words


class Check(NamedTuple):
    """Something that was to be achieved.

    Attributes:
        passed: True if it was.
        verdict: that in words.
        name: of it.
        text: it.
    """

    passed: bool
    verdict: Words
    name: str
    text: str


class Checklist(NamedTuple):
    """The things that were to be achieved."""

    checks: Sequence[Check]


class Walk(NamedTuple):
    """The way through an episode turn by turn, on researchers' pages (`simulator.research.Look.chosen`).

    Attributes:
        number: of the turn after which everything is shown.
        last: of the last turn.
    """

    number: int
    last: int


class Judge(NamedTuple):
    """A question of success; its reader answers it before the blocks behind it are shown.

    The benchmark's ``texts.yaml`` has its words under ``judge``: ``question``, ``hint``, ``yes``, ``no``,
    ``noted_yes``, ``noted_no``.
    """

    blocks: Sequence[Block]


Block = (
    Heading
    | Text
    | Points
    | Talk
    | Table
    | Chips
    | Quotes
    | Answered
    | Plan
    | Facts
    | Meter
    | Progress
    | Passage
    | Revision
    | Feedback
    | Verdict
    | Card
    | Detail
    | Example
    | Checklist
    | Tree
    | TreeReplay
    | Walk
    | Judge
    | Bars
    | Amounts
    | Places
    | Caller
    | Story
    | Menu
    | Suggestions
    | Field
    | Difference
    | Entries
    | Part
    | Ways
    | Findings
    | Form
)
"""A part of a page."""
