"""From a study file to its cells, and from a participant's place to their item (spec 3, 5.1, 6.5, 7).

Every item is a condition of its own, which so many people see (``judgments_per_item``), and nobody twice. A
cell is the item's id. Which items there are, and in what order their candidates stand, follows from the data
and the study's seed, so everybody sees an item in the same form. ::

    benchmark: ambient
    seat: annotator
    settings: {task: crowd, data: builtin, split: all, items: 20, qualification: {pass: 4}}
    judgments_per_item: 9
    sets_per_participant: 20

The human evaluation of a model's rewrites (spec 6.5) reads a results file, or the run of a model in the log::

    settings: {task: evaluate, results: davinci-n4.jsonl, data: FOLDER, split: test, items: 50}
    judgments_per_item: 3

Both may name a file of distractors (``distractors: FILE``), which go before the examples' own.
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
    asked = len(load_qualification())
    needed = value.get("pass") if isinstance(value, Mapping) and value.keys() == {"pass"} else None
    if type(needed) is not int or not 1 <= needed <= asked:
        raise ValueError(f"is {value!r}; it must be false, or {{pass: N}} with N from 1 to {asked}")
    return needed


class Settings(StudySettings):
    """AmbiEnt's part of a study file: its ``settings``.

    Attributes:
        data: where the examples come from: ``builtin``, the name of registered data, or a path.
        split: of the data.
        items: so many of them, drawn by the study's seed; None: all (of an evaluation 50).
        results: whose rewrites are judged (task evaluate): results files and names of runs, one or several.
        distractors: a file of them (tasks crowd and evaluate); empty: the examples' own.
        needed: right answers to the qualification's questions that are enough; None: nobody has to qualify.
    """

    task: PersonTask
    data: str = BUILTIN
    split: Split = "all"
    items: PositiveInt | None = None
    results: Annotated[tuple[str, ...], BeforeValidator(_names)] = ()
    distractors: str = ""
    needed: Annotated[int | None, BeforeValidator(_read_needed)] = Field(None, alias="qualification")

    @model_validator(mode="after")
    def _require_fitting(self) -> Self:
        if (self.task == "evaluate") != bool(self.results):
            raise ValueError("results (a file or a run) is for task evaluate, and needed there")
        if self.distractors and self.task not in ("crowd", "evaluate"):
            raise ValueError("distractors (a file) is for tasks crowd and evaluate")
        return self


class ExampleStudy(ItemStudy[Settings]):
    """People as crowdworkers, judges of rewrites, linguists, or at statements that are true or false."""

    benchmark = BENCHMARK
    seats = (ANNOTATOR,)
    reads = Settings

    @property
    def task(self) -> str:
        """The task."""
        return self.settings.task

    def options(self, place: Place, *, begun: bool) -> Mapping[str, object]:
        """Return the qualification, which stands in front of a person's first set."""
        needed = self.settings.needed
        if begun or needed is None:
            return {}
        return {"qualification": Qualification(questions=load_qualification(), needed=needed).option()}

    def all_items(self) -> Sequence[Item]:
        """Return an item of each example; of an evaluation so many as are wanted."""
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

    def taken(self, items: Mapping[Cell, Item]) -> Mapping[Cell, Item]:
        """Return so many items as are wanted, drawn by the study's seed; conditions choose by themselves."""
        number = self.settings.items
        drawn = number is not None and not self.study.conditions and self.settings.task != "evaluate"
        if not drawn or number is None or number >= len(items):
            return items
        kept = Random(derive_seed(self.study.seed, "drawn")).sample(list(items), number)
        return {cell: item for cell, item in items.items() if cell in kept}

    def _examples(self) -> tuple[Example, ...]:
        """Return the good examples: a faulty row is left out with a warning, and refuses no study."""
        data = self.settings.data
        examples, faults = read_examples(data, self.settings.split)
        warn_of(faults, examples, data)
        return examples
