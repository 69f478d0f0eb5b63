"""People's answers in a run of AmbiEnt, item by item."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from logs import LogReader
from simulator.ambient.annotation.linguists import worker_forms, worker_statistics
from simulator.ambient.crowd import TIES, VoteTable, agrees, crowd_measures, vote_table
from simulator.ambient.items import Task
from simulator.ambient.show import SHOWN
from simulator.ambient.trial_log import crowd_records, tasks_of
from ui.research.ambient_words import share_line
from ui.research.desk import RunCard
from ui.research.kept import CachedReports
from ui.research.view import Page, Visit

PEOPLE: Final[tuple[Task, ...]] = ("crowd", "evaluate", "annotate")


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


def people_page(visit: Visit, card: RunCard, kept: CachedReports) -> Page:
    """Return what people said, item by item."""
    run, reader = card.run.id, kept.reader
    tasks = tasks_of(reader, card.run)
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
