"""What the robot may ask, and what the human answers from the true meaning (spec 9.7).

An answer tells what was asked and nothing else: a yes for a fruit does not tell which fruit. What the
meaning leaves open does not matter to the human. Questions in a row ("is it red, and is it on the bed?") are
answered one by one; of a single one ("is it a red apple?") all must be so.

A question is paid for by what it asks: an open one has the price of what it asks for, any other 10 points for
each thing that it names, alternatives and conditions alike. Naming many things at once is no way round that:
of more than `most_things` the human tells nothing (tables/questions.yaml).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, Literal, NamedTuple

from simulator.handmethat.env.asked_words import kinds_above, word_table
from simulator.handmethat.env.asking import Mention, Question, questions_in, read_question, table
from simulator.handmethat.hierarchy import STATES, all_words, hierarchy, state_word, word
from simulator.handmethat.items import Task
from simulator.handmethat.meanings.model import PLACE_KEYS, Meaning
from simulator.handmethat.meanings.render import display_name
from simulator.handmethat.world import BitSet, bit_set, entities
from trees import Language

AnswerKind = Literal["value", "yes", "no", "indifferent", "unknown"]
Verdict = Literal["yes", "no", "indifferent"]
_KEY_OF_MENTION: Final = {"kind": "type", **dict.fromkeys(STATES, "state")}
_TURNED: Final[Mapping[Verdict, Verdict]] = {"yes": "no", "no": "yes", "indifferent": "indifferent"}


class Answer(NamedTuple):
    """The human's answer to a question.

    Attributes:
        kind: ``value``: it tells something; ``yes`` and ``no``; ``indifferent``: the human does not care;
            ``unknown``: the question was not understood.
        cost: points, a positive number.
        key: which question it was, a key of tables/questions.yaml, or several with ``+`` in between: one for
            each thing it asks about, so that the key has the price.
    """

    kind: AnswerKind
    text: str
    cost: int
    key: str


class PriceRule(NamedTuple):
    """The price of questions, in points.

    Attributes:
        each: for each thing that a question names or asks for.
        most: things that one question may name.
    """

    each: int
    everything: int
    most: int


def question_cost(key: str, costs: Mapping[str, int] | None = None) -> int:
    """Return what a question costs, by its key (`Answer`); `costs` replace the table's."""
    prices: Mapping[str, int] = table()["costs"] | dict(costs or {})
    return sum(prices.get(part, prices["other"]) for part in key.split("+"))


def price_rule() -> PriceRule:
    """Return the rule that people and models are told."""
    return PriceRule(question_cost("object"), question_cost("clear"), table()["most_things"])


def official_questions(language: Language) -> tuple[str, ...]:
    """Return the published questions; the one about states once for each state."""
    words = all_words("zh") if language == "zh" else {state: state for state in STATES}
    return tuple(
        phrase.format(state=words.get(state))
        for key, phrase in table()["official"][language].items()
        for state in (table()["states"] if key == "state" else ("",))
    )


def answer(task: Task, text: str, language: Language = "en") -> Answer:
    """Return the human's answer to a question in free words."""
    question, human = read_question(task.world, text), _Human(task, language)
    key = question_key(task, question)
    if key in ("other", "too_many"):
        words = human.words["unknown" if key == "other" else key]
        return Answer("unknown", words.format(most=table()["most_things"]), question_cost(key), key)
    if question.asks:
        kind, words = human.tell(question.asks)
    else:
        judged = [human.judge(part.mentions) for part in questions_in(task.world, text, question)]
        kinds = {kind for kind, _ in judged}
        kind = kinds.pop() if len(kinds) == 1 else "value"
        words = human.words["between"].join(words for _, words in judged)
    return Answer(kind, words, question_cost(key), key)


def question_key(task: Task, question: Question) -> str:
    """Return which question it is; ``other`` if it makes no sense here, ``too_many`` if it names too much."""
    if "destination" in question.asks and task.meaning.quest != "move_to":
        return "other"
    if question.asks:
        return "+".join(question.asks)
    if len(question.mentions) > table()["most_things"]:
        return "too_many"
    return "+".join(_KEY_OF_MENTION.get(mention.key, mention.key) for mention in question.mentions) or "other"


