"""What the robot may ask, and what the human answers from the true meaning (spec 9.7).

An answer tells what was asked and nothing else: a yes for a fruit does not tell which fruit. What the
meaning leaves open does not matter to the human.

A question is paid for by what it asks: an open one has the price of what it asks for, any other 10 points for
each thing that it names, alternatives and conditions alike. Naming many things at once is no way round that:
of more than `most_things` the human tells nothing (tables/questions.yaml).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from typing import Any, Final, Literal, NamedTuple

from simulator.handmethat.env.asked_words import word_table
from simulator.handmethat.env.asking import Mention, Question, read_question, table
from simulator.handmethat.env.naming import Language
from simulator.handmethat.hierarchy import STATES, hierarchy
from simulator.handmethat.meanings.model import KIND_KEYS, PLACE_KEYS, Meaning
from simulator.handmethat.meanings.render import display_name
from simulator.handmethat.task import Task
from simulator.handmethat.words import all_words, state_word, word
from simulator.handmethat.world import BitSet, World, bit_set, entities

AnswerKind = Literal["value", "yes", "no", "indifferent", "unknown"]
Verdict = Literal["yes", "no", "indifferent", "unknown"]
_KEY_OF_MENTION: Final = {"kind": "type", **dict.fromkeys(STATES, "state")}


class Answer(NamedTuple):
    """What the human says to a question.

    Attributes:
        kind: ``value``: it tells something; ``yes`` and ``no``; ``indifferent``: the human does not care;
            ``unknown``: the question was not understood.
        text: the words.
        cost: points, a positive number.
        key: which question it was, a key of tables/questions.yaml, or several with ``+`` in between: one for
            each thing it asks about, so that the key has the price.
    """

    kind: AnswerKind
    text: str
    cost: int
    key: str


def question_cost(key: str, costs: Mapping[str, int] | None = None) -> int:
    """Return what a question costs, by its key; several at once cost their sum.

    Args:
        key: of `Answer`.
        costs: those that replace the table's.
    """
    given: Mapping[str, int] = table()["costs"] | dict(costs or {})
    return sum(given.get(one, given["other"]) for one in key.split("+"))


class PriceRule(NamedTuple):
    """How questions are paid for, in points.

    Attributes:
        each: for each thing that a question names or asks for.
        everything: for having it said clearly.
        most: things that one question may name.
    """

    each: int
    everything: int
    most: int


def price_rule() -> PriceRule:
    """Return the rule that people and models are told."""
    return PriceRule(question_cost("object"), question_cost("clear"), table()["most_things"])


def official_questions(language: Language) -> tuple[str, ...]:
    """Return the published questions; the one about states once for each state."""
    found = []
    for key, phrase in table()["official"][language].items():
        if key == "state":
            words = all_words("zh") if language == "zh" else {state: state for state in STATES}
            found += [phrase.format(state=words[state]) for state in table()["states"]]
        else:
            found.append(phrase)
    return tuple(found)


def answer(task: Task, text: str, language: Language = "en") -> Answer:
    """Return the human's answer to a question in free words.

    Args:
        task: whose meaning m is asked about.
        text: the question, English or Chinese.
        language: of the answer.
    """
    question = read_question(task.world, text)
    key = question_key(task, question)
    words = table()["answers"][language]
    if key in ("other", "too_many"):
        kind = "unknown"
        told = words["unknown" if key == "other" else key].format(most=table()["most_things"])
    elif question.asks:
        parts = [_OPEN[ask](task, language) for ask in question.asks]
        kind = "value" if any(part.told for part in parts) else "indifferent"
        told = words["between"].join(part.text for part in parts)
    else:
        kind, told = _about(task, question.mentions, language)
    return Answer(kind, told, question_cost(key), key)  # type: ignore[arg-type]


def question_key(task: Task, question: Question) -> str:
    """Return which question it is; ``other`` if it makes no sense here, ``too_many`` if it names too much."""
    if "destination" in question.asks and task.meaning.quest != "move_to":
        return "other"
    if question.asks:
        return "+".join(question.asks)
    if len(question.mentions) > table()["most_things"]:
        return "too_many"
    return "+".join(_KEY_OF_MENTION.get(mention.key, mention.key) for mention in question.mentions) or "other"


class _Part(NamedTuple):
    told: bool
    text: str


def _about(task: Task, mentions: tuple[Mention, ...], language: Language) -> tuple[AnswerKind, str]:
    """Yes, no, or that it does not matter; of alternatives, the one that is right.

    Of what is said not to be so, yes means that it is not: "it is not red, right?" "Right, it is not."
    """
    words: Mapping[str, str] = table()["answers"][language]
    by_key: dict[str, list[Mention]] = {}
    verdicts: list[Verdict] = []
    for mention in mentions:
        if mention.negated:
            verdicts.append(_TURNED[_verdict(task, mention)])
        else:
            by_key.setdefault(mention.key, []).append(mention)
    told = []
    for alternatives in by_key.values():
        judged = [(_verdict(task, alternative), alternative) for alternative in alternatives]
        right = next((one for verdict, one in judged if verdict == "yes"), None)
        if right is not None and len(alternatives) > 1:
            told.append(_confirm(task, right, language))
        of_key = [verdict for verdict, _ in judged]
        verdicts.append("yes" if right else "indifferent" if "indifferent" in of_key else "no")
    if told and "no" not in verdicts:
        return "value", words["between"].join(told)
    verdict: Verdict = "no" if "no" in verdicts else "indifferent" if "indifferent" in verdicts else "yes"
    return verdict, words[_wording(mentions, verdict)]


_TURNED: Final[Mapping[Verdict, Verdict]] = {"yes": "no", "no": "yes", "indifferent": "indifferent"}


def _wording(mentions: tuple[Mention, ...], verdict: Verdict) -> str:
    """Return which words say it so that nobody can take a yes for a no."""
    many = len(mentions) > 1
    if verdict == "indifferent" or not all(mention.negated for mention in mentions):
        alternatives = len({mention.key for mention in mentions}) == 1 and not any(
            mention.negated for mention in mentions
        )
        return "none" if verdict == "no" and many and alternatives else verdict
    if many:
        return "neither" if verdict == "yes" else "one_of_them"
    if mentions[0].key in ("place", "destination"):
        return "there" if verdict == "yes" else "not_there"
    return "so" if verdict == "yes" else "not_so"


def _verdict(task: Task, mention: Mention) -> Verdict:
    meaning, (key, value, _) = task.meaning, mention
    if key == "attribute":
        return "indifferent"
    if key == "quest":
        return "yes" if value in (meaning.quest, meaning.argument) else "no"
    if key == "kind":
        return _kind_verdict(meaning, str(value))
    if key == "object":
        assert not isinstance(value, str)
        return "yes" if value & bit_set(one for one, _ in task.in_meaning) else "no"
    if key in ("place", "destination"):
        assert not isinstance(value, str)
        if key == "destination" and meaning.quest != "move_to":
            return "no"
        name = meaning.argument if key == "destination" else _place(meaning)[1]
        if name is None:
            return "indifferent"
        bits = 1 << task.world.index[name]
        return "yes" if value & (bits if key == "destination" else bits | _around(task, name)) else "no"
    wanted = meaning.get(key)
    return "indifferent" if wanted is None else "yes" if wanted == value else "no"


def _kind_verdict(meaning: Meaning, asked: str) -> Verdict:
    key, name = _kind(meaning)
    if name is None:
        return "indifferent"
    if asked in word_table()["groups"]:
        several = {_kind_verdict(meaning, one) for one in word_table()["groups"][asked]}
        return next(verdict for verdict in ("yes", "indifferent", "no") if verdict in several)
    if asked in (name, *_above(name)):
        return "yes"
    # A finer kind than the one wanted would do, but need not be.
    return "indifferent" if name in _above(asked) and key != "type" else "no"


def _around(task: Task, name: str) -> BitSet:
    """Return what a container itself lies in or on: what is in the box on the table is on the table too."""
    found, one = 0, task.current.container(task.world.index[name])
    while one >= 0:
        found |= 1 << one
        one = task.current.container(one)
    return found


def _above(name: str) -> tuple[str, ...]:
    """Return the subclass and the class of a type, the class of a subclass."""
    table_ = hierarchy()
    if name in table_.kinds:
        return table_.kinds[name].subclass, table_.kinds[name].cls
    return (table_.subclasses[name].cls,) if name in table_.subclasses else ()


def _kind(meaning: Meaning) -> tuple[str, str | None]:
    """Return the meaning's kind: its key and name."""
    for key in reversed(KIND_KEYS):
        if (value := meaning.get(key)) is not None:
            return key, str(value)
    return "", None


