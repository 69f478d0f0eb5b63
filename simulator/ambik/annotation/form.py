"""An annotator's form: what is wrong with it, and what its intent accepts (spec 3, 11.1).

The fields as plain values, and how they are read: `forms.form_record`, `forms.read_pair_form`. The rules:
`rules`. Problems are told by code, field and what was found; tables/pair_form.yaml has their sentences
in English and Chinese.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from simulator.ambik.annotation.rules import Problem, pair_problems, passed_by
from simulator.ambik.forms import read_pair_form
from simulator.ambik.intents import acceptable, realises
from simulator.ambik.pairs import Draft, Pair
from simulator.ambik.playing import ANNOTATOR
from simulator.ambik.records import PairForm
from simulator.ambik.terms import AMBIGUITIES
from simulator.forms import SeatFormError

__all__ = [
    "Accepted",
    "PairFormError",
    "Problem",
    "check_fields",
    "check_pair_form",
    "errors_of",
    "preview",
    "problem_record",
    "refuse_errors",
]


class Accepted(NamedTuple):
    """An action, and what accepts it.

    Attributes:
        intent: whether it is what is meant.
        variants: whether it may be meant before the answer.
    """

    text: str
    intent: bool
    variants: bool


class PairFormError(SeatFormError[Problem]):
    """An annotator's form breaks rules, warnings not among them; nothing is kept."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        super().__init__(problems, ANNOTATOR, code="pair")


def check_pair_form(
    draft: Draft, form: PairForm, *, words: Iterable[str] | None = None
) -> tuple[Problem, ...]:
    """Return what is, or may be, wrong with a form; nothing if it is good.

    Args:
        draft: what it is about.
        form: as read.
        words: names of objects that a text may name; default: those of the built-in scenes.
    """
    if form.pair is None:
        return () if form.delete.strip() else (Problem("no_reason", "delete"),)
    kept = (Problem("deleted", "delete"),) if form.delete else ()
    return (*kept, *_choice(draft, form, form.pair), *pair_problems(draft, form.pair, words=words))


def check_fields(draft: Draft, move: Mapping[str, Any]) -> tuple[Problem, ...]:
    """Return the same of a form that is being filled in: the type may be missing, the step any number.

    Args:
        draft: what it is about.
        move: its fields (`forms.read_pair_form`).

    Raises:
        SeatError: if it is no such form.
    """
    typed, step = move.get("type") in AMBIGUITIES, move.get("step")
    negative = type(step) is int and step < 0
    filled = {**move, "type": move["type"] if typed else AMBIGUITIES[0], "step": None if negative else step}
    form = read_pair_form(draft, filled)
    if form.pair is None or typed:
        problems = check_pair_form(draft, form)
    else:
        rest = pair_problems(draft, form.pair, typed=False)
        problems = (Problem("no_type", "type"), *_ticked(form), *rest)
    if not negative:
        return problems
    plans = (form.pair.clear_plan, form.pair.ambiguous_plan) if form.pair else ()
    outside = Problem("step_outside", "step", tuple(str(len(plan)) for plan in plans))
    return tuple(outside if problem.code == "no_step" else problem for problem in problems)


def errors_of(problems: Iterable[Problem]) -> tuple[Problem, ...]:
    """Return those with which a form cannot stay as it is."""
    return tuple(problem for problem in problems if problem.level == "error")


def refuse_errors(problems: Iterable[Problem]) -> None:
    """Refuse a form that breaks rules.

    Raises:
        PairFormError: if there is an error among the problems; warnings pass.
    """
    if errors := errors_of(problems):
        raise PairFormError(errors)


def problem_record(problem: Problem) -> dict[str, str]:
    """Return a problem as plain values, as a turn keeps it."""
    return {
        "code": problem.code,
        "field": problem.field,
        "detail": problem.detail,
        "level": problem.level,
    }


def preview(pair: Pair, options: Sequence[str] = ()) -> tuple[Accepted, ...]:
    """Return what intent and variants accept of the plans' lines, then of other actions; each text once.

    Args:
        pair: as it stands; nothing is shown while neither is written.
        options: actions that might be done instead.
    """
    if pair.intent is None and not pair.variants:
        return ()
    intent = pair.intent
    lines = dict.fromkeys((*pair.clear_plan, *pair.ambiguous_plan, *options))
    return tuple(
        Accepted(line, intent is not None and realises(intent, line), acceptable(pair.variants, line))
        for line in lines
    )


def _choice(draft: Draft, form: PairForm, pair: Pair) -> tuple[Problem, ...]:
    earlier = passed_by(draft, pair.type)
    unsaid = bool(earlier) and not form.passed_over.strip()
    said = (Problem("passed_over", "passed_over", earlier),) if unsaid else ()
    return (*said, *_ticked(form))


def _ticked(form: PairForm) -> tuple[Problem, ...]:
    return () if form.one_ambiguity else (Problem("not_one", "one_ambiguity"),)
