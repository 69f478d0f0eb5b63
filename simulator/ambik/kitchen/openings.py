"""The nouns of a step: what they may mean, what is open, and what the text or common sense settles."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from typing import Final, Literal

from simulator.ambik.kitchen.knowledge import Amount, Reason, Settled, is_perishable, says, sense, settle
from simulator.ambik.naming import Thing, Word, Words, kitchen, stems, thing, words

# Words before which a noun that is also a verb is a verb.
_BEFORE_VERBS: Final = frozenset(("and", "then", "to", ",", ".", ";", ":", "please", "or", "not"))
_NO_NOUNS: Final = frozenset(("and", "or", "of", "the"))
_ALL: Final = frozenset(("all", "every", "each", "both", "various", "different", "several", "any"))
_INDEFINITE: Final = frozenset(("a", "an", "some", "another", "any", "one", "more", "other"))


@dataclass(frozen=True, slots=True)
class Mention:
    """A noun of a text.

    Attributes:
        start: index of its first character, including describing words.
        end: index after its last character.
        things: things of the scene that it may mean; if there are several, it is open which.
        category: the category by which it is named; empty if it has its own name.
        before: the word before it and its amount.
        amount: the measure before it, such as "slice" in "slice of bread"; empty if there is none.
        exact: True if it is the full name of one thing, or of several of the same name.
    """

    start: int
    end: int
    stems: Words
    things: tuple[Thing, ...]
    category: str
    before: str = ""
    amount: str = ""
    exact: bool = False
    plural: bool = False

    @property
    def head(self) -> str:
        """The noun without describing words."""
        return self.stems[-1]

    @property
    def of_all(self) -> bool:
        """True if the word before it means all of them."""
        return self.before in _ALL

    @property
    def indefinite(self) -> bool:
        """True if it introduces something new: "a bowl", "another plate"."""
        return self.before in _INDEFINITE and (not self.amount or self.sorts)

    @property
    def sorts(self) -> bool:
        """True if it is about sorts of something: "two kinds of cheese"."""
        return self.amount in ("type", "kind", "sort", "variety")


@lru_cache(maxsize=4096)
def mentions(text: str, things: tuple[Thing, ...]) -> tuple[Mention, ...]:
    """Return the nouns of `text` that name a thing of the scene or a category."""
    return tuple(_mentions(text, things))


def single(text: str, things: tuple[Thing, ...]) -> tuple[Mention, ...]:
    """Return the nouns of `text` that can mean only one thing."""
    return tuple(mention for mention in mentions(text, things) if len(mention.things) == 1)


def _mentions(text: str, things: tuple[Thing, ...]) -> Iterator[Mention]:
    spoken = words(text)
    nominal = _vocabulary(things)
    at = 0
    while at < len(spoken):
        end = at
        while end < len(spoken) and spoken[end].stem in nominal and not _is_verb(spoken, end):
            end += 1
        if end == at:
            at += 1
            continue
        name_end = _end_of_name_with_of(spoken, at, things)
        if name_end is None and _is_amount(spoken, end):
            at = end + 1
            continue
        end = name_end or end
        last = end
        while last > at and not _can_be_head(spoken[last - 1].stem):
            last -= 1
        mention = _read(text, spoken, at, last, things) if last > at else None
        if mention is not None:
            yield mention
        at = end


@lru_cache(maxsize=1024)
def _vocabulary(things: tuple[Thing, ...]) -> frozenset[str]:
    """Return the words that nouns may consist of: those of the things and of categories."""
    return (frozenset(word for thing in things for word in thing.stems) | _category_words()) - _NO_NOUNS


@cache
def _category_words() -> frozenset[str]:
    return frozenset(word for name in kitchen().by_words for word in name)


def _can_be_head(word: str) -> bool:
    return word not in kitchen().describing and (
        not word.endswith("ing") or word in ("dressing", "seasoning")
    )


def _is_verb(words: Sequence[Word], at: int) -> bool:
    if words[at].stem not in sense().also_verbs:
        return False
    if at == 0:
        return True
    after = words[at + 1].stem if at + 1 < len(words) else ""
    return words[at - 1].stem in _BEFORE_VERBS and after in sense().after_verbs


def _is_amount(words: Sequence[Word], end: int) -> bool:
    return end < len(words) and words[end].stem == "of" and words[end - 1].stem in kitchen().measures


def _end_of_name_with_of(words: Sequence[Word], at: int, things: Sequence[Thing]) -> int | None:
    """Return the end of a name with "of", such as "bottle of red wine", if one begins here."""
    for each in things:
        end = at + len(each.stems)
        if "of" in each.stems and tuple(word.stem for word in words[at:end]) == each.stems:
            return end
    return None


def _read(text: str, words: Sequence[Word], at: int, end: int, things: tuple[Thing, ...]) -> Mention | None:
    run = tuple(word.stem for word in words[at:end])
    named, category, exact = resolve(run, things)
    if not named and not category:
        return None
    start, stop = words[at].start, words[end - 1].end
    front = at - 2 if at > 1 and _is_amount(words, at - 1) else at
    return Mention(
        start=start,
        end=stop,
        stems=run,
        things=named,
        category=category,
        before=words[front - 1].stem if front else "",
        amount=words[front].stem if front < at else "",
        exact=exact,
        plural=text[start:stop].lower().endswith("s") and not run[-1].endswith("s"),
    )


@lru_cache(maxsize=8192)
def resolve(run: Words, things: tuple[Thing, ...]) -> tuple[tuple[Thing, ...], str, bool]:
    """Return the things a noun may mean, the category that it names, and whether it is a full name."""
    if same := tuple(thing for thing in things if thing.stems == run):
        return same, "", True
    packs = run[-1] in kitchen().packing
    essential = () if run in kitchen().by_words else _essential(run)
    short = tuple(thing for thing in things if _essential(thing.stems) == essential and not packs)
    if len(short) == 1:
        return short, "", True
    if packs and len(run) > 1:
        # A yogurt cup is a yogurt, not a cup.
        packed = _narrow(tuple(thing for thing in things if run[-1] in thing.stems), run[:-1])
        return (packed, "", False) if packed else resolve(run[:-1], things)
    for size in range(min(3, len(run)), 0, -1):
        if category := kitchen().by_words.get(run[-size:]):
            group = tuple(thing for thing in things if thing.is_a(category) or thing.head == run[-1])
            return _narrow(group, run[:-size]), category, False
    return _narrow(_by_head(run[-1], things), run[:-1]), "", False


def _essential(run: Words) -> Words:
    table = kitchen()
    left = (
        word for word in run if word not in table.describing and word not in table.packing and word != "of"
    )
    return tuple(left) or run


def _by_head(head: str, things: Sequence[Thing]) -> tuple[Thing, ...]:
    if group := tuple(thing for thing in things if thing.head == head):
        return group
    if head in kitchen().materials:
        return ()
    group = tuple(thing for thing in things if head in thing.stems)
    # "Strawberries" does not mean strawberry yogurt or cake: such a word must fit only one category.
    return group if head in kitchen().packing or len({thing.category for thing in group}) == 1 else ()


def _narrow(group: tuple[Thing, ...], rest: Sequence[str]) -> tuple[Thing, ...]:
    for word in rest:
        if fitting := tuple(thing for thing in group if _is_called(thing, word)):
            group = fitting
        elif word not in kitchen().describing:
            return ()
    return group


def _is_called(thing: Thing, word: str) -> bool:
    return word in thing.stems or any((word,) in kitchen().categories[name].words for name in thing.kinds)


# ---- open nouns

By = Literal["", "text", "sense", "guess"]


@dataclass(frozen=True)
class Case:
    """A task as the robot knows it.

    Attributes:
        objects: names of the scene's objects.
        task: the instruction; empty if it is hidden.
        step: the step to decide on; without a plan the instruction itself.
    """

    objects: tuple[str, ...]
    appliances: tuple[str, ...]
    task: str
    previous: tuple[str, ...]
    step: str
    exchanges: tuple[tuple[str, str], ...] = ()

    @cached_property
    def things(self) -> tuple[Thing, ...]:
        """All objects and appliances, parsed."""
        return tuple(thing(name) for name in (*self.objects, *self.appliances))

    @cached_property
    def earlier(self) -> str:
        """The previous steps as one text."""
        return ". ".join(step.rstrip(". ") for step in self.previous)

    @cached_property
    def goal(self) -> str:
        """The step, the previous steps and the task as one text."""
        return ". ".join(text.rstrip(". ") for text in (self.step, self.earlier, self.task) if text)

    @cached_property
    def nouns(self) -> tuple[Mention, ...]:
        """The nouns of the step, including descriptions such as "something sharp"."""
        named = mentions(self.step, self.things)
        vague = [
            Mention(*hit.span(), stems(hit.group()), self.of_kind(something.category), something.category)
            for something in sense().somethings
            for hit in something.words.finditer(self.step)
            if not any(hit.end() > noun.start and noun.end > hit.start() for noun in named)
        ]
        return tuple(sorted((*named, *vague), key=lambda noun: noun.start))

    def of_kind(self, category: str) -> tuple[Thing, ...]:
        """Return the things that belong to a category."""
        return tuple(thing for thing in self.things if thing.is_a(category))


@dataclass(frozen=True, slots=True)
class Opening:
    """A noun that may mean several things, and how it was settled.

    Attributes:
        names: names of the possible things, the likeliest first.
        by: what settled it: the text, common sense, or a guess where everybody should know; empty if open.
        why: the rule of common sense that settled it.
    """

    mention: Mention
    names: tuple[str, ...]
    by: By = ""
    why: Reason | None = None

    @property
    def open(self) -> bool:
        """True if the robot has to ask."""
        return not self.by and len(self.names) > 1


def open_amount(case: Case) -> Amount | None:
    """Return the rule for an amount that the step leaves open; None if none is open or the text states it."""
    amount = next((rule for rule in sense().amounts if rule.holds(case.step, case.goal)), None)
    if amount is None or amount.stated.search(case.goal) or (amount.number and says("number", case.goal)):
        return None
    return amount


def openings(case: Case) -> tuple[Opening, ...]:
    """Return the nouns of the step that leave open which thing they mean, in the step's order."""
    return tuple(
        _opening(case, noun)
        for noun in case.nouns
        if not noun.exact
        and (len(noun.things) > 1 or _is_vague(case, noun))
        and not _settled_in_step(case, noun)
    )


