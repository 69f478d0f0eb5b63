"""Forms as somebody filled them in, people and models alike: read, checked, made ready for the log.

What is wrong with one is a `SeatError` whose code a page translates::

    over            nothing is asked any more
    label           no label, or none that there is
    plausible       not one answer, true or false, per candidate
    relabel         not one label per pair
    true_false      neither true nor false
    annotation      a linguist's form breaks rules: `FormError.problems` names them
    too_long        more letters than are kept
    malformed       a page sent something else than its form
    screened_out    too few answers of the qualification were right
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from simulator.ambient.annotation.rules import (
    Annotation,
    Problem,
    check_annotation,
    describe,
    read_annotation,
)
from simulator.ambient.labels import LABELS, SIDES, Label
from simulator.ambient.playing import ANNOTATOR, Kind
from simulator.ambient.views import Shown
from simulator.errors import InputError, SeatError
from simulator.forms import NO, YES, SeatFormError, checked_length
from simulator.seats import Reply

TRUE: Final = "true"
FALSE: Final = "false"


class FormError(SeatFormError[Problem]):
    """A linguist's form breaks rules (spec 3); nothing is logged, and it can be mended."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        listed = "; ".join(f"{problem.field}: {problem} ({problem.code})" for problem in problems)
        super().__init__(problems, ANNOTATOR, code="annotation", said=listed)


class Form(NamedTuple):
    """A form that may be logged.

    Attributes:
        text: the turn's text: the answer in words.
        answers: the payload's fields.
    """

    text: str
    answers: dict[str, Any]


def read_form(kind: Kind, shown: Shown, reply: Reply) -> Form:
    """Return the form of a step that people do, too.

    Args:
        kind: of the step.
        shown: what was shown in it.
        reply: `Reply.move` is the form.

    Raises:
        SeatError: if it is no form of this step, or breaks a rule.
    """
    move = reply.move or {}
    match kind:
        case "label" | "qualification":
            label = _label(move.get("label"), "label")
            return Form(label, {"answer": label})
        case "plausible":
            answers = _list(move.get("plausible"), len(shown.candidates), "plausible")
            flags = [_flag(answer, "plausible") for answer in answers]
            return Form(plausible_text(flags), {"answers": flags})
        case "relabel":
            answers = _list(move.get("labels"), len(shown.pairs), "relabel")
            labels = [_label(answer, "relabel") for answer in answers]
            return Form(", ".join(labels), {"answers": labels, "comment": _comment(move)})
        case "true_false":
            flag = _flag(move.get("answer"), "true_false")
            return Form(TRUE if flag else FALSE, {"prediction": flag})
        case "annotate":
            annotation = _annotation(shown, move)
            return Form(describe(annotation), annotation.payload())
    raise SeatError(f"Nobody fills in a form in the step {kind}.", ANNOTATOR, code="malformed")


def plausible_text(flags: Sequence[bool]) -> str:
    """Return answers to the candidates as a turn's text."""
    return " ".join(YES if flag else NO for flag in flags)


def _label(value: object, code: str) -> Label:
    for label in LABELS:
        if value == label:
            return label
    raise SeatError(f"{value!r} is no label; choose {', '.join(LABELS)}.", ANNOTATOR, code=code)


def _flag(value: object, code: str) -> bool:
    if not isinstance(value, bool):
        raise SeatError(f"{value!r} is neither true nor false.", ANNOTATOR, code=code)
    return value


def _list(value: object, length: int, code: str) -> list[Any]:
    if not isinstance(value, list | tuple) or len(value) != length:
        raise SeatError(f"Answer all {length} of them, once each.", ANNOTATOR, code=code)
    return list(value)


def _comment(move: Mapping[str, Any]) -> str:
    comment = move.get("comment") or ""
    if not isinstance(comment, str):
        raise SeatError("A comment is a text.", ANNOTATOR, code="malformed")
    return checked_length(comment, ANNOTATOR).strip()


def _annotation(shown: Shown, move: Mapping[str, Any]) -> Annotation:
    try:
        annotation = read_annotation(move)
    except InputError as error:
        raise SeatError(str(error), ANNOTATOR, code="malformed") from error
    rewritten = (rewrite.sentence(side) for rewrite in annotation.rewrites for side in SIDES)
    for text in (annotation.comment, *rewritten):
        checked_length(text, ANNOTATOR)
    if problems := check_annotation(shown.premise, shown.hypothesis, annotation):
        raise FormError(problems)
    return annotation
