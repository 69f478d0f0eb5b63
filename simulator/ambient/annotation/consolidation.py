"""Consolidating linguists' annotations: validators, what they decide, the dataset that comes of it (spec 4).

An example is due once two linguists have annotated it; it is dropped if either discards it. One validator
sees both annotations and submits one form. Several may look at the same examples, blind to each other, to
measure their agreement; where their outcomes differ (discard, labels, ambiguous sides), the example is
discussed, and one form more decides.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Literal

from logs import LogReader
from logs.rows import Judgment
from simulator.ambient.annotation.linguists import Annotated, ValidatorMeasures, annotated, validator_measures
from simulator.ambient.annotation.rules import (
    Annotation,
    Problem,
    check_annotation,
    consolidated_example,
    flags,
)
from simulator.ambient.data import load_guidelines
from simulator.ambient.examples import Disambiguation, Example
from simulator.ambient.files.dataset import DATASET
from simulator.errors import InputError
from simulator.judging import DecidingForm, DeskFormError, JudgingForm, Opinions, in_own_order, require_known

State = Literal["open", "dropped", "due", "discuss", "discarded", "validated"]
"""Too few annotations; discarded by a linguist; no validator yet; validators differ and nobody has decided;
discarded by validators; a row of the dataset."""


class FormProblems(DeskFormError[Problem]):
    """A validator's form breaks rules; nothing is written."""


class Consolidated(Annotation, DecidingForm):
    """A validator's form: an annotation, and what else they say.

    Attributes:
        checklist: names of the points of the guidelines' checklist that were ticked.
    """

    checklist: tuple[str, ...] = ()


CONSOLIDATION: Final = JudgingForm(kind="ambient.consolidation", model=Consolidated, verb="consolidates")


@dataclass(frozen=True, slots=True)
class Result:
    """The progress of an example."""

    annotated: Annotated
    opinions: Opinions[Consolidated] = field(default_factory=Opinions)

    @property
    def key(self) -> str:
        """Names it in `consolidate`."""
        return self.annotated.key

    @property
    def example(self) -> Example:
        """The example."""
        return self.annotated.example

    @property
    def forms(self) -> Mapping[str, Consolidated]:
        """The form of every validator, without those that decide."""
        return self.opinions.blind

    @property
    def state(self) -> State:
        """Return the state that the example is in."""
        if self.annotated.dropped:
            return "dropped"
        if (settled := self._settled) is not None:
            return "discarded" if settled.discard else "validated"
        if self.forms:
            return "discuss"
        return "due" if self.annotated.complete else "open"

    @property
    def annotation(self) -> Annotation | None:
        """Return the form that holds; None unless the state is ``discarded`` or ``validated``."""
        return None if self.annotated.dropped else self._settled

    def awaits(self, validator: str, validators: int) -> bool:
        """Return True if a validator is to see it alone."""
        return self.state not in ("open", "dropped") and self.opinions.awaits(validator, validators)

    @property
    def _settled(self) -> Consolidated | None:
        return self.opinions.settled(lambda form: _outcome(self.example, form))


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A validator's view of an example.

    Attributes:
        key: names it in `consolidate`.
        id: of the example.
        voices: what the linguists said, the oldest first, without who they are; no rewrites where a published
            row does not attribute them.
        merged: rewrites by one or both of them, as published rows have them: whose each is, nobody knows.
        mine: the validator's own newest form, None before there is one.
    """

    key: str
    id: str
    premise: str
    hypothesis: str
    voices: tuple[Annotation, ...] = ()
    merged: tuple[Disambiguation, ...] = ()
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
    """Return the names of the points that validators may tick; texts are in `data.load_guidelines`."""
    return tuple(name for name, _ in load_guidelines().checklist)


def results(reader: LogReader, run_id: str) -> tuple[Result, ...]:
    """Return how far every example of a run is, in the run's order.

    Raises:
        InputError: if the run has no linguists' annotations; so do all functions here.
    """
    opinions = CONSOLIDATION.read(reader, run_id)
    examples = annotated(reader, run_id).values()
    return tuple(Result(example, opinions.get(example.key, Opinions())) for example in examples)


def to_consolidate(
    reader: LogReader, run_id: str, validator: str, *, validators: int = 1
) -> tuple[Case, ...]:
    """Return the examples that a validator is to see next, in an order of the validator's own.

    Left out is what the validator has consolidated, and what `validators` others have.
    """
    due = [_case(result) for result in results(reader, run_id) if result.awaits(validator, validators)]
    return in_own_order(due, "consolidation", validator, lambda case: case.key)


def case(reader: LogReader, run_id: str, key: str, validator: str = "") -> Case:
    """Return one example that may be consolidated, with the validator's own form if there is one.

    Raises:
        InputError: if there is none of that key, linguists are not done with it, or one discarded it.
    """
    return _case(_consolidable(reader, run_id, key), validator)


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
    """Return the row that a validator's form makes; nothing is written here.

    The same `submission` is the same form, however often it is sent; a form that `decides` ends a discussion.

    Raises:
        FormProblems: if the form breaks rules.
        InputError: if the example cannot be consolidated, a point is unknown, or nothing is to be decided.
    """
    CONSOLIDATION.require_name(validator)
    result = _consolidable(reader, run_id, key)
    example = result.example
    if problems := check_annotation(example.premise, example.hypothesis, annotation, consolidated=True):
        raise FormProblems(problems)
    ticked, known = tuple(checklist), checklist_points()
    require_known(ticked, known, "point of the checklist")
    if decides and result.state != "discuss" and result.opinions.decided is None:
        message = f"Example {example.id}: validators do not differ, so nothing is to be decided."
        raise InputError(message, code="validators_agree", example=example.id)
    points = tuple(name for name in known if name in ticked)
    form = Consolidated(**annotation.payload(), checklist=points, decides=decides)
    return CONSOLIDATION.judgment(key, validator, form, submission=submission, source=run_id)


def to_discuss(reader: LogReader, run_id: str, validator: str, *, validators: int = 1) -> tuple[Result, ...]:
    """Return the examples on which validators differ, without those that `validator` has yet to see alone."""
    return tuple(
        result
        for result in results(reader, run_id)
        if result.state == "discuss" and not result.awaits(validator, validators)
    )


def flow(reader: LogReader, run_id: str) -> Flow:
    """Return how many examples of a run came how far."""
    states = Counter(result.state for result in results(reader, run_id))
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
    """Return the agreement of validators on the examples that several have seen (spec 4)."""
    sets = {
        result.key: [None if form.discard else form.labels for form in result.forms.values()]
        for result in results(reader, run_id)
        if len(result.forms) > 1
    }
    return validator_measures(sets, seed=seed)


def consolidated_examples(reader: LogReader, run_id: str) -> tuple[Example, ...]:
    """Return the rows of the dataset that a run has become so far, in the run's order."""
    return tuple(
        consolidated_example(result.example, result.annotation)
        for result in results(reader, run_id)
        if result.state == "validated" and result.annotation is not None
    )


