"""Logs of decisions, JSON lines or a JSON list (spec 13): read field by field, and made of the log's lines.

A file need not have every field: what a method's set is made of must be there, the rest may miss. Texts of
the task come from the line (``item``, which our own files have), or from data by pair and member. What a run
of the log holds beside a decision (`LineDetails`) is read for an import alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path
from typing import Any, Final, Literal, TypeVar, cast

from simulator.ambik.conformal import exact
from simulator.ambik.files.lettered import (
    FIELDS,
    maybe_infinite,
    optional_flag,
    optional_text,
    optional_texts,
)
from simulator.ambik.files.line_details import (
    NO_DETAILS,
    PERSON,
    LineDetails,
    line_details,
    person_details,
)
from simulator.ambik.files.versions import part_of
from simulator.ambik.items import DecideItem, DraftItem, PairItem, ScenarioItem
from simulator.ambik.pairs import Pair, Scenario
from simulator.ambik.playing import ANNOTATOR, USER
from simulator.ambik.records import Calibrated, Decision
from simulator.ambik.rows import read_item
from simulator.ambik.settings import DEFAULT, Settings, read_settings
from simulator.ambik.terms import (
    CONFORMAL,
    CONTEXTS,
    DIALOGUES,
    MEMBERS,
    METHODS,
    PARTS,
    TASK_TYPES,
    Ambiguity,
    Member,
    Part,
    TaskType,
)
from simulator.duplicates import Duplicates
from simulator.jsonlines import Row
from simulator.tables.cells import spelled
from simulator.tables.records import read_records
from trees.faults import Fault

T = TypeVar("T")
ROBOTS: Final = (*METHODS, "offline", PERSON)
_HOLDS: Final = ("prediction_set", "token_table", "samples", "certainty", "options", "marked", "action")


@dataclass(frozen=True, slots=True, kw_only=True)
class DecisionLine:
    """A line of a log of decisions.

    Attributes:
        decision: whose item is a stand-in without texts where `known` is false.
        known: whether the line holds its item.
        turn: of its episode.
        calibrates: whether it serves calibration.
        guessed: that it does is not said, but follows from there being neither a threshold nor a set.
        threshold: the one that was in force, as far as the line tells it.
        settings: likewise.
        dataset: as written; `version` likewise.
        questions: that could be answered at most; None where the line does not say.
        robot: who sat in the robot's seat; `user` in the user's. Empty where the line does not say.
        details: what the line tells beside; empty unless they were asked for.
        number: of the line, from 1.
    """

    decision: Decision
    known: bool
    turn: int = 0
    calibrates: bool = False
    guessed: bool = False
    threshold: Calibrated | None = None
    settings: Settings = DEFAULT
    dataset: str = ""
    version: str = ""
    questions: int | None = None
    robot: str = ""
    user: str = ""
    details: LineDetails = NO_DETAILS
    number: int = 0

    @property
    def key(self) -> str:
        """What no other line of a file has."""
        return f"{self.decision.run} {self.decision.episode_id} {self.turn}"

    @property
    def episode(self) -> tuple[str, str]:
        """Run and episode."""
        return self.decision.run, self.decision.episode_id


@dataclass(frozen=True, slots=True)
class AnswerLine:
    """A line that says which person gave an answer.

    Attributes:
        episode: run and episode.
        details: text, person and times.
        number: of the line, from 1.
    """

    episode: tuple[str, str]
    details: LineDetails
    number: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class DecisionsFile:
    """The contents of a log of decisions.

    Attributes:
        rows: the decisions, in the file's order.
        faults: of lines that cannot be read.
        answers: of people, in the file's order.
        forms: how many lines are annotators' forms.
    """

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

    Args:
        path: the file.
        duplicates: see `simulator.duplicates`.
        details: whether `LineDetails` are read, too; a line is a fault if they are wrong.

    Raises:
        InputError: if the file cannot be read at all.
    """
    path = Path(path)
    places = count()

    def parse(row: Row) -> tuple[str, DecisionLine | AnswerLine | None]:
        seat, other = row.get("seat"), f"other {next(places)}"
        if seat == ANNOTATOR:
            return other, None
        if seat == USER:
            if not details:
                return other, AnswerLine(("", ""), NO_DETAILS)
            run = optional_text(row, "run_id") or path.stem
            return other, AnswerLine((run, row.text("episode_id")), person_details(row, {}))
        line = decision_line(row, path)
        if details:
            line = replace(line, details=line_details(row, line.decision.options))
        return line.key, line

    read = read_records(path, parse, lambda row: (row[0], ""), name="pair_id", duplicates=duplicates)
    held = [(value, number) for (_, value), number in zip(read.rows, read.lines, strict=True)]
    return DecisionsFile(
        rows=tuple(replace(line, number=number) for line, number in held if isinstance(line, DecisionLine)),
        answers=tuple(replace(line, number=number) for line, number in held if isinstance(line, AnswerLine)),
        forms=sum(line is None for line, _ in held),
        faults=read.faults,
    )


