"""Forms of desks (`simulator.desks`): their fields, in groups, and one that is filled in bit by bit.

A `Field` is not that of `simulator.form_blocks`: declared once for all things, with keys, it may
send the form.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, NamedTuple

from simulator.blocks import Words
from simulator.form_blocks import Colour

Values = Mapping[str, Any]
"""Fields of a form, as its page has them: a choice, a text, a list of choices."""
FINISHED: Final = "finished"
"""The value that says of a form that is filled in bit by bit whether its rater has finished it: yes or no."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """A field of a desk's form.

    Its texts: ``DESK.field.NAME``, beside it ``DESK.field.NAME_note``; of a choice ``WORDS.CHOICE`` and
    ``WORDS.CHOICE_note``; of entries those of `simulator.form_blocks.Entries`.

    Attributes:
        name: of the value.
        kind: one ``choice`` or several ``choices`` of a list, a ``text``, or ``entries``, each with `fields`.
        choices: of a choice; the first keys of the keyboard are those of the first field that has any.
        words: where the texts of choices stand; by default ``DESK.NAME``.
        names: language -> the name of each choice and what to know about it, where no text has them; an empty
            name is for `words`.
        colours: of the choices, in their order.
        sends: True if choosing sends the form.
        several: a field: this one is asked only while two of its choices or more are made.
        rows: of a text.
        keys: of the keyboard, one for each choice, or the one that leads to a text; by default digits.
        usual: the choice that a form means which makes none.
        free: True if a choice can be taken back.
        brief: True if choices stand in a row, and what to know about each behind its name.
        fields: of an entry: a choice, which is its kind, and texts (`Case.originals`). For each choice of the
            field `several` that is made there is an entry of this kind at least.
        most: entries that there can be.
    """

    name: str
    kind: Literal["choice", "choices", "text", "entries"] = "text"
    choices: tuple[str, ...] = ()
    words: str = ""
    names: Callable[[str], Mapping[str, tuple[str, str]]] | None = None
    colours: tuple[Colour, ...] = ()
    sends: bool = False
    several: str = ""
    rows: int = 2
    keys: str = ""
    usual: str = ""
    free: bool = False
    brief: bool = False
    fields: tuple[Field, ...] = ()
    most: int = 0

    def colour(self, choice: str) -> Colour:
        """Return the colour of a choice; empty if it has none."""
        return self.colours[self.choices.index(choice)] if self.colours else ""


class Offer(NamedTuple):
    """A form of somebody else's that can be taken over, as a whole or in part.

    Attributes:
        values: its fields; of entries, those that are taken over are added to what is there.
        name: of whose it is, if it is to be shown beside the others; they are numbered otherwise.
        remark: more that was said, which is not taken over.
    """

    values: Values
    name: Words = ""
    remark: str = ""


class Group(NamedTuple):
    """Fields on a part of a thing.

    Attributes:
        fields: in order.
        name: begins the names of the fields' values, with a dot behind it; empty for none.
        title: of the part.
        note: beside it.
        moment: the turn of a `simulator.drawn_blocks.TreeReplay` with which the group is shown; None: always.
    """

    fields: Sequence[Field]
    name: str = ""
    title: Words = ""
    note: Words = ""
    moment: int | None = None

    def key(self, field: Field) -> str:
        """Return the name of a field's value."""
        return f"{self.name}.{field.name}" if self.name else field.name


class Sheet(NamedTuple):
    """A form on a thing as a rater has it before them, to be filled in bit by bit.

    Attributes:
        groups: that can be filled in now.
        lacks: what is still to be said before the form can be finished.
        doubt: what finishing it now means, if that is to be confirmed.
    """

    groups: Sequence[Group]
    lacks: Sequence[Words] = ()
    doubt: Words = ""
