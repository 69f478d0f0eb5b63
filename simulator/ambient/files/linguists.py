"""Files of linguists' annotations before anybody consolidated them (spec 3).

Ours may have a field ``discarded`` more: who discarded the example, with the reason. They are not among the
annotators of that row, of whom there may then be none.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Final

from simulator.ambient.examples import Disambiguation, published_id
from simulator.ambient.labels import LABELS, SIDES, Label, LabelSet, parse_labels
from simulator.ambient.records import LinguistRecord
from simulator.jsonlines import Row
from simulator.tables.spec import TableSpec, has

SEPARATOR: Final = "|"
# The published files join labels in this order, which is not the canonical one.
_ORDER: Final[tuple[Label, ...]] = ("entailment", "neutral", "contradiction")


def read_linguist_row(row: Row) -> LinguistRecord:
    """Return a row of such a file.

    Raises:
        FieldError: names the field that is missing or wrong.
    """
    workers = tuple(
        Row({f"worker_ids[{place}]": one}, row.where).key(f"worker_ids[{place}]")
        for place, one in enumerate(row.list("worker_ids"))
    )
    discarded = _discarded(row)
    annotations = row.list("annotations", len(workers))
    if not annotations and not discarded:
        raise row.wrong("annotations", "is empty")
    return LinguistRecord(
        id=row.key("id"),
        premise=row.text("premise"),
        hypothesis=row.text("hypothesis"),
        workers=workers,
        annotations=tuple(
            _set(Row({f"annotations[{place}]": one}, row.where), f"annotations[{place}]")
            for place, one in enumerate(annotations)
        ),
        rewrites=tuple(_rewrites(row)),
        discarded=discarded or None,
    )


def linguist_line(record: LinguistRecord) -> str:
    """Return the record as a line of JSON, without blanks and in ASCII, as published."""
    rewrites: dict[Label, list[dict[str, str]]] = {}
    for rewrite in record.rewrites:
        rewrites.setdefault(rewrite.label, []).append(
            {"premise": rewrite.premise, "hypothesis": rewrite.hypothesis}
        )
    data: dict[str, Any] = {
        "id": published_id(record.id),
        "worker_ids": record.workers,
        "premise": record.premise,
        "hypothesis": record.hypothesis,
        "annotations": [
            SEPARATOR.join(label for label in _ORDER if label in labels) for labels in record.annotations
        ],
        "disambiguations": rewrites,
    }
    if record.discarded:
        data["discarded"] = dict(record.discarded)
    return json.dumps(data, separators=(",", ":"))


def _set(row: Row, name: str) -> LabelSet:
    return row.parsed(name, lambda text: parse_labels(text, SEPARATOR), row.text(name))


def _discarded(row: Row) -> dict[str, str]:
    if row.get("discarded") is None:
        return {}
    given = row.object("discarded")
    return {worker: given.text(worker) for worker in given.data}


def _rewrites(row: Row) -> Iterator[Disambiguation]:
    given = row.object("disambiguations")
    for name in given.data:
        label = next((label for label in LABELS if label == name), None)
        if label is None:
            raise row.wrong(f"disambiguations.{name}", f"is no label; labels are {', '.join(LABELS)}")
        for one in given.rows(name):
            # As somebody left them: what is wrong with a rewrite takes nothing from the label sets.
            premise, hypothesis = (one.text(side, empty=True) for side in SIDES)
            yield Disambiguation(premise, hypothesis, label)


LINGUISTS: Final = TableSpec[LinguistRecord](
    name="linguists",
    title="linguists' annotations",
    is_of=has("worker_ids", "annotations"),
    parse=read_linguist_row,
    key=lambda record: (record.id, repr(record)),
    line=linguist_line,
)
