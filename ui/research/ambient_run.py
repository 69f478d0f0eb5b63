"""A run of AmbiEnt: what it comes to, its episodes, and what people said item by item."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from logs import LogReader
from simulator.ambient.annotation.linguists import worker_forms, worker_statistics
from simulator.ambient.crowd import TIES, VoteTable, agrees, crowd_measures, vote_table
from simulator.ambient.items import Item, Task, item_from_row
from simulator.ambient.labels import Label, LabelSet, letters
from simulator.ambient.playing import ANNOTATOR
from simulator.ambient.score import values
from simulator.ambient.trial_log import crowd_records
from simulator.runner.logged import ERASED, endings_of_runs, erased_episodes
from ui.ambient.stages import SHOWN
from ui.research.ambient_episode import episode_shown
from ui.research.ambient_measures import parts
from ui.research.ambient_words import ordered, share_line, tasks_of
from ui.research.desk import RunCard
from ui.research.view import Page, Visit

T = TypeVar("T")
PEOPLE: Final[tuple[Task, ...]] = ("crowd", "evaluate", "annotate")
OUTCOMES: Final = ("right", "part", "wrong", "open")
MOST: Final = 500
_KEPT: Final = 12
_MAIN: Final[Mapping[Task, str]] = {
    "crowd": "relabel",
    "evaluate": "relabel",
    "annotate": "exact",
    "generate": "edit_f1",
    "true_false": "accuracy",
    "continue": "ranked",
    "nli": "exact",
    "claim": "flagged",
}
"""The score of an episode that the list shows."""


@dataclass(frozen=True, slots=True)
class Entry:
    """An episode in the list; `score` from 0 to 1, None if there is none."""

    id: str
    name: str
    task: Task
    text: str
    set: str
    labels: list[Label]
    status: str
    score: float | None

    @property
    def outcome(self) -> str:
        """One of `OUTCOMES`."""
        if self.status not in ("completed", "truncated") or self.score is None:
            return "open"
        return {1.0: "right", 0.0: "wrong"}.get(self.score, "part")


@dataclass(frozen=True, slots=True)
class Votes:
    """An item with everybody's votes, as in the paper's Table 1.

    Attributes:
        workers: who judged it; `wanted` of them, None if nobody said how many.
        agrees: whether the votes agree with the dataset.
        origin: the model whose rewrites are judged; empty for the dataset's.
    """

    table: VoteTable
    workers: int
    wanted: int | None
    agrees: bool
    origin: str


class CachedReports:
    """What was made of runs, made again only when they have changed; may be used from any thread."""

    def __init__(self, reader: LogReader) -> None:
        self.reader = reader
        self._lock = threading.Lock()
        self._made: OrderedDict[Hashable, Any] = OrderedDict()

    def once(self, name: str, run: str, make: Callable[[], T]) -> T:
        """Return what `make` makes of a run as it now is."""
        key = (name, run, self._state(run))
        with self._lock:
            if key in self._made:
                self._made.move_to_end(key)
                return self._made[key]  # type: ignore[no-any-return]
        made = make()
        with self._lock:
            self._made[key] = made
            while len(self._made) > _KEPT:
                self._made.popitem(last=False)
        return made

    def _state(self, run: str) -> tuple[int, ...]:
        of_run = "episode_id IN (SELECT id FROM episodes WHERE run_id = :run)"
        with self.reader.connection() as connection:
            counts = connection.execute(
                "SELECT (SELECT count(*) FROM episodes WHERE run_id = :run), "
                f"(SELECT count(*) FROM turns WHERE {of_run}), (SELECT count(*) FROM endings WHERE {of_run})",
                {"run": run},
            ).fetchone()
        # The rows of those who have been erased stay, but hold nothing.
        return *map(int, counts), hash(self.reader.erased_participants())


def ambient_run_page(visit: Visit, card: RunCard, kept: CachedReports) -> Page:
    """Return the tab that the address names."""
    tasks = tasks_of(kept.reader, card.run)
    people = any(task in PEOPLE for task in tasks)
    if visit.at.tab == "dialogues":
        return _episodes(visit, card, kept, people)
    if visit.at.tab == "study" and people:
        return _people(visit, card, kept, tasks)
    actor = card.seats.get(ANNOTATOR, "")
    shown = kept.once("parts", card.run.id, lambda: parts(kept.reader, card.run.id, tasks, actor))
    return visit.page(
        "ambient_scores",
        live=card.live,
        card=card,
        tab="scores",
        people=people,
        parts=shown,
        erased=endings_of_runs(kept.reader, [card.run.id]).statuses.get(ERASED, 0),
        consolidate="annotate" in tasks,
        claims="claim" in tasks,
    )


def _episodes(visit: Visit, card: RunCard, kept: CachedReports, people: bool) -> Page:
    every = kept.once("entries", card.run.id, lambda: entries(kept.reader, card.run.id))
    listed = [entry for entry in every if _fits(visit, entry)]
    figures, shown = episode_shown(visit, kept.reader, card.run.id) if visit.at.episode else ((), None)
    ids = [entry.id for entry in listed]
    place = ids.index(visit.at.episode) if visit.at.episode in ids else None
    return visit.page(
        "ambient_episodes",
        figures,
        live=card.live and shown is None,
        card=card,
        tab="dialogues",
        people=people,
        entries=listed[:MOST],
        found=len(listed),
        total=len(every),
        outcomes=OUTCOMES,
        sets=list(dict.fromkeys(entry.set for entry in every if entry.set)),
        shown=shown,
        previous=ids[place - 1] if place else None,
        next=ids[place + 1] if place is not None and place + 1 < len(ids) else None,
    )


def entries(reader: LogReader, run: str) -> tuple[Entry, ...]:
    """Return the episodes of a run, in the order in which they began, the latest of each place.

    Those of people who have withdrawn and were erased are left out.
    """
    erased = erased_episodes(reader, run)
    items = {row.hash: item_from_row(row) for row in reader.items(run)}
    endings = reader.endings(run)
    turns = {episode.id: logged for episode, logged in reader.turns_of_run(run)}
    return tuple(
        _entry(
            episode.id,
            items[episode.item_hash],
            endings[episode.id].status if episode.id in endings else "open",
            values(items[episode.item_hash], turns.get(episode.id, ())) if episode.id in endings else {},
        )
        for episode in reader.episodes(run, latest=True)
        if episode.id not in erased
    )


def _entry(id: str, item: Item, status: str, scores: Mapping[str, float | None]) -> Entry:
    text, labels = _about(item)
    return Entry(
        id, item.id, item.task, text, letters(labels), ordered(labels), status, scores.get(_MAIN[item.task])
    )


def _about(item: Item) -> tuple[str, LabelSet]:
    """Return what the list shows of an item: its first sentence and the dataset's labels."""
    example = getattr(item, "example", None)
    if example is not None:
        return example.premise, example.labels
    text = getattr(item, "claim", "") or getattr(item, "premise", "") or getattr(item, "sentence", "")
    return text, getattr(item, "gold", frozenset())


