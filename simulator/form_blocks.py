"""Blocks that are filled in, and what belongs to a form."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

if TYPE_CHECKING:
    from simulator.blocks import Block, Message, Words

Colour = Literal["", "green", "gold", "clay"]
"""A colour that sets off a choice, or a word, from the others."""


class When(NamedTuple):
    """A condition on another field of the same form, which stands before what it is a condition of.

    Attributes:
        field: its name.
        values: any of these has to be chosen; empty: anything may stand there.
        unless: True if it must not hold.
        least: so many choices have to be ticked, if any will do.
    """

    field: str
    values: Sequence[str] = ()
    unless: bool = False
    least: int = 1


class Choice(NamedTuple):
    """A choice of a field.

    Attributes:
        value: what is sent.
        label: by default the text ``field.FIELD.VALUE``, or the value.
        text: more about it, of the item.
        colour: sets it off from the others.
        note: more about it, of the page.
    """

    value: str
    label: Words = ""
    text: Words = ""
    colour: Colour = ""
    note: Words = ""


FieldKind = Literal[
    "line",
    "text",
    "lines",
    "listed",
    "number",
    "place",
    "switch",
    "flag",
    "menu",
    "choice",
    "choices",
    "entry",
]
"""The kinds: a text of one line or of more, a list by lines or by commas, a number, a place in a list (from 1
on pages, from 0 elsewhere), a truth value that is false until it is ticked, one that has to be said (of the
choices ``true`` and ``false``), one choice in a menu, one in sight, any number of choices, one entry of a
list in another field (`Field.picks`) or words of one's own."""


class Field(NamedTuple):
    """A field of a form; its name is the text ``field.NAME``, what to know about it ``field.NAME.note``.

    A name may be a path: the values of ``marks[0]`` and ``marks[1]`` are sent as a list, those of
    ``rows[0].name`` as a list of mappings; texts are then found by the last part alone.

    Several fields may have the same name if only one of them is shown at a time; `among` tells them apart.

    Attributes:
        name: under which its value is sent.
        kind: how it is filled in.
        value: with which it begins.
        choices: of a choice.
        least: of a number.
        most: of a number; of a text, its letters.
        label: its name where ``texts.yaml`` has none.
        when: when it is shown; by default always.
        among: its own name among fields that are sent under one.
        own_words: True if it is written in the language of the page, not the item's.
        rows: of a field for texts.
        marks: the field with a list whose entries, and `words`, are marked in the text below this one.
        words: see `marks`.
        picks: the field with a list of which entries can be put here by a click; of an entry, the list.
        keys: of the keyboard, one for each choice; choices beyond them have none.
        required: True if nothing is sent before it is filled in.
        quiet: True if its name is for screen readers alone.
        note: what to know about it where that is not ``field.NAME.note``.
    """

    name: str
    kind: FieldKind
    value: Any = None
    choices: Sequence[Choice] = ()
    least: float | None = None
    most: float | None = None
    label: Words = ""
    when: When | None = None
    among: str = ""
    own_words: bool = False
    rows: int = 2
    marks: str = ""
    words: Sequence[str] = ()
    picks: str = ""
    keys: str = ""
    required: bool = False
    quiet: bool = False
    note: Words = ""


class Difference(NamedTuple):
    """The words in which two fields of a form, or a field and a text, differ, while it is filled in.

    Attributes:
        before: the one field; empty if `text` is what the other is compared with.
        after: the other one.
        line: the field with the place of the line of both that is compared; empty for the whole texts.
        heading: above it.
        text: see `before`.
    """

    before: str
    after: str
    heading: Words
    line: str = ""
    text: str = ""


class Entries(NamedTuple):
    """Places for entries of a list, each with the same fields; who fills them in says how many there are.

    What stands in a place that is taken away comes back with it.

    Attributes:
        name: of the list; its words are the texts ``field.NAME``, ``.note``, ``.one``, ``.add``, ``.drop``.
        places: the blocks of each place; the names of their fields begin with ``NAME[PLACE].``.
        kind: the menu in a place that says of what kind its entry is.
        follows: a field of choices that are these kinds: for each that is ticked there is an entry.
    """

    name: str
    places: Sequence[Sequence[Block]]
    kind: str
    follows: str


class Part(NamedTuple):
    """A part of a form or a page under a heading of its own.

    Attributes:
        heading: of the part; empty for none.
        blocks: in it.
        number: of the step that it is; 0 for none.
        rule: what to do there.
        when: when it is shown; by default always.
        folded: True if it is seen when it is opened.
        beside: True if a wide screen shows the blocks beside each other.
    """

    heading: Words
    blocks: Sequence[Block]
    number: int = 0
    rule: Words = ""
    when: When | None = None
    folded: bool = False
    beside: bool = False


class Way(NamedTuple):
    """A way in which a form can be sent, with a button of its own; its words are those of ``way.NAME``.

    Attributes:
        name: of the field without which it cannot be sent (``field.NAME.missing`` says so), and of the way.
        blocks: in it.
        key: that leads there.
        colour: sets it off from the others.
    """

    name: str
    blocks: Sequence[Block]
    key: str = ""
    colour: Literal["green", "clay"] = "green"


class Ways(NamedTuple):
    """The ways in which a form can be sent; with each go the fields of those before it that are filled in."""

    ways: Sequence[Way]


@dataclass(frozen=True, slots=True)
class FieldProblem:
    """Something that is, or may be, wrong with a form.

    Attributes:
        field: of the form, that it is about.
        code: names the rule; pages have words for the usual ones.
        text: in words; a text of the benchmark's pages where pages show it.
        level: with an ``error`` the form cannot be sent; a ``warning`` is told once.
    """

    field: str
    code: str
    text: str | Message
    level: Literal["error", "warning"] = "error"

    def __str__(self) -> str:
        return f"{self.field} {self.text}"


class Checked(NamedTuple):
    """The result of a check of a form: what is wrong with it, and what to show beside it."""

    problems: Sequence[FieldProblem] = ()
    blocks: Sequence[Block] = ()


class Findings(NamedTuple):
    """The place where a form shows the blocks of its check."""


class Form(NamedTuple):
    """Fields that somebody fills in, among other blocks; what is sent is `Reply.move`, a value by name.

    What is typed and not sent survives a reload. Before anything is sent, and while it is filled in, the form
    is checked: problems are told at their fields.

    Attributes:
        blocks: fields, and what stands between them.
        check: what is wrong with values by name, with words in a language; the rules of the fields alone are
            checked when it is sent.
        send: what stands on the button that sends it, if not just that.
        keys: what single keys do there; they can be switched off.
    """

    blocks: Sequence[Block]
    check: Callable[[Mapping[str, Any], str], Checked] | None = None
    send: Words = ""
    keys: Words = ""
