"""A method in the robot's seat: it decides, and asks in words where it is told that somebody answers."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

from personas.templates import render
from simulator.ambik.methods.kit import NOTHING, Background, MethodOptions, request_in
from simulator.ambik.naming import is_filler, is_not_listed
from simulator.ambik.payloads import decision_payload, outcome_of
from simulator.ambik.players.knows import RobotKnows
from simulator.ambik.playing import ROBOT, Options
from simulator.ambik.prompts import Case, case_of, one_line, prompt, read_line
from simulator.ambik.records import Decision, Outcome
from simulator.errors import SeatError
from simulator.forms import LONGEST
from simulator.models import ChatModel
from simulator.seats import Kind, Reply, View

MOST_TOKENS: Final = 64
"""Of a question, and of an answer."""


class MethodRobot:
    """Plays the method that an episode's options name; after an answer it decides anew, with all it was told.

    Args:
        generator: writes options, actions and questions.
        chooser: chooses and judges; None: the generator does.
        background: what is known of the data as a whole (`methods.background`).
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
        """Decide; ask if the prediction set says so and an answer would come.

        The text is the question, or else what it would do. The move holds the decision as plain values; who
        reads it makes prediction set and help of it.

        Raises:
            SeatError: if the options name no method.
            ModelError: if a model fails.
        """
        knows: RobotKnows = view.task
        rules = Options.read(view.options)
        case = case_of(
            knows.item,
            context=rules.context,
            dialogue=rules.dialogue,
            exchanges=knows.exchanges,
            language=rules.language,
        )
        decision = await self._decide(case, rules, view)
        outcome = outcome_of(decision, rules)
        trace: dict[str, Any] = {"flags": list(decision.flags)}
        if self._background.similar is not None and decision.samples:
            trace["similarity"] = self._background.similar.name
        if outcome is None:
            return Reply(move={"decision": decision_payload(decision)}, trace=trace)
        trace |= {"set": list(outcome.predicted), "help": outcome.help}
        if outcome.help and knows.may_ask:
            decision = await self._ask(decision, outcome, case, view)
        move = {"decision": decision_payload(decision)}
        return Reply(text=decision.question or outcome.action, move=move, trace=trace)

    async def _decide(self, case: Case, rules: Options, view: View) -> Decision:
        # LangGraph takes a second to import; who asks only which seats there are should not wait for it.
        from simulator.ambik.methods.graphs import decide

        if not rules.method:
            raise SeatError(f"{self.name} is to play a method, and the options name none.", ROBOT)
        options = MethodOptions(
            samples=rules.samples,
            max_tokens=rules.max_tokens,
            not_listed=rules.settings.not_listed,
            seed=view.seed,
            background=self._background,
            repeat=view.repeat,
            episode_id=view.episode_id,
            number=view.number,
        )
        decision = await decide(rules.method, case, self._generator, self._chooser, options)
        return replace(decision, dialogue=rules.dialogue)

    async def _ask(self, decision: Decision, outcome: Outcome, case: Case, view: View) -> Decision:
        """Return a decision with a question whose answer tells which of the set's actions is meant.

        None of the five methods has one of its own. If the model writes none, the actions are named instead.
        """
        texts = (text for text in outcome.predicted if not is_filler(text) and not is_not_listed(text))
        actions = tuple(texts)
        asked = prompt("ask", case, actions=actions)
        request = request_in(view, self._generator, asked, "robot.ask", max_tokens=MOST_TOKENS)
        text = await one_line(self._generator, request, case.language)
        question = read_line(text, LONGEST)
        return replace(
            decision,
            question=question or render("ambik/which", case.language, {"actions": actions}).text[:LONGEST],
            prompts=(*decision.prompts, ("ask", asked.text)),
            raw=(*decision.raw, ("ask", text)),
            flags=decision.flags if question else (*decision.flags, "question_made"),
        )
