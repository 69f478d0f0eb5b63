"""What validators said of linguists' examples, and what holds of it (spec 4).

A form is a `Judgment` on the item:

========================= ========== =================================================================
kind                      about      value
========================= ========== =================================================================
``ambient.consolidation`` an item    the form (`rules.annotation_payload`), ``run``,
                                     ``checklist`` (points ticked), ``decides``
========================= ========== =================================================================

Of each validator the newest form counts, in the place of the first; of those that decide, the newest.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final, Literal, NamedTuple

from logs import LogReader
from simulator.ambient.annotation.annotated import Annotated, annotated
from simulator.ambient.annotation.rules import flags, read_annotation
from simulator.ambient.examples import Example
from simulator.ambient.views import Annotation

KIND: Final = "ambient.consolidation"
State = Literal["open", "dropped", "due", "discuss", "discarded", "validated"]
"""Too few annotations; discarded by a linguist; no validator yet; validators differ and nobody has decided;
discarded by validators; a row of the dataset."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Consolidated:
    """A validator's form.

    Attributes:
        checklist: names of the points of the guidelines' checklist that were ticked.
        decides: whether it ends a discussion.
    """

    validator: str
    annotation: Annotation
    checklist: tuple[str, ...] = ()
    decides: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """How far an example is.

    Attributes:
        forms: of every validator, without those that decide.
        decided: the form that ended a discussion, if one did.
        annotation: what holds; None unless the state is ``discarded`` or ``validated``.
    """

    key: str
    example: Example
    state: State
    forms: Mapping[str, Consolidated] = field(default_factory=dict)
    decided: Consolidated | None = None
    annotation: Annotation | None = None


class Forms(NamedTuple):
    """Validators' newest forms.

    Attributes:
        blind: key -> validator -> form, validators in the order of their first.
        deciding: key -> the form that ended a discussion.
    """

    blind: Mapping[str, Mapping[str, Consolidated]]
    deciding: Mapping[str, Consolidated]


def results(reader: LogReader, run_id: str) -> tuple[Result, ...]:
    """How far every example of a run is, in the run's order.

    Raises:
        InputError: if the run has no linguists' annotations.
    """
    forms = read_forms(reader, run_id)
    return tuple(result_of(one, forms) for one in annotated(reader, run_id).values())


def result_of(one: Annotated, forms: Forms) -> Result:
    """How far one example is, given all forms of its run."""
    return _result(one, forms.blind.get(one.key, {}), forms.deciding.get(one.key))


def read_forms(reader: LogReader, run_id: str) -> Forms:
    """All forms on a run's examples; those of validators who have been erased are gone."""
    blind: dict[str, dict[str, Consolidated]] = {}
    deciding: dict[str, Consolidated] = {}
    for key, form in _judgments(reader, run_id):
        if form.decides:
            deciding[key] = form
        else:
            blind.setdefault(key, {})[form.validator] = form
    return Forms(blind, deciding)


def _result(one: Annotated, forms: Mapping[str, Consolidated], decided: Consolidated | None) -> Result:
    settled = decided
    if decided is None and forms and len({_outcome(one.example, form) for form in forms.values()}) == 1:
        settled = next(iter(forms.values()))
    state: State
    if one.dropped:
        state = "dropped"
    elif settled is not None:
        state = "discarded" if settled.annotation.discard else "validated"
    elif forms:
        state = "discuss"
    else:
        state = "due" if one.complete else "open"
    holds = settled.annotation if settled and state in ("discarded", "validated") else None
    return Result(
        key=one.key, example=one.example, state=state, forms=forms, decided=decided, annotation=holds
    )


def _outcome(example: Example, form: Consolidated) -> tuple[object, ...]:
    """What validators may differ in; the words of rewrites and the reasons of discarding are not it."""
    annotation = form.annotation
    return (
        annotation.discard is None,
        annotation.labels,
        flags(example.premise, example.hypothesis, annotation),
    )


def _judgments(reader: LogReader, run_id: str) -> Iterator[tuple[str, Consolidated]]:
    for one in reader.judgments(kind=KIND):
        if one.item_hash is not None and one.value.get("run") == run_id:
            form = Consolidated(
                validator=one.annotator,
                annotation=read_annotation(one.value),
                checklist=tuple(one.value["checklist"]),
                decides=one.value["decides"],
            )
            yield one.item_hash, form
