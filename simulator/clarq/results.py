"""Published results files of ClarQ-LLM: tasks with their dialogues.

A file is a list of task types, each a list of tasks as in the data files, with `gold_structure` (the tree
indices) and the dialogue in ``l2l[0]``: alternating lines, provider first (spec section 2).

Irregularities of the published files: the tasks of types 27 to 31 were not played, so their ``l2l[0]`` is
empty; such rows are counted and skipped. Their ``gold_structure`` begins with the opening's ``0``, which the
others omit.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from rich.console import Console

from logs import LogReader, LogWriter, Played
from logs.cli import LogOption
from logs.paths import default_path
from logs.rows import Episode, Run, Status, Turn
from simulator.clarq.benchmark import BENCHMARK
from simulator.clarq.compose import SPEAKER, contains, strip_speaker
from simulator.clarq.data import PROVIDER, SEEKER, is_farewell, item_row, read_item
from simulator.clarq.experts import Situation
from simulator.clarq.score import score_dialogue, score_rows, spoken_lines
from simulator.errors import InputError
from simulator.fields import first_fault
from simulator.frames import Frames
from simulator.jsonlines import CODE, Duplicates, DuplicatesOption
from simulator.reports import build_report, print_run_report
from simulator.runner.logged import erased_episodes
from simulator.runner.machines import task_turns
from simulator.runner.options import check_run_name
from simulator.runner.run_summary import print_problems, say
from simulator.seats import Line
from simulator.seeds import derive_seed
from simulator.tables.importing import DIGEST, PUBLISHED, EpisodeRows, file_digest, write_run
from simulator.tables.records import read_json
from trees import OPENING, Frontier, Language, Node, Task, Tree
from trees.faults import Fault
from trees.model import guess_language, task_type
from trees.published import background_of


@dataclass(frozen=True)
class ProviderStep:
    """A provider's line after the greeting.

    Attributes:
        position: index into the dialogue's lines.
        before: the frontier before the line.
        given: indices of the nodes that the line gives, in index order; empty for a Response II.
        opens: whether the line gives the opening.
    """

    position: int
    before: Frontier
    given: tuple[str, ...]
    opens: bool = False

    @property
    def after(self) -> Frontier:
        """The frontier after the line."""
        frontier = self.before.open() if self.opens else self.before
        return frontier.give(self.given)


@dataclass(frozen=True)
class Dialogue:
    """A finished dialogue: task, lines from the greeting on (without speakers), later provider lines."""

    id: str
    task: Task
    lines: tuple[Line, ...]
    steps: tuple[ProviderStep, ...]

    @property
    def multi(self) -> bool:
        """Return True if a provider line gives several nodes."""
        return any(len(step.given) > 1 for step in self.steps)

    @property
    def complete(self) -> bool:
        """Return True if the seeker obtained every node."""
        obtained = {index for step in self.steps for index in step.given}
        return obtained.issuperset(self.task.tree.by_index)

    def situation(self, step: ProviderStep) -> Situation:
        """Return the situation of the provider's experts before a step."""
        return Situation(
            task=self.task,
            lines=self.lines[: step.position],
            frontier=step.before,
            episode_id=self.id,
            number=step.position,
            seed=derive_seed(0, self.id, step.position),
        )


@dataclass(frozen=True, slots=True)
class ResultsFile:
    """A results file: dialogues, number of rows without one, faults (rows with errors are left out)."""

    path: Path
    dialogues: tuple[Dialogue, ...]
    unplayed: int
    faults: tuple[Fault, ...]

    def print_left_out(self) -> None:
        """Print to stderr the number of rows without a dialogue, and the faults."""
        if self.unplayed:
            say(Console(stderr=True), f"{self.path}: skipped {self.unplayed} rows without a dialogue.")
        print_problems("clarq", self.faults, ())


class _Row(BaseModel):
    """The keys of a row that are read."""

    model_config = ConfigDict(extra="ignore", strict=True)

    l2l: list[list[str]]
    all_response: str
    gold_structure: list[str]
    background_splitted: Annotated[list[str], Field(min_length=5, max_length=5)]
    all_response_exaplain: Any = None
    background: Any = None


