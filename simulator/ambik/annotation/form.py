"""The rules of an annotator's form, and a preview of what its intent accepts (spec 3, 11.1).

A certain violation is an error. A guess from words (which objects a text names, how many things it leaves
open) is a warning, since people judge better. Texts are compared case-folded and with white space squeezed,
plan lines without a final stop. A problem has a code, a field and details; tables/pair_form.yaml has its
level, and its sentences in English and Chinese. `forms.read_pair_form` reads the fields.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any, Final, Literal, NamedTuple, cast

from simulator.ambik.data import load_drafts, load_pairs
from simulator.ambik.forms import read_pair_form
from simulator.ambik.intents import acceptable, fold, realises
from simulator.ambik.items import Draft, Pair, line_of, parting
from simulator.ambik.naming import bare, names_any, names_in, vocabulary
from simulator.ambik.playing import ANNOTATOR
from simulator.ambik.records import PairForm
from simulator.ambik.terms import AMBIGUITIES, APPLIANCES, Ambiguity, table
from simulator.forms import SeatFormError
from simulator.word_diff import word_diff

Level = Literal["error", "warning"]
ORDER: Final[tuple[Ambiguity, ...]] = ("safety", "common_sense_knowledge", "preferences")
"""The order in which annotators look at the candidates; they take the first that is adequate."""
_TEXTS: Final = ("clear", "objects", "scene", "ambiguous", "question", "answer", "clear_plan")
_ARTICLE: Final = re.compile(r"^(?:an?|the) ", re.I)
_ANY_ARTICLE: Final = re.compile(r"\b(?:an?|the)\b", re.I)
# Words in "u" and "h" are not checked, since spelling does not tell how they sound.
_WRONG_ARTICLE: Final = re.compile(r"\b(?:a (?!one\b)[aeio]\w*|an [b-dfgj-np-tv-z]\w*)", re.I)
_WORD: Final = re.compile(r"[\w'’-]+")
_SEPARATORS: Final = {"zh": "、"}


class Problem(NamedTuple):
    """An error or a warning about a form.

    `details`: what the rule found; types for `passed_over`, lengths for plans.
    """

    code: str
    field: str
    details: tuple[str, ...] = ()

    @property
    def detail(self) -> str:
        """The details as logged."""
        return ", ".join(self.details)

    @property
    def level(self) -> Level:
        """``error`` if the form must be changed, otherwise ``warning``."""
        return cast(Level, problem_table()[self.code]["level"])

    def sentence(self, language: str = "en") -> str:
        """Return the message in English or Chinese."""
        detail = _SEPARATORS.get(language, ", ").join(self.details)
        return problem_table()[self.code][language].format(detail=detail)

    def __str__(self) -> str:
        return f"{self.field}: {self.sentence()}"


class PairFormError(SeatFormError[Problem]):
    """An annotator's form has errors (not only warnings); it is not stored."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        super().__init__(problems, ANNOTATOR, code="pair")


def problem_table() -> Mapping[str, Mapping[str, str]]:
    """Return the level and the sentences by language of every problem code."""
    problems: dict[str, dict[str, str]] = table("pair_form")["problems"]
    return problems


@cache
def known_objects() -> tuple[str, ...]:
    """Return the names of all objects in the built-in scenes."""
    drafts = (name for draft in load_drafts() for name in draft.objects)
    return tuple(dict.fromkeys((*vocabulary(load_pairs()), *drafts)))


def check_pair_form(draft: Draft, form: PairForm) -> tuple[Problem, ...]:
    """Return the problems of a form; empty if there are none."""
    if form.pair is None:
        return () if form.delete.strip() else (Problem("no_reason", "delete"),)
    problems = [Problem("deleted", "delete")] if form.delete else []
    earlier = earlier_candidates(draft, form.pair.type)
    if earlier and not form.passed_over.strip():
        problems.append(Problem("passed_over", "passed_over", earlier))
    return (*problems, *_check_ticked(form), *pair_problems(form.pair))


def check_fields(draft: Draft, move: Mapping[str, Any]) -> tuple[Problem, ...]:
    """Return the problems of an unfinished form: the type may be missing, the step any number.

    Raises:
        SeatError: if it is not such a form.
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
    """Return the problems that are errors."""
    return tuple(problem for problem in problems if problem.level == "error")


def preview(pair: Pair) -> tuple[tuple[str, bool, bool], ...]:
    """Return each line of the plans, and whether the intent and whether the variants accept it.

    Returns:
        Nothing while the pair has neither intent nor variants.
    """
    intent, lines = pair.intent, dict.fromkeys((*pair.clear_plan, *pair.ambiguous_plan))
    if intent is None and not pair.variants:
        return ()
    return tuple(
        (line, intent is not None and realises(intent, line), acceptable(pair.variants, line))
        for line in lines
    )


def earlier_candidates(draft: Draft, chosen: Ambiguity) -> tuple[Ambiguity, ...]:
    """Return the types whose candidates come before the chosen one."""
    return tuple(kind for kind in ORDER[: ORDER.index(chosen)] if kind in draft.candidates)


def _check_ticked(form: PairForm) -> tuple[Problem, ...]:
    return () if form.one_ambiguity else (Problem("not_one", "one_ambiguity"),)


# ---- the rules, in the order of the work


def pair_problems(pair: Pair, *, typed: bool = True) -> Iterator[Problem]:
    """Yield the problems of a pair's fields.

    `typed`: False if no type was chosen yet; rules that need one are then skipped.
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
        if fold(name) in APPLIANCES:
            yield Problem("appliance_listed", "objects", (name,))


def _check_list(names: Sequence[str], field: str) -> Iterator[Problem]:
    counts = Counter(map(fold, names))
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
    present = set(map(fold, pair.things))
    for name in names_in(pair.clear, [*pair.things, *words]):
        # "The onion" in a scene with a red onion is that onion.
        if fold(name) not in present and not any(names_any(thing, [name]) for thing in pair.things):
            yield Problem("object_missing", "clear", (name,))


def _task(pair: Pair) -> Iterator[Problem]:
    if not pair.clear or not pair.ambiguous:
        return
    if fold(pair.clear) == fold(pair.ambiguous):
        yield Problem("same_task", "ambiguous")
    elif len(places := changes(pair.clear, pair.ambiguous)) > 1:
        yield Problem("several_differences", "ambiguous", ("; ".join(places),))


def changes(clear: str, ambiguous: str) -> tuple[str, ...]:
    """Return the texts of the places in which two tasks differ, ignoring differences in articles.

    Changes with only linking words between them count as one, since they are within one noun group.
    """
    links: Sequence[str] = table("pair_form")["links"]
    places: list[list[str]] = []
    same_place = False
    for piece in word_diff(fold(clear), fold(ambiguous)):
        content = any(word not in links for word in _WORD.findall(piece.text))
        if piece.change == "same":
            same_place = same_place and not content
        elif content or same_place:
            if same_place:
                places[-1].append(piece.text.strip())
            else:
                places.append([piece.text.strip()])
            same_place = True
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
    present = set(map(fold, pair.things))
    absent = (name for name in pair.shortlist if fold(name) not in present)
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
    texts = tuple(dict.fromkeys(fold(variant.text) for variant in pair.variants))
    if typed and pair.type == "preferences" and len(texts) < 2:
        yield Problem("variants_few", "variants")
    line = pair.clear_step
    if line and pair.intent and realises(pair.intent, line) and not acceptable(pair.variants, line):
        yield Problem("variants_exclude", "variants", (line,))
    if typed and pair.type != "preferences" and pair.intent and texts != (fold(pair.intent.text),):
        yield Problem("variants_other", "variants")
