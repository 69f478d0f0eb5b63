"""Who gave the task and answers questions: the item's own answer, or a model that knows what it wants."""

from __future__ import annotations

from typing import Final, NamedTuple

from personas.templates import render
from simulator.ambik.items import DecideItem, PairItem, Scenario
from simulator.ambik.methods.kit import request_in
from simulator.ambik.players.robots import MOST_TOKENS
from simulator.ambik.playing import USER, Options, UserKnows
from simulator.ambik.prompts import Case, one_line, prompt, read_line
from simulator.ambik.questions import answer_to, hear, hear_scenario, names_what_was_said
from simulator.errors import SeatError
from simulator.forms import LONGEST
from simulator.models import ChatModel
from simulator.seats import Kind, Reply, View

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
