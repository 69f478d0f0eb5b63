"""Files of crowdworkers' votes (spec 5.2) and of linguists' annotations (3).

Judgments of models' rewrites have the form of votes (6.5): a field ``origin`` names the model, there are no
votes on the original pair, and any number of candidates may be distractors; ``distractor_idx`` is then null
unless there is exactly one. Our files of linguists may have a field ``discarded`` more: who discarded the
example, with the reason. They are not among the annotators of that row, of whom there may then be none.
"""

from __future__ import annotations

import json
from typing import Annotated, Any, Final, Self

from pydantic import BaseModel, model_validator

from simulator.ambient.examples import published_id
from simulator.ambient.labels import Label, Side
from simulator.ambient.records import CrowdRecord, LinguistRecord
from simulator.codecs import Codec
from simulator.fields import FiniteOrNone, Flag, Key, OptionalText, Said, of_length
from simulator.jsonlines import Row
from simulator.tables.spec import TableSpec, has

CANDIDATES: Final = 3


class CrowdRow(BaseModel, frozen=True):
    """A row of such a file. Entry w of each list of votes is one worker.

    Attributes:
        distractor_idx: agrees with `labels`, where null marks the distractor.
        q0_gold: labels of the original pair; those of the pairs with each candidate follow.
        d1_gold: whether the first candidate is a possible interpretation.
        origin: of the candidates, where a model wrote them.
    """

    id: Key
    premise: Said
    hypothesis: Said
    ambiguous_sent: Side
    distractor_idx: FiniteOrNone = None
    labels: Annotated[tuple[Label | None, ...], of_length(CANDIDATES)]
    interpretations: Annotated[tuple[Said, ...], of_length(CANDIDATES)]
    q0_gold: tuple[Label, ...]
    q1_gold: tuple[Label, ...]
    q2_gold: tuple[Label, ...]
    q3_gold: tuple[Label, ...]
    d1_gold: tuple[Flag, ...]
    d2_gold: tuple[Flag, ...]
    d3_gold: tuple[Flag, ...]
    origin: OptionalText = ""

    @model_validator(mode="after")
    def _distractor_is_marked(self) -> Self:
        places = [place for place, label in enumerate(self.labels) if label is None]
        if len(places) > 1 and not self.origin:
            raise ValueError(f"labels has {len(places)} distractors (null); there is one at most")
        if self.distractor_idx != (places[0] if len(places) == 1 else None):
            index = "null" if self.distractor_idx is None else f"{self.distractor_idx:g}"
            marked = f"null in labels stands at {', '.join(map(str, places))}"
            raise ValueError(f"distractor_idx is {index}, but {marked if places else 'no label is null'}")
        return self

    @model_validator(mode="after")
    def _workers_are_the_same(self) -> Self:
        votes = {name: getattr(self, name) for name in type(self).model_fields if name.endswith("_gold")}
        if self.origin and not self.q0_gold:
            del votes["q0_gold"]
        first = next(iter(votes))
        for name, workers in votes.items():
            if not workers:
                raise ValueError(f"{name} holds no votes")
            if len(workers) != len(votes[first]):
                raise ValueError(f"{name} has {len(workers)} votes, but {first} has {len(votes[first])}")
        return self

    def record(self) -> CrowdRecord:
        """Return the votes on the candidates."""
        return CrowdRecord(
            id=self.id,
            premise=self.premise,
            hypothesis=self.hypothesis,
            side=self.ambiguous_sent,
            interpretations=self.interpretations,
            labels=self.labels,
            original=self.q0_gold,
            relabelled=(self.q1_gold, self.q2_gold, self.q3_gold),
            plausible=(self.d1_gold, self.d2_gold, self.d3_gold),
            origin=self.origin,
        )


FIELDS: Final = tuple(name for name in CrowdRow.model_fields if name != "origin")
"""Of every row, in this order."""
_CROWD_ROWS: Final = Codec[CrowdRow](CrowdRow)
_LINGUIST_RECORDS: Final = Codec[LinguistRecord](LinguistRecord)


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


def _linguist_record(row: Row) -> LinguistRecord:
    record = _LINGUIST_RECORDS.read_row(row)
    if len(record.annotations) != len(record.workers):
        raise row.wrong("annotations", f"has {len(record.annotations)} entries, not {len(record.workers)}")
    if not record.annotations and not record.discarded:
        raise row.wrong("annotations", "is empty")
    return record


CROWD: Final = TableSpec[CrowdRecord](
    name="crowd",
    title="crowdworkers' annotations",
    is_of=has("interpretations", "q1_gold"),
    parse=lambda row: _CROWD_ROWS.read_row(row).record(),
    # An id may occur again (spec 5.2).
    key=lambda record: (record.id, repr(record)),
    line=crowd_line,
)
LINGUISTS: Final = TableSpec[LinguistRecord](
    name="linguists",
    title="linguists' annotations",
    is_of=has("worker_ids", "annotations"),
    parse=_linguist_record,
    key=lambda record: (record.id, repr(record)),
    line=lambda record: json.dumps(_LINGUIST_RECORDS.write(record), separators=(",", ":")),
)
