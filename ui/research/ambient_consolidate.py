"""Consolidating linguists' annotations: both side by side, a form below; agreement; how far examples are."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from logs import LogReader
from simulator.ambient.annotation.consolidation import (
    CONSOLIDATION,
    Case,
    Consolidated,
    Result,
    agreement,
    case,
    flow,
    results,
    to_consolidate,
    to_discuss,
)
from simulator.ambient.annotation.linguists import (
    ValidatorMeasures,
    linguist_measures,
    worker_forms,
    worker_statistics,
)
from simulator.ambient.annotation.rules import MAX_REWRITES, Annotation
from simulator.ambient.data import load_guidelines
from simulator.ambient.labels import LABELS
from simulator.ambient.reporting.measures import paper
from simulator.ambient.show import SHOWN
from simulator.ambient.trial_log import linguist_records, runs_with
from ui.research.ambient_flow import drawing
from ui.research.ambient_words import (
    Line,
    Reading,
    kappa_line,
    ordered,
    reading,
    share_line,
    whole_number,
)
from ui.research.view import Page, Visit

Mode = Literal["alone", "again", "decide"]


@dataclass(frozen=True, slots=True)
class Contribution:
    """What somebody said of an example.

    Attributes:
        name: of a validator; empty for a linguist, who is not named.
        form: as the browser takes it over, JSON.
    """

    name: str
    annotation: Annotation
    readings: tuple[Reading, ...]
    form: str

    @property
    def labels(self) -> list[Any]:
        """In the order of pages."""
        return ordered(self.annotation.labels)


@dataclass(frozen=True, slots=True)
class Disagreement:
    """An example on which validators differ."""

    result: Result
    said: tuple[Contribution, ...]


def consolidate_page(visit: Visit, reader: LogReader) -> Page:
    """Return the start, the next example, the agreement, or how far examples are."""
    at = visit.at
    if not at.run:
        return _start(visit, reader)
    if at.tab == "agreement":
        return _agreement(visit, reader)
    if at.tab == "flow":
        return _flow(visit, reader)
    return case_page(visit, reader) if at.reviewer else _start(visit, reader)


def case_page(visit: Visit, reader: LogReader) -> Page:
    """Return the next example for a validator, the one that they look at again, or one to be decided."""
    at = visit.at
    validators = whole_number(at.raters)
    every = results(reader, at.run)
    due = to_consolidate(reader, at.run, at.reviewer, validators=validators)
    discuss = to_discuss(reader, at.run, at.reviewer, validators=validators)
    mode: Mode = "decide" if at.tab == "decide" else "alone"
    shown = _shown(visit, reader, due, discuss)
    if shown is not None and mode == "alone" and shown.mine is not None:
        mode = "again"
    mine = [entry for entry in every if at.reviewer in entry.forms]
    return visit.page(
        "ambient_consolidate",
        mode=mode,
        case=shown,
        voices=_voices(shown) if shown else (),
        merged=_merged(shown) if shown else None,
        others=_others(shown, discuss) if shown and mode == "decide" else (),
        filled=_filled(shown, mode),
        pair_json=json.dumps({"premise": shown.premise, "hypothesis": shown.hypothesis}) if shown else "",
        done=len(mine),
        left=len(due),
        discuss=len(discuss),
        last=_last(reader, at.run, at.reviewer),
        later=_later(due, shown) if mode == "alone" else "",
        guide=load_guidelines(visit.t.language),
        labels=SHOWN,
        most=MAX_REWRITES,
        validators=validators,
        none=not every,
    )


def _shown(visit: Visit, reader: LogReader, due: Sequence[Case], discuss: Sequence[Result]) -> Case | None:
    at = visit.at
    if at.tab == "decide":
        keys = [entry.key for entry in discuss]
        if not keys:
            return None
        key = at.item if at.item in keys else keys[0]
        return case(reader, at.run, key, at.reviewer)
    if at.item:
        return case(reader, at.run, at.item, at.reviewer)
    return due[0] if due else None


def _voices(shown: Case) -> tuple[Contribution, ...]:
    return tuple(_said(shown, annotation) for annotation in shown.voices)


def _merged(shown: Case) -> Contribution | None:
    """Return rewrites by one or both linguists, with the labels that they are of."""
    if not shown.merged:
        return None
    labels = frozenset(rewrite.label for rewrite in shown.merged)
    return _said(shown, Annotation(labels=labels, rewrites=shown.merged))


def _others(shown: Case, discuss: Sequence[Result]) -> tuple[Contribution, ...]:
    forms = next((entry.forms for entry in discuss if entry.key == shown.key), {})
    return tuple(_said(shown, form, name) for name, form in forms.items())


def _said(shown: Case, annotation: Annotation, name: str = "") -> Contribution:
    return Contribution(
        name,
        annotation,
        tuple(reading(shown.premise, shown.hypothesis, rewrite) for rewrite in annotation.rewrites),
        json.dumps(annotation.payload()),
    )


def _filled(shown: Case | None, mode: Mode) -> str:
    """Return what the form begins with: the validator's own newest form where they look at it again."""
    form = shown.mine if shown is not None and mode == "again" else None
    return "" if form is None else json.dumps(_form(form))


