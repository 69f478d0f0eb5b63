"""Who sits in the robot's seat without being a person: built-in robots, and models that play a method.

| name | what it does |
|---|---|
| ``offline/kitchen`` | acts where text or common sense settles what a step means, asks where they do not |
| ``offline/always-asks`` | asks in any case, and holds several actions for possible |
| ``offline/never-asks`` | does what ``offline/kitchen`` would do without asking |
| ``provider/model`` | proposes by its method, and puts the question into words once it is decided to ask |

None of them reads what the data know of the answer: they are given items without it (`playing.blinded`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from personas.templates import render
from simulator.ambik.kitchen.knowledge import any_of
from simulator.ambik.kitchen.reasoning import alternatives, judge, kitchen_case
from simulator.ambik.methods.kit import NOTHING, Background, request_in
from simulator.ambik.methods.stages import decide
from simulator.ambik.naming import is_filler, is_not_listed
from simulator.ambik.payloads import decision_payload
from simulator.ambik.playing import ROBOT, Options, RobotKnows
from simulator.ambik.prompts import Case, one_line, prompt, read_line
from simulator.ambik.records import Decision
from simulator.errors import InputError, SeatError
from simulator.forms import LONGEST
from simulator.models import ChatModel
from simulator.seats import Kind, Reply, View

KITCHEN: Final = "offline/kitchen"
ALWAYS_ASKS: Final = "offline/always-asks"
NEVER_ASKS: Final = "offline/never-asks"
ROBOTS: Final = (KITCHEN, ALWAYS_ASKS, NEVER_ASKS)


class OfflineRobot:
    """One of the built-in robots.

    Raises:
        InputError: if there is none of that name.
    """

    kind: Kind = "offline"

    def __init__(self, name: str) -> None:
        if name not in ROBOTS:
            raise InputError(f"There is no robot called {name!r}; built in are {', '.join(ROBOTS)}.")
        self.name = name

    async def reply(self, view: View) -> Reply:
        """Act or ask."""
        knows: RobotKnows = view.task
        options = Options.read(view.options)
        case = kitchen_case(knows.item, options.context, knows.exchanges, options.dialogue)
        judgement = judge(case)
        action, question, marked = judgement.action, judgement.question, judgement.marked
        if self.name == ALWAYS_ASKS and not knows.must_act:
            marked = alternatives(case)
            question = question or any_of(marked)
        trace = {
            "why": [note.en for note in judgement.notes],
            "why_zh": [note.zh for note in judgement.notes],
        }
        if question is None or knows.must_act or self.name == NEVER_ASKS:
            return Reply(text=action, move={"marked": [action], "act": action}, trace=trace, seconds=0.0)
        asked = question[1] if options.language == "zh" else question[0]
        move = {"marked": list(marked), "act": action, "ask": asked}
        return Reply(text=asked, move=move, trace=trace, seconds=0.0)


MOST_TOKENS: Final = 64
"""Of a question, and of an answer."""


class MethodRobot:
    """Plays the method that an episode's options name; after an answer anew, with all that it was told.

    `chooser`: chooses and judges; None: the generator does.
    """

    kind: Kind = "model"

    def __init__(
        self, generator: ChatModel, chooser: ChatModel | None = None, background: Background = NOTHING
    ) -> None:
        self._generator = generator
        self._chooser = chooser or generator
        self._background = background
        self.name = generator.name

    async def reply(self, view: View) -> Reply:
        """Propose what might be done; or put a question into words, where that is what is wanted.

        The move of a proposal holds the decision before any threshold as plain values; of a question it holds
        what the model was asked and wrote, and the text is the question.

        Raises:
            SeatError: if the options name no method.
            ModelError: if a model fails.
        """
        knows: RobotKnows = view.task
        rules = Options.read(view.options)
        case = Case(knows.item, rules.context, rules.dialogue, knows.exchanges, rules.language)
        if knows.actions is not None:
            return await self._ask(knows.actions, case, view)
        decision = await self._propose(case, rules, view)
        trace: dict[str, Any] = {"flags": list(decision.flags)}
        if self._background.similar is not None and decision.samples:
            trace["similarity"] = self._background.similar.name
        return Reply(move={"decision": decision_payload(decision)}, trace=trace)

    async def _propose(self, case: Case, rules: Options, view: View) -> Decision:
        if not rules.method:
            raise SeatError(f"{self.name} is to play a method, and the options name none.", ROBOT)
        return await decide(
            rules.method,
            case,
            self._generator,
            self._chooser,
            samples=rules.samples,
            max_tokens=rules.max_tokens,
            not_listed=rules.settings.not_listed,
            seed=view.seed,
            background=self._background,
            repeat=view.repeat,
            episode_id=view.episode_id,
            number=view.number,
        )

    async def _ask(self, predicted: Sequence[str], case: Case, view: View) -> Reply:
        """Return a question whose answer tells which of the set's actions is meant.

        None of the five methods has one of its own. If the model writes none, the actions are named instead.
        """
        actions = tuple(text for text in predicted if not is_filler(text) and not is_not_listed(text))
        asked = prompt("ask", case, actions=actions)
        request = request_in(view, self._generator, asked, "robot.ask", max_tokens=MOST_TOKENS)
        text = await one_line(self._generator, request, case.language)
        question = read_line(text, LONGEST)
        return Reply(
            text=question or render("ambik/which", case.language, {"actions": actions}).text[:LONGEST],
            move={
                "prompts": [["ask", asked.text]],
                "raw": [["ask", text]],
                "flags": [] if question else ["question_made"],
            },
        )
