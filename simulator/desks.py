"""Desks: where people judge what others said or did, as benchmarks declare them.

A `Desk` is a form of `simulator.judging`, the sets of things that are judged with it, what is shown of each,
and what becomes of differences. The researchers' page draws every desk; here stands what is due to whom, in
an order of their own (`next_work`), what a form that was sent makes (`judgments`), how far everybody is
(`standing`) and where people differ (`differences`). Raters judge blind to each other.

A form is sent whole, or filled in bit by bit (`Desk.sheet`): then each bit is saved when it is said, and the
form counts, and is seen by others, when its rater has finished it.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Generic, Literal, NamedTuple, TypeVar

from logs import LogReader
from simulator.desk_forms import FINISHED, Field, Group, Offer, Sheet, Values
from simulator.errors import InputError
from simulator.figures import Column, Table
from simulator.judging import JudgingForm, Opinions, in_own_order, require_known
from simulator.judging.agreement import cluster_kappa
from simulator.judging.desk import RATERS
from simulator.reporting import Section, slug
from simulator.stats import Interval

if TYPE_CHECKING:
    from logs.rows import Item, Judgment
    from simulator.blocks import Block, Words

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


class Work(NamedTuple, Generic[FormT]):
    """The view of a rater.

    Attributes:
        case: what is to be judged now; None if nothing is left.
        deciding: True if it ends a difference.
        again: True if the rater judged it before.
        done: things that the rater has judged and that wait no more.
        left: things that wait, this one too.
        differing: differences that the rater may end.
        last: the name of what the rater judged last; empty before that.
        later: the name of what comes after this one; empty if nothing does.
    """

    case: Case[FormT] | None
    deciding: bool
    again: bool
    done: int
    left: int
    differing: int
    last: str
    later: str


class DeskProgress(NamedTuple):
    """The progress of a set.

    Attributes:
        things: that can be judged.
        settled: of them, those on which something holds: as many as wanted agree, or somebody decided.
        differing: on which raters differ.
        raters: everybody who has judged some, in the order of appearance, where it is told who they are.
    """

    things: int
    settled: int
    differing: int
    raters: tuple[str, ...]


class Difference(NamedTuple, Generic[FormT]):
    """A thing on which raters differ, or differed before somebody decided."""

    case: Case[FormT]
    said: Mapping[str, FormT]
    decided: FormT | None


def next_work(
    desk: Desk[FormT], reader: LogReader, data: str, rater: str, *, name: str = "", deciding: bool = False
) -> Work[FormT]:
    """Return what a rater is to do next: what waits for them; then what a third is to decide.

    Args:
        desk: where.
        reader: of the log.
        data: the set.
        rater: by pseudonym.
        name: what the rater looks at, in place of what comes next.
        deciding: True to end differences that people discuss.
    """
    cases = desk.cases(reader, data)
    due = [case for case in cases if desk.awaits(case, rater)]
    differing = [case for case in cases if desk.may_decide(case, rater)]
    deciding = deciding or (not due and desk.decides == "third")
    waiting = _order_cases(desk, rater, differing if deciding else due)
    case = _case_called(cases, name) if name else next(iter(waiting), None)
    names = [each.name for each in waiting]
    place = names.index(case.name) + 1 if case and case.name in names else 0
    last = _last_judged(desk, reader, cases, rater)
    return Work(
        case,
        deciding and case is not None and case.name in names,
        case is not None and case.name not in names and case.own(rater) is not None,
        sum(each.own(rater) is not None and each.name not in names for each in cases),
        len(waiting),
        len(differing),
        last,
        names[place % len(names)] if len(names) > 1 else "",
    )


def judgments(
    desk: Desk[FormT],
    reader: LogReader,
    data: str,
    rater: str,
    name: str,
    values: Values,
    *,
    submission: str,
    deciding: bool = False,
) -> tuple[Item | Judgment, ...]:
    """Return the rows that a form from a desk makes, to be written in this order; nothing is written here.

    Args:
        desk: where.
        reader: of the log.
        data: the set.
        rater: by pseudonym.
        name: of what is judged.
        values: the fields that were sent.
        submission: the same is the same form, however often it is sent.
        deciding: True if it ends a difference that people discuss.

    Raises:
        DeskFormError: if the form breaks rules.
        InputError: if there is no such thing, it cannot be judged by this person, or a choice is none.
    """
    desk.form.require_name(rater)
    case = _case_called(desk.cases(reader, data), name)
    if not case.ready:
        raise InputError(f"{case.title} cannot be judged now.", code="not_ready", thing=case.title)
    if desk.elsewhere and rater in case.opinions.blind:
        message = f"{rater} is one of those who said what {case.title} is to be; somebody else is to decide."
        raise InputError(message, code="own_thing", person=rater, thing=case.title)
    if deciding and not (desk.may_decide(case, rater) or case.opinions.decided is not None):
        raise InputError(
            f"{case.title}: nothing is to be decided.", code="nothing_to_decide", thing=case.title
        )
    before = case.form(rater)
    _require_fields(desk, case, before, values)
    if desk.sheet is not None and before is not None:
        values = {**desk.values(before), **values}
    form = desk.read(case, values, deciding)
    if desk.rows is not None:
        return tuple(desk.rows(case, rater, before, form, submission))
    row = desk.form.judgment(case.key, rater, form, submission=submission, source=data)
    return (row,) if case.item is None else (case.item, row)


def _require_fields(desk: Desk[FormT], case: Case[FormT], form: FormT | None, values: Values) -> None:
    """Refuse choices that there are not, and bits of a form that nobody is asked for."""
    fields = {group.key(field): field for group in desk.groups(case, form) for field in group.fields}
    for name, value in values.items():
        field = fields.get(name)
        if field is not None:
            _require_kind(field, value)
        elif desk.sheet is not None and name != FINISHED:
            raise InputError(f"{name!r} is not asked for here.", code="not_asked", field=name)


def _require_kind(field: Field, value: Any) -> None:
    """Refuse what is no value of a field, and choices that there are not; entries are left to `Desk.read`."""
    if field.kind == "entries":
        return
    chosen = value if field.kind == "choices" else [value] if value or field.kind == "text" else []
    if not isinstance(chosen, list) or not all(isinstance(each, str) for each in chosen):
        message = f"{value!r} is no {field.kind} of {field.name}."
        raise InputError(message, code="no_choice", value=value)
    if field.choices:
        require_known(chosen, field.choices, f"choice of {field.name}")


def desk_progress(desk: Desk[FormT], cases: Sequence[Case[FormT]]) -> DeskProgress:
    """Return how far the things of a set are."""
    ready = [case for case in cases if case.ready]
    named = ready if not desk.elsewhere else []
    raters = dict.fromkeys(rater for case in named for rater in case.opinions.blind)
    return DeskProgress(
        len(ready),
        sum(_is_settled(desk, case) for case in ready),
        sum(desk.differs(case) for case in ready),
        tuple(raters),
    )


def differences(
    desk: Desk[FormT], cases: Sequence[Case[FormT]], rater: str
) -> tuple[tuple[Difference[FormT], ...], int]:
    """Return the things that raters differ on and this one may see, and the number of the others."""
    differing = [case for case in cases if len(set(map(desk.outcome, case.opinions.blind.values()))) > 1]
    seen = [case for case in differing if desk.may_see(case, rater)]
    shown = tuple(Difference(case, _named_or_numbered(desk, case), case.opinions.decided) for case in seen)
    return shown, len(differing) - len(shown)


def _named_or_numbered(desk: Desk[FormT], case: Case[FormT]) -> Mapping[str, FormT]:
    """Return what raters said, by their names; by numbers where it is not told who they are."""
    said = case.opinions.blind
    return {str(number): form for number, form in enumerate(said.values(), 1)} if desk.elsewhere else said


def agreement_of_pairs(desk: Desk[FormT], cases: Sequence[Case[FormT]]) -> tuple[Section, ...]:
    """Return the agreement of every two raters on what both judged, with Cohen's kappa; empty without two."""
    said = [{rater: desk.outcome(form) for rater, form in case.opinions.blind.items()} for case in cases]
    raters = sorted({rater for outcomes in said for rater in outcomes})
    rows = []
    for first, second in combinations(raters, 2):
        both = [
            (outcomes[first], outcomes[second]) for outcomes in said if {first, second} <= outcomes.keys()
        ]
        if both:
            mine, theirs = zip(*both, strict=True)
            observed, kappa = cluster_kappa(mine, theirs, range(len(both)))
            rows.append((f"{first}, {second}", len(both), observed, kappa))
    if not rows:
        return ()
    columns = ("Raters", Column("n", 0), Column("Agreement", 3), Column("Cohen’s κ", 3))
    return (Section(name="raters", title="Every two raters", tables=(Table(columns, rows),)),)


