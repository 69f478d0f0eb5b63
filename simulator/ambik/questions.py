"""Interpretation of questions to the built-in user: does a question ask for what is open in the task?

One thing is open in an ambiguous task (spec 11.1), and the data say what: a question with its answer, an
intent, two plans that differ. From these `topic_of` derives the things that may be meant, people's words for
them, and the kind of answer (a thing, a place, an amount, what to do). `interpret` matches a question against
this topic. Questions about something else, or about another aspect of the right thing, are not understood.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, Literal

from simulator.ambik.chinese import in_english
from simulator.ambik.items import Pair, Scenario
from simulator.ambik.naming import kitchen, stem, stems, thing
from simulator.ambik.topics import (
    ASKS_WHETHER,
    QUESTION_WORDS,
    TOKEN,
    YES_NO,
    Topic,
    content_of,
    correct_spelling,
    kitchen_words,
    measured_in,
    noun_phrase,
    numbers_in,
    same_word,
    same_words,
    topic_of,
    word_table,
    words_for,
)

Interpretation = Literal["", "open", "yes", "no"]
"""The interpretation of a question: none, asking for what is open, or answered by yes or no."""

_SENTENCE: Final = re.compile(r"(?<=[.?!;:。？！；：])\s*|\n+")
# Statements about what the speaker likes, has or does are not questions.
_REMARK: Final = re.compile(
    r"\W*(?:I|We)\b(?!.*\b(?:know|wonder\w*|sure|guess|suppose|assume|ask|clear|need|want|wh\w+|how|should)\b)[^?]*$"
    r"|\W*我们?(?!.*(?:[？?吗呢哪怎几谁该还想清懂需请]|什么|多[少久长大])).*$",
    re.IGNORECASE,
)
_OTHER_ASPECTS: Final = frozenset(("why", "who", "when", "whose"))
_NEGATED: Final = re.compile(r"n't\b")
_BARE_IS: Final = re.compile(r"\b(what|where|how|which)s\b")
_CONTRACTED: Final = re.compile(r"(?<=\w)'(?:d|ll|ve|re|m)\b|(?<=\bit)'s\b|(?<=\bthat)'s\b")
_ENOUGH: Final = re.compile(r"\b(?:big|large|small|tall|wide|deep|sharp|strong|long) enough\b")
_FIND: Final = re.compile(r"\bwhere('s| is| are| can i find| do i find| should i find| did| will i find)\b")
_VERB: Final = re.compile(r"\b(?:i|we|to)\s+([a-z]+)")
_WHAT_IS_THE: Final = re.compile(
    r"\bwhat (?:is|are) (?:the(?= \w+(?: \w+)? you\b)|your(?: (?:favou?rite|preferred))?\b)"
)
_BY_HAND: Final = re.compile(r"\b(?:with|use|using|in)\s+(?:my |your )?(?:bare )?(?:hand|finger)s?\b")
_SOMEBODY: Final = frozenset(("i", "we", "you", "it", "they", "me", "that"))
_BY_WHAT: Final = re.compile(r"\b(?:use|with)\b")
_TAKING: Final = re.compile(r"\b(use|take|with|want|like|need|prefer|choose|pick|serve)\b")
_QUOTED: Final = re.compile(r"[“\"]([^”\"]+)[”\"]")
_OR: Final = re.compile(r",|\bor\b")
_GOING_ON: Final = re.compile(r"^\W*what(?:'s| is| are) \w+ing\b")
_STRANDED: Final = re.compile(r"\b(in|into|onto|from|out of)\b\W*$|^\W*(in|into|onto|from) (what|which)\b")
_GENERIC: Final = ("kind", "type", "sort", "variety", "one", "option", "thing", "item", "topping", "filling")


def interpret(pair: Pair, question: str) -> Interpretation:
    """Return how a question is understood, given what is open in the ambiguous task of a pair."""
    question = " ".join(part for part in _SENTENCE.split(question) if not _REMARK.match(part))
    topic = topic_of(pair)
    text = _NEGATED.sub(" not", in_english(question, topic).lower().replace("’", "'"))
    text = _ENOUGH.sub("enough", _CONTRACTED.sub("", _BARE_IS.sub(r"\1 is", text)))
    text = _WHAT_IS_THE.sub("which", text)
    asked = content_of(in_english(pair.question))
    if asked and content_of(text) == asked and not _asks_other_aspect(pair, text):
        return "open"
    before: frozenset[str] = frozenset()
    for sentence in filter(str.strip, _SENTENCE.split(correct_spelling(topic, text))):
        interpretation = _interpret(topic, sentence, before)
        if interpretation:
            return interpretation
        before |= kitchen_words(content_of(sentence))
    return ""


def _asks_other_aspect(pair: Pair, text: str) -> bool:
    """Return True if the text asks why, who or when and the data's question does not."""
    return bool(_OTHER_ASPECTS & set(TOKEN.findall(text)) - set(TOKEN.findall(pair.question.lower())))


