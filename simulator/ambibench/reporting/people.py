"""What is told of people's sessions: which are flagged, and results without those (spec section 10)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Literal, NamedTuple, get_args

import numpy as np

from simulator.ambibench.reporting.measures import groups
from simulator.ambibench.reporting.results import Results

Flag = Literal["unfinished", "fast", "invalid"]
FLAGS: Final[tuple[Flag, ...]] = get_args(Flag)
ANSWERS: Final = 20
FASTEST: Final = 0.8
INVALID: Final = 0.5
# The settings in which people answer one example after the other (4.3).
_LONG: Final = ("multiple", "wug", "ft_eval")


class Session(NamedTuple):
    """One person's session.

    Attributes:
        session: the episode.
        setting: what was asked for.
        kind: of the instruction.
        answers: how many were given.
        seconds: median time of an answer; None if no times are known.
        invalid: share of answers that are neither X nor Y.
        accuracy: share of right ones.
        flags: ``unfinished`` (fewer than 20 answers in 4.3), ``fast`` (median below 0.8 s), ``invalid`` (more
            than half).
    """

    session: str
    setting: str
    kind: str
    answers: int
    seconds: float | None
    invalid: float
    accuracy: float
    flags: tuple[Flag, ...]


def sessions(results: Results, *, answers: int = ANSWERS) -> tuple[Session, ...]:
    """Every session of people, with its flags.

    Args:
        results: trials of anybody.
        answers: how many answers a session of 4.3 should have.
    """
    people = results.where(role="human")
    found = []
    for (setting, kind, session), at in groups(
        people, ("setting", "kind", "session"), ~np.isnan(people.numbers["correct"])
    ):
        times = people.numbers["seconds"][at]
        known = times[~np.isnan(times)]
        seconds = float(np.median(known)) if len(known) else None
        invalid = float(np.nan_to_num(people.numbers["invalid"][at]).mean())
        flagged = {
            "unfinished": setting in _LONG and len(at) < answers,
            "fast": seconds is not None and seconds < FASTEST,
            "invalid": invalid > INVALID,
        }
        accuracy = float(people.numbers["correct"][at].mean())
        flags = tuple(flag for flag in FLAGS if flagged[flag])
        found.append(Session(session, setting, kind, len(at), seconds, invalid, accuracy, flags))
    return tuple(found)


def without_flagged(results: Results, told: Sequence[Session] | None = None) -> Results:
    """The results without flagged sessions of people; those of others stay."""
    flagged = [one.session for one in (sessions(results) if told is None else told) if one.flags]
    return results.take(~(results.has("role", "human") & results.has("session", flagged)))
