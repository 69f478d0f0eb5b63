"""What everybody knows in a kitchen, as rules (tables/common_sense.yaml): what one takes for what."""

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


def _compiled(text: str) -> re.Pattern[str]:
    return re.compile(text, re.IGNORECASE)


Pattern = Annotated[re.Pattern[str], BeforeValidator(_compiled)]
Name = Annotated[Words, BeforeValidator(stems)]


class Note(NamedTuple):
    """A text in both languages."""

    en: str
    zh: str


NoteField = Annotated[Note, BeforeValidator(lambda texts: Note(**texts))]


class Reason(BaseModel, frozen=True):
    """A reason, and whether it is a matter of safety."""

    why: NoteField
    kind: Kind = "common_sense"


class Condition(BaseModel, frozen=True):
    """The words that make a rule hold.

    Attributes:
        when: words of the step; None if it does not matter.
        goal: words of step, task or steps before that must be there, too; None likewise.
    """

    when: Pattern | None = None
    goal: Pattern | None = None

    def holds(self, step: str, goal: str) -> bool:
        """Return True if the words are there."""
        return (self.when is None or self.when.search(step) is not None) and (
            self.goal is None or self.goal.search(goal) is not None
        )


class Choice(Condition, Reason, frozen=True):
    """The rule for choosing from several things.

    Attributes:
        head: the noun by which they are called; empty if it does not matter.
        pick: names, best first.
        exact: whether a thing must be called by the name and nothing else.
    """

    about: frozenset[str]
    head: str = ""
    pick: tuple[Name, ...] = ()
    drop: tuple[Name, ...] = ()
    exact: bool = False

    def concerns(self, category: str, head: str, things: Sequence[Thing]) -> bool:
        """Return True if the rule is about things that are named by a category, or by their noun."""
        by_category = category in self.about or any(thing.category in self.about for thing in things)
        return by_category and self.head in ("", head)

    def picked(self, things: Sequence[Thing]) -> tuple[Thing, ...]:
        """Return those of the first name that anything has, of what is not out."""
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
        when: words of a text that has this purpose.
        need: names of things, the fittest first.
        stand: what every kitchen has for it; empty if nothing.
        named: categories that, if a step names one, say that nothing is missing.
        phrase: how it is added to a step, ``{}`` for the thing; empty: it only settles vague words.
    """

    when: Pattern
    need: tuple[Name, ...]
    stand: str = ""
    named: frozenset[str] = frozenset()
    phrase: str = ""

    def fittest(self, things: Sequence[Thing]) -> str:
        """Return the name of the thing that serves best; empty if there is none."""
        for name in self.need:
            for thing in things:
                if thing.stems == name or (is_called(thing, name) and thing.stems[-1] == name[-1]):
                    return thing.name
        return self.stand


class Rewrite(Condition, Reason, frozen=True):
    """A step that leaves open what is to be done.

    Attributes:
        food: categories one of which must be named; empty if it does not matter.
        sub: what is replaced, and by what.
        add: what is added where nothing can be replaced; empty if nothing is.
    """

    food: frozenset[str] = frozenset()
    sub: tuple[Pattern, str]
    add: str = ""


class Amount(Condition, frozen=True):
    """A step that leaves open how long, how much or how many.

    Attributes:
        options: what may be meant, as added to the step.
    """

    told: Pattern
    number: bool = False
    spoken: NoteField
    options: tuple[str, ...]


class Something(BaseModel, frozen=True):
    """Words that name a thing by what it is like, and the category that is meant."""

    words: Annotated[re.Pattern[str], BeforeValidator(lambda text: _compiled(rf"\b({text})\b"))]
    category: str


class CommonSense(BaseModel, frozen=True):
    """The table; of rules of one sort the first that holds is taken.

    Attributes:
        places: where things are, by name.
        perishable: categories of what is kept in the fridge.
        fetch: words that say that something is taken from where it is.
        seldom: words in names of what one takes only where there is nothing else.
        knowable: words that say that everybody knows which: suitable, proper.
        wide: categories so wide that their names say nothing.
        also_verbs: nouns that are also things to do.
        imperatives: verbs with which an answer says what is to be done.
        adverbs: words that may stand before the verb of a step.
        patterns: of what is said, by name.
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
    """Return what everybody knows."""
    return CommonSense.model_validate(table("common_sense"))


def says(pattern: str, text: str) -> re.Match[str] | None:
    """Return where a text says something, by a pattern of the table."""
    return sense().patterns[pattern].search(text)


def is_perishable(thing: Thing) -> bool:
    """Return True if a thing is kept in the fridge."""
    return thing.is_a(*sense().perishable)


def is_called(thing: Thing, name: Words) -> bool:
    """Return True if all words of `name` are in the thing's name."""
    return all(word in thing.stems for word in name)


@dataclass(frozen=True, slots=True)
class Settled:
    """The things that common sense leaves: one, or several that are as good; and the rule."""

    things: tuple[Thing, ...]
    rule: Choice

    @property
    def by_step(self) -> bool:
        """Return True if words of the step itself made the rule hold."""
        return self.rule.when is not None


def settle(category: str, head: str, things: Sequence[Thing], step: str, goal: str) -> tuple[Settled, ...]:
    """Return what the table says of several things that a noun may mean, until one thing is left.

    `category`: as which they are named; empty if by their own noun.

    Returns:
        One entry per rule that left something out, the narrowest last; none if no rule applies.
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


# ---- what the robot says

Detail = str | Note
_LANGUAGES: Final = Note._fields


def note(name: str, /, **details: Detail) -> Note:
    """Return a sentence of tables/robot_notes.yaml in both languages, with details put in."""
    return Note(
        *(_fill_in(table("robot_notes")["notes"][name], language, details) for language in _LANGUAGES)
    )


def reasoned(name: str, reason: Reason, /, **details: Detail) -> Note:
    """Return a sentence that begins with a reason."""
    kind = Note(**table("robot_notes")["kinds"][reason.kind])
    return note(name, kind=kind, why=reason.why, **details)


def _fill_in(texts: Mapping[str, str], language: str, details: Mapping[str, Any]) -> str:
    values = {name: getattr(detail, language, detail) for name, detail in details.items()}
    return texts[language].format_map(values)


def either(names: Sequence[str], article: str = "", between: str = " 还是 ") -> Note:
    """Return names as alternatives, in English with an article, in Chinese with `between` before the last."""
    *most, last = names
    english = ", ".join(f"{article}{name}" for name in most)
    return Note(
        " or ".join(filter(None, (english, f"{article}{last}"))),
        between.join(filter(None, ("、".join(most), last))),
    )


def join_names(names: Sequence[str], between: str = ", ") -> Note:
    """Return names one after the other, in English with `between` between them."""
    return Note(between.join(names), "、".join(names))


def any_of(actions: Sequence[str]) -> Note:
    """Return the question which of several actions is meant."""
    return note("any_of", either=either([f"“{action.strip(' .')}”" for action in actions], between="还是"))
