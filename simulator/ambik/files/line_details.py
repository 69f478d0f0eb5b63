"""What a line of a log of decisions tells beside its decision, which a run of the log holds (spec 13)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any, Final

from simulator.ambik.files.lettered import optional_flag, optional_text, optional_texts
from simulator.jsonlines import Row

PERSON: Final = "person"
METRICS: Final = ("icr", "hr", "chr", "ssc")


@dataclass(frozen=True, slots=True, kw_only=True)
class LineDetails:
    """The details of a line beside its decision; empty or None where it has none.

    Attributes:
        seed: of the episode.
        time: when it was made, ISO 8601, UTC.
        actor: the person's pseudonym.
        shown_at: when a person saw the form.
        text: what was said.
        seconds: that it took.
        software: version of the program that wrote the line.
        decoding: by role: what requests were made with.
        predicted: the prediction set as stored.
        asks: whether it asked, as stored.
        help: what the set said, as stored.
        scores: metrics as stored; None where they did not count.
        offered: actions that a person chose from.
    """

    seed: int = 0
    time: str = ""
    actor: str = ""
    shown_at: str | None = None
    text: str = ""
    seconds: float | None = None
    software: str = ""
    decoding: Mapping[str, Any] = field(default_factory=dict)
    predicted: list[str] | None = None
    asks: bool | None = None
    help: bool | None = None
    scores: Mapping[str, float | None] = field(default_factory=dict)
    offered: tuple[str, ...] = ()


NO_DETAILS: Final = LineDetails()


def line_details(row: Row, options: Mapping[str, str]) -> LineDetails:
    """Return what the line of a decision tells beside it.

    Args:
        row: the line.
        options: by letter, for a set that is told by letters.

    Raises:
        FieldError: names the field that is wrong.
    """
    return replace(
        person_details(row, options),
        software=optional_text(row, "version"),
        decoding=row.object("decoding").data if row.get("decoding") else {},
        asks=optional_flag(row, "asks"),
        help=optional_flag(row, "help"),
        scores={name: _score(row, name) for name in METRICS if name in row.data},
        offered=optional_texts(row, "offered"),
    )


def person_details(row: Row, options: Mapping[str, str]) -> LineDetails:
    """Return what a line tells of who said something, and when; see `line_details`."""
    actor = optional_text(row, "actor")
    predicted = None if row.get("prediction_set") is None else optional_texts(row, "prediction_set")
    return LineDetails(
        seed=row.whole("seed") if row.get("seed") is not None else 0,
        time=_time(row, "time") or _time(row, "answered_at"),
        actor="" if actor == PERSON else actor,
        shown_at=_time(row, "shown_at") or None,
        text=optional_text(row, "typed_text"),
        seconds=row.number_or_none("seconds"),
        # A set that is told by letters is kept by its texts.
        predicted=None if predicted is None else [options.get(entry, entry) for entry in predicted],
    )


def _score(row: Row, name: str) -> float | None:
    return None if row.get(name) is None else row.number(name)


def _time(row: Row, name: str) -> str:
    """Return a moment as the log writes it; seconds since 1970 are read, too. Without a zone it is UTC."""
    value = row.get(name)
    if value is None or value == "":
        return ""
    try:
        if isinstance(value, int | float) and not isinstance(value, bool):
            moment = datetime.fromtimestamp(value, UTC)
        else:
            moment = datetime.fromisoformat(row.text(name))
    except (ValueError, OverflowError, OSError) as error:
        raise row.wrong(
            name, f"is {str(value)[:40]!r}, no moment (ISO 8601, or seconds since 1970)"
        ) from error
    zoned = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return zoned.astimezone(UTC).isoformat(timespec="milliseconds")
