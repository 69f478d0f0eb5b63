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

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from random import Random
from typing import Any, Final, Literal, get_args

from logs import LogError, LogReader
from logs.paths import default_path
from simulator.ambient.data import BUILTIN, Split, load_qualification, read_examples
from simulator.ambient.evaluation import ITEMS as EVALUATED
from simulator.ambient.evaluation import distractors_of, evaluation_items
from simulator.ambient.examples import Example
from simulator.ambient.files.distractors import load_distractors
from simulator.ambient.files.results import read_generation
from simulator.ambient.items import Item
from simulator.ambient.playing import ANNOTATOR, Qualification
from simulator.ambient.prepare import annotate_items, crowd_items, true_false_items
from simulator.ambient.records import GenerationRecord
from simulator.ambient.rows import BENCHMARK
from simulator.ambient.trial_log import generation_records
from simulator.errors import InputError
from simulator.seeds import derive_seed
from simulator.studies import Cell, Study, cell_name, find_studies, quota_of, read_study
from trees import Language

_log = logging.getLogger(__name__)
PersonTask = Literal["crowd", "evaluate", "annotate", "true_false"]
STUDIES: Final = Path(__file__).parent / "studies"


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What AmbiEnt reads in a study file's ``settings``.

    Attributes:
        task: what people do.
        data: where the examples come from: ``builtin``, the name of registered data, or a path.
        split: of the data.
        items: so many of them, drawn by the study's seed; None: all (of an evaluation 50).
        results: whose rewrites are judged (task evaluate): results files and names of runs, one or several.
        distractors: a file of them (tasks crowd and evaluate); empty: the examples' own.
        needed: right answers to the qualification's questions that are enough; None: nobody has to qualify.
        show_result: whether participants see in the end how they did.
        languages: of the pages; the benchmark's own text is English.
    """

    task: PersonTask
    data: str = BUILTIN
    split: Split = "all"
    items: int | None = None
    results: tuple[str, ...] = ()
    distractors: str = ""
    needed: int | None = None
    show_result: bool = False
    languages: tuple[Language, ...] = ("en",)

    @classmethod
    def read(cls, study: Study) -> Settings:
        """Out of a study file.

        Raises:
            InputError: names the study, the field and what it can be.
        """
        given: dict[str, Any] = dict(study.settings)
        where = f"study {study.id!r}, settings"
        known = (
            *("task", "data", "split", "items", "results", "distractors"),
            *("qualification", "show_result", "languages"),
        )
        if unknown := sorted(given.keys() - set(known)):
            raise InputError(f"{where}: unknown key {unknown[0]!r}; known: {', '.join(known)}")
        if "task" not in given:
            raise InputError(f"{where}: task is missing; it is one of {', '.join(get_args(PersonTask))}")
        _require(where, "task", given["task"], get_args(PersonTask))
        _require(where, "split", given.get("split", "all"), get_args(Split))
        _require(where, "show_result", given.get("show_result", False), (True, False))
        number = given.get("items")
        if number is not None and (type(number) is not int or number < 1):
            raise InputError(f"{where}: items is {number!r}; it must be a whole number from 1")
        results = given.get("results") or []
        given["results"] = tuple(map(str, results if isinstance(results, list) else [results]))
        if (given["task"] == "evaluate") != bool(results):
            raise InputError(f"{where}: results (a file or a run) is for task evaluate, and needed there")
        distractors = given.setdefault("distractors", "")
        if not isinstance(distractors, str):
            raise InputError(f"{where}: distractors is {distractors!r}; it must be a file")
        if distractors and given["task"] not in ("crowd", "evaluate"):
            raise InputError(f"{where}: distractors (a file) is for tasks crowd and evaluate")
        languages = given.get("languages", [study.language])
        for language in languages if isinstance(languages, list) and languages else [languages]:
            _require(where, "languages", language, get_args(Language))
        given["needed"] = _needed(where, given.pop("qualification", None))
        return cls(**{**given, "languages": tuple(languages)})


def results_of(names: Sequence[str]) -> dict[str, tuple[GenerationRecord, ...]]:
    """Model -> its disambiguations.

    Args:
        names: of results files, which are named after their models, or of runs in the log.

    Raises:
        InputError: if there is no such file or run, or no row of a file can be read.
    """
    found: dict[str, tuple[GenerationRecord, ...]] = {}
    for name in names:
        path = Path(name)
        if path.exists():
            rows, _, faults = read_generation(path)
            if faults and not rows:
                raise InputError(str(faults[0]))
            if faults:
                _log.warning("%d rows of %s left out, the first: %s", len(faults), path, faults[0])
            found[path.stem] = rows
            continue
        try:
            with LogReader(default_path()) as reader:
                found[str(reader.run(name).config["seats"][ANNOTATOR])] = generation_records(
                    reader, [name], aborted=False
                )
        except LogError as error:
            raise InputError(f"results {name!r} is neither a results file nor a run ({error})") from error
    return found


def _needed(where: str, given: object) -> int | None:
    if given is None or given is False:
        return None
    asked = len(load_qualification())
    needed = given.get("pass") if isinstance(given, Mapping) and given.keys() == {"pass"} else None
    if type(needed) is not int or not 1 <= needed <= asked:
        raise InputError(
            f"{where}: qualification is {given!r}; it must be false, or {{pass: N}} with N from 1 to {asked}"
        )
    return needed


def _require(where: str, field: str, value: object, allowed: tuple[object, ...]) -> None:
    if value not in allowed:
        raise InputError(f"{where}: {field} is {value!r}; it must be one of {', '.join(map(str, allowed))}")


@cache
def builtin_studies() -> tuple[Study, ...]:
    """Crowdworkers and linguists, as in the paper, on the built-in examples (studies/*.yaml)."""
    return tuple(read_study(path) for path in find_studies(STUDIES))


def study_items(study: Study) -> dict[Cell, Item]:
    """The items of a study, by their cells: those that its conditions name, else all that its settings say.

    Raises:
        InputError: if the study is not one of AmbiEnt's, its data cannot be had, or a condition is none.
    """
    if study.benchmark != BENCHMARK or study.seat != ANNOTATOR:
        raise InputError(
            f"study {study.id!r}: benchmark and seat must be {BENCHMARK} and {ANNOTATOR}, "
            f"not {study.benchmark} and {study.seat}"
        )
    settings = Settings.read(study)
    try:
        found = {cell_of(item): item for item in _all_items(study, settings)}
    except InputError as error:
        raise InputError(f"study {study.id!r}: {error}") from error
    if not study.conditions:
        return _drawn(found, settings, study.seed)
    wanted = [tuple(name.split("/")) for name in study.conditions]
    for cell in wanted:
        if cell not in found:
            known = ", ".join(map(cell_name, list(found)[:3]))
            raise InputError(
                f"study {study.id!r}: there is no condition {cell_name(cell)!r}; conditions are ids of "
                f"items, such as {known}"
            )
    return {cell: found[cell] for cell in wanted}


def _all_items(study: Study, settings: Settings) -> tuple[Item, ...]:
    examples = _examples(settings)
    given = load_distractors(settings.distractors, examples) if settings.distractors else {}
    match settings.task:
        case "crowd":
            return crowd_items(examples, seed=derive_seed(study.seed, "items"), distractors=given)
        case "annotate":
            return annotate_items(examples)
        case "true_false":
            return true_false_items(examples)
        case "evaluate":
            return evaluation_items(
                results_of(settings.results),
                {**distractors_of(examples), **given},
                seed=study.seed,
                items=settings.items or EVALUATED,
            )


def _examples(settings: Settings) -> tuple[Example, ...]:
    """The good examples of the data: a faulty row is left out with a warning, and refuses no study."""
    examples, faults = read_examples(settings.data, settings.split)
    if faults and not examples:
        raise InputError(str(faults[0]))
    if faults:
        _log.warning("%d rows of %s left out, the first: %s", len(faults), settings.data, faults[0])
    return examples


def cell_of(item: Item) -> Cell:
    """The cell of an item: its id, without what divides a condition's parts."""
    return ("_".join(item.id.replace("/", " ").split()),)


def _drawn(found: dict[Cell, Item], settings: Settings, seed: int) -> dict[Cell, Item]:
    number = settings.items
    if number is None or settings.task == "evaluate" or number >= len(found):
        return found
    kept = Random(derive_seed(seed, "drawn")).sample(list(found), number)
    return {cell: item for cell, item in found.items() if cell in kept}


def cells(study: Study) -> tuple[Cell, ...]:
    """The cells of a study, one per item.

    Raises:
        InputError: as `study_items`.
    """
    return tuple(study_items(study))


def check_study(study: Study) -> None:
    """Make sure that AmbiEnt can hold a study: its settings, its items, its numbers of people.

    Raises:
        InputError: names the study and what is wrong.
    """
    quota_of(study, cells(study))


def qualification(settings: Settings) -> Qualification | None:
    """The test in front of somebody's first set."""
    return None if settings.needed is None else Qualification(load_qualification(), settings.needed)
