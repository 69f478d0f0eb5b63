"""An annotator's form as page blocks, in the order of the work (spec 11.1), and its check."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Final

from simulator.ambik.annotation.form import ORDER, Problem, check_fields, earlier_candidates, preview
from simulator.ambik.data import load_guidelines
from simulator.ambik.forms import PairFields, proposed_fields, proposed_step, read_pair_form
from simulator.ambik.items import Draft
from simulator.ambik.terms import AMBIGUITIES, APPLIANCES, Ambiguity
from simulator.blocks import Block, Cell, Chips, Points, Table, Text, Translated, Words, message
from simulator.form_blocks import (
    Checked,
    Choice,
    Difference,
    Field,
    FieldKind,
    FieldProblem,
    Findings,
    Form,
    Part,
    When,
)
from simulator.model_forms import fields_of

_KINDS: Final[Mapping[str, FieldKind]] = {"objects": "listed", "shortlist": "listed", "step": "place"}
_COLOURS: Final[Mapping[Ambiguity, Any]] = {
    "safety": "clay",
    "common_sense_knowledge": "gold",
    "preferences": "green",
}
_ROWS: Final = {"clear": 3, "objects": 3, "scene": 3, "indirect": 3, "ambiguous": 3, "variants": 2}
_FIELDS: Final = {
    name: field._replace(kind=_KINDS.get(name, field.kind), rows=_ROWS.get(name, 1), value=None)
    for name, field in fields_of(PairFields).items()
}


def pair_form(draft: Draft) -> Form:
    """Return the form for making a pair from a draft, or deleting it."""
    fields = {
        **_FIELDS,
        **{name: _FIELDS[name]._replace(value=value) for name, value in proposed_fields(draft).items()},
    }
    named = {
        name: fields[name]._replace(marks="objects", words=APPLIANCES)
        for name in ("clear", "indirect", "ambiguous")
    }
    steps: tuple[Sequence[Block], ...] = (
        (named["clear"], fields["objects"], fields["scene"], *_deletion(fields["delete"])),
        (named["indirect"],),
        (*_candidates(draft, named["ambiguous"]), fields["one_ambiguity"]._replace(when=When("type"))),
        (_TYPE_FIRST, *_field_per_type(draft, fields["question"]), *_field_per_type(draft, fields["answer"])),
        _plans(draft, fields),
        _shortlist(fields["shortlist"]),
        (
            Part(message("form.grammar"), (Text(message("form.grammar_rules")),), folded=True),
            *(fields["intent"], fields["variants"], Findings()),
        ),
    )
    first, *rest = (_step(number, blocks) for number, blocks in enumerate(steps, 1))
    comment = fields["comment"]._replace(rows=2, own_words=True)
    blocks = (first, Part("", rest, when=When("deleting", unless=True)), comment)
    return Form(blocks, partial(check_page, draft))


def _step(number: int, blocks: Sequence[Block]) -> Part:
    rules = [load_guidelines(language).steps[number - 1] for language in ("en", "zh")]
    return Part(
        message(f"form.step.{rules[0].id}"), blocks, number, Translated(*(rule.text for rule in rules))
    )


def _hint(text: Words, when: When) -> Part:
    return Part("", (Text(text, "muted"),), when=when)


def _deletion(reason: Field) -> tuple[Block, ...]:
    always = (Text(message("form.appliances"), "muted"), Chips(APPLIANCES))
    return (*always, Field("deleting", "switch"), reason._replace(when=When("deleting"), own_words=True))


_TYPE_FIRST: Final = _hint(message("form.type_first"), When("type", unless=True))


def type_guide() -> tuple[Block, ...]:
    """Return the guide to the types: the test, and a definition of each with an example."""
    guides = [load_guidelines(language) for language in ("en", "zh")]
    points: list[tuple[Words, Words]] = [
        (
            message(f"type.{kind}"),
            message(
                "form.definition",
                definition=Translated(*(guide.types[kind].definition for guide in guides)),
                example=Translated(*(guide.types[kind].example for guide in guides)),
            ),
        )
        for kind in ORDER
    ]
    return (Text(Translated(*(guide.type_test for guide in guides))), Points(points))


def _candidates(draft: Draft, ambiguous: Field) -> tuple[Block, ...]:
    choices = [
        Choice(
            kind,
            message(f"type.{kind}"),
            draft.candidates[kind].task if kind in draft.candidates else message("form.no_candidate"),
            _COLOURS[kind],
        )
        for kind in ORDER
    ]
    later = tuple(kind for kind in ORDER if earlier_candidates(draft, kind))
    why = _FIELDS["passed_over"]._replace(when=When("type", later), own_words=True)
    return (
        Part(message("form.type_test"), type_guide(), folded=True),
        _FIELDS["type"]._replace(choices=choices),
        *((why,) if later else ()),
        *_field_per_type(draft, ambiguous),
        Difference("clear", "ambiguous", message("form.difference")),
    )


def _field_per_type(draft: Draft, field: Field) -> list[Field]:
    """Return a field for each type, so that choosing another type loses no text."""
    attribute = "task" if field.name == "ambiguous" else field.name
    return [
        field._replace(
            value=getattr(draft.candidates[kind], attribute) if kind in draft.candidates else "",
            when=When("type", (kind,)),
            among=kind,
        )
        for kind in ORDER
    ]


def _plans(draft: Draft, fields: Mapping[str, Field]) -> tuple[Block, ...]:
    plans = [
        fields[name]._replace(rows=max(4, len(fields[name].value or ())))
        for name in ("clear_plan", "ambiguous_plan")
    ]
    return (
        Part("", plans, beside=True),
        fields["step"]._replace(value=proposed_step(draft), least=1),
        Difference("clear_plan", "ambiguous_plan", message("form.lines"), "step"),
    )


def _shortlist(field: Field) -> tuple[Block, ...]:
    others = tuple(kind for kind in ORDER if kind != "preferences")
    return (
        _TYPE_FIRST,
        _hint(message("form.shortlist_other"), When("type", others)),
        field._replace(when=When("type", ("preferences",)), picks="objects"),
    )


# ---- checks while the form is filled in


def check_page(draft: Draft, values: Mapping[str, Any], language: str) -> Checked:
    """Return the problems of a form in its current state, and a preview of what its intent accepts."""
    if values.get("deleting"):
        reason = str(values.get("delete") or "")
        missing = () if reason.strip() else (Problem("no_reason", "delete"),)
        return Checked([_problem_in_words(problem, language) for problem in missing])
    problems = [_problem_in_words(problem, language) for problem in check_fields(draft, values)]
    return Checked(problems, _acceptance_blocks(draft, values))


def _problem_in_words(problem: Problem, language: str) -> FieldProblem:
    return FieldProblem(problem.field, problem.code, sentence_of(problem, language), problem.level)


def sentence_of(problem: Problem, language: str) -> str:
    """Return a problem as a sentence, with the names of types."""
    if problem.code == "passed_over":
        types = load_guidelines(language).types
        problem = problem._replace(
            details=tuple(types[kind].name for kind in ORDER if kind in problem.details)
        )
    return problem.sentence(language)


def _acceptance_blocks(draft: Draft, values: Mapping[str, Any]) -> tuple[Block, ...]:
    """Return the plans' lines that the intent and the variants accept."""
    # The preview does not depend on type and step, which may not be chosen yet.
    pair = read_pair_form(draft, {**values, "type": AMBIGUITIES[0], "step": None, "delete": ""}).pair
    rows = [
        (
            Cell(line, "strong" if by_intent else "" if by_variants else "muted"),
            message("form.accepts_intent") if by_intent else "",
            message("form.accepts_variants") if by_variants else "",
        )
        for line, by_intent, by_variants in (preview(pair) if pair else ())
    ]
    return (Text(message("form.accepts"), "muted"), Table(rows)) if rows else ()
