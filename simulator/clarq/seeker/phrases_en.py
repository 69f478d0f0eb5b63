"""English noun phrases, found with word lists: things that a segment wants, uses, names or leaves vague."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import dropwhile, groupby

from simulator.clarq.lexical import EN, EN_PATTERNS, VAGUE, Vagueness

_VAGUE = VAGUE["en"]
_ENDS_A_PHRASE = EN["ends"] | EN["pronouns"] | {"of"}
_BEFORE_A_NOUN = EN["fitting"] | EN["adverbs"]
_NOT_THINGS = EN["nowhere"] | EN["quantities"] | _VAGUE.keys()
_COMMON = (
    EN["verbs"] | EN["ends"] | EN["determiners"] | EN["adverbs"] | EN["subordinators"]
)  # may begin a sentence
TOKEN = re.compile(r"[A-Za-z0-9][\w'’.\-]*[\w'’]|[A-Za-z0-9]|[^\w\s]")


@dataclass(frozen=True, slots=True)
class Phrase:
    """A noun phrase: its determiner (in lower case, may be empty), and its other words, at least one."""

    determiner: str
    words: tuple[str, ...]

    @property
    def head(self) -> str:
        """The head: the last word, in lower case."""
        return self.words[-1].lower()


def join_tokens(tokens: Sequence[str]) -> str:
    """Return the text of tokens, without punctuation at the ends."""
    text = ""
    for token in tokens:
        text += token if not text or token in {",", ".", ";", ":", "!", "?", ")", "”"} else " " + token
    return re.sub(r"([(“\"]) ", r"\1", text).strip(" ,.;:!")


def phrases_of(tokens: Sequence[str]) -> list[Phrase]:
    """Return the noun phrases, roughly: the words between determiners, function words and punctuation."""
    phrases: list[Phrase] = []
    determiner, current, before = "", list[str](), ""
    for token in (*tokens, "."):
        lowered, before, previous = token.lower(), token.lower(), before
        if previous == "to" and lowered in EN["verbs"]:
            continue
        if lowered == "of" and current and current[-1].lower() in EN["quantities"]:
            current.pop()
            continue
        if not token[0].isalnum() or lowered in EN["ends"] or lowered in EN["determiners"]:
            if current:
                phrases.append(Phrase(determiner, _without_participle(current)))
            current = []
            determiner = lowered if lowered in EN["determiners"] else ""
        else:
            current.append(token)
    return phrases


def _without_participle(words: list[str]) -> tuple[str, ...]:
    """Return words without a final participle: “fertilizer” from “fertilizer designed (for melons)”."""
    return tuple(words[:-1] if len(words) > 1 and words[-1].endswith("ed") else words)


def acquires_nothing(action: Sequence[str]) -> bool:
    """Return True if the verb does not acquire anything here: “get the flock to stand”, “find out”."""
    rest = [token.lower() for token in action[1:8]]
    if action[0].lower() == "get" and rest and rest[0] not in EN["determiners"] | {"hold"}:
        return True
    if action[0].lower() in {"get", "have"} and (
        "to" in rest or "ready" in rest or rest[:1] in (["it"], ["them"])
    ):
        return True
    return rest[:1] in (["out"], ["into"], ["to"], ["in"], ["through"], ["past"], ["rid"])


def objects_of(tokens: Sequence[str]) -> list[Phrase]:
    """Return the objects of a verb from the tokens after it, without definite ones that need no question."""
    if tokens and tokens[0].lower() in EN["particles"] | EN["objects"]:
        tokens = tokens[1:]
    if [token.lower() for token in tokens[:2]] == ["hold", "of"]:
        tokens = tokens[2:]
    return [phrase for phrase in _enumeration(tokens) if phrase.determiner not in EN["settled_determiners"]]


def _enumeration(tokens: Sequence[str]) -> list[Phrase]:
    """Return the noun phrases at the beginning of `tokens`, joined by commas or “and”."""
    phrases: list[Phrase] = []
    determiner, current = "", list[str]()
    for token in (*tokens, "."):
        lowered = token.lower()
        if not current and lowered in EN["determiners"]:
            determiner = lowered
            continue
        if lowered == "of" and current:
            amount = current[-1]
            if amount.lower() in EN["quantities"] or amount[0].isdigit():
                determiner, current = "", []
                continue
        if token[0].isalnum() and lowered not in _ENDS_A_PHRASE:
            current.append(token)
            continue
        if current:
            phrases.append(Phrase(determiner, _without_participle(current)))
            determiner, current = "", []
        if lowered not in {",", "and", "or", ":"}:
            break
    return phrases


def needed_things(tokens: Sequence[str]) -> list[Phrase]:
    """Return the things that a segment says are needed, required or included, or must be bought."""
    text = join_tokens(tokens)
    return [
        phrase
        for following in (*_following("needs", text), *_following("bought", text))
        for phrase in objects_of(following)
        if phrase.head not in {"is", "are", "be"}
    ]


def _following(name: str, text: str) -> Iterator[list[str]]:
    """Yield the tokens after each match of the pattern `name`."""
    for match in EN_PATTERNS[name].finditer(text):
        yield TOKEN.findall(text[match.end() :])


def nouns_of(phrases: Sequence[Phrase]) -> tuple[str, ...]:
    """Return the nouns of phrases that name something to acquire, without “suitable” and amounts."""
    return tuple(noun for phrase in phrases if (noun := _noun(phrase)))


def _noun(phrase: Phrase) -> str:
    words = list(dropwhile(_precedes_noun, phrase.words))
    if len(words) > 1 and words[0].lower() in EN["quantities"] and words[0].lower().endswith("s"):
        words = words[1:]
    words = list(dropwhile(EN_PATTERNS["unit"].fullmatch, words))
    while words and words[-1].lower() in EN["after_nouns"]:
        words = words[:-1]
    if any(word.lower().endswith(("ly", "'ve")) or word in _NEVER_IN_NAMES for word in words):
        return ""
    head = words[-1].lower() if words else ""
    is_thing = head and head not in _NOT_THINGS and not head.endswith(("ly", "ing", "ed"))
    if not is_thing or len(words) > 5:
        return ""
    article = phrase.determiner if phrase.determiner in {"", "a", "an", "some"} else "the"
    if article in {"a", "an"}:
        article = "an" if words[0][0] in "aeiouAEIOU" else "a"
    return f"{article} {' '.join(words)}".strip()


def _precedes_noun(word: str) -> bool:
    """Return True for words that are not part of a noun: “suitable”, “fully”, “12” and the like."""
    return word.lower() in _BEFORE_A_NOUN or (not word.isalpha() and "-" not in word)


_NEVER_IN_NAMES = frozenset({"crush", "make"})


def enumerations(tokens: Sequence[str]) -> tuple[tuple[str, ...], ...]:
    """Return enumerations of things: “the goblin and the chimera”, “an oscillator and a coil”."""
    rows: list[tuple[str, ...]] = []
    for position, token in enumerate(tokens):
        before = tokens[position - 1].lower() if position else ""
        if token.lower() not in EN["articles"] | {"your", "both"} and before and before not in EN["verbs"]:
            continue
        phrases = _enumeration(tokens[position:])
        nouns = tuple(noun for phrase in phrases if _names_a_thing(phrase) and (noun := _noun(phrase)))
        if 1 < len(nouns) == len(phrases) and not any(set(nouns) <= set(row) for row in rows):
            rows.append(nouns)
    return tuple(rows)


def _names_a_thing(phrase: Phrase) -> bool:
    """Return True unless a phrase in an enumeration is a clause (“jump”, “the bell rings”)."""
    first, last = phrase.words[0].lower(), phrase.head
    acts = last in EN["verbs"] or last.removesuffix("s") in EN["verbs"]
    return not (first in EN["verbs"] - EN["adjectives"] or (len(phrase.words) > 1 and acts))


def used_things(action: Sequence[str], text: str) -> list[Phrase]:
    """Return the things with which something is to be done."""
    phrases = [phrase for following in _following("with", text) for phrase in _enumeration(following)[:1]]
    if action and action[0].lower() in EN["consume"] | EN["done_with"]:
        phrases += [
            phrase
            for position, token in enumerate(action)
            if token.lower() in {"with", "using"}
            for phrase in _enumeration(action[position + 1 :])[:1]
            if phrase.determiner in {"", "a", "an", "some"}
        ]
    return phrases


def offered_things(text: str) -> list[Phrase]:
    """Return indefinite things that a person wants, or that are used as tools or materials."""
    return [phrase for following in _following("offered", text) for phrase in _enumeration(following)[:1]]


def vague_nouns(phrases: Sequence[Phrase], text: str, verb: str) -> tuple[tuple[Vagueness, str], ...]:
    """Return the nouns that leave open what is meant, each with the sort of question that it requires."""
    open_nouns: dict[str, Vagueness] = {}
    for phrase in phrases:
        plain = [word for word in phrase.words if word.lower() not in EN["empty"]]
        sort = _sort(phrase, plain, verb) if plain and len(phrase.words) <= 4 else None
        if sort is not None:
            open_nouns.setdefault(" ".join(plain), sort)
    for match in EN_PATTERNS["one_of"].finditer(text):
        open_nouns.setdefault(match.group(1), "thing")
    for match in (*EN_PATTERNS["in_which"].finditer(text), *EN_PATTERNS["is_right"].finditer(text)):
        open_nouns.setdefault(match.group(1), "value")
    for match in EN_PATTERNS["appointed"].finditer(text):
        open_nouns.setdefault(match.group(1) or match.group(2), "time")
    return tuple((sort, noun) for noun, sort in open_nouns.items())


def _sort(phrase: Phrase, plain: list[str], verb: str) -> Vagueness | None:
    """Return the sort of question that a phrase requires; None if it is definite enough."""
    fitting = any(word.lower() in EN["fitting"] for word in phrase.words[:-1])
    determiner, first = phrase.determiner, phrase.words[0].lower()
    possessive = phrase.words[0].endswith("'s")
    if phrase.head == verb and not determiner:
        return None
    if (determiner in EN["settled_determiners"] and not possessive) or (
        determiner in {"all", "its"} and not fitting
    ):
        return None
    if first in {"only", "best", verb} or any(word[0].isdigit() for word in plain):
        return None
    if any(word.lower() in EN["verbs"] - EN["adjectives"] for word in plain[:-1]):
        return None
    sort = _VAGUE.get(phrase.head)
    if sort is None:
        return "thing" if fitting and phrase.head not in EN["nowhere"] else None
    if sort == "thing" and not fitting and (determiner == "the" or not (determiner or phrase.head == "bait")):
        return None
    if sort in {"time", "way"} and not fitting and determiner not in {"a", "an", "their"}:
        return None
    return sort


def names_of(tokens: Sequence[str], *, first: bool) -> tuple[str, ...]:
    """Return names of people and places that must be found or hold something.

    `first`: whether the segment begins the sentence, so that its first capital is not a sign of a name.
    """
    runs = (
        list(run)
        for capital, run in groupby(range(len(tokens)), lambda place: _is_capitalised(tokens[place]))
        if capital
    )
    names = (_name(tokens, run[0], run[-1] + 1, begins=first and run[0] == 0) for run in runs)
    return tuple(filter(None, names))


_HOLDS = r"(?:always |still )?(?:wears|carries|keeps|holds|owns|lends|guards|has|have)"
_KEEPER = re.compile(
    rf"^(the (?:[a-z'’-]+ ){{0,2}}?[a-z-]+) (?:{_HOLDS}) (?:the|a|an|one|it|them)\b", re.IGNORECASE
)


def is_keeper(name: str, text: str) -> bool:
    """Return True if `text` says that `name` holds something."""
    return bool(re.search(rf"\b{re.escape(name)}(?:,[^,]*,)? {_HOLDS}\b", text))


def nameless_keepers(text: str) -> tuple[str, ...]:
    """Return someone without a name who holds something: “the giant's goose wears the key”."""
    match = _KEEPER.search(text)
    return (match.group(1)[:1].lower() + match.group(1)[1:],) if match else ()


