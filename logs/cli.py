"""`askback log …` and `askback export`."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Literal

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
from rich.table import Table
from rich.text import Text

from logs.backup import back_up, restore
from logs.codec import column_list, decode
from logs.erase import erase_participant
from logs.errors import LogError
from logs.export import Format, export_log
from logs.paths import LOG_VARIABLE, default_path
from logs.query import State
from logs.reader import LogReader
from logs.rows import Event, Turn
from logs.schema import render
from logs.transcript import as_markdown, as_rich, as_text, printable, read_transcript, said
from logs.writer import LogWriter

log_app = typer.Typer(
    name="log",
    help="Inspect the log: runs, transcripts of episodes, latest turns.",
    no_args_is_help=True,
)

LogOption = Annotated[
    Path | None,
    typer.Option("--log", help=f"The log file; default: ${LOG_VARIABLE}, or your Askback folder's."),
]
_NUMBERS = {"completed", "truncated", "aborted", "failed", "running", "repeat", "attempt", "rows erased"}
_STATES: tuple[State, ...] = ("completed", "truncated", "aborted", "failed", "running")


@log_app.command("list")
def list_command(
    run: Annotated[str | None, typer.Argument(help="A run, to list its episodes.")] = None,
    status: Annotated[State | None, typer.Option(help="Only episodes with this status.")] = None,
    limit: Annotated[int, typer.Option(min=1, help="Only this many of the newest.")] = 50,
    log: LogOption = None,
) -> None:
    """List the runs, or the episodes of one run."""
    path = log or default_path()
    if run is None and not path.exists():
        _say(
            f"There is no log at {path} yet. The first dialogue creates it: play one in the browser "
            "(`askback app`), or start a run (`askback run`)."
        )
        return
    with LogReader(path) as reader:
        if run is None:
            _list_runs(reader, limit)
        else:
            _list_episodes(reader, run, status, limit)


def _list_runs(reader: LogReader, limit: int) -> None:
    runs = reader.runs()
    if not runs:
        _say(
            f"There are no runs in {reader.path} yet: play in the browser (`askback app`), or start a run "
            "(`askback run`)."
        )
        return
    states: dict[str, str] = {state: state for state in _STATES}
    shown = {run.id: reader.progress(run.id) for run in runs[-limit:]}
    if any(progress.erased for progress in shown.values()):
        states["erased"] = "withdrawn"
    table = _table("run", "benchmark", "setup", *states.values(), "begun")
    for run in runs[-limit:]:
        counts = [str(getattr(shown[run.id], state) or "") for state in states]
        table.add_row(Text(run.id), run.benchmark, run.setup, *counts, _moment(run.created_at))
    _console().print(table)
    _say_more(len(runs), limit, "runs")


def _list_episodes(reader: LogReader, run: str, status: State | None, limit: int) -> None:
    reader.run(run)
    episodes = reader.episodes(run, status=status)
    if not episodes:
        _say(f"There are no {status or ''} episodes in run {run}.".replace("  ", " "))
        return
    states, names = reader.statuses(run), {item.hash: item.name for item in reader.items(run)}
    table = _table("episode", "item", "language", "repeat", "attempt", "status", "begun")
    for episode in episodes[-limit:]:
        table.add_row(
            Text(episode.id, overflow="fold"),
            Text(names[episode.item_hash]),
            episode.language,
            str(episode.repeat),
            str(episode.attempt),
            _colour_state(states[episode.id]),
            _moment(episode.created_at),
        )
    _console().print(table)
    _say_more(len(episodes), limit, "episodes")


@log_app.command("show")
def show_command(
    episode: Annotated[str, typer.Argument(help="An episode's id, or part of it.")],
    trace: Annotated[bool, typer.Option("--trace", help="Include payloads and model calls.")] = False,
    format: Annotated[
        Literal["auto", "terminal", "text", "markdown"],
        typer.Option(help="Output format; auto: terminal colours on a terminal, else text."),
    ] = "auto",
    log: LogOption = None,
) -> None:
    """Show an episode as a transcript."""
    with LogReader(log or default_path()) as reader:
        transcript = read_transcript(reader, episode)
    console = _console()
    if format == "terminal" or (format == "auto" and console.is_terminal):
        console.print(as_rich(transcript, trace=trace))
    else:
        write = as_markdown if format == "markdown" else as_text
        typer.echo(write(transcript, trace=trace), nl=False)


POLL_SECONDS = 0.5

# CROSS JOIN makes SQLite walk the turns by `seq`, so that polling only reads new turns.
_OF_RUN = (
    f"SELECT {column_list(Turn, 't')}, t.seq FROM turns t CROSS JOIN episodes e ON e.id = t.episode_id "
    "WHERE e.run_id = ? AND t.seq > ? ORDER BY t.seq"
)


def tail(
    reader: LogReader, run_id: str, lines: int, *, follow: Callable[[], bool] | None = None
) -> Iterator[Turn]:
    """Yield a run's last turns in the order of writing; then new ones, as long as `follow` returns True.

    Raises:
        NotInLog: if there is no such run.
    """
    reader.run(run_id)
    with reader.connection() as connection:
        (seq,) = connection.execute("SELECT coalesce(max(seq), 0) FROM turns").fetchone()
        records = connection.execute(f"{_OF_RUN} DESC LIMIT ?", [run_id, 0, lines]).fetchall()
    seq = max([seq, *(record[-1] for record in records)])
    yield from (decode(Turn, record) for record in reversed(records))
    while follow is not None and follow():
        with reader.connection() as connection:
            records = connection.execute(_OF_RUN, [run_id, seq]).fetchall()
        yield from (decode(Turn, record) for record in records)
        seq = records[-1][-1] if records else seq
        time.sleep(0 if records else POLL_SECONDS)


@log_app.command("tail")
def tail_command(
    run: Annotated[str, typer.Argument(help="A run.")],
    lines: Annotated[int, typer.Option("--lines", "-n", min=0, help="Number of latest turns.")] = 10,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Show new turns, until Ctrl-C.")] = False,
    log: LogOption = None,
) -> None:
    """Show a run's latest turns, and with -f new ones as they come."""
    console = _console()
    with LogReader(log or default_path()) as reader:
        reader.run(run)
        empty = True
        try:
            if follow:
                Console(stderr=True).print("Press Ctrl-C to stop.", style="dim")
            for turn in tail(reader, run, lines, follow=(lambda: True) if follow else None):
                console.print(_line(turn))
                empty = False
        except KeyboardInterrupt:
            return
        if empty and lines:
            _say(f"There are no turns in run {run} yet.")


