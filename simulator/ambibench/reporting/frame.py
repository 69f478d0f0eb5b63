"""Trials as a pandas frame: a row per trial, from which every table and figure is a group-by."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase
from typing import Any, Final, get_args

import numpy as np
import pandas as pd

from simulator.ambibench.aws import CATEGORIES as REGIONS
from simulator.ambibench.aws import origins
from simulator.ambibench.coding import CATEGORIES
from simulator.ambibench.features import FEATURES, FORMATS, KINDS, PAIR_NAMES, SETTINGS, Variant
from simulator.ambibench.records import TEXT_SETTINGS, ActorKind, TrialRecord, finetuned

PEOPLE: Final = "people"
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
# Levels that are shown in a fixed order.
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
_PLACE: Final = ["actor", "setting", "prompt_id", "seed", "actor_id", "k", "run_id", "repeat"]


def trial_frame(records: Iterable[TrialRecord], labels: Mapping[str, str] | None = None) -> pd.DataFrame:
    """Return one row per trial; a trial that comes twice (from a log and from a file) counts once.

    What names something is a categorical column, its categories in the order in which tables show them:
    ``actor`` (a label: all people are one; then models as they first appear, then oracles), ``role``,
    ``setting``, ``kind``, ``pair``, ``feature``, ``format``, ``fold``, ``variant``, ``k`` (a number),
    ``category``, ``origin``, ``second_name``. ``unit`` is what intervals resample: a person, or else a prompt
    (the same one for all models); ``session`` a person's episode; ``trial`` what one actor was asked at one
    place: repeats of a prompt are the same trials again.

    Numbers: ``correct``, ``strict``, ``valid`` (probability of X or Y, or whether the answer is one),
    ``invalid`` (whether the prediction is neither), ``identified``, ``bayes`` and ``literal`` (what the
    oracle's two readings get on this very trial), ``seconds``. Free text is neither right nor wrong.

    The three models that ``askback train ambibench`` makes of one base, one per held-out pair, are one actor.
    Rows are in an order that does not depend on the one in which they come, for intervals are resampled.

    Args:
        records: scored trials.
        labels: actor, or a pattern with ``*``, -> what it is called. Actors of one label are one.
    """
    records = tuple(records)
    sources = {name: name for name in _FIELDS} | _RENAMED
    columns = {name: [getattr(record, field) for record in records] for name, field in sources.items()}
    # Seeds are too long for the numbers that stand beside missing ones.
    columns |= {name: [getattr(record, name) or 0 for record in records] for name in ("seed", "k")}
    trials = pd.DataFrame(columns)
    again = trials.duplicated(["run_id", "actor_id", "trial_id"]) & trials["trial_id"].notna()
    trials = trials[~again].copy()
    trials["actor"] = _labelled(trials, labels or {})
    actors = trials.drop_duplicates("actor").sort_values(
        "role", key=lambda roles: roles.map(get_args(ActorKind).index), kind="stable"
    )
    trials = trials.sort_values(_PLACE, kind="stable", ignore_index=True)
    trials = _with_units(_with_numbers(trials))
    trials["second_name"] = trials["second_name"].map(_SECOND)
    ordered: dict[str, Iterable[Any]] = {**_LEVELS, "actor": actors["actor"]}
    ordered["k"] = sorted(set(trials["k"]) - {0})
    ordered |= {name: trials[name].dropna().unique() for name in ("prompt", "session")}
    for name, levels in ordered.items():
        known = list(levels)
        trials[name] = pd.Categorical(trials[name].where(trials[name].isin(known)), categories=known)
    return trials


def where(trials: pd.DataFrame, **levels: Any) -> pd.DataFrame:
    """Return the trials whose columns have given levels, or one of several."""
    mask = np.ones(len(trials), dtype=bool)
    for name, level in levels.items():
        mask &= trials[name].isin([level] if isinstance(level, str | int) else list(level)).to_numpy()
    return trials[mask]


def present(trials: pd.DataFrame, name: str) -> list[Any]:
    """Return the levels of a column that trials have, in order."""
    levels = trials[name].dropna()
    return list(levels.cat.remove_unused_categories().cat.categories)


def longest(trials: pd.DataFrame) -> int:
    """Return the last k that there is."""
    return int(max(present(trials, "k"), default=0))


def _labelled(trials: pd.DataFrame, labels: Mapping[str, str]) -> pd.Series[Any]:
    people = trials["role"] == "human"
    names = trials["actor_id"].map({name: _label(name, labels) for name in trials["actor_id"][~people]})
    return names.mask(people, labels.get("person", PEOPLE))


def _label(name: str, labels: Mapping[str, str]) -> str:
    matching = (label for pattern, label in labels.items() if fnmatchcase(name, pattern))
    trained = finetuned(name)
    return labels.get(name) or next(matching, trained.family if trained else name)


def _with_units(trials: pd.DataFrame) -> pd.DataFrame:
    people, actor = trials["role"] == "human", trials["actor_id"].astype(str)
    prompt = trials["prompt_id"].astype(str) + " " + trials["seed"].astype(str)
    return trials.assign(
        prompt=prompt,
        session=trials["session_id"].where(
            trials["session_id"].fillna("") != "", (actor + " " + prompt).where(people)
        ),
        unit=("person " + actor).where(people, prompt),
        trial=actor + " " + prompt + " " + trials["k"].astype(str),
    )


def _with_numbers(trials: pd.DataFrame) -> pd.DataFrame:
    def number(name: str) -> pd.Series[Any]:
        return trials[name].astype(float)

    believed, identified = number("oracle_p"), number("oracle_identified")
    numbers = pd.DataFrame(
        {
            "correct": number("correct"),
            "strict": number("correct").mask(trials["normalised"].astype(bool), 0.0),
            "valid": number("p_valid").fillna(number("valid")),
            "invalid": 1 - number("valid"),
            "identified": identified,
            # The Bayes-optimal learner says the label with more mass, and guesses at a half.
            "bayes": (believed > 0.5).astype(float).mask(believed == 0.5, 0.5).where(believed.notna()),
            "literal": 0.5 + identified / 2,
        }
    )
    numbers[trials["setting"].isin(TEXT_SETTINGS)] = np.nan
    return trials.assign(**{str(name): numbers[name] for name in numbers}, seconds=number("rt_ms") / 1000)
