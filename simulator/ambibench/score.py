"""Reading of answers and scoring of logged turns (spec section 7), by pure functions.

A turn's payload has the raw answer, a table of token probabilities or a text, so a run can be scored again in
another mode without asking the models again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import exp, fsum, isclose
from statistics import fmean
from typing import Final, Literal, NamedTuple, get_args

from logs.rows import Judgment, Score, Turn
from simulator.ambibench.aws import CATEGORIES, AwsPrompt, classify
from simulator.ambibench.coding import settled_categories
from simulator.ambibench.features import LABELS, Label
from simulator.ambibench.prompt import Item, Prompt, beliefs
from simulator.runner import machines

Mode = Literal["strip", "reference", "forced"]
ScoreMode = Literal["strip", "reference", "forced", "text"]
Tie = Literal["wrong", "half", "first"]
Table = Sequence[tuple[str, float]]
"""Tokens with their natural log-probabilities, in the order received."""
VERSION: Final = "1"
NOTHING: Final = "other"
"""The category of an output missing from an aborted episode."""
MODES: Final[tuple[Mode, ...]] = get_args(Mode)
TIES: Final[tuple[Tie, ...]] = get_args(Tie)
_LABELS: Final = {str(label): label for label in LABELS}
_AROUND_TOKEN: Final = " \t\r\n'\""
_AROUND_ANSWER: Final = " \t\r\n\u00a0\u202f\u3000'\"‘’“”"
_ROUNDED: Final = 0.01


@dataclass(frozen=True, kw_only=True)
class Reading:
    """A parsed answer.

    Attributes:
        answer: the most probable token after merging (if tied, the first in the table), or the written label;
            None if there is neither.
        normalised: whether a lower-case letter was read as a capital.
        correct: 1 or 0; .5 for a tie that counts half.
        strict: like `correct`, but lower case is wrong.
        tie: whether several tokens share the first place.
        p_x: probability of X, 0 if it is not in the table; None for written answers.
        p_y: probability of Y, likewise.
        p_valid: probability of X or Y, likewise.
    """

    answer: str | None
    normalised: bool = False
    correct: float
    strict: float
    valid: bool
    tie: bool = False
    p_x: float | None = None
    p_y: float | None = None
    p_valid: float | None = None
    mode: ScoreMode = "text"


class WrittenLabel(NamedTuple):
    """The label of a written answer, None if it is not a label; and whether it was in lower case."""

    label: Label | None
    normalised: bool = False


def read_reply(
    text: str, table: Table | None, gold: Label, *, lower: bool, mode: Mode = "strip", tie: Tie = "wrong"
) -> Reading:
    """Return an answer, parsed and compared with the right label.

    `table`: tokens with log-probabilities at the label's position, read by `mode` and `tie` (`read_table`);
    None for written answers. `lower`: whether to accept a written x or y (people).
    """
    if table is not None:
        return _read_table(tuple((token, logprob) for token, logprob in table), gold, mode, tie)
    written = read_answer(text, lower=lower)
    right = float(written.label == gold)
    return Reading(
        answer=written.label,
        normalised=written.normalised,
        correct=right,
        strict=0.0 if written.normalised else right,
        valid=written.label is not None,
    )


def read_answer(text: str, *, lower: bool) -> WrittenLabel:
    """Return the label in `text`, ignoring white space and quotes around it, and one final full stop.

    `lower`: whether to accept x and y, as in people's answers.
    """
    bare = text.strip(_AROUND_ANSWER).removesuffix(".").strip(_AROUND_ANSWER)
    label = _LABELS.get(bare)
    if label is None and lower and (label := _LABELS.get(bare.upper())):
        return WrittenLabel(label, normalised=True)
    return WrittenLabel(label)


def read_table(table: Table, gold: Label, mode: Mode = "strip", tie: Tie = "wrong") -> Reading:
    """Return the prediction of a table, compared with the right label.

    Probabilities that add up to more than 1 are divided by their sum (`exceeds_one`).

    `mode`: ``strip`` merges tokens that are equal but for white space and straight quotes around them;
    ``reference`` follows the published program; ``forced`` is ``strip`` restricted to X and Y.
    """
    merged = _reference(table) if mode == "reference" else _strip_tokens(table)
    total = max(1.0, fsum(merged.values()))
    p_x, p_y = merged.get("X", 0.0) / total, merged.get("Y", 0.0) / total
    # Kept in the table's order, because a tie may count for the first.
    rivals = {token: merged[token] for token in merged if mode != "forced" or token in LABELS}
    top = max(rivals.values(), default=0.0)
    # Smaller differences are rounding errors of sums of exponentials.
    first = [token for token, probability in rivals.items() if isclose(probability, top, rel_tol=1e-12)]
    # In the published program the first entry wins.
    correct = _correctness(first, gold, "first" if mode == "reference" else tie)
    return Reading(
        answer=first[0] if first else None,
        correct=correct,
        strict=correct,
        valid=bool(first) and first[0] in LABELS,
        tie=len(first) > 1,
        p_x=p_x,
        p_y=p_y,
        p_valid=p_x + p_y,
        mode=mode,
    )


_read_table = lru_cache(maxsize=4096)(read_table)
"""Cached, because an answer is read twice: when it is logged, and when the episode is scored."""


def exceeds_one(table: Table) -> bool:
    """Return True if the probabilities of a table add up to more than 1, beyond rounding errors."""
    return fsum(exp(logprob) for _, logprob in table) > 1 + _ROUNDED


def _correctness(first: Sequence[str], gold: Label, tie: Tie) -> float:
    if gold not in first:
        return 0.0
    if len(first) == 1 or tie == "first":
        return float(first[0] == gold)
    return 0.5 if tie == "half" else 0.0


def _strip_tokens(table: Table) -> Mapping[str, float]:
    """Return the probabilities of stripped tokens, summed over equal ones, in order of first appearance."""
    merged: dict[str, float] = {}
    for token, logprob in table:
        bare = token.strip(_AROUND_TOKEN)
        merged[bare] = merged.get(bare, 0.0) + exp(logprob)
    return merged


def _reference(table: Table) -> Mapping[str, float]:
    """Return probabilities merged as in the published program: each label gets its last variant with blanks.

    A label that was not in the table is appended, as in the program's dict.
    """
    merged = {token: exp(logprob) for token, logprob in table}
    for label in LABELS:
        variants = [token for token in merged if token != label and token.replace(" ", "") == label]
        if variants:
            merged[label] = merged.get(label, 0.0) + merged[variants[-1]]
            del merged[variants[-1]]
    return merged


@dataclass(frozen=True, kw_only=True)
class TrialScore(Reading):
    """The score of one answer; `oracle`: the Bayes-optimal learner's expected correctness (1, 0 or .5)."""

    k: int
    oracle: float
    seconds: float | None