def with_items(
    lines: Iterable[DecisionLine], pairs: Mapping[str, Pair], scenarios: Mapping[str, Scenario]
) -> tuple[DecisionLine, ...]:
    """Return the same lines, with the texts of data where they have none of their own.

    Args:
        lines: of a file.
        pairs: of the data, by id.
        scenarios: likewise.
    """
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
    else:
        scenario = scenarios.get(item.scenario.id)
        if scenario is None:
            return line
        item = replace(item, scenario=scenario)
    calibrates = line.calibrates if not line.guessed else item.part == "calibration"
    return replace(line, decision=replace(line.decision, item=item), known=True, calibrates=calibrates)


def decision_line(row: Row, file: Path) -> DecisionLine:
    """Return a line of `file`, which names its run where it does not say one.

    Raises:
        FieldError: names the field that is missing or wrong.
    """
    method = _one_of(row, "method", ROBOTS)
    item, known = _item(row)
    run = optional_text(row, "run_id") or file.stem
    threshold = _threshold(row)
    part = _part(row, item)
    unset = method in CONFORMAL and threshold is None and not row.get("prediction_set")
    calibrates = part == "calibration" if part else unset
    if part is None and calibrates:
        item = replace(item, part="calibration")
    return DecisionLine(
        decision=_decision(row, method, item, run),
        known=known,
        turn=row.whole("turn") if row.get("turn") is not None else 0,
        calibrates=calibrates,
        guessed=part is None and calibrates,
        threshold=threshold,
        settings=_settings(row, threshold),
        dataset=optional_text(row, "dataset"),
        version=optional_text(row, "dataset_version"),
        questions=row.whole("questions") if row.get("questions") is not None else None,
        robot=optional_text(row, "robot"),
        user=optional_text(row, "user"),
    )


def _part(row: Row, item: DecideItem) -> Part | None:
    if row.get("part") is not None:
        return row.one_of("part", PARTS)
    return item.part if row.get("item") is not None else None


def _item(row: Row) -> tuple[DecideItem, bool]:
    if row.get("item") is not None:
        record = row.object("item")
        item = row.parsed("item", lambda _: read_item(record.data, "the item"), record.data)
        if isinstance(item, DraftItem):
            raise row.wrong("item", "is a draft, of which nothing is decided")
        return item, True
    id = row.key("pair_id")
    part: Part = row.one_of("part", PARTS) if row.get("part") is not None else "test"
    if row.get("member") is None:
        kind_text = optional_text(row, "type")
        if spelled(kind_text) in TASK_TYPES:
            raise row.wrong("member", f"is missing; it must be one of {', '.join(MEMBERS)}")
        scenario = Scenario(id=id, objects=(), scene="", task="", intended=(), location="", type=kind_text)
        return ScenarioItem(scenario=scenario, part=part), False
    member: Member = _one_of(row, "member", MEMBERS)
    kind: TaskType = _one_of(row, "type", TASK_TYPES)
    if (kind == "unambiguous_direct") != (member == "clear"):
        raise row.wrong("type", f"is {kind}, which a task that is {member} cannot be")
    # Of a clear task nothing is told by its pair's type.
    ambiguity: Ambiguity = kind if kind != "unambiguous_direct" else "preferences"
    return PairItem(pair=_stand_in(id, ambiguity), member=member, part=part), False


