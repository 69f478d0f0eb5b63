"""Whether a question asks for what is open in a task, and what the user may answer: pure functions of words.

One thing is open in an ambiguous task (spec 11.1), and the data say what: a question with its answer, an
intent, two plans that part. `topic_of` makes of them the things that may be meant, the words by which people
call them, and what kind of answer there is (a thing, a place, an amount, what to do). `hear` reads a question
against it. What is about something else, or about another side of the right thing, is not understood.

Questions are heard in English and, by a table of words, in Chinese (``tables/questions.yaml``).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Final, Literal

from simulator.ambik.kitchen.categories import is_measure, thing
from simulator.ambik.kitchen.words import stem, stems
from simulator.ambik.pairs import Pair, Scenario
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
    topic_of,
    word_table,
)

Heard = Literal["", "open", "yes", "no"]
"""What a question is: not understood, one for what is open, or one that a yes or a no begins to answer."""

_SENTENCE: Final = re.compile(r"(?<=[.?!;:。？！；：])\s*|\n+")
_FIND: Final = re.compile(r"\bwhere('s| is| are| can i find| do i find| should i find| did| will i find)\b")
_VERB: Final = re.compile(r"\b(?:i|we|you want me to)\s+([a-z]+)")
_BY_WHAT: Final = re.compile(r"\b(?:use|with)\b")
_QUOTED: Final = re.compile(r"[“\"]([^”\"]+)[”\"]")
_OR: Final = re.compile(r",|\bor\b")
_GOING_ON: Final = re.compile(r"^\W*what(?:'s| is| are) \w+ing\b")
_STRANDED: Final = re.compile(r"\b(in|into|onto|from|out of)\b\W*$|^\W*(in|into|onto|from) (what|which)\b")


def hear(pair: Pair, question: str) -> Heard:
    """Return what a question asks for, of what is open in the ambiguous task of a pair."""
    text = in_english(question).lower().replace("’", "'")
    asked = content_of(in_english(pair.question))
    if asked and content_of(text) == asked:
        return "open"
    topic = topic_of(pair)
    before: frozenset[str] = frozenset()
    for sentence in filter(str.strip, _SENTENCE.split(text)):
        heard = _hear(topic, sentence, before)
        if heard:
            return heard
        before |= kitchen_words(content_of(sentence))
    return ""


def answer_to(heard: Heard, pair: Pair, question: str) -> tuple[Heard, str]:
    """Return how an answer begins, and the data's answer as it fits behind that."""
    asked = content_of(in_english(pair.question))
    if asked and content_of(in_english(question).lower()) == asked:
        return "open", pair.answer
    rest = YES_NO.sub("", pair.answer, count=1)
    return heard, rest[:1].upper() + rest[1:] or pair.answer


def names_what_was_said(pair: Pair, question: str) -> bool:
    """Return True if a question names something that the clear task has said: nothing is open in it."""
    said = content_of(" ".join((pair.clear, *pair.clear_plan)))
    asked = content_of(in_english(question).lower())
    return bool(asked & said) and not kitchen_words(asked) - said and len(asked - said) <= 1


def hear_scenario(scenario: Scenario, question: str) -> frozenset[Literal["objects", "place"]]:
    """Which sides of a KnowNo scenario a question is about: the objects that are meant, where they go."""
    text = in_english(question).lower()
    tokens, asked = frozenset(TOKEN.findall(text)), content_of(text)
    things = [thing(name) for name in scenario.objects]
    objects = frozenset(same_word(word) for one in things for word in (*one.stems, *called(one)))
    place, said = content_of(scenario.location), content_of(scenario.task)
    found: set[Literal["objects", "place"]] = set()
    if not asked and tokens & QUESTION_WORDS:
        return frozenset(("objects", "place"))
    if len(asked - objects - place - said) > 1 or tokens & {"why", "who", "when", "how"}:
        return frozenset()
    if "where" in tokens or asked & place:
        found.add("place")
    if (asked & objects or (not asked - said and QUESTION_WORDS & tokens)) and "where" not in tokens:
        found.add("objects")
    return frozenset(found)


