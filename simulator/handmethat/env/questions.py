"""What the robot may ask, and what the human answers from the true meaning (spec 9.7).

An answer tells what was asked and nothing else: a yes for a fruit does not tell which fruit. What the
meaning leaves open does not matter to the human.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, Literal, NamedTuple

from simulator.handmethat.env.asking import Mention, Question, read_question, table
from simulator.handmethat.env.naming import Language
from simulator.handmethat.hierarchy import STATES, hierarchy
from simulator.handmethat.meanings.model import KIND_KEYS, PLACE_KEYS, Meaning
from simulator.handmethat.meanings.naming import display_name
from simulator.handmethat.task import Task
from simulator.handmethat.words import all_words, state_word, word
from simulator.handmethat.world import World, bit_set, entities

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
        key: which question it was, a key of tables/questions.yaml, or several with ``+`` in between.
    """

    kind: AnswerKind
    text: str
    cost: int
    key: str


def question_cost(key: str, costs: Mapping[str, int] | None = None) -> int:
    """What a question costs, by its key; several at once cost their sum.

    Args:
        key: of `Answer`.
        costs: those that replace the table's.
    """
    given: Mapping[str, int] = table()["costs"] | dict(costs or {})
    return sum(given.get(one, given["other"]) for one in key.split("+"))


def official_questions(language: Language) -> tuple[str, ...]:
    """The published questions; the one about states once for each state."""
    found = []
    for key, phrase in table()["official"][language].items():
        if key == "state":
            words = all_words("zh") if language == "zh" else {state: state for state in STATES}
            found += [phrase.format(state=words[state]) for state in table()["states"]]
        else:
            found.append(phrase)
    return tuple(found)


def answer(task: Task, text: str, language: Language = "en") -> Answer:
    """The human's answer to a question in free words.

    Args:
        task: whose meaning m is asked about.
        text: the question, English or Chinese.
        language: of the answer.
    """
    question = read_question(task.world, text)
    key = question_key(task, question)
    words = table()["answers"][language]
    if key == "other":
        kind, told = "unknown", words["unknown"]
    elif question.asks:
        parts = [_OPEN[ask](task, language) for ask in question.asks]
        kind = "value" if any(part.told for part in parts) else "indifferent"
        told = words["between"].join(part.text for part in parts)
    else:
        kind, told = _about(task, question.mentions, language)
    return Answer(kind, told, question_cost(key), key)  # type: ignore[arg-type]


def question_key(task: Task, question: Question) -> str:
    """Which question it is; ``other`` if it makes no sense for this task."""
    asks_destination = "destination" in (*question.asks, *(one.key for one in question.mentions))
    if asks_destination and task.meaning.quest != "move_to":
        return "other"
    if question.asks:
        return "+".join(question.asks)
    keys = {_KEY_OF_MENTION.get(one.key, one.key) for one in question.mentions}
    return "several" if len(keys) > 1 else next(iter(keys), "other")


class _Part(NamedTuple):
    told: bool
    text: str


def _about(task: Task, mentions: tuple[Mention, ...], language: Language) -> tuple[AnswerKind, str]:
    """Yes, no, or that it does not matter; of alternatives, the one that is right."""
    words: Mapping[str, str] = table()["answers"][language]
    by_key: dict[str, list[Mention]] = {}
    for mention in mentions:
        by_key.setdefault(mention.key, []).append(mention)
    verdicts: list[Verdict] = []
    for alternatives in by_key.values():
        judged = [(_verdict(task, one), one) for one in alternatives]
        right = next((one for verdict, one in judged if verdict == "yes"), None)
        if right is not None and len(alternatives) > 1 and len(by_key) == 1:
            return "value", _confirm(task, right, language)
        of_key = [verdict for verdict, _ in judged]
        verdicts.append("yes" if right else "indifferent" if "indifferent" in of_key else "no")
    verdict: Verdict = "no" if "no" in verdicts else "indifferent" if "indifferent" in verdicts else "yes"
    return verdict, words[verdict]


def _verdict(task: Task, mention: Mention) -> Verdict:
    meaning, (key, value) = task.meaning, mention
    if key == "kind":
        return _kind_verdict(meaning, str(value))
    if key == "object":
        assert not isinstance(value, str)
        return "yes" if value & bit_set(one for one, _ in task.in_meaning) else "no"
    if key in ("place", "destination"):
        assert not isinstance(value, str)
        name = meaning.argument if key == "destination" else _place(meaning)[1]
        if name is None:
            return "indifferent"
        return "yes" if value >> task.world.index[name] & 1 else "no"
    wanted = meaning.get(key)
    return "indifferent" if wanted is None else "yes" if wanted == value else "no"


def _kind_verdict(meaning: Meaning, asked: str) -> Verdict:
    key, name = _kind(meaning)
    if name is None:
        return "indifferent"
    if asked in (name, *_above(name)):
        return "yes"
    # A finer kind than the one wanted would do, but need not be.
    return "indifferent" if name in _above(asked) and key != "type" else "no"


def _above(name: str) -> tuple[str, ...]:
    """The subclass and the class of a type, the class of a subclass."""
    table_ = hierarchy()
    if name in table_.kinds:
        return table_.kinds[name].subclass, table_.kinds[name].cls
    return (table_.subclasses[name].cls,) if name in table_.subclasses else ()


def _kind(meaning: Meaning) -> tuple[str, str | None]:
    """The meaning's kind: its key and name."""
    for key in reversed(KIND_KEYS):
        if (value := meaning.get(key)) is not None:
            return key, str(value)
    return "", None


def _place(meaning: Meaning) -> tuple[str, str | None]:
    """Where the meaning's object lies: ``inside`` or ``ontop``, and of what."""
    for key in PLACE_KEYS:
        if (value := meaning.get(key)) is not None:
            return key, str(value)
    return "", None


def _confirm(task: Task, mention: Mention, language: Language) -> str:
    """That this alternative is right, in no more words than were asked."""
    words, (key, value) = table()["answers"][language], mention
    if key in ("place", "destination"):
        return (_tell_place if key == "place" else _tell_destination)(task, language).text
    if key == "object":
        assert not isinstance(value, str)
        name = display_name(task.world, next(entities(value)), language)
        return str(words["object"].format(value=name))
    if key == "kind":
        return str(words["type"].format(value=_kind_words(str(value), language)))
    told = word(str(value), language) if key in ("color", "size") else state_word(key, bool(value), language)
    return str(words[key if key in ("color", "size") else "state"].format(value=told))


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
}


def describe_object(world: World, meaning: Meaning, language: Language) -> str:
    """The meaning's whole description in words: a noun phrase."""
    words: Mapping[str, Any] = table()["answers"][language]
    states = []
    for key, value in meaning.description:
        if key in ("color", "size"):
            states.append(word(str(value), language))
        elif key in STATES:
            states.append(state_word(key, bool(value), language))
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


def _kind_words(name: str, language: Language) -> str:
    table_, words = hierarchy(), table()["answers"][language]
    form = "kind" if name in table_.kinds else "subclass" if name in table_.subclasses else "class"
    told = words[form].format(kind=word(name, language))
    if language == "en" and told[2:3] in tuple("aeiou") and told.startswith("a "):
        told = f"an {told[2:]}"
    return str(told)


def _called(world: World, name: str, language: Language) -> str:
    return display_name(world, world.index[name], language)
