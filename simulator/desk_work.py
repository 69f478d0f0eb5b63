"""The work at desks (`simulator.desks`): what is due to whom, what a form makes, how far everybody is.

Work comes in an order of a rater's own (`next_work`); a form that was sent makes rows of the log
(`judgments`); `desk_progress` says how far a set is, `differences` where people differ, and two sections how
far they agree.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import TYPE_CHECKING, Any, Generic, NamedTuple

from logs import LogReader
from simulator.desks import FINISHED, Case, Desk, Field, FormT, Values
from simulator.errors import InputError
from simulator.figures import Column, Table
from simulator.judging import in_own_order, require_known
from simulator.judging.agreement import cluster_kappa
from simulator.reporting import Section, slug
from simulator.stats import Interval

if TYPE_CHECKING:
    from logs.rows import Item, Judgment


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
