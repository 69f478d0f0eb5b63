"""Desks: where people judge what others said or did, as benchmarks declare them.

A `Desk` is a form of `simulator.judging` with its fields, the sets of things that are judged with it, what is
shown of each, and what becomes of differences. The researchers' page draws every desk; what is due to whom
and what comes of a form is in `simulator.desk_work`. Raters judge blind to each other.

A form is sent whole, or filled in bit by bit (`Desk.sheet`): then each bit is saved when it is said, and the
form counts, and is seen by others, when its rater has finished it. A `Field` is not that of
`simulator.form_blocks`: declared once for all things, with keys, it may send the form.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Generic, Literal, NamedTuple, TypeVar

from logs import LogReader
from simulator.blocks import Words
from simulator.form_blocks import Colour
from simulator.judging import JudgingForm, Opinions
from simulator.judging.desk import RATERS
from simulator.reporting import Section

if TYPE_CHECKING:
    from logs.rows import Item, Judgment
    from simulator.blocks import Block, Words


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


FormT = TypeVar("FormT")
ALL: Final = ""
"""The set of everything there is, where a desk has it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Case(Generic[FormT]):
    """A thing that is judged.

    Attributes:
        key: of the item, by its hash, or of the episode, by its id.
        name: names it on pages and in addresses; must not tell what raters are not to know.
        title: what it is called in lists.
        show: what a rater sees of it.
        language: of its words.
        opinions: on it.
        begun: rater -> their form, where they have not finished it.
        ready: False if it cannot be judged yet, or no more.
        item: the row that the log needs before a judgment of it, if it is not there yet.
        thing: what it is, for `Desk.read`.
        proposed: what the form begins with, if its reader has filled in none yet.
        offers: forms of others that can be taken over, the oldest first.
        originals: the texts with which entries begin and with which they are compared, by field.
    """

    key: str
    name: str
    title: str
    show: Callable[[], Iterable[Block]]
    language: str = "en"
    opinions: Opinions[FormT] = field(default_factory=Opinions)
    begun: Mapping[str, FormT] = field(default_factory=dict)
    ready: bool = True
    item: Item | None = None
    thing: Any = None
    proposed: Values = field(default_factory=dict)
    offers: Sequence[Offer] = ()
    originals: Mapping[str, str] = field(default_factory=dict)

    def form(self, rater: str) -> FormT | None:
        """Return the newest form of a rater, finished or not; None before there is one."""
        own = self.own(rater)
        return self.begun.get(rater) if own is None else own

    def own(self, rater: str) -> FormT | None:
        """Return the newest form of a rater that counts; None before there is one."""
        opinions = self.opinions
        return opinions.decided if opinions.decider == rater and rater else opinions.blind.get(rater)


@dataclass(frozen=True, kw_only=True, eq=False)
class Desk(Generic[FormT]):
    """A desk of a benchmark.

    Its words stand in the benchmark's ``desks.yaml`` under its name; blocks call them ``desks.NAME.…``.

    Attributes:
        name: in addresses and texts, unlike that of every other desk of the benchmark.
        form: the judgments that it makes.
        fields: of the form, in order.
        sets: what can be judged together: a run or a data set, by name; `ALL` for everything at once.
        cases: the things of a set, in its order.
        outcome: of a form: what raters may differ in.
        read: makes a form of the fields that were sent; raises an `InputError` or a `DeskFormError`.
        sheet: where the form is filled in bit by bit: of a thing and what its rater has said so far, which
            is None at first. `read` then gets everything that was said, `FINISHED` with it, and its form may
            not be complete.
        rows: what goes into the log for a form, after the rater's one before, under an idempotency key; by
            default one judgment.
        values: the fields of a form.
        raters: people who judge each thing; None for any number.
        most_raters: up to so many may judge each, if whoever begins there says so; 0: `raters` it is.
        decides: who ends a difference: a ``third`` person, who is not shown what the others said; in a
            ``discussion`` anybody who is through, with the others' forms before them; None: nobody.
        elsewhere: True if what people differ in was said elsewhere, in a run: here differences are ended, or
            what they agree on is corrected, by others than those; who they are is not told.
        tell: a problem of a form (`DeskFormError.problems`) in words of a language.
        own_order: True if each rater has an order of their own; else that of the set.
        agreement: sections on how far people agree, for a rater; by default of every two of them.
        files: what can be taken home of a set: name of a file -> what writes it.
        command: makes something to judge, where there is nothing yet.
    """

    name: str
    form: JudgingForm[Any]
    fields: tuple[Field, ...]
    sets: Callable[[LogReader], Sequence[str]]
    cases: Callable[[LogReader, str], Sequence[Case[FormT]]]
    outcome: Callable[[FormT], Hashable]
    read: Callable[[Case[FormT], Values, bool], Any]
    values: Callable[[FormT], Values] = lambda form: _form_values(form)
    sheet: Callable[[Case[FormT], FormT | None], Sheet] | None = None
    rows: Callable[[Case[FormT], str, FormT | None, Any, str], Iterable[Judgment]] | None = None
    raters: int | None = RATERS
    most_raters: int = 0
    decides: Literal["third", "discussion"] | None = "third"
    elsewhere: bool = False
    tell: Callable[[Any, str], Words] = lambda problem, language: str(problem)
    own_order: bool = True
    agreement: Callable[[LogReader, str, str], Iterable[Section]] | None = None
    files: Mapping[str, Callable[[LogReader, str, Path], object]] = field(default_factory=dict)
    command: str = ""

    def groups(self, case: Case[FormT], form: FormT | None) -> Sequence[Group]:
        """Return the fields on a thing, for somebody who has filled in a form so far."""
        return (Group(self.fields),) if self.sheet is None else self.sheet(case, form).groups

    def awaits(self, case: Case[FormT], rater: str) -> bool:
        """Return True if a rater is to judge a thing blind."""
        if not case.ready:
            return False
        raters = len(case.opinions.blind) + 1 if self.raters is None else self.raters
        return case.opinions.awaits(rater, raters)

    def differs(self, case: Case[FormT]) -> bool:
        """Return True if raters differ on a thing and nobody has decided."""
        return self.decides is not None and case.ready and case.opinions.differs(self.outcome)

    def may_decide(self, case: Case[FormT], rater: str) -> bool:
        """Return True if a rater may end the difference on a thing."""
        if not self.differs(case):
            return False
        if self.decides == "discussion":
            return not self.awaits(case, rater)
        return rater not in case.opinions.blind

    def may_see(self, case: Case[FormT], rater: str) -> bool:
        """Return True if a rater may see what others said of a thing; without a name everybody may."""
        if not rater or self.elsewhere:
            return True
        return case.own(rater) is not None or (self.decides == "discussion" and not self.awaits(case, rater))


def _form_values(form: Any) -> Values:
    values: Values = form.model_dump(mode="json")
    return values
