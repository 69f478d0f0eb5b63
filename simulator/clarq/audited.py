"""The dialogues that an audit compares with: published ones, and those of runs in the log."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from logs import LogReader
from logs.query import Played
from simulator.clarq.data import task_from_json
from simulator.clarq.graph import PROVIDER
from simulator.clarq.labelled import Labelled
from simulator.clarq.results import PublishedDialogue, ResultsFile, provider_steps, read_results
from simulator.duplicates import Duplicates
from simulator.errors import InputError
from simulator.runner.logged import erased_episodes
from simulator.seats import Line
from trees import OPENING, Frontier, Task


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditTurn:
    """A logged provider turn.

    Attributes:
        position: of the provider's line among the dialogue's lines.
        frontier: before it.
        given: indices of the nodes it gave.
    """

    position: int
    frontier: Frontier
    given: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditDialogue:
    """A logged dialogue with what its provider gave at every turn after the greeting."""

    id: str
    task: Task
    lines: tuple[Line, ...]
    turns: tuple[AuditTurn, ...]

    @property
    def complete(self) -> bool:
        """Whether the seeker got every node."""
        given = {index for turn in self.turns for index in turn.given}
        return given.issuperset(self.task.tree.by_index)


def from_published(dialogue: PublishedDialogue) -> AuditDialogue:
    """Return a dialogue of a results file; what was given is read off by containment (spec section 7)."""
    return AuditDialogue(
        id=f"{dialogue.task.id}.{dialogue.task.language}",
        task=dialogue.task,
        lines=dialogue.lines,
        turns=tuple(
            AuditTurn(position=step.position, frontier=step.before, given=step.given)
            for step in provider_steps(dialogue)
        ),
    )


def from_labelled(question: Labelled) -> AuditDialogue:
    """Return a labelled question; only its own turn is compared.

    Where several nodes each answer a part, a single-info provider gives the first.
    """
    situation = question.situation
    turn = AuditTurn(
        position=len(situation.lines), frontier=situation.frontier, given=tuple(sorted(question.nodes)[:1])
    )
    name = f"{situation.task.id}.{situation.task.language}"
    return AuditDialogue(id=name, task=situation.task, lines=situation.lines, turns=(turn,))


def from_played(task: Task, played: Played) -> AuditDialogue:
    """Return a dialogue of the log; what was given stands in the turns' payload."""
    turns, frontier = [], Frontier(task.tree)
    for position, turn in enumerate(played.turns):
        given = [str(index) for index in turn.payload.get("give", [])]
        nodes = tuple(index for index in given if index != OPENING)
        if turn.seat == PROVIDER and position:
            turns.append(AuditTurn(position=position, frontier=frontier, given=nodes))
        frontier = frontier.open() if OPENING in given else frontier
        frontier = frontier.give(nodes)
    lines = tuple(Line(turn.seat, turn.text) for turn in played.turns)
    return AuditDialogue(id=played.episode.id, task=task, lines=lines, turns=tuple(turns))


class Loaded(NamedTuple):
    """What sources hold.

    Attributes:
        dialogues: to audit.
        erased: how many were left out, for people of theirs have withdrawn: without their words a provider
            would decide on something else.
    """

    dialogues: tuple[AuditDialogue, ...]
    erased: int = 0


def load_dialogues(
    sources: Sequence[str],
    log: Path,
    tell: Callable[[Path, ResultsFile], None] | None = None,
    duplicates: Duplicates = "refuse",
) -> Loaded:
    """Dialogues from results files and from runs in the log, by path and by name.

    Those of people who have withdrawn are left out, and counted. Each file that was read is handed to `tell`,
    which may say what was left out of it.

    Raises:
        InputError: if a file is not of the published form.
        LogError: if there is no such run.
    """
    dialogues: list[AuditDialogue] = []
    erased = 0
    for source in sources:
        if Path(source).is_file():
            file = read_results(source, duplicates)
            dialogues.extend(map(from_published, file.dialogues))
            if tell:
                tell(Path(source), file)
            continue
        if not log.exists():
            raise InputError(f"{source}: no such file, and there is no log at {log} that could hold a run.")
        with LogReader(log) as reader:
            reader.run(source)
            tasks = {item.hash: task_from_json(item.data) for item in reader.items(source)}
            gone = erased_episodes(reader, source)
            dialogues.extend(
                from_played(tasks[played.episode.item_hash], played)
                for played in reader.turns_of_run(source)
                if played.episode.id not in gone
            )
            erased += len(gone)
    return Loaded(tuple(dialogues), erased)
