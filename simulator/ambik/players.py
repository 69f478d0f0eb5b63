"""Players for the robot's and the user's seat: built-in players and models.

| name | behaviour |
|---|---|
| ``offline/kitchen`` | acts where the text or common sense settles what a step means, otherwise asks |
| ``offline/always-asks`` | always asks, and marks several actions as possible |
| ``offline/never-asks`` | does what ``offline/kitchen`` would do without asking |
| ``offline/item`` | the user that gives the data's answer if the question asks for it |
| ``provider/model`` | as robot plays its method and words questions; as user knows what it wants |

No robot sees the answer in the data: robots get items without it (`playing.blind_item`).

Four baselines (`BASELINES`) are functions of the task, not players, and put the numbers in perspective.
``never asks`` does what ``offline/kitchen`` would do without asking; ``always asks`` always asks, and decides
again after the answer; ``copies the step`` does the plan's line unchanged; ``lists everything`` does it with
everything in the scene.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, NamedTuple

from personas.templates import render
from simulator.ambik.items import LANGUAGE, DecideItem, PairItem, Scenario
from simulator.ambik.kitchen.knowledge import any_of
from simulator.ambik.kitchen.openings import Case as KitchenCase
from simulator.ambik.kitchen.reasoning import alternatives, judge, kitchen_case
from simulator.ambik.methods import NOTHING, Background, decide, request_in
from simulator.ambik.naming import is_filler, is_not_listed
from simulator.ambik.payloads import decision_payload
from simulator.ambik.playing import ROBOT, USER, Options, RobotKnows, UserKnows, blind_item
from simulator.ambik.prompts import Case, one_line, prompt_for, read_line
from simulator.ambik.questions import answer_to, interpret, interpret_scenario, names_what_was_said
from simulator.ambik.records import Decision, Exchange
from simulator.ambik.terms import Context, Dialogue
from simulator.errors import SeatError
from simulator.forms import LONGEST
from simulator.models import ChatModel
from simulator.seats import Kind, Reply, View

KITCHEN: Final = "offline/kitchen"
ALWAYS_ASKS: Final = "offline/always-asks"
NEVER_ASKS: Final = "offline/never-asks"
ROBOTS: Final = (KITCHEN, ALWAYS_ASKS, NEVER_ASKS)


class OfflineRobot:
    """A built-in robot, one of `ROBOTS`."""

    kind: Kind = "offline"

    def __init__(self, name: str) -> None:
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
        text = question.zh if options.language == "zh" else question.en
        move = {"marked": list(marked), "act": action, "ask": text}
        return Reply(text=text, move=move, trace=trace, seconds=0.0)


MOST_TOKENS: Final = 64
"""Most tokens of a question or an answer."""


class MethodRobot:
    """A model that plays the method in the options of an episode, again after each answer.

    `chooser`: the model that chooses and judges; None for the generator.
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
        """Propose actions, or word a question if the view asks for one.

        A proposal's move is the decision before any threshold, as plain values; a question's move is
        the prompt and the model's text, and the reply's text is the question.

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
            raise SeatError(f"{self.name} needs a method to play, but the options name none.", ROBOT)
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

        The five methods do not define a question. If the model writes none, a template lists the actions.
        """
        actions = tuple(text for text in predicted if not is_filler(text) and not is_not_listed(text))
        prompt = prompt_for("ask", case, actions=actions)
        request = request_in(view, self._generator, prompt, "robot.ask", max_tokens=MOST_TOKENS)
        text = await one_line(self._generator, request, case.language)
        question = read_line(text, LONGEST)
        return Reply(
            text=question or render("ambik/which", case.language, {"actions": actions}).text[:LONGEST],
            move={
                "prompts": [["ask", prompt.text]],
                "raw": [["ask", text]],
                "flags": [] if question else ["question_made"],
            },
        )


# ---- the user

ITEM: Final = "offline/item"
_PICK_UP: Final = "pick-up"


class UserRequest(NamedTuple):
    """A user's wish, in words.

    Attributes:
        text: the clear task; for a scenario, the intended objects and place.
        detail: the data's answer to the data's question; empty where the task is clear.
        language: language of the text; the data are in English.
    """

    text: str
    detail: str = ""
    language: str = "en"


def request_of(item: DecideItem, language: str) -> UserRequest:
    """Return the wish of an item's user."""
    if isinstance(item, PairItem):
        return UserRequest(item.pair.clear, item.pair.answer if item.member == "ambiguous" else "")
    scenario = item.scenario
    variables = {
        "objects": scenario.intended,
        "place": "" if scenario.location == _PICK_UP else scenario.location,
    }
    return UserRequest(render("ambik/scenario_answer", language, variables).text, language=language)


