"""Scores out of logged turns (spec section 7): pure functions of the item and its turns.

A turn's payload holds what was there to be scored, a table of probabilities or a text. So a run can be
scored again by another mode without asking anybody again.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any, Final, Literal

from logs.rows import Judgment, Score, Turn
from simulator.ambibench.answers import read_answer
from simulator.ambibench.aws import CATEGORIES, AwsPrompt, classify
from simulator.ambibench.coding import settled
from simulator.ambibench.features import Label
from simulator.ambibench.labels import Mode, Table, Tie, read_table
from simulator.ambibench.oracle import Belief, beliefs
from simulator.ambibench.prompt import Prompt
from simulator.ambibench.trials import Item

VERSION: Final = "1"
NOTHING: Final = "other"
"""The category of what an aborted episode never named."""
ScoreMode = Literal["strip", "reference", "forced", "text"]


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialScore:
    """What one answer is worth.

    Attributes:
        k: the position, from 1.
        gold: the right label.
        answer: what was predicted or written, read; None for a text that is no label.
        normalised: whether lower case was taken for a capital.
        correct: 1 or 0; .5 for a tie that counts half.
        strict: the same without taking lower case.
        valid: whether the answer is X or Y.
        tie: whether several tokens shared the first place.
        p_x: probability of X; None for written answers, as are the next two.
        p_y: probability of Y.
        p_valid: of either.
        oracle_p: the Bayes-optimal learner's probability of the right label.
        oracle_identified: whether it knows the task before this label.
        oracle: its expected correctness: 1, 0 or .5.
        seconds: that the answer took.
        mode: how it was read.
    """

    k: int
    gold: Label
    answer: str | None
    normalised: bool
    correct: float
    strict: float
    valid: bool
    tie: bool
    p_x: float | None
    p_y: float | None
    p_valid: float | None
    oracle_p: float
    oracle_identified: bool
    oracle: float
    seconds: float | None
    mode: ScoreMode


def score_trials(
    item: Prompt, turns: Iterable[Turn], mode: Mode = "strip", tie: Tie = "wrong"
) -> tuple[TrialScore, ...]:
    """Score every answer of an episode of labels.

    Args:
        item: what was asked.
        turns: the episode's; those that answer nothing are passed over.
        mode: how a table of probabilities is read (a written answer has one reading).
        tie: what a tie for the first place counts.
    """
    thought = beliefs(item)
    return tuple(
        _score(item, turn, thought[turn.payload["k"] - 1], mode, tie)
        for turn in turns
        if turn.payload["kind"] == "answer"
    )


def _score(item: Prompt, turn: Turn, belief: Belief, mode: Mode, tie: Tie) -> TrialScore:
    gold = item.examples[belief.k - 1].label
    read = _read(turn, gold, mode, tie)
    return TrialScore(
        k=belief.k,
        gold=gold,
        oracle_p=belief.p_gold,
        oracle_identified=belief.identified,
        oracle=belief.bayes,
        seconds=turn.seconds,
        **read,
    )


def read_reply(
    text: str, table: Table | None, gold: Label, *, lower: bool, mode: Mode = "strip", tie: Tie = "wrong"
) -> dict[str, Any]:
    """Return what an answer says: the fields of `TrialScore` that depend on the answer alone.

    Args:
        text: as written.
        table: tokens with log-probabilities at the label's place; None for written answers.
        gold: the right label.
        lower: whether a written x or y will do (people).
        mode: how a table is read.
        tie: what a tie for the first place counts.
    """
    if table is None:
        answer = read_answer(text, lower=lower)
        right = float(answer.label == gold)
        return {
            "answer": answer.label,
            "normalised": answer.normalised,
            "correct": right,
            "strict": 0.0 if answer.normalised else right,
            "valid": answer.label is not None,
            "tie": False,
            "p_x": None,
            "p_y": None,
            "p_valid": None,
            "mode": "text",
        }
    reading = read_table(table, gold, mode, tie)
    return {
        "answer": reading.prediction,
        "normalised": False,
        "correct": reading.correct,
        "strict": reading.correct,
        "valid": reading.valid,
        "tie": reading.tie,
        "p_x": reading.p_x,
        "p_y": reading.p_y,
        "p_valid": reading.p_valid,
        "mode": mode,
    }


def _read(turn: Turn, gold: Label, mode: Mode, tie: Tie) -> dict[str, Any]:
    table = turn.payload.get("table")
    pairs = None if table is None else [(token, logprob) for token, logprob in table]
    return read_reply(turn.text, pairs, gold, lower=bool(turn.payload.get("person")), mode=mode, tie=tie)


def category(item: Item, turns: Iterable[Turn], judgments: Iterable[Judgment] = ()) -> str | None:
    """Return what an answer in free text is sorted into.

    A bucket's command is sorted by rule (`aws.classify`), a name for the task by people (`coding.settled`);
    None if it is open, or nothing was answered.
    """
    answers = [turn for turn in turns if turn.payload["kind"] == "text"]
    if not answers:
        return None
    if isinstance(item, AwsPrompt):
        return classify(answers[-1].text)
    if answers[-1].payload.get("silent"):
        return NOTHING
    return settled(judgments).get(answers[-1].episode_id)


def score_rows(
    episode_id: str,
    item: Item,
    turns: Sequence[Turn],
    judgments: Iterable[Judgment] = (),
    mode: Mode = "strip",
    tie: Tie = "wrong",
) -> tuple[Score, ...]:
    """Return the rows of the log: means over the labels asked for, or the category of a text."""
    if isinstance(item, AwsPrompt) or item.setting == "verbalise":
        values = _shares(item, category(item, turns, judgments))
    else:
        values = _means(score_trials(item, turns, mode, tie))
    return tuple(
        Score(episode_id=episode_id, metric=metric, value=value, version=f"{VERSION}-{mode}-{tie}")
        for metric, value in values.items()
    )


def _shares(item: Item, found: str | None) -> dict[str, float]:
    if found is None:
        return {}
    if isinstance(item, AwsPrompt):
        return {name: float(name == found) for name in CATEGORIES}
    return {"named": float(found == "correct")}


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
