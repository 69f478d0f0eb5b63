"""The robot's questions, and the human's answers from the true meaning (spec 9.7).

An answer gives what was asked and no more: a yes for a fruit does not reveal which fruit. The human is
indifferent to all that the meaning leaves open. Questions in a row ("is it red, and is it on the bed?") are
answered one by one; in a single question ("is it a red apple?") all parts must be true.

The price depends on the question: an open one has a price for each thing asked for, any other costs 10 points
for each thing that it names, including alternatives and conditions. A question that names more than
`most_things` gets no answer (tables/questions.yaml).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, Literal, NamedTuple

from simulator.handmethat.env.asked_words import entities_named, kinds_above, word_table
from simulator.handmethat.env.asking import Mention, Question, kinds_asked, questions_in, read_question, table
from simulator.handmethat.hierarchy import STATES, all_words, hierarchy, state_word, word
from simulator.handmethat.items import Task
from simulator.handmethat.meanings.model import PLACE_KEYS, Meaning
from simulator.handmethat.meanings.render import display_name
from simulator.handmethat.world import BitSet, bit_set, entities
from trees import Language

AnswerKind = Literal["value", "yes", "no", "indifferent", "unknown"]
Verdict = Literal["yes", "no", "indifferent"]
_KEY_OF_MENTION: Final = {"kind": "type", **dict.fromkeys(STATES, "state")}
# “放哪里” asks where to put the thing if it is to be put somewhere, else where it is.
_PUT_ZH: Final = re.compile("^(?!.*[我要该到进入去了着])(请问|具体|到底|那么?)*(?P<it>它|东西)?[放搁摆]")
_ROLES: Final = ("place", "destination")
_NEGATED: Final[Mapping[Verdict, Verdict]] = {"yes": "no", "no": "yes", "indifferent": "indifferent"}


class Answer(NamedTuple):
    """The human's answer to a question.

    Attributes:
        kind: ``value``: it gives information; ``yes`` and ``no``; ``indifferent``: the human does not care;
            ``unknown``: the question was not understood.
        cost: points, a positive number.
        key: the question's key in tables/questions.yaml, or several joined by ``+``: one for
            each thing it asks about, so that the price follows from the key.
    """

    kind: AnswerKind
    text: str
    cost: int
    key: str


class PriceRule(NamedTuple):
    """The price of questions: for each thing, for a complete description; and the most things named."""

    each: int
    everything: int
    most: int


def question_cost(key: str, costs: Mapping[str, int] | None = None) -> int:
    """Return the cost of a question, given its key (`Answer`); `costs` override the table's."""
    prices: Mapping[str, int] = table()["costs"] | dict(costs or {})
    return sum(prices.get(part, prices["other"]) for part in key.split("+"))


def price_rule() -> PriceRule:
    """Return the price rule that is shown to people and models."""
    return PriceRule(question_cost("object"), question_cost("clear"), table()["most_things"])


def official_questions(language: Language) -> tuple[str, ...]:
    """Return the published questions, with the one about states repeated for each state."""
    words = all_words("zh") if language == "zh" else {state: state for state in STATES}
    return tuple(
        phrase.format(state=words.get(state))
        for key, phrase in table()["official"][language].items()
        for state in (table()["states"] if key == "state" else ("",))
    )


def answer(task: Task, text: str, language: Language = "en") -> Answer:
    """Return the human's answer to a free-text question."""
    human = _Human(task, language)
    question = human.hear(read_question(task.world, text), text)
    key = question_key(task, question)
    if key in ("other", "too_many"):
        words = human.words["unknown" if key == "other" else key]
        return Answer("unknown", words.format(most=table()["most_things"]), question_cost(key), key)
    if question.asks:
        kind, words = human.answer_open(question.asks)
    else:
        judged = [human.judge(part.mentions) for part in questions_in(task.world, text, question)]
        kinds = {kind for kind, _ in judged}
        kind = kinds.pop() if len(kinds) == 1 else "value"
        words = human.words["between"].join(words for _, words in judged)
    return Answer(kind, words, question_cost(key), key)


