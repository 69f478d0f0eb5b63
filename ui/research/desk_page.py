"""The page of every desk (`simulator.desks`): choose what to judge, judge it, see how far people agree.

A form is written under the key that the browser made for it, so the same form sent again is the same
judgment. A form that breaks rules is answered with words for the places of the page; nothing is written
then, and nothing of it is lost.
"""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from types import SimpleNamespace
from typing import Any, Final, NamedTuple

import gradio as gr
from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic import Field as Sent

from logs import LogError, LogReader
from simulator import catalog, form_blocks
from simulator.benchmark import Benchmark
from simulator.blocks import Block, Revision, Translated
from simulator.catalog import attempt
from simulator.desk_work import (
    DeskProgress,
    Difference,
    agreement_of_pairs,
    desk_progress,
    differences,
    judgments,
    next_work,
)
from simulator.desks import ALL, FINISHED, Case, Desk, Field, Group, Offer, Values
from simulator.errors import AskbackError, InputError, SeatError
from simulator.form_blocks import Choice, Entries
from simulator.forms import LONGEST
from simulator.judging import DeskFormError
from simulator.word_diff import word_diff
from ui.i18n import DECLARED, DEFAULT, Strings, problem_text, strings
from ui.research.address import DESK, Address
from ui.research.blocks import Visit, html, markup, part
from ui.research.format import holding
from ui.research.guard import action_event, require
from ui.research.office import Office

log = logging.getLogger(__name__)

RATER: Final = re.compile(r"[\w.-]{1,32}")
AGREEMENT: Final = "agreement"
DECIDE: Final = "decide"
MOST: Final = 200_000
"""Letters of a whole form."""


class DeskCall(BaseModel):
    """A form from a desk.

    Attributes:
        query: of the address of the page.
        key: idempotency key, made by the browser once per form.
        item: what is judged, by its name.
        form: its fields.
        decides: whether it ends a discussion.
    """

    model_config = ConfigDict(extra="ignore", frozen=True)

    query: str = Sent(max_length=20_000)
    key: str = Sent(pattern=r"^[\w-]{8,64}$")
    item: str = Sent(min_length=1, max_length=500)
    form: dict[str, Any]
    decides: bool = False


@dataclass(frozen=True, slots=True)
class Place:
    """A desk with its benchmark and its words."""

    benchmark: Benchmark[Any, Any]
    desk: Desk[Any]
    t: Strings

    @property
    def name(self) -> str:
        """Return what addresses call it."""
        return f"{self.benchmark.name}.{self.desk.name}"

    def say(self, name: str, /, **fields: object) -> str:
        """Return a text of the benchmark, of its desks or its other pages; its name if there is none."""
        here = f"{DECLARED}.{self.benchmark.name}"
        known = (f"{root}.{name}" for root in (f"{here}.desks", here, self.benchmark.name))
        text = next((text for text in known if text in self.t.texts), None)
        return name if text is None else self.t(text, **fields)

    def label(self, field: str) -> str:
        """Return what a field is called: at this desk, or wherever the benchmark has it."""
        here = f"{self.desk.name}.field.{field}"
        return self.note(here) or self.say(f"field.{field}")

    def refusal(self, error: Exception) -> str:
        """Return why a form is not taken, in the benchmark's words where it has some."""
        refused = f"refused.{getattr(error, 'code', '')}"
        words = self.say(refused) if isinstance(error, SeatError) else refused
        return problem_text(self.t, error) if words == refused else words

    def note(self, name: str) -> str:
        """Return a text that a desk may have; empty if it has none."""
        return self.t.get(f"{DECLARED}.{self.benchmark.name}.desks.{name}", "")

    def choice(self, field: Field, value: str) -> tuple[str, str]:
        """Return the name of a choice, by default its value, and what to know about it."""
        name, note = (field.names(self.t.language) if field.names else {}).get(value, ("", ""))
        words = f"{field.words or f'{self.desk.name}.{field.name}'}.{value}"
        said = name or self.say(words)
        return value if said == words else said, note or self.note(f"{words}_note")

    def entries(self, field: Field, case: Case[Any]) -> Entries:
        """Return the places for entries of a thing's form, as blocks."""
        kind, *texts = field.fields

        def at(place: int) -> Iterator[Block]:
            head, usual = f"{field.name}[{place}].", kind.choices[place % len(kind.choices)]
            choices = [
                Choice(value, self.choice(kind, value)[0], colour=kind.colour(value))
                for value in kind.choices
            ]
            label = self.label(kind.name)
            yield form_blocks.Field(f"{head}{kind.name}", "menu", usual, choices, label=label)
            for text in texts:
                name, original = f"{head}{text.name}", case.originals.get(text.name, "")
                yield form_blocks.Field(name, "text", original, label=self.label(text.name), rows=text.rows)
                yield form_blocks.Difference("", name, self.t("research.desk.changes"), text=original)

        places = [tuple(at(place)) for place in range(field.most)]
        return Entries(field.name, places, kind.name, field.several)

    def problems(self, error: DeskFormError[Any]) -> dict[str, list[str]]:
        """Return what is wrong with a form, by the place that it is about."""
        places: dict[str, dict[str, None]] = {}
        for problem in error.problems:
            words = self.desk.tell(problem, self.t.language)
            here = f"{DECLARED}.{self.benchmark.name}"
            text = self.note(f"problem.{problem.code}") or self.t.say(here, words)
            places.setdefault(problem.field, {})[text] = None
        return {place: list(texts) for place, texts in places.items()}


