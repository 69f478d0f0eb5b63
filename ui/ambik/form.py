"""What an annotator is told about a form as it stands: problems by field, and what its intent accepts."""

from __future__ import annotations

from typing import Any, NamedTuple

from simulator.ambik.annotation.form import Accepted, Problem, check_fields, preview
from simulator.ambik.forms import read_pair_form
from simulator.ambik.pairs import Draft
from simulator.ambik.terms import AMBIGUITIES
from ui.ambik.calls import PairFields
from ui.i18n import Strings


class FormProblem(NamedTuple):
    """A problem in words; with an ``error`` the form cannot be sent, with a ``warning`` it can."""

    text: str
    level: str


def problems_in_words(texts: Strings, draft: Draft, form: PairFields) -> dict[str, tuple[FormProblem, ...]]:
    """Return what is, or may be, wrong with the form, by field, in the order of the work.

    Raises:
        SeatError: if a text is longer than is kept, or a list has too many entries.
    """
    found: dict[str, dict[FormProblem, None]] = {}
    for check_field in check_fields(draft, form.model_dump(mode="json")):
        said = FormProblem(sentence_of(texts, check_field), check_field.level)
        found.setdefault(check_field.field, {})[said] = None
    return {field: tuple(some) for field, some in found.items()}


def accepted(draft: Draft, form: PairFields) -> tuple[Accepted, ...]:
    """Return what intent and variants accept of the plans' lines."""
    # What is accepted depends on neither, and neither need be chosen yet.
    move = form.model_dump(mode="json") | {"type": AMBIGUITIES[0], "step": None, "delete": ""}
    pair = read_pair_form(draft, move).pair
    return () if pair is None else preview(pair)


def check_answer(texts: Strings, draft: Draft, form: PairFields) -> dict[str, Any]:
    """Return what the browser is answered: ``problems``, ``errors`` (how many of them are), ``accepts``."""
    problems = problems_in_words(texts, draft, form)
    return {
        "problems": {field: [one._asdict() for one in some] for field, some in problems.items()},
        "errors": sum(one.level == "error" for problem in problems.values() for one in problem),
        "accepts": [one._asdict() for one in accepted(draft, form)],
    }


def sentence_of(texts: Strings, problem: Problem) -> str:
    """Return a problem in the page's language; types are called by their names."""
    if problem.code == "passed_over":
        problem = problem._replace(details=tuple(texts(f"ambik.type.{kind}") for kind in problem.details))
    return problem.sentence(texts.language)
