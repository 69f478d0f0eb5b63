"""Logs of decisions, JSON lines or a JSON list (spec 13): read field by field, and made of the log's lines.

A file need not have every field: what a method's set is made of must be there, the rest may miss. Texts of
the task come from the line (``item``, which our own files have), or from data by pair and member. What a run
of the log holds beside a decision (`LineDetails`) is read for an import alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from itertools import count
from pathlib import Path
from typing import Any, Final, cast

from simulator.ambik.conformal import exact
from simulator.ambik.files.fields import FIELDS, PERSON, CalibrationFields, LineDetails, LineFields
from simulator.ambik.files.pairs import part_of
from simulator.ambik.items import DecideItem, DraftItem, Pair, PairItem, Scenario, ScenarioItem, read_item
from simulator.ambik.playing import ANNOTATOR, USER
from simulator.ambik.records import Calibrated, Decision
from simulator.ambik.terms import (
    CONFORMAL,
    DEFAULT,
    MEMBERS,
    METHODS,
    TASK_TYPES,
    Ambiguity,
    Settings,
    read_settings,
)
from simulator.jsonlines import Codec, Duplicates, Row
from simulator.tables.cells import spelled
from simulator.tables.records import read_records
from trees.faults import Fault

ROBOTS: Final = (*METHODS, "offline", PERSON)
_HOLDS: Final = ("prediction_set", "token_table", "samples", "certainty", "options", "marked", "action")
NO_DETAILS: Final = LineDetails()
_DETAILS: Final = Codec[LineDetails](LineDetails)
_CALIBRATION: Final = Codec[CalibrationFields](CalibrationFields)


@cache
def _fields_of(method: str) -> Codec[LineFields]:
    return Codec(FIELDS[method])


@dataclass(frozen=True, slots=True, kw_only=True)
class DecisionLine:
    """A line of a log of decisions.

    Attributes:
        decision: whose item is a stand-in without texts where `known` is false.
        known: whether the line holds its item.
        guessed: that it does is not said, but follows from there being neither a threshold nor a set.
        threshold: the one that was in force, as far as the line tells it.
        settings: likewise.
        fields: as they stand in the line.
        details: what the line tells beside; empty unless they were asked for.
        number: of the line, from 1.
    """

    decision: Decision
    known: bool
    fields: LineFields
    calibrates: bool = False
    guessed: bool = False
    threshold: Calibrated | None = None
    settings: Settings = DEFAULT
    details: LineDetails = NO_DETAILS
    number: int = 0

    @property
    def key(self) -> str:
        """Return what no other line of a file has."""
        return f"{self.decision.run} {self.decision.episode_id} {self.fields.turn}"

    @property
    def episode(self) -> tuple[str, str]:
        """Run and episode."""
        return self.decision.run, self.decision.episode_id


@dataclass(frozen=True, slots=True)
class AnswerLine:
    """A line that says which person gave an answer: its run and episode, its details, its number."""

    episode: tuple[str, str]
    details: LineDetails
    number: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class DecisionsFile:
    """The contents of a log of decisions."""

    rows: tuple[DecisionLine, ...]
    faults: tuple[Fault, ...] = ()
    answers: tuple[AnswerLine, ...] = ()
    forms: int = 0

    @property
    def lines(self) -> tuple[int, ...]:
        """The line of each decision."""
        return tuple(line.number for line in self.rows)


def is_decision(row: Mapping[str, Any]) -> bool:
    """Return True if an object is a line of a log of decisions."""
    return {"pair_id", "method"} <= row.keys() and any(name in row for name in _HOLDS)


def read_decisions(
    path: str | Path, duplicates: Duplicates = "refuse", *, details: bool = False
) -> DecisionsFile:
    """Return the decisions of a file, in its order, with the answers of people among them.

    `details`: whether `LineDetails` are read, too; a line is a fault if they are wrong.

    Raises:
        InputError: if the file cannot be read at all.
    """
    path = Path(path)
    places = count()

    def parse(row: Row) -> tuple[str, DecisionLine | AnswerLine | None]:
        beside = _DETAILS.read_row(row) if details and row.get("seat") != ANNOTATOR else NO_DETAILS
        if row.get("seat") == USER:
            run = (row.get("run_id") or path.stem, row.text("episode_id")) if details else ("", "")
            return f"other {next(places)}", AnswerLine(run, beside)
        if row.get("seat") == ANNOTATOR:
            return f"other {next(places)}", None
        line = decision_line(row, path)
        if beside.prediction_set is not None:
            # A set that is told by letters is kept by its texts.
            texts = tuple(line.decision.options.get(entry, entry) for entry in beside.prediction_set)
            beside = beside.model_copy(update={"prediction_set": texts})
        return line.key, replace(line, details=beside)

    read = read_records(path, parse, lambda row: (row[0], ""), name="pair_id", duplicates=duplicates)
    numbered = [
        line and replace(line, number=number) for (_, line), number in zip(read.rows, read.lines, strict=True)
    ]
    return DecisionsFile(
        rows=tuple(line for line in numbered if isinstance(line, DecisionLine)),
        answers=tuple(line for line in numbered if isinstance(line, AnswerLine)),
        forms=numbered.count(None),
        faults=read.faults,
    )


def decision_line(row: Row, file: Path) -> DecisionLine:
    """Return a line of `file`, which names its run where it does not say one.

    Raises:
        FieldError: names the field that is missing or wrong.
    """
    written = row.get("method")
    method = spelled(written) if isinstance(written, str) else written
    method = row.one_of("method", ROBOTS) if method not in ROBOTS else method
    fields = _fields_of(method).read_row(row)
    item, known = _item(row, fields)
    threshold = None if row.get("q_hat") is None else Calibrated(**dict(_CALIBRATION.read_row(row)))
    part = fields.part or (item.part if known else None)
    calibrates = part == "calibration"
    if part is None and method in CONFORMAL and threshold is None and not fields.prediction_set:
        calibrates, item = True, replace(item, part="calibration")
    return DecisionLine(
        decision=_decision(fields, method, item, fields.run_id or file.stem),
        known=known,
        fields=fields,
        calibrates=calibrates,
        guessed=part is None and calibrates,
        threshold=threshold,
        settings=_settings(row, threshold),
    )


def _item(row: Row, fields: LineFields) -> tuple[DecideItem, bool]:
    if row.get("item") is not None:
        item = row.parsed("item", lambda record: read_item(record, "the item"))
        if isinstance(item, DraftItem):
            raise row.wrong("item", "is a draft, of which nothing is decided")
        return item, True
    id, part = row.key("pair_id"), fields.part or "test"
    kind = spelled(fields.type)
    if fields.member is None:
        if kind in TASK_TYPES:
            raise row.wrong("member", f"is missing; it must be one of {', '.join(MEMBERS)}")
        scenario = Scenario(id=id, scene="", task="", location="", type=fields.type)
        return ScenarioItem(scenario=scenario, part=part), False
    if kind not in TASK_TYPES:
        row.one_of("type", TASK_TYPES)
    if (kind == "unambiguous_direct") != (fields.member == "clear"):
        raise row.wrong("type", f"is {kind}, which a task that is {fields.member} cannot be")
    # Of a clear task nothing is told by its pair's type.
    ambiguity = cast(Ambiguity, kind if kind != "unambiguous_direct" else "preferences")
    pair = Pair(id=id, scene="", clear="", ambiguous="", type=ambiguity)
    return PairItem(pair=pair, member=fields.member, part=part), False


def _decision(fields: LineFields, method: Any, item: DecideItem, run: str) -> Decision:
    called = (item.id, method, fields.generator, fields.chooser, fields.context, fields.dialogue)
    seed = () if fields.seed is None else (str(fields.seed),)
    id = fields.episode_id or ".".join((*called, *seed))
    return Decision(episode_id=id, run=run, item=item, method=method, asked=fields.asked, **fields.made_of())


def _settings(row: Row, threshold: Calibrated | None) -> Settings:
    """Return those of the line; where it does not say them, its target is that of the threshold in force."""
    values = row.get("settings") or {}
    settings: Settings = row.parsed("settings", read_settings, values)
    if threshold is None or "target_success" in values or not 0 < threshold.epsilon < 1:
        return settings
    return replace(settings, target_success=float(1 - exact(threshold.epsilon)))


# ---- texts of data


def with_items(
    lines: Iterable[DecisionLine], pairs: Mapping[str, Pair], scenarios: Mapping[str, Scenario]
) -> tuple[DecisionLine, ...]:
    """Return the same lines, with the texts of data where they have none of their own."""
    return tuple(line if line.known else _with_item(line, pairs, scenarios) for line in lines)


def _with_item(
    line: DecisionLine, pairs: Mapping[str, Pair], scenarios: Mapping[str, Scenario]
) -> DecisionLine:
    item: DecideItem = line.decision.item
    if isinstance(item, PairItem):
        pair = pairs.get(item.pair.id)
        # The same id with another type is another data set's pair.
        if pair is None or (item.member == "ambiguous" and pair.type != item.pair.type):
            return line
        # Where the line does not say what it serves, the pair may.
        part = part_of(pair) if line.guessed and pair.take_ambiguous is None else item.part
        item = replace(item, pair=pair, part=part)
    elif item.scenario.id in scenarios:
        item = replace(item, scenario=scenarios[item.scenario.id])
    else:
        return line
    calibrates = line.calibrates if not line.guessed else item.part == "calibration"
    return replace(line, decision=replace(line.decision, item=item), known=True, calibrates=calibrates)