def answer_to(interpretation: Interpretation, pair: Pair, question: str) -> tuple[Interpretation, str]:
    """Return the beginning of an answer (yes, no or none), and the data's answer to follow it."""
    asked = content_of(in_english(pair.question))
    if asked and content_of(in_english(question).lower()) == asked and interpretation == "open":
        return "open", pair.answer
    rest = YES_NO.sub("", pair.answer, count=1)
    return interpretation, rest[:1].upper() + rest[1:] or pair.answer


def names_what_was_said(pair: Pair, question: str) -> bool:
    """Return True if a question is about something that the clear task says already."""
    words = content_of(" ".join((pair.clear, *pair.clear_plan)))
    asked = content_of(in_english(question).lower())
    return bool(asked & words) and not kitchen_words(asked) - words and len(asked - words) <= 1


def interpret_scenario(scenario: Scenario, question: str) -> frozenset[Literal["objects", "place"]]:
    """Return the aspects of a KnowNo scenario that a question is about: intended objects, their place."""
    text = in_english(question).lower()
    tokens, asked = frozenset(TOKEN.findall(text)), content_of(text)
    things = [thing(name) for name in scenario.objects]
    objects = same_words(word for each in things for word in (*each.stems, *words_for(each)))
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


def _interpret(topic: Topic, sentence: str, before: frozenset[str]) -> Interpretation:
    words, tokens, content = word_table(), TOKEN.findall(sentence), content_of(sentence)
    done = same_words(map(stem, _VERB.findall(sentence)))
    foreign = kitchen_words(content) - topic.open_words - topic.known - done
    if before - topic.open_words and not before & topic.open_words:
        # "There are three knives. Which one?": the previous sentence says what is asked for.
        foreign |= before - topic.keys
    if "or" in tokens and content & topic.distinctive.keys():
        foreign = frozenset()
    rivals = _rivals(topic, tokens, sentence)
    foreign -= frozenset(word for name in rivals for word in content_of(name))
    if foreign or set(tokens) & _OTHER_ASPECTS - topic.asked_by:
        return ""
    said = dict(numbers_in(sentence)) if topic.amounts else {}
    if said and "how" not in tokens and not QUESTION_WORDS & set(tokens):
        return _interpret_amount(topic, said, content - done)
    if measures := words.measures_in(sentence):
        return _interpret_measure(topic, measures, sentence, content)
    if "where" in tokens:
        return _interpret_where(topic, sentence, content)
    for place, token in enumerate(tokens):
        inverted = ASKS_WHETHER.match("".join(tokens[place + 1 : place + 2]))
        first = place == 0 or token == "which" or tokens[place - 1] in words.before_what
        if token in QUESTION_WORDS and (first or inverted):
            return _interpret_which(topic, tokens, place, sentence, content)
    if "how" in tokens:
        return _interpret_how(topic, tokens, content)
    if any(f"{word} of" in sentence for word in ("type", "kind", "sort")):
        return "open" if "thing" in topic.facets and content & topic.names else ""
    return _interpret_whether(topic, tokens, sentence, content, rivals)


def _interpret_how(topic: Topic, tokens: Sequence[str], content: frozenset[str]) -> Interpretation:
    if not set(tokens[tokens.index("how") + 1 :][:1]) & word_table().after_how:
        return ""
    fits = "manner" in topic.facets or ("thing" in topic.facets and topic.foods is False)
    strange = content - topic.known - topic.names
    known = content & topic.known and not strange and not content & topic.names - topic.keys
    return "open" if fits and known else ""


