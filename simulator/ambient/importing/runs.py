"""`askback import ambient-results`: import published files into the log as runs (spec 11).

A run is named after the model and the file's content, an episode after its row. Faulty rows are left out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from logs import LogWriter
from logs.cli import LogOption
from logs.paths import default_path
from logs.rows import Episode, Run, Turn
from simulator.ambient.claims import stored_differences as claim_differences
from simulator.ambient.examples import Example
from simulator.ambient.files.dataset import DATASET
from simulator.ambient.files.kinds import TABLES
from simulator.ambient.files.nli import NLI_PREDICTIONS
from simulator.ambient.files.results import CLAIMS, CONTINUATIONS, CROWD, GENERATION, LINGUISTS, TRUE_FALSE
from simulator.ambient.generation import stored_differences
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
from simulator.ambient.items import BENCHMARK, LANGUAGE, Task, item_row
from simulator.ambient.playing import ANNOTATOR
from simulator.ambient.records import ContinuationRecord, TrueFalseRecord
from simulator.ambient.reporting.datasets import examples_of_results
from simulator.ambient.reporting.measures import model_of
from simulator.ambient.score import score_rows
from simulator.errors import InputError
from simulator.jsonlines import Duplicates, DuplicatesOption, FieldError, Read
from simulator.runner.options import check_run_name
from simulator.tables.importing import (
    DIGEST,
    PUBLISHED,
    EpisodeRows,
    ImportedRun,
    file_digest,
    print_failed,
    print_faults,
    print_imported,
    write_run,
)
from simulator.tables.spec import TableSpec
from trees.faults import Fault

_HUMAN: Final = (CROWD, LINGUISTS)


def import_file(
    path: Path,
    log: LogWriter,
    *,
    data: str | None = None,
    name: str | None = None,
    duplicates: Duplicates = "refuse",
) -> ImportedRun:
    """Write the rows of a published file into the log as one run.

    `data`: the file's dataset, a name or a path; None for one next to the file. Only continuations need it,
    since their files do not say which side is ambiguous.

    Raises:
        InputError: if the file cannot be read or imported, or the log contains another run of that name.
        LogError: if the log cannot be written.
    """
    kind = _kind(path)
    task, make = _IMPORTED[kind.name]
    read = kind.read(path, duplicates)
    episodes, unusable = _File(path, data).episodes(read, make)
    faults = (*read.faults, *unusable)
    if not episodes:
        first = f"; the first problem: line {faults[0].line}: {faults[0].message}" if faults else ""
        raise InputError(f"{path}: contains no row that can be imported{first}")
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
        raise InputError(f"{path} is not a file; name files, not folders")
    kind = TABLES.kind_of(path)
    if kind is None:
        raise InputError(f"{path}: {TABLES.why_unrecognized(path, 'AmbiEnt')}")
    if kind is DATASET:
        raise InputError(f"{path}: contains examples; register them with `askback data add ambient`")
    if kind.name not in _IMPORTED:
        raise InputError(
            f"{path}: contains {kind.title}, not answers to items; give it to `askback score ambient`"
        )
    return kind


def _run(path: Path, kind: TableSpec[Any], task: Task, planned: int, name: str | None) -> Run:
    digest, model = file_digest(path), model_of(path)
    return Run(
        id=name or f"{model}-{task}-{digest[:DIGEST]}",
        benchmark=BENCHMARK,
        setup="H2L" if kind in _HUMAN else "L2L",
        seed=0,
        config={
            "imported": path.name,
            "sha256": digest,
            "task": task,
            "model": model,
            "planned": planned,
            "seats": {ANNOTATOR: PUBLISHED if kind in _HUMAN else model},
        },
    )


def _rows(published: PublishedEpisode, place: int, run: Run) -> EpisodeRows:
    item = item_row(published.item)
    episode = Episode(
        # Episodes that end together are sorted by name, which keeps the order of the file.
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


class _File:
    """The state of an import; `statements`: for true-false files, the sentence and the rows of each item."""

    def __init__(self, path: Path, data: str | None) -> None:
        self.path = path
        self._data = data
        self._names: Counter[str] = Counter()
        self.statements: dict[tuple[str, str], tuple[str, list[TrueFalseRecord]]] = {}

    @cached_property
    def examples(self) -> Mapping[str, Example]:
        """The dataset's examples by id; empty if no dataset is found."""
        return {example.id: example for example in examples_of_results(self._data, [self.path])}

    def name(self, text: str) -> str:
        """Return a unique name for a row's item, which has a number from an example's second row on."""
        self._names[text] += 1
        return text if self._names[text] == 1 else f"{text}.{self._names[text]}"

    def episodes(self, read: Read[Any], make: _Make) -> tuple[list[PublishedEpisode], tuple[Fault, ...]]:
        """Return the episodes of the rows, and a fault for each row that cannot be converted."""
        episodes: list[PublishedEpisode] = []
        faults: list[Fault] = []
        for record, line in zip(read.rows, read.lines, strict=True):
            try:
                episodes += make(record, self)
            except FieldError as error:
                faults.append(Fault(str(self.path), record.id, line, "format", str(error)))
        episodes += [true_false_episode(rows, sentence) for sentence, rows in self.statements.values()]
        return episodes, tuple(faults)


