"""The episode as a state machine with one seat (`simulator.runner.one_seat`): what is AmbiBench's in it.

A step is a trial. A seat that can (`ScoresAll`) answers all trials that are left at once.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

from simulator.ambibench.aws import AwsPrompt
from simulator.ambibench.oracle import Belief, beliefs
from simulator.ambibench.players.knows import PromptKnows, ScoresAll, TrialKnows
from simulator.ambibench.playing import (
    PARTICIPANT,
    Options,
    Step,
    label_payload,
    person_text,
    plan,
    text_payload,
)
from simulator.ambibench.trials import Item
from simulator.runner.one_seat import AllAtOnce, OneSeatTable, State
from simulator.seats import Reply
from simulator.seeds import derive_seed


@dataclass(frozen=True, kw_only=True)
class Table(OneSeatTable[Item, Step]):
    """What an episode is played with; its `item` is one of `trials.Item`."""

    SEAT: ClassVar[str] = PARTICIPANT
    NODES: ClassVar[Mapping[str, str]] = {"answer": "label", "text": "free_text"}
    FLOW: ClassVar[Mapping[str, tuple[str, ...]]] = {"label": ("label",), "free_text": ()}

    @cached_property
    def rules(self) -> Options:
        """The options, read."""
        return Options.read(self.options)

    @cached_property
    def steps(self) -> tuple[Step, ...]:
        """Every turn that the episode will have."""
        return plan(self.item)

    @property
    def language(self) -> str:
        """Of the pages."""
        return self.rules.language

    @cached_property
    def beliefs(self) -> tuple[Belief, ...]:
        """What the Bayes-optimal learner thinks at each position; none where nothing is labelled."""
        return () if isinstance(self.item, AwsPrompt) else beliefs(self.item)

    def knows(self, state: State, steps: tuple[Step, ...], *, at_once: bool) -> TrialKnows | PromptKnows:
        """Return the trial that is due, or the whole prompt for a seat that answers all that is left."""
        trials = tuple(step.trial for step in steps)
        if at_once:
            assert not isinstance(self.item, AwsPrompt)
            number = len(state["said"])
            seeds = tuple(derive_seed(self.seed, number + place) for place in range(len(trials)))
            return PromptKnows(self.item, trials, self.beliefs, seeds)
        (trial,) = trials
        setting = "aws" if isinstance(self.item, AwsPrompt) else self.item.setting
        return TrialKnows(trial.text, trial.answer, setting)

    def at_once(self, step: Step) -> AllAtOnce | None:
        """Whoever scores all labels of a prompt at once."""
        who = self.who
        return who.score_all if step.kind == "answer" and isinstance(who, ScoresAll) else None

    def logged(self, step: Step, reply: Reply) -> tuple[str, dict[str, Any]]:
        """Return what is logged of a reply (`playing`).

        Raises:
            SeatError: if a person's reply breaks the rules (`playing.person_text`).
        """
        if self.person:
            reply = replace(reply, text=person_text(reply.text))
        return reply.text, self._payload(step, reply)

    def _payload(self, step: Step, reply: Reply) -> dict[str, Any]:
        if step.kind == "text":
            return text_payload(self.item, reply, person=self.person)
        belief = self.beliefs[step.trial.k - 1]
        return label_payload(step.trial, reply, belief, self.rules, person=self.person)
