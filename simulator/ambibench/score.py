"""Scores out of logged turns (spec section 7): pure functions of the item and its turns.

A turn's payload holds what was there to be scored, a table of probabilities or a text. So a run can be
scored again by another mode without asking anybody again.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from statistics import fmean
from typing import Final

from logs.rows import Judgment, Score, Turn
from simulator.ambibench.aws import CATEGORIES, AwsPrompt, classify
from simulator.ambibench.coding import settled
from simulator.ambibench.features import Label
from simulator.ambibench.labels import Mode, Reading, Table, Tie, read_reply
from simulator.ambibench.oracle import beliefs
from simulator.ambibench.prompt import Prompt
from simulator.ambibench.trials import Item

VERSION: Final = "1"
NOTHING: Final = "other"
"""The category of what an aborted episode never named."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialScore(Reading):
    """What one answer is worth.

    Attributes:
        k: the position, from 1.
        gold: the right label.
        oracle_p: the Bayes-optimal learner's probability of the right label.
        oracle_identified: whether it knows the task before this label.
        oracle: its expected correctness: 1, 0 or .5.
        seconds: that the answer took.
    """

    k: int
    gold: Label
    oracle_p: float
    oracle_identified: bool
    oracle: float
    seconds: float | None


def logged_rules(turns: Iterable[Turn]) -> tuple[Mode, Tie]:
    """Return how tables are read in an episode, as its answers say; by default if all of them are written."""
    for turn in turns:
        if turn.payload.get("table") is not None:
            return turn.payload["score_mode"], turn.payload["tie_rule"]
    return "strip", "wrong"


def logged_table(turn: Turn) -> Table | None:
    """Return the table of token probabilities that a turn holds; None for written answers."""
    table = turn.payload.get("table")
    return None if table is None else [(token, logprob) for token, logprob in table]


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
    scores = []
    for turn in turns:
        if turn.payload["kind"] == "answer":
            belief = thought[turn.payload["k"] - 1]
            gold, lower = item.examples[belief.k - 1].label, bool(turn.payload.get("person"))
            reading = read_reply(turn.text, logged_table(turn), gold, lower=lower, mode=mode, tie=tie)
            scores.append(
                TrialScore(
                    k=belief.k,
                    gold=gold,
                    oracle_p=belief.p_gold,
                    oracle_identified=belief.identified,
                    oracle=belief.bayes,
                    seconds=turn.seconds,
                    **asdict(reading),
                )
            )
    return tuple(scores)


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


def _shares(item: Item, sorted_into: str | None) -> dict[str, float]:
    if sorted_into is None:
        return {}
    if isinstance(item, AwsPrompt):
        return {name: float(name == sorted_into) for name in CATEGORIES}
    return {"named": float(sorted_into == "correct")}


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
