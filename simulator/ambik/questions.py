"""Whether a question asks for what is open in a task, and what the user may answer: pure functions of words.

One thing is open in an ambiguous task (spec 11.1), and the data say what: a question with its answer, an
intent, two plans that part. `topic_of` makes of them the things that may be meant, the words by which people
call them, and what kind of answer there is (a thing, a place, an amount, what to do). `hear` reads a question
against it. What is about something else, or about another side of the right thing, is not understood.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Final, Literal

from simulator.ambik.items import Pair, Scenario
from simulator.ambik.naming import kitchen, stem, stems, thing
from simulator.ambik.topics import (
    ASKS_WHETHER,
    QUESTION_WORDS,
    TOKEN,
    YES_NO,
    Topic,
    called,
    content_of,
    in_english,
    kitchen_words,
    measured_in,
    noun_phrase,
    same_word,
    same_words,
    topic_of,
    word_table,
)

Heard = Literal["", "open", "yes", "no"]
"""What a question is: not understood, one for what is open, or one that a yes or a no begins to answer."""

_SENTENCE: Final = re.compile(r"(?<=[.?!;:。？！；：])\s*|\n+")
# Who says what they like, have or do, asks nothing.
_REMARK: Final = re.compile(
    r"\W*(?:I|We)\b(?!.*\b(?:know|wonder\w*|sure|ask|clear|need|want|wh\w+|how|should)\b)[^?]*$"
    r"|\W*我们?(?!.*(?:[？?吗呢哪怎几谁该还想清懂需请]|什么|多[少久长大])).*$",
    re.IGNORECASE,
)
_BESIDE: Final = frozenset(("why", "who", "when", "whose"))
_CONTRACTED: Final = re.compile(r"(?<=\w)'(?:d|ll|ve|re|m)\b")
_FIND: Final = re.compile(r"\bwhere('s| is| are| can i find| do i find| should i find| did| will i find)\b")
_VERB: Final = re.compile(r"\b(?:i|we|you want me to)\s+([a-z]+)")
_BY_WHAT: Final = re.compile(r"\b(?:use|with)\b")
_TAKING: Final = re.compile(r"\b(use|take|with|want|like|need|prefer|choose|pick|serve)\b")
_QUOTED: Final = re.compile(r"[“\"]([^”\"]+)[”\"]")
_OR: Final = re.compile(r",|\bor\b")
_GOING_ON: Final = re.compile(r"^\W*what(?:'s| is| are) \w+ing\b")
_STRANDED: Final = re.compile(r"\b(in|into|onto|from|out of)\b\W*$|^\W*(in|into|onto|from) (what|which)\b")
_GENERIC: Final = ("kind", "type", "sort", "variety", "one", "option", "thing", "item")


def hear(pair: Pair, question: str) -> Heard:
    """Return what a question asks for, of what is open in the ambiguous task of a pair."""
    question = " ".join(part for part in _SENTENCE.split(question) if not _REMARK.match(part))
    text = _CONTRACTED.sub("", in_english(question).lower().replace("’", "'"))
    asked = content_of(in_english(pair.question))
    if asked and content_of(text) == asked and not _asks_beside(pair, text):
        return "open"
    topic = topic_of(pair)
    before: frozenset[str] = frozenset()
    for sentence in filter(str.strip, _SENTENCE.split(text)):
        heard = _hear(topic, sentence, before)
        if heard:
            return heard
        before |= kitchen_words(content_of(sentence))
    return ""


def _asks_beside(pair: Pair, text: str) -> bool:
    """Return True if it is asked why, by whom or when, and the data do not ask that."""
    return bool(_BESIDE & set(TOKEN.findall(text)) - set(TOKEN.findall(pair.question.lower())))


def answer_to(heard: Heard, pair: Pair, question: str) -> tuple[Heard, str]:
    """Return how an answer begins, and the data's answer as it fits behind that."""
    asked = content_of(in_english(pair.question))
    if asked and content_of(in_english(question).lower()) == asked and heard == "open":
        return "open", pair.answer
    rest = YES_NO.sub("", pair.answer, count=1)
    return heard, rest[:1].upper() + rest[1:] or pair.answer


def names_what_was_said(pair: Pair, question: str) -> bool:
    """Return True if a question names something that the clear task has said: nothing is open in it."""
    words = content_of(" ".join((pair.clear, *pair.clear_plan)))
    asked = content_of(in_english(question).lower())
    return bool(asked & words) and not kitchen_words(asked) - words and len(asked - words) <= 1


