"""What is open in an ambiguous task, as questions are read against it: topics, and the words of questions.

The words stand in ``tables/questions.yaml``; Chinese ones are heard as English ones.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple

import yaml

from simulator.ambik.intents import Concept, is_found
from simulator.ambik.kitchen.categories import Thing, categories, category_of_words, thing
from simulator.ambik.kitchen.mentions import mentions
from simulator.ambik.kitchen.words import stems
from simulator.ambik.pairs import Pair

Facet = Literal["thing", "place", "measure", "manner"]
_TABLE: Final = Path(__file__).parent / "tables" / "questions.yaml"
_CHINESE: Final = re.compile(r"[\u4e00-\u9fff]")
TOKEN: Final = re.compile(r"[a-z0-9À-ɏ'’\-]+")
QUESTION_WORDS: Final = frozenset(("which", "what", "whichever", "what's"))
YES_NO: Final = re.compile(r"^\W*(yes|yeah|yep|no|nope)\b[\s,.;:!]*", re.IGNORECASE)
ASKS_WHETHER: Final = re.compile(
    r"^\W*(and |so |or |then )?(is|are|do|does|did|can|could|may|should|shall|must|would|will|am)\b",
    re.IGNORECASE,
)
_WITHIN: Final = ("in ", "into ", "on ", "onto ", "put ", "place ", "they go ", "it goes ", "at the ")


class _Words(NamedTuple):
    """The table, read once."""

    empty: frozenset[str]
    wanting: frozenset[str]
    generic: re.Pattern[str]
    doing: re.Pattern[str]
    preference: re.Pattern[str]
    same: Mapping[str, str]
    asked: Mapping[str, str]
    values: Mapping[str, frozenset[str]]
    measures: Mapping[str, re.Pattern[str]]
    stops: frozenset[str]
    before_what: frozenset[str]
    after_how: frozenset[str]
    particles: re.Pattern[str]
    chinese: tuple[tuple[str, str], ...]


@cache
def word_table() -> _Words:
    """Return the words of questions (`tables/questions.yaml`)."""
    raw: Mapping[str, Any] = yaml.safe_load(_TABLE.read_text(encoding="utf-8"))
    same = {word: line.split()[0] for line in reversed(raw["same"]) for word in stems(line)}
    attributes: Mapping[str, Mapping[str, Sequence[str]]] = raw["attributes"]
    return _Words(
        empty=frozenset(stems(raw["empty"])) | frozenset(raw["empty"].split()),
        wanting=frozenset(raw["wanting"].split()),
        generic=re.compile(rf"\b({raw['generic']})\b"),
        doing=re.compile(raw["doing"]),
        preference=re.compile(raw["preference"]),
        same=same,
        asked={word: name for name, one in attributes.items() for word in one["asked"]},
        values={name: frozenset(one["values"]) for name, one in attributes.items()},
        measures={name: re.compile(text) for name, text in raw["measures"].items()},
        stops=frozenset(raw["stops"].split()),
        before_what=frozenset(raw["before_what"].split()),
        after_how=frozenset(raw["after_how"].split()),
        particles=re.compile(f"[“”「」《》{raw['particles']}]"),
        chinese=tuple(sorted(raw["zh"].items(), key=lambda pair: -len(pair[0]))),
    )


@dataclass(frozen=True, slots=True)
class Topic:
    """What is open in a task, as questions are read against it.

    Attributes:
        facets: what kinds of answer there are.
        measures: that are asked for, by name (``duration``, ``amount``, …).
        measured: what is measured, in words.
        names: words by which the open thing is called: its own, its categories', the open word of the step.
        own: of these, its own name and that of its nearest kind.
        told: words that tell what may be meant apart, and whether they are of what is meant.
        full: names of what may be meant, likewise.
        step: words of the ambiguous step.
        attributes: by which what may be meant differs.
        others: words for things of the scene that could do what the open thing does.
        keys: words of the data's question, its answer, the intent, and of where the plans part.
        strong: of these, words that are neither things of the scene nor in the ambiguous step.
        around: words of task and plan.
        foods: whether the open thing is food; None if there is no thing.
        asked_by: question words of the data's own question.
    """

    facets: frozenset[Facet]
    measures: frozenset[str]
    measured: frozenset[str]
    names: frozenset[str]
    own: frozenset[str]
    told: Mapping[str, bool]
    full: Mapping[str, bool]
    step: frozenset[str]
    attributes: frozenset[str]
    others: frozenset[str]
    keys: frozenset[str]
    strong: frozenset[str]
    around: frozenset[str]
    foods: bool | None
    asked_by: frozenset[str]


def in_english(question: str) -> str:
    """Return a question with its Chinese words as English ones."""
    if not _CHINESE.search(question):
        return question
    text = question
    for word, english in word_table().chinese:
        text = text.replace(word, f" {english} ")
    text = word_table().particles.sub(" ", text)
    # What the table does not know says something all the same: nobody takes it for nothing.
    text = re.sub(r"[\u4e00-\u9fff]+", lambda hit: f" han{ord(hit[0][0]):x} ", text)
    return (
        text.replace("？", "? ")
        .replace("。", ". ")
        .replace("、", ", ")
        .replace("，", ", ")
        .replace("！", "! ")
    )


@lru_cache(maxsize=1024)
def topic_of(pair: Pair) -> Topic:
    """Return what is open in the ambiguous task of a pair."""
    words = word_table()
    things = tuple(thing(name) for name in pair.things)
    step = _step(pair.ambiguous_plan, pair.step)
    clear = _step(pair.clear_plan, pair.step)
    target, group = meant(pair)
    question = pair.question.lower()
    variants = " ".join(variant.text for variant in pair.variants if not variant.malformed)
    intent = "" if pair.intent is None or pair.intent.malformed else pair.intent.text
    keys = content_of(f"{question} {pair.answer} {intent} {variants}") | (
        content_of(clear) - content_of(step)
    )
    around = content_of(" ".join((pair.ambiguous, step, *pair.ambiguous_plan)))
    whether = bool(ASKS_WHETHER.match(question)) and " or " not in question
    measures = frozenset(name for name, one in words.measures.items() if one.search(question))
    named = _nouns_after(question) - frozenset(words.asked)
    facets: set[Facet] = set()
    if measures:
        facets.add("measure")
    elif (
        target
        or named
        or re.match(r"\W*(which|what (should|shall|do|would) (i|you|the robot|we))\b", question)
    ):
        facets.add("thing")
    if not facets or whether or words.doing.search(question):
        facets.add("manner")
    if "where" in question.split() or (target and _goes_in(pair.answer)):
        facets.add("place")
    scene = frozenset(word for one in things for word in one.stems)
    alternatives = {one.name: frozenset(map(same_word, one.stems)) for one in (*target, *group)}
    shared = frozenset.intersection(*alternatives.values()) if len(alternatives) > 1 else frozenset()
    wanted = {one.name for one in target}
    told = {word: False for words_of in alternatives.values() for word in words_of - shared}
    told |= {word: True for name in wanted for word in alternatives[name] - shared}
    # What the open step says itself tells nothing apart: the espresso of the espresso cup.
    apart = {word: meant_ for word, meant_ in told.items() if word not in content_of(step)}
    told = apart if any(apart.values()) else told
    positive = " ".join(told)
    told |= {word: False for word in _unwanted(pair) if word not in positive.split()}
    # Others are called as the open thing is if they are of its kind: which Emmental, where Gouda is meant.
    alike = (one for one in group if target and one.category and one.category == target[0].category)
    names = frozenset(
        same_word(word) for one in (*target, *alike) for word in (*one.stems[-1:], one.head, *called(one))
    )
    gone = content_of(step) - content_of(clear)
    names |= frozenset(map(same_word, named)) | (gone & kitchen_words(gone) if target else frozenset())
    return Topic(
        facets=frozenset(facets),
        measures=measures,
        measured=measured_in(question),
        names=names if facets & {"thing", "place"} else frozenset(map(same_word, named)),
        own=frozenset(
            same_word(word)
            for one in target
            for word in (one.stems[-1], one.head, *stems(one.category.replace("_", " ")))
        ),
        told=told if target else {},
        full={one.name.lower(): one.name in wanted for one in (*target, *group)} if target else {},
        step=content_of(step),
        attributes=_attributes(target, question),
        others=frozenset(
            same_word(word) for one in things if target and _alike(one, target[0]) for word in one.stems
        ),
        keys=keys,
        strong=frozenset(
            one for one in keys - frozenset(map(same_word, scene)) if one not in content_of(step)
        ),
        around=around,
        foods=target[0].is_a("ingredient") if target else None,
        asked_by=frozenset(question.replace("?", " ").split()) & {"when", "why", "who", "how", "where"},
    )


def meant(pair: Pair) -> tuple[tuple[Thing, ...], tuple[Thing, ...]]:
    """The things that are meant, and those among which they are: shortlisted, or as the step calls them."""
    things = tuple(thing(name) for name in pair.things)
    step = _step(pair.ambiguous_plan, pair.step)
    if pair.intent is None or pair.intent.malformed:
        return (), ()
    positive = [one for one in pair.intent.concepts if not one.negative]
    if not positive:
        return (), ()
    told = frozenset(map(same_word, stems(step)))
    said = frozenset(stems(f"{pair.question} {pair.answer}"))
    shortlist = tuple(thing(name) for name in pair.shortlist)
    found = [
        one
        for one in dict.fromkeys((*shortlist, *things))
        if any(is_found(concept, one.name) and _begins(concept, one.name) for concept in positive)
        and (one in shortlist or (not frozenset(map(same_word, one.stems)) <= told and one.head in said))
    ]
    if not found:
        spoken = [
            mention.things[0] for mention in mentions(pair.answer, tuple(things)) if len(mention.things) == 1
        ]
        found = [one for one in spoken if any(word in pair.intent.text.lower() for word in one.stems)]
    if not found:
        return (), ()
    open_nouns = [
        mention.things
        for mention in mentions(step, tuple(things))
        if len(mention.things) > 1 and any(each in mention.things for each in found)
    ]
    near = open_nouns[0] if open_nouns else tuple(one for one in things if _alike(one, found[0]))
    return tuple(found), tuple(dict.fromkeys((*shortlist, *near)))


def _begins(concept: Concept, name: str) -> bool:
    """Return True if a word of a name begins as a concept does: to wash is not meant in dishwasher."""
    return any(
        re.search(rf"\b{re.escape(alternative.text.lower())}", name.lower())
        for alternative in concept.alternatives
    )


def _alike(thing: Thing, other: Thing) -> bool:
    if not other.category:
        return thing.head == other.head
    wider = categories()[other.category].wider
    near = [name for name in wider if name not in ("ingredient", "kitchenware", "tableware")] or wider[:1]
    return any(thing.is_a(name) for name in near)


def called(thing: Thing) -> Iterable[str]:
    """Words by which people call a thing of that category or of a wider one."""
    for name in categories()[thing.category].wider if thing.category else ():
        for words in categories()[name].words:
            yield words[-1]


def _attributes(target: Sequence[Thing], question: str) -> frozenset[str]:
    words = word_table()
    own = {word for one in target for word in (*one.stems, *one.name.lower().split())}
    found = {name for name, values in words.values.items() if own & values}
    found |= {words.asked[one] for one in TOKEN.findall(question) if one in words.asked}
    return frozenset(found | ({"taste"} if target and target[0].is_a("ingredient") else set()))


def measured_in(text: str) -> frozenset[str]:
    """Return what is counted or measured: the noun behind ``how many``."""
    hit = re.search(r"\bhow (?:much|many|thick|dark|hot)\b(.*)", text)
    return (
        frozenset(map(same_word, stems(" ".join(noun_phrase(TOKEN.findall(hit[1])))))) - word_table().empty
        if hit
        else frozenset()
    )


def _nouns_after(question: str) -> frozenset[str]:
    """Return the noun that the data's own question asks for: which BOWL."""
    tokens = TOKEN.findall(question)
    found: set[str] = set()
    for place, token in enumerate(tokens):
        if token in QUESTION_WORDS:
            found |= set(stems(" ".join(noun_phrase(tokens[place + 1 :]))))
    return frozenset(map(same_word, found)) - word_table().empty


