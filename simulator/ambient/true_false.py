"""Test 2: true-false statements about the meaning of an ambiguous sentence (spec 7)."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from itertools import combinations, groupby
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

from simulator.ambient.intervals import Count, Values, clustered_interval
from simulator.ambient.records import TrueFalseRecord
from simulator.stats import Interval

if TYPE_CHECKING:
    import pandas as pd

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
"""The continuations whose probabilities are compared, each with a leading blank."""
Pairs = Literal["paper", "reference"]


def statement(template: int, sentence: str, rewrite: str) -> str:
    """Return the statement to judge."""
    return TEMPLATES[template].format(a=sentence, d=rewrite)


def true_false_prompt(template: int, sentence: str, rewrite: str) -> str:
    """Return the complete text that a model continues; there are no worked examples."""
    return _PROMPT.format(statement=statement(template, sentence, rewrite))


def right_answer(template: int) -> bool:
    """Return the right answer, which is the same for every rewrite of an ambiguous sentence."""
    return _EXPECTED[template]


class Reading(NamedTuple):
    """A model's answer.

    `prediction`: None if the answer could not be read; `mass`: total probability of the two words; None if
    unknown.
    """

    prediction: bool | None
    mass: float | None = None


def read_scores(true: float | None, false: float | None) -> Reading:
    """Return the answer from the log-probabilities of `TRUE` and `FALSE`, None or NaN if missing.

    A tie is False.
    """
    if true is None or false is None or math.isnan(true) or math.isnan(false):
        return Reading(None)
    return Reading(true > false, math.exp(true) + math.exp(false))


def read_table(table: Mapping[str, float]) -> Reading:
    """Return the answer from a table of the most probable next tokens.

    Args:
        table: token -> log-probability in nats. The answer is None if either word is missing; the mass is
            the share of the table's probability that falls on the words in it.
    """
    total = math.fsum(math.exp(value) for value in table.values())
    words = [table[word] for word in (TRUE, FALSE) if word in table]
    mass = math.fsum(math.exp(value) for value in words) / total if total else None
    return Reading(words[0] > words[1] if len(words) == 2 else None, mass)


def read_text(text: str) -> Reading:
    """Return the answer in a model's text: ``True`` or ``False`` with optional blanks around, else None."""
    return Reading({"True": True, "False": False}.get(text.strip()))


_REWRITE: Final = ["id", "side", "rewrite"]
_STATEMENT: Final = [*_REWRITE, "template"]


def true_false_measures(records: Sequence[TrueFalseRecord]) -> Values:
    """Return every measure of spec 7; intervals resample (example, side) items.

    Unread answers count as wrong. ``all_four``: share of rewrites with all four statements answered rightly;
    ``may_and_cannot`` and ``not_necessarily_and_only``: rewrites of which both statements are judged true;
    ``inconsistent``: see `inconsistent_pairs`. If a statement is ``doubled``, its last answer counts in
    measures over several statements.
    """
    frame = _frame(records)
    answered, weighed = frame[frame["prediction"].notna()], frame[frame["mass"].notna()]
    judged = _last_answers(frame)
    says, rewrites = judged.eq(True), len(judged)
    statements = frame.drop_duplicates(_STATEMENT)
    all_right = _last_answers(frame, "correct").eq(True).all(axis=1)
    return {
        **{
            f"template_{template + 1}": _mean(frame[frame["template"] == template], "correct")
            for template in range(len(TEMPLATES))
        },
        "accuracy": _mean(frame, "correct"),
        "answered_accuracy": _mean(answered, "correct"),
        "null": Count(len(frame) - len(answered), len(frame)),
        "all_four": clustered_interval(all_right.tolist(), _sentences(judged.reset_index())),
        "inconsistent": _inconsistency(judged, "paper"),
        "inconsistent_reference": _inconsistency(judged, "reference"),
        "may_and_cannot": Count(int((says[0] & says[2]).sum()), rewrites),
        "not_necessarily_and_only": Count(int((says[1] & says[3]).sum()), rewrites),
        "mass": _mean(weighed, "mass"),
        "answered": _mean(frame.assign(answered=frame["prediction"].notna()), "answered"),
        "incomplete": Count(int((statements.groupby(_REWRITE).size() < len(TEMPLATES)).sum()), rewrites),
        "doubled": Count(len(frame) - len(statements), len(frame)),
    }


def inconsistent_pairs(records: Iterable[TrueFalseRecord], pairs: Pairs = "paper") -> tuple[int, int]:
    """Return the number of contradictory unordered pairs of rewrites of one sentence, and of all pairs.

    `pairs`: ``paper``: "may" and "can only" are judged true of both rewrites; ``reference``, the published
    notebook's shortcut: "can only" is checked only for the alphabetically first of the two.
    """
    flags = [flag for _, flag in _inconsistent(_last_answers(_frame(records)), pairs)]
    return sum(flags), len(flags)


def _frame(records: Iterable[TrueFalseRecord]) -> pd.DataFrame:
    """Return a row for each judged statement."""
    import pandas as pd  # not at the top: players need only the prompts of this module

    rows = [
        (each.id, each.side, each.disambiguation, each.template, each.prediction, each.correct, each.mass)
        for each in records
    ]
    columns = [*_STATEMENT, "prediction", "correct", "mass"]
    # dtype=object: reading values back from pandas' string type takes several times as long.
    return pd.DataFrame(rows, columns=columns, dtype=object).astype({"template": int, "mass": float})


def _last_answers(frame: pd.DataFrame, column: str = "prediction") -> pd.DataFrame:
    """Return a row per rewrite, in alphabetical order, with the last value of a column in each template."""
    last = frame.drop_duplicates(_STATEMENT, keep="last")
    wide = last.pivot(index=_REWRITE, columns="template", values=column)
    return wide.reindex(columns=range(len(TEMPLATES)))


def _inconsistent(judged: pd.DataFrame, pairs: Pairs) -> Iterator[tuple[Hashable, bool]]:
    """Yield each pair of rewrites as its sentence and whether the two contradict each other."""
    true = zip(judged.index, judged[[0, 3]].eq(True).to_numpy().tolist(), strict=True)
    for sentence, rewrites in groupby(true, key=lambda row: row[0][:2]):
        for (_, (may, only)), (_, (other_may, other_only)) in combinations(rewrites, 2):
            yield sentence, may and other_may and only and (other_only or pairs == "reference")


def _inconsistency(judged: pd.DataFrame, pairs: Pairs) -> Interval | None:
    flags = list(_inconsistent(judged, pairs))
    return clustered_interval([flag for _, flag in flags], [sentence for sentence, _ in flags])


def _mean(frame: pd.DataFrame, column: str) -> Interval | None:
    """Return the mean over statements, resampling sentences; `n` counts each statement once."""
    statements = list(frame[_STATEMENT].itertuples(index=False, name=None))
    return clustered_interval(frame[column].tolist(), _sentences(frame), statements)


def _sentences(frame: pd.DataFrame) -> list[Hashable]:
    return list(frame[["id", "side"]].itertuples(index=False, name=None))
