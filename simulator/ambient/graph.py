r"""AmbiEnt as the runner sees it: the episode as a state machine with one seat, and what people see of it.

::

    crowd       label -> judge -> relabel            evaluate    judge -> relabel
    annotate    annotate                             true_false  one statement after the other
    generate    generate                             continue    one option after the other
    nli         one pair after the other             claim       paraphrase -> claim

Before a person's first set there may be a qualification, question by question (`qualify`): who does not get
enough of it right is screened out, and the episode is aborted.
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
from simulator.ambient.payloads import logged
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
from simulator.runner.one_seat import AllAtOnce, OneSeatMachine, OneSeatTable, State, step_due
from simulator.seats import Reply
from simulator.seeds import derive_seed


@dataclass(frozen=True, kw_only=True)
class Table(OneSeatTable[Item, Step]):
    """The parts of an episode; its `item` is one of `items.Item`."""

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
        """The options, read."""
        return Options.read(self.options)

    @cached_property
    def steps(self) -> tuple[Step, ...]:
        """Every turn that the episode will have."""
        return plan(self.item, person=self.person, options=self.rules, seed=self.seed)

    @property
    def language(self) -> str:
        """Of the pages."""
        return self.rules.language

    @property
    def questions(self) -> tuple[Question, ...]:
        """Of the qualification."""
        return self.rules.qualification.questions if self.rules.qualification else ()

    def shown(self, step: Step) -> ShownTexts:
        """Return what is shown in a step."""
        return shown_in(self.item, step, self.questions)

    def left(self, state: State) -> SeatError | None:
        """Return the error of somebody who got too little of the qualification right, if they did."""
        test = self.rules.qualification
        answers = [text for kind, text in state["said"] if kind == "qualification"]
        if test is None or len(answers) < len(test.questions) or not answers:
            return None
        right = sum(text == question.label for text, question in zip(answers, test.questions, strict=True))
        if right >= test.needed:
            return None
        return SeatError("The participant did not qualify.", ANNOTATOR, code="screened_out")

    def knows(self, state: State, steps: tuple[Step, ...], *, at_once: bool) -> Knows:
        """See `Knows`."""
        number = len(state["said"])
        return Knows(
            steps=steps,
            shown=self.shown(steps[0]),
            item=self.item,
            seeds=tuple(derive_seed(self.seed, number + place) for place in range(len(steps))),
            said=tuple((kind, text) for kind, text in state["said"]),
        )

    def at_once(self, step: Step) -> AllAtOnce | None:
        """Return whoever answers all steps of such an item at once."""
        who = self.who
        return who.answer_all if isinstance(who, AnswersAll) and who.answers_all(self.item) else None

    def logged(self, step: Step, reply: Reply) -> tuple[str, dict[str, Any]]:
        """See `payloads.logged`."""
        return logged(self.item, step, reply, self.rules, person=self.person)


def _earlier_answers(item: Item, step: Step | None, state: State) -> tuple[tuple[str, str], ...]:
    """Return a crowdworker's earlier answers: ``("label", …)``, then each candidate with yes or no.

    The candidates are not shown before the step that asks about them, nor is anything in another one.
    """
    if not isinstance(item, CrowdItem) or step is None or step.kind not in ("plausible", "relabel"):
        return ()
    answers = {kind: text for kind, text in state["said"]}
    label = (("label", answers["label"]),) if "label" in answers else ()
    flags = answers["plausible"].split() if "plausible" in answers else []
    pairs = zip((candidate.sentence for candidate in item.candidates), flags, strict=False)
    return (*label, *pairs)


class AmbientMachine(OneSeatMachine[Table]):
    """See `simulator.runner.machines.EpisodeMachine`. Its items are examples (`items.Item`)."""

    name = items.BENCHMARK
    seats: tuple[str, ...] = (ANNOTATOR,)
    people_alone = ("qualification",)
    table_type = Table
    item_row = staticmethod(items.item_row)
    read_item = staticmethod(items.item_from_row)
    seat_for = staticmethod(seat_for)
    scored = staticmethod(score_rows)

    def view(
        self, live: ActiveEpisode, state: State, seat: str, ending: Ending | None, warning: str | None
    ) -> ParticipantView:
        """Return what a person may see now; a stage other than the task's is a page without the task."""
        table = self.table(live)
        step = None if ending or live.stage else step_due(table, state)
        task = "done" if step is None else "qualification" if step.kind == "qualification" else "task"
        shown = ParticipantView(
            episode_id=table.episode_id,
            seat=ANNOTATOR,
            language="en",
            number=len(state["said"]),
            stage=live.stage or task,
            due=None if step is None else Due(ANNOTATOR, step.kind),
            tested=bool(table.questions),
            task=table.item.task,
            done=len(state["said"]),
            total=len(table.steps),
            shown=table.shown(step) if step else ShownTexts(),
            earlier=_earlier_answers(table.item, step, state),
            ending=ending,
            warning=warning,
        )
        return replace(shown, blocks=page_blocks(shown))

    def willing(self, options: Mapping[str, Any], turns: Sequence[Turn]) -> Reply | None:
        """See `EpisodeMachine.willing`: people alone have to qualify."""
        test = Options.read(options).qualification
        asked = test.questions[len(turns) :] if test else ()
        return Reply(move={"label": asked[0].label}) if asked else None

    def replay(self, item: Item, turns: Sequence[Turn], judgments: Sequence[Judgment]) -> Result:
        """Return an ended episode of a person's task, with what was hidden."""
        return Result(language="en", moves=(), blocks=result_blocks(item, turns))


MACHINE = AmbientMachine()
