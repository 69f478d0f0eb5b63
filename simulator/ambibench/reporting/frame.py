"""Trials as a pandas frame, and the means of its groups that tables and figures show.

Means have percentile bootstrap intervals (spec section 7.4): 1000 resamples of units with a fixed seed. A
unit is a prompt or a person; each group is resampled separately. Sessions of people are flagged as in spec
section 10.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from fnmatch import fnmatchcase
from typing import Any, Final, Literal, get_args

import numpy as np
import pandas as pd

from simulator.ambibench.aws import CATEGORIES as REGIONS
from simulator.ambibench.aws import origins
from simulator.ambibench.coding import CATEGORIES
from simulator.ambibench.features import (
    FEATURES,
    FORMATS,
    KINDS,
    PAIR_NAMES,
    PAIRS,
    SETTINGS,
    TEXT_SETTINGS,
    Pair,
    Variant,
    table,
)
from simulator.ambibench.records import ActorKind, TrialRecord, parse_finetuned
from simulator.stats import Interval, cluster_bootstrap, interval_of, resample

Flag = Literal["unfinished", "fast", "invalid"]
FLAGS: Final[tuple[Flag, ...]] = get_args(Flag)
ANSWERS: Final = 20
FASTEST: Final = 0.8
INVALID: Final = 0.5
# The settings in which people answer a sequence of examples (4.3).
_LONG: Final = ("multiple", "wug", "ft_eval")
PEOPLE: Final = "people"
RESAMPLES: Final = 1000
TITLES: Final[Mapping[str, str]] = {
    **{name: name for name in (*FEATURES, *FORMATS)},
    **table("titles")["levels"],
}
"""Titles of features, formats and origins in tables and figures."""
SETTING_TITLES: Final[Mapping[str, str]] = table("titles")["settings"]

_FIELDS: Final = (
    *("run_id", "trial_id", "actor_id", "session_id", "prompt_id", "repeat", "setting", "fold", "category"),
    *("origin", "normalised", "correct", "valid", "p_valid", "oracle_p", "oracle_identified", "rt_ms"),
)
_RENAMED: Final = {
    "role": "actor_kind",
    "kind": "instruction_kind",
    "pair": "of_pair",
    "feature": "salient_feature",
    "format": "format",
    "variant": "ft_variant",
    "second_name": "second_name",
}
_SECOND: Final = {False: "first", True: "second"}
# Columns with a fixed order of levels.
_LEVELS: Final[Mapping[str, Iterable[str]]] = {
    "role": get_args(ActorKind),
    "setting": SETTINGS,
    "kind": KINDS,
    "pair": PAIR_NAMES,
    "feature": FEATURES,
    "format": FORMATS,
    "fold": PAIR_NAMES,
    "variant": get_args(Variant),
    "category": dict.fromkeys((*CATEGORIES, *REGIONS)),
    "origin": origins(),
    "second_name": _SECOND.values(),
}
_ORDER: Final = ["actor", "setting", "prompt_id", "seed", "actor_id", "k", "run_id", "repeat"]

By = str | tuple[str, ...]
Means = Mapping[Any, Interval]
"""Level of a column, or levels of several -> mean with its interval; `n` counts distinct trials."""


def trial_frame(records: Iterable[TrialRecord], labels: Mapping[str, str] | None = None) -> pd.DataFrame:
    """Return one row per trial; a trial that occurs twice (in a log and in a file) counts once.

    Categorical columns, with categories in display order: ``actor`` (a label: all people are one actor,
    followed by models in order of appearance, then oracles), ``role``, ``setting``, ``kind``, ``pair``,
    ``feature``, ``format``, ``fold``, ``variant``, ``k`` (a number), ``category``, ``origin``,
    ``second_name``; ``session`` (a person's episode). ``unit`` is resampled for intervals: a person, or a
    prompt (the same for all models). ``trial`` identifies actor, prompt and position; repeats of a prompt are
    the same trials.

    Numbers: ``correct``, ``strict``, ``valid`` (probability of X or Y, or whether the answer is one of them),
    ``invalid`` (whether the prediction is neither), ``identified``, ``bayes`` and ``literal`` (scores of the
    oracle's two readings on the same trial), ``seconds``. They are NaN for free text, except ``seconds``.

    The three models that ``askback train ambibench`` trains from one base, one per held-out pair, are one
    actor. The order of rows does not depend on that of `records`.

    `labels`: actor, or a pattern with ``*`` -> label. Actors with the same label are one actor.
    """
    records = tuple(records)
    sources = {name: name for name in _FIELDS} | _RENAMED
    columns = {name: [getattr(record, field) for record in records] for name, field in sources.items()}
    # Missing values would turn these columns into floats, which cannot represent long seeds.
    columns |= {name: [getattr(record, name) or 0 for record in records] for name in ("seed", "k")}
    trials = pd.DataFrame(columns)
    repeated = trials.duplicated(["run_id", "actor_id", "trial_id"]) & trials["trial_id"].notna()
    trials = trials[~repeated].copy()
    trials["actor"] = _actor_labels(trials, labels or {})
    roles = trials["role"].map(get_args(ActorKind).index)
    actors = trials["actor"].loc[roles.sort_values(kind="stable").index].unique()
    trials = trials.sort_values(_ORDER, kind="stable", ignore_index=True)
    trials = _add_units(_add_numbers(trials))
    trials["second_name"] = trials["second_name"].map(_SECOND)
    ordered: dict[str, Iterable[Any]] = {**_LEVELS, "actor": actors}
    ordered["k"] = sorted(set(trials["k"]) - {0})
    ordered |= {name: trials[name].dropna().unique() for name in ("prompt", "session")}
    for name, levels in ordered.items():
        levels = list(levels)
        trials[name] = pd.Categorical(trials[name].where(trials[name].isin(levels)), categories=levels)
    return trials


def select(trials: pd.DataFrame, **levels: Any) -> pd.DataFrame:
    """Return the trials whose columns have the given levels; several levels of a column are alternatives."""
    mask = np.ones(len(trials), dtype=bool)
    for name, level in levels.items():
        mask &= trials[name].isin([level] if isinstance(level, str | int) else list(level)).to_numpy()
    return trials[mask]


def present(trials: pd.DataFrame, name: str) -> list[Any]:
    """Return the levels of a column that occur in trials, in order."""
    return list(trials[name].dropna().cat.remove_unused_categories().cat.categories)


def pair_title(pair: Pair) -> str:
    """Return ``subject / location``."""
    return " / ".join(TITLES[feature] for feature in PAIRS[pair])


def means(trials: pd.DataFrame, measure: str, by: By) -> Means:
    """Return the mean of a measure in each group of trials that agree in the columns `by`.

    Trials without a value, or without a level of one of the columns, are left out.
    """
    return {
        levels: cluster_bootstrap(
            group[measure].tolist(), group["unit"].tolist(), resamples=RESAMPLES
        )._replace(n=group["trial"].nunique())
        for levels, group in _groups(trials, measure, by)
    }


def shares(trials: pd.DataFrame, category: str, by: By) -> Means:
    """Return the share of a category among the sorted trials of each group."""
    in_category = (trials["category"] == category).astype(float).where(trials["category"].notna())
    return means(trials.assign(in_category=in_category), "in_category", by)


def macro_means(trials: pd.DataFrame, measure: str, by: By, over: str) -> Means:
    """Return the mean over the levels of the column `over` (such as actors) of each level's mean.

    Each level has the same weight, however many trials it has. Units are resampled with all their levels; a
    level missing from a resample is left out of it.
    """
    groups = _groups(trials, measure, by)
    return {levels: _mean_of_means(group, measure, over) for levels, group in groups}


def pivot(means: Means) -> dict[Any, dict[Any, Interval]]:
    """Return means by two columns as a nested mapping."""
    table: dict[Any, dict[Any, Interval]] = {}
    for (first, second), value in means.items():
        table.setdefault(first, {})[second] = value
    return table


def _groups(trials: pd.DataFrame, measure: str, by: By) -> Iterator[tuple[Any, pd.DataFrame]]:
    columns = by if isinstance(by, str) else list(by)
    yield from trials[trials[measure].notna()].groupby(columns, observed=True)


def _mean_of_means(group: pd.DataFrame, measure: str, over: str) -> Interval:
    sums, counts = (
        group.pivot_table(index="unit", columns=over, values=measure, aggfunc=function, observed=True)
        for function in ("sum", "count")
    )
    columns = np.hstack([sums.fillna(0).to_numpy(float), counts.fillna(0).to_numpy(float)])
    top, bottom = np.hsplit(resample(columns, resamples=RESAMPLES), 2)
    at_levels = np.divide(top, bottom, out=np.full_like(top, np.nan), where=bottom > 0)
    mean = interval_of(np.nanmean(at_levels, axis=1), len(group), groups=len(sums))
    assert mean is not None  # every group has a value
    return mean._replace(n=group["trial"].nunique())


def _actor_labels(trials: pd.DataFrame, labels: Mapping[str, str]) -> pd.Series[Any]:
    people = trials["role"] == "human"
    names = trials["actor_id"].map({name: _label(name, labels) for name in trials["actor_id"][~people]})
    return names.mask(people, labels.get("person", PEOPLE))


def _label(name: str, labels: Mapping[str, str]) -> str:
    matching = (label for pattern, label in labels.items() if fnmatchcase(name, pattern))
    model = parse_finetuned(name)
    return labels.get(name) or next(matching, model.family if model else name)


def _add_units(trials: pd.DataFrame) -> pd.DataFrame:
    people, actor = trials["role"] == "human", trials["actor_id"].astype(str)
    prompt = trials["prompt_id"].astype(str) + " " + trials["seed"].astype(str)
    sessions = trials["session_id"].fillna("") != ""
    return trials.assign(
        prompt=prompt,
        session=trials["session_id"].where(sessions, (actor + " " + prompt).where(people)),
        unit=("person " + actor).where(people, prompt),
        trial=actor + " " + prompt + " " + trials["k"].astype(str),
    )


def _add_numbers(trials: pd.DataFrame) -> pd.DataFrame:
    fields = ["correct", "p_valid", "valid", "oracle_p", "oracle_identified", "rt_ms"]
    number = trials[fields].astype(float)
    belief = number["oracle_p"]
    numbers = pd.DataFrame(
        {
            "correct": number["correct"],
            "strict": number["correct"].mask(trials["normalised"].astype(bool), 0.0),
            "valid": number["p_valid"].fillna(number["valid"]),
            "invalid": 1 - number["valid"],
            "identified": number["oracle_identified"],
            # The Bayes-optimal learner says the label with more mass, and guesses at a half.
            "bayes": (belief > 0.5).astype(float).mask(belief == 0.5, 0.5).where(belief.notna()),
            "literal": 0.5 + number["oracle_identified"] / 2,
        }
    )
    numbers[trials["setting"].isin(TEXT_SETTINGS)] = np.nan
    return trials.assign(**{str(name): numbers[name] for name in numbers}, seconds=number["rt_ms"] / 1000)


def sessions(trials: pd.DataFrame) -> pd.DataFrame:
    """Return a row per session of people.

    Columns are ``session`` (the episode), ``setting``, ``kind`` of instruction, ``answers`` (their number),
    ``seconds`` (median time of an answer; NaN if there are no times), ``invalid`` (share of answers that are
    neither X nor Y), ``accuracy``, and ``flags``, separated by blanks: ``unfinished`` (fewer than 20 answers
    in 4.3), ``fast`` (median below 0.8 s), ``invalid`` (more than half).
    """
    people = select(trials, role="human").dropna(subset="correct")
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
    """Return the trials without people's flagged sessions."""
    people = sessions(trials)
    flagged = people.loc[people["flags"] != "", "session"]
    return trials[~((trials["role"] == "human") & trials["session"].isin(flagged))]