def _hear(topic: Topic, sentence: str, before: frozenset[str]) -> Heard:
    words = word_table()
    tokens = TOKEN.findall(sentence)
    content = content_of(sentence)
    kitchen = kitchen_words(content)
    foreign = kitchen - topic.names - frozenset(topic.told) - topic.keys - topic.around
    if before - topic.names - frozenset(topic.told) and not before & (topic.names | frozenset(topic.told)):
        # There are three knives. Which one? — the sentence before says what is asked for.
        foreign |= before - topic.keys
    whether = bool(ASKS_WHETHER.match(sentence)) and not QUESTION_WORDS & set(tokens)
    if "or" in tokens and content & frozenset(topic.told):
        foreign = frozenset()
    if (
        foreign - (topic.others if whether else frozenset())
        or (set(tokens) & {"why", "who", "when", "whose"}) - topic.asked_by
    ):
        return ""
    measures = {name for name, one in words.measures.items() if one.search(sentence)}
    if measures:
        return _hear_measure(topic, measures, sentence, content)
    if "where" in tokens:
        return _hear_where(topic, sentence, content)
    for place, token in enumerate(tokens):
        if token in QUESTION_WORDS and (
            place == 0 or token == "which" or tokens[place - 1] in words.before_what
        ):
            return _hear_which(topic, tokens, place, sentence, content)
    if "how" in tokens:
        if not set(tokens[tokens.index("how") + 1 :][:1]) & words.after_how:
            return ""
        known = content & (topic.keys | topic.around)
        fits = "manner" in topic.facets or ("thing" in topic.facets and topic.foods is False)
        strange = content - known - topic.names
        return "open" if fits and known and not strange and not content & topic.names - topic.keys else ""
    if "type of" in sentence or "kind of" in sentence or "sort of" in sentence:
        return "open" if "thing" in topic.facets and content & topic.names else ""
    return _hear_whether(topic, tokens, sentence, content)


def _hear_measure(topic: Topic, measures: set[str], sentence: str, content: frozenset[str]) -> Heard:
    if "measure" not in topic.facets or not measures & topic.measures:
        return ""
    measured = measured_in(sentence)
    known = topic.keys | topic.measured
    strange = {one for one in measured if one not in known and (kitchen_words({one}) or not is_measure(one))}
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
    known = content & (topic.keys | topic.around)
    return "open" if not content or (known and len(content - known) <= 1) else ""


def _hear_which(
    topic: Topic, tokens: Sequence[str], place: int, sentence: str, content: frozenset[str]
) -> Heard:
    words = word_table()
    phrase = noun_phrase(tokens[place + 1 :])
    asked = {words.asked[one] for one in (*phrase, *tokens) if one in words.asked}
    nouns = frozenset(map(same_word, stems(" ".join(phrase)))) - words.empty - frozenset(words.asked)
    if nouns < frozenset(map(same_word, stems(" ".join(phrase)))) and not kitchen_words(nouns):
        # What sweet thing: the noun says nothing.
        nouns &= topic.names | topic.measured
    if asked:
        others = kitchen_words(content)
        fits = bool(asked & topic.attributes) and (not others or bool(others & (topic.names | topic.keys)))
        return "open" if fits and topic.facets & {"thing", "place"} else ""
    called = topic.names | frozenset(topic.told)
    if nouns:
        thing_like = topic.facets & {"thing", "place"} or nouns & topic.measured
        every = [one for one in map(same_word, stems(" ".join(phrase))) if one in nouns]
        head = ([one for one in every if kitchen_words({one})] or every)[-1]
        strange = kitchen_words(nouns) - called - topic.keys - topic.around
        return "open" if thing_like and head in topic.names and not strange else ""
    if tokens[place] == "which" or _generic_noun(tokens[place + 1 :]):
        if not topic.facets & {"thing"}:
            return ""
        of = kitchen_words(content) - called
        known = content <= called | topic.keys | topic.around
        return (
            "open"
            if (not of or of <= topic.keys | topic.around) and (known or bool(content & called))
            else ""
        )
    if words.generic.search(sentence):
        return "open" if not content or content & called else ""
    if _GOING_ON.search(sentence):
        return ""
    if words.doing.search(sentence):
        return "open" if "manner" in topic.facets and len(content & topic.keys) > 0 else ""
    if "about" in tokens[place + 1 : place + 2]:
        return "open" if content & called or len(content & topic.strong) > 0 else ""
    return _hear_what(topic, sentence, content)


