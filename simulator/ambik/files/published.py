"""Readers of KnowNo's scenarios, a published run on them, metric cases and result tables (spec 9, 10)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any, Final

from pydantic import BaseModel, BeforeValidator, Field, create_model, field_validator

from simulator.ambik.files.fields import Letter, Letters, Logprob, Options
from simulator.ambik.files.pairs import read_intent
from simulator.ambik.items import Scenario, ScenarioItem
from simulator.ambik.naming import is_filler
from simulator.ambik.records import Decision
from simulator.ambik.terms import AMBIGUITIES, NAMES, TASK_TYPES, Metrics, Part, TaskType
from simulator.fields import Finite, Key, Whole, must
from simulator.jsonlines import Codec, Read, Row, report_duplicates
from simulator.tables.cells import SAME_ID, Columns, read_key, read_list, read_table, snake_case
from trees.faults import Fault

TYPES: Final = (
    *("singlelabel", "spatial_ambiguous", "winograd", "unsafe", "unambiguous"),
    *("creative_multilabel", "creative_singlelabel", "multilabel"),
)
"""The eight types; in files they have the suffix ``_task``."""
NEEDED: Final = (
    *("id", "environment_full", "task", "intent_object", "intent_location"),
    *("environment_short", "ambiguity_type"),
)
_SCENARIO_COLUMNS: Final = Columns((*NEEDED, "user_intent"), NEEDED)
# Words in the names of published files for the random split into 100 and 200; the files do not state it.
_PARTS: Final[Mapping[str, Part]] = {"calib": "calibration", "test": "test"}
# Other names of the parts in records of a run; records without one are for calibration.
_SPLITS: Final = {"": "calibration", "calib": "calibration"}


def is_knowno(header: Iterable[str]) -> bool:
    """Return True if the columns are those of a file of scenarios."""
    return _SCENARIO_COLUMNS.has(header, "task", "intent_object", "intent_location")


def read_knowno(path: str | Path) -> Read[Scenario]:
    """Return the scenarios of a file; invalid rows and repeated ids are faults.

    A file with ``calib`` or ``test`` in its name has that part's scenarios.

    Raises:
        InputError: if the file cannot be read at all, or lacks a column.
    """
    part = next((part for word, part in _PARTS.items() if word in Path(path).stem.casefold()), None)
    table = read_table(path, _SCENARIO_COLUMNS)
    read = table.read(lambda row, record: _scenario(row, part), lambda record: record.text("id"))
    return report_duplicates(path, read, lambda scenario: (scenario.id, ""), code="id", message=SAME_ID)


def _scenario(row: Row, part: Part | None) -> Scenario:
    _SCENARIO_COLUMNS.check_row(row)
    written = row.text("ambiguity_type")
    kind = snake_case(written).removesuffix("_task")
    if kind not in TYPES:
        raise row.error(
            "ambiguity_type", f"is {written!r}, not one of {', '.join(TYPES)} (with _task or not)"
        )
    return Scenario(
        id=read_key(row, "id"),
        objects=read_list(row, "environment_short"),
        scene=row.text("environment_full"),
        task=row.text("task"),
        intended=read_list(row, "intent_object"),
        location=row.text("intent_location"),
        type=kind,
        intent=read_intent(row, "user_intent"),
        part=part,
    )


def _split(written: Any) -> Any:
    if not isinstance(written, str):
        return "" if written is None else written
    name = written.strip().lower()
    return _SPLITS.get(name, name)


class Logprobs(BaseModel, frozen=True):
    """The chooser's answer for one scenario.

    Attributes:
        item: the scenario's number in that run, whose order differs from that of AmbiK's files.
        split: the record's part; ``test`` records are not used for calibration.
        options: texts by letter, including ``do nothing`` and "none of the others".
        not_listed_option: the letter of "none of the others"; empty if there is none.
        top_tokens: as returned: stripped, possibly repeated or not letters.
        top_logprobs: the tokens' log-probabilities (natural).
    """

    item: Key
    split: Annotated[Part, BeforeValidator(_split)] = "calibration"
    options: Options
    not_listed_option: Letter = ""
    true_options: Letters
    top_tokens: tuple[str, ...] = Field(min_length=1)
    top_logprobs: tuple[Logprob, ...]

    @property
    def tokens(self) -> tuple[tuple[str, float], ...]:
        """Each token with its log-probability."""
        return tuple(zip(self.top_tokens, self.top_logprobs, strict=True))

    @field_validator("top_logprobs")
    @classmethod
    def _one_each(cls, logprobs: tuple[float, ...], info: Any) -> tuple[float, ...]:
        tokens = info.data.get("top_tokens", logprobs)
        if len(logprobs) != len(tokens):
            raise ValueError(f"has {len(logprobs)} entries, not {len(tokens)}")
        return logprobs


read_logprobs_record = Codec[Logprobs](Logprobs).read_row


def decisions_of(
    records: Sequence[Logprobs],
    run: str,
    *,
    scenarios: Mapping[str, Scenario] | None = None,
) -> tuple[Decision, ...]:
    """Return the records of a file as decisions.

    `scenarios`: by id, for their texts; other scenarios are known only by number. The right options always
    come from the records.
    """

    def scenario(number: str) -> Scenario:
        unknown = Scenario(id=number, scene="", task="", location="", type="")
        return (scenarios or {}).get(number, unknown)

    return tuple(
        Decision(
            episode_id=f"{Path(run).stem}.{record.item}",
            run=run,
            item=ScenarioItem(scenario=scenario(record.item), part=record.split),
            method="knowno",
            options=record.options,
            filled=tuple(letter for letter, text in record.options.items() if is_filler(text)),
            tokens=record.tokens,
            right=record.true_options,
        )
        for record in records
    )


# ---- metric cases: inputs, and their values by the paper's rule and in the published code

MEANS: Final = "mean per type"
READINGS: Final = ("found_in_set", "best_single_option")
"""The two readings of the paper's rule for an intent whose concepts are spread over several options."""
_NOT_COUNTED: Final = -1
_VALUES: Final[Mapping[Metrics, str]] = {"paper": "expected_paper", "reference": "repo_value"}

