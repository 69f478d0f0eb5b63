"""What a step speaks of: its nouns, each with the things of the scene that it may mean."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Final

from simulator.ambik.kitchen.categories import Thing, Word, Words, kitchen, words
from simulator.ambik.kitchen.knowledge import sense

# Words that are nouns of a kitchen and things to do there: at the head of a clause they are the latter.
_BEFORE_VERBS: Final = frozenset(("and", "then", "to", ",", ".", ";", ":", "please", "or", "not"))
_NO_NOUNS: Final = frozenset(("and", "or", "of", "the"))
_ALL: Final = frozenset(("all", "every", "each", "both", "various", "different", "several", "any"))
_INDEFINITE: Final = frozenset(("a", "an", "some", "another", "any", "one", "more", "other"))


@dataclass(frozen=True, slots=True)
class Mention:
    """A noun of a text.

    Attributes:
        start: where it begins in the text, its describing words included.
        end: where the next sign is.
        things: of the scene that it may mean; several: it is open which.
        category: as which it is named; empty if it is called by its own name.
        before: the word in front of it, and of its amount.
        amount: the measure in front: the slice of a slice of bread; empty if there is none.
        exact: it names one thing, or several of one name, in full.
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
        """The noun itself."""
        return self.stems[-1]

    @property
    def of_all(self) -> bool:
        """Return True if all are meant, by the word in front."""
        return self.before in _ALL

    @property
    def indefinite(self) -> bool:
        """Return True if it names something new: a bowl, another plate."""
        return self.before in _INDEFINITE and (not self.amount or self.sorts)

    @property
    def sorts(self) -> bool:
        """Return True if it is about sorts of something: two kinds of cheese."""
        return self.amount in ("type", "kind", "sort", "variety")


@lru_cache(maxsize=4096)
def mentions(text: str, things: tuple[Thing, ...]) -> tuple[Mention, ...]:
    """Return the nouns of `text` that name a thing of the scene, or a category."""
    return tuple(_mentions(text, things))


def single(text: str, things: tuple[Thing, ...]) -> tuple[Mention, ...]:
    """Return the nouns of `text` that mean one thing alone."""
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
        whole = _with_of(spoken, at, things)
        if whole is None and _is_amount(spoken, end):
            at = end + 1
            continue
        end = whole or end
        last = end
        while last > at and not _can_be_head(spoken[last - 1].stem):
            last -= 1
        mention = _read(text, spoken, at, last, things) if last > at else None
        if mention is not None:
            yield mention
        at = end


@lru_cache(maxsize=1024)
def _vocabulary(things: tuple[Thing, ...]) -> frozenset[str]:
    """Return the words that a noun may consist of here: of the things, and of categories."""
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


def _with_of(words: Sequence[Word], at: int, things: Sequence[Thing]) -> int | None:
    """Return where a name such as `bottle of red wine` ends, if it begins here."""
    for thing in things:
        end = at + len(thing.stems)
        if "of" in thing.stems and tuple(word.stem for word in words[at:end]) == thing.stems:
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
    """Return what a noun of these words may mean: things, the category that it names, if by a full name."""
    if same := tuple(thing for thing in things if thing.stems == run):
        return same, "", True
    packs = run[-1] in kitchen().packing
    essential = () if run in kitchen().by_words else _essential(run)
    short = tuple(thing for thing in things if _essential(thing.stems) == essential and not packs)
    if len(short) == 1:
        return short, "", True
    if packs and len(run) > 1:
        # A yogurt cup is a yogurt, and no cup.
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
    # Strawberries are no strawberry yogurt and no strawberry cake: such a word means one kind, or none.
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
