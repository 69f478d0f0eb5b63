"""Reading a provider's line in English, by word lists; see `simulator.clarq.seeker.reading`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache

from simulator.clarq.lexical import sentences
from simulator.clarq.seeker.phrases_en import (
    TOKEN,
    causes,
    holds,
    keepers_of,
    names_of,
    needed,
    nouns_of,
    objects_of,
    offered,
    phrases_of,
    put_to_use,
    rows_of,
    spell,
    vague_of,
)
from simulator.clarq.seeker.reading import Segment, base_of, word_set

_VERBS = word_set("en", "verbs")
_AMBIGUOUS = word_set("en", "ambiguous")
_PLAIN = word_set("en", "plain")
_ACQUIRE = word_set("en", "acquire")
_ACHIEVE = word_set("en", "achieve")
_MAKE = word_set("en", "making")
_CONSUME = word_set("en", "consume")
_DETERMINERS = word_set("en", "determiners")
_ADVERBS = word_set("en", "adverbs")
_HELPING = word_set("en", "helping")
_AUXILIARIES = word_set("en", "auxiliaries")
_PRONOUNS = word_set("en", "pronouns")
_ARTICLES = word_set("en", "articles")
_PARTICLES = word_set("en", "particles")
_SUBORDINATORS = word_set("en", "subordinators")
_RELATIVE = word_set("en", "relatives")
_JOINERS = word_set("en", "joiners")
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
    r"|,? and then .*$|,? and \w+$|\s+(?:to complete|to finish) (?:the|this|your) task$"
)
_FORGETTING = re.compile(r"^(?:do not|don't|don’t|never) forget to ", re.IGNORECASE)
_DANGLING = re.compile(r"(?:[,\s]+(?:on|from|in|at|to|with|of|by|for|through|first|and|or))+$")
_MEANS = re.compile(r"\b(?:with|using|by \w+ing|by means of)\s+(?:(?:the|my|a|an|some)\s+)?\w+")
_CONDITION = re.compile(r"\bwithout \w+ing\b|\bso that [^,]* (?:not|nobody|nothing|no)\b")
_YOU = re.compile(r"\b(your|yours|yourself|you)\b(?=\s*(\w*))", re.IGNORECASE)
_MINE = {"your": "my", "yours": "mine", "yourself": "myself"}


@lru_cache(maxsize=4096)
def read_english(line: str) -> tuple[Segment, ...]:
    """Return the segments of a line."""
    return tuple(
        _segment(part, first=position == 0, sure=position > 0)
        for sentence in sentences(line, "en")
        for position, piece in enumerate(_pieces(TOKEN.findall(sentence)))
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


def _skip(tokens: Sequence[str], position: int) -> int:
    while position < len(tokens) and tokens[position].lower() in _JOINERS:
        position += 1
    return position


def _pieces(tokens: Sequence[str]) -> Iterator[list[str]]:
    """Yield a sentence's tokens, cut where the next thing to do begins and around subordinate clauses."""
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
    """Return True if a new segment begins behind the comma or conjunction at `position`."""
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
    main_clause = token == "," and piece[0].lower() in _SUBORDINATORS
    return _is_verb(tokens, rest, sure=main_clause or tokens[rest - 1].lower() == "then")


def _is_verb(tokens: Sequence[str], position: int, *, sure: bool = False) -> bool:
    """Return True if a verb stands at `position`; `sure` if a main clause must begin there."""
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
    text = spell(tokens)
    phrases = phrases_of(tokens)
    doing = _doing(text, sure=sure)
    if doing and (kept := _FORGETTING.sub("", spell(doing))) != spell(doing):
        doing = TOKEN.findall(kept)
    verb = doing[0].lower() if doing else ""
    step = _of_oneself(_DANGLING.sub("", _TAILS.sub("", spell(doing))).strip(" ,.;:!")) if doing else ""
    objects = objects_of(doing[1:]) if verb in _ACQUIRE | _CONSUME and not causes(doing) else []
    wanted = [*(objects if verb in _ACQUIRE else []), *needed(tokens)]
    names, keepers = names_of(tokens, first=first), keepers_of(text)
    used = [*(objects if verb in _CONSUME else []), *put_to_use(doing, text)]
    return Segment(
        text=text,
        step=step,
        explained=not step
        or (
            not _CONDITION.search(text)
            and " what " not in step
            and (verb in _PLAIN or bool(_MEANS.search(step)))
        ),
        wanted=nouns_of(wanted),
        used=nouns_of(used),
        achieves=verb in _ACHIEVE,
        made=verb in _MAKE and bool(offered(text)),
        vague=vague_of(phrases, text, verb),
        offered=nouns_of(offered(text)),
        names=(*names, *keepers),
        keepers=(*keepers, *(name for name in names if holds(name, text))),
        rows=rows_of(tokens),
    )


def _doing(text: str, *, sure: bool) -> list[str]:
    """Return the tokens of what is to be done in a segment; empty if nothing is."""
    if gerund := _START_BY.search(text):
        tokens = TOKEN.findall(text[gerund.start(1) :])
        verb = base_of(tokens[0].lower())
        return [verb, *tokens[1:]] if verb else []
    tokens = _without_adverbs(text)
    if tokens and _is_verb(tokens, 0, sure=sure):
        return tokens
    match = _MODALS.search(text)
    tokens = _without_adverbs(text[match.end() :]) if match else []
    return tokens if tokens and tokens[0].lower() in _VERBS else []


def _without_adverbs(text: str) -> list[str]:
    tokens = TOKEN.findall(text)
    while tokens and tokens[0].lower() in _ADVERBS:
        tokens = tokens[1:]
    return tokens


_START_BY = re.compile(r"\b(?:start|begin) by (\w+ing)\b", re.IGNORECASE)


def _of_oneself(step: str) -> str:
    """Return the provider's “you” as the seeker's “I”."""

    def turn(match: re.Match[str]) -> str:
        word, following = match.group(1).lower(), match.group(2).lower()
        if word in _MINE:
            return _MINE[word]
        before = (step[: match.start()].lower().split() or [""])[-1]
        acts = following in _AUXILIARIES or before in _SUBORDINATORS | _RELATIVE | {"that"}
        acts = acts or (following in _VERBS and before not in _HELPING)
        return "I" if acts else "me"

    step = _YOU.sub(turn, step)
    return step[:1].lower() + step[1:] if step[1:2].islower() or len(step) == 1 else step
