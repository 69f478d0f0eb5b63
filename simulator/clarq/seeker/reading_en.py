"""Reading a provider's line in English, by word lists; see `simulator.clarq.seeker.reading`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from simulator.clarq.lexical import sentences
from simulator.clarq.seeker.reading import Segment, Vagueness, vague_words, word_set

_VERBS = word_set("en", "verbs")
_AMBIGUOUS = word_set("en", "ambiguous")
_PLAIN = word_set("en", "plain")
_ACQUIRE = word_set("en", "acquire")
_ACHIEVE = word_set("en", "achieve")
_CONSUME = word_set("en", "consume")
_DETERMINERS = word_set("en", "determiners")
_ADVERBS = word_set("en", "adverbs")
_ENDS = word_set("en", "ends")
_FITTING = word_set("en", "fitting")
_NOWHERE = word_set("en", "nowhere")
_TITLES = word_set("en", "people")
_PRONOUNS = word_set("en", "pronouns")
_ARTICLES = word_set("en", "articles")
_PARTICLES = word_set("en", "particles")
_OBJECT_PRONOUNS = word_set("en", "objects")
_SUBORDINATORS = word_set("en", "subordinators")
_RELATIVE = word_set("en", "relatives")
_JOINERS = word_set("en", "joiners")
_QUANTITY = word_set("en", "quantities")
_HOLDERS = word_set("en", "holders")
_TOWARDS = word_set("en", "towards")
_NO_MATTER = word_set("en", "settled_determiners")
_EMPTY = word_set("en", "empty")
_VAGUE = vague_words("en")
_MODALS = re.compile(
    r"\b(?:you(?:'ll|’ll| will)?(?: also| just| only| first| then| still| now| simply)?"
    r" (?:need(?:s)? to|have to|should|must|can|could|may|might|are to|be able to|will|are required to)"
    r"|(?:your|the) (?:task|mission|job|goal|first step|next step|last step) is to|try to|remember to"
    r"|be sure to|make sure to|make sure you)\s+(?:be able to |have to |need to )?",
    re.IGNORECASE,
)
_TAILS = re.compile(
    r",?\s+(?:before|until|when|while|once|as soon as|because|since|if|after|which|who|where|whose"
    r"|as (?:it|they|he|she))\b.*$"
    r"|,? and then .*$|\s+(?:to complete|to finish) (?:the|this|your) task$"
)
_DANGLING = re.compile(r"(?:[,\s]+(?:on|from|in|at|to|with|of|by|for|through|first|and|or))+$")
_MEANS = re.compile(r"\b(?:with|using|by \w+ing|by means of)\s+(?:(?:the|my|a|an|some)\s+)?\w+")
_TOKEN = re.compile(r"[A-Za-z0-9][\w'’.\-]*[\w'’]|[A-Za-z0-9]|[^\w\s]")
_YOU = re.compile(r"\b(your|yours|yourself|you)\b(?=\s*(\w*))", re.IGNORECASE)
_MINE = {"your": "my", "yours": "mine", "yourself": "myself"}


@dataclass(frozen=True, slots=True)
class _Phrase:
    determiner: str
    words: tuple[str, ...]

    @property
    def head(self) -> str:
        return self.words[-1].lower()

    @property
    def text(self) -> str:
        return " ".join(self.words)


@lru_cache(maxsize=4096)
def read_english(line: str) -> tuple[Segment, ...]:
    """The segments of a line."""
    return tuple(
        _segment(part, first=position == 0, sure=position > 0)
        for sentence in sentences(line, "en")
        for position, piece in enumerate(_pieces(_TOKEN.findall(sentence)))
        for part in _enumerated(piece)
    )


def _enumerated(piece: list[str]) -> Iterator[list[str]]:
    """“Book a room at an inn, and a table”: each thing to be had apart, with the verb before it."""
    start = 0
    if piece[0].lower() in _ACQUIRE:
        for position, token in enumerate(piece):
            rest = _skip(piece, position + 1)
            if token == "," and rest < len(piece) and piece[rest].lower() in _ARTICLES:
                yield piece[:1] * (start > 0) + piece[start:position]
                start = rest
    yield piece[:1] * (start > 0) + piece[start:]


def _pieces(tokens: Sequence[str]) -> Iterator[list[str]]:
    """A sentence's tokens, cut where the next thing to do begins and around subordinate clauses."""
    piece: list[str] = []
    for position, token in enumerate(tokens):
        breaks = token in {",", ";", ":", "–", "—"} or token in _JOINERS
        if piece and breaks and _begins(tokens, position, piece):
            yield piece
            piece = []
        if piece or token.isalnum() or token[0].isalnum():
            piece.append(token)
    if piece:
        yield piece