def _fits(visit: Visit, entry: Entry) -> bool:
    at = visit.at
    text = at.text.lower().strip()
    return (
        at.outcome in ("", entry.outcome)
        and at.set in ("", entry.set)
        and (not text or text in f"{entry.text} {entry.name}".lower())
    )


def _people(visit: Visit, card: RunCard, kept: CachedReports, tasks: Sequence[Task]) -> Page:
    run = card.run.id
    reader = kept.reader
    judged = any(task in ("crowd", "evaluate") for task in tasks)
    votes = kept.once("votes", run, lambda: _votes(card, reader)) if judged else ()
    crowd = (
        [crowd_record for crowd_record in crowd_records(reader, [run]) if not crowd_record.origin]
        if judged
        else []
    )
    return visit.page(
        "ambient_people",
        live=card.live,
        card=card,
        tab="study",
        people=True,
        votes=votes,
        labels=SHOWN,
        ties=[share_line(tie, crowd_measures(crowd, tie).agreement) for tie in TIES] if crowd else [],
        workers=worker_statistics(worker_forms(reader, run)) if "annotate" in tasks else (),
        annotate="annotate" in tasks,
    )


def _votes(card: RunCard, reader: LogReader) -> tuple[Votes, ...]:
    study = card.run.config.get("study")
    asked = study.get("judgments_per_item") if isinstance(study, dict) else None
    return tuple(
        Votes(
            vote_table(crowd_record),
            len(crowd_record.plausible[0]) if crowd_record.plausible else 0,
            asked if isinstance(asked, int) else None,
            agrees(crowd_record),
            crowd_record.origin,
        )
        for crowd_record in crowd_records(reader, [card.run.id])
    )
