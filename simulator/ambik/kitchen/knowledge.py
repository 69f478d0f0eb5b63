"""Common-sense rules of the kitchen (tables/common_sense.yaml), and the robot's sentences."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Annotated, Any, Final, Literal, NamedTuple

from pydantic import BaseModel, BeforeValidator

from simulator.ambik.naming import Thing, Words, stems
from simulator.ambik.terms import table

Kind = Literal["common_sense", "safety"]


def _compile(text: str) -> re.Pattern[str]:
    return re.compile(text, re.IGNORECASE)


Pattern = Annotated[re.Pattern[str], BeforeValidator(_compile)]
Name = Annotated[Words, BeforeValidator(stems)]


class Note(NamedTuple):
    """A text in both languages."""

    en: str
    zh: str


NoteField = Annotated[Note, BeforeValidator(lambda texts: Note(**texts))]


class Reason(BaseModel, frozen=True):
    """A reason, of common sense or of safety."""

    why: NoteField
    kind: Kind = "common_sense"


class Condition(BaseModel, frozen=True):
    """The words that make a rule apply.

    `when`: pattern for the step; None to match any.
    `goal`: pattern for step, task or previous steps, required in addition; None to match any.
    """

    when: Pattern | None = None
    goal: Pattern | None = None

    def holds(self, step: str, goal: str) -> bool:
        """Return True if both patterns match."""
        return (self.when is None or self.when.search(step) is not None) and (
            self.goal is None or self.goal.search(goal) is not None
        )


class Choice(Condition, Reason, frozen=True):
    """The rule for choosing from several things.

    Attributes:
        head: the noun by which they are named; empty for any.
        pick: names, best first.
        drop: names of things to exclude.
        exact: True if a thing's name must be exactly the picked name.
    """

    about: frozenset[str]
    head: str = ""
    pick: tuple[Name, ...] = ()
    drop: tuple[Name, ...] = ()
    exact: bool = False

    def concerns(self, category: str, head: str, things: Sequence[Thing]) -> bool:
        """Return True if the rule is about things named by a category or by their noun."""
        by_category = category in self.about or any(thing.category in self.about for thing in things)
        return by_category and self.head in ("", head)

    def picked(self, things: Sequence[Thing]) -> tuple[Thing, ...]:
        """Return the things with the first picked name that any of them has, without dropped ones."""
        left = tuple(thing for thing in things if not any(is_called(thing, name) for name in self.drop))
        for name in self.pick:
            if fit := tuple(
                thing for thing in left if (thing.stems == name if self.exact else is_called(thing, name))
            ):
                return fit
        return left if self.drop else ()


class Purpose(Reason, frozen=True):
    """The tools for a purpose.

    Attributes:
        when: pattern for a text with this purpose.
        need: names of things, best first.
        stand: what every kitchen has for it; empty if nothing.
        named: categories of tools; if a step names one, nothing is missing.
        phrase: the addition to a step, with ``{}`` for the thing; empty if the rule only settles vague words.
    """

    when: Pattern
    need: tuple[Name, ...]
    stand: str = ""
    named: frozenset[str] = frozenset()
    phrase: str = ""

    def fittest(self, things: Sequence[Thing]) -> str:
        """Return the name of the best thing; empty if there is none."""
        for name in self.need:
            for thing in things:
                if thing.stems == name or (is_called(thing, name) and thing.stems[-1] == name[-1]):
                    return thing.name
        return self.stand


class Rewrite(Condition, Reason, frozen=True):
    """The rewrite of a step that leaves open what to do.

    Attributes:
        food: categories one of which must be named; empty for any.
        sub: pattern and replacement.
        add: text to add if nothing can be replaced; empty for none.
    """

    food: frozenset[str] = frozenset()
    sub: tuple[Pattern, str]
    add: str = ""


class Amount(Condition, frozen=True):
    """A rule for steps that leave open how long, how much or how many.

    `stated`: pattern for a text that states the amount; `options`: possible amounts, as added to the step.
    """

    stated: Pattern
    number: bool = False
    spoken: NoteField
    options: tuple[str, ...]


class Something(BaseModel, frozen=True):
    """Words that describe a thing instead of naming it, and the category that is meant."""

    words: Annotated[re.Pattern[str], BeforeValidator(lambda text: _compile(rf"\b({text})\b"))]
    category: str


class CommonSense(BaseModel, frozen=True):
    """The table of rules; of each kind of rule, the first that applies is used.

    Attributes:
        places: places of things, by name.
        perishable: categories of things kept in the fridge.
        fetch: pattern for taking something from its place.
        seldom: words in names of things that are used only if there is nothing else.
        knowable: words that imply that everybody knows which one is meant: suitable, proper.
        wide: categories too wide for their names to be informative.
        also_verbs: nouns that are also verbs.
        imperatives: verbs with which an answer says what to do.
        adverbs: words that may precede the verb of a step.
    """

    choices: tuple[Choice, ...]
    purposes: tuple[Purpose, ...]
    rewrites: tuple[Rewrite, ...]
    amounts: tuple[Amount, ...]
    somethings: tuple[Something, ...]
    places: Mapping[str, Reason]
    perishable: tuple[str, ...]
    fetch: Pattern
    seldom: frozenset[str]
    knowable: frozenset[str]
    wide: frozenset[str]
    also_verbs: frozenset[str]
    after_verbs: frozenset[str]
    imperatives: frozenset[str]
    adverbs: frozenset[str]
    patterns: Mapping[str, Pattern]


@cache
def sense() -> CommonSense:
    """Return the table of common sense."""
    return CommonSense.model_validate(table("common_sense"))


def says(pattern: str, text: str) -> re.Match[str] | None:
    """Return the match of a named pattern of the table in a text."""
    return sense().patterns[pattern].search(text)


def is_perishable(thing: Thing) -> bool:
    """Return True if a thing is kept in the fridge."""
    return thing.is_a(*sense().perishable)


def is_called(thing: Thing, name: Words) -> bool:
    """Return True if all words of `name` are in the thing's name."""
    return all(word in thing.stems for word in name)