def _begins(tokens: Sequence[str], position: int, piece: Sequence[str]) -> bool:
    """Whether a new segment begins behind the comma or conjunction at `position`."""
    token = tokens[position]
    rest = position + 1
    while rest < len(tokens) and (tokens[rest].lower() in _JOINERS | _ADVERBS or tokens[rest] == ","):
        rest += 1
    if rest >= len(tokens):
        return False
    following = tokens[rest].lower()
    if token in {";", "–", "—"}:
        return True
    if token == "," and (piece[0].lower() in _SUBORDINATORS or following in _RELATIVE):
        return True
    if following in {"you", "they", "he", "she", "it", "there", "we", "i"}:
        return token == "," or token in _JOINERS
    return _is_verb(tokens, rest, sure=token == "," and piece[0].lower() in _SUBORDINATORS)


def _is_verb(tokens: Sequence[str], position: int, *, sure: bool = False) -> bool:
    """Whether a verb stands at `position`; `sure` if a main clause must begin there."""
    word = tokens[position].lower()
    if word not in _VERBS or sure:
        return word in _VERBS
    following = tokens[position + 1].lower() if position + 1 < len(tokens) else ""
    if word in _AMBIGUOUS:
        return following in _DETERMINERS or following in _PRONOUNS or following in _PARTICLES
    return following not in {"of", "is", "are"}


def _segment(tokens: list[str], *, first: bool, sure: bool) -> Segment:
    while tokens and (tokens[0].lower() in _JOINERS | _ADVERBS or not tokens[0][0].isalnum()):
        tokens = tokens[1:]
    if not tokens:
        return Segment(text="")
    text = _spell(tokens)
    phrases = _phrases(tokens)
    doing = _doing(text, sure=sure)
    verb = doing[0].lower() if doing else ""
    step = _of_oneself(_DANGLING.sub("", _TAILS.sub("", _spell(doing))).strip(" ,.;:!")) if doing else ""
    objects = _objects(doing[1:]) if verb in _ACQUIRE | _CONSUME and not _causes(doing) else []
    wanted = [*(objects if verb in _ACQUIRE else []), *_needed(tokens)]
    used = [*(objects if verb in _CONSUME else []), *_put_to_use(doing, text)]
    return Segment(
        text=text,
        step=step,
        explained=not step or verb in _PLAIN or bool(_MEANS.search(step)),
        wanted=_nouns(wanted),
        used=_nouns(used),
        achieves=verb in _ACHIEVE,
        vague=_vague(phrases, text, verb),
        names=_names(tokens, first=first),
    )


def _spell(tokens: Sequence[str]) -> str:
    text = ""
    for token in tokens:
        text += token if not text or token in {",", ".", ";", ":", "!", "?", ")", "”"} else " " + token
    return re.sub(r"([(“\"]) ", r"\1", text).strip(" ,.;:!")


def _doing(text: str, *, sure: bool) -> list[str]:
    """The tokens of what is to be done in a segment; empty if nothing is."""
    if gerund := _START_BY.search(text):
        tokens = _TOKEN.findall(text[gerund.start(1) :])
        verb = _base(tokens[0].lower())
        return [verb, *tokens[1:]] if verb else []
    match = _MODALS.search(text)
    tokens = _TOKEN.findall(text[match.end() :] if match else text)
    while tokens and tokens[0].lower() in _ADVERBS:
        tokens = tokens[1:]
    if not tokens:
        return []
    if match:
        return tokens if tokens[0].lower() in _VERBS else []
    return tokens if _is_verb(tokens, 0, sure=sure) else []


_START_BY = re.compile(r"\b(?:start|begin) by (\w+ing)\b", re.IGNORECASE)


def _base(gerund: str) -> str:
    """The verb of a gerund, if it is a known one."""
    stem = gerund.removesuffix("ing")
    return next((verb for verb in (stem, stem + "e", stem[:-1]) if verb in _VERBS), "")