Asked = Mapping[str, tuple[Group, Field]]
"""Fields by the names of their values, each with the group in which it stands."""


class ShownDifference(NamedTuple):
    """A difference as the page shows it: fields of forms by rater, and those of what was decided."""

    case: Case[Any]
    asked: Asked
    said: Mapping[str, Values]
    decided: Values | None


def checked_name(name: str) -> str:
    """Return a pseudonym that may be logged.

    Raises:
        InputError: if it is none.
    """
    if not RATER.fullmatch(name):
        raise InputError(
            f"reviewer {name!r}: use letters, digits, dots, hyphens, underscores; 32 at most",
            code="reviewer",
            given=name,
        )
    return name


def desk_page(visit: Visit, office: Office) -> str:
    """Show the list of desks, the start of one, what somebody is to judge there, or the agreement."""
    t, at, reader = visit.t, visit.at, office.reader
    if at.reviewer:
        checked_name(at.reviewer)
    if not at.desk:
        part(visit, "desks", places=_places(t))
        return t("research.desk.nav")
    place = place_at(visit)
    heading = place.say(f"{place.desk.name}.heading")
    if not at.data and ALL not in place.desk.sets(reader):
        _start(visit, place, reader)
    elif at.tab == AGREEMENT:
        _agreement(visit, place, reader)
        return f"{t('research.desk.tab_agreement')} · {heading}"
    elif at.reviewer:
        html(_work(visit, place, reader))
    else:
        _start(visit, place, reader)
    return heading


def _work(visit: Visit, place: Place, reader: LogReader) -> str:
    """Return the markup of what a rater is to judge next, or of what they look at again."""
    at, desk = visit.at, place.desk
    work = next_work(desk, reader, at.data, at.reviewer, name=at.item, deciding=at.tab == DECIDE)
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
        place=place,
        work=work,
        case=case,
        blocks=tuple(case.show()) if case else (),
        sheet=sheet,
        asked=asked,
        offers=offers,
        takes=_takes(asked, [offer.values for offer in offers if not offer.name]),
        filled=json.dumps(filled, ensure_ascii=False) if filled else "",
        values=filled,
        **_template_context(place, case.language if case else DEFAULT),
    )


def judge(office: Office, call: Any) -> dict[str, Any]:
    """Save a form, and who sent it; return whether it is ``saved``, else what is wrong, and where.

    With a bit of a form that is filled in bit by bit comes the ``page`` as it is now; with others None.
    """
    where = call if isinstance(call, dict) else {}
    t = strings(str(where.get("language", "")))
    place = None
    try:
        user = require("judge")
        asked = DeskCall.model_validate(call)
        visit = Visit(t, Address.read(DESK, asked.query))
        place = place_at(visit)
        rater = checked_name(visit.at.reviewer)
        rows = judgments(
            place.desk,
            office.reader,
            visit.at.data,
            rater,
            asked.item,
            _sent_fields(asked.form),
            submission=asked.key,
            deciding=asked.decides,
        )
        for row in (*rows, action_event(user, "judge", call="judge_desk", key=asked.key)):
            office.writer.put(row).result()
        here = replace(visit, at=replace(visit.at, item=asked.item))
        bit = place.desk.sheet is not None and FINISHED not in asked.form
        return {"saved": True, "page": _page_now(here, place, office.reader) if bit else None}
    except DeskFormError as error:
        assert place is not None
        return {"saved": False, "problem": t("research.desk.mend"), "places": place.problems(error)}
    except (AskbackError, LogError, ValidationError) as error:
        log.warning("a form was not saved: %s", error)
        return {"saved": False, "problem": place.refusal(error) if place else problem_text(t, error)}


def _page_now(visit: Visit, place: Place, reader: LogReader) -> str | None:
    """Return `_work`; None where it cannot be shown."""
    try:
        return _work(visit, place, reader)
    except (AskbackError, LogError) as error:  # the form is saved all the same; the page built anew says why
        log.warning("a page is not shown: %s", error)
        return None


