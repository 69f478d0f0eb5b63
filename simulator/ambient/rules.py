"""What must hold of an annotated example (spec 1.1)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Final, NamedTuple

from simulator.ambient.examples import Example
from simulator.ambient.labels import SIDES, Side, format_labels
from trees.faults import Severity

MOST_DISAMBIGUATIONS: Final = 4


class Finding(NamedTuple):
    """Something wrong with an example.

    Attributes:
        code: the rule.
        message: begins with the field.
        severity: an ``error`` contradicts what the format means, a ``warning`` deserves a look.
    """

    code: str
    message: str
    severity: Severity = "error"


def findings(example: Example) -> Iterator[Finding]:
    """Yield what is wrong with an example; a pair that nobody has annotated has nothing to be wrong."""
    if example.labels or example.ambiguous or example.disambiguations:
        yield from _flags(example)
        yield from _number(example)
        for side in SIDES:
            yield from _rewrites(example, side) if example.flagged(side) else _unchanged(example, side)
        yield from _labels(example)
    yield from _distractors(example)


def _flags(example: Example) -> Iterator[Finding]:
    """Yield a finding unless a row is flagged exactly when it has more than one label."""
    flags = " and ".join(example.sides) or "neither side"
    if example.ambiguous != (len(example.labels) > 1):
        yield Finding("flags", f"labels: {format_labels(example.labels)}, but {flags} flagged as ambiguous")


def _number(example: Example) -> Iterator[Finding]:
    """Yield a finding unless ambiguous rows have two to four disambiguations, others none."""
    count = len(example.disambiguations)
    if example.ambiguous and not 2 <= count <= MOST_DISAMBIGUATIONS:
        yield Finding(
            "number", f"disambiguations: {count}; an ambiguous pair has 2 to {MOST_DISAMBIGUATIONS}"
        )
    if not example.ambiguous and count:
        yield Finding("number", f"disambiguations: {count}, but neither side is flagged as ambiguous")


def _rewrites(example: Example, side: Side) -> Iterator[Finding]:
    """Yield findings unless a flagged side has two rewrites at least, and none is the original."""
    different = example.rewrites(side)
    changed = len(different) - (example.sentence(side) in different)
    for place, reading in enumerate(example.disambiguations):
        if reading.sentence(side) == example.sentence(side):
            yield Finding(
                "rewrites",
                f"disambiguations[{place}].{side}: repeats the {side}, which is flagged as ambiguous",
            )
    if example.disambiguations and changed < 2:
        yield Finding(
            "rewrites",
            f"disambiguations: {changed} changed {side}{'' if changed == 1 else 's'}; "
            "ambiguity of a side means two readings of it",
        )


def _unchanged(example: Example, side: Side) -> Iterator[Finding]:
    """Yield a finding wherever a side that is not flagged is not repeated unchanged."""
    for place, reading in enumerate(example.disambiguations):
        if reading.sentence(side) != example.sentence(side):
            yield Finding(
                "unchanged",
                f"disambiguations[{place}].{side}: is changed, but the {side} is not flagged as ambiguous",
            )


def _labels(example: Example) -> Iterator[Finding]:
    """Yield findings unless the labels are those of the disambiguations, each once."""
    counts = Counter(disambiguation.label for disambiguation in example.disambiguations)
    if example.disambiguations and frozenset(counts) != example.labels:
        message = (
            f"labels: {format_labels(example.labels)}, but the disambiguations have {format_labels(counts)}"
        )
        yield Finding("labels", message, "warning")
    several = [label for label, count in counts.items() if count > 1]
    if several:
        message = (
            f"disambiguations: several are {format_labels(several)}; where one is asked for, the last counts"
        )
        yield Finding("several", message, "warning")
    if len(set(example.disambiguations)) < len(example.disambiguations):
        yield Finding("several", "disambiguations: one stands there twice", "warning")


def _distractors(example: Example) -> Iterator[Finding]:
    """Yield findings unless a distractor is for a flagged side, and not the sentence or a reading of it."""
    for side, text in example.distractors.items():
        if not example.flagged(side):
            message = f"distractors.{side}: the {side} is not flagged as ambiguous"
            yield Finding("distractor", message, "warning")
        elif text == example.sentence(side) or text in example.rewrites(side):
            # Crowdworkers are not shown it; everything else can be done with the example.
            message = f"distractors.{side}: is the {side} itself or one of its readings"
            yield Finding("distractor", message, "warning")