class ItemUser:
    """The user that gives the data's answer if the question asks for it (`questions`).

    Other questions are not understood; where the task is clear, the task is repeated.
    """

    kind: Kind = "offline"
    name = ITEM

    async def reply(self, view: View) -> Reply:
        """Return the item's answer to the question."""
        knows: UserKnows = view.task
        return Reply(text=item_answer(knows.item, knows.question, Options.read(view.options).language))


def item_answer(item: DecideItem, question: str, language: str) -> str:
    """Return the user's answer to a question, from the item's data."""
    if not isinstance(item, PairItem):
        return _scenario_answer(item.scenario, question, language) or _not_understood(language)
    pair = item.pair
    interpretation = interpret(pair, question)
    if item.member == "clear" or not pair.answer:
        if not interpretation and not names_what_was_said(pair, question):
            return _not_understood(language)
        return render("ambik/as_said", language, {"wish": pair.clear}).text
    if not interpretation:
        return _not_understood(language)
    begins, answer = answer_to(interpretation, pair, question)
    if begins == "open":
        return answer
    return render("ambik/yes_or_no", language, {"yes": begins == "yes", "answer": answer}).text


def _not_understood(language: str) -> str:
    return render("ambik/not_understood", language, {}).text


def _scenario_answer(scenario: Scenario, question: str, language: str) -> str:
    topics = interpret_scenario(scenario, question)
    place = scenario.location if "place" in topics and scenario.location != _PICK_UP else ""
    objects = scenario.intended if "objects" in topics else ()
    variables = {"objects": objects, "place": place}
    return render("ambik/scenario_answer", language, variables).text if place or objects else ""


class ModelUser:
    """A model as user: it knows what it wants, and answers only what it is asked."""

    kind: Kind = "model"

    def __init__(self, model: ChatModel) -> None:
        self._model = model
        self.name = model.name

    async def reply(self, view: View) -> Reply:
        """Answer the question.

        Raises:
            SeatError: if the answer has no words.
            ModelError: if the model fails.
        """
        knows: UserKnows = view.task
        language = Options.read(view.options).language
        wish = request_of(knows.item, language)
        case = Case(knows.item, exchanges=knows.exchanges, language=language)
        prompt = prompt_for("answer", case, question=knows.question, wish=wish.text, detail=wish.detail)
        request = request_in(view, self._model, prompt, "user.answer", max_tokens=MOST_TOKENS)
        text = await one_line(self._model, request, language)
        answer = read_line(text, LONGEST)
        if not answer:
            raise SeatError(f"{self.name} answered without words: {text!r}.", USER, code="no_answer")
        return Reply(text=answer)


# ---- baselines

BaselineAnswer = tuple[str, tuple[str, ...], str]
"""The action, the set of actions, and the question; empty to act."""


def baseline_exchanges(
    items: Iterable[DecideItem], context: Context = "full_plan", dialogue: Dialogue = "before"
) -> Mapping[str, tuple[Exchange, ...]]:
    """Return each baseline's decisions on the distinct tasks, in order, before and after an answer."""
    tasks = {item.id: item for item in items}.values()
    return {name: tuple(_exchange(item, name, context, dialogue) for item in tasks) for name in BASELINES}


def _exchange(item: DecideItem, name: str, context: Context, dialogue: Dialogue) -> Exchange:
    case = kitchen_case(blind_item(item, dialogue), context, (), dialogue)
    action, marked, question = BASELINES[name](case)
    before = Decision(
        episode_id=f"{name} {item.id}",
        run=name,
        item=item,
        method="offline",
        context=context,
        dialogue=dialogue,
        generator=name,
        action=action,
        chosen=marked,
        asked=bool(question),
        question=question,
    )
    if not question:
        return Exchange.from_decisions([before], robot=name, user=ITEM)
    answer = item_answer(item, question, LANGUAGE)
    action = judge(replace(case, exchanges=(*case.exchanges, (question, answer)))).action
    after = replace(before, action=action, chosen=(action,), asked=False, question="")
    return Exchange.from_decisions([replace(before, answer=answer), after], robot=name, user=ITEM)


def _never_ask(case: KitchenCase) -> BaselineAnswer:
    action = judge(case).action
    return action, (action,), ""


def _always_ask(case: KitchenCase) -> BaselineAnswer:
    judgement, marked = judge(case), alternatives(case)
    return judgement.action, marked, (judgement.question or any_of(marked)).en


def _copy_step(case: KitchenCase) -> BaselineAnswer:
    return case.step, (case.step,), ""


def _list_everything(case: KitchenCase) -> BaselineAnswer:
    action = f"{case.step.rstrip('. ')}, with the {', the '.join((*case.objects, *case.appliances))}."
    return action, (action,), ""


BASELINES: Final[Mapping[str, Callable[[KitchenCase], BaselineAnswer]]] = {
    "never asks": _never_ask,
    "always asks": _always_ask,
    "copies the step": _copy_step,
    "lists everything": _list_everything,
}
"""The baselines by name, in the order of reports."""