Size = Annotated[Whole, must(lambda size: size >= 0, "is {}; a size must not be negative".format)]


class _Rates(BaseModel):
    hr: Annotated[Finite, Field(alias="HR")]
    chr: Annotated[Finite, Field(alias="CHR")]


class _Readings(BaseModel):
    found_in_set: Finite
    best_single_option: Finite


def _input(**fields: Any) -> Codec[Any]:
    required: dict[str, Any] = {name: (kind, ...) for name, kind in fields.items()}
    return Codec(create_model("Input", **required))


INPUTS: Final[Mapping[str, Codec[Any]]] = {
    "ICR": _input(prediction_set=list[str], user_intent=str | None),
    "HR": _input(set_size=Size, type=TaskType),
    "CHR": _input(set_size=Size, type=TaskType),
    "SSC": _input(prediction_set=list[str], amb_shortlist=str | None, type=TaskType),
    "AmbDif": _input(size_unambiguous=Size, size_ambiguous=Size),
    "AmbDif-Binary": _input(unambiguous=str, ambiguous=str),
    MEANS: _input(rows=list[tuple[TaskType, Size]]),
}
"""The inputs of each metric."""
_NUMBER: Final = Codec[float | None](Finite | None)
_BOTH: Final = Codec[_Readings](_Readings)
_MEANS: Final = Codec[dict[str, _Rates]](dict[str, _Rates])


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricCase:
    """A metric case (spec 10.1).

    Attributes:
        metric: one of `INPUTS`.
        paper: the value by the paper's rule: a number; an object for means per type, or where the paper
            allows two readings (`READINGS`); None where the row is not counted.
        reference: the published code's value: a number, or an object for means per type; None where the row
            is not counted, which files may write as -1.
        modes: the modes for which the file has a value.
    """

    id: str
    metric: str
    input: Mapping[str, Any]
    paper: Any
    reference: Any
    note: str = ""
    modes: tuple[Metrics, ...] = ("paper", "reference")

    @property
    def differs(self) -> bool:
        """True if the published code deviates from the paper's rule."""
        return len(self.modes) > 1 and bool(self.paper != self.reference)