def logged_rules(turns: Iterable[Turn]) -> tuple[Mode, Tie]:
    """Return the rules for reading tables logged in an episode; the defaults if all answers are written."""
    for turn in turns:
        if turn.payload.get("table") is not None:
            return turn.payload["score_mode"], turn.payload["tie_rule"]
    return "strip", "wrong"


def logged_table(turn: Turn) -> Table | None:
    """Return the table of token probabilities in a turn; None for written answers."""
    table = turn.payload.get("table")
    return None if table is None else [(token, logprob) for token, logprob in table]


def score_trials(
    item: Prompt, turns: Iterable[Turn], mode: Mode = "strip", tie: Tie = "wrong"
) -> tuple[TrialScore, ...]:
    """Return the scores of all answers in an episode of labels.

    `mode`, `tie`: how tables of probabilities are read; written answers do not depend on them.
    """
    learner = beliefs(item)
    scores = []
    for turn in turns:
        if turn.payload["kind"] == "answer":
            belief = learner[turn.payload["k"] - 1]
            gold, lower = item.examples[belief.k - 1].label, bool(turn.payload.get("person"))
            reading = read_reply(turn.text, logged_table(turn), gold, lower=lower, mode=mode, tie=tie)
            scores.append(TrialScore(k=belief.k, oracle=belief.bayes, seconds=turn.seconds, **vars(reading)))
    return tuple(scores)


def category(item: Item, turns: Iterable[Turn], judgments: Iterable[Judgment] = ()) -> str | None:
    """Return the category of an answer in free text; None if it is not sorted yet, or nothing was answered.

    Commands for buckets are classified by rule (`aws.classify`), names of tasks by raters (`coding`).
    """
    answers = [turn for turn in turns if turn.payload["kind"] == "text"]
    if not answers:
        return None
    if isinstance(item, AwsPrompt):
        return classify(answers[-1].text)
    if answers[-1].payload.get("silent"):
        return NOTHING
    return settled_categories(judgments).get(answers[-1].episode_id)


def score_rows(
    episode_id: str,
    item: Item,
    turns: Sequence[Turn],
    judgments: Iterable[Judgment] = (),
    mode: Mode = "strip",
    tie: Tie = "wrong",
) -> tuple[Score, ...]:
    """Return the score rows of an episode: means over its labels, or shares by the category of its text."""
    if isinstance(item, AwsPrompt) or item.setting == "verbalise":
        values = _shares(item, category(item, turns, judgments))
    else:
        values = _means(score_trials(item, turns, mode, tie))
    return machines.score_rows(episode_id, values, f"{VERSION}-{mode}-{tie}")


def _shares(item: Item, category: str | None) -> dict[str, float]:
    if category is None:
        return {}
    if isinstance(item, AwsPrompt):
        return {name: float(name == category) for name in CATEGORIES}
    return {"named": float(category == "correct")}


def _means(trials: Sequence[TrialScore]) -> dict[str, float]:
    if not trials:
        return {}
    probabilities = [trial.p_valid if trial.p_valid is not None else float(trial.valid) for trial in trials]
    return {
        "accuracy": fmean(trial.correct for trial in trials),
        "strict": fmean(trial.strict for trial in trials),
        "valid": fmean(probabilities),
        "oracle": fmean(trial.oracle for trial in trials),
    }