def _rivals(topic: Topic, tokens: Sequence[str], sentence: str) -> frozenset[str]:
    """Return the names of other tools that a sentence offers: "With the whisk?", "the whisk?"."""
    if {"how", "where", "or", *QUESTION_WORDS} & set(tokens):
        return frozenset()
    every = {name for name in topic.rivals if f" {name}" in f" {sentence}"}
    if topic.foods is False:
        tools = kitchen_words(content_of(sentence) - topic.open_words)
        every |= {word for word in tools if not thing(word).is_a("ingredient")}
    named = frozenset(name for name in every if not content_of(name) <= topic.around)
    rest = content_of(sentence) - content_of(" ".join(named)) - topic.open_words - topic.step
    bare = not _SOMEBODY & set(tokens) and rest <= word_table().values
    return named if bare or _is_means(sentence, named) else frozenset()


def _interpret_amount(topic: Topic, said: Mapping[float, str], content: frozenset[str]) -> Interpretation:
    """Interpret a number without a question word: "Are two lumps enough?"."""
    counted = frozenset(said.values()) - word_table().says_nothing - {""}
    if counted - topic.units or content - topic.known - topic.units:
        return ""
    return "open" if len(said) > 1 else "yes" if topic.amounts >= said.keys() else "no"


def _interpret_measure(
    topic: Topic, measures: frozenset[str], sentence: str, content: frozenset[str]
) -> Interpretation:
    if "measure" not in topic.facets or not measures & topic.measures:
        return ""
    measured = measured_in(sentence)
    known = topic.keys | topic.measured
    strange = {word for word in measured - known if kitchen_words({word}) or word not in kitchen().measures}
    wrong = topic.measured and measured and kitchen_words(measured) and not measured & topic.measured
    if strange - {"minute", "hour", "second", "spoonful", "teaspoon", "tablespoon"} or (
        wrong and not measured & topic.strong
    ):
        return ""
    return "open" if not content or content & (known | topic.around | measured) else ""


def _interpret_where(topic: Topic, sentence: str, content: frozenset[str]) -> Interpretation:
    if "place" not in topic.facets or content & topic.names - topic.keys:
        return ""
    if _FIND.search(sentence) and "find" not in topic.keys and not (content and content <= topic.strong):
        return ""
    if topic.foods is False and "where" not in topic.asked_by and content & topic.names:
        return ""
    known, things = content & topic.known, kitchen_words(content)
    fits = not things or things & (topic.keys | topic.open_words)
    return "open" if not content or (known and fits and len(content - known) <= 1) else ""


def _interpret_which(
    topic: Topic, tokens: Sequence[str], place: int, sentence: str, content: frozenset[str]
) -> Interpretation:
    words = word_table()
    phrase = noun_phrase(tokens[place + 1 :])
    asked = {words.asked[word] for word in (*phrase, *tokens) if word in words.asked}
    spoken = [same_word(word) for word in stems(" ".join(phrase))]
    nouns = frozenset(spoken) - words.says_nothing - words.asked.keys()
    if nouns < frozenset(spoken) and not kitchen_words(nouns):
        # "What sweet thing": the noun has no content.
        nouns &= topic.names | topic.measured
    if asked:
        others = kitchen_words(content)
        fits = asked & topic.attributes and (not others or others & (topic.names | topic.keys))
        return "open" if fits and topic.facets & {"thing", "place"} else ""
    if nouns:
        thing_like = topic.facets & {"thing", "place"} or nouns & topic.measured
        every = [word for word in spoken if word in nouns]
        head = ([word for word in every if kitchen_words({word})] or every)[-1]
        strange = kitchen_words(nouns) - topic.open_words - topic.known
        return "open" if thing_like and head in topic.names and not strange else ""
    if tokens[place] == "which" or (phrase and phrase[0] in _GENERIC):
        strange = kitchen_words(content) - topic.open_words - topic.known
        known = content <= topic.open_words | topic.known or content & topic.open_words
        return "open" if "thing" in topic.facets and not strange and known else ""
    if words.generic.search(sentence):
        return "open" if not content or content & topic.open_words or content <= topic.step else ""
    if _GOING_ON.search(sentence):
        return ""
    if words.doing.search(sentence):
        about = content & topic.keys or not (content or {"next", "help"} & set(tokens))
        return "open" if "manner" in topic.facets and about else ""
    if "about" in tokens[place + 1 : place + 2]:
        return "open" if content & (topic.open_words | topic.strong) else ""
    return _interpret_what(topic, sentence, content)


