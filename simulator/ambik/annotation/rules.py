"""The rules of an annotator's form, one by one (spec 11.1).

What can be decided for certain is an error. What is guessed from words (which objects a text names, how many
things it leaves open) is a warning: people see better. Texts are compared with white space squeezed and in
small letters, plan lines without a final stop.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from importlib.resources import files
from typing import Any, Final, Literal, NamedTuple, cast

import yaml

from simulator.ambik.data import load_drafts, load_pairs
from simulator.ambik.intents import acceptable, realises
from simulator.ambik.naming import bare, folded, named, names_any, vocabulary
from simulator.ambik.pairs import Draft, Pair
from simulator.ambik.terms import APPLIANCES, Ambiguity
from simulator.word_diff import Piece, word_diff

Level = Literal["error", "warning"]
ORDER: Final[tuple[Ambiguity, ...]] = ("safety", "common_sense_knowledge", "preferences")
"""In which annotators look at the candidates; they take the first that is adequate."""
TEXTS: Final = ("clear", "objects", "scene", "ambiguous", "question", "answer", "clear_plan")
"""Fields that no form leaves empty, beside those that have rules of their own."""
_ARTICLE: Final = re.compile(r"^(?:an?|the) ", re.I)
_ANY_ARTICLE: Final = re.compile(r"\b(?:an?|the)\b", re.I)
# How "u" and "h" sound, letters do not tell.
_WRONG_ARTICLE: Final = re.compile(r"\b(?:a (?!one\b)[aeio]\w*|an [b-dfgj-np-tv-z]\w*)", re.I)
_WORD: Final = re.compile(r"[\w'’-]+")
_BETWEEN: Final = {"zh": "、"}


class Problem(NamedTuple):
    """Something that is, or may be, wrong with a form.

    Attributes:
        code: names the rule; see tables/pair_form.yaml.
        field: of the form, that it is about (`forms.read_pair_form`).
        details: what the rule found there; of `passed_over` types, of plans their lengths.
    """

    code: str
    field: str
    details: tuple[str, ...] = ()

    @property
    def detail(self) -> str:
        """What was found, as it is logged."""
        return ", ".join(self.details)

    @property
    def level(self) -> Level:
        """Whether the form cannot stay like this, or may."""
        return cast(Level, problem_table()[self.code]["level"])

    def sentence(self, language: str = "en") -> str:
        """Return what to say of it: in English or Chinese."""
        detail = _BETWEEN.get(language, ", ").join(self.details)
        return problem_table()[self.code][language].format(detail=detail)

    def __str__(self) -> str:
        return f"{self.field}: {self.sentence()}"


@lru_cache(maxsize=1)
def _table() -> dict[str, Any]:
    text = (files("simulator.ambik") / "tables" / "pair_form.yaml").read_text(encoding="utf-8")
    found: dict[str, Any] = yaml.safe_load(text)
    return found


def problem_table() -> Mapping[str, Mapping[str, str]]:
    """Return all codes, each with its level and its sentence by language."""
    found: dict[str, dict[str, str]] = _table()["problems"]
    return found


@lru_cache(maxsize=1)
def known_objects() -> tuple[str, ...]:
    """Return what may be called an object: all that the built-in scenes hold."""
    drafts = (name for draft in load_drafts() for name in draft.objects)
    return tuple(dict.fromkeys((*vocabulary(load_pairs()), *drafts)))


def pair_problems(
    draft: Draft, pair: Pair, *, typed: bool = True, words: Iterable[str] | None = None
) -> Iterator[Problem]:
    """Yield what the fields of a pair break, in the order of the work.

    Args:
        draft: what it was made of.
        pair: as the annotator leaves it.
        typed: whether a type was chosen; else no rule that needs one is applied.
        words: names of objects that a text may name; default: those of the built-in scenes.
    """
    for name in TEXTS:
        if not getattr(pair, name):
            yield Problem("empty", name)
    yield from _objects(pair)
    yield from _scene(pair)
    yield from _named(pair, known_objects() if words is None else words)
    if not pair.indirect:
        yield Problem("indirect_empty", "indirect")
    yield from _task(pair)
    if pair.question and not pair.question.endswith(("?", "\uff1f")):
        yield Problem("question_mark", "question")
    yield from _plans(pair)
    if typed:
        yield from _shortlist(pair)
    yield from _intent(pair)
    yield from _variants(pair, typed)


def passed_by(draft: Draft, chosen: Ambiguity) -> tuple[Ambiguity, ...]:
    """Return the types whose candidates come before the one that was chosen."""
    return tuple(kind for kind in ORDER[: ORDER.index(chosen)] if kind in draft.candidates)


def changes(clear: str, ambiguous: str) -> tuple[str, ...]:
    """Return the places in which two tasks differ, each in words: an article alone is none.

    Changes with nothing but linking words between them are one: they are within one noun group.
    """
    places: list[list[str]] = []
    together = False
    for piece in _pieces(clear, ambiguous):
        if piece.change == "same":
            together = together and not _content(piece.text)
        elif _content(piece.text) or together:
            if together:
                places[-1].append(piece.text.strip())
            else:
                places.append([piece.text.strip()])
            together = True
    return tuple(" / ".join(filter(None, place)) for place in places)


def _pieces(clear: str, ambiguous: str) -> tuple[Piece, ...]:
    return word_diff(folded(clear), folded(ambiguous))


def _content(text: str) -> bool:
    links: Sequence[str] = _table()["links"]
    return any(word not in links for word in _WORD.findall(text))


def _objects(pair: Pair) -> Iterator[Problem]:
    yield from _listed(pair.objects, "objects")
    for name in pair.objects:
        if _ARTICLE.match(name):
            yield Problem("article_in_list", "objects", (name,))
        if folded(name) in APPLIANCES:
            yield Problem("appliance_listed", "objects", (name,))


def _listed(names: Sequence[str], field: str) -> Iterator[Problem]:
    for name, times in Counter(map(folded, names)).items():
        if times > 1:
            yield Problem("repeated", field, (name,))
    for name in names:
        if "," in name:
            yield Problem("comma", field, (name,))


def _scene(pair: Pair) -> Iterator[Problem]:
    if not pair.scene:
        return
    for name in pair.objects:
        if not names_any(pair.scene, [name]):
            yield Problem("not_in_words", "scene", (name,))
    if not _ANY_ARTICLE.search(pair.scene):
        yield Problem("no_articles", "scene")
    for words in dict.fromkeys(_WRONG_ARTICLE.findall(pair.scene)):
        yield Problem("article_form", "scene", (words,))


def _named(pair: Pair, words: Iterable[str]) -> Iterator[Problem]:
    there = set(map(folded, pair.things))
    for name in named(pair.clear, [*pair.things, *words]):
        # "The onion" of a scene with a red onion is that onion.
        if folded(name) not in there and not any(names_any(thing, [name]) for thing in pair.things):
            yield Problem("object_missing", "clear", (name,))


def _task(pair: Pair) -> Iterator[Problem]:
    if not pair.clear or not pair.ambiguous:
        return
    if folded(pair.clear) == folded(pair.ambiguous):
        yield Problem("same_task", "ambiguous")
        return
    if len(places := changes(pair.clear, pair.ambiguous)) > 1:
        yield Problem("several_differences", "ambiguous", ("; ".join(places),))


def _plans(pair: Pair) -> Iterator[Problem]:
    clear, ambiguous, step = pair.clear_plan, pair.ambiguous_plan, pair.step
    if not ambiguous:
        yield Problem("empty", "ambiguous_plan")
    if not clear or not ambiguous:
        return
    lengths = (str(len(clear)), str(len(ambiguous)))
    if len(clear) != len(ambiguous):
        yield Problem("plans_length", "ambiguous_plan", lengths)
    if step is None:
        yield Problem("no_step", "step")
        return
    shared = list(zip(map(bare, clear), map(bare, ambiguous), strict=False))
    if not 0 <= step < len(shared):
        yield Problem("step_outside", "step", lengths)
        return
    if shared[step][0] == shared[step][1]:
        yield Problem("step_equal", "step")
    parting = next((place for place, lines in enumerate(shared[:step]) if lines[0] != lines[1]), None)
    if parting is not None:
        yield Problem("parts_before", "step", (str(parting + 1),))


def _shortlist(pair: Pair) -> Iterator[Problem]:
    if pair.type != "preferences":
        if pair.shortlist:
            yield Problem("shortlist_type", "shortlist")
        return
    yield from _listed(pair.shortlist, "shortlist")
    if len(pair.shortlist) < 2:
        yield Problem("shortlist_single" if pair.shortlist else "shortlist_empty", "shortlist")
    there = set(map(folded, pair.things))
    for name in pair.shortlist:
        if folded(name) not in there:
            yield Problem("shortlist_scene", "shortlist", (name,))


def _intent(pair: Pair) -> Iterator[Problem]:
    intent = pair.intent
    if intent is None:
        yield Problem("empty", "intent")
        return
    if intent.malformed:
        yield Problem("intent_malformed", "intent", (intent.text,))
        return
    for odd in intent.warnings:
        yield Problem(odd.code, "intent", (odd.concept,))
    if (line := _line(pair.clear_plan, pair.step)) and not realises(intent, line):
        yield Problem("not_realised", "intent", (line,))
    if (line := _line(pair.ambiguous_plan, pair.step)) and realises(intent, line):
        yield Problem("gives_away", "ambiguous_plan")


def _variants(pair: Pair, typed: bool) -> Iterator[Problem]:
    if not pair.variants:
        yield Problem("empty", "variants")
        return
    for variant in pair.variants:
        if variant.malformed:
            yield Problem("intent_malformed", "variants", (variant.text,))
        for odd in variant.warnings:
            yield Problem(odd.code, "variants", (odd.concept,))
    texts = tuple(dict.fromkeys(folded(variant.text) for variant in pair.variants))
    if typed and pair.type == "preferences" and len(texts) < 2:
        yield Problem("variants_few", "variants")
    line = _line(pair.clear_plan, pair.step)
    meant = pair.intent is not None and bool(line) and realises(pair.intent, line)
    if meant and not acceptable(pair.variants, line):
        yield Problem("variants_exclude", "variants", (line,))
    if typed and pair.type != "preferences" and pair.intent and texts != (folded(pair.intent.text),):
        yield Problem("variants_other", "variants")


def _line(plan: Sequence[str], step: int | None) -> str:
    return plan[step] if step is not None and 0 <= step < len(plan) else ""