_Make = Callable[[Any, _File], Sequence[PublishedEpisode]]


def _true_false(record: TrueFalseRecord, file: _File) -> Sequence[PublishedEpisode]:
    """Add a row to those of the same sentence, from which `_File.episodes` makes one episode."""
    sentence = statement_sentence(record)
    if sentence is None and (example := file.examples.get(record.id)):
        sentence = example.sentence(record.side)
    if sentence is None:
        raise FieldError("prompt: does not contain the sentence; name the dataset with --data")
    known, rows = file.statements.setdefault((record.id, record.side), (sentence, []))
    if known != sentence:
        raise FieldError("prompt: has a different sentence from earlier rows of this example and side")
    rows.append(record)
    return ()


def _continuation(record: ContinuationRecord, file: _File) -> Sequence[PublishedEpisode]:
    if not file.examples:
        raise InputError(f"{file.path}: does not say which side is ambiguous; name the dataset with --data")
    return [continuation_episode(record, file.examples)]


_IMPORTED: Final[Mapping[str, tuple[Task, _Make]]] = {
    CROWD.name: ("crowd", lambda row, file: crowd_episodes(row, file.name(f"{row.id}.{row.side}"))),
    LINGUISTS.name: ("annotate", lambda row, file: linguist_episodes(row, file.name(row.id))),
    GENERATION.name: ("generate", lambda row, file: [generation_episode(row)]),
    TRUE_FALSE.name: ("true_false", _true_false),
    CONTINUATIONS.name: ("continue", _continuation),
    NLI_PREDICTIONS.name: ("nli", lambda row, file: [nli_episode(row)]),
    CLAIMS.name: ("claim", lambda row, file: [claim_episode(row)]),
}
"""Kind of file -> task of the run, and conversion of a row to episodes."""


def _differences(kind: TableSpec[Any], read: Read[Any]) -> Iterator[str]:
    if kind is GENERATION:
        for each in stored_differences(read.rows):
            yield f"row {each.id}: {each.field} is stored as {each.stored}, but recomputed as {each.computed}"
    elif kind is CLAIMS:
        for record, computed in claim_differences(read.rows):
            stored = f"ambiguity_score is stored as {record.stored_score}"
            yield f"row {record.id}: {stored}, but recomputed as {computed}"


def import_ambient(
    files: Annotated[
        list[Path],
        typer.Argument(
            help="models' results (generation, true/false, continuations, predictions, claims), "
            "crowdworkers' votes, linguists' annotations"
        ),
    ],
    data: Annotated[
        str | None,
        typer.Option(help="dataset of the results, a name or a path; default: one next to the files"),
    ] = None,
    duplicates: DuplicatesOption = "refuse",
    run: Annotated[
        str | None,
        typer.Option(help="name of the run; default: by model and content", callback=check_run_name),
    ] = None,
    log: LogOption = None,
) -> None:
    """Import published files into the log, one run per file; importing a file twice adds nothing.

    Faulty rows are left out and listed; stored scores are compared with recomputed ones. Rerun the command to
    complete an interrupted import. The exit code is 1 if a file could not be imported.
    """
    if run and len(files) > 1:
        raise InputError("--run names one run; give one file, or omit --run.")
    path, failed = log or default_path(), list[str]()
    with LogWriter(path, durable=False) as writer:
        for file in files:
            try:
                imported = import_file(file, writer, data=data, name=run, duplicates=duplicates)
            except InputError as error:
                failed.append(str(error))
                continue
            print_imported(imported, path)
            print_faults(file.name, imported.faults)
    print_failed(failed)
    if failed:
        raise typer.Exit(1)
