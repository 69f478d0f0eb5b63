"""Blocks of forms: fields, entries, parts, and checks."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

if TYPE_CHECKING:
    from simulator.blocks import Block, Message, Words

Colour = Literal["", "green", "gold", "clay"]
"""A colour that highlights a choice or a word."""


class When(NamedTuple):
    """A condition on an earlier field of the same form.

    Attributes:
        values: the values of which one must be chosen; empty for any value.
        unless: True to negate the condition.
        least: the minimum number of ticked choices, if any value will do.
    """

    field: str
    values: Sequence[str] = ()
    unless: bool = False
    least: int = 1


class Choice(NamedTuple):
    """A choice of a field.

    Attributes:
        label: the label; by default the text ``field.FIELD.VALUE`` or, at desks, ``DESK.FIELD.VALUE``;
            without a text, the value.
        note: an explanation in the language of the page; at desks by default ``DESK.FIELD.VALUE_note``.
        fits: other fields -> the values that this choice can be combined with.
    """

    value: Any
    label: Words = ""
    text: Words = ""
    colour: Colour = ""
    note: Words = ""
    fits: Mapping[str, Sequence[Any]] = {}


Typed = Literal["line", "text", "lines", "listed", "number", "whole", "place", "file"]
"""A text of one line or of several, a list by lines or by commas, a number, a whole number, an index in a
list (from 1 on pages, from 0 elsewhere), a path (which browsers cannot give)."""
Chosen = Literal["switch", "flag", "menu", "choice", "choices", "entry", "entries"]
"""A checkbox, an explicit choice of ``true`` or ``false``, one choice from a menu, one from visible choices,
any number of choices, one entry of a list in another field (`Field.picks`) or free text, `Entries`."""
FieldKind = Literal[Typed, Chosen]


class Field(NamedTuple):
    """A field of a form: of participants, of a desk, of free play, or an option of a command.

    Its label is the text ``field.NAME``, its note ``field.NAME.note``; at desks (`simulator.desks`),
    ``DESK.field.NAME`` and ``DESK.field.NAME_note``; in free play ``rule.NAME``.

    A name may be a path: the values of ``marks[0]`` and ``marks[1]`` are sent as a list, those of
    ``rows[0].name`` as a list of mappings; texts are then looked up by the last part.

    Several fields may share a name if only one of them is shown at a time; `among` distinguishes them.

    Attributes:
        name: the name of the value that is sent.
        value: the initial value; at desks the one that is assumed if none is given.
        most: the maximum of a number, or of a text's length.
        label: the label, if ``texts.yaml`` has none.
        when: the condition under which it is shown; by default always.
        among: a unique name among fields that share a name.
        own_words: True if it is filled in in the language of the page, not the item's.
        marks: the list field whose entries, and `words`, are marked in the text below this field.
        words: see `marks`.
        picks: the list field whose entries can be inserted by a click; for an entry, its list.
        keys: keyboard keys, one for each choice (further ones have none), or the key that focuses a text.
        required: True if the form cannot be sent before it is filled in.
        quiet: True if the label is for screen readers only.
        note: the note, if it is not ``field.NAME.note``.
        sends: True if its choices are buttons that send the form.
        free: True if a choice can be undone, where choices are buttons.
        brief: True if choices are short buttons in a row, with their notes as tooltips.
        typed: how an option is typed (``--x`` or ``--x/--not-x``), if not by its name.
    """

    name: str
    kind: FieldKind = "text"
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
    sends: bool = False
    free: bool = False
    brief: bool = False
    typed: str = ""

    @property
    def known(self) -> tuple[Any, ...]:
        """The values of the choices."""
        return tuple(choice.value for choice in self.choices)


class Difference(NamedTuple):
    """A live diff of the words of two fields, or of a field and a text.

    Attributes:
        before: the first field; empty to compare with `text`.
        line: the field with the index of the line to compare; empty for the entire texts.
        text: see `before`.
    """

    before: str
    after: str
    heading: Words
    line: str = ""
    text: str = ""


class Entries(NamedTuple):
    """A list of entries with the same fields, to which people can add entries.

    The contents of a removed entry are restored if it is added again.

    Attributes:
        name: the name of the list; its texts are ``field.NAME``, ``.note``, ``.one``, ``.add``, ``.drop``.
        places: the blocks of each possible entry; names of their fields begin with ``NAME[PLACE].``.
        kind: the menu field that selects the kind of an entry.
        follows: a field with the kinds as choices: each ticked choice gets an entry.
    """

    name: str
    places: Sequence[Sequence[Block]]
    kind: str
    follows: str


class Part(NamedTuple):
    """A part of a form or a page, with a heading.

    Attributes:
        number: the number of the step; 0 for none.
        when: the condition under which it is shown; by default always.
        beside: True if wide screens show the blocks side by side.
    """

    heading: Words
    blocks: Sequence[Block]
    number: int = 0
    rule: Words = ""
    when: When | None = None
    folded: bool = False
    beside: bool = False


@dataclass(frozen=True, slots=True)
class Way:
    """One of several ways to send a form, with its own button; its texts are under ``way.NAME``.

    Raises:
        ValueError: if it has no field of its name.

    Attributes:
        name: the name of the way, and of its required field (``field.NAME.missing`` asks for it).
    """

    name: str
    blocks: Sequence[Block]
    key: str = ""
    colour: Literal["green", "clay"] = "green"

    def __post_init__(self) -> None:
        if self.name not in _field_names(self.blocks):
            raise ValueError(
                f"way {self.name!r}: its blocks lack the field {self.name!r}, which it sends; add it (a mere "
                f"button, in the last way, needs a ticked Field({self.name!r}, 'switch', value=True))"
            )


def _field_names(blocks: Sequence[Block]) -> Iterator[str]:
    for block in blocks:
        yield from (block.name,) if isinstance(block, Field) else _field_names(getattr(block, "blocks", ()))


class Ways(NamedTuple):
    """The ways in which a form can be sent; with each go the fields of those before it that are filled in."""

    ways: Sequence[Way]


@dataclass(frozen=True, slots=True)
class FieldProblem:
    """A problem, or possible problem, with a form.

    Attributes:
        code: the rule; pages have texts for the usual ones.
        text: a description; a `Message` if pages show it.
        level: an ``error`` prevents sending the form; a ``warning`` is shown once.
    """

    field: str
    code: str
    text: str | Message
    level: Literal["error", "warning"] = "error"

    def __str__(self) -> str:
        return f"{self.field} {self.text}".strip()


class Checked(NamedTuple):
    """The result of a check of a form: its problems, and blocks to show next to it."""

    problems: Sequence[FieldProblem] = ()
    blocks: Sequence[Block] = ()


Check = Callable[[Mapping[str, Any], str], Checked]
"""A check of a form: from its values by name, and a language, to its problems."""


class Findings(NamedTuple):
    """A placeholder where a form shows the blocks of its check."""


class Form(NamedTuple):
    """A form: fields among other blocks; its values are sent as `Reply.move`, by name.

    Unsent input survives a reload. The form is checked while it is filled in and before it is sent; problems
    are shown at their fields.

    Attributes:
        check: checks values by name, for a language, in addition to the model of `Due.form`.
        send: the label of the button that sends the form, if not the usual one.
        keys: a description of keyboard shortcuts, which can be switched off.
    """

    blocks: Sequence[Block]
    check: Check | None = None
    send: Words = ""
    keys: Words = ""
