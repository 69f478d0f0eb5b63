"""What a participant is told (`View.task`)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol, runtime_checkable

from simulator.ambibench.features import Setting
from simulator.ambibench.oracle import Belief
from simulator.ambibench.prompt import Prompt
from simulator.ambibench.trials import Trial
from simulator.seats import Reply, View


@dataclass(frozen=True, slots=True)
class TrialKnows:
    """One trial: all that a person in this seat would see.

    Attributes:
        text: what is to be continued or answered.
        answer: a label, or free text.
    """

    text: str
    answer: Literal["label", "text"]
    setting: Setting


@dataclass(frozen=True, slots=True)
class PromptKnows:
    """A whole prompt with all its labels, for seats whose answer to a trial rests on what is before it alone.

    Attributes:
        trials: those that are still to be answered, in order.
        beliefs: what the Bayes-optimal learner thinks at each position of the prompt, from the first.
        seeds: one per trial, for whoever guesses.
    """

    prompt: Prompt
    trials: tuple[Trial, ...]
    beliefs: tuple[Belief, ...]
    seeds: tuple[int, ...]


@runtime_checkable
class ScoresAll(Protocol):
    """A seat that can answer all trials of a prompt at once."""

    async def score_all(self, view: View) -> tuple[Reply, ...]:
        """Return one reply per trial of `view.task`, a `PromptKnows`, in order.

        Raises:
            ModelError: if its model fails.
        """
        ...
