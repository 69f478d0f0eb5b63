"""What a step leaves open, and what of it the rest of the text, or common sense, settles."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final, Literal

from simulator.ambik.kitchen.categories import Thing, is_describing, thing
from simulator.ambik.kitchen.knowledge import (
    Amount,
    Settled,
    Why,
    amounts,
    fittest,
    is_knowable,
    is_perishable,
    is_wide,
    purposes,
    seldomness,
    settle,
    somethings,
)
from simulator.ambik.kitchen.mentions import Mention, mentions
from simulator.ambik.kitchen.words import stems, words

By = Literal["", "text", "sense", "guess"]
_PLACE_FROM: Final = re.compile(r"\b(from|out of|where|in which|locate\w*|find)\b", re.IGNORECASE)
_PLACE_TO: Final = re.compile(r"\b(in|on|to|onto|at) (the |a |an |its )?(\w+ )?$")
_NUMBER: Final = re.compile(
    r"\b(\d+|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|dozen|half|quarters?)\b",
    re.IGNORECASE,
)
_FRIDGE: Final = Why("Perishable food is kept in the fridge.", "易坏的食物放在冰箱里。", "safety")
_CUPBOARD: Final = Why("What keeps stands in the cupboard.", "耐放的东西在橱柜里。")
_TABLE: Final = Why("Things are set down on the kitchen table.", "东西放在餐桌上。")


@dataclass(frozen=True)
class Case:
    """What the robot goes by.

    Attributes:
        objects: of the scene, by name.
        appliances: what stands in every kitchen.
        task: the instruction; empty if it is not told.
        previous: the steps before.
        step: that is to be made concrete; of data without plans the instruction itself.
        exchanges: questions and answers so far.
    """

    objects: tuple[str, ...]
    appliances: tuple[str, ...]
    task: str
    previous: tuple[str, ...]
    step: str
    exchanges: tuple[tuple[str, str], ...] = ()

    @cached_property
    def things(self) -> tuple[Thing, ...]:
        """All that is there, read."""
        return tuple(thing(name) for name in (*self.objects, *self.appliances))

    @cached_property
    def earlier(self) -> str:
        """The steps before, one after the other."""
        return ". ".join(one.rstrip(". ") for one in self.previous)

    @cached_property
    def goal(self) -> str:
        """Everything that tells what it is all for, the step first."""
        return ". ".join(one.rstrip(". ") for one in (self.step, self.earlier, self.task) if one)

    @cached_property
    def nouns(self) -> tuple[Mention, ...]:
        """Of the step; what is called `something sharp` is one, too."""
        found = mentions(self.step, self.things)
        vague = tuple(
            something
            for something in _somethings(self)
            if not any(something.end > each.start and each.end > something.start for each in found)
        )
        return tuple(sorted((*found, *vague), key=lambda one: one.start))


@dataclass(frozen=True, slots=True)
class Opening:
    """A noun that may mean several things, and how that ends.

    Attributes:
        mention: the noun.
        names: what it may mean, the likeliest first.
        by: what settled it: the text, common sense, a guess where everybody knows; empty: it is open.
        rules: of common sense that left something out.
    """

    mention: Mention
    names: tuple[str, ...]
    by: By
    rules: tuple[Settled, ...] = ()
    why: Why | None = None

    @property
    def open(self) -> bool:
        """Whether one has to ask."""
        return not self.by and len(self.names) > 1


def _somethings(case: Case) -> Iterator[Mention]:
    for pattern, category in somethings():
        for hit in pattern.finditer(case.step):
            group = tuple(thing for thing in case.things if thing.is_a(category))
            yield Mention(hit.start(), hit.end(), stems(hit.group()), group, category, "", "", False, False)


def open_amount(case: Case) -> Amount | None:
    """Return the amount that the step leaves open; None if it does not, or a number is told anywhere."""
    for amount in amounts():
        if amount.when.search(case.step) and (amount.goal is None or amount.goal.search(case.goal)):
            said = amount.told.search(case.goal) or (amount.number and _NUMBER.search(case.goal))
            return None if said else amount
    return None


def openings(case: Case) -> tuple[Opening, ...]:
    """Return the nouns of the step that do not say which thing they mean, in the step's order."""
    return tuple(
        _opening(case, noun)
        for noun in case.nouns
        if not noun.exact and (len(noun.things) > 1 or _vague(case, noun)) and not _said_here(case, noun)
    )


def only_one(case: Case) -> tuple[Opening, ...]:
    """Kitchenware that the step names by its kind alone, where the scene has one of the kind."""
    return tuple(
        Opening(noun, (noun.things[0].name,), "text")
        for noun in case.nouns
        if noun.category
        and len(noun.things) == 1
        and noun.things[0].is_a("kitchenware")
        and not _vague(case, noun)
    )


