"""What people see of an episode while it goes on, and all of it when it has ended."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from logs.rows import Ending, Judgment, Turn
from simulator.ambibench.aws import AwsPrompt
from simulator.ambibench.features import Format, Label, Setting
from simulator.ambibench.items import item_record
from simulator.ambibench.oracle import Belief, beliefs
from simulator.ambibench.players import gives_feedback
from simulator.ambibench.prompt import (
    PARTICIPANT,
    Example,
    Item,
    Prompt,
    Trial,
    scored_positions,
    setting_of,
    trials,
)
from simulator.ambibench.score import TrialScore, category, logged_rules, read_answer, score_trials
from simulator.runner.declared_views import SeatPage
from simulator.runner.one_seat import OneSeatTable, State, step_due


@dataclass(frozen=True, slots=True)
class Feedback:
    """The result of the answer before: shown with the next trial (spec section 10)."""

    answer: str
    right: Label
    correct: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ParticipantView(SeatPage):
    """All that a person may see now. Later sentences and the label that is due are not in it.

    Attributes:
        k: the position whose label is due, from 1; None outside trials.
        text: exactly what a model would be sent: instruction, examples with their right labels, and the
            example that is due without its label. Empty outside trials.
        feedback: on the answer before, where the setting gives any (4.3); else None.
    """

    setting: Setting
    format: Format | None
    k: int | None
    done: int
    total: int
    text: str
    feedback: Feedback | None = None


class ReplayTrial(NamedTuple):
    """One position of a prompt, with what was hidden.

    Attributes:
        example: with its right label.
        belief: the Bayes-optimal learner's, before this label is seen.
        asked: whether the label was asked for.
        turn: the answer; None where nothing was asked, or nothing answered.
        score: of the answer, likewise; read as it was when it was played.
    """

    example: Example
    belief: Belief
    asked: bool
    turn: Turn | None
    score: TrialScore | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Replay:
    """An ended episode of labels.

    Attributes:
        trials: every position of the prompt, also those that were not asked for.
    """

    item: Prompt
    trials: tuple[ReplayTrial, ...]

    @property
    def scores(self) -> tuple[TrialScore, ...]:
        """Of the labels that were asked for."""
        return tuple(trial.score for trial in self.trials if trial.score is not None)

    @property
    def correct(self) -> float:
        """Return how many answers were right (ties count as scored)."""
        return sum(score.correct for score in self.scores)

    @property
    def oracle(self) -> float:
        """Return how many a Bayes-optimal learner would have got on these very sentences (expected)."""
        return sum(score.oracle for score in self.scores)

    @property
    def known(self) -> int | None:
        """The position before which one hypothesis is left."""
        return next((trial.belief.k for trial in self.trials if trial.belief.identified), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class TextReplay:
    """An ended episode of free text (naming the task; buckets).

    Attributes:
        answer: what was written; None if nothing was.
        category: what it was sorted into; None if nobody has yet.
        details: of the item (origin, salient feature, …), without its text.
    """

    text: str
    answer: str | None
    category: str | None
    details: dict[str, Any]


def participant_view(
    table: OneSeatTable[Item, Trial],
    state: State,
    ending: Ending | None = None,
    warning: str | None = None,
    stage: str = "",
) -> ParticipantView:
    """Return what a person may see after `state`; `stage` names a page without the task."""
    trial = None if ending or stage else step_due(table, state)
    stage = stage or ("task" if trial else "done")
    left = ending is not None and ending.status != "completed"
    return ParticipantView(
        episode_id=table.episode_id,
        seat=PARTICIPANT,
        number=len(state["said"]),
        stage=stage,
        language="en",
        setting=setting_of(table.item),
        format=None if isinstance(table.item, AwsPrompt) else table.item.format,
        k=trial.k if trial else None,
        done=len(state["said"]),
        total=len(table.steps),
        text=trial.text if trial else "",
        feedback=None if left or stage == "done" else _feedback(table, state),
        ending=ending,
        warning=warning,
    )


def _feedback(table: OneSeatTable[Item, Trial], state: State) -> Feedback | None:
    """Return feedback on the answer before, where the setting gives any."""
    if not state["said"] or not gives_feedback(table.item):
        return None
    _, answer = state["said"][-1]
    right = table.steps[len(state["said"]) - 1].gold
    return None if right is None else Feedback(answer, right, read_answer(answer, lower=True).label == right)


def replay(item: Item, turns: Sequence[Turn], judgments: Sequence[Judgment] = ()) -> Replay | TextReplay:
    """Return an episode with everything that was hidden, out of its logged turns."""
    if isinstance(item, AwsPrompt) or item.setting == "verbalise":
        (trial,) = trials(item)
        hidden = ("examples", "prompt")
        return TextReplay(
            text=trial.text,
            answer=next((turn.text for turn in turns if turn.payload["kind"] == "text"), None),
            category=category(item, turns, judgments),
            details={key: value for key, value in item_record(item).items() if key not in hidden},
        )
    answers = {turn.payload["k"]: turn for turn in turns if turn.payload["kind"] == "answer"}
    scores = {score.k: score for score in score_trials(item, turns, *logged_rules(turns))}
    asked = scored_positions(item)
    pairs = zip(item.examples, beliefs(item), strict=True)
    positions = (
        ReplayTrial(example, belief, belief.k in asked, answers.get(belief.k), scores.get(belief.k))
        for example, belief in pairs
    )
    return Replay(item=item, trials=tuple(positions))
