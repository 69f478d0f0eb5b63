"""The pages of studies: an overview of all, the state of one, and actions on studies and participants."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

import gradio as gr
import pandas as pd

from logs import load_key
from simulator import catalog
from simulator.errors import InputError
from simulator.studies.admission import pending_erasures
from simulator.studies.desk import StudyDesk
from simulator.studies.files import Study
from simulator.studies.known import (
    MOST_BYTES,
    absent_opposite,
    add_study,
    all_builtin,
    all_studies,
    opened_studies,
    why_absent,
)
from simulator.studies.people import preview_link, study_link
from simulator.studies.places import Places
from simulator.studies.progress import StudyProgress
from simulator.studies.quality import carelessness_signs
from simulator.studies.quota import STATES, cell_name
from simulator.studies.steering import (
    StudyState,
    StudyStatus,
    admit_as,
    close,
    desk_of,
    plan_of,
    study_status,
    study_statuses,
)
from ui.research.address import STUDIES
from ui.research.blocks import RELOAD, Visit, add_part, html, markup, request_of_event
from ui.research.controls import Sheet, SheetCell, add_table, copy_field, link_cell, text_cell, update_table

TICK: Final = 3.0
_PICK: Final = """
const read = async (field) => {
  const file = field?.files?.[0];
  if (!file) return;
  props.value = file.size > %d ? { size: file.size } : { text: await file.text() };
  field.value = '';
  trigger('submit');
};
element.addEventListener('change', (event) => read(event.target));
// For a file chosen before this script ran.
read(element.querySelector('input'));
"""
_LEFT: Final = ("returned", "expired")
_COUNTS: Final = ("wanted", "completed", "under_way", "left", "withdrawn", "screened_out", "excluded")
_ACTIONS: Final[Mapping[str, Callable[..., Awaitable[object]]]] = {
    "exclude": Places.exclude,
    "return": Places.free,
    "message": Places.send_message,
}


@dataclass(frozen=True, slots=True)
class StudiesPage:
    """The page for one visit: all studies, or the one in the address."""

    visit: Visit

    def build(self) -> None:
        """Create the components of the page."""
        if self.visit.at.study:
            self._build_study(self._study())
        else:
            self._build_list()

    # All studies

    def _build_list(self) -> None:
        t, first = self.visit.t, self.rows()
        add_part(self.visit, "studies")
        studies, shown = add_table(t("research.studies.heading"), first), gr.State(first)
        gr.Timer(TICK).tick(self._list_studies, shown, [studies, shown], show_progress="hidden", queue=False)
        with gr.Accordion(t("research.studies.add"), open=False, elem_id="add-study"):
            source = next(iter(all_builtin()))
            add_part(self.visit, "study_add", command=f"askback study new {source} my-study.yaml")
            picker = html(
                html_template=markup(self.visit, "study_picker"), js_on_load=_PICK % MOST_BYTES, padding=True
            )
            content = gr.Textbox(
                label=t("research.studies.file"),
                lines=12,
                max_lines=24,
                elem_classes=["rs-code"],
                interactive=True,
            )
            faults = html()
            with gr.Row():
                check = gr.Button(t("research.studies.check"))
                add = gr.Button(t("research.studies.keep"), variant="primary")
        picker.submit(self._read_picked, picker, content, show_progress="hidden").success(
            self._check_file, content, faults, show_progress="hidden"
        )
        check.click(self._check_file, content, faults)
        go = f"study => {{ if (study) location.assign('{STUDIES}?study=' + encodeURIComponent(study)) }}"
        added = gr.Textbox(visible="hidden")
        add.click(self._add, content, [faults, added]).success(None, added, None, js=go)

    def rows(self) -> Sheet:
        """Return the table of all studies."""
        widths = {"study": 190, "title": 220, "benchmark": 110, "state": 95}
        widths |= {**dict.fromkeys(_COUNTS, 100), "minutes": 95, "hourly": 110}
        heads = {self.visit.t(f"research.studies.{name}"): width for name, width in widths.items()}
        order: dict[StudyState, int] = {"open": 0, "paused": 1, "closed": 2, "ready": 3}
        rows = [*study_statuses(self.visit.office.writer, self.visit.reader)]
        return Sheet(heads, [self._row(each) for each in sorted(rows, key=lambda row: order[row.state])])

    def _row(self, status: StudyStatus) -> list[SheetCell]:
        t, (study, state, progress) = self.visit.t, status
        counts = Counter[str](progress.states)
        counts.update(wanted=progress.wanted, under_way=progress.under_way)
        counts["left"] = sum(counts[state] for state in _LEFT)
        return [
            link_cell(study.id, f"{STUDIES}?study={study.id}"),
            text_cell(study.title_in(t.language)),
            text_cell(t.phrase(catalog.find(study.benchmark).title)),
            SheetCell(state, self.visit.render("study_state", state=state)),
            *(_count(counts[name]) for name in _COUNTS),
            _number(progress.median_minutes, ".1f"),
            _number(progress.hourly_pay, ".2f", study.pay.currency if study.pay else ""),
        ]

    def _list_studies(self, before: Sheet) -> tuple[Any, Any]:
        rows = self.rows()
        return (gr.skip(), gr.skip()) if rows == before else (update_table(rows), rows)

    def _read_picked(self, picked: Mapping[str, Any] | None) -> str:
        """Return the text of the chosen file, unless it is too large for a study file."""
        picked = picked if isinstance(picked, dict) else {}
        with self.visit.acting("study", did="pick"):
            if "text" not in picked:
                size = f"{int(picked.get('size') or 0):,}"
                message = f"A study file may have at most {MOST_BYTES:,} bytes; this one has {size}."
                raise InputError(message, code="study_too_large", most=f"{MOST_BYTES:,}", size=size)
        return str(picked["text"])

    def _check_file(self, content: str) -> str:
        with self.visit.acting("study", did="check"):
            return self._verdict(add_study(content.encode(), self.visit.reader, keep=False))

    def _add(self, content: str) -> tuple[str, str]:
        """Save a study file; return its plan or faults as markup, and the study's id if it was saved."""
        with self.visit.acting("study", did="add"):
            result = add_study(content.encode(), self.visit.reader)
            return self._verdict(result), result.id if isinstance(result, Study) else ""

    def _verdict(self, result: Any) -> str:
        if isinstance(result, Study):
            title = catalog.find(result.benchmark).title
            plan = {"plan": plan_of(result), "benchmark": title}
            return markup(self.visit, "study_plan", study=result, checked=True, **plan)
        return markup(self.visit, "study_faults", faults=result)

    # One study

    def _study(self) -> Study:
        studies = all_studies(self.visit.reader)
        if self.visit.at.study not in studies:
            name = self.visit.at.study
            raise InputError(f"There is no study {name!r}.", code="no_study", study=name)
        return studies[self.visit.at.study]

    def _desk(self, study: Study) -> StudyDesk:
        return desk_of(study, self.visit.office.writer, self.visit.reader)

    def _status(self, study: Study) -> StudyStatus:
        return study_status(self._desk(study), opened=study.id in opened_studies(self.visit.reader))

    def _build_study(self, study: Study) -> None:
        t, status = self.visit.t, self._status(study)
        key = load_key(self.visit.office.writer.path)
        url = request_of_event().url
        site = f"{url.scheme}://{url.netloc}"
        preview = preview_link(study, key, site)
        add_part(
            self.visit,
            "study",
            study=study,
            state=status.state,
            plan=plan_of(study),
            benchmark=catalog.find(study.benchmark).title,
            preview=preview,
            command=f"askback study open|pause|close|progress|quality {study.id}",
        )
        self._put_switches(study, status)
        with gr.Row():
            links = {"link": study_link(study, key, site), "preview_link": preview}
            for name, address in links.items():
                copy_field(address, t(f"research.studies.{name}"))
        facts = add_part(self.visit, "study_facts", study=study, progress=status.progress)
        first = self.cells(status.progress)
        cells, shown = add_table(t("research.studies.places"), first), gr.State(first)
        if status.state == "ready":
            return

        people = StudyPeople(self.visit, self._desk(study))
        who = people.put()

        def refresh(before: Sheet) -> tuple[Any, Any, Any, Any]:
            progress = self._status(study).progress
            rows = self.cells(progress)
            if rows == before:
                return gr.skip(), gr.skip(), gr.skip(), gr.skip()
            counts = markup(self.visit, "study_facts", study=study, progress=progress)
            return update_table(rows), rows, counts, gr.Dropdown(choices=people.choices())

        gr.Timer(TICK).tick(refresh, shown, [cells, shown, facts, who], show_progress="hidden", queue=False)
        suspects = carelessness_signs(self.visit.reader, study)
        add_part(self.visit, "study_quality", people=len(suspects))
        if len(suspects):
            add_table(t("research.studies.quality"), self.quality(suspects))
        scores = self.visit.reader.scores(run_id=study.run_id, latest=True)
        metrics = sorted({score.metric for score in scores})
        add_part(self.visit, "study_downloads", study=study, metrics=metrics)

    def _put_switches(self, study: Study, status: StudyStatus) -> None:
        t, state = self.visit.t, status.state
        with gr.Row():
            if state != "open":
                name = "open" if state == "ready" else "open_again"
                opening = gr.Button(t(f"research.studies.{name}"), variant="primary", elem_id="open-study")
                opening.click(partial(self._open, study)).success(None, js=RELOAD)
            else:
                pausing = gr.Button(t("research.studies.pause"), elem_id="pause-study")
                pausing.click(partial(self._pause, study)).success(None, js=RELOAD)
            if state in ("open", "paused"):
                closing = gr.Button(t("research.studies.close"), elem_id="close-study")
                leaving = len(pending_erasures(self.visit.reader, study.run_id))
                question = f"research.studies.{'close_sure' if leaving else 'close_ask'}"
                ask = f"() => confirm({json.dumps(t(question, count=leaving))})"
                # Takes the answer of the browser's dialog; a State could not.
                sure = gr.Checkbox(False, visible="hidden")
                closing.click(partial(self._close, study), sure, js=ask).success(None, js=RELOAD)

    def _open(self, study: Study) -> None:
        with self.visit.acting("study", did="open", study=study.id):
            for name, error in absent_opposite(study, self.visit.office.models).items():
                raise InputError(f"{name} cannot play with people: {why_absent(name, error)}") from error
            admit_as(self._desk(study), "open")

    def _pause(self, study: Study) -> None:
        with self.visit.acting("study", did="pause", study=study.id):
            admit_as(self._desk(study), "paused")

    def _close(self, study: Study, sure: bool) -> None:
        if not sure:
            return
        erases = bool(pending_erasures(self.visit.reader, study.run_id))
        with self.visit.acting("erase" if erases else "study", did="close", study=study.id):
            close(self._desk(study), self.visit.reader)

    def cells(self, progress: StudyProgress) -> Sheet:
        """Return the places of a study by condition and state."""
        t = self.visit.t
        heads = {t("research.studies.condition"): 220, t("research.studies.wanted"): 85}
        # Nobody who has withdrawn belongs to a condition any more.
        states = [state for state in STATES if state != "withdrawn"]
        heads |= {t(f"research.studies.place.{state}"): 100 for state in states}
        heads |= {t("research.studies.vacant"): 85}
        rows = [
            [
                text_cell(cell_name(cell.cell) or t("research.studies.all")),
                *map(_count, (cell.wanted, *(cell.states[state] for state in states), cell.open)),
            ]
            for cell in progress.cells
        ]
        return Sheet(heads, rows)

    def quality(self, people: pd.DataFrame) -> Sheet:
        """Return the table of signs of careless participation, with the numbers behind them."""
        t, numbers = self.visit.t, {"turn_seconds": ".1f", "typed_per_second": ".1f"}
        numbers |= {"pasted": ".0%", "same_text": ".0%", "scales": ".0f"}
        widths = {"participant": 225, "sets": 70, **dict.fromkeys(numbers, 110), "missed": 130, "signs": 200}
        heads = {t(f"research.studies.sign.{name}"): width for name, width in widths.items()}
        rows = [
            [
                text_cell(row["participant"]),
                _count(row["sets"]),
                *(_number(row[name], form) for name, form in numbers.items()),
                text_cell(" · ".join(row["missed"])),
                text_cell(" · ".join(t(f"research.studies.flag.{name}") for name in row["signs"])),
            ]
            for row in people.astype(object).where(people.notna(), None).to_dict("records")
        ]
        return Sheet(heads, rows)