def _opening(case: Case, noun: Mention) -> Opening:
    things = _likeliest_first(_left(case, noun))
    if noun.category == "place":
        return _place(case, noun)
    vague = _vague(case, noun)
    rules = settle(noun.category, noun.head, things, case.step, case.goal)
    left = rules[-1].things if rules else things
    settled = tuple(one.name for one in left)
    said = () if vague or noun.sorts else _said_before(case, noun)
    if len(left) == 1 and rules and (not said or rules[-1].by_step):
        return Opening(noun, settled, "sense", rules, rules[-1].why)
    if said:
        return Opening(noun, said, "text")
    if rules and rules[-1].why.kind == "safety":
        return Opening(noun, settled[:1], "sense", rules, rules[-1].why)
    if (vague or is_wide(noun.category)) and (found := _for_purpose(case, noun)):
        return Opening(noun, (found[0],), "sense", rules, found[1])
    if vague and noun.category != "ingredient":
        return Opening(noun, settled[:1], "guess" if settled else "", rules)
    return Opening(noun, settled, "", rules)


def _likeliest_first(things: Sequence[Thing]) -> tuple[Thing, ...]:
    """Return things with what one usually takes first: china before plastic."""
    return tuple(sorted(things, key=seldomness))


def _vague(case: Case, noun: Mention) -> bool:
    """Return True if the words say that everybody knows which: a suitable tool."""
    before = [word for word in words(case.step) if word.end <= noun.start][-2:]
    return any(is_knowable(one.stem) for one in before) or any(map(is_knowable, noun.stems))


def _said_here(case: Case, noun: Mention) -> bool:
    """Whether the step itself says which: utensils (the fork and the knife); milk out of the oat milk."""
    if noun.before == "its" or (noun.of_all and (noun.plural or noun.sorts or noun.before == "every")):
        return True
    for one in case.nouns:
        named = one.exact and any(each in noun.things for each in one.things)
        if named and (one.start > noun.start or noun.before == "the"):
            return True
        # A silver fork and knife: what stands before the one holds of the other.
        if one.exact and noun.before in ("and", "or") and noun.start - one.end < len("  and "):
            told = [word for word in one.stems[:-1] if not is_describing(word)]
            if any(word in each.stems for each in noun.things for word in told):
                return True
    return False


def _left(case: Case, noun: Mention) -> tuple[Thing, ...]:
    """Return what it may mean besides what the step names before it: another condiment than the salt."""
    named = [each for one in case.nouns if one.exact and one.start < noun.start for each in one.things]
    return tuple(thing for thing in noun.things if thing not in named) or noun.things


def _said_before(case: Case, noun: Mention) -> tuple[str, ...]:
    """Return what the steps before, or the task, call by name of what the noun may mean."""
    earlier = _named(case.earlier, case.things, noun.things)
    if earlier and not noun.indefinite:
        return earlier
    if case.previous and noun.before.endswith(("ed", "en")):
        # Chopped vegetables are those that were chopped.
        return earlier or tuple(one.name for one in noun.things[:1])
    told = _named(case.task, case.things, noun.things)
    if len(told) == 1 and (noun.before == "the" or not _open_in(case.task, case.things, noun)):
        return told
    return told if len(told) > 1 and noun.plural else ()


def _named(text: str, things: tuple[Thing, ...], group: Sequence[Thing]) -> tuple[str, ...]:
    found = {
        mention.things[0].name: None
        for mention in mentions(text, things)
        if len(mention.things) == 1 and mention.things[0] in group
    }
    return tuple(found)


def _open_in(text: str, things: tuple[Thing, ...], noun: Mention) -> bool:
    """Return True if the text uses the same open word besides the names."""
    return any(
        mention.head == noun.head and not mention.exact and len(mention.things) > 1
        for mention in mentions(text, things)
    )


def _for_purpose(case: Case, noun: Mention) -> tuple[str, Why] | None:
    """Return the thing of a wide category that serves what is to be done here, or in the end."""
    for text in (case.step, case.goal):
        for purpose in purposes():
            if not purpose.when.search(text):
                continue
            name = fittest(purpose, noun.things)
            if name and _fits(thing(name), noun.category):
                return name, purpose.why
    return None


def _fits(thing: Thing, category: str) -> bool:
    return thing.is_a(category) or (category == "tool" and thing.is_a("kitchenware"))


def _place(case: Case, noun: Mention) -> Opening:
    """Return where something is taken from, or set down."""
    before = case.step[: noun.start]
    if not _PLACE_FROM.search(case.step) or _PLACE_TO.search(before):
        return Opening(noun, ("kitchen table",), "sense", (), _TABLE)
    nouns = (one for one in case.nouns if one.category != "place")
    food = next((one.things[0] if one.things else thing(" ".join(one.stems)) for one in nouns), None)
    cold = food is not None and is_perishable(food)
    return Opening(noun, ("fridge" if cold else "cupboard",), "sense", (), _FRIDGE if cold else _CUPBOARD)
