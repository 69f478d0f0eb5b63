"""The work at desks (`simulator.desks`): queues, judgments, progress, disagreements, and agreement.

`next_work` returns a rater's next thing, in their own order; `judgment_rows` turns a form into log rows;
`desk_progress` returns the progress of a set, `differences` the disagreements, and two functions the sections
on agreement.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import TYPE_CHECKING, Any, Generic, NamedTuple

from logs import LogReader
from simulator.desks import FINISHED, Case, Desk, FormT, Values
from simulator.errors import InputError
from simulator.figures import Column, Table
from simulator.form_blocks import Field
from simulator.judging import rater_order, require_known
from simulator.judging.agreement import cluster_kappa
from simulator.model_forms import read_form
from simulator.reporting import Section, slug
from simulator.stats import Interval

if TYPE_CHECKING:
    from logs.rows import Item, Judgment


class Work(NamedTuple, Generic[FormT]):
    """The view of a rater.

    Attributes:
        case: the thing to judge now; None if nothing is left.
        deciding: True if the form settles a disagreement.
        again: True if the rater has judged it before.
        left: the number of things in the queue, including this one.
        last: the name of the thing that the rater judged last; empty for none.
        later: the name of the next thing after this one; empty for none.
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
        settled: the number of things with an outcome: enough raters agree, or somebody has decided.
        differing: the number of things on which raters disagree.
        raters: the raters, in the order of appearance; empty if they stay anonymous.
    """

    things: int
    settled: int
    differing: int
    raters: tuple[str, ...]


class Difference(NamedTuple, Generic[FormT]):
    """A thing on which raters disagree, or disagreed before somebody decided."""

    case: Case[FormT]
    said: Mapping[str, FormT]
    decided: FormT | None


def next_work(
    desk: Desk[FormT], reader: LogReader, data: str, rater: str, *, name: str = "", deciding: bool = False
) -> Work[FormT]:
    """Return a rater's next work: things to judge first, then disagreements for a third person to settle."""
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


def judgment_rows(
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
    """Return the log rows for a form from a desk, to be written in this order; nothing is written here.

    Raises:
        DeskFormError: if the form breaks rules; a `FormError` if it breaks those of its fields.
        InputError: if there is no such thing, this person may not judge it, or a choice is unknown.
    """
    desk.form.require_name(rater)
    case = _case_called(desk.cases(reader, data), name)
    if not case.ready:
        raise InputError(f"{case.title} cannot be judged now.", code="not_ready", thing=case.title)
    if desk.from_run and rater in case.opinions.blind:
        message = f"{rater} has given an opinion on {case.title}, so somebody else must decide."
        raise InputError(message, code="own_thing", person=rater, thing=case.title)
    if deciding and not (desk.may_decide(case, rater) or case.opinions.decided is not None):
        raise InputError(
            f"{case.title}: there is nothing to decide.", code="nothing_to_decide", thing=case.title
        )
    before = case.form(rater)
    _require_fields(desk, case, before, values)
    if desk.sheet is not None and before is not None:
        values = {**desk.values(before), **values}
    model = desk.form.model
    form = (
        desk.read(case, values, deciding)
        if desk.read
        else model.model_validate(read_form(model, values, ""), by_name=True)
    )
    if desk.rows is not None:
        return tuple(desk.rows(case, rater, before, form, submission))
    row = desk.form.judgment(case.key, rater, form, submission=submission, source=data)
    return (row,) if case.item is None else (case.item, row)


def _require_fields(desk: Desk[FormT], case: Case[FormT], form: FormT | None, values: Values) -> None:
    """Refuse unknown choices, and values of fields that are not asked for."""
    fields = {group.key(field): field for group in desk.groups(case, form) for field in group.fields}
    for name, value in values.items():
        field = fields.get(name)
        if field is not None:
            _require_kind(field, value)
        elif desk.sheet is not None and name != FINISHED:
            raise InputError(f"{name!r} is not asked for here.", code="not_asked", field=name)


def _require_kind(field: Field, value: Any) -> None:
    """Refuse invalid values of a field, and unknown choices; `Desk.read` checks entries."""
    if field.kind == "entries":
        return
    chosen = value if field.kind == "choices" else [value] if value or field.kind == "text" else []
    if not isinstance(chosen, list) or not all(isinstance(each, str) for each in chosen):
        message = f"{value!r} is not a valid value of {field.name} ({field.kind})."
        raise InputError(message, code="no_choice", value=value)
    if field.choices:
        require_known(chosen, [*map(str, field.known)], f"choice of {field.name}")


def desk_progress(desk: Desk[FormT], cases: Sequence[Case[FormT]]) -> DeskProgress:
    """Return the progress of a set."""
    ready = [case for case in cases if case.ready]
    named = ready if not desk.from_run else []
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
    """Return the disagreements that this rater may see, and the number of the others."""
    differing = [case for case in cases if len(set(map(desk.outcome, case.opinions.blind.values()))) > 1]
    visible = [case for case in differing if desk.may_see(case, rater)]
    shown = tuple(Difference(case, _forms_by_rater(desk, case), case.opinions.decided) for case in visible)
    return shown, len(differing) - len(shown)


def _forms_by_rater(desk: Desk[FormT], case: Case[FormT]) -> Mapping[str, FormT]:
    """Return the forms by the names of raters, or by numbers if raters stay anonymous."""
    forms = case.opinions.blind
    return {str(number): form for number, form in enumerate(forms.values(), 1)} if desk.from_run else forms


def agreement_of_pairs(desk: Desk[FormT], cases: Sequence[Case[FormT]]) -> tuple[Section, ...]:
    """Return the agreement of all pairs of raters on shared things, with Cohen's kappa; empty for none."""
    by_case = [{rater: desk.outcome(form) for rater, form in case.opinions.blind.items()} for case in cases]
    raters = sorted({rater for outcomes in by_case for rater in outcomes})
    rows = []
    for first, second in combinations(raters, 2):
        both = [
            (outcomes[first], outcomes[second]) for outcomes in by_case if {first, second} <= outcomes.keys()
        ]
        if both:
            own, other = zip(*both, strict=True)
            observed, kappa = cluster_kappa(own, other, range(len(both)))
            rows.append((f"{first}, {second}", len(both), observed, kappa))
    if not rows:
        return ()
    columns = ("Raters", Column("n", 0), Column("Agreement", 3), Column("Cohen’s κ", 3))
    return (Section(name="raters", title="Every two raters", tables=(Table(columns, rows),)),)


def measures_section(title: str, measures: Sequence[tuple[str, Interval | None]]) -> tuple[Section, ...]:
    """Return a section on agreement with intervals, and a remark on undefined ones; empty if all are."""
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
    """Return things in the order in which a rater judges them, begun ones first."""
    ordered = rater_order(cases, desk.name, rater, lambda case: case.name) if desk.own_order else cases
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