def only_of_its_kind(case: Case) -> tuple[Opening, ...]:
    """Return the kitchenware that the step names only by category, where the scene has one of it."""
    return tuple(
        Opening(noun, (noun.things[0].name,), "text")
        for noun in case.nouns
        if noun.category
        and len(noun.things) == 1
        and noun.things[0].is_a("kitchenware")
        and not _is_vague(case, noun)
    )


def _opening(case: Case, noun: Mention) -> Opening:
    if noun.category == "place":
        return _place(case, noun)
    # Things that are seldom used if there is something else come last: paper and plastic after china.
    seldom = sense().seldom
    things = sorted(
        _remaining_things(case, noun), key=lambda thing: sum(word in thing.stems for word in seldom)
    )
    vague = _is_vague(case, noun)
    rules: Sequence[Settled] = settle(noun.category, noun.head, things, case.step, case.goal)
    names = tuple(each.name for each in (rules[-1].things if rules else things))
    before = () if vague or noun.sorts else _named_before(case, noun)
    if len(names) == 1 and rules and (not before or rules[-1].by_step):
        return Opening(noun, names, "sense", rules[-1].rule)
    if before:
        return Opening(noun, before, "text")
    if rules and rules[-1].rule.kind == "safety":
        return Opening(noun, names[:1], "sense", rules[-1].rule)
    if (vague or noun.category in sense().wide) and (fit := _for_purpose(case, noun)):
        return fit
    if vague and noun.category != "ingredient":
        return Opening(noun, names[:1], "guess" if names else "")
    return Opening(noun, names)


