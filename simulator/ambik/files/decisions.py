"""Logs of decisions, JSON lines or a JSON list (spec 13): read field by field, and made of the log's lines.

A file need not have every field: what a method's set is made of must be there, the rest may miss. Texts of
the task come from the line (``item``, which our own files have), or from data by pair and member.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from itertools import count
from pathlib import Path
from typing import Any, Final, Literal, TypeVar, cast

from simulator.ambik.conformal import exact
from simulator.ambik.files.jsonlist import read_records
from simulator.ambik.files.lettered import letters, logprob, maybe_infinite, option_texts
from simulator.ambik.files.table import spelled
from simulator.ambik.files.versions import part_of
from simulator.ambik.items import DecideItem, DraftItem, PairItem, ScenarioItem
from simulator.ambik.pairs import Pair, Scenario
from simulator.ambik.parsing import read_certainty
from simulator.ambik.playing import read_settings
from simulator.ambik.records import Affordance, Calibrated, Decision
from simulator.ambik.rows import read_item
from simulator.ambik.settings import DEFAULT, Settings
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
from simulator.jsonlines import Read, Row

T = TypeVar("T")
ROBOTS: Final = (*METHODS, "offline", "person")
_HOLDS: Final = ("prediction_set", "token_table", "samples", "certainty", "options", "marked", "action")
OTHERS: Final = ("user", "annotator")
"""Seats of the lines of a log that are no decisions: people's answers and forms."""


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

    @property
    def key(self) -> str:
        """What no other line of a file has."""
        one = self.decision
        return f"{one.run} {one.episode_id} {self.turn}"


@dataclass(frozen=True, slots=True)
class _Passed:
    """A line that is no decision."""

    key: str


@dataclass(slots=True)
class _Reader:
    """Reads the lines of one file."""

    file: Path
    numbers: Any = field(default_factory=count)

    def __call__(self, row: Row) -> DecisionLine | _Passed:
        if row.get("seat") in OTHERS:
            return _Passed(f"other {next(self.numbers)}")
        return decision_line(row, self.file)


def is_decision(row: Mapping[str, Any]) -> bool:
    """Whether an object is a line of a log of decisions."""
    return {"pair_id", "method"} <= row.keys() and any(name in row for name in _HOLDS)


def read_decisions(path: str | Path) -> Read[DecisionLine]:
    """The decisions of a file, in its order; lines of users and annotators are passed over.

    Raises:
        InputError: if the file cannot be read at all.
    """
    path = Path(path)
    read = read_records(path, _Reader(path), lambda one: one.key, name="pair_id")
    kept = [
        (row, line) for row, line in zip(read.rows, read.lines, strict=True) if isinstance(row, DecisionLine)
    ]
    return Read(tuple(row for row, _ in kept), tuple(line for _, line in kept), read.faults)


