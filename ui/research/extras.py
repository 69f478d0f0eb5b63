"""Pages of runs of benchmarks whose declarations do not say yet what researchers see."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Final
from urllib.parse import quote

from logs import LogReader, LogWriter
from ui.research.ambik_decisions import decisions_page
from ui.research.ambik_read import task_of_run
from ui.research.declared import with_parts
from ui.research.desk import TABS, Desk, Link, RunCard, Tab
from ui.research.kept import CachedReports
from ui.research.view import Page, ShowEpisode, Visit


@dataclass(frozen=True, slots=True)
class Sources:
    """The sources of pages."""

    desk: Desk
    kept: CachedReports
    writer: LogWriter

    @property
    def reader(self) -> LogReader:
        """Reads the log."""
        return self.desk.reader


ShowPage = Callable[[Visit, RunCard, Sources], Page]


@dataclass(frozen=True, slots=True, kw_only=True)
class Extras:
    """Additions of a benchmark.

    Attributes:
        episode: shows an episode in its own way, in place of the transcript.
        pages: further parts of a run, by tab; in place of the common one where they have its name.
        tabs: those of a run; default: the common ones.
        links: ways on from a run, its reader, and its name as part of an address.
    """

    episode: ShowEpisode | None = None
    pages: Mapping[str, ShowPage]
    tabs: Callable[[RunCard, LogReader], tuple[Tab, ...]] = lambda card, reader: TABS
    links: Callable[[RunCard, LogReader, str], tuple[Link, ...]] = lambda card, reader, run: ()


def with_extras(card: RunCard, reader: LogReader) -> RunCard:
    """Return a run's card with all that is shown of it."""
    extras = extras_of(card)
    run = quote(card.run.id, safe="")
    return with_parts(
        replace(card, tabs=extras.tabs(card, reader), links=extras.links(card, reader, run)), reader
    )


def extras_of(card: RunCard) -> Extras:
    """Return what the benchmark of a run adds; nothing where it has no pages of its own."""
    return _EXTRAS.get(card.run.benchmark, _NONE)


def _annotates(card: RunCard, reader: LogReader) -> bool:
    return task_of_run(reader, card.run) == "annotate"


def _kitchen_links(card: RunCard, reader: LogReader, run: str) -> tuple[Link, ...]:
    if _annotates(card, reader):
        return (Link("research.ambik.run.to_pairs", f"/research/desk?desk=pairs&data={run}"),)
    return (
        Link("research.ambik.run.to_sets", f"/research/sets?run={run}"),
        Link(
            "research.ambik.run.export_decisions", f"/research/download/ambik/decisions.jsonl?run={run}", True
        ),
    )


def _kitchen_page(visit: Visit, card: RunCard, sources: Sources) -> Page:
    return decisions_page(visit, card, sources.kept)


_NONE: Final = Extras(pages={})
_EXTRAS: Final[Mapping[str, Extras]] = {
    "ambik": Extras(pages={"dialogues": _kitchen_page}, links=_kitchen_links),
}