def _is_capitalised(token: str) -> bool:
    return len(token) > 1 and token[0].isupper() and token[1].islower()


def _is_appositive(before: Sequence[str]) -> bool:
    """Return True if a noun phrase precedes a name: “the little goat Pepper”."""
    noun = before[-1].lower()
    plain = (
        before[-1].islower()
        and noun not in EN["ends"] | EN["determiners"] | EN["verbs"] | EN["adverbs"] | EN["towards"]
    )
    return plain and any(token.lower() in EN["determiners"] for token in before[:-1])


def _name(tokens: Sequence[str], start: int, end: int, *, begins: bool) -> str:
    """Return the capitalised words from `start` to `end` if they name a person or place worth finding."""
    name = list(tokens[start:end])
    before = tokens[start - 1].lower() if start else ""
    after = tokens[end].lower() if end < len(tokens) else ""
    if not name or before in {"the", "a", "an", "this", "that"} or (begins and name[0] == "The"):
        return ""
    if begins and name[0].lower() in _COMMON:
        name = name[1:]
    titled = len(name) > 1 and name[0].lower() in EN["people"]
    called = len(name) == 1 and start > 1 and _is_appositive(tokens[max(0, start - 3) : start])
    sought = titled or called or before in EN["towards"] or after in EN["holders"]
    # A single capitalised word at the beginning is probably not a name.
    doubtful = begins and len(name) == 1 and not titled and after not in EN["holders"]
    if not name or not sought or doubtful:
        return ""
    return " ".join(name).removesuffix("'s").removesuffix("’s")
