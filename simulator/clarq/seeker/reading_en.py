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
from simulator.clarq.seeker.reading import Segment, base_of
from simulator.clarq.words import EN, EN_PATTERNS

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
    """Yield “book a room” and “book a table” apart: each thing to be had, with the verb before it."""
    start = 0
    if piece[0].lower() in EN["acquire"]:
        for position, token in enumerate(piece):
            rest = _skip(piece, position + 1)
            if token == "," and rest < len(piece) and piece[rest].lower() in EN["articles"]:
                yield piece[:1] * (start > 0) + piece[start:position]
                start = rest
    yield piece[:1] * (start > 0) + piece[start:]


def _skip(tokens: Sequence[str], position: int) -> int:
    while position < len(tokens) and tokens[position].lower() in EN["joiners"]:
        position += 1
    return position


def _pieces(tokens: Sequence[str]) -> Iterator[list[str]]:
    """Yield a sentence's tokens, cut where the next thing to do begins and around subordinate clauses."""
    piece: list[str] = []
    for position, token in enumerate(tokens):
        breaks = token in {",", ";", ":", "–", "—"} or token in EN["joiners"]
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
    while rest < len(tokens) and (
        tokens[rest].lower() in EN["joiners"] | EN["adverbs"] or tokens[rest] == ","
    ):
        rest += 1
    if rest >= len(tokens):
        return False
    following = tokens[rest].lower()
    if token in {";", "–", "—"}:
        return True
    if token == "," and (piece[0].lower() in EN["subordinators"] or following in EN["relatives"]):
        return True
    if following in {"you", "they", "he", "she", "it", "there", "we", "i"}:
        return token == "," or token in EN["joiners"]
    main_clause = token == "," and piece[0].lower() in EN["subordinators"]
    return _is_verb(tokens, rest, sure=main_clause or tokens[rest - 1].lower() == "then")


def _is_verb(tokens: Sequence[str], position: int, *, sure: bool = False) -> bool:
    """Return True if a verb stands at `position`; `sure` if a main clause must begin there."""
    word = tokens[position].lower()
    if word not in EN["verbs"] or sure:
        return word in EN["verbs"]
    following = tokens[position + 1].lower() if position + 1 < len(tokens) else ""
    if word in EN["ambiguous"]:
        return following in EN["determiners"] or following in EN["pronouns"] or following in EN["particles"]
    return following not in {"of", "is", "are"}


def _segment(tokens: list[str], *, first: bool, sure: bool) -> Segment:
    while tokens and (tokens[0].lower() in EN["joiners"] | EN["adverbs"] or not tokens[0][0].isalnum()):
        tokens = tokens[1:]
    if not tokens:
        return Segment(text="")
    text = spell(tokens)
    phrases = phrases_of(tokens)
    doing = _doing(text, sure=sure)
    if doing and (kept := EN_PATTERNS["forgetting"].sub("", spell(doing))) != spell(doing):
        doing = TOKEN.findall(kept)
    verb = doing[0].lower() if doing else ""
    step = (
        _of_oneself(
            EN_PATTERNS["dangling"].sub("", EN_PATTERNS["tails"].sub("", spell(doing))).strip(" ,.;:!")
        )
        if doing
        else ""
    )
    objects = objects_of(doing[1:]) if verb in EN["acquire"] | EN["consume"] and not causes(doing) else []
    wanted = [*(objects if verb in EN["acquire"] else []), *needed(tokens)]
    names, keepers = names_of(tokens, first=first), keepers_of(text)
    used = [*(objects if verb in EN["consume"] else []), *put_to_use(doing, text)]
    return Segment(
        text=text,
        step=step,
        explained=not step
        or (
            not EN_PATTERNS["condition"].search(text)
            and " what " not in step
            and (verb in EN["plain"] or bool(EN_PATTERNS["means"].search(step)))
        ),
        wanted=nouns_of(wanted),
        used=nouns_of(used),
        achieves=verb in EN["achieve"],
        made=verb in EN["making"] and bool(offered(text)),
        vague=vague_of(phrases, text, verb),
        offered=nouns_of(offered(text)),
        names=(*names, *keepers),
        keepers=(*keepers, *(name for name in names if holds(name, text))),
        rows=rows_of(tokens),
    )


def _doing(text: str, *, sure: bool) -> list[str]:
    """Return the tokens of what is to be done in a segment; empty if nothing is."""
    if gerund := EN_PATTERNS["start_by"].search(text):
        tokens = TOKEN.findall(text[gerund.start(1) :])
        verb = base_of(tokens[0].lower())
        return [verb, *tokens[1:]] if verb else []
    tokens = _without_adverbs(text)
    if tokens and _is_verb(tokens, 0, sure=sure):
        return tokens
    match = EN_PATTERNS["modals"].search(text)
    tokens = _without_adverbs(text[match.end() :]) if match else []
    return tokens if tokens and tokens[0].lower() in EN["verbs"] else []


def _without_adverbs(text: str) -> list[str]:
    tokens = TOKEN.findall(text)
    while tokens and tokens[0].lower() in EN["adverbs"]:
        tokens = tokens[1:]
    return tokens


def _of_oneself(step: str) -> str:
    """Return the provider's “you” as the seeker's “I”."""

    def turn(match: re.Match[str]) -> str:
        word, following = match.group(1).lower(), match.group(2).lower()
        if word in _MINE:
            return _MINE[word]
        before = (step[: match.start()].lower().split() or [""])[-1]
        acts = following in EN["auxiliaries"] or before in EN["subordinators"] | EN["relatives"] | {"that"}
        acts = acts or (following in EN["verbs"] and before not in EN["helping"])
        return "I" if acts else "me"

    step = EN_PATTERNS["you"].sub(turn, step)
    return step[:1].lower() + step[1:] if step[1:2].islower() or len(step) == 1 else step
