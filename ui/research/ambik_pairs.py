"""Annotated pairs: forms side by side with their differences, agreement, and a third person's desk."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from logs import LogReader
from simulator.ambik.annotation.agreement import FIELDS, PairAgreement, pair_agreement
from simulator.ambik.annotation.desk import Case, Flow, Voice, case, cases, field_text, flow, to_consolidate
from simulator.ambik.annotation.form import ORDER, Problem
from simulator.ambik.annotation.page import sentence_of
from simulator.ambik.forms import form_record
from simulator.ambik.pairs import Pair
from simulator.ambik.records import PairForm
from simulator.ambik.trial_log import forms
from simulator.word_diff import Piece
from ui.i18n import Strings
from ui.research.ambient_words import Line, kappa_line, share_line
from ui.research.ambik_read import runs_of
from ui.research.view import Page, Visit

TEXTS: Final = tuple(name for name in FIELDS if name != "type")
"""Fields that are written; the type is chosen."""
LINES: Final = {
    **{"clear": 3, "objects": 3, "scene": 3, "indirect": 3, "ambiguous": 3, "question": 2, "answer": 2},
    **{"clear_plan": 5, "ambiguous_plan": 5, "variants": 3},
}
"""How high a field is."""


@dataclass(frozen=True, slots=True)
class Choice:
    """A run of annotators."""

    run: str
    counts: Flow


@dataclass(frozen=True, slots=True)
class VoiceField:
    """A field of a voice.

    Attributes:
        pieces: its text, with what differs from the first voice that kept the row.
        text: as the form takes it.
    """

    pieces: Sequence[Piece]
    text: str


@dataclass(frozen=True, slots=True)
class Row:
    """A field of all voices; of one that deleted the row there is nothing."""

    name: str
    differs: bool
    said: tuple[VoiceField | None, ...]


def pairs_page(visit: Visit, reader: LogReader) -> Page:
    """Return runs to choose from, agreement and progress, or the desk."""
    at = visit.at
    if not at.run:
        return visit.page("ambik_pairs_start", choices=_choices(reader))
    if at.reviewer and at.tab != "agreement":
        return desk_page(visit, reader)
    return _overview(visit, reader)


def desk_page(visit: Visit, reader: LogReader) -> Page:
    """Return the draft that the address names, or the next one for this person."""
    at = visit.at
    due = to_consolidate(reader, at.run, at.reviewer)
    shown = case(reader, at.run, at.item) if at.item else next(iter(due), None)
    counts = flow(reader, at.run)
    return visit.page(
        "ambik_pairs_desk",
        case=shown,
        rows=rows(shown) if shown else (),
        problems_of=[in_words(visit.t, voice.problems) for voice in shown.voices] if shown else [],
        filled=json.dumps(filled_form(shown), ensure_ascii=False) if shown else "",
        voices=[json.dumps(_state(voice.form), ensure_ascii=False) for voice in shown.voices]
        if shown
        else [],
        written=TEXTS,
        lines=LINES,
        types=ORDER,
        left=len(due),
        done=counts.consolidated,
    )


def rows(shown: Case) -> tuple[Row, ...]:
    """Return what everybody left, field by field; what differs first."""
    pairs_found = [
        Row(name, name in shown.differs, tuple(_said(voice, name) for voice in shown.voices))
        for name in FIELDS
    ]
    return tuple(sorted(pairs_found, key=lambda entry: not entry.differs))


def move_of(form: dict[str, Any]) -> dict[str, Any]:
    """Return a form of the page as `forms.read_pair_form` takes it: steps are counted from 1 on the page."""
    values = {name: str(form.get(name) or "") for name in (*TEXTS, "delete", "comment", "passed_over")}
    step = values.pop("step").strip()
    return {
        **values,
        "type": form.get("type"),
        "step": int(step) - 1 if step.isdecimal() and int(step) > 0 else None,
        "one_ambiguity": bool(form.get("one_ambiguity")),
    }


def in_words(t: Strings, problems: Iterable[Problem]) -> dict[str, list[str]]:
    """Return what is said of a form, by field, each sentence once."""
    values: dict[str, dict[str, None]] = {}
    for problem in problems:
        values.setdefault(problem.field, {})[sentence_of(problem, t.language)] = None
    return {field: list(sentences) for field, sentences in values.items()}


def _choices(reader: LogReader) -> list[Choice]:
    return [
        Choice(run.id, flow(reader, run.id))
        for run in runs_of(reader, ("annotate",))
        if _begun(reader, run.id)
    ]


def _begun(reader: LogReader, run: str) -> bool:
    return bool(reader.items(run))


def _overview(visit: Visit, reader: LogReader) -> Page:
    run = visit.at.run
    measures = pair_agreement(forms(reader, [run]))
    return visit.page(
        "ambik_pairs",
        found=measures,
        lines=_lines(visit.t, measures),
        counts=flow(reader, run),
        cases=cases(reader, run),
    )


def _lines(t: Strings, agreement: PairAgreement) -> list[tuple[str, Line]]:
    key = "research.ambik.pairs.agree."
    return [
        (t(f"{key}kept"), share_line("kept", agreement.kept)),
        (t(f"{key}kept_kappa"), kappa_line("kept_kappa", agreement.kept_kappa)),
        (t(f"{key}type_{agreement.kappa}"), kappa_line("type_kappa", agreement.type_kappa)),
        (t(f"{key}shortlist_alpha"), kappa_line("shortlist_alpha", agreement.shortlist_alpha)),
        (t(f"{key}whole"), share_line("whole", agreement.whole)),
        *(
            (t(f"{key}field", field=t(f"ambik.field.{name}")), share_line(name, value))
            for name, value in agreement.fields.items()
        ),
    ]


def _said(voice: Voice, name: str) -> VoiceField | None:
    if voice.form.pair is None:
        return None
    text = _text(voice.form.pair, name)
    return VoiceField(voice.differences.get(name, (Piece(text, "same"),)), text)


def _text(pair: Pair, name: str) -> str:
    return pair.type if name == "type" else field_text(pair, name)


def filled_form(shown: Case) -> dict[str, Any]:
    """Return what the form begins with: the decision there is, or the first voice that kept the row."""
    if shown.decided is not None:
        return _state(shown.decided)
    kept = next((voice.form for voice in shown.voices if voice.form.pair is not None), None)
    return {} if kept is None else _state(kept) | {"comment": "", "one_ambiguity": []}


def _state(form: PairForm) -> dict[str, Any]:
    """Return a form as the page's script keeps it."""
    record = form_record(form)
    state: dict[str, Any] = {name: record.get(name, "") for name in ("delete", "comment", "passed_over")}
    if form.pair is None:
        return state
    texts = {name: _text(form.pair, name) for name in TEXTS}
    return state | texts | {"type": form.pair.type, "one_ambiguity": ["yes"] if form.one_ambiguity else []}
