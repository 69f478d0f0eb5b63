"""Test 2: statements on what a sentence may mean, judged true or false (spec 7)."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Final, Literal, NamedTuple

from simulator.ambient.intervals import clustered_interval
from simulator.ambient.labels import Side
from simulator.ambient.records import TrueFalseRecord
from simulator.stats import Interval

TEMPLATES: Final[tuple[str, ...]] = (
    "{a} This may mean: {d}",
    "{a} This does not necessarily mean: {d}",
    "{a} This cannot mean: {d}",
    "{a} This can only mean: {d}",
)
"""By `template_id`, 0 to 3; `a` is the ambiguous sentence, `d` one of its rewrites."""
_EXPECTED: Final = (True, True, False, False)
_PROMPT: Final = "Q: {statement} True or False?\nA:"
TRUE, FALSE = " True", " False"
"""The continuations whose probabilities are compared, each with its blank."""
Pairs = Literal["paper", "reference"]


def statement(template: int, sentence: str, rewrite: str) -> str:
    """Return what is to be judged."""
    return TEMPLATES[template].format(a=sentence, d=rewrite)


def true_false_prompt(template: int, sentence: str, rewrite: str) -> str:
    """Return the whole text that a model continues; there are no worked examples."""
    return _PROMPT.format(statement=statement(template, sentence, rewrite))


def expected(template: int) -> bool:
    """Return True if the statement is true of every rewrite of an ambiguous sentence."""
    return _EXPECTED[template]


class Reading(NamedTuple):
    """A model's answer.

    Attributes:
        prediction: None if it cannot be told.
        mass: probability of the two words together; None if it is not known.
    """

    prediction: bool | None
    mass: float | None = None


def read_scores(true: float | None, false: float | None) -> Reading:
    """Return the answer out of the log-probabilities of `TRUE` and `FALSE`, NaN or None if one is missing.

    A tie is False.
    """
    if true is None or false is None or math.isnan(true) or math.isnan(false):
        return Reading(None)
    return Reading(true > false, math.exp(true) + math.exp(false))


def read_table(table: Mapping[str, float]) -> Reading:
    """Return the answer out of the table of the most probable next tokens.

    Args:
        table: token -> log-probability in nats. A word that is not in it makes the answer None; the mass is
            that of those which are, over the mass of the whole table.
    """
    total = math.fsum(math.exp(value) for value in table.values())
    words = [table[word] for word in (TRUE, FALSE) if word in table]
    mass = math.fsum(math.exp(value) for value in words) / total if total else None
    return Reading(words[0] > words[1] if len(words) == 2 else None, mass)


def read_text(text: str) -> Reading:
    """Return the answer out of what a model wrote: ``True`` or ``False``, blanks around, else None."""
    return Reading({"True": True, "False": False}.get(text.strip()))


@dataclass(frozen=True, slots=True, kw_only=True)
class TrueFalseMeasures:
    """Scores of a model; whole (example, side) items are resampled for every interval.

    Attributes:
        accuracy: share of all statements answered rightly; no answer is wrong.
        by_template: likewise, of each template's statements; None where there are none.
        answered_accuracy: share of the *answered* statements; not the paper's measure.
        all_four: share of (example, side, rewrite) with all four statements answered rightly; chance 1/16.
        inconsistent: share of pairs of rewrites of one sentence of which both "may" and both "can only" be
            meant, as `inconsistent_pairs` counts them.
        self_contradictions: (example, side, rewrite) with "may" and "cannot" both judged true; and with "does
            not necessarily" and "can only" both judged true.
        mass: mean probability of the two words, over statements of which it is known.
        answered: share of statements with an answer.
        statements: number.
        null: statements without an answer.
        incomplete: (example, side, rewrite) without all four statements; they are not all answered rightly.
        doubled: statements that occur more than once beyond the first; the last one's answer counts in the
            measures over several statements.
    """

    accuracy: Interval | None
    by_template: tuple[Interval | None, ...]
    answered_accuracy: Interval | None
    all_four: Interval | None
    inconsistent: Interval | None
    self_contradictions: tuple[int, int]
    mass: Interval | None
    answered: Interval | None
    statements: int
    null: int
    incomplete: int
    doubled: int


_Sentence = tuple[str, Side]
_Four = dict[int, TrueFalseRecord]
_Groups = dict[_Sentence, dict[str, _Four]]


def true_false_measures(
    records: Sequence[TrueFalseRecord], *, pairs: Pairs = "paper", seed: int = 0
) -> TrueFalseMeasures:
    """Return every measure of spec 7; for `pairs` see `inconsistent_pairs`."""
    groups = _grouped(records)
    rewrites = [(sentence, four) for sentence, by_rewrite in groups.items() for four in by_rewrite.values()]
    answered = [record for record in records if record.prediction is not None]
    weighed = [record for record in records if record.mass is not None]
    return TrueFalseMeasures(
        accuracy=_accuracy(records, seed),
        by_template=tuple(
            _accuracy([record for record in records if record.template == template], seed)
            for template in range(len(TEMPLATES))
        ),
        answered_accuracy=_accuracy(answered, seed),
        all_four=_share(((sentence, _all_right(four)) for sentence, four in rewrites), seed),
        inconsistent=_share(_inconsistent(groups, pairs), seed),
        self_contradictions=(_both(rewrites, 0, 2), _both(rewrites, 1, 3)),
        mass=_mean(weighed, lambda record: record.mass or 0.0, seed),
        answered=_mean(records, lambda record: record.prediction is not None, seed),
        statements=len(records),
        null=len(records) - len(answered),
        incomplete=sum(len(four) < len(TEMPLATES) for _, four in rewrites),
        doubled=len(records) - sum(len(four) for _, four in rewrites),
    )


def inconsistent_pairs(records: Iterable[TrueFalseRecord], pairs: Pairs = "paper") -> tuple[int, int]:
    """Return how many unordered pairs of rewrites of one sentence contradict each other, and of how many.

    Args:
        records: of one model.
        pairs: ``paper``: "may" and "can only" are judged true of both rewrites; ``reference``, the published
            notebook's shortcut: "can only" is looked at for the alphabetically first of the two alone.
    """
    inconsistent = [holds for _, holds in _inconsistent(_grouped(records), pairs)]
    return sum(inconsistent), len(inconsistent)


def _inconsistent(groups: _Groups, pairs: Pairs) -> Iterator[tuple[_Sentence, bool]]:
    """Yield of every pair of rewrites of a sentence whether they contradict each other."""
    for sentence, rewrites in groups.items():
        for first, second in combinations(sorted(rewrites), 2):
            both = (rewrites[first], rewrites[second])
            only = both[:1] if pairs == "reference" else both
            yield sentence, all(_says(four, 0) for four in both) and all(_says(four, 3) for four in only)


def _sentence(record: TrueFalseRecord) -> _Sentence:
    return record.id, record.side


def _grouped(records: Iterable[TrueFalseRecord]) -> _Groups:
    groups: _Groups = {}
    for record in records:
        rewrites = groups.setdefault(_sentence(record), {})
        rewrites.setdefault(record.disambiguation, {})[record.template] = record
    return groups


def _accuracy(records: Sequence[TrueFalseRecord], seed: int) -> Interval | None:
    return _mean(records, lambda record: record.correct, seed)


def _mean(
    records: Sequence[TrueFalseRecord], value: Callable[[TrueFalseRecord], float], seed: int
) -> Interval | None:
    """Return the mean over statements; one that was judged several times is one."""
    return clustered_interval(
        [value(record) for record in records],
        [_sentence(record) for record in records],
        [(*_sentence(record), record.disambiguation, record.template) for record in records],
        seed=seed,
    )


def _share(values: Iterable[tuple[Hashable, float]], seed: int) -> Interval | None:
    pairs = list(values)
    return clustered_interval([value for _, value in pairs], [item for item, _ in pairs], seed=seed)


def _says(four: _Four, template: int) -> bool:
    """Return True if a statement was judged true."""
    return template in four and four[template].prediction is True


def _all_right(four: _Four) -> bool:
    return len(four) == len(TEMPLATES) and all(record.correct for record in four.values())


def _both(rewrites: Iterable[tuple[_Sentence, _Four]], first: int, second: int) -> int:
    return sum(_says(four, first) and _says(four, second) for _, four in rewrites)