def _is_vague(case: Case, noun: Mention) -> bool:
    """Return True if the words imply that everybody knows which one: "a suitable tool"."""
    before = [word.stem for word in words(case.step) if word.end <= noun.start][-2:]
    return any(word in sense().knowable for word in (*before, *noun.stems))


def _settled_in_step(case: Case, noun: Mention) -> bool:
    """Return True if the step itself says which one: "utensils (the fork and the knife)"."""
    if noun.before == "its" or (noun.of_all and (noun.plural or noun.sorts or noun.before == "every")):
        return True
    for other in case.nouns:
        named = other.exact and any(each in noun.things for each in other.things)
        if named and (other.start > noun.start or noun.before == "the"):
            return True
        # "A silver fork and knife": the first adjective applies to both.
        if other.exact and noun.before in ("and", "or") and noun.start - other.end < len("  and "):
            adjectives = [word for word in other.stems[:-1] if word not in kitchen().describing]
            if any(word in each.stems for each in noun.things for word in adjectives):
                return True
    return False


def _remaining_things(case: Case, noun: Mention) -> tuple[Thing, ...]:
    """Return the possible things without those that the step names before: a condiment after the salt."""
    named = [
        each for other in case.nouns if other.exact and other.start < noun.start for each in other.things
    ]
    return tuple(thing for thing in noun.things if thing not in named) or noun.things


