"""One logged episode, trial by trial, with what the learner that nobody can beat thought meanwhile."""

from __future__ import annotations

from collections.abc import Sequence
from math import exp
from typing import Any, Final, NamedTuple

from logs.rows import Judgment, Turn
from simulator.ambibench.aws import AwsPrompt
from simulator.ambibench.features import PAIRS, Hypothesis, Label, value_name
from simulator.ambibench.oracle import Belief, beliefs
from simulator.ambibench.prompt import Prompt, asked_text
from simulator.ambibench.reporting.panels import EXAMPLE
from simulator.ambibench.room import chosen
from simulator.ambibench.rows import item_record
from simulator.ambibench.score import TrialScore, category, score_trials
from simulator.ambibench.trials import Item, trials
from simulator.figures import Figure, Line, Panel, Stacked

ORACLE: Final = "oracle"


class Token(NamedTuple):
    """A line of a table of token probabilities, as it came."""

    text: str
    probability: float


class Watched(NamedTuple):
    """One position of a prompt.

    Attributes:
        value_a: the name of the sentence's value of feature a; `value_b` of feature b.
        gold: the right label.
        said: as typed or written; None where nothing was asked, or nothing answered.
        score: of the answer, likewise.
        belief: the learner's, before this label is seen.
        tokens: the table at the label's place, most probable first; empty for written answers.
        shown: what the participant saw; empty where nothing was asked.
        keys_used: of people: whether they went on by keyboard; None if that is not known.
    """

    k: int
    sentence: str
    value_a: str
    value_b: str
    gold: Label
    said: str | None
    score: TrialScore | None
    belief: Belief
    tokens: tuple[Token, ...]
    shown: str
    keys_used: bool | None

    @property
    def p_gold(self) -> float | None:
        """The probability that a model gave to the right label."""
        if self.score is None or self.score.p_x is None:
            return None
        return self.score.p_x if self.gold == "X" else self.score.p_y


class Texts(NamedTuple):
    """An episode of free text.

    Attributes:
        asked: what the participant saw.
        said: what was written; None if nothing was.
        category: what it was sorted into; None if it has not been.
        facts: of the item (salient feature, origin, …), without its text.
    """

    asked: str
    said: str | None
    category: str | None
    facts: dict[str, Any]


def watch(item: Prompt, turns: Sequence[Turn]) -> tuple[Watched, ...]:
    """Return every position of a prompt with what came of it, scored as it was when it was played."""
    answers = {turn.payload["k"]: turn for turn in turns if turn.payload.get("kind") == "answer"}
    scores = {score_trial.k: score_trial for score_trial in score_trials(item, turns, *chosen(turns))}
    shown = {trial.k: trial.text for trial in trials(item)}
    return tuple(
        _watched(item, belief, answers.get(belief.k), scores.get(belief.k), shown.get(belief.k, ""))
        for belief in beliefs(item)
    )


def texts(item: Item, turns: Sequence[Turn], judgments: Sequence[Judgment]) -> Texts:
    """Return an episode of naming the task, or of buckets."""
    said = next((turn.text for turn in turns if turn.payload.get("kind") == "text"), None)
    facts = {key: value for key, value in item_record(item).items() if key not in ("examples", "prompt")}
    asked = item.text if isinstance(item, AwsPrompt) else asked_text(item)
    return Texts(asked, said, category(item, turns, judgments), facts)


def posterior_figure(watched: Sequence[Watched], actor: str) -> Figure:
    """Return the four hypotheses before each label, and what the right one was worth.

    Args:
        watched: every position of a prompt.
        actor: who answered; without probabilities it is drawn at 1 where it was right and at 0 where not.
    """
    ks = [one.k for one in watched]
    names = [str(k) for k in ks]
    parts = [
        Stacked(hypothesis_name(one), names, [each.belief.posterior[one] for each in watched])
        for one in watched[0].belief.posterior
    ]
    lines = [Line(ORACLE, ks, [one.belief.p_gold for one in watched], style="dashed", colour="ink")]
    known = [(one.k, p) for one in watched if (p := one.p_gold) is not None]
    right = [(one.k, one.score.correct) for one in watched if one.score is not None]
    if known or right:
        ks_said, values = zip(*(known or right), strict=True)
        lines.append(Line(actor, ks_said, values, style="solid" if known else "dotted", colour="rose"))
    label = "probability" if known else "probability; 1 right, 0 wrong"
    panels = (
        Panel("What the task may be", EXAMPLE, "probability before the label", parts),
        Panel("The right label", EXAMPLE, label, lines, x_ticks=ks),
    )
    return Figure("posterior", "The four hypotheses, trial by trial", panels, columns=1)


def hypothesis_name(hypothesis: Hypothesis) -> str:
    """``human is X``."""
    return f"{hypothesis.value} is X"


def _watched(
    item: Prompt, belief: Belief, turn: Turn | None, score: TrialScore | None, shown: str
) -> Watched:
    a, b = PAIRS[item.pair]
    example = item.examples[belief.k - 1]
    table = (turn.payload.get("table") if turn else None) or []
    tokens = sorted((Token(text, exp(logprob)) for text, logprob in table), key=lambda one: -one.probability)
    return Watched(
        k=belief.k,
        sentence=example.sentence,
        value_a=value_name(a, example.a),
        value_b=value_name(b, example.b),
        gold=example.label,
        said=turn.text if turn else None,
        score=score,
        belief=belief,
        tokens=tuple(tokens),
        shown=shown,
        keys_used=turn.payload.get("keys_used") if turn else None,
    )