def question_key(task: Task, question: Question) -> str:
    """Return a question's key (`Answer`); ``other`` if it does not apply, ``too_many`` if too long a list."""
    if "destination" in question.asks and task.meaning.quest != "move_to":
        return "other"
    if question.asks:
        return "+".join(question.asks)
    if len(question.mentions) > table()["most_things"]:
        return "too_many"
    return "+".join(_KEY_OF_MENTION.get(mention.key, mention.key) for mention in question.mentions) or "other"


class _Human:
    """The human, who knows the meaning and answers in a language."""

    def __init__(self, task: Task, language: Language) -> None:
        self.task, self.world, self.meaning, self.language = task, task.world, task.meaning, language
        self.words: Mapping[str, str] = table()["answers"][language]
        nothing: tuple[str, str | None] = "", None
        self.kind_key, self.kind = task.meaning.kind or nothing
        self.relation, self.container = task.meaning.place or nothing

    # Open questions

    def answer_open(self, asks: Sequence[str]) -> tuple[AnswerKind, str]:
        """Return the answer to open questions; the human is indifferent if the meaning says nothing."""
        values = {ask: _OPEN_ANSWERS[ask](self) for ask in asks}
        parts = (self.words[f"no_{ask}"] if value is None else value for ask, value in values.items())
        is_known = any(value is not None for value in values.values())
        return "value" if is_known else "indifferent", self.words["between"].join(parts)

    def value(self, key: str) -> str | None:
        """Return the sentence about colour or size."""
        value = self.meaning.get(key)
        return None if value is None else self.words[key].format(value=word(str(value), self.language))

    def type(self) -> str | None:
        """Return the sentence about the kind of thing."""
        return None if self.kind is None else self.words["type"].format(value=self.kind_words(self.kind))

    def place(self) -> str | None:
        """Return the sentence about where the thing is."""
        if self.container is None:
            return None
        return self.words[self.relation].format(value=self.name_of(self.container))

    def destination(self) -> str:
        """Return the sentence about the destination."""
        name = self.meaning.argument
        assert name is not None, "a meaning of move_to has a destination"
        relation = self.world.relation(self.world.index[name])
        return self.words["into" if relation == "inside" else "onto"].format(value=self.name_of(name))

    def states(self) -> str | None:
        """Return the sentence about the states."""
        states = self.state_words(self.meaning, STATES)
        joined = self.words["between_states"].join(states)
        return self.words["state"].format(value=joined) if states else None

    def look(self) -> str | None:
        """Return the description without the place."""
        description = tuple(pair for pair in self.meaning.description if pair[0] not in PLACE_KEYS)
        return self.clear(replace(self.meaning, description=description)) if description else None

    def clear(self, meaning: Meaning | None = None) -> str:
        """Return the complete description of the meaning, or of another one."""
        return self.words["clear"].format(value=self.describe(meaning or self.meaning))

    def quest(self) -> str:
        """Return the kind of help, which the instruction has given already; not the destination."""
        quest = self.meaning.argument if self.meaning.quest == "change_state" else self.meaning.quest
        return self.words.get(f"quest_{quest}", self.words["unknown"])

    # Closed questions

    def hear(self, question: Question, text: str) -> Question:
        """Return a question with "which box" and bare receptacles ("cabinet or box#1?") heard as they fit.

        If no place fits, and the human says only where the thing is to go, they are about that.
        """
        mentions, moves = question.mentions, self.meaning.quest == "move_to"
        ends = zip(_ROLES, (self.container, self.meaning.argument if moves else None), strict=True)
        if question.asks == ("clear",) and (kinds := [kind for kind, _ in kinds_asked(text.lower())]):
            asked = entities_named(self.world, "kind", kinds[0])
            fits = (role for role, name in ends if name and 1 << self.world.index[name] & asked)
            return Question((next(fits, "clear"),))
        put = _PUT_ZH.search(text)
        if put and question.asks in {(role,) for role in _ROLES} and not (moves and put["it"]):
            return Question((_ROLES[moves],))
        receptacles = self.world.find_all("receptacle")
        bare = all(each.key in ("place", "object") and int(each.value) & receptacles for each in mentions)
        if not (mentions and bare) or re.search(table()["says_where"], text.lower()):
            return question
        readings = (mentions, *(tuple(each._replace(key=key) for each in mentions) for key in _ROLES))
        right = (reading for reading in readings if any(self.verdict(each) == "yes" for each in reading))
        return question._replace(
            mentions=next(right, readings[-1 if moves and self.container is None else 0])
        )

    def judge(self, mentions: Sequence[Mention]) -> tuple[AnswerKind, str]:
        """Return yes, no or indifferent; for alternatives, the one that is right.

        For a negated mention, yes confirms the negation: "it is not red, right?" "Right, it is not."
        """
        by_key: dict[str, list[Mention]] = {}
        verdicts: list[Verdict] = []
        for mention in mentions:
            if mention.negated:
                verdicts.append(_NEGATED[self.verdict(mention)])
            else:
                by_key.setdefault(mention.key, []).append(mention)
        confirmed = []
        for alternatives in by_key.values():
            judged = {mention: self.verdict(mention) for mention in alternatives}
            right = next((mention for mention, verdict in judged.items() if verdict == "yes"), None)
            if right is not None and len(alternatives) > 1:
                confirmed.append(self.confirm(right))
            verdicts.append("yes" if right else "indifferent" if "indifferent" in judged.values() else "no")
        if confirmed and "no" not in verdicts:
            return "value", self.words["between"].join(confirmed)
        worst_first: tuple[Verdict, ...] = ("no", "indifferent")
        overall: Verdict = next((verdict for verdict in worst_first if verdict in verdicts), "yes")
        return overall, self.words[_wording(mentions, overall)]

    def verdict(self, mention: Mention) -> Verdict:
        """Return the verdict on one mention, ignoring its negation."""
        meaning, (key, value, _) = self.meaning, mention
        match key:
            case "attribute":
                return "indifferent"
            case "quest":
                return "yes" if value in (meaning.quest, meaning.argument) else "no"
            case "kind":
                return self.kind_verdict(str(value))
            case "object":
                return "yes" if int(value) & bit_set(entity for entity, _ in self.task.in_meaning) else "no"
            case "destination" if meaning.quest != "move_to":
                return "no"
            case "place" | "destination":
                name = meaning.argument if key == "destination" else self.container
                if name is None:
                    return "indifferent"
                bits = 1 << self.world.index[name] | (self.containers_of(name) if key == "place" else 0)
                return "yes" if int(value) & bits else "no"
        wanted = meaning.get(key)
        if key == "open" and wanted is None and self.language == "zh":
            wanted = meaning.get("toggled")  # 开 is both
        return "indifferent" if wanted is None else "yes" if wanted == value else "no"

    def kind_verdict(self, asked: str) -> Verdict:
        """Return the verdict on a kind."""
        if self.kind is None:
            return "indifferent"
        if asked in word_table()["groups"]:
            verdicts = {self.kind_verdict(kind) for kind in word_table()["groups"][asked]}
            return "yes" if "yes" in verdicts else "indifferent" if "indifferent" in verdicts else "no"
        if asked in (self.kind, *kinds_above(self.kind)):
            return "yes"
        # A more specific kind than the one meant is acceptable but not required.
        return "indifferent" if self.kind in kinds_above(asked) and self.kind_key != "type" else "no"

    def containers_of(self, name: str) -> BitSet:
        """Return the containers of a container: a thing in the box on the table is also on the table."""
        containers, state = 0, self.task.current
        container = state.container(self.world.index[name])
        while container >= 0:
            containers |= 1 << container
            container = state.container(container)
        return containers

    def confirm(self, mention: Mention) -> str:
        """Return the sentence that confirms an alternative, without adding information."""
        key, value, _ = mention
        if key in ("place", "destination"):
            return self.confirm_place(key, int(value))
        if key == "object":
            return self.words[key].format(value=self.name_of(self.world.names[next(entities(int(value)))]))
        if key == "kind":
            if value in word_table()["groups"]:
                return self.words["yes"]
            return self.words["type"].format(value=self.kind_words(str(value)))
        name = self.value_word(key, value)
        return self.words[key if key in ("color", "size") else "state"].format(value=name)

    def confirm_place(self, key: str, bits: BitSet) -> str:
        """Return the sentence that confirms a place, as vague as it was asked: "a box", not which box."""
        world, places = self.world, list(entities(bits))
        relation = world.relation(places[0])
        form = relation if key == "place" else "into" if relation == "inside" else "onto"
        for room, names in word_table()["rooms"].items():
            in_room = bit_set(world.index[name] for name in names if name in world.index)
            if room.isascii() == (self.language == "en") and len(places) > 1 and bits == in_room:
                return self.words["into" if key == "destination" else "inside"].format(value=room)
        if len(places) == 1:
            return self.words[form].format(value=self.name_of(world.names[places[0]]))
        kinds = {world.kinds[place].name for place in places}
        if len(kinds) > 1:
            return self.words["yes"]
        return self.words[form].format(value=word(kinds.pop(), self.language)).replace(" the ", " a ", 1)

    # Words

    def describe(self, meaning: Meaning) -> str:
        """Return the complete description of a meaning as a noun phrase."""
        states = self.state_words(meaning, (*STATES, "color", "size"))
        (_, kind), (relation, container) = meaning.kind or ("", ""), meaning.place or ("", None)
        pattern = self.words["in_place" if relation == "inside" else "on_place"]
        return self.words["object_phrase"].format(
            states=self.words["between_states"].join(states) + (self.words["after_states"] if states else ""),
            head=word(kind, self.language) if kind else self.words["head"],
            place="" if container is None else pattern.format(value=self.name_of(container)),
        )

    def state_words(self, meaning: Meaning, keys: Collection[str]) -> list[str]:
        """Return words for the specifiers of a meaning with one of `keys`."""
        return [self.value_word(key, value) for key, value in meaning.description if key in keys]

    def value_word(self, key: str, value: Any) -> str:
        """Return the word for a colour, a size, or a state or its negation."""
        if key in ("color", "size"):
            return word(str(value), self.language)
        return state_word(key, bool(value), self.language)

    def kind_words(self, name: str) -> str:
        """Return a kind with its article: ``a kind of fruit``."""
        table = hierarchy()
        form = "kind" if name in table.kinds else "subclass" if name in table.subclasses else "class"
        phrase = self.words[form].format(kind=word(name, self.language))
        needs_an = self.language == "en" and phrase.startswith("a ") and phrase[2:3] in tuple("aeiou")
        return f"an {phrase[2:]}" if needs_an else phrase

    def name_of(self, name: str) -> str:
        """Return the display name of the entity with that name."""
        return display_name(self.world, self.world.index[name], self.language)


_OPEN_ANSWERS: Final[Mapping[str, Callable[[_Human], str | None]]] = {
    "clear": _Human.clear,
    "type": _Human.type,
    "color": lambda human: human.value("color"),
    "size": lambda human: human.value("size"),
    "place": _Human.place,
    "destination": _Human.destination,
    "look": _Human.look,
    "states": _Human.states,
    "attribute": lambda human: None,
    "task": _Human.quest,
}


def _wording(mentions: Sequence[Mention], verdict: Verdict) -> str:
    """Return the key of the words for a verdict, chosen so that a yes cannot be taken for a no."""
    many, negated = len(mentions) > 1, [mention.negated for mention in mentions]
    if verdict == "indifferent" or not all(negated):
        alternatives = len({mention.key for mention in mentions}) == 1 and not any(negated)
        return "none" if verdict == "no" and many and alternatives else verdict
    if many:
        return "neither" if verdict == "yes" else "one_of_them"
    if mentions[0].key in ("place", "destination"):
        return "there" if verdict == "yes" else "not_there"
    return "so" if verdict == "yes" else "not_so"
