"""Consolidating linguists' annotations: validators, what they decide, the dataset that comes of it (spec 4).

An example is due once two linguists have annotated it; it is dropped if either discards it. One validator
sees both annotations and submits one form. Several may look at the same examples, blind to each other, to
measure their agreement; where their outcomes differ (discard, labels, ambiguous sides), the example is
discussed, and one form more decides. How forms are logged, and which hold: `validated`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from logs import LogReader
from logs.rows import Judgment
from simulator.ambient.annotation.annotated import Annotated, Form, annotated
from simulator.ambient.annotation.linguists import ValidatorMeasures, validator_measures
from simulator.ambient.annotation.rules import (
    Problem,
    annotation_payload,
    check_annotation,
    consolidated_example,
)
from simulator.ambient.annotation.validated import (
    KIND,
    Consolidated,
    Forms,
    Result,
    read_forms,
    result_of,
    results,
)
from simulator.ambient.data import load_guidelines
from simulator.ambient.examples import Disambiguation, Example
from simulator.ambient.files.dataset import write_dataset
from simulator.ambient.labels import LabelSet
from simulator.ambient.views import Annotation
from simulator.errors import InputError
from simulator.forms import DeskFormError, desk_row, in_own_order
from simulator.word_diff import Piece, word_diff


class FormProblems(DeskFormError[Problem]):
    """A validator's form breaks rules; nothing is written."""


@dataclass(frozen=True, slots=True)
class ShownRewrite:
    """A rewrite, and for each sentence what it changes."""

    rewrite: Disambiguation
    premise: tuple[Piece, ...]
    hypothesis: tuple[Piece, ...]


@dataclass(frozen=True, slots=True)
class Voice:
    """What one linguist said, without who that is; no rewrites where a row does not attribute them."""

    labels: LabelSet
    rewrites: tuple[ShownRewrite, ...]
    comment: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """What a validator sees of an example.

    Attributes:
        key: names it in `consolidate`.
        id: of the example.
        voices: the linguists', the oldest first.
        merged: rewrites by one or both of them, as published rows have them: whose each is, nobody knows.
        mine: the validator's own newest form, None before there is one.
    """

    key: str
    id: str
    premise: str
    hypothesis: str
    voices: tuple[Voice, ...]
    merged: tuple[ShownRewrite, ...] = ()
    mine: Consolidated | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Flow:
    """How many examples came how far, as in the paper's Fig. 2.

    Attributes:
        generated: examples that linguists were given.
        annotated: of them, with the annotations they need.
        dropped: of the annotated, discarded by a linguist.
        due: of the rest, not yet looked at by a validator.
        discuss: on which validators differ.
        discarded: by validators.
        validated: rows of the dataset.
    """

    generated: int
    annotated: int
    dropped: int
    due: int
    discuss: int
    discarded: int
    validated: int


def checklist_points() -> tuple[str, ...]:
    """The names of the points that validators may tick; texts are in `data.load_guidelines`."""
    return tuple(name for name, _ in load_guidelines().checklist)


def to_consolidate(
    reader: LogReader, run_id: str, validator: str, *, validators: int = 1
) -> tuple[Case, ...]:
    """The examples that a validator is to see next, in an order of the validator's own.

    Left out is what the validator has consolidated, and what `validators` others have.

    Args:
        reader: of the log.
        run_id: of linguists.
        validator: the validator's pseudonym.
        validators: that are to see each example.

    Raises:
        InputError: if the run has no linguists' annotations.
    """
    there = annotated(reader, run_id)
    due = [
        _case(there[one.key], None) for one in results(reader, run_id) if _is_due(one, validator, validators)
    ]
    return in_own_order(due, "consolidation", validator, lambda one: one.key)


def case(reader: LogReader, run_id: str, key: str, validator: str = "") -> Case:
    """One example that may be consolidated, with the validator's own form if there is one.

    Raises:
        InputError: if there is none of that key, linguists are not done with it, or one discarded it.
    """
    forms = read_forms(reader, run_id)
    one = _consolidable(reader, run_id, key, forms)
    return _case(one, forms.blind.get(key, {}).get(validator))


def consolidate(
    reader: LogReader,
    run_id: str,
    key: str,
    validator: str,
    annotation: Annotation,
    *,
    submission: str,
    checklist: Iterable[str] = (),
    decides: bool = False,
) -> Judgment:
    """The row that a validator's form makes; nothing is written here.

    Args:
        reader: of the log.
        run_id: of linguists.
        key: of the example.
        validator: the validator's pseudonym.
        annotation: the form.
        submission: the same is the same form, however often it is sent.
        checklist: points that the validator ticked.
        decides: whether it ends a discussion.

    Raises:
        FormProblems: if the form breaks rules.
        InputError: if the example cannot be consolidated, a point is unknown, or nothing is to be decided.
    """
    if not validator.strip():
        raise InputError("Say who consolidates: a name, or any other pseudonym.", code="nameless")
    forms = read_forms(reader, run_id)
    one = _consolidable(reader, run_id, key, forms)
    example = one.example
    if problems := check_annotation(example.premise, example.hypothesis, annotation, consolidated=True):
        raise FormProblems(problems)
    ticked, known = tuple(dict.fromkeys(checklist)), checklist_points()
    if unknown := [name for name in ticked if name not in known]:
        raise InputError(
            f"{unknown[0]!r} is no point of the checklist; they are {', '.join(known)}.",
            code="no_choice",
            value=unknown[0],
        )
    if decides:
        result = result_of(one, forms)
        if result.state != "discuss" and result.decided is None:
            raise InputError(
                f"Example {example.id}: validators do not differ, so nothing is to be decided.",
                code="validators_agree",
                example=example.id,
            )
    value = {
        "run": run_id,
        **annotation_payload(annotation),
        "checklist": [name for name in known if name in ticked],
        "decides": decides,
    }
    return desk_row(KIND, run_id, key, validator, value, submission=submission)