@dataclass(frozen=True, slots=True)
class StudyPeople:
    """The participants of a study, by pseudonym, and the actions on one of them."""

    visit: Visit
    desk: StudyDesk

    def put(self) -> gr.Dropdown:
        """Add the fields to the page; return the menu of participants."""
        t = self.visit.t
        with gr.Accordion(t("research.people.heading"), open=False, elem_id="people"):
            command = f"askback study exclude|return|message|restore {self.desk.study.id}"
            add_part(self.visit, "study_people", command=command)
            who = gr.Dropdown(
                self.choices(),
                value=None,
                label=t("research.people.participant"),
                elem_id="participant",
                interactive=True,
            )
            words = gr.Textbox(
                label=t("research.people.words"), lines=2, elem_id="participant-words", interactive=True
            )
            with gr.Row():
                buttons = {
                    name: gr.Button(t(f"research.people.{name}"), elem_id=f"{name}-participant")
                    for name in _ACTIONS
                }
            done = html()
        for name, button in buttons.items():
            act = partial(self._act_on_study, name)
            button.click(act, [who, words], [who, words, done], show_progress="hidden")
        return who

    def choices(self) -> list[tuple[str, str]]:
        """Return the participants as choices, labelled with the state of their latest place."""
        t = self.visit.t
        states = {place.participant: place.state for place in self.desk.ledger()}
        return [(f"{who} · {t(f'research.studies.place.{state}')}", who) for who, state in states.items()]

    def _act_on_study(self, name: str, who: str | None, words: str) -> tuple[Any, str, str]:
        study = self.desk.study.id
        with self.visit.acting("study", did=name, study=study) as user:
            if not isinstance(who, str):
                raise InputError("Please choose a participant.", code="no_participant")
            asyncio.run(_await(_ACTIONS[name](self.desk, who, str(words), by=user.name)))
        done = markup(self.visit, "study_person_done", name=name, who=who)
        return gr.Dropdown(choices=self.choices(), value=None), "", done


async def _await(action: Awaitable[object]) -> None:
    await action


def _count(value: int) -> SheetCell:
    return SheetCell(value, str(value))


def _number(value: float | None, form: str, unit: str = "") -> SheetCell:
    return SheetCell(value, "–" if value is None else f"{value:{form}} {unit}".strip())
