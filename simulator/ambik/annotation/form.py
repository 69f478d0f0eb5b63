"""An annotator's form: the rules that it has to keep, and what its intent accepts (spec 3, 11.1).

What can be decided for certain is an error. What is guessed from words (which objects a text names, how many
things it leaves open) is a warning: people see better. Texts are compared with white space squeezed and in
small letters, plan lines without a final stop. Problems are told by code, field and what the rule found
there; tables/pair_form.yaml has their levels, and their sentences in English and Chinese. How the fields are
read: `forms.read_pair_form`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any, Final, Literal, NamedTuple, cast

from simulator.ambik.data import load_drafts, load_pairs
from simulator.ambik.forms import read_pair_form
from simulator.ambik.intents import acceptable, folded, realises
from simulator.ambik.items import Draft, Pair, line_of, parting
from simulator.ambik.naming import bare, named, names_any, vocabulary
from simulator.ambik.playing import ANNOTATOR
from simulator.ambik.records import PairForm
from simulator.ambik.terms import AMBIGUITIES, APPLIANCES, Ambiguity, table
from simulator.forms import SeatFormError
from simulator.word_diff import word_diff

Level = Literal["error", "warning"]
ORDER: Final[tuple[Ambiguity, ...]] = ("safety", "common_sense_knowledge", "preferences")
"""In which annotators look at the candidates; they take the first that is adequate."""
_TEXTS: Final = ("clear", "objects", "scene", "ambiguous", "question", "answer", "clear_plan")
_ARTICLE: Final = re.compile(r"^(?:an?|the) ", re.I)
_ANY_ARTICLE: Final = re.compile(r"\b(?:an?|the)\b", re.I)
# How "u" and "h" sound, letters do not tell.
_WRONG_ARTICLE: Final = re.compile(r"\b(?:a (?!one\b)[aeio]\w*|an [b-dfgj-np-tv-z]\w*)", re.I)
_WORD: Final = re.compile(r"[\w'’-]+")
_BETWEEN: Final = {"zh": "、"}


class Problem(NamedTuple):
    """Something that is, or may be, wrong with a form.

    Attributes:
        field: of the form, that it is about (`forms.read_pair_form`).
        details: what the rule found there; of `passed_over` types, of plans their lengths.
    """

    code: str
    field: str
    details: tuple[str, ...] = ()

    @property
    def detail(self) -> str:
        """Return what was found, as it is logged."""
        return ", ".join(self.details)

    @property
    def level(self) -> Level:
        """Return ``error`` if the form cannot stay like this, else ``warning``."""
        return cast(Level, problem_table()[self.code]["level"])

    def sentence(self, language: str = "en") -> str:
        """Return what to say of it: in English or Chinese."""
        detail = _BETWEEN.get(language, ", ").join(self.details)
        return problem_table()[self.code][language].format(detail=detail)

    def __str__(self) -> str:
        return f"{self.field}: {self.sentence()}"


class PairFormError(SeatFormError[Problem]):
    """An annotator's form breaks rules, warnings not among them; nothing is kept."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        super().__init__(problems, ANNOTATOR, code="pair")


def problem_table() -> Mapping[str, Mapping[str, str]]:
    """Return all codes, each with its level and its sentence by language."""
    problems: dict[str, dict[str, str]] = table("pair_form")["problems"]
    return problems


@cache
def known_objects() -> tuple[str, ...]:
    """Return what may be called an object: all that the built-in scenes hold."""
    drafts = (name for draft in load_drafts() for name in draft.objects)
    return tuple(dict.fromkeys((*vocabulary(load_pairs()), *drafts)))