def _template_context(place: Place, language: str) -> dict[str, Any]:
    """Return what templates know: whose texts are meant, the language of a thing, words that differ."""
    link = SimpleNamespace(name=f"{DECLARED}.{place.benchmark.name}")
    return {"link": link, "view": SimpleNamespace(language=language, seat=""), "revision": _revision}


def _revision(label: str, original: str, text: str) -> Revision:
    return Revision(Translated(label, label), word_diff(original, text))


def _fields_by_key(groups: Iterable[Group]) -> Asked:
    return {group.key(field): (group, field) for group in groups for field in group.fields}


def _takes(asked: Asked, offers: Sequence[Values]) -> dict[str, list[int]]:
    """Return the fields in which offers differ, each with the places of those that fill it in."""
    return {
        name: [place for place, offer in enumerate(offers) if offer.get(name)]
        for name in _differing_fields(asked, offers)
    }


def _differing_fields(asked: Asked, forms: Sequence[Values]) -> list[str]:
    """Return the fields in which forms differ."""
    said = {name: [form.get(name) or field.usual for form in forms] for name, (_, field) in asked.items()}
    return [name for name, values in said.items() if any(value != values[0] for value in values)]


def _start(visit: Visit, place: Place, reader: LogReader) -> None:
    """Show the choice of what to judge, and of a name."""
    desk = place.desk
    sets = tuple(dict.fromkeys((*([visit.at.data] if visit.at.data else ()), *desk.sets(reader))))
    choices: dict[str, DeskProgress] = {}
    problem = ""
    for data in sets:
        try:
            choices[data] = desk_progress(desk, desk.cases(reader, data))
        except (AskbackError, LogError) as error:  # data that are gone are no reason to show nothing
            problem = problem_text(visit.t, error)
    part(visit, "desk_start", place=place, choices=choices, problem=problem)
    if desk.command and not choices:
        gr.Textbox(desk.command, label=visit.t("research.list.type"), buttons=["copy"])


def _agreement(visit: Visit, place: Place, reader: LogReader) -> None:
    at, desk = visit.at, place.desk
    cases = desk.cases(reader, at.data)
    sections = (
        desk.agreement(reader, at.data, at.reviewer) if desk.agreement else agreement_of_pairs(desk, cases)
    )
    shown, hidden = differences(desk, cases, at.reviewer)
    part(
        visit,
        "desk_agreement",
        place=place,
        standing=desk_progress(desk, cases),
        sections=holding(sections),
        raters=tuple(dict.fromkeys(rater for difference in shown for rater in difference.said)),
        shown=tuple(_show_difference(desk, difference) for difference in shown),
        hidden=hidden,
        **_template_context(place, DEFAULT),
    )


def _show_difference(desk: Desk[Any], difference: Difference[Any]) -> ShownDifference:
    """Return a difference, of every form the fields in which raters differ."""
    case, forms = difference.case, (*difference.said.values(), difference.decided)
    asked = _fields_by_key(group for form in forms if form is not None for group in desk.groups(case, form))
    said = {rater: desk.values(form) for rater, form in difference.said.items()}
    names = _differing_fields(asked, list(said.values()))
    filled = [
        None
        if form is None
        else {name: desk.values(form).get(name) or asked[name][1].usual for name in names}
        for form in forms
    ]
    by_rater = {rater: values or {} for rater, values in zip(said, filled, strict=False)}
    return ShownDifference(case, asked, by_rater, filled[-1])


def _place(benchmark: Benchmark[Any, Any], desk: Callable[[], Desk[Any]], t: Strings) -> Place:
    return Place(benchmark, desk(), t)


def _places(t: Strings) -> tuple[Place, ...]:
    places = (
        attempt(f"a desk of {benchmark.name}", partial(_place, benchmark, desk, t))
        for benchmark in catalog.installed()
        for desk in benchmark.desks
    )
    return tuple(place for place in places if place is not None)


def place_at(visit: Visit) -> Place:
    """Return the desk that an address names, with its benchmark's name or without."""
    name, raters = visit.at.desk, visit.at.raters
    for place in _places(visit.t):
        if name in (place.name, place.desk.name):
            known = map(str, range(1, place.desk.most_raters + 1))
            return replace(place, desk=replace(place.desk, raters=int(raters))) if raters in known else place
    raise InputError(f"There is no desk {name!r}.", code="no_desk", desk=name)


def _sent_fields(form: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields that were sent, without space around texts, if none is longer than what is kept."""
    if len(json.dumps(form)) > MOST or any(
        isinstance(value, str) and len(value) > LONGEST for value in form.values()
    ):
        raise InputError(f"A text has {LONGEST} letters at most.", code="long_note", most=LONGEST)
    return {name: _strip(value) for name, value in form.items()}


def _strip(value: Any) -> Any:
    if isinstance(value, list):
        return [_strip(each) for each in value]
    if isinstance(value, dict):
        return {name: _strip(each) for name, each in value.items()}
    return value.strip() if isinstance(value, str) else value