def _of_oneself(step: str) -> str:
    """The provider's “you” as the seeker's “I”."""

    def turn(match: re.Match[str]) -> str:
        word, following = match.group(1).lower(), match.group(2).lower()
        if word in _MINE:
            return _MINE[word]
        acts = following in _VERBS or following in _ENDS or following in {"want", "need"}
        return "I" if following and acts else "me"

    step = _YOU.sub(turn, step)
    return step[:1].lower() + step[1:] if step[1:2].islower() or len(step) == 1 else step


def _phrases(tokens: Sequence[str]) -> list[_Phrase]:
    """The noun phrases, roughly: words between determiners, function words and punctuation."""
    found: list[_Phrase] = []
    determiner, current, before = "", list[str](), ""
    for token in (*tokens, "."):
        lowered, before, previous = token.lower(), token.lower(), before
        if previous == "to" and lowered in _VERBS:
            continue
        if lowered == "of" and current and current[-1].lower() in _QUANTITY:
            current.pop()
            continue
        if not token[0].isalnum() or lowered in _ENDS or lowered in _DETERMINERS:
            if current:
                found.append(_Phrase(determiner, tuple(current)))
            current = []
            determiner = lowered if lowered in _DETERMINERS else ""
        else:
            current.append(token)
    return found


def _causes(doing: Sequence[str]) -> bool:
    """“get the flock to stand”, “have it stamped”, “find out”: nothing is got hold of."""
    rest = [token.lower() for token in doing[1:8]]
    if doing[0].lower() == "get" and rest and rest[0] not in _DETERMINERS | {"hold"}:
        return True
    if doing[0].lower() in {"get", "have"} and (
        "to" in rest or "ready" in rest or rest[:1] in (["it"], ["them"])
    ):
        return True
    return rest[:1] in (["out"], ["into"], ["to"], ["in"], ["through"], ["past"], ["rid"])


def _objects(tokens: Sequence[str]) -> list[_Phrase]:
    """The objects that a verb is followed by."""
    if tokens and tokens[0].lower() in _PARTICLES | _OBJECT_PRONOUNS:
        tokens = tokens[1:]
    if [token.lower() for token in tokens[:2]] == ["hold", "of"]:
        tokens = tokens[2:]
    return [phrase for phrase in _row(tokens) if phrase.determiner not in _NO_MATTER]


def _skip(tokens: Sequence[str], position: int) -> int:
    while position < len(tokens) and tokens[position].lower() in _JOINERS:
        position += 1
    return position


def _row(tokens: Sequence[str]) -> list[_Phrase]:
    """The noun phrases that `tokens` begin with, joined by commas or “and”."""
    found: list[_Phrase] = []
    determiner, current = "", list[str]()
    for token in (*tokens, "."):
        lowered = token.lower()
        if not current and lowered in _DETERMINERS:
            determiner = lowered
            continue
        if lowered == "of" and current and (current[-1].lower() in _QUANTITY or current[-1][0].isdigit()):
            current = []
            continue
        if token[0].isalnum() and lowered not in _ENDS and lowered not in _PRONOUNS and lowered != "of":
            current.append(token)
            continue
        if current:
            found.append(_Phrase(determiner, tuple(current)))
            determiner, current = "", []
        if lowered not in {",", "and", "or", ":"}:
            break
    return found


_NEEDS = re.compile(
    r"\b(?:need|needs|requires?|includes?|including|consists? of|missing)\b:?\s+(?!to\b)", re.IGNORECASE
)


def _needed(tokens: Sequence[str]) -> list[_Phrase]:
    text = _spell(tokens)
    return [
        phrase
        for match in _NEEDS.finditer(text)
        for phrase in _objects(_TOKEN.findall(text[match.end() :]))
        if not re.fullmatch(r"(?:is|are|be)", phrase.head)
    ]


def _nouns(phrases: Sequence[_Phrase]) -> tuple[str, ...]:
    """The phrases that name something to be got hold of, without “suitable” and amounts."""
    return tuple(noun for phrase in phrases if (noun := _noun(phrase)))


def _noun(phrase: _Phrase) -> str:
    words = list(phrase.words)
    while words and (words[0].lower() in _FITTING | _ADVERBS or words[0][0].isdigit()):
        words = words[1:]
    if len(words) > 1 and words[0].lower() in _QUANTITY and words[0].lower().endswith("s"):
        words = words[1:]
    head = words[-1].lower() if words else ""
    if (
        not head
        or head in _NOWHERE | _QUANTITY
        or head in _VAGUE
        or head.endswith(("ly", "ing"))
        or len(words) > 5
    ):
        return ""
    article = phrase.determiner if phrase.determiner in {"", "a", "an", "some"} else "the"
    return f"{article} {' '.join(words)}".strip()


