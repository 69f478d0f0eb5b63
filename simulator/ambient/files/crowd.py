"""Files of crowdworkers' votes (spec 5.2), and of judgments of models' rewrites in the same form (6.5).

In the latter a field ``origin`` names the model, there are no votes on the original pair, and any number of
candidates may be distractors; ``distractor_idx`` is then null unless there is exactly one.
"""

from __future__ import annotations

import json
from typing import Any, Final

from simulator.ambient.examples import published_id
from simulator.ambient.labels import LABELS, SIDES, Label
from simulator.ambient.records import CrowdRecord
from simulator.jsonlines import Row
from simulator.tables.spec import TableSpec, has

CANDIDATES: Final = 3
FIELDS: Final = (
    *("id", "premise", "hypothesis", "ambiguous_sent", "distractor_idx", "labels", "interpretations"),
    *(f"q{place}_gold" for place in range(CANDIDATES + 1)),
    *(f"d{place}_gold" for place in range(1, CANDIDATES + 1)),
)
"""Of every row, in this order."""


def read_crowd_row(row: Row) -> CrowdRecord:
    """Return a row of such a file.

    Raises:
        FieldError: names the field that is missing or wrong.
    """
    origin = row.text("origin") if row.get("origin") else ""
    labels = tuple(
        None if one is None else _of(row, f"labels[{place}]", one).one_of(f"labels[{place}]", LABELS)
        for place, one in enumerate(row.list("labels", CANDIDATES))
    )
    _check_distractor(row, labels, origin)
    plausible = tuple(_flags(row, f"d{place}_gold") for place in range(1, CANDIDATES + 1))
    relabelled = tuple(_labels(row, f"q{place}_gold") for place in range(1, CANDIDATES + 1))
    original = _labels(row, "q0_gold")
    _check_workers(row, {"q0_gold": original} if original or not origin else {}, relabelled, plausible)
    return CrowdRecord(
        id=row.key("id"),
        premise=row.text("premise"),
        hypothesis=row.text("hypothesis"),
        side=row.one_of("ambiguous_sent", SIDES),
        interpretations=tuple(
            _of(row, f"interpretations[{place}]", one).text(f"interpretations[{place}]")
            for place, one in enumerate(row.list("interpretations", CANDIDATES))
        ),
        labels=labels,
        original=original,
        relabelled=relabelled,
        plausible=plausible,
        origin=origin,
    )


def crowd_line(record: CrowdRecord) -> str:
    """Return the record as a line of JSON, without blanks and in ASCII, as published."""
    values: tuple[Any, ...] = (
        published_id(record.id),
        record.premise,
        record.hypothesis,
        record.side,
        None if record.distractor is None else float(record.distractor),
        record.labels,
        record.interpretations,
        record.original,
        *record.relabelled,
        *record.plausible,
    )
    data = dict(zip(FIELDS, values, strict=True)) | ({"origin": record.origin} if record.origin else {})
    return json.dumps(data, separators=(",", ":"))


def _check_distractor(row: Row, labels: tuple[Label | None, ...], origin: str) -> None:
    """The index agrees with the labels: null marks the distractor, of which there is one at most."""
    places = [place for place, label in enumerate(labels) if label is None]
    if len(places) > 1 and not origin:
        raise row.wrong("labels", f"has {len(places)} distractors (null); there is one at most")
    index = row.number_or_none("distractor_idx")
    meant = float(places[0]) if len(places) == 1 else None
    if index != meant:
        at = "no label is null" if not places else f"null in labels stands at {', '.join(map(str, places))}"
        raise row.wrong("distractor_idx", f"is {'null' if index is None else f'{index:g}'}, but {at}")


def _check_workers(
    row: Row,
    original: dict[str, tuple[Label, ...]],
    relabelled: tuple[tuple[Label, ...], ...],
    plausible: tuple[tuple[bool, ...], ...],
) -> None:
    """Entry w of every list is one worker, so all lists are of one length."""
    sizes = {name: len(votes) for name, votes in original.items()}
    sizes |= {f"q{place}_gold": len(votes) for place, votes in enumerate(relabelled, start=1)}
    sizes |= {f"d{place}_gold": len(votes) for place, votes in enumerate(plausible, start=1)}
    first, workers = next(iter(sizes.items()))
    for name, size in sizes.items():
        if not size:
            raise row.wrong(name, "holds no votes")
        if size != workers:
            raise row.wrong(name, f"has {size} votes, but {first} has {workers}")


def _labels(row: Row, name: str) -> tuple[Label, ...]:
    return tuple(
        _of(row, f"{name}[{place}]", one).one_of(f"{name}[{place}]", LABELS)
        for place, one in enumerate(row.list(name))
    )


def _flags(row: Row, name: str) -> tuple[bool, ...]:
    return tuple(
        _of(row, f"{name}[{place}]", one).flag(f"{name}[{place}]") for place, one in enumerate(row.list(name))
    )


def _of(row: Row, name: str, value: Any) -> Row:
    """Return an entry of a list as a field of its own, so that a fault names it."""
    return Row({name: value}, row.where)


CROWD: Final = TableSpec[CrowdRecord](
    name="crowd",
    title="crowdworkers' annotations",
    is_of=has("interpretations", "q1_gold"),
    parse=read_crowd_row,
    # An id may occur again (spec 5.2).
    key=lambda record: (record.id, repr(record)),
    line=crowd_line,
)
