"""People's sessions: which are flagged, and results without those (spec section 10)."""

from __future__ import annotations

from typing import Final, Literal, get_args

import pandas as pd

from simulator.ambibench.reporting.frame import where

Flag = Literal["unfinished", "fast", "invalid"]
FLAGS: Final[tuple[Flag, ...]] = get_args(Flag)
ANSWERS: Final = 20
FASTEST: Final = 0.8
INVALID: Final = 0.5
# The settings in which people answer one example after the other (4.3).
_LONG: Final = ("multiple", "wug", "ft_eval")


def sessions(trials: pd.DataFrame) -> pd.DataFrame:
    """Return a row per session of people.

    Columns are ``session`` (the episode), ``setting``, ``kind`` of instruction, ``answers`` that were given,
    ``seconds`` (median time of an answer; NaN if no times are known), ``invalid`` (share of answers that are
    neither X nor Y), ``accuracy``, and ``flags``, with a blank between: ``unfinished`` (fewer than 20 answers
    in 4.3), ``fast`` (median below 0.8 s), ``invalid`` (more than half).
    """
    people = where(trials, role="human").dropna(subset="correct")
    groups = people.fillna({"invalid": 0.0}).groupby(["setting", "kind", "session"], observed=True)
    rows = groups.agg(
        answers=("correct", "size"),
        seconds=("seconds", "median"),
        invalid=("invalid", "mean"),
        accuracy=("correct", "mean"),
    ).reset_index()
    flagged = {
        "unfinished": rows["setting"].isin(_LONG) & (rows["answers"] < ANSWERS),
        "fast": rows["seconds"] < FASTEST,
        "invalid": rows["invalid"] > INVALID,
    }
    flags = pd.DataFrame(flagged, index=rows.index)
    rows["flags"] = [" ".join(flag for flag in FLAGS if row[flag]) for row in flags.to_dict("records")]
    return rows[["session", "setting", "kind", "answers", "seconds", "invalid", "accuracy", "flags"]]


def without_flagged(trials: pd.DataFrame) -> pd.DataFrame:
    """Return the trials without flagged sessions of people; those of others stay."""
    people = sessions(trials)
    flagged = people.loc[people["flags"] != "", "session"]
    return trials[~((trials["role"] == "human") & trials["session"].isin(flagged))]