_WITH = re.compile(r"\b(?:laced|mixed|infused|coated|filled) (?:with|in)\s+")


def _put_to_use(doing: Sequence[str], text: str) -> list[_Phrase]:
    """What something is to be done with."""
    found = [
        phrase for match in _WITH.finditer(text) for phrase in _row(_TOKEN.findall(text[match.end() :]))[:1]
    ]
    if doing and doing[0].lower() in _CONSUME | {
        "fill",
        "feed",
        "bait",
        "wrap",
        "lure",
        "attract",
        "line",
        "cover",
    }:
        found += [
            phrase
            for position, token in enumerate(doing)
            if token.lower() in {"with", "using"}
            for phrase in _row(doing[position + 1 :])[:1]
            if phrase.determiner in {"", "a", "an", "some"}
        ]
    return found


_IN_WHICH = re.compile(r"\bthe (year|day|month|week|hour|order) (?:in|on|at|by) which\b")
_ONE_OF = re.compile(r"\bone of (?:your|the|its|their) ([a-z]+)\b")
_IS_RIGHT = re.compile(
    r"\b(?:the|their|its)\s+(\w+(?:\s\w+)?)\s+(?:is|are) (?:right|suitable|ready)\b", re.IGNORECASE
)


def _vague(phrases: Sequence[_Phrase], text: str, verb: str) -> tuple[tuple[Vagueness, str], ...]:
    found: dict[str, Vagueness] = {}
    for phrase in phrases:
        fitting = any(word.lower() in _FITTING for word in phrase.words[:-1])
        if phrase.head == verb and not phrase.determiner:
            continue
        if (phrase.determiner in _NO_MATTER and not phrase.words[0].endswith("'s")) or (
            phrase.determiner in {"all", "its"} and not fitting
        ):
            continue
        if phrase.words[0].lower() in {"only", "best", verb}:
            continue
        sort = _VAGUE.get(phrase.head)
        plain = [word for word in phrase.words if word.lower() not in _EMPTY]
        if (
            not plain
            or any(word[0].isdigit() for word in plain)
            or any(word.lower() in _VERBS for word in plain[:-1])
        ):
            continue
        if sort == "thing" and not (phrase.determiner or fitting or phrase.head == "bait"):
            continue
        if sort in {"time", "way"} and not fitting and phrase.determiner not in {"a", "an", "their"}:
            continue
        if sort == "thing" and phrase.determiner == "the" and not fitting:
            continue
        if sort is None and fitting and phrase.head not in _NOWHERE:
            sort = "thing"
        if sort is not None and len(phrase.words) <= 4:
            found.setdefault(" ".join(plain), sort)
    for match in _ONE_OF.finditer(text):
        found.setdefault(match.group(1), "thing")
    for match in _IN_WHICH.finditer(text):
        found.setdefault(match.group(1), "value")
    for match in _IS_RIGHT.finditer(text):
        found.setdefault(match.group(1), "value")
    return tuple((sort, noun) for noun, sort in found.items())


def _names(tokens: Sequence[str], *, first: bool) -> tuple[str, ...]:
    found = []
    position = 0
    while position < len(tokens):
        end = position
        while end < len(tokens) and re.match(r"[A-Z][a-z]", tokens[end]):
            end += 1
        if end > position:
            name = list(tokens[position:end])
            before = tokens[position - 1].lower() if position else ""
            after = tokens[end].lower() if end < len(tokens) else ""
            starts = position == 0 and first
            common = name[0].lower() in _VERBS | _ENDS | _DETERMINERS | _ADVERBS | _SUBORDINATORS
            if before in {"the", "a", "an", "this", "that"} or (starts and name[0] == "The"):
                name = []
            if starts and common:
                name = name[1:]
            titled = bool(name) and name[0].lower() in _TITLES and len(name) > 1
            if (
                name
                and (titled or before in _TOWARDS or after in _HOLDERS)
                and not (starts and len(name) == 1 and not titled and after not in _HOLDERS)
            ):
                found.append(" ".join(name).removesuffix("'s").removesuffix("’s"))
            position = end
        position += 1
    return tuple(found)