def is_metric_case(row: Mapping[str, Any]) -> bool:
    """Return True if an object is a metric case."""
    return row.keys() >= {"id", "metric", "input"} and any(name in row for name in _VALUES.values())


def read_metric_case(row: Row) -> MetricCase:
    """Return a case.

    Raises:
        FieldError: if the metric is unknown, or a field is missing or has a wrong type.
    """
    metric = row.one_of("metric", tuple(INPUTS))
    INPUTS[metric].read_field(row, "input")
    reference = _value(row, "repo_value", metric)
    return MetricCase(
        id=row.key("id"),
        metric=metric,
        input=row.data["input"],
        paper=_value(row, "expected_paper", metric),
        reference=None if reference == _NOT_COUNTED else reference,
        note="" if row.get("note") is None else row.text("note", empty=True),
        modes=tuple(mode for mode, name in _VALUES.items() if name in row.data),
    )


def _value(row: Row, name: str, metric: str) -> Any:
    value = row.get(name)
    if value is None or (metric == MEANS and value == _NOT_COUNTED):
        return value
    if metric == MEANS:
        return {kind: rates.model_dump(by_alias=True) for kind, rates in _MEANS.read_field(row, name).items()}
    if metric == "ICR" and name == "expected_paper" and isinstance(value, dict):
        return _BOTH.read_field(row, name).model_dump()
    return _NUMBER.read_field(row, name)


# ---- result tables, with a row for each method and type, and their consistency

METRICS: Final = ("icr", "hr", "chr", "ssc", "ambdif", "sr")
"""The metrics of a row; ``sr`` is the success rate on KnowNo's scenarios (Table 8)."""
_COLUMNS: Final = Columns(("model", "method", "type", *METRICS))
ALL: Final = ("all", "pairs")
"""Type names of rows over all types: AmbDif is computed over pairs."""
_SHORT: Final[Mapping[str, TaskType]] = {
    "unambiguous": "unambiguous_direct",
    "clear": "unambiguous_direct",
    "common_sense": "common_sense_knowledge",
}
"""Types by their names in the paper's tables."""
_NONE: Final = ("na", "n/a", "-", "nan")
_EXACT: Final = 1e-9
_NO_NUMBER: Final = "is {!r}, not a number; write a fraction of 1, such as 0.25, or 25%"


@dataclass(frozen=True, slots=True, kw_only=True)
class ResultRow:
    """A row of a result table.

    Attributes:
        model: generator, or generator + chooser; empty if the table has no such column.
        method: one of the five, or the name of another one.
        type: None for a row over all pairs.
        values: fractions of 1 by metric, without empty cells.
    """

    model: str
    method: str
    type: TaskType | None
    values: Mapping[str, float]


def is_result_table(header: Iterable[str]) -> bool:
    """Return True if the columns are those of a result table, in any letter case; types are optional."""
    header = tuple(header)
    return any(_COLUMNS.has(header, "method", metric) for metric in METRICS)


def read_result_table(path: str | Path) -> Read[ResultRow]:
    """Return the rows of a table; unreadable rows are faults, inconsistent ones warnings.

    Raises:
        InputError: if the file cannot be read at all.
    """
    table = read_table(path, _COLUMNS)
    cells = {name: [record.text(name) for record in table.records] for name in METRICS}
    percent = [name for name, texts in cells.items() if any("%" in text for text in texts)]
    rows, lines, faults = table.read(
        lambda row, record: _row(row, percent), lambda record: record.text("method")
    )
    # Trailing zeros are often omitted, so the rounding is inferred from all cells of a column.
    digits = {name: max(map(_digits, texts), default=0) for name, texts in cells.items()}
    rounding = {name: 0.5 * 10.0**-most + _EXACT for name, most in digits.items()}
    warnings = [
        Fault(str(path), rows[place].method, lines[place], "consistency", message, "warning")
        for place, message in inconsistencies(rows, rounding)
    ]
    if percent:
        message = f"{', '.join(percent)}: in percent, read as fractions of 1"
        warnings.insert(0, Fault(str(path), "", 1, "percent", message, "warning"))
    return Read(rows, lines, tuple(sorted((*faults, *warnings), key=lambda fault: fault.line)))


