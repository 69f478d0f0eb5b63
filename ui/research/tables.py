"""What can be downloaded as CSV."""

from __future__ import annotations

import csv
import io
import zipfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal

from logs import LogReader
from logs.export import export_log
from simulator.clarq.reporting.report import Comparison, Row
from simulator.clarq.review import KINDS
from simulator.clarq.score import Scored
from simulator.stats import Interval
from ui.i18n import strings
from ui.research.desk import RunData
from ui.research.scores_page import by_language, type_rows

Format = Literal["csv", "jsonl"]
_FORMULA = ("=", "+", "-", "@", "\t", "\r")
_ENGLISH = "en"


def to_csv(header: Sequence[str], lines: Iterable[Sequence[Any]]) -> str:
    """Return a CSV text with a byte-order mark; what a spreadsheet would run as a formula is disarmed."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\r\n")
    writer.writerow(header)
    writer.writerows([_safe(value) for value in line] for line in lines)
    return "\ufeff" + out.getvalue()


def _safe(value: Any) -> Any:
    return f"'{value}" if isinstance(value, str) and value.startswith(_FORMULA) else value


def export_zip(reader: LogReader, run_id: str, format: Format) -> bytes:
    """Return everything the log holds of a run but outside identities, with a codebook, as a zip file.

    Raises:
        NotInLog: there is no such run.
    """
    reader.run(run_id)
    out = io.BytesIO()
    with TemporaryDirectory() as folder, zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in export_log(reader, Path(folder), format=format, runs=[run_id], excel=format == "csv"):
            archive.write(path, path.name)
    return out.getvalue()


def scores_csv(data: RunData) -> str:
    """Return the score tables: by language, then by type."""
    texts = strings(_ENGLISH)
    lines = [_score_line(row.label, "all", row) for row in data.report.by_language]
    for language, dialogues in by_language(data.scored).items():
        lines += [_score_line(language, row.label, row) for row in type_rows(texts, dialogues)]
    metrics = [f"{metric}{end}" for metric in ("success", "aqd", "aql") for end in ("", "_low", "_high")]
    return to_csv(["language", "type", "n", *metrics, "needs_judge", "aborted"], lines)


def _score_line(language: str, label: str, row: Row) -> list[Any]:
    ends = [*_ends(row.success), *_ends(row.aqd), *_ends(row.aql)]
    return [language, label, row.success.n, *ends, row.needs_judge, row.aborted]


def _ends(interval: Interval | None) -> Sequence[Any]:
    if interval is None:
        return ["", "", ""]
    return interval[:3]


def episodes_csv(data: RunData) -> str:
    """Return every scored dialogue."""
    header = [
        "episode", "item", "type", "language", "status", "success", "aqd", "aql", "responses", "reached",
        "needs_judge", "obtained", "missing",
    ]  # fmt: skip
    return to_csv(header, (_episode_line(dialogue) for dialogue in data.scored))


def _episode_line(scored: Scored) -> list[Any]:
    scores = scored.scores
    return [
        scored.episode.id,
        scored.task.id,
        scored.task.type,
        scored.task.language,
        scored.status,
        int(scores.success),
        scores.aqd,
        scores.aql,
        scores.responses,
        "" if scores.reached is None else scores.reached,
        int(scores.needs_judge),
        " ".join(scores.obtained),
        " ".join(scores.missing),
    ]


def reviews_csv(data: RunData) -> str:
    """Return every mark of every reviewer, in the order in which they were written."""
    header = [
        "episode", "turn", "reviewer", "kind", "type", "node", "hallucination", "failure", "success", "text",
        "done", "created_at",
    ]  # fmt: skip
    marks = (row for row in data.judgments if row.kind in KINDS)
    return to_csv(
        header,
        (
            [
                row.episode_id,
                row.turn_number,
                row.annotator,
                row.kind,
                *(row.value.get(name) for name in header[4:11]),
                row.created_at,
            ]
            for row in marks
        ),
    )


def compare_csv(comparisons: Sequence[Comparison]) -> str:
    """Return the shared items of two runs, one line each."""
    metrics = ("success", "aqd", "aql")
    header = ["language", "item", "type", *(f"{metric}_{run}" for metric in metrics for run in (1, 2))]
    return to_csv(
        header,
        (
            [
                comparison.language,
                pair.first.task.id,
                pair.first.task.type,
                *(
                    float(getattr(dialogue.scores, metric))
                    for metric in metrics
                    for dialogue in (pair.first, pair.second)
                ),
            ]
            for comparison in comparisons
            for pair in comparison.pairs
        ),
    )
