r"""The episode as a state machine with one seat (`simulator.runner.one_seat`): what is AmbiEnt's in it.

::

    crowd       label -> judge -> relabel            evaluate    judge -> relabel
    annotate    annotate                             true_false  one statement after the other
    generate    generate                             continue    one option after the other
    nli         one pair after the other             claim       paraphrase -> claim

Before a person's first set there may be a qualification, question by question (`qualify`): who does not get
enough of it right is screened out, and the episode is aborted.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

from simulator.ambient.data import Question
from simulator.ambient.items import Item
from simulator.ambient.payloads import logged
from simulator.ambient.playing import ANNOTATOR, Options, Step, plan
from simulator.ambient.views import AnswersAll, Knows, ShownTexts, shown_in
from simulator.errors import SeatError
from simulator.runner.one_seat import AllAtOnce, OneSeatTable, State
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
