"""Readers of decision logs: JSON lines or a JSON list (spec 13).

Only the fields from which a method's set is computed are required. The task's texts come from the line
(``item``, in our own files) or from data, by pair and member. Details that a logged run has in addition to a
decision (`LineDetails`) are read only for an import.
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
from simulator.tables.cells import snake_case
from simulator.tables.records import read_records
from trees.faults import Fault

ROBOTS: Final = (*METHODS, "offline", PERSON)
_ANY_OF: Final = ("prediction_set", "token_table", "samples", "certainty", "options", "marked", "action")
NO_DETAILS: Final = LineDetails()
_DETAILS: Final = Codec[LineDetails](LineDetails)
_CALIBRATION: Final = Codec[CalibrationFields](CalibrationFields)


@cache
def _fields_of(method: str) -> Codec[LineFields]:
    return Codec(FIELDS[method])


@dataclass(frozen=True, slots=True, kw_only=True)
class DecisionLine:
    """A line of a decision log.

    Attributes:
        decision: the decision; its item is a placeholder without texts if `known` is False.
        known: True if the task's texts are known.
        guessed: True if `calibrates` is not stated but inferred from a missing threshold and set.
        details: further details; empty unless requested.
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
        """A key that is unique within a file."""
        return f"{self.decision.run} {self.decision.episode_id} {self.fields.turn}"

    @property
    def episode(self) -> tuple[str, str]:
        """Run and episode."""
        return self.decision.run, self.decision.episode_id


@dataclass(frozen=True, slots=True)
class AnswerLine:
    """A line with a person's answer: its run and episode, details and line number."""

    episode: tuple[str, str]
    details: LineDetails
    number: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class DecisionsFile:
    """The contents of a decision log."""

    rows: tuple[DecisionLine, ...]
    faults: tuple[Fault, ...] = ()
    answers: tuple[AnswerLine, ...] = ()
    forms: int = 0

    @property
    def lines(self) -> tuple[int, ...]:
        """The line of each decision."""
        return tuple(line.number for line in self.rows)


def is_decision(row: Mapping[str, Any]) -> bool:
    """Return True if an object is a line of a decision log."""
    return {"pair_id", "method"} <= row.keys() and any(name in row for name in _ANY_OF)


def read_decisions(
    path: str | Path, duplicates: Duplicates = "refuse", *, details: bool = False
) -> DecisionsFile:
    """Return the decisions of a file, in its order, and people's answers.

    `details`: True to read `LineDetails` as well; a line with wrong details is then a fault.

    Raises:
        InputError: if the file cannot be read at all.
    """
    path = Path(path)
    numbers = count()

    def parse(row: Row) -> tuple[str, DecisionLine | AnswerLine | None]:
        more = _DETAILS.read_row(row) if details and row.get("seat") != ANNOTATOR else NO_DETAILS
        if row.get("seat") == USER:
            run = (row.get("run_id") or path.stem, row.text("episode_id")) if details else ("", "")
            return f"other {next(numbers)}", AnswerLine(run, more)
        if row.get("seat") == ANNOTATOR:
            return f"other {next(numbers)}", None
        line = decision_line(row, path)
        if more.prediction_set is not None:
            # A set given by letters is stored by its texts.
            texts = tuple(line.decision.options.get(entry, entry) for entry in more.prediction_set)
            more = more.model_copy(update={"prediction_set": texts})
        return line.key, replace(line, details=more)

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
    """Return a line of `file`, whose name is the run's if the line has none.

    Raises:
        FieldError: names the field that is missing or wrong.
    """
    written = row.get("method")
    method = snake_case(written) if isinstance(written, str) else written
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
        item = row.parse("item", lambda record: read_item(record, "the item"))
        if isinstance(item, DraftItem):
            raise row.error("item", "is a draft, but only tasks can be decided on")
        return item, True
    id, part = row.key("pair_id"), fields.part or "test"
    kind = snake_case(fields.type)
    if fields.member is None:
        if kind in TASK_TYPES:
            raise row.error("member", f"is missing; it must be one of {', '.join(MEMBERS)}")
        scenario = Scenario(id=id, scene="", task="", location="", type=fields.type)
        return ScenarioItem(scenario=scenario, part=part), False
    if kind not in TASK_TYPES:
        row.one_of("type", TASK_TYPES)
    if (kind == "unambiguous_direct") != (fields.member == "clear"):
        raise row.error("type", f"is {kind}, which does not fit the member {fields.member}")
    # The pair's type of a clear task is unknown, and not used.
    ambiguity = cast(Ambiguity, kind if kind != "unambiguous_direct" else "preferences")
    pair = Pair(id=id, scene="", clear="", ambiguous="", type=ambiguity)
    return PairItem(pair=pair, member=fields.member, part=part), False


def _decision(fields: LineFields, method: Any, item: DecideItem, run: str) -> Decision:
    parts = (item.id, method, fields.generator, fields.chooser, fields.context, fields.dialogue)
    seed = () if fields.seed is None else (str(fields.seed),)
    id = fields.episode_id or ".".join((*parts, *seed))
    values = fields.decision_fields()
    return Decision(episode_id=id, run=run, item=item, method=method, asked=fields.asked, **values)


def _settings(row: Row, threshold: Calibrated | None) -> Settings:
    """Return the line's settings; without a target, that of the threshold in force."""
    values = row.get("settings") or {}
    settings: Settings = row.parse("settings", read_settings, values)
    if threshold is None or "target_success" in values or not 0 < threshold.epsilon < 1:
        return settings
    return replace(settings, target_success=float(1 - exact(threshold.epsilon)))


# ---- texts from data


def with_items(
    lines: Iterable[DecisionLine], pairs: Mapping[str, Pair], scenarios: Mapping[str, Scenario]
) -> tuple[DecisionLine, ...]:
    """Return the lines, with texts from data where a line has none."""
    return tuple(line if line.known else _with_item(line, pairs, scenarios) for line in lines)


def _with_item(
    line: DecisionLine, pairs: Mapping[str, Pair], scenarios: Mapping[str, Scenario]
) -> DecisionLine:
    item: DecideItem = line.decision.item
    if isinstance(item, PairItem):
        pair = pairs.get(item.pair.id)
        # The same id with another type belongs to another data set.
        if pair is None or (item.member == "ambiguous" and pair.type != item.pair.type):
            return line
        # If the line does not state its part, the pair may.
        part = part_of(pair) if line.guessed and pair.take_ambiguous is None else item.part
        item = replace(item, pair=pair, part=part)
    elif item.scenario.id in scenarios:
        item = replace(item, scenario=scenarios[item.scenario.id])
    else:
        return line
    calibrates = line.calibrates if not line.guessed else item.part == "calibration"
    return replace(line, decision=replace(line.decision, item=item), known=True, calibrates=calibrates)
