"""Declarations of desks, at which people judge what others said or did.

A `Desk` consists of a form of `simulator.judging` with its fields, sets of things to judge, what is shown of
each thing, and a rule for disagreements. The researchers' page renders every desk; `simulator.desk_work`
decides who judges what next, and turns forms into log rows. Raters judge blind to each other.

A form is sent as a whole, or filled in step by step (`Desk.sheet`): then each field is saved immediately, and
the form counts, and is visible to others, once its rater has finished it.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Generic, Literal, NamedTuple, TypeVar

from logs import LogReader
from simulator.blocks import Block, Words
from simulator.form_blocks import Entries, Field
from simulator.judging import JudgingForm, Opinions
from simulator.judging.desk import RATERS
from simulator.reporting import Section

if TYPE_CHECKING:
    from logs.rows import Item, Judgment

Values = Mapping[str, Any]
"""The values of a form on its page, by field: a choice, a text, or a list of choices."""
FINISHED: Final = "finished"
"""The value that marks a form filled in step by step as finished: yes or no."""


class Offer(NamedTuple):
    """Another person's form, which can be adopted entirely or in part.

    Attributes:
        values: its values; adopted entries are added to the existing ones.
        name: the name of its author, if it is to be shown; otherwise authors are numbered.
        remark: a remark that is not adopted.
    """

    values: Values
    name: Words = ""
    remark: str = ""


class Group(NamedTuple):
    """The fields on a part of a thing.

    Attributes:
        name: a prefix of the names of values, followed by a dot; empty for none.
        moment: the turn of a `simulator.drawn_blocks.TreeReplay` at which it is shown; None for always.
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
    """The current state of a form that a rater fills in step by step.

    Attributes:
        lacks: what is missing before the form can be finished.
        doubt: a question to confirm before finishing it; empty for none.
    """

    groups: Sequence[Group]
    lacks: Sequence[Words] = ()
    doubt: Words = ""


FormT = TypeVar("FormT")
ALL: Final = ""
"""The set of all things, for desks that have it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Case(Generic[FormT]):
    """A thing to judge.

    Attributes:
        key: the hash of the item, or the id of the episode.
        name: the name on pages and in URLs; it must not reveal what raters are not to know.
        show: returns the blocks shown to raters.
        begun: rater -> their unfinished form.
        ready: False if it cannot be judged yet, or any more.
        item: the row that must be logged before a judgment of it, if it is not in the log yet.
        thing: the thing itself, for `Desk.read`.
        proposed: the initial values of the form for a rater who has not filled it in yet.
        offers: forms of others that can be adopted, oldest first.
        entries: returns the entries of fields of this kind, with their initial texts, by field.
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
    entries: Callable[[], Mapping[str, Entries]] = dict

    def form(self, rater: str) -> FormT | None:
        """Return the latest form of a rater, finished or not; None if there is none yet."""
        own = self.own(rater)
        return self.begun.get(rater) if own is None else own

    def own(self, rater: str) -> FormT | None:
        """Return the latest form of a rater that counts; None if there is none yet."""
        opinions = self.opinions
        return opinions.decided if opinions.decider == rater and rater else opinions.blind.get(rater)


@dataclass(frozen=True, kw_only=True, eq=False)
class Desk(Generic[FormT]):
    """A desk of a benchmark.

    Its texts are in the benchmark's ``desks.yaml`` under its name; blocks refer to them as ``desks.NAME.…``.

    Attributes:
        name: the name in URLs and texts, unique within the benchmark.
        sets: returns the names of the sets (runs or data sets) that can be judged; `ALL` for everything.
        cases: returns the things of a set, in order.
        outcome: returns the part of a form that raters may disagree on.
        read: builds a form from the values that were sent, given True if they decide; raises an `InputError`
            or a `DeskFormError`. By default the values are those of the form's fields.
        sheet: if the form is filled in step by step: returns its state for a thing and the rater's form so
            far, None at first. `read` then gets all values so far, including `FINISHED`, and its form may be
            incomplete.
        rows: returns the log rows for a form, given the rater's previous form and an idempotency key; by
            default one judgment.
        raters: the number of people who judge each thing; None for any number.
        most_raters: the maximum that a researcher may choose when starting a set; 0 for exactly `raters`.
        decides: who settles a disagreement: a ``third`` person, who does not see the others' forms; in a
            ``discussion`` anybody who has finished, with the others' forms shown; None for nobody.
        from_run: True if the opinions come from a run: at this desk others settle disagreements or correct
            agreed answers, and the people of the run stay anonymous.
        describe_problem: returns the text of a problem of a form (`DeskFormError.problems`) in a language.
        own_order: True if each rater gets a different order; otherwise the order of the set.
        agreement: returns sections on agreement, for a rater; by default for all pairs of raters.
        files: downloads of a set: file name -> function that writes the file.
        command: the command that creates things to judge, shown if there are none.
    """

    name: str
    form: JudgingForm[Any]
    fields: tuple[Field, ...]
    sets: Callable[[LogReader], Sequence[str]]
    cases: Callable[[LogReader, str], Sequence[Case[FormT]]]
    outcome: Callable[[FormT], Hashable]
    read: Callable[[Case[FormT], Values, bool], Any] | None = None
    values: Callable[[FormT], Values] = lambda form: _form_values(form)
    sheet: Callable[[Case[FormT], FormT | None], Sheet] | None = None
    rows: Callable[[Case[FormT], str, FormT | None, Any, str], Iterable[Judgment]] | None = None
    raters: int | None = RATERS
    most_raters: int = 0
    decides: Literal["third", "discussion"] | None = "third"
    from_run: bool = False
    describe_problem: Callable[[Any, str], Words] = lambda problem, language: str(problem)
    own_order: bool = True
    agreement: Callable[[LogReader, str, str], Iterable[Section]] | None = None
    files: Mapping[str, Callable[[LogReader, str, Path], object]] = field(default_factory=dict)
    command: str = ""

    def groups(self, case: Case[FormT], form: FormT | None) -> Sequence[Group]:
        """Return the groups of fields on a thing, given the rater's form so far."""
        return (Group(self.fields),) if self.sheet is None else self.sheet(case, form).groups

    def awaits(self, case: Case[FormT], rater: str) -> bool:
        """Return True if a rater is to judge a thing blind."""
        if not case.ready:
            return False
        raters = len(case.opinions.blind) + 1 if self.raters is None else self.raters
        return case.opinions.awaits(rater, raters)

    def differs(self, case: Case[FormT]) -> bool:
        """Return True if raters disagree on a thing and nobody has decided."""
        return self.decides is not None and case.ready and case.opinions.differs(self.outcome)

    def may_decide(self, case: Case[FormT], rater: str) -> bool:
        """Return True if a rater may settle the disagreement on a thing."""
        if not self.differs(case):
            return False
        if self.decides == "discussion":
            return not self.awaits(case, rater)
        return rater not in case.opinions.blind

    def may_see(self, case: Case[FormT], rater: str) -> bool:
        """Return True if a rater may see others' forms on a thing; without a rater's name always."""
        if not rater or self.from_run:
            return True
        return case.own(rater) is not None or (self.decides == "discussion" and not self.awaits(case, rater))


def _form_values(form: Any) -> Values:
    values: Values = form.model_dump(mode="json")
    return values
