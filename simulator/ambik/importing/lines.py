"""Files of results, line by line, with what a log keeps beside a decision (spec 9, 13).

`files.decisions` reads what prediction sets are made of. A run of the log holds more: when a decision was
made and by whom, what it was then said to be, which requests it took. All of that may be missing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from typing import Any, Final

from simulator.ambik.files.decisions import (
    OTHERS,
    DecisionLine,
    decision_line,
    optional_text,
    optional_texts,
)
from simulator.ambik.files.jsonlist import read_records
from simulator.ambik.files.logprobs import read_logprobs
from simulator.ambik.files.published_run import decisions_of
from simulator.ambik.naming import is_not_listed
from simulator.ambik.pairs import Scenario
from simulator.ambik.playing import ANNOTATOR
from simulator.ambik.settings import DEFAULT
from simulator.jsonlines import Row
from trees.faults import Fault

METRICS: Final = ("icr", "hr", "chr", "ssc")
PERSON: Final = "person"


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """What a line tells beside its decision; empty or None where it does not.

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


@dataclass(frozen=True, slots=True)
class Logged:
    """A line that is a decision.

    Attributes:
        line: of the decision.
        told: beside it.
        number: of the line, from 1.
    """

    line: DecisionLine
    told: Told = Told()
    number: int = 0

    @property
    def episode(self) -> tuple[str, str]:
        """Run and episode."""
        return self.line.decision.run, self.line.decision.episode_id


@dataclass(frozen=True, slots=True)
class Answered:
    """A line that says which person gave an answer.

    Attributes:
        episode: run and episode.
        told: text, person and times.
        number: of the line, from 1.
    """

    episode: tuple[str, str]
    told: Told
    number: int = 0


@dataclass(frozen=True, slots=True)
class Lines:
    """What a file holds.

    Attributes:
        decisions: in its order.
        answers: likewise.
        forms: how many lines are annotators' forms, which are not imported.
        faults: of the other lines.
    """

    decisions: tuple[Logged, ...]
    answers: tuple[Answered, ...] = ()
    forms: int = 0
    faults: tuple[Fault, ...] = ()


def read_log(path: Path) -> Lines:
    """The lines of a log of decisions, JSON lines or a JSON list.

    Raises:
        InputError: if the file cannot be read at all.
    """
    others = count()

    def parse(row: Row) -> _Parsed:
        seat = row.get("seat")
        if seat == ANNOTATOR:
            return _Parsed(f"other {next(others)}")
        if seat in OTHERS:
            episode = optional_text(row, "run_id") or path.stem, row.text("episode_id")
            return _Parsed(f"other {next(others)}", Answered(episode, _person(row, {})))
        line = decision_line(row, path)
        return _Parsed(line.key, Logged(line, _told(row, line)))

    read = read_records(path, parse, lambda one: one.key, name="pair_id")
    numbered = [
        replace(one.value, number=number)
        for one, number in zip(read.rows, read.lines, strict=True)
        if one.value is not None
    ]
    return Lines(
        decisions=tuple(one for one in numbered if isinstance(one, Logged)),
        answers=tuple(one for one in numbered if isinstance(one, Answered)),
        forms=sum(one.value is None for one in read.rows),
        faults=read.faults,
    )


def read_published(path: Path, scenarios: Mapping[str, Scenario]) -> Lines:
    """A published run of KnowNo: decisions on calibration scenarios or tests, without sets (spec 9).

    Args:
        path: the file.
        scenarios: by id; of others the number alone is told.

    Raises:
        InputError: if the file cannot be read at all.
    """
    read = read_logprobs(path)
    made = decisions_of(read.rows, path.stem, scenarios=scenarios)
    return Lines(
        decisions=tuple(
            Logged(
                DecisionLine(
                    decision=one,
                    known=True,
                    calibrates=one.item.part == "calibration",
                    settings=replace(DEFAULT, not_listed=any(map(is_not_listed, one.options.values()))),
                    dataset="knowno",
                ),
                number=number,
            )
            for one, number in zip(made, read.lines, strict=True)
        ),
        faults=read.faults,
    )


@dataclass(frozen=True, slots=True)
class _Parsed:
    key: str
    value: Logged | Answered | None = None


def _told(row: Row, line: DecisionLine) -> Told:
    return replace(
        _person(row, line.decision.options),
        software=optional_text(row, "version"),
        decoding=row.object("decoding").data if row.get("decoding") else {},
        asks=_flag(row, "asks"),
        help=_flag(row, "help"),
        scores={name: _score(row, name) for name in METRICS if name in row.data},
        offered=optional_texts(row, "offered"),
    )


def _person(row: Row, options: Mapping[str, str]) -> Told:
    predicted = None if row.get("prediction_set") is None else optional_texts(row, "prediction_set")
    return Told(
        seed=row.whole("seed") if row.get("seed") is not None else 0,
        time=_time(row, "time") or _time(row, "answered_at"),
        actor="" if optional_text(row, "actor") == PERSON else optional_text(row, "actor"),
        shown_at=_time(row, "shown_at") or None,
        text=optional_text(row, "typed_text"),
        seconds=row.number_or_none("seconds"),
        predicted=None if predicted is None else _in_words(predicted, options),
    )


def _in_words(given: Sequence[str], options: Mapping[str, str]) -> list[str]:
    """A set that is told by letters, by its texts."""
    return [options.get(one, one) for one in given]


def _flag(row: Row, name: str) -> bool | None:
    value = row.get(name)
    if value is not None and not (isinstance(value, bool) or value in (0, 1)):
        raise row.wrong(name, f"is {value!r}, not true or false")
    return None if value is None else bool(value)


def _score(row: Row, name: str) -> float | None:
    return None if row.get(name) is None else row.number(name)


def _time(row: Row, name: str) -> str:
    """A moment as the log writes it; seconds since 1970 are read, too. Without a zone it is UTC."""
    given = row.get(name)
    if given is None or given == "":
        return ""
    try:
        if isinstance(given, int | float) and not isinstance(given, bool):
            moment = datetime.fromtimestamp(given, UTC)
        else:
            moment = datetime.fromisoformat(row.text(name))
    except (ValueError, OverflowError, OSError) as error:
        raise row.wrong(
            name, f"is {str(given)[:40]!r}, no moment (ISO 8601, or seconds since 1970)"
        ) from error
    zoned = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return zoned.astimezone(UTC).isoformat(timespec="milliseconds")
