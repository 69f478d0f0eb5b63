"""Trial records: the same fields for people, models and the oracle (spec section 15).

Reports are built from these records alone, whether from logged runs (`trial_log`) or files of JSON lines.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, ClassVar, Final, Literal, NamedTuple, get_args

from pydantic import BeforeValidator, ConfigDict, StringConstraints, TypeAdapter, ValidationError

from simulator.ambibench.aws import CATEGORIES as REGIONS
from simulator.ambibench.aws import classify, origins
from simulator.ambibench.coding import CATEGORIES
from simulator.ambibench.features import (
    PAIR_NAMES,
    PAIRS,
    TEXT_SETTINGS,
    VALUES,
    Feature,
    Format,
    Hypothesis,
    Kind,
    Label,
    Pair,
    Setting,
    Variant,
    pair_of,
    value_code,
)
from simulator.ambibench.score import MODES, TIES, Mode, ScoreMode, Tie, read_answer, read_reply, read_table
from simulator.errors import InputError
from simulator.fields import first_fault
from simulator.jsonlines import Duplicates, Read, raw_lines, report_duplicates, write_lines

ActorKind = Literal["human", "model", "oracle"]
_FINETUNED: Final = re.compile(
    rf"ambibench-(?P<fold>{'|'.join(PAIR_NAMES)})-(?P<variant>{'|'.join(get_args(Variant))})"
)
_READ: Final = ("answer", "normalised", "correct", "valid", "tie", "p_x", "p_y", "p_valid")
_SHARES: Final = ("correct", "p_x", "p_y", "p_valid", "oracle_p")
# Sums of exponentials may exceed 1 by rounding errors.
_ROUNDED: Final = 1e-6
_CHOICES: Final[Mapping[str, Mapping[str, tuple[str, ...]]]] = {
    "aws": {"origin": origins(), "category": REGIONS},
    "verbalise": {"category": CATEGORIES},
}


@dataclass(frozen=True, slots=True)
class ShownExample:
    """A labelled example shown before the trial."""

    sentence: str
    label: str


def _pairs(table: Any) -> Any:
    """Return a table as a list of pairs; it may be given as an object."""
    return list(table.items()) if isinstance(table, dict) else table


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialRecord:
    """One trial with its answer.

    Attributes:
        run_id: the run; with `software_version` and `created_at`.
        fold: the held-out pair, in finetuning and its evaluation.
        ft_variant: the variant of the finetuning data, or of the data that the model was trained on.
        prompt_id: together with `seed` it identifies the prompt, which can be rebuilt from them.
        polarity: the value that is labelled X.
        k: the position, from 1 to `n_examples`; None for free text.
        feature_a: coded value of feature a of the sentence.
        feature_b: coded value of feature b of the sentence.
        history: the examples shown before, or the `trial_id` of the previous trial; the history is then that
            trial's own history followed by its sentence and gold label.
        actor_id: a model's name, or a person's pseudonym.
        decoding: temperature, tokens, size of the table, service, …
        raw_answer: as typed or written; `answer` as parsed; `normalised` if lower case was accepted.
        top_logprobs: tokens with their log-probabilities, in the order received.
        p_x: probability of X; None for written answers, as are `p_y` and `p_valid`.
        correct: 1 or 0; .5 for a tie that counts half.
        oracle_p: the Bayes-optimal learner's probability of the gold label.
        oracle_identified: whether the learner knows the task before this label.
        rt_ms: milliseconds from when the trial was visible until it was answered.
        session_id: a person's episode; `consent` and `comment` belong to the session.
        category: of free text.
        repeat: 0 for the first play of the prompt in its run.
        origin: origin of the name (aws).
        second_name: whether an example has a name of the same origin (aws).
    """

    # A probability of 0 has the logarithm -inf, which JSON can only represent as a string.
    __pydantic_config__: ClassVar[ConfigDict] = ConfigDict(extra="ignore", ser_json_inf_nan="strings")

    run_id: str = ""
    software_version: str | None = None
    created_at: str | None = None
    setting: Setting
    fold: Pair | None = None
    ft_variant: Variant | None = None
    prompt_id: str
    seed: int | None = None
    pair: Pair | None = None
    salient_feature: Feature | None = None
    polarity: Annotated[str, StringConstraints(to_lower=True)] | None = None
    format: Format | None = None
    instruction_kind: Kind | None = None
    instruction: str | None = None
    k: int | None = None
    n_examples: int | None = None
    sentence: str | None = None
    feature_a: bool | None = None
    feature_b: bool | None = None
    gold: Label | None = None
    history: list[ShownExample] | str | None = None
    prompt_text: str | None = None
    prompt_sha256: str | None = None
    actor_kind: ActorKind
    actor_id: str
    decoding: dict[str, Any] | None = None
    raw_answer: str | None = None
    answer: str | None = None
    normalised: bool = False
    top_logprobs: Annotated[list[tuple[str, float]] | None, BeforeValidator(_pairs)] = None
    p_x: float | None = None
    p_y: float | None = None
    p_valid: float | None = None
    valid: bool | None = None
    tie: bool = False
    correct: float | None = None
    score_mode: ScoreMode | None = None
    oracle_p: float | None = None
    oracle_identified: bool | None = None
    shown_at: str | None = None
    answered_at: str | None = None
    rt_ms: float | None = None
    keys_used: bool | None = None
    consent: bool | None = None
    session_id: str | None = None
    comment: str | None = None
    category: str | None = None
    trial_id: str | None = None
    repeat: int = 0
    origin: str | None = None
    second_name: bool | None = None

    @property
    def of_pair(self) -> Pair | None:
        """The pair of the salient feature."""
        return None if self.salient_feature is None else pair_of(self.salient_feature)


_ADAPTER: Final = TypeAdapter(TrialRecord)


class Finetuned(NamedTuple):
    """A model of ``askback train ambibench``: variant of its data, and name without the held-out pair."""

    variant: Variant
    family: str


def parse_finetuned(name: str) -> Finetuned | None:
    """Return the facts in the default name of a finetuned model; None for any other name."""
    match = _FINETUNED.search(name)
    if match is None:
        return None
    variant: Variant = "control" if match["variant"] == "control" else "ambiguous"
    return Finetuned(variant, name.replace(f"-{match['fold']}-", "-"))


def read_fields(text: str, table: Any, gold: Label, *, person: bool, mode: Mode, tie: Tie) -> dict[str, Any]:
    """Return the fields of a record that result from reading an answer; see `score.read_reply`."""
    reading = read_reply(text, table, gold, lower=person, mode=mode, tie=tie)
    return {**{name: getattr(reading, name) for name in _READ}, "score_mode": reading.mode}


def score_again(record: TrialRecord, mode: Mode | None = None, tie: Tie | None = None) -> TrialRecord:
    """Return the record with its answer read again, if rules are given or it was never read.

    `mode`: how a table of probabilities is read; None: as recorded. `tie`: how a tie counts; None: as
    recorded. If only one of the two is given, the other is the record's mode or ``wrong``.

    Returns:
        The same record if it cannot be read again: free text, or an answer without its raw form. A table of
        probabilities is always read again, if possible by the rule that gives the recorded result.
    """
    if record.setting == "aws" and record.category is None and record.raw_answer is not None:
        return replace(record, category=classify(record.raw_answer))
    table, gold = record.top_logprobs, record.gold
    is_scored = record.correct is not None and record.valid is not None
    # An empty table is no reason to change the record.
    unchanged = is_scored and not (mode or tie) and not table
    if gold is None or unchanged or (table is None and record.raw_answer is None):
        return record
    recorded = record.score_mode
    default: Mode = "strip" if recorded is None or recorded == "text" else recorded
    rule = (None if mode or tie else recorded_rule(record)) or (mode or default, tie or "wrong")
    person = record.actor_kind == "human"
    answer = read_fields(record.raw_answer or "", table, gold, person=person, mode=rule[0], tie=rule[1])
    return replace(record, **answer)


def recorded_rule(record: TrialRecord) -> tuple[Mode, Tie] | None:
    """Return the rule by which a record's table gives its `correct`; None if no rule does.

    If the record has no mode, all modes are tried.
    """
    table, gold, recorded = record.top_logprobs, record.gold, record.score_mode
    if not table or gold is None:
        return None
    modes = MODES if recorded is None or recorded == "text" else (recorded,)
    rules = ((mode, tie) for mode in modes for tie in TIES)
    if record.correct is None:
        return next(rules)
    return next((rule for rule in rules if read_table(table, gold, *rule).correct == record.correct), None)


# ---- files


def write_trials(path: Path, records: Sequence[TrialRecord]) -> None:
    """Write one JSON object with all fields per line, atomically.

    Raises:
        InputError: if it cannot be written.
    """
    write_lines(path, (_ADAPTER.dump_json(record).decode() for record in records))


def read_trial_file(path: Path, duplicates: Duplicates = "refuse") -> Read[TrialRecord]:
    """Return the trials in a file; fields that reports do not need may be missing or null.

    A trial without a run gets the file's stem as its run. A repeated trial that is kept loses its `trial_id`,
    since trials with the same id count once.

    Raises:
        InputError: if the file cannot be read, a line is not a trial, or different trials have the same
            `trial_id`; names file, line and field.
    """
    trials: dict[int, TrialRecord] = {}
    lines: dict[str, int] = {}
    for number, fields in raw_lines(path):
        place = f"{path}, line {number}"
        if isinstance(fields, str):
            raise InputError(f"{place}: {fields}.")
        present = {name: value for name, value in fields.items() if value is not None}
        try:
            trial = trials[number] = _ADAPTER.validate_python({"run_id": path.stem, **present})
        except ValidationError as error:
            fault = first_fault(error, fields)
            raise InputError(f"{place}: the field {fault.field!r} {fault.problem}.") from error
        if problem := next(_problems(trial), ""):
            raise InputError(f"{place}: {problem}.")
        # Only one of them would be counted, and `history` could refer to either.
        first = lines.setdefault(trial.trial_id, number) if trial.trial_id else number
        if trials[first] != trial:
            raise InputError(
                f"{place}: the field 'trial_id' is {trial.trial_id!r}, as in line {first}, but the trials "
                "differ; give them different ids, or leave the field out."
            )
    if not trials:
        raise InputError(f"{path}: contains no trials; it must be JSON lines, one object per trial.")
    read = Read(tuple(trials.values()), tuple(trials), ())
    distinct = report_duplicates(path, read, lambda trial: (trial.trial_id or "", repr(trial)), duplicates)
    repeated = {fault.line for fault in distinct.faults}
    rows = (
        replace(trial, trial_id=None) if line in repeated else trial
        for trial, line in zip(distinct.rows, distinct.lines, strict=True)
    )
    return distinct._replace(rows=tuple(rows))


def _problems(record: TrialRecord) -> Iterator[str]:
    """Yield missing fields that reports need, and contradictions between fields."""
    labelled = record.setting not in TEXT_SETTINGS
    needed = ("origin", "second_name") if record.setting == "aws" else ("salient_feature", "format")
    for name in (*needed, *(("instruction_kind", "k", "gold") if labelled else ())):
        if getattr(record, name) is None:
            yield f"the setting {record.setting} needs the field {name!r}"
    for name, choices in _CHOICES.get(record.setting, {}).items():
        yield from _refuse_unknown(record, name, choices)
    if record.k is not None and record.k < 1:
        yield f"the field 'k' is {record.k}; it must be 1 or more"
    for name in _SHARES:
        value = getattr(record, name)
        if value is not None and not -_ROUNDED <= value <= 1 + _ROUNDED:
            yield f"the field {name!r} is {value}, not from 0 to 1"
    for token, logprob in record.top_logprobs or ():
        if not logprob <= _ROUNDED:
            yield f"the field 'top_logprobs' has {logprob} for {token!r}; a log-probability is 0 or less"
    if None not in (record.pair, record.salient_feature) and record.pair != record.of_pair:
        yield f"the feature {record.salient_feature} does not belong to the pair {record.pair}"
    if labelled:
        yield from _label_problems(record)


def _label_problems(record: TrialRecord) -> Iterator[str]:
    if record.correct is None and record.top_logprobs is None and record.raw_answer is None:
        yield "one of the fields correct, top_logprobs and raw_answer is needed"
    if record.k and record.n_examples is not None and record.k > record.n_examples:
        yield f"the field 'k' is {record.k}; it must not be more than 'n_examples', {record.n_examples}"
    feature = record.salient_feature
    if feature is not None and record.polarity is not None:
        yield from _refuse_unknown(record, "polarity", VALUES[feature])
        a, b = record.feature_a, record.feature_b
        if (a if feature == PAIRS[pair_of(feature)][0] else b) is not None:
            gold = Hypothesis(feature, value_code(feature, record.polarity)).label(bool(a), bool(b))
            if record.gold != gold:
                yield (
                    f"the field 'gold' is {record.gold!r}; by 'feature_a', 'feature_b', 'salient_feature' "
                    f"and 'polarity' it is {gold!r}"
                )
    # The text can only be compared with `correct` without a table and a tie.
    if record.correct in (0, 1) and not record.tie and record.top_logprobs is None:
        yield from _wrong_correctness(record)


def _wrong_correctness(record: TrialRecord) -> Iterator[str]:
    for name, text in (("answer", record.answer), ("raw_answer", record.raw_answer)):
        if text is None:
            continue
        exact, lenient = (read_answer(text, lower=lower).label for lower in (False, True))
        # A raw answer may have been read by another rule, unless it is a plain label.
        if name == "raw_answer" and (lenient is None or record.score_mode not in (None, "text")):
            continue
        # Lower case may count as right or wrong.
        if (record.correct and lenient != record.gold) or (not record.correct and exact == record.gold):
            right = f"{name!r} is {text!r} and 'gold' {record.gold!r}"
            yield f"the field 'correct' is {record.correct:g}, but {right}"


def _refuse_unknown(record: TrialRecord, name: str, choices: tuple[str, ...]) -> Iterator[str]:
    value = getattr(record, name)
    if value not in (None, *choices):
        yield f"the field {name!r} is {value!r}; it must be one of {', '.join(choices)}"
