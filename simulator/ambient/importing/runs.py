"""Published files into the log as runs, where they are read like any other run (spec 11).

A run is named after the model and the file's content, an episode after its row. Rows that are faulty are left
out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, partial
from pathlib import Path
from typing import Any, Final

from logs import LogWriter
from logs.rows import Episode, Run, Turn
from simulator.ambient.claims import rescored as rescored_claims
from simulator.ambient.examples import Example
from simulator.ambient.files.claims import CLAIMS
from simulator.ambient.files.dataset import DATASET
from simulator.ambient.files.kinds import TABLES
from simulator.ambient.files.nli import NLI_PREDICTIONS
from simulator.ambient.files.people import CROWD, LINGUISTS
from simulator.ambient.files.results import CONTINUATIONS, GENERATION, TRUE_FALSE
from simulator.ambient.generation import rescored
from simulator.ambient.importing.episodes import (
    PublishedEpisode,
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
from simulator.ambient.records import TrueFalseRecord
from simulator.ambient.reporting.datasets import examples_beside
from simulator.ambient.reporting.paper import model_of
from simulator.ambient.rows import BENCHMARK, LANGUAGE, item_row
from simulator.ambient.score import score_rows
from simulator.duplicates import Duplicates
from simulator.errors import InputError
from simulator.jsonlines import FieldError, Read
from simulator.tables.importing import DIGEST, PUBLISHED, EpisodeRows, ImportedRun, file_digest, write_run
from simulator.tables.spec import TableSpec
from trees.faults import Fault

_OF_PEOPLE: Final = (CROWD, LINGUISTS)


def import_file(
    path: Path,
    log: LogWriter,
    *,
    data: str | None = None,
    name: str | None = None,
    duplicates: Duplicates = "refuse",
) -> ImportedRun:
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
    task, make = _IMPORTED[kind.name]
    read = kind.read(path, duplicates)
    episodes, unusable = make(path, read, data)
    faults = (*read.faults, *unusable)
    if not episodes:
        first = f"; the first problem: line {faults[0].line}: {faults[0].message}" if faults else ""
        raise InputError(f"{path}: holds no row that could be imported{first}")
    if task == "crowd" and all(episode.item.task == "evaluate" for episode in episodes):
        task = "evaluate"
    run = _run(path, kind, task, len(episodes), name)
    receipt = write_run(log, run, (_rows(episode, place, run) for place, episode in enumerate(episodes)))
    return ImportedRun(
        run=run,
        receipt=receipt,
        title=task,
        rows=len(read.rows) - len({fault.line for fault in unusable}),
        differences=tuple(_differences(kind, read)),
        faults=faults,
    )


def _kind(path: Path) -> TableSpec[Any]:
    if not path.is_file():
        raise InputError(f"{path}: there is no such file")
    kind = TABLES.kind_of(path)
    if kind is None:
        raise InputError(f"{path}: is none of AmbiEnt's files, or empty")
    if kind is DATASET:
        raise InputError(f"{path}: holds examples; register them with `askback data add ambient`")
    if kind.name not in _IMPORTED:
        raise InputError(
            f"{path}: holds {kind.title}, which are no answers to items; give it to `askback score ambient`"
        )
    return kind


def _run(path: Path, kind: TableSpec[Any], task: Task, planned: int, name: str | None) -> Run:
    digest, model = file_digest(path), model_of(path)
    return Run(
        id=name or f"{model}-{task}-{digest[:DIGEST]}",
        benchmark=BENCHMARK,
        setup="H2L" if kind in _OF_PEOPLE else "L2L",
        seed=0,
        config={
            "imported": path.name,
            "sha256": digest,
            "task": task,
            "model": model,
            "planned": planned,
            "seats": {ANNOTATOR: PUBLISHED if kind in _OF_PEOPLE else model},
        },
    )


def _rows(published: PublishedEpisode, place: int, run: Run) -> EpisodeRows:
    item = item_row(published.item)
    episode = Episode(
        # Read in the order of the file: episodes that end together are sorted by name.
        id=f"{run.id}/{place:06}.{item.name}",
        run_id=run.id,
        item_hash=item.hash,
        language=LANGUAGE,
        seats={ANNOTATOR: published.annotator or str(run.config["model"])},
        seed=0,
    )
    turns = [
        Turn(episode_id=episode.id, number=number, seat=ANNOTATOR, text=text, payload=dict(payload))
        for number, (text, payload) in enumerate(published.turns)
    ]
    scores = score_rows(episode.id, published.item, turns)
    return EpisodeRows(episode, item, turns, scores, "completed" if published.complete else "truncated")


_Episodes = tuple[list[PublishedEpisode], tuple[Fault, ...]]
_Make = Callable[[Path, Read[Any], str | None], _Episodes]


def _row_by_row(path: Path, read: Read[Any], make: Callable[[Any], Sequence[PublishedEpisode]]) -> _Episodes:
    """Return episodes row by row; rows that cannot be made into any are faults."""
    episodes: list[PublishedEpisode] = []
    faults: list[Fault] = []
    for record, line in zip(read.rows, read.lines, strict=True):
        try:
            episodes += make(record)
        except FieldError as error:
            faults.append(Fault(str(path), record.id, line, "format", str(error)))
    return episodes, tuple(faults)


def _single(make: Callable[[Any], PublishedEpisode]) -> _Make:
    """Return what makes one episode of each row."""
    return lambda path, read, data: _row_by_row(path, read, lambda record: [make(record)])


def _several(make: Callable[[Any, str], Sequence[PublishedEpisode]], id: Callable[[Any], str]) -> _Make:
    """Return what makes an item of each row; rows of one example get a number from the second on."""

    def make_all(path: Path, read: Read[Any], data: str | None) -> _Episodes:
        seen: Counter[str] = Counter()

        def make_row(record: Any) -> Sequence[PublishedEpisode]:
            name = id(record)
            seen[name] += 1
            return make(record, name if seen[name] == 1 else f"{name}.{seen[name]}")

        return _row_by_row(path, read, make_row)

    return make_all


def _true_false(path: Path, read: Read[TrueFalseRecord], data: str | None) -> _Episodes:
    groups: dict[tuple[str, str], list[TrueFalseRecord]] = {}
    sentences: dict[tuple[str, str], str] = {}
    dataset = cache(partial(_dataset, path, data))

    def add(record: TrueFalseRecord) -> Sequence[PublishedEpisode]:
        group = (record.id, record.side)
        sentence = statement_sentence(record)
        if sentence is None and (example := dataset().get(record.id)):
            sentence = example.sentence(record.side)
        if sentence is None:
            raise FieldError("prompt: does not hold the sentence; name the dataset with --data")
        if sentences.setdefault(group, sentence) != sentence:
            raise FieldError("prompt: has another sentence than earlier rows of this example and side")
        groups.setdefault(group, []).append(record)
        return ()

    _, faults = _row_by_row(path, read, add)
    return [true_false_episode(group, sentences[key]) for key, group in groups.items()], faults


def _continuation(path: Path, read: Read[Any], data: str | None) -> _Episodes:
    examples = _dataset(path, data)
    if not examples:
        raise InputError(
            f"{path}: does not say which side is ambiguous; name the dataset that does with --data"
        )
    return _row_by_row(path, read, lambda record: [continuation_episode(record, examples)])


def _dataset(path: Path, data: str | None) -> Mapping[str, Example]:
    """Return the examples that a file is of, by id; empty if no dataset is found."""
    return {example.id: example for example in examples_beside(data, [path])}


_IMPORTED: Final[Mapping[str, tuple[Task, _Make]]] = {
    CROWD.name: ("crowd", _several(crowd_episodes, lambda record: f"{record.id}.{record.side}")),
    LINGUISTS.name: ("annotate", _several(linguist_episodes, lambda record: record.id)),
    GENERATION.name: ("generate", _single(generation_episode)),
    TRUE_FALSE.name: ("true_false", _true_false),
    CONTINUATIONS.name: ("continue", _continuation),
    NLI_PREDICTIONS.name: ("nli", _single(nli_episode)),
    CLAIMS.name: ("claim", _single(claim_episode)),
}
"""Kind of file -> task of the run, and how its rows become episodes."""


def _differences(kind: TableSpec[Any], read: Read[Any]) -> Iterator[str]:
    if kind is GENERATION:
        for each in rescored(read.rows):
            yield f"row {each.id}: {each.field} is stored as {each.stored}, but comes out as {each.computed}"
    elif kind is CLAIMS:
        for record, now in rescored_claims(read.rows):
            stored = f"ambiguity_score is stored as {record.stored_score}"
            yield f"row {record.id}: {stored}, but comes out as {now}"