def read_results(path: str | Path, duplicates: Duplicates = "refuse") -> ResultsFile:
    """Read a published results file row by row, so that a faulty row does not spoil the file.

    Raises:
        InputError: if the file, or every row, cannot be read; names file, type, task and field.
    """
    path = Path(path)
    dialogues: list[Dialogue] = []
    faults: list[Fault] = []
    unplayed = 0
    first_rows: dict[str, str] = {}
    types = read_json(path)
    if not isinstance(types, list) or not any(isinstance(tasks, list) for tasks in types):
        raise InputError(f"{path}: expected a list of task types, each a list of tasks")
    for number, tasks in enumerate(types, start=1):
        if not isinstance(tasks, list):
            faults.append(Fault(str(path), f"{number}", 0, "format", "expected a list of tasks"))
            continue
        for position, record in enumerate(tasks):
            row = f"{number}.{position}"
            try:
                dialogue = _dialogue(record, number, row, path, faults)
            except (InputError, ValueError) as error:
                problem = f"type {number}, task {position}: {error}"
                faults.append(Fault(str(path), row, 0, "format", problem))
                continue
            if dialogue is None:
                unplayed += 1
                continue
            earlier = first_rows.setdefault(json.dumps(record, sort_keys=True), row)
            if earlier != row:
                problem = "repeats type {}, task {}".format(*earlier.split("."))
                warning = Fault(str(path), row, 0, CODE, f"{problem}; counted again", "warning")
                faults.append(warning if duplicates == "keep" else Fault(str(path), row, 0, CODE, problem))
            if earlier == row or duplicates == "keep":
                dialogues.append(dialogue)
    if not dialogues:
        problem = f"; {faults[0].message}" if faults else ""
        raise InputError(f"{path}: contains no readable dialogue ({unplayed} rows have none{problem})")
    return ResultsFile(path, tuple(dialogues), unplayed, tuple(faults))


def _dialogue(record: Any, number: int, name: str, path: Path, warnings: list[Fault]) -> Dialogue | None:
    """Read a row, adding its warnings to `warnings`; None if its task was not played."""
    try:
        row = _Row.model_validate(record)
    except ValidationError as error:
        raise InputError(str(first_fault(error, record))) from error
    if not (row.l2l and row.l2l[0][1:]):  # nothing, or the greeting alone
        return None
    if [bool(SPEAKER.match(line)) for line in row.l2l[0][:2]] == [False, True]:
        raise InputError("l2l[0] begins with the seeker; the provider's greeting must come first")
    texts = [strip_speaker(line) for line in row.all_response.splitlines() if line.strip()]
    indices = row.gold_structure[1:] if row.gold_structure[:1] == [OPENING] else row.gold_structure
    if len(texts) != len(indices) + 1:
        raise InputError(
            f"all_response has {len(texts)} lines, gold_structure has {len(indices)} indices, "
            "not counting the opening's; expected one line more than indices"
        )
    explanations = row.all_response_exaplain or [None] * len(indices)
    sentences = explanations if isinstance(explanations, list) else []
    if len(sentences) != len(indices) or not all(isinstance(text, str | None) for text in sentences):
        problem = f"all_response_exaplain must have {len(indices)} sentences; the row is read without them"
        warnings.append(Fault(str(path), name, 0, "format", problem, "warning"))
        sentences = [None] * len(indices)
    try:
        tree = Tree(texts[0], tuple(map(Node, indices, texts[1:], sentences)))
    except ValueError as error:
        raise InputError(f"gold_structure: {error}") from error
    language = guess_language(tree.opening)
    task = Task(
        id=name,
        type=task_type(number).number,
        language=language,
        background=background_of(row.background_splitted),
        tree=tree,
        prompt=row.background if isinstance(row.background, str) else None,
        source=str(path),
    )
    lines = tuple(
        Line(SEEKER, line.strip()) if turn % 2 else Line(PROVIDER, strip_speaker(line))
        for turn, line in enumerate(row.l2l[0])
    )
    return Dialogue(f"{name}.{language}", task, lines, tuple(_steps(tree, language, lines)))


def _steps(tree: Tree, language: Language, lines: Sequence[Line]) -> Iterator[ProviderStep]:
    """Yield the provider's lines after the greeting with the nodes each gives (spec section 7).

    A node, or the opening, is given by the first line that contains its text while it is available. A
    line may give several.
    """
    frontier = Frontier(tree)
    spoken = [position for position, line in enumerate(lines) if line.seat == PROVIDER]
    for position in spoken[1:]:
        text = lines[position].text
        opens = not frontier.opened and contains(text, tree.opening, language)
        nodes = tuple(node.index for node in frontier.available if contains(text, node.text, language))
        step = ProviderStep(position, frontier, nodes, opens)
        yield step
        frontier = step.after


def load_dialogues(
    sources: Sequence[str], log: Path, duplicates: Duplicates = "refuse"
) -> tuple[tuple[Dialogue, ...], int]:
    """Return the dialogues of results files (by path) and logged runs (by name), and the number erased.

    Rows left out of a file are printed. Dialogues of participants who have withdrawn are left out and
    counted: without their words the provider would face a different dialogue.

    Raises:
        InputError: if a file is not in the published format.
        LogError: if a run does not exist.
    """
    dialogues: list[Dialogue] = []
    erased = 0
    for source in sources:
        if Path(source).is_file():
            file = read_results(source, duplicates)
            dialogues.extend(file.dialogues)
            file.print_left_out()
            continue
        if not log.exists():
            raise InputError(f"{source}: no such file, and no log at {log} to look for a run of that name.")
        with LogReader(log) as reader:
            reader.run(source)
            tasks = {item.hash: read_item(item) for item in reader.items(source)}
            erased_ids = erased_episodes(reader, source)
            dialogues.extend(
                _logged_dialogue(tasks[played.episode.item_hash], played)
                for played in reader.turns_of_run(source)
                if played.episode.id not in erased_ids
            )
            erased += len(erased_ids)
    return tuple(dialogues), erased