def measures_section(title: str, measures: Sequence[tuple[str, Interval | None]]) -> tuple[Section, ...]:
    """Return agreement with its intervals, and why some of it is undefined; empty if all of it is."""
    undefined = [name for name, value in measures if value is None]
    if len(undefined) == len(measures):
        return ()
    rows = [(name, value, value.n if value else None) for name, value in measures]
    remark = (
        f"Undefined, because nobody or everybody said so or too few judged the same: {', '.join(undefined)}."
    )
    table = Table(("Measure", Column("Value, with interval", 2), Column("n", 0)), rows)
    return (Section(name=slug(title), title=title, tables=(table,), remarks=(remark,) if undefined else ()),)


def _form_values(form: Any) -> Values:
    values: Values = form.model_dump(mode="json")
    return values


def _is_settled(desk: Desk[FormT], case: Case[FormT]) -> bool:
    opinions = case.opinions
    enough = len(opinions.blind) >= (desk.raters or 1)
    return opinions.decided is not None or (enough and opinions.settled(desk.outcome) is not None)


def _order_cases(desk: Desk[FormT], rater: str, cases: Sequence[Case[FormT]]) -> tuple[Case[FormT], ...]:
    """Return things in the order in which a rater judges them; what they have begun comes first."""
    ordered = in_own_order(cases, desk.name, rater, lambda case: case.name) if desk.own_order else cases
    return tuple(sorted(ordered, key=lambda case: rater not in case.begun))


def _case_called(cases: Sequence[Case[FormT]], name: str) -> Case[FormT]:
    case = next((case for case in cases if case.name == name), None)
    if case is None:
        raise InputError(f"There is nothing called {name!r} to be judged.", code="nothing_such", thing=name)
    return case


def _last_judged(desk: Desk[FormT], reader: LogReader, cases: Sequence[Case[FormT]], rater: str) -> str:
    own = {case.key: case.name for case in cases if case.own(rater) is not None}
    rows = reader.judgments(kind=desk.form.kind, annotator=rater)
    keys = (row.item_hash if desk.form.about == "item" else row.episode_id for row in reversed(rows))
    return next((own[key] for key in keys if key in own), "")