def export_dataset(reader: LogReader, run_id: str, path: str | Path) -> int:
    """Write the consolidated rows in the published format (spec 1.1), and return how many there are.

    Raises:
        InputError: if there are none, or the file cannot be written.
    """
    examples = consolidated_examples(reader, run_id)
    if not examples:
        raise InputError(f"{run_id}: no example is consolidated yet, so there is nothing to write.")
    DATASET.write(path, examples)
    return len(examples)


def _case(result: Result, validator: str = "") -> Case:
    example, forms = result.example, result.annotated.forms
    # The rewrites of a published row may be somebody else's, too.
    several = len(forms) > 1
    return Case(
        key=result.key,
        id=example.id,
        premise=example.premise,
        hypothesis=example.hypothesis,
        voices=tuple(
            form.annotation.model_copy(update={"rewrites": ()})
            if form.merged and several
            else form.annotation
            for form in forms
        ),
        merged=tuple(
            rewrite for form in forms if form.merged and several for rewrite in form.annotation.rewrites
        ),
        mine=result.forms.get(validator),
    )


def _outcome(example: Example, annotation: Annotation) -> tuple[object, ...]:
    """Return what validators may differ in: not the words of rewrites or the reasons of discarding."""
    ambiguous = flags(example.premise, example.hypothesis, annotation)
    return annotation.discard is None, annotation.labels, ambiguous


def _consolidable(reader: LogReader, run_id: str, key: str) -> Result:
    result = next((result for result in results(reader, run_id) if result.key == key), None)
    if result is None:
        message = f"There is no example {key!r} in {run_id}."
        raise InputError(message, code="no_example", example=key, data=run_id)
    id = result.example.id
    if result.state == "dropped":
        message = f"Example {id} was discarded by a linguist; it is dropped."
        raise InputError(message, code="dropped", example=id)
    if result.state == "open":
        message = f"Example {id} has too few annotations to be consolidated."
        raise InputError(message, code="too_few_annotations", example=id)
    return result
