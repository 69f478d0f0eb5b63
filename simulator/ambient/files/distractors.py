"""Files of distractors: JSON lines with ``id``, ``side`` and ``distractor`` (spec 5.1).

``askback generate ambient-distractors`` writes more into a row: the ambiguous ``sentence``, its translation
(``pivot``), whether the way back was ``resampled``; people who write a row themselves need not.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from simulator.ambient.examples import Example
from simulator.ambient.labels import SIDES, Side
from simulator.errors import InputError
from simulator.jsonlines import Row
from simulator.tables.spec import TableSpec, has

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class DistractorRow:
    """A distractor for an ambiguous sentence.

    Attributes:
        id: of the example.
        side: where the sentence is.
        distractor: None if none was found.
        sentence: empty if the file does not say.
    """

    id: str
    side: Side
    distractor: str | None
    sentence: str = ""


def load_distractors(path: str | Path, examples: Iterable[Example] = ()) -> dict[tuple[str, Side], str]:
    """Return the distractors in a file by id and side; of several rows for one sentence the last counts.

    Args:
        path: the file.
        examples: that they are for; others may be in the file.

    Raises:
        InputError: if no row of the file is good: each is faulty, or made for another sentence of an example.
            If some are, the others are left out with a warning.
    """
    read = DISTRACTORS.read(path)
    problems = [str(fault) for fault in read.faults]
    known = {example.id: example for example in examples}
    good: list[DistractorRow] = []
    for row, line in zip(read.rows, read.lines, strict=True):
        example = known.get(row.id)
        if example is not None and row.sentence not in ("", example.sentence(row.side)):
            problems.append(
                f"{path}: line {line}: the {row.side} of example {row.id} is another sentence now; "
                "make the file anew"
            )
        else:
            good.append(row)
    if problems and not good:
        raise InputError(problems[0])
    if problems:
        _log.warning("%d rows of %s left out, the first: %s", len(problems), path, problems[0])
    return {(row.id, row.side): row.distractor for row in good if row.distractor is not None}


def _row(row: Row) -> DistractorRow:
    return DistractorRow(
        id=row.key("id"),
        side=row.one_of("side", SIDES),
        distractor=None if row.get("distractor", "") is None else row.text("distractor"),
        sentence=row.text("sentence") if row.get("sentence") else "",
    )


DISTRACTORS: Final = TableSpec[DistractorRow](
    name="distractors",
    title="distractors of sentences",
    is_of=has("id", "side", "distractor"),
    parse=_row,
    repeats=False,
)