def _named_before(case: Case, noun: Mention) -> tuple[str, ...]:
    """Return the possible things that the previous steps, or the task, name."""
    earlier = _named_things(case.earlier, case.things, noun.things)
    if earlier and not noun.indefinite:
        return earlier
    if case.previous and noun.before.endswith(("ed", "en")):
        # "The chopped vegetables" are those chopped before.
        return earlier or tuple(each.name for each in noun.things[:1])
    names = _named_things(case.task, case.things, noun.things)
    if len(names) == 1 and (noun.before == "the" or not _open_in(case.task, case.things, noun)):
        return names
    return names if len(names) > 1 and noun.plural else ()


def _named_things(text: str, things: tuple[Thing, ...], group: Sequence[Thing]) -> tuple[str, ...]:
    named = (mention.things[0] for mention in single(text, things))
    return tuple(dict.fromkeys(each.name for each in named if each in group))


def _open_in(text: str, things: tuple[Thing, ...], noun: Mention) -> bool:
    """Return True if the text also uses the same open noun."""
    return any(
        mention.head == noun.head and not mention.exact and len(mention.things) > 1
        for mention in mentions(text, things)
    )


def _for_purpose(case: Case, noun: Mention) -> Opening | None:
    """Return the thing of a wide category that fits the purpose of the step, or of the task."""
    kinds = (noun.category, *(("kitchenware",) if noun.category == "tool" else ()))
    for text in (case.step, case.goal):
        for purpose in sense().purposes:
            name = purpose.fittest(noun.things) if purpose.when.search(text) else ""
            if name and thing(name).is_a(*kinds):
                return Opening(noun, (name,), "sense", purpose)
    return None


def _place(case: Case, noun: Mention) -> Opening:
    """Return the place where something is taken from or put down."""
    place = "kitchen table"
    if says("place_from", case.step) and not says("place_to", case.step[: noun.start]):
        nouns = (other for other in case.nouns if other.category != "place")
        taken = next(
            (other.things[0] if other.things else thing(" ".join(other.stems)) for other in nouns), None
        )
        place = "fridge" if taken is not None and is_perishable(taken) else "cupboard"
    return Opening(noun, (place,), "sense", sense().places[place])