def check_pair_form(draft: Draft, form: PairForm) -> tuple[Problem, ...]:
    """Return what is, or may be, wrong with a form; nothing if it is good."""
    if form.pair is None:
        return () if form.delete.strip() else (Problem("no_reason", "delete"),)
    kept = (Problem("deleted", "delete"),) if form.delete else ()
    earlier = passed_by(draft, form.pair.type)
    unsaid = (
        (Problem("passed_over", "passed_over", earlier),) if earlier and not form.passed_over.strip() else ()
    )
    return (*kept, *unsaid, *_check_ticked(form), *pair_problems(form.pair))


def check_fields(draft: Draft, move: Mapping[str, Any]) -> tuple[Problem, ...]:
    """Return the same of a form that is being filled in: the type may be missing, the step any number.

    Raises:
        SeatError: if it is no such form.
    """
    typed, step = move.get("type") in AMBIGUITIES, move.get("step")
    negative = type(step) is int and step < 0
    filled = {**move, "type": move["type"] if typed else AMBIGUITIES[0], "step": None if negative else step}
    form = read_pair_form(draft, filled)
    if form.pair is None or typed:
        problems = check_pair_form(draft, form)
    else:
        problems = (Problem("no_type", "type"), *_check_ticked(form), *pair_problems(form.pair, typed=False))
    if not negative:
        return problems
    outside = Problem("step_outside", "step", _lengths(form.pair) if form.pair else ())
    return tuple(outside if problem.code == "no_step" else problem for problem in problems)


def errors_of(problems: Iterable[Problem]) -> tuple[Problem, ...]:
    """Return those with which a form cannot stay as it is."""
    return tuple(problem for problem in problems if problem.level == "error")


def refuse_errors(problems: Iterable[Problem]) -> None:
    """Refuse a form that breaks rules.

    Raises:
        PairFormError: if there is an error among the problems; warnings pass.
    """
    if errors := errors_of(problems):
        raise PairFormError(errors)


def preview(pair: Pair) -> tuple[tuple[str, bool, bool], ...]:
    """Return each of the plans' lines, and whether the intent, and whether the variants accept it.

    `pair`: as it stands; nothing is shown while neither is written.
    """
    intent, lines = pair.intent, dict.fromkeys((*pair.clear_plan, *pair.ambiguous_plan))
    if intent is None and not pair.variants:
        return ()
    return tuple(
        (line, intent is not None and realises(intent, line), acceptable(pair.variants, line))
        for line in lines
    )


def passed_by(draft: Draft, chosen: Ambiguity) -> tuple[Ambiguity, ...]:
    """Return the types whose candidates come before the one that was chosen."""
    return tuple(kind for kind in ORDER[: ORDER.index(chosen)] if kind in draft.candidates)


def _check_ticked(form: PairForm) -> tuple[Problem, ...]:
    return () if form.one_ambiguity else (Problem("not_one", "one_ambiguity"),)


# ---- the rules, in the order of the work


def pair_problems(pair: Pair, *, typed: bool = True) -> Iterator[Problem]:
    """Yield what the fields of a pair break.

    `typed`: whether a type was chosen; else no rule that needs one is applied.
    """
    yield from (Problem("empty", name) for name in _TEXTS if not getattr(pair, name))
    yield from _objects(pair)
    yield from _scene(pair)
    yield from _check_names(pair, known_objects())
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


def _objects(pair: Pair) -> Iterator[Problem]:
    yield from _check_list(pair.objects, "objects")
    for name in pair.objects:
        if _ARTICLE.match(name):
            yield Problem("article_in_list", "objects", (name,))
        if folded(name) in APPLIANCES:
            yield Problem("appliance_listed", "objects", (name,))


def _check_list(names: Sequence[str], field: str) -> Iterator[Problem]:
    counts = Counter(map(folded, names))
    yield from (Problem("repeated", field, (name,)) for name, times in counts.items() if times > 1)
    yield from (Problem("comma", field, (name,)) for name in names if "," in name)


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


def _check_names(pair: Pair, words: Iterable[str]) -> Iterator[Problem]:
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
    elif len(places := changes(pair.clear, pair.ambiguous)) > 1:
        yield Problem("several_differences", "ambiguous", ("; ".join(places),))


