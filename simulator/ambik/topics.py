"""Topics: what is open in an ambiguous task, for matching questions against it; and the words of questions.

The words are in ``tables/questions.yaml``; Chinese words are translated to English first.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache, cached_property, lru_cache
from typing import Annotated, Final, Literal

from pydantic import BaseModel, BeforeValidator

from simulator.ambik.intents import is_found
from simulator.ambik.items import Pair, line_of
from simulator.ambik.kitchen.knowledge import Pattern
from simulator.ambik.kitchen.openings import mentions, single
from simulator.ambik.naming import Thing, kitchen, stem, stems, thing
from simulator.ambik.terms import table

Facet = Literal["thing", "place", "measure", "manner"]
TOKEN: Final = re.compile(r"[a-z0-9À-ɏ'’\-]+")
QUESTION_WORDS: Final = frozenset(("which", "what", "whichever", "what's"))
YES_NO: Final = re.compile(r"^\W*(yes|yeah|yep|no|nope)\b[\s,.;:!]*", re.IGNORECASE)
ASKS_WHETHER: Final = re.compile(
    r"^\W*(and |so |or |then )?(is|are|do|does|did|can|could|may|should|shall|must|would|will|am)\b",
    re.IGNORECASE,
)
_ASKS_FOR_THING: Final = re.compile(r"\W*(which|what (should|shall|do|would) (i|you|the robot|we))\b")
_WITHIN: Final = ("in ", "into ", "on ", "onto ", "put ", "place ", "they go ", "it goes ", "at the ")
_WIDEST: Final = ("ingredient", "kitchenware", "tableware")

Words = Annotated[frozenset[str], BeforeValidator(lambda line: frozenset(line.split()))]


def _longest_first(rows: Mapping[str, str]) -> dict[str, str]:
    """Return the English words for each Chinese one: a longer word is meant before those within it."""
    pairs = [(word, english) for english, line in rows.items() for word in line.split()]
    return dict(sorted(pairs, key=lambda pair: -len(pair[0])))


class QuestionWords(BaseModel, frozen=True):
    """The table of question words. Attributes have words that ask for them, and values."""

    empty: Words
    wanting: Words
    stops: Words
    before_what: Words
    after_how: Words
    particles: str
    generic: Annotated[Pattern, BeforeValidator(lambda words: rf"\b({words})\b")]
    doing: Pattern
    preference: Pattern
    same: tuple[str, ...]
    attributes: Mapping[str, Mapping[Literal["asked", "values"], frozenset[str]]]
    measures: Mapping[str, Pattern]
    numbers: Annotated[tuple[str, ...], BeforeValidator(str.split)]
    zh: Annotated[Mapping[str, str], BeforeValidator(_longest_first)]

    @cached_property
    def says_nothing(self) -> frozenset[str]:
        """Words without content, in every form."""
        return self.empty | frozenset(stems(" ".join(self.empty)))

    @cached_property
    def first_of_same(self) -> Mapping[str, str]:
        """The first word of a line of synonyms, by each word of the line."""
        return {word: line.split()[0] for line in reversed(self.same) for word in stems(line)}

    @cached_property
    def asked(self) -> Mapping[str, str]:
        """Attribute by the word that asks for it."""
        return {word: name for name, each in self.attributes.items() for word in each["asked"]}

    @cached_property
    def values(self) -> frozenset[str]:
        """Values of all attributes."""
        return frozenset(value for each in self.attributes.values() for value in each["values"])

    def measures_in(self, text: str) -> frozenset[str]:
        """Return the measures that a text asks for."""
        return frozenset(name for name, pattern in self.measures.items() if pattern.search(text))


@cache
def word_table() -> QuestionWords:
    """Return the words of questions (`tables/questions.yaml`)."""
    return QuestionWords.model_validate(table("questions"))


@dataclass(frozen=True)
class Topic:
    """The open part of a task, in the form in which questions are matched against it.

    Attributes:
        facets: the possible kinds of answer.
        measures: measures asked for, by name (``duration``, ``amount``, …).
        measured: words for what is measured.
        names: words for the open thing: its own, its categories', the open word of the step.
        own: the subset of `names` that is the thing's own name or its nearest category.
        distinctive: words that distinguish the possible things; True for words of what is meant.
        full_names: names of the possible things; True for what is meant.
        rivals: names of other tools of the scene, if a tool is open; foods, if the step names none.
        step: words of the ambiguous step.
        attributes: attributes in which the possible things differ.
        keys: words of the data's question, its answer, the intent, and the line where the plans differ.
        strong: the subset of `keys` that is neither a thing of the scene nor in the ambiguous step.
        around: words of the ambiguous task and its plan.
        foods: True if the open thing is food; None if there is no thing.
        amounts: the number meant, if a measure is asked for.
        units: words after such a number.
        asked_by: question words of the data's own question.
    """

    facets: frozenset[Facet]
    measures: frozenset[str]
    measured: frozenset[str]
    names: frozenset[str]
    own: frozenset[str]
    distinctive: Mapping[str, bool]
    full_names: Mapping[str, bool]
    rivals: frozenset[str]
    step: frozenset[str]
    attributes: frozenset[str]
    keys: frozenset[str]
    strong: frozenset[str]
    around: frozenset[str]
    foods: bool | None
    amounts: frozenset[float]
    units: frozenset[str]
    asked_by: frozenset[str]

    @property
    def open_words(self) -> frozenset[str]:
        """Words for the open thing, and words that distinguish the possible things."""
        return self.names | frozenset(self.distinctive)

    @property
    def known(self) -> frozenset[str]:
        """Words that a question may contain in addition to those for the open thing."""
        return self.keys | self.around

    @cached_property
    def spellings(self) -> tuple[Sequence[str], frozenset[str]]:
        """Words that slips are corrected to, sorted, and stems that are not corrected."""
        words = word_table()
        right = sorted(QUESTION_WORDS | self.open_words | self.known | words.asked.keys())
        return right, words.says_nothing | words.first_of_same.keys() | self.known


@lru_cache(maxsize=1024)
def topic_of(pair: Pair) -> Topic:
    """Return what is open in the ambiguous task of a pair."""
    words = word_table()
    things = tuple(map(thing, pair.things))
    question, open_step = pair.question.lower(), line_of(pair.ambiguous_plan, pair.step)
    step, clear = content_of(open_step), content_of(pair.clear_step)
    intent = "" if pair.intent is None or pair.intent.malformed else pair.intent.text
    variants = " ".join(variant.text for variant in pair.variants if not variant.malformed)
    keys = content_of(f"{question} {pair.answer} {intent} {variants}") | (clear - step)
    target, group = intended_things(pair)
    named = _nouns_after(question) - words.asked.keys()
    facets = _facets(pair, question, target, named)
    scene = same_words(word for each in things for word in each.stems)
    distinctive, full_names = _alternatives(pair, target, group, step) if target else ({}, {})
    # Names of things in the same category also refer to the open thing: "which Emmental" for Gouda.
    siblings = [each for each in group if target and each.category and each.category == target[0].category]
    names = same_words(
        word for each in (*target, *siblings) for word in (*each.stems[-1:], each.head, *words_for(each))
    )
    names |= same_words(named) | (kitchen_words(step - clear) if target else frozenset())
    return Topic(
        facets=facets,
        measures=words.measures_in(question),
        measured=measured_in(question),
        names=names if facets & {"thing", "place"} else same_words(named),
        own=same_words(
            word
            for each in target
            for word in (each.stems[-1], each.head, *stems(each.category.replace("_", " ")))
        ),
        distinctive=distinctive,
        full_names=full_names,
        rivals=_rivals(things, target, step, names) - full_names.keys() - names - distinctive.keys(),
        step=step,
        attributes=_attributes(target, question),
        keys=keys,
        strong=(keys - scene - step) | (content_of(intent) if facets == {"manner"} else frozenset()),
        around=content_of(" ".join((pair.ambiguous, open_step, *pair.ambiguous_plan))),
        foods=target[0].is_a("ingredient") if target else None,
        amounts=frozenset(dict(numbers_in(intent))) if "measure" in facets else frozenset(),
        units=same_words(measured_in(question) | content_of(f"{intent} {variants}")),
        asked_by=frozenset(question.replace("?", " ").split()) & {"when", "why", "who", "how", "where"},
    )


def _facets(pair: Pair, question: str, target: Sequence[Thing], named: frozenset[str]) -> frozenset[Facet]:
    facets: set[Facet] = set()
    if word_table().measures_in(question):
        facets.add("measure")
    elif target or named or _ASKS_FOR_THING.match(question):
        facets.add("thing")
    whether = ASKS_WHETHER.match(question) and " or " not in question
    if not facets or whether or word_table().doing.search(question):
        facets.add("manner")
    goes_in = YES_NO.sub("", pair.answer).strip().lower().startswith(_WITHIN)
    if "where" in question.split() or (target and (goes_in or target[0].is_a("place", "appliance"))):
        facets.add("place")
    return frozenset(facets)


def _alternatives(
    pair: Pair, target: Sequence[Thing], group: Sequence[Thing], step: frozenset[str]
) -> tuple[dict[str, bool], dict[str, bool]]:
    """Return words that distinguish the possible things, and full names; True for what is meant."""
    alternatives = {each.name: same_words(each.stems) for each in (*target, *group)}
    shared = frozenset.intersection(*alternatives.values()) if len(alternatives) > 1 else frozenset()
    goal = {each.name for each in target}
    distinctive = {word: False for words in alternatives.values() for word in words - shared}
    distinctive |= {word: True for name in goal for word in alternatives[name] - shared}
    # Words in the open step distinguish nothing: the espresso of the espresso cup.
    outside_step = {word: is_meant for word, is_meant in distinctive.items() if word not in step}
    distinctive = outside_step if any(outside_step.values()) else distinctive
    concepts = () if pair.intent is None else pair.intent.concepts
    unwanted = (way.text for concept in concepts if concept.negative for way in concept.alternatives)
    distinctive |= {word: False for text in unwanted for word in content_of(text) if word not in distinctive}
    return distinctive, {each.name.lower(): each.name in goal for each in (*target, *group)}


def _rivals(
    things: Iterable[Thing], target: Sequence[Thing], step: frozenset[str], names: frozenset[str]
) -> frozenset[str]:
    foods = bool(target) and target[0].is_a("ingredient")
    if not target or (foods and names & step):
        return frozenset()
    rivals = [each for each in things if each.is_a("ingredient") == foods]
    return frozenset(word for each in rivals for word in (each.name.lower(), each.head))


def intended_things(pair: Pair) -> tuple[tuple[Thing, ...], tuple[Thing, ...]]:
    """Return the things meant, and the things to choose from: the shortlist, and those the step may mean."""
    if pair.intent is None or pair.intent.malformed:
        return (), ()
    positive = [concept for concept in pair.intent.concepts if not concept.negative]
    # A concept must match the beginning of a word: "wash" does not mean the dishwasher.
    begins = [
        re.compile("|".join(rf"\b{re.escape(way.text.lower())}" for way in concept.alternatives))
        for concept in positive
    ]
    things, shortlist = tuple(map(thing, pair.things)), tuple(map(thing, pair.shortlist))
    step = line_of(pair.ambiguous_plan, pair.step)
    in_step, in_answer = same_words(stems(step)), frozenset(stems(f"{pair.question} {pair.answer}"))
    target = [
        each
        for each in dict.fromkeys((*shortlist, *things))
        if any(
            is_found(concept, each.name) and begin.search(each.name.lower())
            for concept, begin in zip(positive, begins, strict=True)
        )
        and (each in shortlist or (not same_words(each.stems) <= in_step and each.head in in_answer))
    ]
    if not target and positive:
        spoken = [mention.things[0] for mention in single(pair.answer, things)]
        target = [each for each in spoken if any(word in pair.intent.text.lower() for word in each.stems)]
    if not target:
        return (), ()
    open_nouns = (
        mention.things
        for mention in mentions(step, things)
        if len(mention.things) > 1 and any(each in mention.things for each in target)
    )
    near = next(open_nouns, None) or tuple(each for each in things if _same_kind(each, target[0]))
    return tuple(target), tuple(dict.fromkeys((*shortlist, *near)))


def _same_kind(thing: Thing, other: Thing) -> bool:
    if not other.category:
        return thing.head == other.head
    near = [kind for kind in other.kinds if kind not in _WIDEST] or other.kinds[:1]
    return thing.is_a(*near)


def words_for(thing: Thing) -> Iterable[str]:
    """Yield people's words for a thing's category and the wider ones."""
    for name in thing.kinds:
        for words in kitchen().categories[name].words:
            yield words[-1]


def _attributes(target: Sequence[Thing], question: str) -> frozenset[str]:
    own = {word for each in target for word in (*each.stems, *each.name.lower().split())}
    attributes = {name for name, each in word_table().attributes.items() if own & each["values"]}
    attributes |= {word_table().asked[word] for word in TOKEN.findall(question) if word in word_table().asked}
    return frozenset(attributes | ({"taste"} if target and target[0].is_a("ingredient") else set()))


def measured_in(text: str) -> frozenset[str]:
    """Return the noun after ``how many`` and the like: what is counted or measured."""
    hit = re.search(r"\bhow (?:much|many|thick|dark|hot)\b(.*)", text)
    return _nouns(TOKEN.findall(hit[1])) if hit else frozenset()


def numbers_in(text: str) -> list[tuple[float, str]]:
    """Return the numbers in a text, each with the stem of the word after it; "the red one" has none."""
    tokens = [*TOKEN.findall(text), ""]
    values = {word: float(number) for number, word in enumerate(word_table().numbers)} | {"half": 0.5}
    return [
        (float(token) if token.isdigit() else values[token], same_word(stem(tokens[place + 1])))
        for place, token in enumerate(tokens)
        if token.isdigit()
        or (
            token in values
            and (token != "one" or stem(tokens[place + 1] or "a") not in word_table().says_nothing)
        )
    ]


def _nouns_after(question: str) -> frozenset[str]:
    """Return the nouns after the question words: "which BOWL"."""
    tokens = TOKEN.findall(question)
    places = (place for place, token in enumerate(tokens) if token in QUESTION_WORDS)
    return frozenset[str]().union(*(_nouns(tokens[place + 1 :]) for place in places))


def _nouns(tokens: Sequence[str]) -> frozenset[str]:
    return same_words(stems(" ".join(noun_phrase(tokens)))) - word_table().says_nothing


def noun_phrase(tokens: Sequence[str]) -> list[str]:
    """Return the words of a noun phrase, up to a verb, a pronoun or a preposition, without ``of the``."""
    phrase: list[str] = []
    for place, token in enumerate(tokens):
        if token == "of" or (token in ("the", "your") and place and tokens[place - 1] == "of"):
            continue
        if token in word_table().stops:
            break
        phrase.append(token)
    return phrase


def content_of(text: str) -> frozenset[str]:
    """Return the stems of the words with content, with synonyms replaced by the first of their line."""
    empty = word_table().says_nothing
    plain = (stem for stem in stems(text.lower()) if stem not in empty)
    return same_words(word for word in plain if not word.isdigit() or len(word) < 3) - empty


def correct_spelling(topic: Topic, text: str) -> str:
    """Return `text` with slips in question words and words for what is open corrected."""
    right, known = topic.spellings

    def correct(token: str) -> str:
        if len(token) < 4 or token in right or stem(token) in known or kitchen_words({stem(token)}):
            return token
        swapped = (word for word in right if sorted(word) in (sorted(token), sorted(stem(token))))
        return next(swapped, "") or next(iter(get_close_matches(token, right, 1, 0.85)), token)

    return TOKEN.sub(lambda hit: correct(hit[0]), text)


def kitchen_words(words: Iterable[str]) -> frozenset[str]:
    """Return the words that name kitchen things."""
    return frozenset(word for word in words if (word,) in kitchen().by_words or thing(word).category)


def same_words(words: Iterable[str]) -> frozenset[str]:
    """Return words with synonyms replaced by the first of their line."""
    return frozenset(map(same_word, words))


@lru_cache(maxsize=8192)
def same_word(word: str) -> str:
    """Return the first synonym of a word, or the word itself."""
    table = word_table().first_of_same
    return table.get(word, table.get(word.removesuffix("ed"), table.get(word.removesuffix("ing"), word)))