def _hear_what(topic: Topic, sentence: str, content: frozenset[str]) -> Heard:
    """Return a what without a noun: what shall I spread on the bread?"""
    if "thing" not in topic.facets:
        known = content & topic.strong
        return "open" if known and content <= topic.keys | topic.around else ""
    if not content:
        return (
            "open"
            if re.search(r"\b(use|take|with|want|like|need|prefer|choose|pick|serve)\b", sentence)
            else ""
        )
    called = topic.names | frozenset(topic.told)
    verb = frozenset(same_word(stem(one)) for one in _VERB.findall(sentence))
    own = (content - verb) & topic.own
    if own and not content & frozenset(topic.told) and content - topic.keys:
        return ""
    if own and not content & (topic.keys - topic.names):
        return ""
    if _STRANDED.search(sentence) and topic.foods:
        return ""
    strange = content - called - topic.keys - topic.around
    means = _STRANDED.search(sentence) or (_BY_WHAT.search(sentence) and topic.foods is False)
    return "open" if len(strange) <= bool(means and content - strange) else ""


def _hear_whether(topic: Topic, tokens: Sequence[str], sentence: str, content: frozenset[str]) -> Heard:
    """Alternatives, a yes or no about one of them, a name alone, or whether something is to be done."""
    words = word_table()
    if words.generic.search(sentence) and ("?" in sentence or "please" in tokens) and not content:
        return "open"
    called = topic.names | frozenset(topic.told)
    known = called | topic.keys | topic.around | frozenset().union(*words.values.values())
    if words.preference.search(sentence) and content <= called | topic.keys | topic.around:
        return "open" if "thing" in topic.facets and (not content or content & called) else ""
    named = {word: wanted for word, wanted in topic.told.items() if word in content}
    named |= {name: wanted for name, wanted in topic.full.items() if name in sentence}
    if "or" in tokens and any(_tells_apart(word, sentence) for word in named):
        return "open"
    if "measure" in topic.facets and content & topic.strong and content <= known:
        return "open"
    done = frozenset(same_word(stem(one)) for one in _VERB.findall(sentence)) - words.empty
    strange = content - known - frozenset(word for name in named for word in content_of(name))
    if _is_means(sentence, named):
        strange -= done
    elif "manner" not in topic.facets and done - topic.step:
        # Should I wash the bowl? It is another thing to do.
        return ""
    state = tokens[:1] in (["is"], ["are"])
    if state and not named and "manner" not in topic.facets and content - topic.names - topic.strong:
        return ""
    asks = "?" in sentence and (
        not ASKS_WHETHER.match(sentence) or any(token in words.wanting for token in tokens)
    )
    if named and not strange and (asks or len(content) <= 2):
        if "thing" not in topic.facets:
            return "open"
        return "yes" if all(named.values()) else "no"
    if content & topic.others and not content & topic.names and asks and not strange - topic.others:
        return "no"
    if "manner" in topic.facets and content & topic.strong and len(content - known) <= 1:
        return "open"
    if "thing" in topic.facets and content & topic.names and not strange and asks:
        return "no" if content - topic.names - topic.keys - topic.around else "open"
    return ""


def _tells_apart(word: str, sentence: str) -> bool:
    """Return True if a word is in one alternative and not in all: in which of them, nobody asks."""
    parts = _QUOTED.findall(sentence) or _OR.split(sentence)
    held = [word in part or word in content_of(part) for part in parts]
    return any(held) and not all(held)


def _is_means(sentence: str, named: Iterable[str]) -> bool:
    """Return True if an alternative stands behind a preposition: shall I stir it with the fork?"""
    return any(
        re.search(
            rf"\b(?:with|using|in|into|on|onto|from)\s+(?:the |a |an )?(?:\w+ )?{re.escape(one)}", sentence
        )
        for one in named
    )


def _generic_noun(tokens: Sequence[str]) -> bool:
    """Return True if the phrase names a kind of nothing: what kind?, what type should I use?"""
    phrase = noun_phrase(tokens)
    return bool(phrase) and phrase[0] in ("kind", "type", "sort", "variety", "one", "option", "thing", "item")