class _Human:
    """Whoever knows what is meant, and says it in a language."""

    def __init__(self, task: Task, language: Language) -> None:
        self.task, self.world, self.meaning, self.language = task, task.world, task.meaning, language
        self.words: Mapping[str, str] = table()["answers"][language]
        nothing: tuple[str, str | None] = "", None
        self.kind_key, self.kind = task.meaning.kind or nothing
        self.relation, self.container = task.meaning.place or nothing

    # What is asked openly

    def tell(self, asks: Sequence[str]) -> tuple[AnswerKind, str]:
        """Return what the human says of each thing asked for; it does not care if nothing is to be told."""
        values = {ask: _TELLS[ask](self) for ask in asks}
        parts = (self.words[f"no_{ask}"] if value is None else value for ask, value in values.items())
        is_known = any(value is not None for value in values.values())
        return "value" if is_known else "indifferent", self.words["between"].join(parts)

    def value(self, key: str) -> str | None:
        """Return the colour or size."""
        value = self.meaning.get(key)
        return None if value is None else self.words[key].format(value=word(str(value), self.language))

    def type(self) -> str | None:
        """Return the kind of thing."""
        return None if self.kind is None else self.words["type"].format(value=self.kind_words(self.kind))

    def place(self) -> str | None:
        """Return where it lies."""
        if self.container is None:
            return None
        return self.words[self.relation].format(value=self.called(self.container))

    def destination(self) -> str:
        """Return where it is to go."""
        name = self.meaning.argument
        assert name is not None, "a meaning of move_to has a destination"
        relation = self.world.relation(self.world.index[name])
        return self.words["into" if relation == "inside" else "onto"].format(value=self.called(name))

    def states(self) -> str | None:
        """Return the states that it is in."""
        states = self.state_words(self.meaning, STATES)
        joined = self.words["between_states"].join(states)
        return self.words["state"].format(value=joined) if states else None

    def look(self) -> str | None:
        """Return kind, colour, size and states, as far as they matter; not where it is."""
        known = tuple(pair for pair in self.meaning.description if pair[0] not in PLACE_KEYS)
        return self.clear(replace(self.meaning, description=known)) if known else None

    def clear(self, meaning: Meaning | None = None) -> str:
        """Return the whole description, or that of another meaning."""
        return self.words["clear"].format(value=self.describe(meaning or self.meaning))

    def quest(self) -> str:
        """Return what the instruction has said already: what to do, not where to put it."""
        quest = self.meaning.argument if self.meaning.quest == "change_state" else self.meaning.quest
        return self.words.get(f"quest_{quest}", self.words["unknown"])

    # Whether something is so

    def judge(self, mentions: Sequence[Mention]) -> tuple[AnswerKind, str]:
        """Return yes, no, or that it does not matter; of alternatives, the one that is right.

        Of what is said not to be so, yes means that it is not: "it is not red, right?" "Right, it is not."
        """
        by_key: dict[str, list[Mention]] = {}
        verdicts: list[Verdict] = []
        for mention in mentions:
            if mention.negated:
                verdicts.append(_TURNED[self.verdict(mention)])
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
        """Return whether something that is named is so."""
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
                bits = 1 << self.world.index[name] | (self.around(name) if key == "place" else 0)
                return "yes" if int(value) & bits else "no"
        meant = meaning.get(key)
        return "indifferent" if meant is None else "yes" if meant == value else "no"

    def kind_verdict(self, asked: str) -> Verdict:
        """Return whether it is of a kind that is asked about."""
        if self.kind is None:
            return "indifferent"
        if asked in word_table()["groups"]:
            several = {self.kind_verdict(kind) for kind in word_table()["groups"][asked]}
            return "yes" if "yes" in several else "indifferent" if "indifferent" in several else "no"
        if asked in (self.kind, *kinds_above(self.kind)):
            return "yes"
        # A finer kind than the one that is meant would do, but need not be.
        return "indifferent" if self.kind in kinds_above(asked) and self.kind_key != "type" else "no"

    def around(self, name: str) -> BitSet:
        """Return what a container lies in or on: what is in the box on the table is on the table too."""
        around, state = 0, self.task.current
        container = state.container(self.world.index[name])
        while container >= 0:
            around |= 1 << container
            container = state.container(container)
        return around

    def confirm(self, mention: Mention) -> str:
        """Return that this alternative is right, in no more words than were asked."""
        key, value, _ = mention
        if key in ("place", "destination"):
            return self.confirm_place(key, int(value))
        if key == "object":
            return self.words[key].format(value=self.called(self.world.names[next(entities(int(value)))]))
        if key == "kind":
            if value in word_table()["groups"]:
                return self.words["yes"]
            return self.words["type"].format(value=self.kind_words(str(value)))
        name = self.value_word(key, value)
        return self.words[key if key in ("color", "size") else "state"].format(value=name)

    def confirm_place(self, key: str, bits: BitSet) -> str:
        """Return that this place is right: no more of it than was asked, so of "a box" not which box."""
        world, places = self.world, list(entities(bits))
        relation = world.relation(places[0])
        form = relation if key == "place" else "into" if relation == "inside" else "onto"
        for room, names in word_table()["rooms"].items():
            in_room = bit_set(world.index[name] for name in names if name in world.index)
            if room.isascii() == (self.language == "en") and len(places) > 1 and bits == in_room:
                return self.words["into" if key == "destination" else "inside"].format(value=room)
        if len(places) == 1:
            return self.words[form].format(value=self.called(world.names[places[0]]))
        kinds = {world.kinds[place].name for place in places}
        if len(kinds) > 1:
            return self.words["yes"]
        return self.words[form].format(value=word(kinds.pop(), self.language)).replace(" the ", " a ", 1)

    # Words

    def describe(self, meaning: Meaning) -> str:
        """Return a meaning's whole description in words: a noun phrase."""
        states = self.state_words(meaning, (*STATES, "color", "size"))
        (_, kind), (relation, container) = meaning.kind or ("", ""), meaning.place or ("", None)
        pattern = self.words["in_place" if relation == "inside" else "on_place"]
        return self.words["object_phrase"].format(
            states=self.words["between_states"].join(states) + (self.words["after_states"] if states else ""),
            head=word(kind, self.language) if kind else self.words["head"],
            place="" if container is None else pattern.format(value=self.called(container)),
        )

    def state_words(self, meaning: Meaning, keys: Collection[str]) -> list[str]:
        """Return words for those of `keys` that a meaning holds."""
        return [self.value_word(key, value) for key, value in meaning.description if key in keys]

    def value_word(self, key: str, value: Any) -> str:
        """Return the word for a colour, a size, or a state that holds or does not."""
        if key in ("color", "size"):
            return word(str(value), self.language)
        return state_word(key, bool(value), self.language)

    def kind_words(self, name: str) -> str:
        """Return a kind with its article: ``a kind of fruit``."""
        known = hierarchy()
        form = "kind" if name in known.kinds else "subclass" if name in known.subclasses else "class"
        phrase = self.words[form].format(kind=word(name, self.language))
        needs_an = self.language == "en" and phrase.startswith("a ") and phrase[2:3] in tuple("aeiou")
        return f"an {phrase[2:]}" if needs_an else phrase

    def called(self, name: str) -> str:
        """Return what people call the entity of that name."""
        return display_name(self.world, self.world.index[name], self.language)


_TELLS: Final[Mapping[str, Callable[[_Human], str | None]]] = {
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
    """Return which words say it so that nobody can take a yes for a no."""
    many, negated = len(mentions) > 1, [mention.negated for mention in mentions]
    if verdict == "indifferent" or not all(negated):
        alternatives = len({mention.key for mention in mentions}) == 1 and not any(negated)
        return "none" if verdict == "no" and many and alternatives else verdict
    if many:
        return "neither" if verdict == "yes" else "one_of_them"
    if mentions[0].key in ("place", "destination"):
        return "there" if verdict == "yes" else "not_there"
    return "so" if verdict == "yes" else "not_so"
