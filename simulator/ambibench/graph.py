"""AmbiBench's state machine: an episode with one seat (`simulator.runner.one_seat`).

A step is a trial. A seat with `ScoresAll` answers all remaining trials in one call.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

from logs.rows import Ending, Judgment, Turn
from simulator.ambibench import items, show
from simulator.ambibench.aws import AwsPrompt
from simulator.ambibench.players import (
    Options,
    PromptKnows,
    ScoresAll,
    TrialKnows,
    label_payload,
    person_text,
    seat_for,
    text_payload,
)
from simulator.ambibench.prompt import PARTICIPANT, Belief, Item, Trial, beliefs, trials
from simulator.ambibench.score import logged_rules, score_rows
from simulator.ambibench.show import page_blocks
from simulator.runner.machines import ActiveEpisode
from simulator.runner.one_seat import AllAtOnce, OneSeatContext, OneSeatMachine, State
from simulator.seats import Reply


@dataclass(frozen=True, kw_only=True)
class Context(OneSeatContext[Item, Trial]):
    """The objects of an episode; its `item` is a `prompt.Item`."""

    SEAT: ClassVar[str] = PARTICIPANT
    NODES: ClassVar[Mapping[str, str]] = {"answer": "label", "text": "free_text"}
    FLOW: ClassVar[Mapping[str, tuple[str, ...]]] = {"label": ("label",), "free_text": ()}

    @cached_property
    def rules(self) -> Options:
        """The parsed options."""
        return Options.read(self.options)

    @cached_property
    def steps(self) -> tuple[Trial, ...]:
        """All trials of the episode."""
        return trials(self.item)

    @property
    def language(self) -> str:
        """Language of the pages."""
        return self.rules.language

    @cached_property
    def beliefs(self) -> tuple[Belief, ...]:
        """The Bayes-optimal learner's belief at each position; empty if the item has no labels."""
        return () if isinstance(self.item, AwsPrompt) else beliefs(self.item)

    def task_view(self, state: State, steps: tuple[Trial, ...], *, at_once: bool) -> TrialKnows | PromptKnows:
        """Return the trial to answer, or the complete prompt for a seat that answers all remaining trials."""
        if at_once:
            assert not isinstance(self.item, AwsPrompt)
            return PromptKnows(self.item, steps, self.beliefs, self.seed)
        (trial,) = steps
        return TrialKnows(trial.text, trial.answer, self.item.setting)

    def bulk_answerer(self, step: Trial) -> AllAtOnce | None:
        """Return the function that answers all trials in one call, if the seat has one."""
        who = self.who
        return who.score_all if step.kind == "answer" and isinstance(who, ScoresAll) else None

    def turn_content(self, step: Trial, reply: Reply) -> tuple[str, dict[str, Any]]:
        """Return text and payload to log for a reply (`players`).

        Raises:
            SeatError: if a person's reply breaks the rules (`players.person_text`).
        """
        if self.person:
            reply = replace(reply, text=person_text(reply.text))
        if step.kind == "text":
            return reply.text, text_payload(self.item, reply, person=self.person)
        belief = self.beliefs[step.k - 1]
        return reply.text, label_payload(step, reply, belief, self.rules, person=self.person)


class AmbiBenchMachine(OneSeatMachine[Context]):
    """The `simulator.runner.machines.EpisodeMachine` of AmbiBench; its items are `prompt.Item`s."""

    name = items.BENCHMARK
    seats: tuple[str, ...] = (PARTICIPANT,)
    context_type = Context
    item_row = staticmethod(items.item_row)
    read_item = staticmethod(items.item_from_row)
    seat_for = staticmethod(seat_for)
    compute_scores = staticmethod(
        # Tables of probabilities are read by the rules logged with the turns.
        lambda id, item, turns, judgments, options: score_rows(
            id, item, turns, judgments, *logged_rules(turns)
        )
    )

    def view(
        self, live: ActiveEpisode, state: State, seat: str, ending: Ending | None, warning: str | None
    ) -> show.ParticipantView:
        """Return a person's current view."""
        shown = show.participant_view(self.context(live), state, ending, warning, live.stage)
        return replace(shown, blocks=page_blocks(shown))

    def replay(
        self, item: Item, turns: Sequence[Turn], judgments: Sequence[Judgment]
    ) -> show.Replay | show.TextReplay:
        """Return an ended episode with the information that was hidden during play."""
        return show.replay(item, turns, judgments)


MACHINE = AmbiBenchMachine()
