"""What participants may see, and what an ended episode shows: the contract between room and pages."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from logs.rows import Ending
from simulator.ambibench.features import Feature, Format, Hypothesis, Kind, Label, Pair, Setting


@dataclass(frozen=True, slots=True)
class Feedback:
    """What became of the answer before: shown with the next trial (spec section 10).

    Attributes:
        answer: as it was typed.
        right: the right label.
        correct: whether it was given.
    """

    answer: str
    right: Label
    correct: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ParticipantView:
    """All that a person may see now. Later sentences and the label that is due are not in it.

    Attributes:
        number: the number of the turn that is due; goes back with the submission.
        stage: which page: one of the study's, ``trial``, or ``done``.
        language: of the page; the benchmark's own text is English.
        k: the position whose label is due, from 1; None outside trials.
        done: trials answered so far.
        total: trials of the episode.
        text: exactly what a model would be sent: instruction, examples with their right labels, and the
            example that is due without its label. Empty outside trials.
        answer: what is asked for in a trial.
        feedback: on the answer before, where the setting gives any (4.3); else None.
        study: whether it is part of a study (consent, no repeats), not free play.
        ending: how it ended, if it has.
        warning: what a model or the program met with, if anything.
    """

    episode_id: str
    number: int
    stage: str
    language: str
    setting: Setting
    format: Format | None
    k: int | None
    done: int
    total: int
    text: str
    answer: Literal["label", "text"] = "label"
    feedback: Feedback | None = None
    study: bool = False
    ending: Ending | None = None
    warning: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayTrial:
    """One trial of an ended episode with what was hidden.

    Attributes:
        sentence: of this position.
        value_a: the name of its value of feature a; `value_b` of feature b.
        gold: the right label.
        answer: what was answered, as typed or written; None where nothing was asked.
        correct: 1, 0, or .5 for a tie that counts half; None where nothing was asked.
        posterior: before this label is seen: each hypothesis with its probability (Bayes-optimal learner).
        p_x: that learner's probability that this label is X.
        identified: whether one hypothesis is left before this label is seen.
        p_valid: a model's probability of X or Y here; None for written answers.
        seconds: from when the trial could be seen until it was answered.
    """

    k: int
    sentence: str
    value_a: str
    value_b: str
    gold: Label
    answer: str | None
    correct: float | None
    posterior: tuple[tuple[Hypothesis, float], ...]
    p_x: float
    identified: bool
    p_valid: float | None = None
    seconds: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Replay:
    """An ended episode of labels.

    Attributes:
        text: the whole prompt, labels and all.
        hypothesis: what the task was about.
        trials: every position of the prompt, also those that were not asked for.
        answered: labels that were asked for.
        correct: how many of them were right (ties count as scored).
        oracle: how many a Bayes-optimal learner would have got on these very sentences (expected).
        comment: the participant's, if any.
    """

    text: str
    setting: Setting
    pair: Pair
    feature_a: Feature
    feature_b: Feature
    hypothesis: Hypothesis
    format: Format
    kind: Kind
    instruction: str
    trials: tuple[ReplayTrial, ...]
    answered: int
    correct: float
    oracle: float
    comment: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class TextReplay:
    """An ended episode of free text (naming the task; buckets).

    Attributes:
        text: what was asked.
        answer: what was written.
        category: what it was sorted into; None if nobody has yet.
        details: of the item (origin, salient feature, …).
    """

    text: str
    setting: Setting
    answer: str
    category: str | None
    details: dict[str, Any]
