"""What people hold for possible beside models' prediction sets on the same tasks; exchanges of both."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from logs import LogReader
from simulator.ambik.items import DecideItem
from simulator.ambik.measuring.measures import RELEVANT, exchange_measures
from simulator.ambik.measuring.people_sets import Compared, PeopleSets, SetPair, compare_sets
from simulator.ambik.naming import bare
from simulator.ambik.playing import task_of
from simulator.ambik.terms import CONFORMAL, NAMES
from simulator.ambik.trial_log import decisions, exchanges
from ui.research.ambik_read import kept_run, laid, runs_of
from ui.research.format import Cell, cell, scale
from ui.research.kept import CachedReports
from ui.research.view import Page, Visit

MEASURES: Final = (
    *("jaccard", "people_in_model", "model_in_people", "people_size", "model_size"),
    *("people_ask", "model_asks", "several_as_asked", "people_covered", "model_covered"),
)
EXCHANGED: Final = (
    *("asked when needed", "asked when not needed", "right before", "right after", "questions"),
    RELEVANT,
)
COMMAND: Final = "askback run ambik --method knowno --model local/smollm2"
_SHARE: Final = scale((), fixed=(0.0, 1.0))


@dataclass(frozen=True, slots=True)
class Line:
    """A run against people on one type of tasks; `cells` by measure, None where nothing counts."""

    row: PeopleSets
    name: str
    cells: dict[str, Cell | None]


@dataclass(frozen=True, slots=True)
class Action:
    """An action of a task: how many people marked it, and which runs have it in their set."""

    text: str
    people: int
    runs: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Task:
    """A task that people and models decided on.

    Attributes:
        people: who marked something.
        actions: that anybody held for possible, most marked first.
    """

    item: DecideItem
    text: str
    people: int
    actions: tuple[Action, ...]


def sets_page(visit: Visit, kept: CachedReports) -> Page:
    """Return which runs, the comparison, tasks one by one, and the exchanges of all of them."""
    reader, at = kept.reader, visit.at
    people, models = _choices(reader)
    run = at.run if at.run in people else (people[0] if people else "")
    chosen = [name for name in at.runs if name in models] or list(models)
    compared = _compared(kept, run, chosen) if run and chosen else None
    return visit.page(
        "ambik_sets",
        people=people,
        models=models,
        run=run,
        chosen=chosen,
        command=COMMAND,
        found=compared,
        lines=_lines(compared) if compared else (),
        measures=MEASURES,
        tasks=tasks(compared.pairs) if compared else (),
        exchanges=_exchanges(reader, [*([run] if run else []), *at.runs]),
        exchanged=EXCHANGED,
    )


def tasks(pairs: Sequence[SetPair]) -> tuple[Task, ...]:
    """Return the tasks of a comparison, in its order, with the actions of all sides."""
    by_task: dict[str, list[SetPair]] = {}
    for pair in pairs:
        by_task.setdefault(pair.item.id, []).append(pair)
    return tuple(_task(pairs) for pairs in by_task.values())


def _task(pairs: Sequence[SetPair]) -> Task:
    item = pairs[0].item
    marked = {pair.person: pair.people for pair in pairs}
    sets = {pair.run: pair.model for pair in pairs}
    people = Counter(bare(text) for texts in marked.values() for text in texts)
    held = {run: {bare(text) for text in texts} for run, texts in sets.items()}
    words: dict[str, str] = {}
    for texts in (*marked.values(), *sets.values()):
        for text in texts:
            words.setdefault(bare(text), text)
    actions = [
        Action(text, people[key], tuple(run for run, keys in held.items() if key in keys))
        for key, text in words.items()
    ]
    ordered = sorted(actions, key=lambda action: (-action.people, -len(action.runs)))
    return Task(item, task_of(item), len(marked), tuple(ordered))


def _compared(kept: CachedReports, run: str, chosen: Sequence[str]) -> Compared:
    outcomes = [outcome for model in chosen for outcome in laid(kept_run(kept, model)).outcomes]
    return compare_sets(decisions(kept.reader, [run]), outcomes)


def _lines(compared: Compared) -> tuple[Line, ...]:
    sizes = [row.measures[name] for row in compared.rows for name in ("people_size", "model_size")]
    most = scale((), fixed=(0.0, max([4.0, *(size.reach[1] for size in sizes if size is not None)])))
    names = {str(method): name for method, name in NAMES.items()}
    return tuple(
        Line(
            row,
            names.get(row.method, row.method),
            {
                name: None
                if interval is None
                else cell(interval, most if name.endswith("_size") else _SHARE, 2)
                for name in MEASURES
                for interval in (row.measures[name],)
            },
        )
        for row in compared.rows
    )


def _exchanges(reader: LogReader, runs: Sequence[str]) -> dict[str, dict[str, Cell | None]]:
    """Return before and after what was answered, of those of the runs in which anything could be."""
    measured_runs = {
        run: exchange_measures(exchanges(reader, [run], aborted=True)) for run in dict.fromkeys(runs)
    }
    return {
        run: {
            name: None
            if interval is None
            else cell(interval, scale((), fixed=(0.0, max(1.0, interval.reach[1]))), 2)
            for name in EXCHANGED
            for interval in (measured.get(name),)
        }
        for run, measured in measured_runs.items()
        if measured
    }


def _choices(reader: LogReader) -> tuple[list[str], list[str]]:
    """Return runs with a person in the robot's seat, and runs of conformal methods with a threshold."""
    people: list[str] = []
    models: list[str] = []
    for run in runs_of(reader, ("decide",)):
        options = run.config.get("options") or {}
        if (run.config.get("seats") or {}).get("robot") == "person":
            people.append(run.id)
        elif options.get("method") in CONFORMAL and options.get("calibration"):
            models.append(run.id)
    return people, models
