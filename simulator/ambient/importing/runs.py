"""Published files into the log as runs, where they are read like any other run (spec 11).

A run is named after the model and the file's content, an episode after its row, so the same file again adds
nothing, and a file whose import was cut off is completed. Rows that are faulty are left out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

from logs import LogConflict, LogReader, LogWriter, Written
from logs.rows import Ending, Episode, Event, Run, Turn
from simulator.ambient.claims import rescored as rescored_claims
from simulator.ambient.examples import Example
from simulator.ambient.files.kinds import Kind, kind_of
from simulator.ambient.generation import rescored
from simulator.ambient.importing.episodes import (
    PUBLISHED,
    PublishedEpisode,
    RowProblem,
    claim_episode,
    continuation_episode,
    crowd_episodes,
    generation_episode,
    linguist_episodes,
    nli_episode,
    statement_sentence,
    true_false_episode,
)
from simulator.ambient.items import Task
from simulator.ambient.playing import ANNOTATOR
from simulator.ambient.records import CrowdRecord, LinguistRecord, TrueFalseRecord
from simulator.ambient.reporting.beside import examples_beside
from simulator.ambient.reporting.paper import model_of
from simulator.ambient.rows import BENCHMARK, LANGUAGE, item_row
from simulator.ambient.score import score_rows
from simulator.duplicates import Duplicates
from simulator.errors import InputError
from simulator.jsonlines import Read
from trees.faults import Fault

TASK_OF: Final[Mapping[str, Task]] = {
    "crowd": "crowd",
    "linguists": "annotate",
    "generation": "generate",
    "true_false": "true_false",
    "continuation": "continue",
    "nli_predictions": "nli",
    "claims": "claim",
}
"""What can be imported: kind of file -> task of the run."""
_OF_PEOPLE: Final = ("crowd", "linguists")
_DIGEST: Final = 8
_EVENT: Final = "import"


@dataclass(frozen=True, slots=True)
class Imported:
    """What became of a file.

    Attributes:
        run: its run.
        task: what was done in it.
        new: whether the run was not in the log before.
        episodes: of the run.
        added: of them, those that were not in the log whole before.
        rows: of the file that are in it.
        faults: of the rows that are not.
        differences: stored scores that recomputation does not give, a sentence each.
    """

    run: Run
    task: Task
    new: bool
    episodes: int
    added: int
    rows: int
    faults: tuple[Fault, ...]
    differences: tuple[str, ...]


def import_file(
    path: Path,
    log: LogWriter,
    *,
    data: str | None = None,
    name: str | None = None,
    duplicates: Duplicates = "refuse",
) -> Imported:
    """Write every row of a published file into the log as one run.

    Args:
        path: the file.
        log: where to.
        data: the dataset that the file is of, a name or a path; None for one beside it. Only continuations
            need it: their files do not say which side is ambiguous.
        name: of the run; None for the model's, with a part of the file's digest.
        duplicates: what becomes of rows that the file holds twice.

    Raises:
        InputError: if the file cannot be read, is none that can be imported, or the log holds another run of
            that name.
        LogError: if the log cannot be written.
    """
    kind = _kind(path)
    task = TASK_OF[kind.name]
    read: Read[Any] = kind.rows(path, duplicates)
    made, faults = _EPISODES[kind.name](path, read, data)
    if not made:
        raise InputError(f"{path}: holds no row that could be imported{_first(read.faults + faults)}")
    if task == "crowd" and all(one.item.task == "evaluate" for one in made):
        task = "evaluate"
    run = _run(path, kind, task, len(made), name)
    try:
        known = log.put(run).result().duplicate
    except LogConflict as error:
        raise InputError(
            f"The log holds another run {run.id!r}; give this one another name with --run."
        ) from error
    seen: Counter[str] = Counter()
    ended = [_write(one, place, run, seen, log) for place, one in enumerate(made)]
    log.flush()
    _note(path, run, log)
    return Imported(
        run=run,
        task=task,
        new=not known,
        episodes=len(made),
        added=sum(not one.result().duplicate for one in ended),
        rows=len(read.rows) - len({fault.line for fault in faults}),
        faults=(*read.faults, *faults),
        differences=tuple(_differences(kind.name, read)),
    )


def _kind(path: Path) -> Kind:
    if not path.is_file():
        raise InputError(f"{path}: there is no such file")
    kind = kind_of(path)
    if kind is None:
        raise InputError(f"{path}: is none of AmbiEnt's files, or empty")
    if kind.name == "dataset":
        raise InputError(f"{path}: holds examples; register them with `askback data add ambient`")
    if kind.name not in TASK_OF:
        raise InputError(
            f"{path}: holds {kind.title}, which are no answers to items; give it to `askback score ambient`"
        )
    return kind


def _run(path: Path, kind: Kind, task: Task, planned: int, name: str | None) -> Run:
    digest = sha256(path.read_bytes()).hexdigest()
    model = model_of(path)
    return Run(
        id=name or f"{model}-{task}-{digest[:_DIGEST]}",
        benchmark=BENCHMARK,
        setup="H2L" if kind.name in _OF_PEOPLE else "L2L",
        seed=0,
        config={
            "imported": path.name,
            "sha256": digest,
            "task": task,
            "model": model,
            "planned": planned,
            "seats": {ANNOTATOR: PUBLISHED if kind.name in _OF_PEOPLE else model},
        },
    )


def _note(path: Path, run: Run, log: LogWriter) -> None:
    """Say that the run is whole: once, also where it took several attempts."""
    with LogReader(log.path) as reader:
        noted = reader.events(run_id=run.id, kind=_EVENT)
    if not noted:
        details = {"file": path.name, "sha256": run.config["sha256"]}
        log.put(Event(kind=_EVENT, run_id=run.id, details=details))
        log.flush()


def _write(
    made: PublishedEpisode, place: int, run: Run, seen: Counter[str], log: LogWriter
) -> Future[Written]:
    row = item_row(made.item)
    episode = Episode(
        # Read in the order of the file: episodes that end together are sorted by name.
        id=f"{run.id}/{place:06}.{row.name}",
        run_id=run.id,
        item_hash=row.hash,
        language=LANGUAGE,
        seats={ANNOTATOR: made.annotator or str(run.config["model"])},
        seed=0,
        # Workers of one item, and rows that are told twice.
        repeat=seen[row.hash],
    )
    seen[row.hash] += 1
    turns = [
        Turn(episode_id=episode.id, number=number, seat=ANNOTATOR, text=said.text, payload=dict(said.payload))
        for number, said in enumerate(made.turns)
    ]
    log.put(row)
    log.put(episode)
    for turn in turns:
        log.put(turn)
    for score in score_rows(episode.id, made.item, turns):
        log.put(score)
    return log.put(Ending(episode_id=episode.id, status="completed" if made.complete else "truncated"))


_Made = tuple[list[PublishedEpisode], tuple[Fault, ...]]


def _each(path: Path, read: Read[Any], make: Callable[[Any], Sequence[PublishedEpisode]]) -> _Made:
    """Episodes row by row; rows that cannot be made into any are faults."""
    made: list[PublishedEpisode] = []
    faults: list[Fault] = []
    for record, line in zip(read.rows, read.lines, strict=True):
        try:
            made += make(record)
        except RowProblem as problem:
            faults.append(Fault(str(path), record.id, line, "format", str(problem)))
    return made, tuple(faults)


def _crowd(path: Path, read: Read[CrowdRecord], data: str | None) -> _Made:
    seen: Counter[str] = Counter()
    return _each(path, read, lambda one: crowd_episodes(one, _apart(f"{one.id}.{one.side}", seen)))


def _linguists(path: Path, read: Read[LinguistRecord], data: str | None) -> _Made:
    seen: Counter[str] = Counter()
    return _each(path, read, lambda one: linguist_episodes(one, _apart(one.id, seen)))


def _apart(id: str, seen: Counter[str]) -> str:
    """An item's id; rows of one example, each of which is an item, get a number from the second on."""
    seen[id] += 1
    return id if seen[id] == 1 else f"{id}.{seen[id]}"


