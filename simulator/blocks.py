"""The blocks that pages consist of, for every benchmark: what to show, not how.

``ui/templates/blocks`` has one template for each kind. `Benchmark.view` and `Benchmark.reveal` return blocks.
The texts of a block are an item's own texts, in the item's language, or texts in the reader's language: a
`Message` from the benchmark's ``texts.yaml``, or a `Translated` text.
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
        name: the name in ``texts.yaml``.
        fields: the values of its ``{fields}``; messages among them are shown in the same language.
    """

    name: str
    fields: Mapping[str, object] = field(default_factory=dict)


def message(name: str, **fields: object) -> Message:
    """Return the text called `name`, with values for its fields."""
    return Message(name, fields)


class Translated(NamedTuple):
    """A text of the data in each language of the pages."""

    en: str
    zh: str


Words = str | Message | Translated
Look = Literal["", "right", "wrong", "strong", "muted"]
"""The emphasis of a part of a block."""


class Heading(NamedTuple):
    """A heading."""

    text: Words


class Text(NamedTuple):
    """Paragraphs, separated by empty lines.

    Attributes:
        language: the language of the text; by default the item's.
    """

    text: Words
    look: Look = ""
    language: str = ""


class Points(NamedTuple):
    """Numbered points, each with a heading and a text."""

    points: Sequence[tuple[Words, Words]]


class Talk(NamedTuple):
    """The dialogue so far, as bubbles; at most one per page. A move without a seat describes an event."""

    moves: Sequence[Move]


class Cell(NamedTuple):
    """A cell with emphasis; a ``wrong`` cell highlights its row."""

    text: Words
    look: Look = ""


class Table(NamedTuple):
    """A table.

    Attributes:
        rows: texts, numbers, messages or cells.
        rest: the indices of columns that narrow screens leave out.
    """

    rows: Sequence[Sequence[object]]
    head: Sequence[Words] = ()
    rest: Sequence[int] = ()


class Tag(NamedTuple):
    """A coloured word; `right` says whether it is correct, None if that does not apply."""

    text: Words
    colour: Colour = ""
    right: bool | None = None


class Chips(NamedTuple):
    """Short texts next to each other, such as things or properties, with an optional search."""

    texts: Sequence[Words | Tag]
    search: bool = False


class Plan(NamedTuple):
    """Steps in order, and the index of the next one, from 0; those before it are done."""

    steps: Sequence[Words]
    due: int


class Quote(NamedTuple):
    """A sentence of the item.

    Attributes:
        name: the kind of sentence; empty for none.
        about: the beginning of the text that is not new.
    """

    name: Words
    text: str
    note: Words = ""
    tag: Tag | None = None
    about: str = ""


class Quotes(NamedTuple):
    """A list of sentences of the item."""

    quotes: Sequence[Quote]


class Answered(NamedTuple):
    """Earlier answers of the reader that can no longer be changed: pairs of question and answer."""

    rows: Sequence[tuple[Words, Words]]


class Facts(NamedTuple):
    """Names with values: each a text, or several short ones.

    Attributes:
        rows: pairs of name and value.
        language: the language of the values; by default the item's.
    """

    rows: Sequence[tuple[Words, Words | Sequence[Words | Tag]]]
    language: str = ""


class Meter(NamedTuple):
    """An amount, as a bar.

    Attributes:
        label: a name in ``texts.yaml``, or the text itself.
        value: the amount, from 0 to `most`.
    """

    label: str
    value: float
    most: float
    note: Words = ""


class Progress(NamedTuple):
    """The position of the current question in a series, at the head of a page.

    Attributes:
        number: the position, from 1.
        label: both as text, for screen readers.
    """

    number: int
    total: int
    label: Words


class Span(NamedTuple):
    """A part of a passage.

    Attributes:
        look: ``past`` for earlier text, ``new`` for added text, ``corrected`` for text that differs from what
            was said, ``due`` for the current question.
    """

    text: str
    look: Literal["", "past", "new", "corrected", "due"] = ""
    note: Words = ""


class Blank(NamedTuple):
    """The blank in a passage where the reply is typed, with its name."""

    label: Words


class Passage(NamedTuple):
    """A text exactly as models get it, in parts; a page with a blank is a form of one field."""

    parts: Sequence[Span | Blank]


class Revision(NamedTuple):
    """A revision of a text, with added and removed words.

    Attributes:
        label: the kind of text, as a chip; empty for none.
        pieces: the pieces of both texts (`simulator.word_diff`).
    """

    label: Words
    pieces: Sequence[Piece]


class Feedback(NamedTuple):
    """Feedback on the previous reply, next to where the next one is sent."""

    text: Words
    good: bool


class Figure(NamedTuple):
    """A number of a verdict: its name, value and note."""

    name: Words
    value: Words
    note: Words = ""
    look: Look = ""


class Verdict(NamedTuple):
    """The result of an episode, at the head of its last page.

    Attributes:
        good: True if nobody could have been expected to do better.
        kicker: the line above the heading; by default the benchmark's name.
    """

    heading: Words
    text: Words
    good: bool
    figures: Sequence[Figure] = ()
    kicker: Words = ""


class Card(NamedTuple):
    """Blocks under a heading; a folded card hides them until it is opened."""

    heading: Words
    blocks: Sequence[Block]
    folded: bool = False


class Detail(NamedTuple):
    """A small heading with content; `lead` highlights the main point of the page."""

    heading: Words
    content: Text | Chips
    lead: bool = False


class Example(NamedTuple):
    """An invented conversation as an example.

    Attributes:
        lines: pairs of seat and text.
    """

    heading: Words
    text: Words
    lines: Sequence[tuple[str, Words]]
    note: Words


class Check(NamedTuple):
    """A goal that was to be achieved."""

    passed: bool
    verdict: Words
    name: str
    text: str


class Checklist(NamedTuple):
    """The goals that were to be achieved."""

    checks: Sequence[Check]


class Walk(NamedTuple):
    """A turn-by-turn walk through an episode, on researchers' pages (`PageRequest.chosen`).

    Attributes:
        number: the number of the turn after which the state is shown.
    """

    number: int
    last: int


class Judge(NamedTuple):
    """A question about success, which readers answer before the blocks behind it are shown.

    The benchmark's ``texts.yaml`` has its texts under ``judge``: ``question``, ``hint``, ``yes``, ``no``,
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