def hear_scenario(scenario: Scenario, question: str) -> frozenset[Literal["objects", "place"]]:
    """Return what of a KnowNo scenario a question is about: the objects that are meant, where they go."""
    text = in_english(question).lower()
    tokens, asked = frozenset(TOKEN.findall(text)), content_of(text)
    things = [thing(name) for name in scenario.objects]
    objects = same_words(word for each in things for word in (*each.stems, *called(each)))
    place, task = content_of(scenario.location), content_of(scenario.task)
    sides: set[Literal["objects", "place"]] = set()
    if not asked and tokens & QUESTION_WORDS:
        return frozenset(("objects", "place"))
    if len(asked - objects - place - task) > 1 or tokens & {"why", "who", "when", "how"}:
        return frozenset()
    if "where" in tokens or asked & place:
        sides.add("place")
    if (asked & objects or (not asked - task and QUESTION_WORDS & tokens)) and "where" not in tokens:
        sides.add("objects")
    return frozenset(sides)


def _hear(topic: Topic, sentence: str, before: frozenset[str]) -> Heard:
    words, tokens, content = word_table(), TOKEN.findall(sentence), content_of(sentence)
    foreign = kitchen_words(content) - topic.called - topic.known
    if before - topic.called and not before & topic.called:
        # There are three knives. Which one? — the sentence before says what is asked for.
        foreign |= before - topic.keys
    if "or" in tokens and content & topic.told.keys():
        foreign = frozenset()
    if ASKS_WHETHER.match(sentence) and not QUESTION_WORDS & set(tokens):
        foreign -= topic.others
    if foreign or set(tokens) & _BESIDE - topic.asked_by:
        return ""
    if measures := words.measures_in(sentence):
        return _hear_measure(topic, measures, sentence, content)
    if "where" in tokens:
        return _hear_where(topic, sentence, content)
    for place, token in enumerate(tokens):
        first = place == 0 or token == "which" or tokens[place - 1] in words.before_what
        if token in QUESTION_WORDS and first:
            return _hear_which(topic, tokens, place, sentence, content)
    if "how" in tokens:
        return _hear_how(topic, tokens, content)
    if any(f"{word} of" in sentence for word in ("type", "kind", "sort")):
        return "open" if "thing" in topic.facets and content & topic.names else ""
    return _hear_whether(topic, tokens, sentence, content)


def _hear_how(topic: Topic, tokens: Sequence[str], content: frozenset[str]) -> Heard:
    if not set(tokens[tokens.index("how") + 1 :][:1]) & word_table().after_how:
        return ""
    fits = "manner" in topic.facets or ("thing" in topic.facets and topic.foods is False)
    strange = content - topic.known - topic.names
    known = content & topic.known and not strange and not content & topic.names - topic.keys
    return "open" if fits and known else ""


def _hear_measure(topic: Topic, measures: frozenset[str], sentence: str, content: frozenset[str]) -> Heard:
    if "measure" not in topic.facets or not measures & topic.measures:
        return ""
    measured = measured_in(sentence)
    known = topic.keys | topic.measured
    strange = {word for word in measured - known if kitchen_words({word}) or word not in kitchen().measures}
    wrong = topic.measured and measured and kitchen_words(measured) and not measured & topic.measured
    if strange - {"minute", "hour", "second"} or (wrong and not measured & topic.strong):
        return ""
    return "open" if not content or content & (known | topic.around | measured) else ""


def _hear_where(topic: Topic, sentence: str, content: frozenset[str]) -> Heard:
    if "place" not in topic.facets or content & topic.names - topic.keys:
        return ""
    if _FIND.search(sentence) and "find" not in topic.keys and not (content and content <= topic.strong):
        return ""
    if topic.foods is False and "where" not in topic.asked_by and content & topic.names:
        return ""
    known = content & topic.known
    return "open" if not content or (known and len(content - known) <= 1) else ""