@log_app.command("backup")
def backup_command(
    file: Annotated[Path, typer.Argument(help="The copy to write; its key is written next to it.")],
    log: LogOption = None,
) -> None:
    """Back up the log, even while it is being written, with the key of its pseudonyms."""
    back_up(log or default_path(), file)
    _say(f"Wrote {file}. Keep it as safe as the log: people erased from the log later are still in it.")


@log_app.command("restore")
def restore_command(
    file: Annotated[Path, typer.Argument(help="A copy that `askback log backup` wrote.", exists=True)],
    replace: Annotated[
        bool, typer.Option("--replace", help="Replace the current log, which is kept under another name.")
    ] = False,
    log: LogOption = None,
) -> None:
    """Restore the log from a backup; no program may have it open."""
    path = log or default_path()
    aside = restore(file, path, replace=replace)
    _say(f"Restored {path} from {file}." + (f" The previous log is now {aside}." if aside else ""))


@log_app.command("erase")
def erase_command(
    participant: Annotated[str, typer.Argument(help="The participant's pseudonym.")],
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask for confirmation.")] = False,
    reason: Annotated[str, typer.Option(help="The reason, for the receipt; do not name people.")] = "",
    log: LogOption = None,
) -> None:
    """Permanently erase a person's identity and words. Numbers and scores stay."""
    path = log or default_path()
    with LogReader(path) as reader:
        reader.participant(participant)
        episodes = len(reader.episodes(participant_id=participant))
    if not yes:
        typer.confirm(
            f"Erase {participant} ({episodes} episodes) from {path}? This cannot be undone.", abort=True
        )
    erasure = erase_participant(path, participant, reason=reason)
    table = _table("table", "rows erased")
    for name, count in erasure.counts.items():
        table.add_row(name, str(count))
    _console().print(table)
    _say(f"The log has a receipt, and calls them {erasure.name} now. {erasure.recognition_note}")
    _say("Earlier exports and backups are not changed.")
    if not erasure.files_clean:
        _say(
            "The file may still contain remains of the old texts, because another program has it open or the "
            f"disk is full. Close it, then erase {erasure.name} once more."
        )