def _true_false(path: Path, read: Read[TrueFalseRecord], data: str | None) -> _Made:
    faults: list[Fault] = []
    groups: dict[tuple[str, str], list[TrueFalseRecord]] = {}
    sentences: dict[tuple[str, str], str] = {}
    known = _Lazy(path, data)
    for record, line in zip(read.rows, read.lines, strict=True):
        group = (record.id, record.side)
        sentence = statement_sentence(record) or known.sentence(record)
        problem = ""
        if sentence is None:
            problem = "prompt: does not hold the sentence; name the dataset with --data"
        elif sentences.setdefault(group, sentence) != sentence:
            problem = "prompt: has another sentence than earlier rows of this example and side"
        if problem:
            faults.append(Fault(str(path), record.id, line, "format", problem))
            continue
        groups.setdefault(group, []).append(record)
    made = [true_false_episode(some, sentences[group]) for group, some in groups.items()]
    return made, tuple(faults)


def _continuation(path: Path, read: Read[Any], data: str | None) -> _Made:
    examples = _Lazy(path, data).by_id
    if not examples:
        raise InputError(
            f"{path}: does not say which side is ambiguous; name the dataset that does with --data"
        )
    return _each(path, read, lambda record: [continuation_episode(record, examples)])


class _Lazy:
    """The dataset of a file, read when something is asked of it."""

    def __init__(self, path: Path, data: str | None) -> None:
        self._path, self._data = path, data
        self._examples: dict[str, Example] | None = None

    @property
    def by_id(self) -> Mapping[str, Example]:
        """Examples by id; empty if no dataset is found."""
        if self._examples is None:
            self._examples = {one.id: one for one in examples_beside(self._data, [self._path])}
        return self._examples

    def sentence(self, record: TrueFalseRecord) -> str | None:
        """The ambiguous sentence of a statement."""
        example = self.by_id.get(record.id)
        return None if example is None else example.sentence(record.side)


_EPISODES: Final[Mapping[str, Callable[[Path, Read[Any], str | None], _Made]]] = {
    "crowd": _crowd,
    "linguists": _linguists,
    "generation": lambda path, read, data: _each(path, read, lambda one: [generation_episode(one)]),
    "true_false": _true_false,
    "continuation": _continuation,
    "nli_predictions": lambda path, read, data: _each(path, read, lambda one: [nli_episode(one)]),
    "claims": lambda path, read, data: _each(path, read, lambda one: [claim_episode(one)]),
}


def _differences(kind: str, read: Read[Any]) -> Iterator[str]:
    if kind == "generation":
        for one in rescored(read.rows):
            yield f"row {one.id}: {one.field} is stored as {one.stored}, but comes out as {one.computed}"
    elif kind == "claims":
        for record, now in rescored_claims(read.rows):
            stored = f"ambiguity_score is stored as {record.stored_score}"
            yield f"row {record.id}: {stored}, but comes out as {now}"


def _first(faults: Sequence[Fault]) -> str:
    return f"; the first problem: line {faults[0].line}: {faults[0].message}" if faults else ""
