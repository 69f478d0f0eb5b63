"""Trials as columns, to be counted quickly.

What names something (actor, feature, …) is a factor: its levels in the order in which tables show them, and
a code per trial. What is a number is an array, NaN where it is not known.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any, Final, Literal, get_args

import numpy as np
import numpy.typing as npt

from simulator.ambibench.aws import CATEGORIES as REGIONS
from simulator.ambibench.aws import origins
from simulator.ambibench.coding import CATEGORIES
from simulator.ambibench.features import FEATURES, FORMATS, KINDS, PAIR_NAMES, SETTINGS, Variant
from simulator.ambibench.records import TEXT_SETTINGS, ActorKind, TrialRecord, finetuned, strict

PEOPLE: Final = "people"
Name = Literal[
    "actor", "role", "setting", "kind", "pair", "feature", "format", "fold", "variant", "k",
    "category", "origin", "second_name", "prompt", "session", "unit", "trial",
]  # fmt: skip
Measure = Literal["correct", "strict", "valid", "identified", "bayes", "literal"]
Floats = npt.NDArray[np.float64]
Codes = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

_SECOND: Final = ("first", "second")
# Levels that are shown in a fixed order; those of other factors come as they appear.
_ORDER: Final[Mapping[str, Sequence[str]]] = {
    "role": get_args(ActorKind),
    "setting": SETTINGS,
    "kind": KINDS,
    "pair": PAIR_NAMES,
    "feature": FEATURES,
    "format": FORMATS,
    "fold": PAIR_NAMES,
    "variant": get_args(Variant),
    "category": tuple(dict.fromkeys((*CATEGORIES, *REGIONS))),
    "origin": origins(),
    "second_name": _SECOND,
}


@dataclass(frozen=True, slots=True)
class Factor:
    """What names something.

    Attributes:
        levels: the names there are.
        codes: per trial the place of its name in `levels`; -1 where it has none.
    """

    levels: tuple[str, ...]
    codes: Codes

    def take(self, mask: Mask) -> Factor:
        """The same of some trials."""
        return Factor(self.levels, self.codes[mask])

    def present(self) -> tuple[str, ...]:
        """The levels that trials have, in order."""
        return tuple(self.levels[code] for code in np.unique(self.codes) if code >= 0)


@dataclass(frozen=True, slots=True)
class Results:
    """Trials of several runs and actors.

    Attributes:
        factors: by name. ``actor`` is a label: all people are one actor. ``unit`` is what intervals
            resample: a person, or else a prompt (the same one for all models). ``k`` has levels ``1``,
            ``2``, …. ``session`` is a person's episode. ``trial`` is what one actor was
            asked at one place: repeats of a prompt are the same trials again.
        numbers: ``correct``, ``strict``, ``valid`` (probability of X or Y, or whether the answer is one),
            ``invalid`` (whether the prediction is neither), ``tie``, ``identified``, ``bayes`` and
            ``literal`` (what the oracle's two readings get on this very trial), ``seconds`` and
            ``n_examples``.
    """

    factors: Mapping[Name, Factor]
    numbers: Mapping[str, Floats]

    def __len__(self) -> int:
        return len(self.numbers["correct"])

    def take(self, mask: Mask) -> Results:
        """Some of the trials."""
        return Results(
            {name: factor.take(mask) for name, factor in self.factors.items()},
            {name: values[mask] for name, values in self.numbers.items()},
        )

    def where(self, **wanted: str | Sequence[str]) -> Results:
        """The trials whose factors have given levels, or one of several."""
        mask = np.ones(len(self), dtype=bool)
        for name, levels in wanted.items():
            mask &= self.has(name, levels)  # type: ignore[arg-type]
        return self.take(mask)

    def has(self, name: Name, levels: str | Sequence[str]) -> Mask:
        """Per trial, whether a factor has a level, or one of several."""
        factor = self.factors[name]
        chosen = (levels,) if isinstance(levels, str) else levels
        return np.isin(factor.codes, [factor.levels.index(one) for one in chosen if one in factor.levels])

    def present(self, name: Name) -> tuple[str, ...]:
        """The levels of a factor that trials have, in order."""
        return self.factors[name].present()


def results(records: Iterable[TrialRecord], labels: Mapping[str, str] | None = None) -> Results:
    """Trials as columns; a trial that comes twice (from a log and from a file) counts once.

    The three models that ``askback train ambibench`` makes of one base, one per held-out pair, are one actor.

    Actors come in this order: people, models as they first appear, oracles. Trials are put into an order
    that does not depend on the one in which they come, for intervals are resampled.

    Args:
        records: scored trials.
        labels: actor, or a pattern with ``*``, -> what it is called. Actors of one label are one.
    """
    chosen = _once(records)
    named = _labelled(chosen, labels or {})
    order = sorted(range(len(chosen)), key=lambda at: (named[at], *_place(chosen[at])))
    trials, actors = [chosen[at] for at in order], [named[at] for at in order]
    factors: dict[Name, Factor] = {
        name: _factor([value(one) for one in trials], _ORDER.get(name)) for name, value in _FACTORS.items()
    }
    factors["actor"] = _factor(actors, _actor_order(chosen, named))
    factors["k"] = _numbered([one.k for one in trials])
    for name in _IDS:
        factors[name] = _factor([_IDS[name](one) for one in trials], None)
    numbers = {name: _column(value, trials) for name, value in _NUMBERS.items()}
    return Results(factors, numbers)


def _once(records: Iterable[TrialRecord]) -> list[TrialRecord]:
    found: dict[Any, TrialRecord] = {}
    for number, record in enumerate(records):
        key = number if record.trial_id is None else (record.run_id, record.actor_id, record.trial_id)
        found.setdefault(key, record)
    return list(found.values())


def _labelled(records: Sequence[TrialRecord], labels: Mapping[str, str]) -> list[str]:
    names = dict.fromkeys(record.actor_id for record in records if record.actor_kind != "human")
    called = {name: _label(name, labels) for name in names}
    people = labels.get("person", PEOPLE)
    return [people if one.actor_kind == "human" else called[one.actor_id] for one in records]


def _label(name: str, labels: Mapping[str, str]) -> str:
    matching = (label for pattern, label in labels.items() if fnmatchcase(name, pattern))
    trained = finetuned(name)
    return labels.get(name) or next(matching, trained.family if trained else name)


def _actor_order(records: Sequence[TrialRecord], named: Sequence[str]) -> tuple[str, ...]:
    roles = get_args(ActorKind)
    first: dict[str, int] = {}
    for label, record in zip(named, records, strict=True):
        first.setdefault(label, roles.index(record.actor_kind))
    return tuple(sorted(first, key=lambda label: first[label]))


def _place(one: TrialRecord) -> tuple[str, str, int, str, int, str, int]:
    return (
        one.setting,
        one.prompt_id,
        one.seed or 0,
        one.actor_id,
        one.k or 0,
        one.run_id,
        one.repeat,
    )


def _factor(values: Sequence[str | None], order: Sequence[str] | None) -> Factor:
    levels = tuple(order if order is not None else dict.fromkeys(one for one in values if one is not None))
    code: dict[str | None, int] = {level: place for place, level in enumerate(levels)}
    return Factor(levels, np.array([code.get(value, -1) for value in values], dtype=np.int64))


def _numbered(values: Sequence[int | None]) -> Factor:
    levels = tuple(str(one) for one in sorted({one for one in values if one is not None}))
    return _factor([None if one is None else str(one) for one in values], levels)


def _column(value: Callable[[TrialRecord], float | None], records: Sequence[TrialRecord]) -> Floats:
    return np.array([np.nan if (one := value(record)) is None else one for record in records], dtype=float)


def _valid(one: TrialRecord) -> float | None:
    return one.p_valid if one.p_valid is not None else one.valid


def _unit(one: TrialRecord) -> str:
    return f"person {one.actor_id}" if one.actor_kind == "human" else _prompt(one)


def _prompt(one: TrialRecord) -> str:
    return f"{one.prompt_id} {one.seed or 0}"


def _session(one: TrialRecord) -> str | None:
    return one.session_id or (f"{one.actor_id} {_prompt(one)}" if one.actor_kind == "human" else None)


def _bayes(one: TrialRecord) -> float | None:
    """What the Bayes-optimal learner gets: it says the label with more mass, and guesses at a half."""
    return None if one.oracle_p is None else 0.5 if one.oracle_p == 0.5 else float(one.oracle_p > 0.5)


def _literal(one: TrialRecord) -> float | None:
    return None if one.oracle_identified is None else 1.0 if one.oracle_identified else 0.5


def _answered(value: Callable[[TrialRecord], float | None]) -> Callable[[TrialRecord], float | None]:
    """The value for labels; of free text nothing is right or wrong."""
    return lambda one: None if one.setting in TEXT_SETTINGS else value(one)


_FACTORS: Final[Mapping[Name, Callable[[TrialRecord], str | None]]] = {
    "role": lambda one: one.actor_kind,
    "setting": lambda one: one.setting,
    "kind": lambda one: one.instruction_kind,
    "pair": lambda one: one.of_pair,
    "feature": lambda one: one.salient_feature,
    "format": lambda one: one.format,
    "fold": lambda one: one.fold,
    "variant": lambda one: one.ft_variant,
    "category": lambda one: one.category,
    "origin": lambda one: one.origin,
    "second_name": lambda one: None if one.second_name is None else _SECOND[one.second_name],
}
_IDS: Final[Mapping[Name, Callable[[TrialRecord], str | None]]] = {
    "prompt": _prompt,
    "session": _session,
    "unit": _unit,
    "trial": lambda one: f"{one.actor_id} {_prompt(one)} {one.k}",
}
_NUMBERS: Final[Mapping[str, Callable[[TrialRecord], float | None]]] = {
    "correct": _answered(lambda one: one.correct),
    "strict": _answered(strict),
    "valid": _answered(_valid),
    "invalid": _answered(lambda one: None if one.valid is None else not one.valid),
    "tie": _answered(lambda one: one.tie),
    "identified": _answered(lambda one: one.oracle_identified),
    "bayes": _answered(_bayes),
    "literal": _answered(_literal),
    "seconds": lambda one: None if one.rt_ms is None else one.rt_ms / 1000,
    "n_examples": lambda one: one.n_examples,
}
