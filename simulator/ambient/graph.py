r"""AmbiEnt's episode machine: a state machine with one seat, and the views of its participant.

::

    crowd       label -> judge -> relabel            evaluate    judge -> relabel
    annotate    annotate                             true_false  one statement after the other
    generate    generate                             continue    one option after the other
    nli         one pair after the other             claim       paraphrase -> claim

A person's first set may begin with a qualification, question by question (`qualify`). A person with too few
right answers is screened out and the episode aborted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

from logs.rows import Ending, Judgment, Turn
from simulator.ambient import items
from simulator.ambient.data import Question
from simulator.ambient.items import CrowdItem, Item
from simulator.ambient.payloads import turn_content
from simulator.ambient.players import seat_for
from simulator.ambient.playing import (
    ANNOTATOR,
    AnswersAll,
    Knows,
    Options,
    ParticipantView,
    ShownTexts,
    Step,
    plan,
    shown_in,
)
from simulator.ambient.reveal import result_blocks
from simulator.ambient.score import score_rows
from simulator.ambient.show import page_blocks
from simulator.benchmark import Due
from simulator.errors import SeatError
from simulator.runner.machines import ActiveEpisode, Result
from simulator.runner.one_seat import AllAtOnce, OneSeatContext, OneSeatMachine, State, step_due
from simulator.seats import Reply
from simulator.seeds import derive_seed


@dataclass(frozen=True, kw_only=True)
class Context(OneSeatContext[Item, Step]):
    """An episode with its item, steps and transitions."""

    SEAT: ClassVar[str] = ANNOTATOR
    FLOW: ClassVar[Mapping[str, tuple[str, ...]]] = {
        "qualify": ("qualify", "label", "judge", "annotate", "true_false"),
        "label": ("judge",),
        "judge": ("relabel",),
        "paraphrase": ("claim",),
        **{node: (node,) for node in ("true_false", "continue", "nli")},
        **{node: () for node in ("relabel", "annotate", "generate", "claim")},
    }
    NODES: ClassVar[Mapping[str, str]] = {
        **{node: node for node in FLOW},
        "qualification": "qualify",
        "plausible": "judge",
    }

    @cached_property
    def rules(self) -> Options:
        """The parsed options."""
        return Options.read(self.options)

    @cached_property
    def steps(self) -> tuple[Step, ...]:
        """All steps of the episode, one per turn."""
        return plan(self.item, person=self.person, options=self.rules, seed=self.seed)

    @property
    def language(self) -> str:
        """The language of the pages."""
        return self.rules.language

    @property
    def questions(self) -> tuple[Question, ...]:
        """The questions of the qualification."""
        return self.rules.qualification.questions if self.rules.qualification else ()

    def shown(self, step: Step) -> ShownTexts:
        """Return the texts shown in a step."""
        return shown_in(self.item, step, self.questions)

    def exit_error(self, state: State) -> SeatError | None:
        """Return an error if the participant failed the qualification."""
        test = self.rules.qualification
        answers = [text for kind, text in state["said"] if kind == "qualification"]
        if test is None or len(answers) < len(test.questions) or not answers:
            return None
        right = sum(text == question.label for text, question in zip(answers, test.questions, strict=True))
        if right >= test.needed:
            return None
        return SeatError("The participant did not qualify.", ANNOTATOR, code="screened_out")

    def task_view(self, state: State, steps: tuple[Step, ...], *, at_once: bool) -> Knows:
        """See `Knows`."""
        number = len(state["said"])
        return Knows(
            steps=steps,
            shown=self.shown(steps[0]),
            item=self.item,
            seeds=tuple(derive_seed(self.seed, number + place) for place in range(len(steps))),
            said=tuple((kind, text) for kind, text in state["said"]),
        )

    def bulk_answerer(self, step: Step) -> AllAtOnce | None:
        """Return the player's `answer_all` if it answers all steps of the item together."""
        who = self.who
        return who.answer_all if isinstance(who, AnswersAll) and who.answers_all(self.item) else None

    def turn_content(self, step: Step, reply: Reply) -> tuple[str, dict[str, Any]]:
        """See `payloads.turn_content`."""
        return turn_content(self.item, step, reply, self.rules, person=self.person)


def _earlier_answers(item: Item, step: Step | None, state: State) -> tuple[tuple[str, str], ...]:
    """Return a crowdworker's earlier answers: ``("label", …)``, then each candidate with yes or no.

    Empty before the step on candidates, which must not be shown earlier.
    """
    if not isinstance(item, CrowdItem) or step is None or step.kind not in ("plausible", "relabel"):
        return ()
    answers = {kind: text for kind, text in state["said"]}
    label = (("label", answers["label"]),) if "label" in answers else ()
    flags = answers["plausible"].split() if "plausible" in answers else []
    pairs = zip((candidate.sentence for candidate in item.candidates), flags, strict=False)
    return (*label, *pairs)


class AmbientMachine(OneSeatMachine[Context]):
    """The `simulator.runner.machines.EpisodeMachine` of AmbiEnt, with items of type `items.Item`."""

    name = items.BENCHMARK
    seats: tuple[str, ...] = (ANNOTATOR,)
    person_only_kinds = ("qualification",)
    context_type = Context
    item_row = staticmethod(items.item_row)
    read_item = staticmethod(items.item_from_row)
    seat_for = staticmethod(seat_for)
    compute_scores = staticmethod(score_rows)

    def view(
        self, live: ActiveEpisode, state: State, seat: str, ending: Ending | None, warning: str | None
    ) -> ParticipantView:
        """Return the person's current view; stages outside the task show nothing of the task."""
        context = self.context(live)
        step = None if ending or live.stage else step_due(context, state)
        task = "done" if step is None else "qualification" if step.kind == "qualification" else "task"
        shown = ParticipantView(
            episode_id=context.episode_id,
            seat=ANNOTATOR,
            language="en",
            number=len(state["said"]),
            stage=live.stage or task,
            due=None if step is None else Due(ANNOTATOR, step.kind),
            tested=bool(context.questions),
            task=context.item.task,
            done=len(state["said"]),
            total=len(context.steps),
            shown=context.shown(step) if step else ShownTexts(),
            earlier=_earlier_answers(context.item, step, state),
            ending=ending,
            warning=warning,
        )
        return replace(shown, blocks=page_blocks(shown))

    def cooperative_reply(self, options: Mapping[str, Any], turns: Sequence[Turn]) -> Reply | None:
        """See `EpisodeMachine.cooperative_reply`: answers the qualification, which only people have."""
        test = Options.read(options).qualification
        unanswered = test.questions[len(turns) :] if test else ()
        return Reply(move={"label": unanswered[0].label}) if unanswered else None

    def replay(self, item: Item, turns: Sequence[Turn], judgments: Sequence[Judgment]) -> Result:
        """Return the result page of a person's finished episode."""
        return Result(language="en", moves=(), blocks=result_blocks(item, turns))


MACHINE = AmbientMachine()
