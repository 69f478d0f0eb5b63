"""The page of every desk (`simulator.desks`): choose a set of cases, judge them, see the agreement.

A form is logged under an idempotency key made by the browser, so sending it again makes no second judgment.
A form that breaks rules is answered with problems by field; then nothing is logged, and the page keeps the
form.
"""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from types import SimpleNamespace
from typing import Any, Final, NamedTuple

from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic import Field as Sent

from logs import LogError
from simulator import catalog
from simulator.benchmark import Benchmark
from simulator.blocks import Revision, Translated
from simulator.catalog import attempt
from simulator.desk_work import (
    DeskProgress,
    Difference,
    agreement_of_pairs,
    desk_progress,
    differences,
    judgment_rows,
    next_work,
)
from simulator.desks import ALL, FINISHED, Case, Desk, Group, Offer, Values
from simulator.errors import AskbackError, InputError, SeatError
from simulator.form_blocks import Choice, Field
from simulator.forms import LONGEST
from simulator.judging import DeskFormError
from simulator.model_forms import FormError
from simulator.word_diff import word_diff
from ui.i18n import DECLARED, DEFAULT, Strings, problem_text, strings
from ui.research.address import DESK, Address
from ui.research.blocks import Visit, add_part, html, markup
from ui.research.controls import copy_field
from ui.research.format import nonempty_sections
from ui.research.guard import action_event, require_permission
from ui.research.office import Office

log = logging.getLogger(__name__)

RATER: Final = re.compile(r"[\w.-]{1,32}")
AGREEMENT: Final = "agreement"
DECIDE: Final = "decide"
MOST: Final = 200_000
"""Maximum characters of a form as JSON."""


class DeskCall(BaseModel):
    """A form sent from a desk.

    Attributes:
        query: query string of the page's address.
        key: idempotency key, made by the browser once per form.
        item: name of the judged case.
        form: values by field.
    """

    model_config = ConfigDict(extra="ignore", frozen=True)

    query: str = Sent(max_length=20_000)
    key: str = Sent(pattern=r"^[\w-]{8,64}$")
    item: str = Sent(min_length=1, max_length=500)
    form: dict[str, Any]
    decides: bool = False


@dataclass(frozen=True, slots=True)
class DeskPage:
    """A desk with its benchmark and its texts."""

    benchmark: Benchmark[Any, Any]
    desk: Desk[Any]
    t: Strings

    @property
    def name(self) -> str:
        """Name of the desk in addresses."""
        return f"{self.benchmark.name}.{self.desk.name}"

    def say(self, name: str, /, **fields: object) -> str:
        """Return a text of the benchmark, from its desks or its other pages; `name` if there is none."""
        prefix = f"{DECLARED}.{self.benchmark.name}"
        candidates = (f"{root}.{name}" for root in (f"{prefix}.desks", prefix, self.benchmark.name))
        text = next((text for text in candidates if text in self.t.texts), None)
        return name if text is None else self.t(text, **fields)

    def label(self, field: str) -> str:
        """Return the label of a field: this desk's, or the benchmark's."""
        return self.note(f"{self.desk.name}.field.{field}") or self.say(f"field.{field}")

    def refusal(self, error: Exception) -> str:
        """Return the text for a refused form: the benchmark's own, or the general one."""
        refused = f"refused.{getattr(error, 'code', '')}"
        words = self.say(refused) if isinstance(error, SeatError) else refused
        return problem_text(self.t, error) if words == refused else words

    def note(self, name: str) -> str:
        """Return an optional text of the benchmark's desks; empty if there is none."""
        return self.t.get(f"{DECLARED}.{self.benchmark.name}.desks.{name}", "")

    def choice(self, field: Field, value: Any) -> Choice:
        """Return a choice with its texts (default: its value), in the language of the page."""
        choice = next((each for each in field.choices if each.value == value), Choice(value))
        words = f"{self.desk.name}.{field.name}.{value}"
        label = str(value) if (said := self.say(words)) == words else said
        note = choice.note or self.note(f"{words}_note")
        return choice._replace(label=choice.label or Translated(label, label), note=note)

    def field(self, field: Field, name: str = "", value: Any = None) -> Field:
        """Return a field as it is drawn: with its texts, and keys if it is the first one with choices."""
        first, label = next((each for each in self.desk.fields if each.choices), None), self.label(field.name)
        return field._replace(
            name=name or field.name,
            value=value,
            choices=[self.choice(field, each) for each in field.known],
            label=Translated(label, label),
            note=self.note(f"{self.desk.name}.field.{field.name}_note"),
            keys=field.keys or ("123456789" if field is first else ""),
            most=LONGEST,
            own_words=True,
        )

    def problems(self, error: DeskFormError[Any] | FormError) -> dict[str, list[str]]:
        """Return the problems of a form as texts, by field."""
        by_field: dict[str, dict[str, None]] = {}
        for problem in error.problems:
            words = self.desk.describe_problem(problem, self.t.language)
            prefix = f"{DECLARED}.{self.benchmark.name}"
            usual = self.t.get(f"declared.problem.{problem.code}", self.t.say(prefix, words))
            text = self.note(f"problem.{problem.code}") or usual
            by_field.setdefault(problem.field, {})[text] = None
        return {field: list(texts) for field, texts in by_field.items()}


