"""The page of an episode that has ended: how it went, and what could have been known when."""

from __future__ import annotations

from dataclasses import dataclass

from simulator.ambibench.features import Feature, Hypothesis, value_name
from simulator.ambibench.oracle import best_guess
from simulator.ambibench.views import Replay, ReplayTrial
from ui.ambibench.entry import LINK
from ui.ambibench.play import STEPS
from ui.i18n import Strings
from ui.render.frame import Frame
from ui.study.pages import Here, session_page, whole

BAR = 0.72
"""Width of a bar, where a trial is 1 wide."""


@dataclass(frozen=True, slots=True)
class Cell:
    """A bar of the plot: a rule's probability before one label is seen, on a scale of 1 by 1."""

    k: int
    x: float
    y: float
    height: float
    percent: str


@dataclass(frozen=True, slots=True)
class Row:
    """A rule and its bars.

    Attributes:
        name: the rule in words.
        true: whether the labels follow it.
    """

    name: str
    true: bool
    cells: tuple[Cell, ...]


@dataclass(frozen=True, slots=True)
class Line:
    """A trial in the table, and below the plot.

    Attributes:
        best: what the Bayes-optimal learner would say; None where it can but guess.
        mark: ``right``, ``wrong`` or ``given`` (nothing was asked).
        short: the answer in one letter's room.
        left: how many rules are left before the label is seen.
    """

    trial: ReplayTrial
    best: str | None
    mark: str
    short: str
    left: int
    seconds: str


@dataclass(frozen=True, slots=True)
class Story:
    """A replay, made ready to be shown."""

    replay: Replay
    rule: str
    rows: tuple[Row, ...]
    lines: tuple[Line, ...]
    correct: str
    oracle: str

    @property
    def single(self) -> bool:
        """Whether one answer was asked for."""
        return len(self.replay.scores) == 1

    @property
    def good(self) -> bool:
        """Whether nobody could have been expected to do better."""
        return self.replay.correct >= self.replay.oracle


def end_page(frame: Frame, here: Here, replay: Replay | None) -> str:
    """Return the last page: in a study thanks and the code, in free play the result, or both.

    Args:
        frame: its frame.
        here: the ended episode.
        replay: None if it may not be shown.
    """
    replayed = story(frame.texts, replay) if replay is not None else None
    return session_page("ambibench/done", frame, LINK, here, STEPS, story=replayed)


def story(texts: Strings, replay: Replay) -> Story:
    """Return a replay in words and bars."""
    return Story(
        replay,
        _rule(texts, replay.item.hypothesis),
        rows(texts, replay),
        tuple(_line(texts, trial) for trial in replay.trials),
        whole(replay.correct),
        whole(replay.oracle),
    )


def rows(texts: Strings, replay: Replay) -> tuple[Row, ...]:
    """Return the four rules with their probabilities, trial by trial."""
    return tuple(
        Row(
            texts("ambibench.result.hypothesis", value=_value(texts, task.feature, task.x_is)),
            task == replay.item.hypothesis,
            tuple(_cell(trial.k, trial.belief.posterior[task]) for trial in replay.trials),
        )
        for task in replay.trials[0].belief.posterior
    )


def _cell(k: int, chance: float) -> Cell:
    return Cell(k, k - 1 + (1 - BAR) / 2, 1 - chance, chance, f"{100 * chance:.0f} %")


def _line(texts: Strings, trial: ReplayTrial) -> Line:
    score, answer = trial.score, (trial.answer or "").strip()
    seconds = None if score is None else score.seconds
    nothing = texts("ambibench.result.nothing")
    return Line(
        trial,
        best_guess(trial.belief.p_x),
        "given" if score is None else "right" if score.correct == 1 else "wrong",
        answer if len(answer) == 1 else nothing,
        sum(chance > 0 for chance in trial.belief.posterior.values()),
        nothing if seconds is None else texts("ambibench.result.seconds", seconds=f"{seconds:.1f}"),
    )


def _rule(texts: Strings, task: Hypothesis) -> str:
    x_is = _value(texts, task.feature, task.x_is)
    y_is = _value(texts, task.feature, not task.x_is)
    rule = texts(f"ambibench.rule.{task.feature}")
    return texts("ambibench.result.rule", rule=rule, x_is=x_is, y_is=y_is)


def _value(texts: Strings, feature: Feature, value: bool) -> str:
    return texts(f"ambibench.value.{feature}.{value_name(feature, value)}")