def _place(meaning: Meaning) -> tuple[str, str | None]:
    """Return where the meaning's object lies: ``inside`` or ``ontop``, and of what."""
    for key in PLACE_KEYS:
        if (value := meaning.get(key)) is not None:
            return key, str(value)
    return "", None


def _confirm(task: Task, mention: Mention, language: Language) -> str:
    """That this alternative is right, in no more words than were asked."""
    words, (key, value, _) = table()["answers"][language], mention
    if key in ("place", "destination"):
        assert not isinstance(value, str)
        return _confirm_place(task, key, value, language)
    if key == "object":
        assert not isinstance(value, str)
        name = display_name(task.world, next(entities(value)), language)
        return str(words["object"].format(value=name))
    if key == "kind" and value in word_table()["groups"]:
        return str(words["yes"])
    if key == "kind":
        return str(words["type"].format(value=_kind_words(str(value), language)))
    told = word(str(value), language) if key in ("color", "size") else state_word(key, bool(value), language)
    return str(words[key if key in ("color", "size") else "state"].format(value=told))


def _confirm_place(task: Task, key: str, bits: BitSet, language: Language) -> str:
    """That this place is right: no more of it than was asked, so of "a box" not which box."""
    world, words = task.world, table()["answers"][language]
    places = list(entities(bits))
    relation = world.relation(places[0])
    form = relation if key == "place" else "into" if relation == "inside" else "onto"
    for room, names in word_table()["rooms"].items():
        if room.isascii() != (language == "en"):
            continue
        if len(places) > 1 and bits == bit_set(world.index[name] for name in names if name in world.index):
            return str(words["into" if key == "destination" else "inside"].format(value=room))
    kinds = {world.kinds[place].name for place in places}
    if len(places) == 1:
        return str(words[form].format(value=_called(world, world.names[places[0]], language)))
    if len(kinds) > 1:
        return str(words["yes"])
    told = str(words[form].format(value=word(kinds.pop(), language)))
    return told.replace(" the ", " a ", 1)


