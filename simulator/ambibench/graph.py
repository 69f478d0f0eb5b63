"""AmbiBench as the runner sees it: an episode with one seat (`simulator.runner.one_seat`).

A step is a trial. A seat that can (`ScoresAll`) answers all trials that are left at once.
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
from simulator.runner.one_seat import AllAtOnce, OneSeatMachine, OneSeatTable, State
from simulator.seats import Reply


@dataclass(frozen=True, kw_only=True)
class Table(OneSeatTable[Item, Trial]):
    """The parts of an episode; its `item` is one of `prompt.Item`."""

    SEAT: ClassVar[str] = PARTICIPANT
    NODES: ClassVar[Mapping[str, str]] = {"answer": "label", "text": "free_text"}
    FLOW: ClassVar[Mapping[str, tuple[str, ...]]] = {"label": ("label",), "free_text": ()}

    @cached_property
    def rules(self) -> Options:
        """The options, read."""
        return Options.read(self.options)

    @cached_property
    def steps(self) -> tuple[Trial, ...]:
        """Every trial of the episode."""
        return trials(self.item)

    @property
    def language(self) -> str:
        """Of the pages."""
        return self.rules.language

    @cached_property
    def beliefs(self) -> tuple[Belief, ...]:
        """Return what the Bayes-optimal learner thinks at each position; none where nothing is labelled."""
        return () if isinstance(self.item, AwsPrompt) else beliefs(self.item)

    def knows(self, state: State, steps: tuple[Trial, ...], *, at_once: bool) -> TrialKnows | PromptKnows:
        """Return the trial that is due, or the whole prompt for a seat that answers all that is left."""
        if at_once:
            assert not isinstance(self.item, AwsPrompt)
            return PromptKnows(self.item, steps, self.beliefs, self.seed)
        (trial,) = steps
        return TrialKnows(trial.text, trial.answer, self.item.setting)

    def at_once(self, step: Trial) -> AllAtOnce | None:
        """Return what scores all labels of a prompt at once, if the seat can."""
        who = self.who
        return who.score_all if step.kind == "answer" and isinstance(who, ScoresAll) else None

    def logged(self, step: Trial, reply: Reply) -> tuple[str, dict[str, Any]]:
        """Return what is logged of a reply (`players`).

        Raises:
            SeatError: if a person's reply breaks the rules (`players.person_text`).
        """
        if self.person:
            reply = replace(reply, text=person_text(reply.text))
        if step.kind == "text":
            return reply.text, text_payload(self.item, reply, person=self.person)
        belief = self.beliefs[step.k - 1]
        return reply.text, label_payload(step, reply, belief, self.rules, person=self.person)


class AmbiBenchMachine(OneSeatMachine[Table]):
    """See `simulator.runner.machines.EpisodeMachine`. Its items are prompts (`prompt.Item`)."""

    name = items.BENCHMARK
    seats: tuple[str, ...] = (PARTICIPANT,)
    table_type = Table
    item_row = staticmethod(items.item_row)
    read_item = staticmethod(items.item_from_row)
    seat_for = staticmethod(seat_for)
    scored = staticmethod(
        # Tables are read as the episode's options said.
        lambda id, item, turns, judgments, options: score_rows(
            id, item, turns, judgments, *logged_rules(turns)
        )
    )

    def view(
        self, live: ActiveEpisode, state: State, seat: str, ending: Ending | None, warning: str | None
    ) -> show.ParticipantView:
        """Return what a person may see now."""
        shown = show.participant_view(self.table(live), state, ending, warning, live.stage)
        return replace(shown, blocks=page_blocks(shown))

    def replay(
        self, item: Item, turns: Sequence[Turn], judgments: Sequence[Judgment]
    ) -> show.Replay | show.TextReplay:
        """Return an ended episode, with what was hidden."""
        return show.replay(item, turns, judgments)


MACHINE = AmbiBenchMachine()