def _hear_which(
    topic: Topic, tokens: Sequence[str], place: int, sentence: str, content: frozenset[str]
) -> Heard:
    words = word_table()
    phrase = noun_phrase(tokens[place + 1 :])
    asked = {words.asked[word] for word in (*phrase, *tokens) if word in words.asked}
    spoken = [same_word(word) for word in stems(" ".join(phrase))]
    nouns = frozenset(spoken) - words.says_nothing - words.asked.keys()
    if nouns < frozenset(spoken) and not kitchen_words(nouns):
        # What sweet thing: the noun says nothing.
        nouns &= topic.names | topic.measured
    if asked:
        others = kitchen_words(content)
        fits = asked & topic.attributes and (not others or others & (topic.names | topic.keys))
        return "open" if fits and topic.facets & {"thing", "place"} else ""
    if nouns:
        thing_like = topic.facets & {"thing", "place"} or nouns & topic.measured
        every = [word for word in spoken if word in nouns]
        head = ([word for word in every if kitchen_words({word})] or every)[-1]
        strange = kitchen_words(nouns) - topic.called - topic.known
        return "open" if thing_like and head in topic.names and not strange else ""
    if tokens[place] == "which" or (phrase and phrase[0] in _GENERIC):
        strange = kitchen_words(content) - topic.called - topic.known
        known = content <= topic.called | topic.known or content & topic.called
        return "open" if "thing" in topic.facets and not strange and known else ""
    if words.generic.search(sentence):
        return "open" if not content or content & topic.called else ""
    if _GOING_ON.search(sentence):
        return ""
    if words.doing.search(sentence):
        return "open" if "manner" in topic.facets and content & topic.keys else ""
    if "about" in tokens[place + 1 : place + 2]:
        return "open" if content & (topic.called | topic.strong) else ""
    return _hear_what(topic, sentence, content)


def _hear_what(topic: Topic, sentence: str, content: frozenset[str]) -> Heard:
    """Hear a what without a noun: what shall I spread on the bread?"""
    if "thing" not in topic.facets:
        return "open" if content & topic.strong and content <= topic.known else ""
    if not content:
        return "open" if _TAKING.search(sentence) else ""
    own = (content - same_words(map(stem, _VERB.findall(sentence)))) & topic.own
    if own and not content & topic.told.keys() and content - topic.keys:
        return ""
    if own and not content & (topic.keys - topic.names):
        return ""
    stranded = _STRANDED.search(sentence)
    if stranded and topic.foods:
        return ""
    strange = content - topic.called - topic.known
    means = stranded or (_BY_WHAT.search(sentence) and topic.foods is False)
    return "open" if len(strange) <= bool(means and content - strange) else ""


def _hear_whether(topic: Topic, tokens: Sequence[str], sentence: str, content: frozenset[str]) -> Heard:
    """Hear alternatives, a yes or no about one of them, a name alone, or whether something is to be done."""
    words = word_table()
    if words.generic.search(sentence) and ("?" in sentence or "please" in tokens) and not content:
        return "open"
    known = topic.called | topic.known | words.values
    if words.preference.search(sentence) and content <= topic.called | topic.known:
        return "open" if "thing" in topic.facets and (not content or content & topic.called) else ""
    named = {word: is_meant for word, is_meant in topic.told.items() if word in content}
    named |= {name: is_meant for name, is_meant in topic.full.items() if name in sentence}
    if "or" in tokens and any(_tells_apart(word, sentence) for word in named):
        return "open"
    if "measure" in topic.facets and content & topic.strong and content <= known:
        return "open"
    done = same_words(map(stem, _VERB.findall(sentence))) - words.says_nothing
    strange = content - known - frozenset(word for name in named for word in content_of(name))
    if _is_means(sentence, named):
        strange -= done
    elif "manner" not in topic.facets and done - topic.step:
        # Should I wash the bowl? It is another thing to do.
        return ""
    state = tokens[:1] in (["is"], ["are"])
    if state and not named and "manner" not in topic.facets and content - topic.names - topic.strong:
        return ""
    asks = "?" in sentence and (not ASKS_WHETHER.match(sentence) or bool(words.wanting & set(tokens)))
    if named and not strange and (asks or len(content) <= 2):
        if "thing" not in topic.facets:
            return "open"
        return "yes" if all(named.values()) else "no"
    if content & topic.others and not content & topic.names and asks and not strange - topic.others:
        return "no"
    if "manner" in topic.facets and content & topic.strong and len(content - known) <= 1:
        return "open"
    if "thing" in topic.facets and content & topic.names and not strange and asks:
        return "no" if content - topic.names - topic.known else "open"
    return ""


def _tells_apart(word: str, sentence: str) -> bool:
    """Return True if a word is in one alternative and not in all: in which of them, nobody asks."""
    parts = _QUOTED.findall(sentence) or _OR.split(sentence)
    held = [word in part or word in content_of(part) for part in parts]
    return any(held) and not all(held)


def _is_means(sentence: str, named: Iterable[str]) -> bool:
    """Return True if an alternative stands behind a preposition: shall I stir it with the fork?"""
    before = r"\b(?:with|using|in|into|on|onto|from)\s+(?:the |a |an )?(?:\w+ )?"
    return any(re.search(before + re.escape(name), sentence) for name in named)