def _logged_dialogue(task: Task, played: Played) -> Dialogue:
    """Return a logged dialogue; the nodes given are in the payloads of its turns."""
    steps, frontier = [], Frontier(task.tree)
    for position, turn in enumerate(task_turns(played.turns)):
        indices = [str(index) for index in turn.payload.get("give", [])]
        nodes = tuple(index for index in indices if index != OPENING)
        step = ProviderStep(position, frontier, nodes, OPENING in indices)
        if turn.seat == PROVIDER and position:
            steps.append(step)
        frontier = step.after
    lines = spoken_lines(played.turns)
    return Dialogue(played.episode.id, task, lines, tuple(steps))


def split_runs(runs: Iterable[Sequence[Dialogue]]) -> tuple[list[Dialogue], list[Dialogue]]:
    """Return the dialogues of the single-info runs and those of the multi-info runs.

    A run is multi-info if any of its dialogues is, since a multi-info provider often gives a single node.
    """
    split: tuple[list[Dialogue], list[Dialogue]] = [], []
    for run in runs:
        split[any(dialogue.multi for dialogue in run)].extend(run)
    return split


def import_results(file: ResultsFile, log: LogWriter, name: str | None = None) -> Run:
    """Write the dialogues of a results file to the log as one run; importing again adds nothing.

    The run's configuration has the number of rows without a dialogue (``unplayed``) and of unreadable
    rows (``unreadable``).

    Raises:
        InputError: if the log has a different run of that name.
        LogError: if the log cannot be written.
    """
    digest = file_digest(file.path)
    unreadable = sum(fault.severity == "error" for fault in file.faults)
    run = Run(
        id=name or f"{file.path.stem}-{digest[:DIGEST]}",
        benchmark="clarq",
        setup="L2L",
        seed=0,
        config={
            "imported": file.path.name,
            "sha256": digest,
            "planned": len(file.dialogues),
            **({"unplayed": file.unplayed} if file.unplayed else {}),
            **({"unreadable": unreadable} if unreadable else {}),
        },
    )
    write_run(log, run, (_rows(dialogue, run) for dialogue in file.dialogues))
    return run


def _rows(dialogue: Dialogue, run: Run) -> EpisodeRows:
    item = item_row(dialogue.task)
    episode = Episode(
        id=f"{run.id}/{item.name}.{item.language}/0",
        run_id=run.id,
        item_hash=item.hash,
        language=item.language,
        seats={SEEKER: PUBLISHED, PROVIDER: PUBLISHED},
        seed=0,
    )
    nodes_at = {step.position: [*[OPENING] * step.opens, *step.given] for step in dialogue.steps}
    turns = [
        Turn(
            episode_id=episode.id,
            number=number,
            seat=line.seat,
            text=line.text,
            payload={"give": nodes_at[number]} if number in nodes_at else {},
        )
        for number, line in enumerate(dialogue.lines)
    ]
    last = [line.text for line in dialogue.lines if line.seat == SEEKER][-1:]
    status: Status = "completed" if any(map(is_farewell, last)) else "truncated"
    scores = score_rows(episode.id, score_dialogue(dialogue.task, dialogue.lines))
    return EpisodeRows(episode, item, turns, scores, status)


def import_clarq(
    files: Annotated[list[Path], typer.Argument(help="published results files of ClarQ-LLM")],
    run: Annotated[
        str | None,
        typer.Option(help="name of the run; default: from the file's name", callback=check_run_name),
    ] = None,
    duplicates: DuplicatesOption = "refuse",
    log: LogOption = None,
) -> None:
    """Import published results files into the log and score them.

    Rows without a dialogue are skipped and counted; unreadable rows are left out and reported.
    """
    if run and len(files) > 1:
        raise InputError("--run names a single run; give one file, or omit --run.")
    path = log or default_path()
    console = Console()
    for file in files:
        results = read_results(file, duplicates)
        with LogWriter(path, durable=False) as writer:
            imported = import_results(results, writer, run)
        with LogReader(path) as reader:
            console.print(f"[dim]run[/dim] {imported.id} [dim]in[/dim] {path}")
            print_run_report(
                console, build_report(BENCHMARK, Frames(log=reader, runs=(imported.id,), draws=False))
            )
        results.print_left_out()
