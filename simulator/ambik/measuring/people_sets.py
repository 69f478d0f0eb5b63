"""What people hold for possible against models' prediction sets, on the same tasks (our addition to spec 10).

A person marks the actions that may be meant; a conformal method has a prediction set. Both are sets of
actions of one task, so they can be laid beside each other: every decision of a person with every decision of
a run on the same task, in the same dialogue. Actions are the same if their texts are (`naming.bare`), or, as
people may have been offered other options than the model wrote, if they name the same objects of the scene;
an action that names none is told by its text.

Intervals draw whole pairs of tasks, since several people see the same ones.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal, NamedTuple

import numpy as np

from simulator.ambik.items import DecideItem, PairItem
from simulator.ambik.measuring.outcome_rows import ALL, cluster_of
from simulator.ambik.measuring.resampling import cluster_numbers, means
from simulator.ambik.naming import bare, named
from simulator.ambik.records import Decision, Outcome
from simulator.ambik.sets.predicting import outcome
from simulator.ambik.settings import DEFAULT, Settings
from simulator.ambik.terms import NAMES, TASK_TYPES
from simulator.figures import Column, Table
from simulator.stats import Interval

Match = Literal["text", "objects"]
_NAMES: Final[Mapping[str, str]] = {str(method): name for method, name in NAMES.items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class SetPair:
    """A person's decision beside a model's on the same task.

    Attributes:
        item: of the task.
        person: who marked.
        people: what they marked, fillers removed.
        model: the prediction set, fillers removed.
        run: of the model.
        method: of the model.
        values: by measure (`MEASURES`); not a number where it does not count.
    """

    item: DecideItem
    person: str
    people: tuple[str, ...]
    model: tuple[str, ...]
    run: str
    method: str
    values: Mapping[str, float]


class _Set(NamedTuple):
    """An outcome with its set as it is compared, made once."""

    outcome: Outcome
    objects: frozenset[Hashable]
    texts: frozenset[Hashable]


class _Sides(NamedTuple):
    people: _Set
    model: _Set


def _overlap(people: frozenset[Hashable], model: frozenset[Hashable]) -> float:
    return len(people & model) / len(people | model) if people | model else math.nan


def _within(inner: frozenset[Hashable], outer: frozenset[Hashable]) -> float:
    return float(inner <= outer) if inner else math.nan


def _size(one: _Set) -> float:
    return float(len(one.outcome.predicted)) if one.outcome.decision.was_made else math.nan


def _covered(one: _Set) -> float:
    return math.nan if one.outcome.covered is None else float(one.outcome.covered)


MEASURES: Final[Mapping[str, Callable[[_Sides], float]]] = {
    "jaccard": lambda of: _overlap(of.people.objects, of.model.objects),
    "jaccard_text": lambda of: _overlap(of.people.texts, of.model.texts),
    "people_in_model": lambda of: _within(of.people.objects, of.model.objects),
    "model_in_people": lambda of: _within(of.model.objects, of.people.objects),
    "people_size": lambda of: _size(of.people),
    "model_size": lambda of: _size(of.model),
    "people_several": lambda of: float(_size(of.people) > 1),
    "people_ask": lambda of: float(of.people.outcome.help),
    "model_asks": lambda of: float(of.model.outcome.help),
    "several_as_asked": lambda of: float((_size(of.people) > 1) == of.model.outcome.help),
    "people_covered": lambda of: _covered(of.people),
    "model_covered": lambda of: _covered(of.model),
}
"""Overlap of both sets over their union, by objects and by text; whether one lies within the other (an empty
set does not count); sizes; who marked several actions, who asked, whether the first is as the model asked;
whether an acceptable action is in the set."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PeopleSets:
    """One run against people, on tasks of one type or all.

    Attributes:
        run: of the model.
        method: of the model.
        type: of the tasks, or ``all``.
        items: tasks that both decided on.
        people: distinct ones.
        decisions: pairs of a person's decision and the model's.
        measures: by name; None where none counts. `Interval.n` counts pairs of decisions.
    """

    run: str
    method: str
    type: str
    items: int
    people: int
    decisions: int
    measures: Mapping[str, Interval | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """People's sets against models'.

    Attributes:
        pairs: decision by decision.
        rows: by run, each over all types first, then by type.
        people_alone: decisions of people left out, as no model decided on the task.
        models_alone: decisions of models left out, as no person did.
        not_people: decisions left out that are no person's, or in which nothing was marked at all.
    """

    pairs: tuple[SetPair, ...]
    rows: tuple[PeopleSets, ...]
    people_alone: int
    models_alone: int
    not_people: int


def elements(outcome: Outcome, match: Match) -> frozenset[Hashable]:
    """Return a set's actions as they are compared.

    Args:
        outcome: with the set.
        match: by their texts, or by the objects of the scene that they name.
    """
    if match == "text":
        return frozenset(map(bare, outcome.predicted))
    return frozenset(_objects(text, outcome.decision.item) for text in outcome.predicted)


def compare_sets(
    people: Iterable[Decision],
    models: Iterable[Outcome],
    settings: Settings = DEFAULT,
    *,
    seed: int = 0,
) -> Compared:
    """Lay people's sets beside models'.

    Args:
        people: decisions of people, with what they marked.
        models: outcomes of runs, with their prediction sets.
        settings: for what is acceptable.
        seed: of the resampling.
    """
    given = tuple(people)
    known = (one for one in given if one.method == "person" and one.chosen is not None)
    marked = [(_task(one), _set(outcome(one, None, settings))) for one in known]
    by_task: dict[Hashable, list[_Set]] = {}
    for model in models:
        by_task.setdefault(_task(model.decision), []).append(_set(model))
    pairs = tuple(_set_pair(_Sides(mine, other)) for task, mine in marked for other in by_task.get(task, ()))
    seen = {task for task, _ in marked}
    return Compared(
        pairs=pairs,
        rows=tuple(_rows(pairs, seed)),
        people_alone=sum(task not in by_task for task, _ in marked),
        models_alone=sum(len(some) for task, some in by_task.items() if task not in seen),
        not_people=len(given) - len(marked),
    )


def people_sets_table(compared: Compared, title: str = "People's sets against prediction sets") -> Table:
    """Return the comparison as a table: a row for each run and type, with intervals."""
    heads = {
        "jaccard": "Jaccard (objects)",
        "jaccard_text": "Jaccard (texts)",
        "people_in_model": "people's within model's",
        "model_in_people": "model's within people's",
        "people_size": "size, people",
        "model_size": "size, model",
        "people_several": "people: several",
        "people_ask": "people: ask",
        "model_asks": "model: asks",
        "several_as_asked": "several = asks",
        "people_covered": "coverage, people",
        "model_covered": "coverage, model",
    }
    rows = [
        (
            row.run,
            _NAMES.get(row.method, row.method),
            row.type,
            row.items,
            row.people,
            row.decisions,
            *(row.measures[name] for name in heads),
        )
        for row in compared.rows
    ]
    columns: tuple[Column | str, ...] = (
        "run",
        "method",
        "type",
        "tasks",
        "people",
        "decisions",
        *map(Column, heads.values()),
    )
    return Table(columns, rows, title)


def _rows(pairs: Sequence[SetPair], seed: int) -> Iterable[PeopleSets]:
    runs = dict.fromkeys((pair.run, pair.method) for pair in pairs)
    for run, method in runs:
        own = [pair for pair in pairs if (pair.run, pair.method) == (run, method)]
        known = [name for name in TASK_TYPES if any(one.item.type == name for one in own)]
        others = dict.fromkeys(one.item.type for one in own if one.item.type not in TASK_TYPES)
        for name in (ALL, *known, *others):
            yield _row(run, method, name, [one for one in own if name in (ALL, one.item.type)], seed)


def _row(run: str, method: str, type: str, pairs: Sequence[SetPair], seed: int) -> PeopleSets:
    values = np.array([[pair.values[name] for name in MEASURES] for pair in pairs])
    clusters = cluster_numbers([cluster_of(pair.item) for pair in pairs])
    sizes = [place for place, name in enumerate(MEASURES) if name.endswith("_size")]
    return PeopleSets(
        run=run,
        method=method,
        type=type,
        items=len({_same(pair.item) for pair in pairs}),
        people=len({pair.person for pair in pairs}),
        decisions=len(pairs),
        measures=dict(zip(MEASURES, means(values, clusters, counts=sizes, seed=seed), strict=True)),
    )


def _set(outcome: Outcome) -> _Set:
    return _Set(outcome, elements(outcome, "objects"), elements(outcome, "text"))


def _set_pair(of: _Sides) -> SetPair:
    people, model = of.people.outcome, of.model.outcome
    return SetPair(
        item=people.decision.item,
        person=people.decision.generator,
        people=people.predicted,
        model=model.predicted,
        run=model.decision.run,
        method=model.decision.method,
        values={name: measure(of) for name, measure in MEASURES.items()},
    )


def _objects(text: str, item: DecideItem) -> Hashable:
    things = item.pair.things if isinstance(item, PairItem) else item.scenario.objects
    found = named(text, things)
    return tuple(sorted(map(bare, found))) or bare(text)


def _task(decision: Decision) -> Hashable:
    return decision.dialogue, _same(decision.item)


def _same(item: DecideItem) -> Hashable:
    """Return what two items share that ask for the same decision, whatever they offer and serve."""
    if isinstance(item, PairItem):
        return item.member, replace(item.pair, options=())
    return replace(item.scenario, part=None)
