"""Results of files as runs of the log, where they are read like any other run.

Rows are keyed by run and episode, so the same file again adds nothing, and an import that was cut off is
completed by the same command.
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
from simulator.jsonlines import left_out
from simulator.runner.run_summary import say
from trees.faults import Fault, fault_text

DIGEST: Final = 8
"""So much of a file's digest is told in the names of its runs."""
PUBLISHED: Final = "published"
"""Who sits in a seat where a file does not say."""
_EVENT: Final = "import"
_TOLD: Final = 20


class EpisodeRows(NamedTuple):
    """An episode as it is to be logged; its repeat follows from the episodes before."""

    episode: Episode
    item: Item
    turns: Sequence[Turn]
    scores: Sequence[Score]
    status: Status


class Receipt(NamedTuple):
    """The outcome of writing a run.

    Attributes:
        new: whether it was not in the log before.
        episodes: of the run.
        added: of them, those that were not in the log whole before.
    """

    new: bool
    episodes: int
    added: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportedRun:
    """The outcome of importing a file's rows.

    Attributes:
        differences: stored values that recomputation does not give, a sentence each.
        faults: of rows of the file that are not in it, where it is the only run of its file.
    """

    run: Run
    receipt: Receipt
    title: str
    rows: int
    differences: tuple[str, ...] = ()
    faults: tuple[Fault, ...] = ()
    unit: str = "rows"


def file_digest(path: str | Path) -> str:
    """Return SHA-256 of a file's bytes, in hex.

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
    people: Iterable[Participant] = (),
    conflict: str = "",
) -> Receipt:
    """Write a run into the log; what is there already stays as it is.

    Args:
        log: where to.
        run: its configuration names the file (``imported``) and its content (``sha256``).
        episodes: of the run.
        people: who play in it, and are not in the log.
        conflict: what is said if the log holds another run of that name.

    Raises:
        InputError: if it does.
        LogError: if the log cannot be written.
    """
    try:
        new = not log.put(run).result().duplicate
    except LogConflict as error:
        taken = f"The log holds another run {run.id!r}; give this one another name with --run."
        raise InputError(conflict or taken) from error
    for person in people:
        log.put(person)
    repeats: Counter[str] = Counter()
    endings = []
    for rows in episodes:
        log.put(rows.item)
        log.put(replace(rows.episode, repeat=repeats[rows.item.hash]))
        repeats[rows.item.hash] += 1
        for turn in rows.turns:
            log.put(turn)
        for score in rows.scores:
            log.put(score)
        endings.append(log.put(Ending(episode_id=rows.episode.id, status=rows.status)))
    log.flush()
    _note(run, log)
    return Receipt(new, len(endings), sum(not ending.result().duplicate for ending in endings))


def print_imported(imported: ImportedRun, log: Path) -> None:
    """Print what became of a run, and which of its stored values do not come out again."""
    new, episodes, added = imported.receipt
    state = f"{added} episodes added" if added else "nothing new"
    if added and not new:
        state += ", which an import had left out"
    run, console = imported.run.id, Console()
    held = f"{imported.title}, {imported.rows} {imported.unit}, {episodes} episodes"
    say(console, f"run {run} in {log}: {held}; {state}")
    if imported.differences:
        say(console, f"{len(imported.differences)} stored values of {run} are not those recomputed:")
        say_some(console, imported.differences)


def print_faults(file: str | Path, faults: Sequence[Fault], unit: str = "rows") -> None:
    """Print on standard error what is wrong with the rows (or lines) of a file."""
    errors, gone = Console(stderr=True), left_out(faults)
    if gone:
        say(errors, f"{gone} {_one_of(unit) if gone == 1 else unit} of {file} left out:")
    if kept := len(faults) - gone:
        again = f"{_one_of(unit)} repeats" if kept == 1 else f"{unit} repeat"
        say(errors, f"{kept} {again} an earlier one, counted again:")
    say_some(errors, list(map(fault_text, faults)), "yellow")


def _one_of(unit: str) -> str:
    return unit.removesuffix("s")


def print_failed(reasons: Iterable[str]) -> None:
    """Print on standard error why files were not imported."""
    for reason in reasons:
        say(Console(stderr=True), reason, "red")


def say_some(console: Console, lines: Sequence[str], style: str = "") -> None:
    """Print the first of some lines, and how many more there are."""
    for line in lines[:_TOLD]:
        say(console, f"  {line}", style)
    if len(lines) > _TOLD:
        say(console, f"  … and {len(lines) - _TOLD} more (askback check lists what is wrong)", style)


def _note(run: Run, log: LogWriter) -> None:
    """Say that the run is whole: once, also where it took several attempts."""
    with LogReader(log.path) as reader:
        noted = reader.events(run_id=run.id, kind=_EVENT)
    if not noted:
        details = {"file": run.config["imported"], "sha256": run.config["sha256"]}
        log.put(Event(kind=_EVENT, run_id=run.id, details=details))
        log.flush()