def _interpret_what(topic: Topic, sentence: str, content: frozenset[str]) -> Interpretation:
    """Interpret a "what" without a noun: "What shall I spread on the bread?"."""
    if "thing" not in topic.facets:
        return "open" if content & topic.strong and content <= topic.known else ""
    if not content:
        return "open" if _TAKING.search(sentence) else ""
    own = (content - same_words(map(stem, _VERB.findall(sentence)))) & topic.own
    if own and not content & topic.distinctive.keys() and content - topic.keys:
        return ""
    if own and not content & (topic.keys - topic.names):
        return ""
    stranded = _STRANDED.search(sentence)
    if stranded and topic.foods:
        return ""
    strange = content - topic.open_words - topic.known
    means = stranded or (_BY_WHAT.search(sentence) and topic.foods is False)
    return "open" if len(strange) <= bool(means and content - strange) else ""


def _interpret_whether(
    topic: Topic, tokens: Sequence[str], sentence: str, content: frozenset[str], rivals: frozenset[str]
) -> Interpretation:
    """Interpret alternatives, a yes/no question about one, a bare name, or whether to do something."""
    words = word_table()
    if words.generic.search(sentence) and ("?" in sentence or "please" in tokens) and not content:
        return "open"
    known = topic.open_words | topic.known | words.values
    if words.preference.search(sentence) and content <= topic.open_words | topic.known:
        return "open" if "thing" in topic.facets and (not content or content & topic.open_words) else ""
    in_rivals = frozenset(word for name in rivals for word in content_of(name))
    named = {word: is_meant for word, is_meant in topic.distinctive.items() if word in content - in_rivals}
    named |= {name: is_meant for name, is_meant in topic.full_names.items() if name in sentence}
    named |= dict.fromkeys(rivals, False)
    several = "or" in tokens and any(_distinguishes(word, sentence) for word in named)
    if several or len({*named.values()}) > 1:
        return "open"
    if topic.foods is False and _BY_HAND.search(sentence):
        return "no"
    if "measure" in topic.facets and content & topic.strong and content <= known:
        return "open"
    asked = frozenset(word for word in content if words.asked.get(word) in topic.attributes)
    if asked and not named and len(tokens) <= 3:
        return "open" if content <= topic.open_words | words.asked.keys() else ""
    done = same_words(map(stem, _VERB.findall(sentence))) - words.says_nothing
    strange = content - known - asked - frozenset(word for name in named for word in content_of(name))
    things = content_of(" ".join(topic.full_names))
    unwanted = named.keys() - things - topic.full_names.keys() - rivals
    around = topic.around if named and not rivals else frozenset()
    if unwanted or (not rivals and _is_means(sentence, named)):
        strange -= done
    elif "manner" not in topic.facets and done - topic.step - around:
        # "Should I wash the bowl?" is about another action.
        return ""
    state = tokens[:1] in (["is"], ["are"])
    if state and not named and "manner" not in topic.facets and content - topic.names - topic.strong:
        return ""
    asks = bool(words.wanting & set(tokens)) if ASKS_WHETHER.match(sentence) else "?" in sentence
    negated = not {"not", "dont", "isnt"}.isdisjoint(tokens)
    if named and not strange and (asks or len(content) <= 2):
        if "thing" not in topic.facets or (negated and all(named.values())):
            # After "Not the red one, right?" a yes or a no could mean either, if it is the red one.
            return "open"
        return "yes" if all(named.values()) else "no"
    if "manner" in topic.facets and content & topic.strong and len(content - known) <= 1:
        return "open"
    if (
        "thing" in topic.facets
        and content & topic.names
        and not strange
        and asks
        and not numbers_in(sentence)
    ):
        return "no" if content - topic.names - topic.known else "open"
    return ""


def _distinguishes(word: str, sentence: str) -> bool:
    """Return True if a word is in some of the alternatives but not in all."""
    parts = _QUOTED.findall(sentence) or _OR.split(sentence)
    hits = [word in part or word in content_of(part) for part in parts]
    return any(hits) and not all(hits)


def _is_means(sentence: str, named: Iterable[str]) -> bool:
    """Return True if an alternative follows a preposition: "Shall I stir it with the fork?"."""
    before = r"\b(?:with|use|using|add|in|into|on|onto|from)\s+(?:the |a |an )?(?:\w+ )?"
    return any(re.search(before + re.escape(name), sentence) for name in named)
