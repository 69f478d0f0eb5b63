"""Comparison of people's sets with models' prediction sets, on the same tasks (our addition to spec 10).

A person marks the actions that may be meant; a conformal method has a prediction set. Both are sets of
actions for one task, so every decision of a person is compared with every decision of a run on the same task
in the same dialogue. Actions are equal if their texts are (`naming.bare`), or, since people may have been
offered other options than the model wrote, if they name the same objects of the scene; an action that names
none is compared by its text.

Intervals are resampled over pairs, since several people see the same tasks.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, Literal, NamedTuple

from simulator.ambik.items import DecideItem, PairItem
from simulator.ambik.measures import means
from simulator.ambik.metrics import ALL, SHORT, ordered_types
from simulator.ambik.naming import bare, names_in
from simulator.ambik.predicting import outcome
from simulator.ambik.records import Decision, Outcome
from simulator.ambik.terms import DEFAULT, NAMES, Settings, remark
from simulator.figures import Cell, Column, Table
from simulator.reporting import Section

MEASURES: Final[Mapping[str, str]] = {
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
"""Heading by name. Intersection over union of both sets, by objects and by text; inclusion of one set in the
other (empty sets are excluded); sizes; whether people marked several actions, who asked, and whether people
marked several where the model asked; whether an acceptable action is in the set."""


_OVERLAP: Final = {
    "jaccard": "Jaccard",
    "people_in_model": "theirs in model's",
    "model_in_people": "model's in theirs",
}
_SIZES: Final = {
    "people_size": "size, people",
    "model_size": "size, model",
    "several_as_asked": "several = asks",
}


class SetPair(NamedTuple):
    """A person's and a model's decision on the same task.

    `values`: by measure (`MEASURES`); NaN where it does not apply.
    """

    person: Outcome
    model: Outcome
    values: Mapping[str, float]

    @property
    def item(self) -> DecideItem:
        """The task, with the actions offered to the person."""
        return self.person.decision.item


class Compared(NamedTuple):
    """People's sets compared with models'.

    Attributes:
        rows: one for each run and type, all types first: the numbers of tasks (``items``), ``people`` and
            pairs of a person's and the model's decision (``decisions``), and ``measures`` by name, None where
            no pair counts. `Interval.n` counts pairs of decisions.
        people_alone: number of people's decisions left out because no model decided on the task.
        models_alone: number of models' decisions left out because no person decided on the task.
        not_people: number of decisions left out that are not a person's or have no marked actions.
    """

    pairs: tuple[SetPair, ...]
    rows: tuple[Mapping[str, Any], ...]
    people_alone: int
    models_alone: int
    not_people: int


def compare_sets(
    people: Iterable[Decision], models: Iterable[Outcome], settings: Settings = DEFAULT
) -> Compared:
    """Compare people's sets with models' prediction sets."""
    decisions = tuple(people)
    by_people = (each for each in decisions if each.method == "person" and each.chosen is not None)
    marked = [(_task(each), outcome(each, None, settings)) for each in by_people]
    by_task: dict[Hashable, list[Outcome]] = {}
    for model in models:
        by_task.setdefault(_task(model.decision), []).append(model)
    pairs = tuple(_set_pair(person, model) for task, person in marked for model in by_task.get(task, ()))
    marked_tasks = {task for task, _ in marked}
    return Compared(
        pairs=pairs,
        rows=tuple(_rows(pairs)),
        people_alone=sum(task not in by_task for task, _ in marked),
        models_alone=sum(len(outcomes) for task, outcomes in by_task.items() if task not in marked_tasks),
        not_people=len(decisions) - len(marked),
    )


def people_sets_table(compared: Compared) -> Table:
    """Return the comparison as a table with a row for each run and type."""
    rows = [
        (
            *(row["run"], NAMES.get(row["method"], row["method"]), row["type"]),
            *(row["items"], row["people"], row["decisions"]),
            *(row["measures"][name] for name in MEASURES),
        )
        for row in compared.rows
    ]
    heads = ("run", "method", "type", "tasks", "people", "decisions")
    return Table(
        [*heads, *map(Column, MEASURES.values())], rows, "People's sets against prediction sets", "all"
    )


def sets_section(compared: Compared) -> Section:
    """Return the report section that compares people's sets with prediction sets."""
    left_out = [
        f"left out: {count} decisions of {who} on tasks without a decision of the other side"
        for who, count in (("people", compared.people_alone), ("models", compared.models_alone))
        if count
    ]
    return Section(
        name="people_sets",
        title="People's sets beside prediction sets",
        tables=[_sets_table(compared.rows, _OVERLAP, "overlap"), _sets_table(compared.rows, _SIZES, "sizes")],
        exact=[people_sets_table(compared)],
        remarks=(remark("tables", "same_actions"), *left_out),
        data={name: count for name, count in compared._asdict().items() if name != "pairs"},
    )