def _tell_value(key: str) -> Callable[[Task, Language], _Part]:
    def tell(task: Task, language: Language) -> _Part:
        words, value = table()["answers"][language], task.meaning.get(key)
        if value is None:
            return _Part(False, words[f"no_{key}"])
        return _Part(True, words[key].format(value=word(str(value), language)))

    return tell


def _tell_type(task: Task, language: Language) -> _Part:
    words, (_, name) = table()["answers"][language], _kind(task.meaning)
    if name is None:
        return _Part(False, words["no_type"])
    return _Part(True, words["type"].format(value=_kind_words(name, language)))


def _tell_place(task: Task, language: Language) -> _Part:
    words, (key, name) = table()["answers"][language], _place(task.meaning)
    if name is None:
        return _Part(False, words["no_place"])
    return _Part(True, words[key].format(value=_called(task.world, name, language)))


def _tell_destination(task: Task, language: Language) -> _Part:
    world, name = task.world, task.meaning.argument
    assert name is not None, "a meaning of move_to has a destination"
    key = "into" if world.relation(world.index[name]) == "inside" else "onto"
    return _Part(True, table()["answers"][language][key].format(value=_called(world, name, language)))


def _tell_states(task: Task, language: Language) -> _Part:
    words = table()["answers"][language]
    states = _states(task.meaning, language, STATES)
    if not states:
        return _Part(False, words["no_states"])
    return _Part(True, words["state"].format(value=words["between_states"].join(states)))


def _tell_look(task: Task, language: Language) -> _Part:
    """Kind, colour, size and states, as far as they matter; not where it is."""
    words, meaning = table()["answers"][language], task.meaning
    known = tuple(pair for pair in meaning.description if pair[0] not in PLACE_KEYS)
    if not known:
        return _Part(False, words["no_look"])
    return _Part(
        True,
        words["clear"].format(
            value=describe_object(task.world, replace(meaning, description=known), language)
        ),
    )


def _tell_attribute(task: Task, language: Language) -> _Part:
    return _Part(False, table()["answers"][language]["no_attribute"])


def _tell_task(task: Task, language: Language) -> _Part:
    """Return what the instruction has said already: what to do, not where to put it."""
    meaning = task.meaning
    quest = meaning.argument if meaning.quest == "change_state" else meaning.quest
    return _Part(
        True, table()["answers"][language].get(f"quest_{quest}", table()["answers"][language]["unknown"])
    )


def _tell_all(task: Task, language: Language) -> _Part:
    words = table()["answers"][language]
    return _Part(True, words["clear"].format(value=describe_object(task.world, task.meaning, language)))


_OPEN: Final[Mapping[str, Callable[[Task, Language], _Part]]] = {
    "clear": _tell_all,
    "type": _tell_type,
    "color": _tell_value("color"),
    "size": _tell_value("size"),
    "place": _tell_place,
    "destination": _tell_destination,
    "look": _tell_look,
    "states": _tell_states,
    "attribute": _tell_attribute,
    "task": _tell_task,
}


def describe_object(world: World, meaning: Meaning, language: Language) -> str:
    """Return the meaning's whole description in words: a noun phrase."""
    words: Mapping[str, Any] = table()["answers"][language]
    states = _states(meaning, language, (*STATES, "color", "size"))
    _, name = _kind(meaning)
    key, container = _place(meaning)
    place = ""
    if container is not None:
        pattern = words["in_place" if key == "inside" else "on_place"]
        place = pattern.format(value=_called(world, container, language))
    return str(
        words["object_phrase"].format(
            states=words["between_states"].join(states) + (words["after_states"] if states else ""),
            head=word(name, language) if name else words["head"],
            place=place,
        )
    )


def _states(meaning: Meaning, language: Language, keys: Collection[str]) -> list[str]:
    """Words for those of `keys` that the meaning holds."""
    return [
        word(str(value), language) if key in ("color", "size") else state_word(key, bool(value), language)
        for key, value in meaning.description
        if key in keys
    ]


def _kind_words(name: str, language: Language) -> str:
    table_, words = hierarchy(), table()["answers"][language]
    form = "kind" if name in table_.kinds else "subclass" if name in table_.subclasses else "class"
    message = words[form].format(kind=word(name, language))
    if language == "en" and message[2:3] in tuple("aeiou") and message.startswith("a "):
        message = f"an {message[2:]}"
    return str(message)


def _called(world: World, name: str, language: Language) -> str:
    return display_name(world, world.index[name], language)