@log_app.command("schema")
def schema_command() -> None:
    """Print the documentation of each table and column."""
    typer.echo(render(), nl=False)


def export_command(
    folder: Annotated[Path, typer.Argument(help="Output folder; must be empty, created if necessary.")],
    run: Annotated[list[str] | None, typer.Option(help="Only this run (repeatable).")] = None,
    format: Annotated[
        Format,
        typer.Option(help="A file per table, or a log that any Askback can read and score again."),
    ] = "jsonl",
    nest: Annotated[bool, typer.Option("--nest", help="One complete object per episode.")] = False,
    excel: Annotated[bool, typer.Option("--excel", help="CSV that Excel reads as UTF-8.")] = False,
    identities: Annotated[
        bool, typer.Option("--identities", help="Include outside identities of participants.")
    ] = False,
    log: LogOption = None,
) -> None:
    """Export the log as JSON lines, CSV, Parquet or a log, with a codebook. People stay pseudonymous."""
    _require_empty(folder)
    with LogReader(log or default_path()) as reader, _bar() as progress:
        files = export_log(
            reader,
            folder,
            format="csv" if excel else format,
            runs=run,
            nest=nest,
            identities=identities,
            excel=excel,
            progress=progress,
        )
    if identities:  # record in the log that identities were exported
        with LogWriter(log or default_path(), durable=True) as writer:
            writer.put(Event(kind="researcher.export", details={"by": "command line", "identities": True}))
    _say(f"Wrote {len(files)} files to {folder}; codebook.md explains the columns.")


def _require_empty(folder: Path) -> None:
    """Check that a folder is empty, so that two exports are not mixed under one codebook."""
    names = sorted(entry.name for entry in folder.iterdir()) if folder.is_dir() else []
    if present := next((name for name in names if not name.startswith(".")), ""):
        raise LogError(
            f"{folder} is not empty (it contains {present}), and two exports would be mixed; name an empty "
            "or a new folder."
        )


@contextmanager
def _bar() -> Iterator[Callable[[int, int], None]]:
    columns = (TextColumn("exporting"), BarColumn(), MofNCompleteColumn(), TextColumn("rows"))
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("exporting", total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


def _console() -> Console:
    console = Console()
    # Lines in a file or a pipe are never wrapped, for grep and the like.
    return console if console.is_terminal else Console(width=10_000)


def _say(text: str) -> None:
    _console().print(Text(text), soft_wrap=True)


def _say_more(count: int, limit: int, what: str) -> None:
    if count > limit:
        _say(f"… and {count - limit} older {what}; show them with --limit {count}.")


def _table(*columns: str) -> Table:
    table = Table(*columns, box=None, header_style="bold", pad_edge=False)
    for column in table.columns:
        column.justify = "right" if column.header in _NUMBERS else "left"
    return table


def _colour_state(state: State) -> Text:
    colours = {"completed": "green", "truncated": "yellow", "running": "cyan"}
    return Text(state, style=colours.get(state, "red"))


def _moment(created_at: str) -> str:
    """Return a time to the minute."""
    return created_at[:16].replace("T", " ") + " UTC"


def _line(turn: Turn) -> Text:
    line = Text(f"{turn.episode_id} {turn.number:>3} ", style="dim")
    line.append(f"{turn.seat}  ", style="bold")
    line.append(printable(said(turn)), style="not dim")
    return line
