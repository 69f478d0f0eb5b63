"""Test 2: statements on what a sentence may mean, judged true or false (spec 7)."""

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


_REWRITE: Final = ["id", "side", "rewrite"]
_STATEMENT: Final = [*_REWRITE, "template"]


def true_false_measures(records: Sequence[TrueFalseRecord]) -> Values:
    """Return every measure of spec 7; whole (example, side) items are resampled for every interval.

    No answer is a wrong one. ``all_four`` is the share of rewrites with all four statements answered rightly;
    ``may_and_cannot`` counts rewrites of which both are judged true, ``not_necessarily_and_only`` likewise;
    for ``inconsistent`` see `inconsistent_pairs`. Of a statement that is ``doubled``, the last answer counts
    in the measures over several statements.
    """
    frame = _frame(records)
    answered, weighed = frame[frame["prediction"].notna()], frame[frame["mass"].notna()]
    judged = _newest_judgments(frame)
    says, rewrites = judged.eq(True), len(judged)
    statements = frame.drop_duplicates(_STATEMENT)
    all_right = _newest_judgments(frame, "correct").eq(True).all(axis=1)
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
    """Return how many unordered pairs of rewrites of one sentence contradict each other, and of how many.

    `pairs`: ``paper``: "may" and "can only" are judged true of both rewrites; ``reference``, the published
    notebook's shortcut: "can only" is looked at for the alphabetically first of the two alone.
    """
    inconsistent = [holds for _, holds in _inconsistent(_newest_judgments(_frame(records)), pairs)]
    return sum(inconsistent), len(inconsistent)


def _frame(records: Iterable[TrueFalseRecord]) -> pd.DataFrame:
    """Return a row for each judged statement."""
    import pandas as pd  # here: players need the prompts above, and no frames

    rows = [
        (each.id, each.side, each.disambiguation, each.template, each.prediction, each.correct, each.mass)
        for each in records
    ]
    columns = [*_STATEMENT, "prediction", "correct", "mass"]
    # As objects: pandas' own texts take several times as long to come out again.
    return pd.DataFrame(rows, columns=columns, dtype=object).astype({"template": int, "mass": float})


def _newest_judgments(frame: pd.DataFrame, column: str = "prediction") -> pd.DataFrame:
    """Return a row for each rewrite, in alphabetical order, with its newest answer in each template.

    With the column ``correct``: whether that is the right one.
    """
    newest = frame.drop_duplicates(_STATEMENT, keep="last")
    wide = newest.pivot(index=_REWRITE, columns="template", values=column)
    return wide.reindex(columns=range(len(TEMPLATES)))


def _inconsistent(judged: pd.DataFrame, pairs: Pairs) -> Iterator[tuple[Hashable, bool]]:
    """Yield of every pair of rewrites of a sentence whether they contradict each other."""
    true = zip(judged.index, judged[[0, 3]].eq(True).to_numpy().tolist(), strict=True)
    for sentence, rewrites in groupby(true, key=lambda row: row[0][:2]):
        for (_, (may, only)), (_, (other_may, other_only)) in combinations(rewrites, 2):
            yield sentence, may and other_may and only and (other_only or pairs == "reference")


def _inconsistency(judged: pd.DataFrame, pairs: Pairs) -> Interval | None:
    shared = list(_inconsistent(judged, pairs))
    return clustered_interval([holds for _, holds in shared], [sentence for sentence, _ in shared])


def _mean(frame: pd.DataFrame, column: str) -> Interval | None:
    """Return the mean over statements, sentences resampled; a statement judged several times is one."""
    statements = list(frame[_STATEMENT].itertuples(index=False, name=None))
    return clustered_interval(frame[column].tolist(), _sentences(frame), statements)


def _sentences(frame: pd.DataFrame) -> list[Hashable]:
    return list(frame[["id", "side"]].itertuples(index=False, name=None))
