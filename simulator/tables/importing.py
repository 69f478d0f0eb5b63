"""Import of results files into the log, as runs like any other.

Rows are keyed by run and episode, so importing the same file again adds nothing, and an interrupted import
is completed by the same command.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import Final, NamedTuple

from rich.console import Console

from logs import LogConflict, LogReader, LogWriter
from logs.rows import Ending, Episode, Event, Item, Participant, Run, Score, Status, Turn
from simulator.errors import InputError
from simulator.jsonlines import count_left_out
from simulator.runner.run_summary import say
from trees.faults import Fault, fault_text

DIGEST: Final = 8
"""Number of digits of a file's digest in the names of its runs."""
PUBLISHED: Final = "published"
"""The player in a seat if a file does not name one."""
_EVENT: Final = "import"
_MAX_LINES: Final = 20


class EpisodeRows(NamedTuple):
    """The rows of an episode to log; `write_run` sets its repeat."""

    episode: Episode
    item: Item
    turns: Sequence[Turn]
    scores: Sequence[Score]
    status: Status


class Receipt(NamedTuple):
    """The outcome of writing a run.

    Attributes:
        new: whether the run was not in the log before.
        added: number of episodes that were not complete in the log before.
    """

    new: bool
    episodes: int
    added: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportedRun:
    """The outcome of importing a file's rows as a run.

    Attributes:
        differences: stored values that differ from the recomputed ones, one sentence each.
        faults: faulty rows, which were not imported; empty if the file gives several runs.
    """

    run: Run
    receipt: Receipt
    title: str
    rows: int
    differences: tuple[str, ...] = ()
    faults: tuple[Fault, ...] = ()
    unit: str = "rows"


def file_digest(path: str | Path) -> str:
    """Return the SHA-256 of a file's bytes, in hex.

    Raises:
        InputError: if it cannot be read.
    """
    try:
        return sha256(Path(path).read_bytes()).hexdigest()
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror})") from error


def write_run(
    log: LogWriter,
    run: Run,
    episodes: Iterable[EpisodeRows],
    *,
    conflict: str = "",
) -> Receipt:
    """Write a run with its participants into the log; rows that are there already are not changed.

    The run's configuration has the file (``imported``) and its digest (``sha256``). `conflict`: the error
    message if the log has a different run of that name.

    Raises:
        InputError: if the log has a different run of that name.
        LogError: if the log cannot be written.
    """
    try:
        new = not log.put(run).result().duplicate
    except LogConflict as error:
        taken = f"The log has a different run {run.id!r}; give this one another name with --run."
        raise InputError(conflict or taken) from error
    with LogReader(log.path) as reader:
        people = {person.id for person in reader.participants()}
    repeats: Counter[str] = Counter()
    endings = []
    for rows in episodes:
        log.put(rows.item)
        if (person := rows.episode.participant_id) and person not in people:
            people.add(person)
            log.put(Participant(id=person, details={"imported": run.config["imported"]}))
        log.put(replace(rows.episode, repeat=repeats[rows.item.hash]))
        repeats[rows.item.hash] += 1
        for turn in rows.turns:
            log.put(turn)
        for score in rows.scores:
            log.put(score)
        endings.append(log.put(Ending(episode_id=rows.episode.id, status=rows.status)))
    log.flush()
    _log_import(run, log)
    return Receipt(new, len(endings), sum(not ending.result().duplicate for ending in endings))


def print_imported(imported: ImportedRun, log: Path) -> None:
    """Print what was added to the log, and which stored values differ from the recomputed ones."""
    new, episodes, added = imported.receipt
    state = f"{added} episodes added" if added else "nothing new"
    if added and not new:
        state += ", left out by an earlier import"
    run, console = imported.run.id, Console()
    contents = f"{imported.title}, {imported.rows} {imported.unit}, {episodes} episodes"
    say(console, f"run {run} in {log}: {contents}; {state}")
    if imported.differences:
        say(console, f"{len(imported.differences)} stored values of {run} differ from the recomputed ones:")
        print_some(console, imported.differences)


def print_faults(file: str | Path, faults: Sequence[Fault], unit: str = "rows") -> None:
    """Print the faults of a file's rows (or another `unit`) on standard error."""
    console, dropped = Console(stderr=True), count_left_out(faults)
    if dropped:
        say(console, f"{dropped} {unit.removesuffix('s') if dropped == 1 else unit} of {file} left out:")
    if kept := len(faults) - dropped:
        repeats = f"{unit.removesuffix('s')} repeats" if kept == 1 else f"{unit} repeat"
        say(console, f"{kept} {repeats} an earlier one, counted again:")
    print_some(console, list(map(fault_text, faults)), "yellow")


def print_failed(reasons: Iterable[str]) -> None:
    """Print on standard error why files were not imported."""
    for reason in reasons:
        say(Console(stderr=True), reason, "red")


def print_some(console: Console, lines: Sequence[str], style: str = "") -> None:
    """Print the first lines, and how many more there are."""
    for line in lines[:_MAX_LINES]:
        say(console, f"  {line}", style)
    if len(lines) > _MAX_LINES:
        say(console, f"  … and {len(lines) - _MAX_LINES} more (askback check lists all faults)", style)


def _log_import(run: Run, log: LogWriter) -> None:
    """Log that the run is complete: once, even if it took several attempts."""
    with LogReader(log.path) as reader:
        events = reader.events(run_id=run.id, kind=_EVENT)
    if not events:
        details = {"file": run.config["imported"], "sha256": run.config["sha256"]}
        log.put(Event(kind=_EVENT, run_id=run.id, details=details))
        log.flush()