FieldsByKey = Mapping[str, tuple[Group, Field]]
"""Name of a value -> its group and field."""


class DifferenceRow(NamedTuple):
    """A disagreement as the page shows it: the raters' forms, and the decision."""

    case: Case[Any]
    asked: FieldsByKey
    said: Mapping[str, Values]
    decided: Values | None


def require_name(name: str) -> str:
    """Return a rater's name if it is valid, else raise `InputError`."""
    if not RATER.fullmatch(name):
        raise InputError(
            f"reviewer {name!r}: use up to 32 letters, digits, dots, hyphens or underscores",
            code="reviewer",
            given=name,
        )
    return name


def desk_page(visit: Visit) -> str:
    """Show the list of desks, a desk's start page, the next case to judge, or the agreement."""
    t, at = visit.t, visit.at
    if at.reviewer:
        require_name(at.reviewer)
    if not at.desk:
        add_part(visit, "desks", desk_pages=_desk_pages(t))
        return t("research.desk.nav")
    page = find_desk_page(t, at)
    heading = page.say(f"{page.desk.name}.heading")
    if not at.data and ALL not in page.desk.sets(visit.reader):
        _start(visit, page)
    elif at.tab == AGREEMENT:
        _agreement(visit, page)
        return f"{t('research.desk.tab_agreement')} · {heading}"
    elif at.reviewer:
        html(_work_markup(visit, page))
    else:
        _start(visit, page)
    return heading


def _work_markup(visit: Visit, page: DeskPage) -> str:
    """Return the markup for the case that a rater judges next, or looks at again."""
    at, desk = visit.at, page.desk
    work = next_work(desk, visit.reader, at.data, at.reviewer, name=at.item, deciding=at.tab == DECIDE)
    case = work.case
    form = case.form(at.reviewer) if case and (work.again or desk.sheet is not None) else None
    filled = desk.values(form) if form is not None else case.proposed if case else {}
    offers = [*case.offers] if case else []
    if case and work.deciding and desk.decides == "discussion":
        raters = case.opinions.blind.items()
        offers += [Offer(desk.values(form), visit.t("research.desk.as", rater=name)) for name, form in raters]
    sheet = desk.sheet(case, form) if case and desk.sheet is not None else None
    asked = _fields_by_key((Group(desk.fields),) if sheet is None else sheet.groups) if case else {}
    return markup(
        visit,
        "desk",
        desk_page=page,
        work=work,
        case=case,
        blocks=tuple(case.show()) if case else (),
        sheet=sheet,
        asked=asked,
        offers=offers,
        takes=_adoptable_fields(asked, [offer.values for offer in offers if not offer.name]),
        filled=json.dumps(filled, ensure_ascii=False) if filled else "",
        values=filled,
        **_template_context(page, case.language if case else DEFAULT),
    )


def judge(office: Office, call: Any) -> dict[str, Any]:
    """Log a form and its sender; return whether it was ``saved``, or the ``problem`` and its ``places``.

    For a form that is saved step by step, the answer contains the updated ``page``, otherwise None.
    """
    where = call if isinstance(call, dict) else {}
    t = strings(str(where.get("language", "")))
    page = None
    try:
        user = require_permission("judge")
        asked = DeskCall.model_validate(call)
        visit = Visit(t, Address.read(DESK, asked.query), office)
        page = find_desk_page(t, visit.at)
        rater = require_name(visit.at.reviewer)
        rows = judgment_rows(
            page.desk,
            office.reader,
            visit.at.data,
            rater,
            asked.item,
            _clean_fields(asked.form),
            submission=asked.key,
            deciding=asked.decides,
        )
        for row in (*rows, action_event(user, "judge", call="judge_desk", key=asked.key)):
            office.writer.put(row).result()
        visit = replace(visit, at=replace(visit.at, item=asked.item))
        unfinished = page.desk.sheet is not None and FINISHED not in asked.form
        return {"saved": True, "page": _updated_page(visit, page) if unfinished else None}
    except (DeskFormError, FormError) as error:
        assert page is not None
        return {"saved": False, "problem": t("research.desk.mend"), "places": page.problems(error)}
    except (AskbackError, LogError, ValidationError) as error:
        log.warning("a form was not saved: %s", error)
        return {"saved": False, "problem": page.refusal(error) if page else problem_text(t, error)}


def _updated_page(visit: Visit, page: DeskPage) -> str | None:
    """Return `_work_markup`; None if it cannot be shown."""
    try:
        return _work_markup(visit, page)
    except (AskbackError, LogError) as error:  # the form is saved anyway; the rebuilt page shows the error
        log.warning("a page could not be shown: %s", error)
        return None