def _stand_in(id: str, kind: Ambiguity) -> Pair:
    return Pair(
        id=id,
        objects=(),
        scene="",
        clear="",
        ambiguous="",
        type=kind,
        question="",
        answer="",
        clear_plan=(),
        ambiguous_plan=(),
        step=None,
        intent=None,
    )


def _decision(row: Row, method: str, item: DecideItem, run: str) -> Decision:
    context = row.one_of("context", CONTEXTS) if row.get("context") is not None else "full_plan"
    dialogue = row.one_of("dialogue", DIALOGUES) if row.get("dialogue") is not None else "before"
    generator, chooser, answer = (optional_text(row, name) for name in ("generator", "chooser", "answer"))
    seed = "" if row.get("seed") is None else f".{row.get('seed')}"
    called = ".".join((item.id, method, generator, chooser, context, dialogue)) + seed
    base = Decision(
        episode_id=optional_text(row, "episode_id") or called,
        run=run,
        item=item,
        method=cast(Literal["offline"], method),
        context=context,
        dialogue=dialogue,
        generator=generator,
        chooser=chooser,
        asked=_asked(row, answer),
        question=optional_text(row, "question"),
        answer=answer,
        prompts=_said(row, "prompts"),
        raw=_said(row, "raw_outputs"),
        flags=optional_texts(row, "flags"),
        seconds=row.number_or_none("seconds"),
    )
    return replace(base, **FIELDS[method](row))


def _asked(row: Row, answer: str) -> bool | None:
    """Whether it asked. Where the line does not say so: who was answered did, who could have been did not."""
    asking = "asks" if row.get("asks") is not None else "help"
    asks = optional_flag(row, asking)
    return bool(answer) if asks is None and (answer or row.get("questions")) else asks


def _settings(row: Row, threshold: Calibrated | None) -> Settings:
    """Return those of the line; where it does not say them, its target is that of the threshold in force."""
    values = row.get("settings") or {}
    settings: Settings = row.parsed("settings", read_settings, values)
    if threshold is None or "target_success" in values or not 0 < threshold.epsilon < 1:
        return settings
    return replace(settings, target_success=float(1 - exact(threshold.epsilon)))


def _threshold(row: Row) -> Calibrated | None:
    if row.get("q_hat") is None:
        return None
    epsilon = row.number("epsilon")
    if not 0 <= epsilon <= 1:
        raise row.wrong("epsilon", f"is {epsilon:g}, not between 0 and 1")
    return Calibrated(
        q_hat=row.parsed("q_hat", maybe_infinite),
        n=row.whole("n_calibration"),
        epsilon=epsilon,
        rank=row.whole("rank"),
        run=optional_text(row, "calibration_run"),
    )


def _said(row: Row, name: str) -> tuple[tuple[str, str], ...]:
    """Texts by role: a list of objects, of texts alone, or an object."""
    value = row.get(name)
    if not value:
        return ()
    if isinstance(value, dict):
        return tuple((role, text) for role, text in value.items() if isinstance(text, str))
    if isinstance(value, list) and all(isinstance(entry, str) for entry in value):
        return tuple(("", text) for text in value)
    return tuple((entry.text("role"), entry.text("text", empty=True)) for entry in row.rows(name))


def _one_of(row: Row, name: str, allowed: tuple[T, ...]) -> T:
    """Return one of some names, however it is spelled."""
    value = row.get(name)
    for choice in allowed:
        if isinstance(value, str) and choice == spelled(value):
            return choice
    return row.one_of(name, allowed)