def noun_phrase(tokens: Sequence[str]) -> list[str]:
    """The words of a noun phrase, up to a verb, a pronoun or a preposition; ``of the`` is stepped over."""
    found: list[str] = []
    for place, token in enumerate(tokens):
        if token == "of" or (token in ("the", "your") and place and tokens[place - 1] == "of"):
            continue
        if token in word_table().stops:
            break
        found.append(token)
    return found


def _step(plan: Sequence[str], step: int | None) -> str:
    return plan[step] if step is not None and 0 <= step < len(plan) else ""


def _unwanted(pair: Pair) -> Iterable[str]:
    """Words of what the intent says must not be."""
    concepts = () if pair.intent is None else pair.intent.concepts
    for one in (
        alternative for concept in concepts if concept.negative for alternative in concept.alternatives
    ):
        yield from content_of(one.text)


def _goes_in(answer: str) -> bool:
    return YES_NO.sub("", answer).strip().lower().startswith(_WITHIN)


def content_of(text: str) -> frozenset[str]:
    """Words that say something, in one form; of several that mean the same, the first."""
    words = word_table()
    plain = (stem for stem in stems(text.lower()) if stem not in words.empty)
    return frozenset(same_word(one) for one in plain if not one.isdigit() or len(one) < 3) - words.empty


def kitchen_words(words: Iterable[str]) -> frozenset[str]:
    """Return those of some words that name a thing of a kitchen."""
    return frozenset(word for word in words if category_of_words((word,)) or thing(word).category)


@lru_cache(maxsize=8192)
def same_word(word: str) -> str:
    """Return a word in its one form, or the first of those that mean the same."""
    table = word_table().same
    return table.get(word, table.get(word.removesuffix("ed"), table.get(word.removesuffix("ing"), word)))