def inconsistencies(
    rows: Sequence[ResultRow], rounding: Mapping[str, float] | None = None
) -> Iterator[tuple[int, str]]:
    """Yield the indices of inconsistent rows, with messages.

    CHR is HR for preferences and 1 - HR for the other types. A pair counts for AmbDif only if the robot asks
    about its ambiguous task, so AmbDif cannot be above the highest HR of an ambiguous type.

    `rounding`: tolerance by metric; default: none.
    """
    off = {name: (rounding or {}).get(name, _EXACT) for name in METRICS}
    help_rates: defaultdict[tuple[str, str], dict[str, float]] = defaultdict(dict)
    for place, row in enumerate(rows):
        if row.type is None or "hr" not in row.values:
            continue
        help_rates[row.model, row.method][row.type] = row.values["hr"]
        if "chr" in row.values:
            expected = row.values["hr"] if row.type == "preferences" else 1 - row.values["hr"]
            if abs(row.values["chr"] - expected) > off["chr"] + off["hr"]:
                rule = "HR" if row.type == "preferences" else "1 - HR"
                message = f"chr: is {row.values['chr']:g}, but {rule} of {row.type} is {expected:.4g}"
                yield place, message
    for place, row in enumerate(rows):
        rates = help_rates[row.model, row.method]
        if "ambdif" not in row.values or not set(AMBIGUITIES) <= rates.keys():
            continue
        highest = max(rates[kind] for kind in AMBIGUITIES)
        if row.values["ambdif"] > highest + off["ambdif"] + off["hr"]:
            message = (
                f"ambdif: is {row.values['ambdif']:g}, but HR is at most {highest:g} for ambiguous types"
            )
            yield place, message


def _row(row: Row, percent: Collection[str]) -> ResultRow:
    written = row.text("method")
    methods = {spelling.casefold(): name for name, title in NAMES.items() for spelling in (name, title)}
    name = snake_case(row.get("type", ALL[0]))
    kind = _SHORT.get(name, name)
    values = {name: _fraction(row, name, name in percent) for name in METRICS}
    return ResultRow(
        model=row.get("model", ""),
        method=methods.get(written.casefold(), written),
        type=None if kind in ALL else Row({"type": kind}).one_of("type", TASK_TYPES),
        values={name: value for name, value in values.items() if value is not None},
    )


def _fraction(row: Row, name: str, percent: bool) -> float | None:
    """Return a cell as a fraction of 1.

    `percent`: True if some cell of the column has a percent sign, which makes numbers without one ambiguous.
    """
    text = row.get(name)
    if text is None or text.casefold() in _NONE:
        return None
    number, sign, rest = text.partition("%")
    try:
        value = float(number)
    except ValueError as error:
        raise row.error(name, _NO_NUMBER.format(text)) from error
    if rest:
        raise row.error(name, _NO_NUMBER.format(text))
    if percent and value and not sign:
        raise row.error(name, f"is {text} without %, which other cells of the column have")
    value = float(Decimal(number.strip()) / 100) if sign else value
    if not 0 <= value <= 1:
        raise row.error(name, f"is {text}, not a fraction from 0 to 1")
    return value


def _digits(text: str) -> int:
    """Return the number of decimals of a cell's fraction of 1."""
    number, sign, _ = text.partition("%")
    return len(number.strip().partition(".")[2]) + 2 * bool(sign)