def changes(clear: str, ambiguous: str) -> tuple[str, ...]:
    """Return the places in which two tasks differ, each in words: an article alone is none.

    Changes with nothing but linking words between them are one: they are within one noun group.
    """
    links: Sequence[str] = table("pair_form")["links"]
    places: list[list[str]] = []
    together = False
    for piece in word_diff(folded(clear), folded(ambiguous)):
        content = any(word not in links for word in _WORD.findall(piece.text))
        if piece.change == "same":
            together = together and not content
        elif content or together:
            if together:
                places[-1].append(piece.text.strip())
            else:
                places.append([piece.text.strip()])
            together = True
    return tuple(" / ".join(filter(None, place)) for place in places)


def _lengths(pair: Pair) -> tuple[str, str]:
    return str(len(pair.clear_plan)), str(len(pair.ambiguous_plan))


def _plans(pair: Pair) -> Iterator[Problem]:
    clear, ambiguous, step = pair.clear_plan, pair.ambiguous_plan, pair.step
    if not ambiguous:
        yield Problem("empty", "ambiguous_plan")
    if not clear or not ambiguous:
        return
    if len(clear) != len(ambiguous):
        yield Problem("plans_length", "ambiguous_plan", _lengths(pair))
    if step is None:
        yield Problem("no_step", "step")
    elif not 0 <= step < min(len(clear), len(ambiguous)):
        yield Problem("step_outside", "step", _lengths(pair))
    else:
        clear, ambiguous = tuple(map(bare, clear)), tuple(map(bare, ambiguous))
        if clear[step] == ambiguous[step]:
            yield Problem("step_equal", "step")
        place = parting(clear[:step], ambiguous)
        if place is not None:
            yield Problem("parts_before", "step", (str(place + 1),))


def _shortlist(pair: Pair) -> Iterator[Problem]:
    if pair.type != "preferences":
        if pair.shortlist:
            yield Problem("shortlist_type", "shortlist")
        return
    yield from _check_list(pair.shortlist, "shortlist")
    if len(pair.shortlist) < 2:
        yield Problem("shortlist_single" if pair.shortlist else "shortlist_empty", "shortlist")
    there = set(map(folded, pair.things))
    absent = (name for name in pair.shortlist if folded(name) not in there)
    yield from (Problem("shortlist_scene", "shortlist", (name,)) for name in absent)


def _intent(pair: Pair) -> Iterator[Problem]:
    intent = pair.intent
    if intent is None:
        yield Problem("empty", "intent")
    elif intent.malformed:
        yield Problem("intent_malformed", "intent", (intent.text,))
    else:
        yield from (Problem(odd.code, "intent", (odd.concept,)) for odd in intent.warnings)
        if pair.clear_step and not realises(intent, pair.clear_step):
            yield Problem("not_realised", "intent", (pair.clear_step,))
        if (line := line_of(pair.ambiguous_plan, pair.step)) and realises(intent, line):
            yield Problem("gives_away", "ambiguous_plan")


def _variants(pair: Pair, typed: bool) -> Iterator[Problem]:
    if not pair.variants:
        yield Problem("empty", "variants")
        return
    for variant in pair.variants:
        if variant.malformed:
            yield Problem("intent_malformed", "variants", (variant.text,))
        yield from (Problem(odd.code, "variants", (odd.concept,)) for odd in variant.warnings)
    texts = tuple(dict.fromkeys(folded(variant.text) for variant in pair.variants))
    if typed and pair.type == "preferences" and len(texts) < 2:
        yield Problem("variants_few", "variants")
    line = pair.clear_step
    if line and pair.intent and realises(pair.intent, line) and not acceptable(pair.variants, line):
        yield Problem("variants_exclude", "variants", (line,))
    if typed and pair.type != "preferences" and pair.intent and texts != (folded(pair.intent.text),):
        yield Problem("variants_other", "variants")