def _form(form: Consolidated) -> dict[str, Any]:
    return {**form.payload(), "checklist": list(form.checklist)}


def _last(reader: LogReader, run: str, validator: str) -> str:
    mine = reader.judgments(kind=CONSOLIDATION.kind, annotator=validator)
    there = [
        judgment.item_hash
        for judgment in mine
        if judgment.value.get("run") == run and not judgment.value["decides"]
    ]
    return there[-1] or "" if there else ""


def _later(due: Sequence[Case], shown: Case | None) -> str:
    """Return the example after the one that is shown, for those who put it off."""
    keys = [entry.key for entry in due]
    if shown is None or shown.key not in keys or len(keys) < 2:
        return ""
    return keys[(keys.index(shown.key) + 1) % len(keys)]


@dataclass(frozen=True, slots=True)
class Choice:
    """A run that can be consolidated."""

    run: str
    examples: int
    due: int
    validated: int


def _start(visit: Visit, reader: LogReader) -> Page:
    choices = []
    for run in runs_with(reader, "annotate"):
        counts = flow(reader, run)
        ready = counts.annotated - counts.dropped
        choices.append(Choice(run, ready, counts.due, counts.validated))
    return visit.page("ambient_consolidate_start", choices=choices)


def _agreement(visit: Visit, reader: LogReader) -> Page:
    at = visit.at
    measures = agreement(reader, at.run)
    linguists = linguist_measures(linguist_records(reader, [at.run]))
    differing = to_discuss(reader, at.run, at.reviewer, validators=whole_number(at.raters))
    two = linguists.two
    return visit.page(
        "ambient_agreement",
        found=measures,
        lines=_lines(measures),
        linguists=linguists,
        linguist_lines=[
            *(kappa_line(label, two[label]) for label in LABELS),
            kappa_line("whole", two["whole"]),
            kappa_line("several", two["several"]),
            share_line("identical", two["identical"]),
            share_line("ambiguous", linguists.ambiguous),
        ],
        differing=[_disagreement(form) for form in differing],
        hidden=sum(result.state == "discuss" for result in results(reader, at.run)) - len(differing),
    )


def _lines(measures: ValidatorMeasures) -> list[Line]:
    sets, printed = measures.agreement, paper()["validators"]
    return [
        *(kappa_line(label, sets[label], f"{printed[label]:.2f}") for label in LABELS),
        kappa_line("whole", sets["whole"]),
        kappa_line("alpha", measures.alpha),
        share_line("identical", sets["identical"]),
        share_line("contains_all", sets["contains_all"]),
    ]


def _disagreement(result: Result) -> Disagreement:
    example = result.example
    shown = Case(key=result.key, id=example.id, premise=example.premise, hypothesis=example.hypothesis)
    return Disagreement(result, tuple(_said(shown, form, name) for name, form in result.forms.items()))


def _flow(visit: Visit, reader: LogReader) -> Page:
    run = visit.at.run
    counts = flow(reader, run)
    return visit.page(
        "ambient_flow",
        counts=counts,
        drawing=drawing(visit.t, counts),
        workers=worker_statistics(worker_forms(reader, run)),
    )
