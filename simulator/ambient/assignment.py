"""Studies of AmbiEnt: the settings in a study file, the study's cells, and their items (spec 3, 5.1, 6.5, 7).

Each item is one condition, and its id is the cell. ``judgments_per_item`` people see it, no one twice. The
items and the order of their candidates depend only on the data and the study's seed, so all participants
see an item in the same form. ::

    benchmark: ambient
    seat: annotator
    settings: {task: crowd, data: builtin, split: all, items: 20, qualification: {pass: 4}}
    judgments_per_item: 9
    sets_per_participant: 20

The human evaluation of a model's rewrites (spec 6.5) reads a results file, or a model's run in the log::

    settings: {task: evaluate, results: davinci-n4.jsonl, data: FOLDER, split: test, items: 50}
    judgments_per_item: 3

Both may name a file of distractors (``distractors: FILE``), which override those in the examples.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from random import Random
from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Field, PositiveInt, model_validator

from logs.paths import default_path
from simulator.ambient.data import BUILTIN, Split, load_qualification, read_examples
from simulator.ambient.examples import Example
from simulator.ambient.files.dataset import load_distractors, warn_of
from simulator.ambient.items import BENCHMARK, Item
from simulator.ambient.playing import ANNOTATOR, Qualification
from simulator.ambient.prepare import ITEMS as EVALUATED
from simulator.ambient.prepare import (
    annotate_items,
    crowd_items,
    distractors_of,
    evaluation_items,
    results_of,
    true_false_items,
)
from simulator.seeds import derive_seed
from simulator.studies import Cell, Place
from simulator.studies.material import ItemStudy
from simulator.studies.parts import StudySettings

PersonTask = Literal["crowd", "evaluate", "annotate", "true_false"]


def _names(value: Any) -> Any:
    return tuple(map(str, value if isinstance(value, list) else [value] if value else ()))


def _read_needed(value: Any) -> int | None:
    if value is None or value is False:
        return None
    questions = len(load_qualification())
    needed = value.get("pass") if isinstance(value, Mapping) and value.keys() == {"pass"} else None
    if type(needed) is not int or not 1 <= needed <= questions:
        raise ValueError(f"is {value!r}; it must be false, or {{pass: N}} with N from 1 to {questions}")
    return needed


class Settings(StudySettings):
    """The ``settings`` of an AmbiEnt study file.

    Attributes:
        data: source of the examples: ``builtin``, the name of registered data, or a path.
        items: number of items, drawn by the study's seed; None: all (task evaluate: 50).
        results: results files or names of runs whose rewrites are judged (task evaluate only).
        distractors: file of distractors (tasks crowd and evaluate); empty: those in the examples.
        needed: correct answers required to qualify; None: no qualification.
    """

    task: PersonTask
    data: str = BUILTIN
    split: Split = "all"
    items: PositiveInt | None = None
    results: Annotated[tuple[str, ...], BeforeValidator(_names)] = ()
    distractors: str = ""
    needed: Annotated[int | None, BeforeValidator(_read_needed)] = Field(None, alias="qualification")

    @model_validator(mode="after")
    def _check_task(self) -> Self:
        if (self.task == "evaluate") != bool(self.results):
            raise ValueError(
                "results (a file or a run) is required for task evaluate, and only allowed there"
            )
        if self.distractors and self.task not in ("crowd", "evaluate"):
            raise ValueError("distractors (a file) is only allowed for tasks crowd and evaluate")
        return self


class ExampleStudy(ItemStudy[Settings]):
    """A study of AmbiEnt: crowdworking, judging rewrites, linguists' annotation, or true-false statements."""

    benchmark = BENCHMARK
    seats = (ANNOTATOR,)
    reads = Settings

    @property
    def task(self) -> str:
        """The task."""
        return self.settings.task

    def options(self, place: Place, *, begun: bool) -> Mapping[str, object]:
        """Return the qualification, which is part of a person's first set only."""
        needed = self.settings.needed
        if begun or needed is None:
            return {}
        return {"qualification": Qualification(questions=load_qualification(), needed=needed).option()}

    def all_items(self) -> Sequence[Item]:
        """Return one item per example; for task evaluate, the requested number of examples."""
        settings, seed = self.settings, self.study.seed
        examples = self._examples()
        distractors = load_distractors(settings.distractors, examples) if settings.distractors else {}
        match settings.task:
            case "crowd":
                return crowd_items(examples, seed=derive_seed(seed, "items"), distractors=distractors)
            case "annotate":
                return annotate_items(examples)
            case "true_false":
                return true_false_items(examples)
            case "evaluate":
                return evaluation_items(
                    results_of(settings.results, self.reader.path if self.reader else default_path()),
                    {**distractors_of(examples), **distractors},
                    seed=seed,
                    items=settings.items or EVALUATED,
                )

    def choose_items(self, items: Mapping[Cell, Item]) -> Mapping[Cell, Item]:
        """Return the items to use, drawn by the study's seed unless conditions or `all_items` select them."""
        number = self.settings.items
        if (
            self.study.conditions
            or self.settings.task == "evaluate"
            or number is None
            or number >= len(items)
        ):
            return items
        drawn = Random(derive_seed(self.study.seed, "drawn")).sample(list(items), number)
        return {cell: item for cell, item in items.items() if cell in drawn}

    def _examples(self) -> tuple[Example, ...]:
        """Return the valid examples; faulty rows are skipped with a warning."""
        data = self.settings.data
        examples, faults = read_examples(data, self.settings.split)
        warn_of(faults, examples, data)
        return examples
