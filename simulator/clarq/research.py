"""Researchers' view of ClarQ-LLM: a dialogue on its tree, the way to its review, marks, the tasks."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final, get_args
from urllib.parse import quote

from logs import LogReader
from logs.rows import Run
from simulator.blocks import Block, Card, Facts, Words, message
from simulator.clarq.data import load_items, read_item
from simulator.clarq.playing import PROVIDER
from simulator.clarq.review import KINDS
from simulator.clarq.show import ReplayStep, background_parts, replay, tree_replay
from simulator.errors import InputError
from simulator.research import DataPages, Entry, Link, Look, ResearchPages, RunFile
from simulator.tree_blocks import ReplayTurn
from trees import Language, Task

_MARKS: Final = ("type", "node", "hallucination", "failure", "success", "text", "done")


def episode(look: Look, id: str) -> Sequence[Block]:
    """Return a dialogue turn by turn beside its tree; nothing while it is still played."""
    if look.reader.ending(id) is None:
        return ()
    item = read_item(look.reader.item(look.reader.episode(id).item_hash))
    seen = replay(item, look.reader.turns(id), look.reader.judgments(episode_id=id))
    shown = tree_replay(seen)
    turns = [_turn_with_held_back(turn, step) for turn, step in zip(shown.turns, seen.steps, strict=True)]
    background = Card(
        message("research.background"), [*background_parts(seen.task.background, PROVIDER)], folded=True
    )
    return shown._replace(turns=turns), background


def write_reviews(reader: LogReader, run: str, path: Path) -> None:
    """Write every mark of every reviewer, in the order in which they were written."""
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(("episode", "turn", "reviewer", "kind", *_MARKS, "created_at"))
        for row in reader.judgments(run_id=run):
            if row.kind in KINDS:
                marks = (row.value.get(name) for name in _MARKS)
                place = (row.episode_id, row.turn_number, row.annotator, row.kind)
                writer.writerow((*place, *marks, row.created_at))


def _turn_with_held_back(turn: ReplayTurn, step: ReplayStep) -> ReplayTurn:
    """Return a turn with what was held back of it, which players are not told."""
    held = [message("research.held", what=guard) for guard in step.turn.payload.get("guards", ())]
    return turn._replace(why=(*turn.why, *held))


def _links(reader: LogReader, run: Run) -> list[Link]:
    return [Link("review", f"/research/desk?desk=clarq.review&data={quote(run.id, safe='')}")]


def _entries(data: str) -> list[Entry]:
    return [
        Entry(
            f"{task.id}.{task.language}",
            {"language": task.language, "type": str(task.type)},
            task.background.task,
        )
        for task in _tasks(data)
    ]


def _task(data: str, name: str, language: str) -> Sequence[Block]:
    """Return a task: what the seeker knows, and the tree of what can be given."""
    task = next(task for task in _tasks(data) if f"{task.id}.{task.language}" == name)
    rows: list[tuple[Words, Words]] = [(message("opening"), task.tree.opening)]
    rows += [(node.index, "\n".join(filter(None, (node.text, node.explanation)))) for node in task.tree.nodes]
    return (
        Card(message("research.background"), [*background_parts(task.background, PROVIDER)]),
        Card(message("research.tree"), [Facts(rows, task.language)]),
    )


def _tasks(data: str) -> list[Task]:
    """Return the tasks of data in each language that they have."""
    found: list[Task] = []
    for language in get_args(Language):
        with suppress(InputError):  # data may be in one language alone
            found.extend(load_items(data, language))
    return found or list(load_items(data))


RESEARCH: Final = ResearchPages(
    episode=episode,
    links=_links,
    files=(RunFile(name="reviews.csv", write=write_reviews),),
    data=DataPages(entries=_entries, show=_task),
)
