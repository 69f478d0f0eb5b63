"""The seats of robot and user without a person in them: built-in players, and models.

| name | what it does |
|---|---|
| ``offline/kitchen`` | acts where text or common sense settles what a step means, asks where they do not |
| ``offline/always-asks`` | asks in any case, and holds several actions for possible |
| ``offline/never-asks`` | does what ``offline/kitchen`` would do without asking |
| ``offline/item`` | the user who gives the data's own answer to whoever asks for what it tells |
| ``provider/model`` | as robot plays its method and words questions; as user knows what it wants |

No robot reads what the data know of the answer: they are given items without it (`playing.blinded`).

Four robots that understand nothing are no players but functions of the tasks (`BASELINES`): what a number is
worth beside them. ``never asks`` does what ``offline/kitchen`` would do without asking; ``always asks`` asks
in any case, and decides anew with what it is told; ``copies the step`` does the plan's line as it stands;
``lists everything`` does so with all that there is in the scene.
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
from simulator.ambik.playing import ROBOT, USER, Options, RobotKnows, UserKnows, blinded
from simulator.ambik.prompts import Case, one_line, prompt, read_line
from simulator.ambik.questions import answer_to, hear, hear_scenario, names_what_was_said
from simulator.ambik.records import Decision, Exchange
from simulator.ambik.terms import Context, Dialogue
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


# ---- the user

ITEM: Final = "offline/item"
_PICK_UP: Final = "pick-up"


class UserRequest(NamedTuple):
    """A user's wish, in words.

    Attributes:
        text: the clear task; of a scenario, the objects and the place that are meant.
        detail: the data's answer to the data's question; empty where the task is clear.
        language: of the text: the data's own is English.
    """

    text: str
    detail: str = ""
    language: str = "en"


def request_of(item: DecideItem, language: str) -> UserRequest:
    """Return what the user of an item wants."""
    if isinstance(item, PairItem):
        return UserRequest(item.pair.clear, item.pair.answer if item.member == "ambiguous" else "")
    scenario = item.scenario
    variables = {
        "objects": scenario.intended,
        "place": "" if scenario.location == _PICK_UP else scenario.location,
    }
    return UserRequest(render("ambik/scenario_answer", language, variables).text, language=language)


class ItemUser:
    """Gives the answer that the data have to whoever asks for what it tells (`questions`).

    Asked for something else, it says that it has not understood; where the task is clear, it says it again.
    """

    kind: Kind = "offline"
    name = ITEM

    async def reply(self, view: View) -> Reply:
        """Return the item's answer, as far as the question asks for it."""
        knows: UserKnows = view.task
        return Reply(text=item_answer(knows.item, knows.question, Options.read(view.options).language))


def item_answer(item: DecideItem, question: str, language: str) -> str:
    """Return what the data have to say to a question."""
    if not isinstance(item, PairItem):
        return _scenario_answer(item.scenario, question, language) or _not_understood(language)
    pair = item.pair
    heard = hear(pair, question)
    if item.member == "clear" or not pair.answer:
        if not heard and not names_what_was_said(pair, question):
            return _not_understood(language)
        return render("ambik/as_said", language, {"wish": pair.clear}).text
    if not heard:
        return _not_understood(language)
    begins, answer = answer_to(heard, pair, question)
    if begins == "open":
        return answer
    return render("ambik/yes_or_no", language, {"yes": begins == "yes", "answer": answer}).text


def _not_understood(language: str) -> str:
    return render("ambik/not_understood", language, {}).text


def _scenario_answer(scenario: Scenario, question: str, language: str) -> str:
    asked = hear_scenario(scenario, question)
    place = scenario.location if "place" in asked and scenario.location != _PICK_UP else ""
    objects = scenario.intended if "objects" in asked else ()
    known = {"objects": objects, "place": place}
    return render("ambik/scenario_answer", language, known).text if place or objects else ""


class ModelUser:
    """A model that is told what it wants, and answers what it is asked and no more."""

    kind: Kind = "model"

    def __init__(self, model: ChatModel) -> None:
        self._model = model
        self.name = model.name

    async def reply(self, view: View) -> Reply:
        """Answer the question.

        Raises:
            SeatError: if it writes no words.
            ModelError: if it fails.
        """
        knows: UserKnows = view.task
        language = Options.read(view.options).language
        wish = request_of(knows.item, language)
        case = Case(knows.item, exchanges=knows.exchanges, language=language)
        asked = prompt("answer", case, question=knows.question, wish=wish.text, detail=wish.detail)
        request = request_in(view, self._model, asked, "user.answer", max_tokens=MOST_TOKENS)
        text = await one_line(self._model, request, language)
        answer = read_line(text, LONGEST)
        if not answer:
            raise SeatError(f"{self.name} answered without words: {text!r}.", USER, code="no_answer")
        return Reply(text=answer)


# ---- robots that understand nothing

BaselineAnswer = tuple[str, tuple[str, ...], str]
"""The action, the set, the question."""


def baseline_exchanges(
    items: Iterable[DecideItem], context: Context = "full_plan", dialogue: Dialogue = "before"
) -> Mapping[str, tuple[Exchange, ...]]:
    """Return what each baseline decides on tasks, each once, in their order, before and after an answer."""
    tasks = {item.id: item for item in items}.values()
    return {name: tuple(_exchange(item, name, context, dialogue) for item in tasks) for name in BASELINES}


def _exchange(item: DecideItem, name: str, context: Context, dialogue: Dialogue) -> Exchange:
    case = kitchen_case(blinded(item, dialogue), context, (), dialogue)
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
        return Exchange.of([before], robot=name, user=ITEM)
    answer = item_answer(item, question, LANGUAGE)
    acts = judge(replace(case, exchanges=(*case.exchanges, (question, answer)))).action
    after = replace(before, action=acts, chosen=(acts,), asked=False, question="")
    return Exchange.of([replace(before, answer=answer), after], robot=name, user=ITEM)


def _say_never_ask(case: KitchenCase) -> BaselineAnswer:
    action = judge(case).action
    return action, (action,), ""


def _say_always_ask(case: KitchenCase) -> BaselineAnswer:
    judgement, marked = judge(case), alternatives(case)
    return judgement.action, marked, (judgement.question or any_of(marked)).en


def _say_the_step(case: KitchenCase) -> BaselineAnswer:
    return case.step, (case.step,), ""


def _say_all_options(case: KitchenCase) -> BaselineAnswer:
    action = f"{case.step.rstrip('. ')}, with the {', the '.join((*case.objects, *case.appliances))}."
    return action, (action,), ""


BASELINES: Final[Mapping[str, Callable[[KitchenCase], BaselineAnswer]]] = {
    "never asks": _say_never_ask,
    "always asks": _say_always_ask,
    "copies the step": _say_the_step,
    "lists everything": _say_all_options,
}
"""By name, in the order in which they are told."""
