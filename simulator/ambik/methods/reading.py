"""What the tables of likeliest tokens say: which one to read, letters, true or false (spec 7, 8.2)."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Sequence
from typing import Final

from simulator.models import TokenLogprob

Table = tuple[tuple[str, float], ...]
"""Tokens with log-probabilities (natural), as returned."""
_SPECIAL: Final = re.compile(r"\s*<[^<>]*>\s*")
_WORDS: Final = ("true", "false")
_PREFIX: Final = 3
"""Letters by which a word that is several tokens is known by the first."""


def says_nothing(place: TokenLogprob) -> bool:
    """Whether what was written is a blank, a bracket or a token that only the model knows of."""
    return bool(_SPECIAL.fullmatch(place.token)) or not any(map(str.isalnum, place.token))


def first_word(places: Sequence[TokenLogprob]) -> TokenLogprob | None:
    """The first place that says something; the very first if none does, None if there is none."""
    return next((place for place in places if not says_nothing(place)), places[0] if places else None)


def table_of(place: TokenLogprob | None) -> Table:
    """What could have been written in a place; some servers leave out what was."""
    if place is None:
        return ()
    written = () if any(token == place.token for token, _ in place.top) else ((place.token, place.logprob),)
    return (*written, *place.top)


def names_option(table: Table, letters: Collection[str]) -> bool:
    """Whether any token denotes one of the options."""
    known = {*letters, *(str(number) for number in range(1, len(letters) + 1))}
    return any(token.strip().upper() in known for token, _ in table)


def share_of_true(table: Table) -> float | None:
    """p(True) / (p(True) + p(False)), each summed over the tokens that say so; None if none does."""
    sums = dict.fromkeys(_WORDS, 0.0)
    for token, logprob in table:
        said = token.strip().lower()
        for word in _WORDS:
            if len(said) >= _PREFIX and word.startswith(said):
                sums[word] += math.exp(logprob)
    whole = math.fsum(sums.values())
    return sums["true"] / whole if whole else None