def to_discuss(reader: LogReader, run_id: str, validator: str, *, validators: int = 1) -> tuple[Result, ...]:
    """The examples on which validators differ, without those that `validator` has yet to see alone.

    Raises:
        InputError: if the run has no linguists' annotations.
    """
    found = (one for one in results(reader, run_id) if one.state == "discuss")
    return tuple(one for one in found if not _is_due(one, validator, validators))


def flow(reader: LogReader, run_id: str) -> Flow:
    """How many examples of a run came how far.

    Raises:
        InputError: if the run has no linguists' annotations.
    """
    states = Counter(one.state for one in results(reader, run_id))
    return Flow(
        generated=states.total(),
        annotated=states.total() - states["open"],
        dropped=states["dropped"],
        due=states["due"],
        discuss=states["discuss"],
        discarded=states["discarded"],
        validated=states["validated"],
    )


def agreement(reader: LogReader, run_id: str, *, seed: int = 0) -> ValidatorMeasures:
    """Agreement of validators on the examples that several have seen (spec 4).

    Raises:
        InputError: if the run has no linguists' annotations.
    """
    said = {
        one.key: [None if form.annotation.discard else form.annotation.labels for form in one.forms.values()]
        for one in results(reader, run_id)
        if len(one.forms) > 1
    }
    return validator_measures(said, seed=seed)


def consolidated_examples(reader: LogReader, run_id: str) -> tuple[Example, ...]:
    """The rows of the dataset that a run has become so far, in the run's order.

    Raises:
        InputError: if the run has no linguists' annotations.
    """
    return tuple(
        consolidated_example(
            one.example.id,
            one.example.premise,
            one.example.hypothesis,
            one.annotation,
            meta=one.example.meta,
        )
        for one in results(reader, run_id)
        if one.state == "validated" and one.annotation is not None
    )


def export_dataset(reader: LogReader, run_id: str, path: str | Path) -> int:
    """Write the consolidated rows in the published format (spec 1.1).

    Returns:
        How many there are.

    Raises:
        InputError: if there are none, or the file cannot be written.
    """
    examples = consolidated_examples(reader, run_id)
    if not examples:
        raise InputError(f"{run_id}: no example is consolidated yet, so there is nothing to write.")
    write_dataset(path, examples)
    return len(examples)


def _case(one: Annotated, mine: Consolidated | None) -> Case:
    example = one.example
    return Case(
        key=one.key,
        id=example.id,
        premise=example.premise,
        hypothesis=example.hypothesis,
        voices=tuple(
            _voice(example, replace(form.annotation, rewrites=()) if _shared(one, form) else form.annotation)
            for form in one.forms
        ),
        merged=tuple(
            shown
            for form in one.forms
            if _shared(one, form)
            for shown in _voice(example, form.annotation).rewrites
        ),
        mine=mine,
    )


def _shared(one: Annotated, form: Form) -> bool:
    """Return True if the rewrites of a form may be somebody else's, too."""
    return form.merged and len(one.forms) > 1


def _voice(example: Example, annotation: Annotation) -> Voice:
    return Voice(
        annotation.labels,
        tuple(
            ShownRewrite(
                one, word_diff(example.premise, one.premise), word_diff(example.hypothesis, one.hypothesis)
            )
            for one in annotation.rewrites
        ),
        annotation.comment,
    )


def _consolidable(reader: LogReader, run_id: str, key: str, forms: Forms) -> Annotated:
    one = annotated(reader, run_id).get(key)
    if one is None:
        raise InputError(
            f"There is no example {key!r} in {run_id}.", code="no_example", example=key, data=run_id
        )
    if one.dropped:
        raise InputError(
            f"Example {one.example.id} was discarded by a linguist; it is dropped.",
            code="dropped",
            example=one.example.id,
        )
    if not one.complete and key not in forms.blind:
        raise InputError(
            f"Example {one.example.id} has too few annotations to be consolidated.",
            code="too_few_annotations",
            example=one.example.id,
        )
    return one


def _is_due(one: Result, validator: str, validators: int) -> bool:
    if one.state in ("open", "dropped") or one.decided is not None:
        return False
    return validator not in one.forms and len(one.forms) < validators
