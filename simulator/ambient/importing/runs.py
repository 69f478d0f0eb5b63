"""`askback import ambient-results`: published files into the log as runs, read like any other (spec 11).

A run is named after the model and the file's content, an episode after its row. Rows that are faulty are left
out.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from logs import LogWriter
from logs.cli import LogOption
from logs.paths import default_path
from logs.rows import Episode, Run, Turn
from simulator.ambient.claims import rescored as rescored_claims
from simulator.ambient.examples import Example
from simulator.ambient.files.dataset import DATASET
from simulator.ambient.files.kinds import TABLES
from simulator.ambient.files.nli import NLI_PREDICTIONS
from simulator.ambient.files.results import CLAIMS, CONTINUATIONS, CROWD, GENERATION, LINGUISTS, TRUE_FALSE
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
from simulator.ambient.items import BENCHMARK, LANGUAGE, Task, item_row
from simulator.ambient.playing import ANNOTATOR
from simulator.ambient.records import ContinuationRecord, TrueFalseRecord
from simulator.ambient.reporting.datasets import examples_of_results
from simulator.ambient.reporting.measures import model_of
from simulator.ambient.score import score_rows
from simulator.errors import InputError
from simulator.jsonlines import Duplicates, DuplicatesOption, FieldError, Read
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

    `data`: the dataset that the file is of, a name or a path; None for one beside it. Only continuations need
    it: their files do not say which side is ambiguous.

    Raises:
        InputError: if the file cannot be read, is none that can be imported, or the log holds another run of
            that name.
        LogError: if the log cannot be written.
    """
    kind = _kind(path)
    task, make = _IMPORTED[kind.name]
    read = kind.read(path, duplicates)
    episodes, unusable = _File(path, data).episodes(read, make)
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
        raise InputError(f"{path}: {TABLES.why_none(path, 'AmbiEnt')}")
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


@dataclass
class _File:
    """A file that is imported, with what its rows need of each other and of the dataset.

    `data`: None for a dataset beside it; `names`: how often an item's name has come; of a True/False file,
    the sentence and rows of each item.
    """

    path: Path
    data: str | None
    names: Counter[str] = field(default_factory=Counter)
    sentences: dict[tuple[str, str], str] = field(default_factory=dict)
    statements: defaultdict[tuple[str, str], list[TrueFalseRecord]] = field(
        default_factory=lambda: defaultdict(list)
    )

    @cached_property
    def examples(self) -> Mapping[str, Example]:
        """The examples that the file is of, by id; empty if no dataset is found."""
        return {example.id: example for example in examples_of_results(self.data, [self.path])}

    def name(self, text: str) -> str:
        """Return the name of a row's item; from the second row on, those of one example get a number."""
        self.names[text] += 1
        return text if self.names[text] == 1 else f"{text}.{self.names[text]}"

    def episodes(self, read: Read[Any], make: _Make) -> tuple[list[PublishedEpisode], tuple[Fault, ...]]:
        """Return the episodes of the rows; rows that cannot be made into any are faults."""
        episodes: list[PublishedEpisode] = []
        faults: list[Fault] = []
        for record, line in zip(read.rows, read.lines, strict=True):
            try:
                episodes += make(record, self)
            except FieldError as error:
                faults.append(Fault(str(self.path), record.id, line, "format", str(error)))
        episodes += [true_false_episode(rows, self.sentences[key]) for key, rows in self.statements.items()]
        return episodes, tuple(faults)


_Make = Callable[[Any, _File], Sequence[PublishedEpisode]]


def _true_false(record: TrueFalseRecord, file: _File) -> Sequence[PublishedEpisode]:
    """Put a row to those of the same sentence."""
    group = (record.id, record.side)
    sentence = statement_sentence(record)
    if sentence is None and (example := file.examples.get(record.id)):
        sentence = example.sentence(record.side)
    if sentence is None:
        raise FieldError("prompt: does not hold the sentence; name the dataset with --data")
    if file.sentences.setdefault(group, sentence) != sentence:
        raise FieldError("prompt: has another sentence than earlier rows of this example and side")
    file.statements[group].append(record)
    return ()


def _continuation(record: ContinuationRecord, file: _File) -> Sequence[PublishedEpisode]:
    if not file.examples:
        raise InputError(
            f"{file.path}: does not say which side is ambiguous; name the dataset that does with --data"
        )
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
"""Kind of file -> task of the run, and how a row becomes episodes."""


def _differences(kind: TableSpec[Any], read: Read[Any]) -> Iterator[str]:
    if kind is GENERATION:
        for each in rescored(read.rows):
            yield f"row {each.id}: {each.field} is stored as {each.stored}, but comes out as {each.computed}"
    elif kind is CLAIMS:
        for record, now in rescored_claims(read.rows):
            stored = f"ambiguity_score is stored as {record.stored_score}"
            yield f"row {record.id}: {stored}, but comes out as {now}"


def import_ambient(
    files: Annotated[
        list[Path],
        typer.Argument(
            help="results of models (generation, true/false, continuations, predictions, claims), "
            "crowdworkers' votes, linguists' annotations"
        ),
    ],
    data: Annotated[
        str | None,
        typer.Option(help="the dataset they are of, a name or a path; default: one next to the files"),
    ] = None,
    duplicates: DuplicatesOption = "refuse",
    run: Annotated[str | None, typer.Option(help="the run's name; default: after model and content")] = None,
    log: LogOption = None,
) -> None:
    """Bring published files into the log, a run each; the same file again adds nothing.

    Rows that are faulty are left out and told; stored scores are compared with recomputed ones. An import
    that was cut off is completed by the same command. The exit code is 1 if a file could not be imported.
    """
    if run and len(files) > 1:
        raise InputError("--run names one run; give one file, or leave it out.")
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
