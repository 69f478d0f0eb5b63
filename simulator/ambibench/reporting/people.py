"""People's sessions: which are flagged, and results without those (spec section 10)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, Literal, NamedTuple, get_args

import pandas as pd

from simulator.ambibench.reporting.frame import where

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


def sessions(trials: pd.DataFrame) -> tuple[Session, ...]:
    """Return every session of people, with its flags."""
    people = where(trials, role="human").dropna(subset="correct")
    groups = people.fillna({"invalid": 0.0}).groupby(["setting", "kind", "session"], observed=True)
    rows = groups.agg(
        answers=("correct", "size"),
        seconds=("seconds", "median"),
        invalid=("invalid", "mean"),
        accuracy=("correct", "mean"),
    )
    return tuple(_session(row) for row in rows.reset_index().itertuples(index=False))


def without_flagged(trials: pd.DataFrame, people: Sequence[Session] | None = None) -> pd.DataFrame:
    """Return the trials without flagged sessions of people; those of others stay."""
    flagged = [
        session.session for session in (sessions(trials) if people is None else people) if session.flags
    ]
    return trials[~((trials["role"] == "human") & trials["session"].isin(flagged))]


def _session(row: Any) -> Session:
    flagged = {
        "unfinished": row.setting in _LONG and row.answers < ANSWERS,
        "fast": row.seconds < FASTEST,
        "invalid": row.invalid > INVALID,
    }
    seconds = None if pd.isna(row.seconds) else row.seconds
    flags = tuple(flag for flag in FLAGS if flagged[flag])
    return Session(row.session, row.setting, row.kind, row.answers, seconds, row.invalid, row.accuracy, flags)
