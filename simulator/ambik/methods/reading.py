"""Which table of likeliest tokens is to be read (spec 7); `sets.scoring_rules` says what is in it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from simulator.ambik.parsing import FIVE
from simulator.ambik.sets.scoring_rules import option_letter
from simulator.models import TokenLogprob

Table = tuple[tuple[str, float], ...]
"""Tokens with log-probabilities (natural), as returned."""
_SPECIAL: Final = re.compile(r"\s*<[^<>]*>\s*")


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


def names_option(table: Table, options: int) -> bool:
    """Whether any token denotes one of so many options."""
    return any(option_letter(token, FIVE[:options]) for token, _ in table)