def with_items(
    lines: Iterable[DecisionLine], pairs: Mapping[str, Pair], scenarios: Mapping[str, Scenario]
) -> tuple[DecisionLine, ...]:
    """The same lines, with the texts of data where they have none of their own.

    Args:
        lines: of a file.
        pairs: of the data, by id.
        scenarios: likewise.
    """
    return tuple(one if one.known else _with_item(one, pairs, scenarios) for one in lines)


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
    """A line of `file`, which names its run where it does not say one.

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
        given = row.object("item")
        found = row.parsed("item", lambda _: read_item(given.data, "the item"), given.data)
        if isinstance(found, DraftItem):
            raise row.wrong("item", "is a draft, of which nothing is decided")
        return found, True
    id = row.key("pair_id")
    part: Part = row.one_of("part", PARTS) if row.get("part") is not None else "test"
    if row.get("member") is None:
        of = optional_text(row, "type")
        if spelled(of) in TASK_TYPES:
            raise row.wrong("member", f"is missing; it must be one of {', '.join(MEMBERS)}")
        scenario = Scenario(id=id, objects=(), scene="", task="", intended=(), location="", type=of)
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
    return replace(base, **_FIELDS[method](row))


def _asked(row: Row, answer: str) -> bool | None:
    """Whether it asked. Where the line does not say so: who was answered did, who could have been did not."""
    asking = "asks" if row.get("asks") is not None else "help"
    asks = row.get(asking)
    if asks is not None and asks not in (0, 1):
        raise row.wrong(asking, f"is {asks!r}, not true or false")
    if asks is None and (answer or row.get("questions")):
        return bool(answer)
    return None if asks is None else bool(asks)


def _lettered(row: Row) -> dict[str, Any]:
    texts = option_texts(row)
    return {
        "options": texts,
        "filled": () if row.get("filled_options") is None else letters(row, "filled_options", texts),
        "tokens": tuple(_token(row, place, one) for place, one in enumerate(_tokens(row))),
        "action": optional_text(row, "action"),
        "right": None if row.get("right") is None else letters(row, "right", texts),
    }


def _tokens(row: Row) -> list[Any]:
    """Tokens with their log-probabilities, a list or an object."""
    given = row.get("token_table")
    return [list(one) for one in given.items()] if isinstance(given, dict) else row.list("token_table")


def _judged(row: Row) -> dict[str, Any]:
    found = _lettered(row)
    given = row.object("affordance")
    table = {letter: given.object(letter) for letter in given.data}
    for letter, one in table.items():
        for name in ("context", "prompt"):
            if not 0 <= (one.number_or_none(name) or 0) <= 1:
                raise row.wrong(f"affordance.{letter}.{name}", f"is {one.get(name)}, not between 0 and 1")
    affordance = {
        letter: Affordance(one.number("context"), one.number_or_none("prompt"))
        for letter, one in table.items()
    }
    return {**found, "affordance": affordance}


def _sampled(row: Row) -> dict[str, Any]:
    samples, similar = row.object("samples"), row.get("similarities")
    counts = {answer: samples.whole(answer) for answer in samples.data}
    if any(number < 1 for number in counts.values()):
        raise row.wrong("samples", "has an answer that was drawn less than once")
    likeness = row.object("similarities") if similar else None
    draws = row.whole("draws") if row.get("draws") is not None else sum(counts.values())
    if draws < 0:
        raise row.wrong("draws", f"is {draws}; so many answers cannot be drawn")
    return {
        "samples": counts,
        "similarities": {} if likeness is None else {one: likeness.number(one) for one in likeness.data},
        "draws": draws,
        "action": optional_text(row, "action"),
    }


def _single(row: Row) -> dict[str, Any]:
    action = optional_text(row, "action") or next(iter(optional_texts(row, "prediction_set")), "")
    return {"action": action}


def _certain(row: Row) -> dict[str, Any]:
    certainty, flags = read_certainty(row.text("certainty", empty=True)), optional_texts(row, "flags")
    if certainty == "invalid":
        flags = tuple(dict.fromkeys((*flags, "invalid_certainty")))
    return {**_single(row), "certainty": certainty, "flags": flags}


def _marked(row: Row) -> dict[str, Any]:
    name = "marked" if row.get("marked") is not None else "prediction_set"
    row.list(name)
    return {"chosen": optional_texts(row, name), "action": optional_text(row, "action")}


_FIELDS: Final[Mapping[str, Any]] = {
    "knowno": _lettered,
    "lap": _judged,
    "lofreecp": _sampled,
    "binary": _certain,
    "nohelp": _single,
    "offline": _marked,
    "person": _marked,
}


def _settings(row: Row, threshold: Calibrated | None) -> Settings:
    """Those of the line; where it does not say them, its target is that of the threshold in force."""
    given = row.get("settings") or {}
    found: Settings = row.parsed("settings", read_settings, given)
    if threshold is None or "target_success" in given or not 0 < threshold.epsilon < 1:
        return found
    return replace(found, target_success=float(1 - exact(threshold.epsilon)))


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


def _token(row: Row, place: int, given: Any) -> tuple[str, float]:
    name = f"token_table[{place}]"
    pair = [given.get("token"), given.get("logprob")] if isinstance(given, dict) else given
    if not isinstance(pair, list) or len(pair) != 2 or not isinstance(pair[0], str):
        raise row.wrong(name, "is not a token with its log-probability")
    return pair[0], logprob(row, name, pair[1])


def _said(row: Row, name: str) -> tuple[tuple[str, str], ...]:
    """Texts by role: a list of objects, of texts alone, or an object."""
    given = row.get(name)
    if not given:
        return ()
    if isinstance(given, dict):
        return tuple((role, text) for role, text in given.items() if isinstance(text, str))
    if isinstance(given, list) and all(isinstance(one, str) for one in given):
        return tuple(("", text) for text in given)
    return tuple((one.text("role"), one.text("text", empty=True)) for one in row.rows(name))


def _one_of(row: Row, name: str, allowed: tuple[T, ...]) -> T:
    """One of some names, however it is spelled."""
    given = row.get(name)
    found = next((one for one in allowed if isinstance(given, str) and one == spelled(given)), None)
    return row.one_of(name, allowed) if found is None else found


def optional_text(row: Row, name: str) -> str:
    """A text that may be missing: then it is empty."""
    return "" if row.get(name) is None else row.text(name, empty=True)


def optional_texts(row: Row, name: str) -> tuple[str, ...]:
    """A list of texts that may be missing: then there are none."""
    given = [] if row.get(name) is None else row.list(name)
    for place, one in enumerate(given):
        if not isinstance(one, str):
            raise row.wrong(f"{name}[{place}]", "is not a text")
    return tuple(given)