def _sets_table(rows: Sequence[Mapping[str, Any]], heads: Mapping[str, str], name: str) -> Table:
    cells: list[list[Cell]] = [
        [
            *(row["run"], SHORT.get(row["type"], row["type"])),
            *(*map(row["measures"].get, heads), row["decisions"]),
        ]
        for row in rows
    ]
    return Table(["run", "type", *heads.values(), Column("decisions", 0)], cells, name=name)


def elements(outcome: Outcome, match: Literal["text", "objects"]) -> frozenset[Hashable]:
    """Return a set's actions for comparison: as texts, or as the objects that they name."""
    if match == "text":
        return frozenset(map(bare, outcome.predicted))
    item = outcome.decision.item
    things = item.pair.things if isinstance(item, PairItem) else item.scenario.objects
    return frozenset(
        tuple(sorted(map(bare, names_in(text, things)))) or bare(text) for text in outcome.predicted
    )


def _set_pair(people: Outcome, model: Outcome) -> SetPair:
    ours, theirs = elements(people, "objects"), elements(model, "objects")
    size, model_size = _size(people), _size(model)
    values = {
        "jaccard": _overlap(ours, theirs),
        "jaccard_text": _overlap(elements(people, "text"), elements(model, "text")),
        "people_in_model": float(ours <= theirs) if ours else math.nan,
        "model_in_people": float(theirs <= ours) if theirs else math.nan,
        "people_size": size,
        "model_size": model_size,
        "people_several": float(size > 1),
        "people_ask": float(people.help),
        "model_asks": float(model.help),
        "several_as_asked": float((size > 1) == model.help),
        "people_covered": math.nan if people.covered is None else float(people.covered),
        "model_covered": math.nan if model.covered is None else float(model.covered),
    }
    return SetPair(people, model, values)


def _overlap(people: frozenset[Hashable], model: frozenset[Hashable]) -> float:
    return len(people & model) / len(people | model) if people | model else math.nan


def _size(outcome: Outcome) -> float:
    return float(len(outcome.predicted)) if outcome.decision.was_made else math.nan


def _rows(pairs: Sequence[SetPair]) -> Iterator[Mapping[str, Any]]:
    by_run: dict[tuple[str, str], list[SetPair]] = {}
    for pair in pairs:
        by_run.setdefault((pair.model.decision.run, pair.model.decision.method), []).append(pair)
    for (run, method), pairs_of_run in by_run.items():
        for kind in (ALL, *ordered_types(pair.item.type for pair in pairs_of_run)):
            of_kind = [pair for pair in pairs_of_run if kind in (ALL, pair.item.type)]
            clusters = [pair.item.cluster for pair in of_kind]
            columns = {name: [pair.values[name] for pair in of_kind] for name in MEASURES}
            yield {
                "run": run,
                "method": method,
                "type": kind,
                "items": len({_decision_key(pair.item) for pair in of_kind}),
                "people": len({pair.person.decision.generator for pair in of_kind}),
                "decisions": len(of_kind),
                "measures": means(columns, clusters, counts=("people_size", "model_size")),
            }


def _task(decision: Decision) -> Hashable:
    return decision.dialogue, _decision_key(decision.item)


def _decision_key(item: DecideItem) -> Hashable:
    """Return a key that is equal for items with the same decision, regardless of offered options and part."""
    if isinstance(item, PairItem):
        return item.member, replace(item.pair, options=())
    return replace(item.scenario, part=None)
