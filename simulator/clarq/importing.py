"""Bringing published results files into the log, where they are scored like any other run."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from logs import LogWriter
from logs.rows import Episode, Run, Turn
from simulator.clarq.data import item_row
from simulator.clarq.graph import PROVIDER, SEEKER, farewell
from simulator.clarq.results import PublishedDialogue, ResultsFile, provider_steps, read_results
from simulator.clarq.score import score_dialogue, score_rows
from simulator.tables.importing import DIGEST, PUBLISHED, EpisodeRows, file_digest, write_run
from trees import OPENING


def import_results(path: Path, log: LogWriter, name: str | None = None) -> Run:
    """Write every dialogue of a published results file into the log as one run; importing again adds nothing.

    Which nodes a provider line gives is read off by containment (spec section 7). The run's configuration
    says how many rows hold no dialogue (``unplayed``) and how many could not be read (``unreadable``).

    Raises:
        InputError: if the file is not of the published form, or the log holds another run of that name.
        LogError: if the log cannot be written.
    """
    return import_file(read_results(path), path, log, name)


def import_file(file: ResultsFile, path: Path, log: LogWriter, name: str | None = None) -> Run:
    """Write what was read of the results file at `path` into the log; see `import_results`."""
    digest = file_digest(path)
    unreadable = sum(fault.severity == "error" for fault in file.faults)
    left_out = {"unplayed": file.unplayed, "unreadable": unreadable}
    run = Run(
        id=name or f"{path.stem}-{digest[:DIGEST]}",
        benchmark="clarq",
        setup="L2L",
        seed=0,
        config={
            "imported": path.name,
            "sha256": digest,
            "planned": len(file.dialogues),
            **{kind: count for kind, count in left_out.items() if count},
        },
    )
    write_run(log, run, (_rows(dialogue, run) for dialogue in file.dialogues))
    return run


def _rows(dialogue: PublishedDialogue, run: Run) -> EpisodeRows:
    item = item_row(dialogue.task)
    episode = Episode(
        id=f"{run.id}/{item.name}.{item.language}/0",
        run_id=run.id,
        item_hash=item.hash,
        language=item.language,
        seats={SEEKER: PUBLISHED, PROVIDER: PUBLISHED},
        seed=0,
    )
    last = [line.text for line in dialogue.lines if line.seat == SEEKER][-1:]
    said_goodbye = bool(last) and farewell(last[0])
    return EpisodeRows(
        episode,
        item,
        _turns(dialogue, episode.id),
        score_rows(episode.id, score_dialogue(dialogue.task, dialogue.lines)),
        "completed" if said_goodbye else "truncated",
    )


def _turns(dialogue: PublishedDialogue, episode_id: str) -> Sequence[Turn]:
    given = {
        step.position: [*([OPENING] if step.opens else []), *step.given] for step in provider_steps(dialogue)
    }
    return [
        Turn(
            episode_id=episode_id,
            number=number,
            seat=line.seat,
            text=line.text,
            payload={"give": given[number]} if number in given else {},
        )
        for number, line in enumerate(dialogue.lines)
    ]
