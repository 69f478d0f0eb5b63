"""Consolidating linguists' annotations: validators, what they decide, the dataset that comes of it (spec 4).

An example is due once two linguists have annotated it; it is dropped if either discards it. One validator
sees both annotations and submits one form. Several may look at the same examples, blind to each other, to
measure their agreement; where their outcomes differ (discard, labels, ambiguous sides), the example is
discussed, and one form more decides.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Literal

from logs import LogReader
from simulator.ambient.annotation.linguists import (
    Annotated,
    annotated,
    validator_measures,
)
from simulator.ambient.annotation.linguists import Form as LinguistForm
from simulator.ambient.annotation.rules import Annotation, consolidated_example
from simulator.ambient.examples import Disambiguation, Example, squeeze
from simulator.ambient.files.dataset import DATASET
from simulator.ambient.intervals import Values
from simulator.ambient.labels import SIDES
from simulator.errors import InputError
from simulator.judging import DecidingForm, JudgingForm, Opinions

State = Literal["open", "dropped", "due", "discuss", "discarded", "validated"]
"""Too few annotations; discarded by a linguist; no validator yet; validators differ and nobody has decided;
discarded by validators; a row of the dataset."""


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
        """Names it at its desk."""
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

    @property
    def voices(self) -> tuple[Annotation, ...]:
        """Return what each linguist said; no rewrites where a published row does not say whose they are."""
        return tuple(
            form.annotation.model_copy(update={"rewrites": ()}) if self._shared(form) else form.annotation
            for form in self.annotated.forms
        )

    @property
    def merged(self) -> tuple[Disambiguation, ...]:
        """Return rewrites by one or several linguists, as published rows have them."""
        forms = self.annotated.forms
        return tuple(rewrite for form in forms if self._shared(form) for rewrite in form.annotation.rewrites)

    def _shared(self, form: LinguistForm) -> bool:
        return form.merged and len(self.annotated.forms) > 1

    @property
    def _settled(self) -> Consolidated | None:
        return self.opinions.settled(outcome)


@dataclass(frozen=True, slots=True, kw_only=True)
class Flow:
    """Counts of the examples at each step of the work, as in the paper's Fig. 2.

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


def results(reader: LogReader, run_id: str) -> tuple[Result, ...]:
    """Return how far every example of a run is, in the run's order.

    Raises:
        InputError: if the run has no linguists' annotations; so do all functions here.
    """
    opinions = CONSOLIDATION.read(reader, run_id)
    examples = annotated(reader, run_id).values()
    return tuple(Result(example, opinions.get(example.key, Opinions())) for example in examples)


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


def agreement(reader: LogReader, run_id: str) -> Values:
    """Return the agreement of validators on the examples that several have seen (spec 4)."""
    sets = {
        result.key: [None if form.discard else form.labels for form in result.forms.values()]
        for result in results(reader, run_id)
        if len(result.forms) > 1
    }
    return validator_measures(sets)


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


def outcome(annotation: Annotation) -> Hashable:
    """Return what validators may differ in: not the words of rewrites or the reasons of discarding.

    Of a valid form all rewrites leave a side as it was, or make two distinct readings of it at least.
    """
    ambiguous = tuple(
        len({squeeze(rewrite.sentence(side)) for rewrite in annotation.rewrites}) > 1 for side in SIDES
    )
    return annotation.discard is None, annotation.labels, ambiguous