@dataclass(frozen=True, slots=True)
class Settled:
    """The things left by a rule of common sense: one, or several equally good ones."""

    things: tuple[Thing, ...]
    rule: Choice

    @property
    def by_step(self) -> bool:
        """True if the rule applies because of words in the step itself."""
        return self.rule.when is not None


def settle(category: str, head: str, things: Sequence[Thing], step: str, goal: str) -> tuple[Settled, ...]:
    """Apply the rules to several things that a noun may mean, until one thing is left.

    `category`: the category by which they are named; empty if by their own noun.

    Returns:
        One entry per rule that excluded something, the narrowest last; empty if no rule applies.
    """
    settled: list[Settled] = []
    left = tuple(things)
    for rule in sense().choices:
        if len(left) > 1 and rule.concerns(category, head, left) and rule.holds(step, goal):
            narrowed = rule.picked(left)
            if narrowed and len(narrowed) < len(left):
                left = narrowed
                settled.append(Settled(left, rule))
    return tuple(settled)


# ---- the robot's sentences

Detail = str | Note
_LANGUAGES: Final = Note._fields


def note(name: str, /, **details: Detail) -> Note:
    """Return a sentence of tables/robot_notes.yaml in both languages, with details filled in."""
    return Note(
        *(_fill_in(table("robot_notes")["notes"][name], language, details) for language in _LANGUAGES)
    )


def note_with_reason(name: str, reason: Reason, /, **details: Detail) -> Note:
    """Return a sentence that begins with a reason."""
    kind = Note(**table("robot_notes")["kinds"][reason.kind])
    return note(name, kind=kind, why=reason.why, **details)


def _fill_in(texts: Mapping[str, str], language: str, details: Mapping[str, Any]) -> str:
    values = {name: getattr(detail, language, detail) for name, detail in details.items()}
    return texts[language].format_map(values)


def either(names: Sequence[str], article: str = "", between: str = " 还是 ") -> Note:
    """Return names as alternatives: in English with an article, in Chinese with `between` before the last."""
    *most, last = names
    english = ", ".join(f"{article}{name}" for name in most)
    return Note(
        " or ".join(filter(None, (english, f"{article}{last}"))),
        between.join(filter(None, ("、".join(most), last))),
    )


def join_names(names: Sequence[str], between: str = ", ") -> Note:
    """Return a list of names, in English separated by `between`."""
    return Note(between.join(names), "、".join(names))


def any_of(actions: Sequence[str]) -> Note:
    """Return the question which of several actions is meant."""
    return note("any_of", either=either([f"“{action.strip(' .')}”" for action in actions], between="还是"))


# ---- the user's answers

_CLAUSES: Final = re.compile(r"(?<=[,.;!?])\s+|(?<!anything)\s+(?=but\b)")
SENTENCES: Final = re.compile(r"(?<=[.;!?])\s+")


def affirmed_part(answer: str) -> str:
    """Return an answer without the parts that deny something."""
    rest = sense().patterns["denial"].sub("", answer, count=1)
    negative = rest != answer
    return " ".join(
        " ".join(clause for clause in _CLAUSES.split(sentence) if not says("denies", clause)).strip()
        for sentence in SENTENCES.split(rest)
        if not negative or says("advises", sentence) or demanded_action(sentence.strip())
    ).strip()


def denied_part(answer: str) -> str:
    """Return the clauses of an answer that deny something."""
    return " ".join(clause for clause in _CLAUSES.split(answer) if says("denies", clause))


def demanded_action(sentence: str) -> str:
    """Return the action that a sentence demands: ``wash it`` for ``You should wash it.``; empty if none."""
    advice = says("should", sentence)
    deed = (advice[1] if advice else sentence).strip(" .!")
    first = stems(deed)[:1]
    return deed if first and first[0] in sense().imperatives | sense().also_verbs else ""