def _template_context(page: DeskPage, language: str) -> dict[str, Any]:
    """Return the context of templates: prefix of the texts, language of the case, word differences."""
    link = SimpleNamespace(name=f"{DECLARED}.{page.benchmark.name}")
    return {"link": link, "view": SimpleNamespace(language=language, seat=""), "revision": _revision}


def _revision(label: str, original: str, text: str) -> Revision:
    return Revision(Translated(label, label), word_diff(original, text))


def _fields_by_key(groups: Iterable[Group]) -> FieldsByKey:
    return {group.key(field): (group, field) for group in groups for field in group.fields}


def _adoptable_fields(asked: FieldsByKey, offers: Sequence[Values]) -> dict[str, list[int]]:
    """Return the fields in which offers differ, each with the indices of the offers that fill it in."""
    return {
        name: [index for index, offer in enumerate(offers) if offer.get(name)]
        for name in _differing_fields(asked, offers)
    }


def _differing_fields(asked: FieldsByKey, forms: Sequence[Values]) -> list[str]:
    by_field = {name: [form.get(name) or field.value for form in forms] for name, (_, field) in asked.items()}
    return [name for name, values in by_field.items() if any(value != values[0] for value in values)]


def _start(visit: Visit, page: DeskPage) -> None:
    """Show the choice of a set of cases and of the rater's name."""
    desk = page.desk
    sets = tuple(dict.fromkeys((*([visit.at.data] if visit.at.data else ()), *desk.sets(visit.reader))))
    choices: dict[str, DeskProgress] = {}
    problem = ""
    for data in sets:
        try:
            choices[data] = desk_progress(desk, desk.cases(visit.reader, data))
        except (AskbackError, LogError) as error:  # show the other sets even if the data of one is gone
            problem = problem_text(visit.t, error)
    add_part(visit, "desk_start", desk_page=page, choices=choices, problem=problem)
    if desk.command and not choices:
        copy_field(desk.command, visit.t("research.list.type"))


def _agreement(visit: Visit, page: DeskPage) -> None:
    at, desk = visit.at, page.desk
    cases = desk.cases(visit.reader, at.data)
    if desk.agreement is not None:
        sections = desk.agreement(visit.reader, at.data, at.reviewer)
    else:
        sections = agreement_of_pairs(desk, cases)
    shown, hidden = differences(desk, cases, at.reviewer)
    add_part(
        visit,
        "desk_agreement",
        desk_page=page,
        standing=desk_progress(desk, cases),
        sections=nonempty_sections(sections),
        raters=tuple(dict.fromkeys(rater for difference in shown for rater in difference.said)),
        shown=tuple(_show_difference(desk, difference) for difference in shown),
        hidden=hidden,
        **_template_context(page, DEFAULT),
    )


def _show_difference(desk: Desk[Any], difference: Difference[Any]) -> DifferenceRow:
    """Return a disagreement with those fields of every form in which raters differ."""
    case, forms = difference.case, (*difference.said.values(), difference.decided)
    asked = _fields_by_key(group for form in forms if form is not None for group in desk.groups(case, form))
    by_rater = {rater: desk.values(form) for rater, form in difference.said.items()}
    names = _differing_fields(asked, list(by_rater.values()))
    filled = [
        None
        if form is None
        else {name: desk.values(form).get(name) or asked[name][1].value for name in names}
        for form in forms
    ]
    shown = {rater: values or {} for rater, values in zip(by_rater, filled, strict=False)}
    return DifferenceRow(case, asked, shown, filled[-1])


def _desk_page(benchmark: Benchmark[Any, Any], desk: Callable[[], Desk[Any]], t: Strings) -> DeskPage:
    return DeskPage(benchmark, desk(), t)


def _desk_pages(t: Strings) -> tuple[DeskPage, ...]:
    pages = (
        attempt(f"a desk of {benchmark.name}", partial(_desk_page, benchmark, desk, t))
        for benchmark in catalog.installed()
        for desk in benchmark.desks
    )
    return tuple(page for page in pages if page is not None)


def find_desk_page(t: Strings, at: Address) -> DeskPage:
    """Return the page of the desk in an address, with or without its benchmark, or raise `InputError`."""
    name, raters = at.desk, at.raters
    for page in _desk_pages(t):
        if name in (page.name, page.desk.name):
            allowed = map(str, range(1, page.desk.most_raters + 1))
            return replace(page, desk=replace(page.desk, raters=int(raters))) if raters in allowed else page
    raise InputError(f"There is no desk {name!r}.", code="no_desk", desk=name)


def _clean_fields(form: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a form with their texts stripped."""
    if len(json.dumps(form)) > MOST or any(
        isinstance(value, str) and len(value) > LONGEST for value in form.values()
    ):
        raise InputError(f"A text may have at most {LONGEST} characters.", code="long_note", most=LONGEST)
    return {name: _strip(value) for name, value in form.items()}


def _strip(value: Any) -> Any:
    if isinstance(value, list):
        return [_strip(each) for each in value]
    if isinstance(value, dict):
        return {name: _strip(each) for name, each in value.items()}
    return value.strip() if isinstance(value, str) else value
