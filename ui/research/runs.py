"""The runs of a log, as the researchers' pages list them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple

from logs import LogReader, Progress
from logs.rows import Run
from simulator import catalog
from simulator.errors import InputError
from simulator.studies import participation
from simulator.studies.links import PREVIEW


class Link(NamedTuple):
    """A way on from a run; `text` is the name of what is said, `download` whether it is a file."""

    text: str
    address: str
    download: bool = False


class Tab(NamedTuple):
    """A part of what is shown of a run; `text` is the name of what is said."""

    name: str
    text: str


TABS: Final = (
    Tab("scores", "research.run.scores"),
    Tab("dialogues", "research.run.episodes"),
    Tab("compare", "research.run.compare"),
)


@dataclass(frozen=True, slots=True)
class RunCard:
    """A run in the list.

    Attributes:
        seats: seat -> who sits there.
        cost: US dollars of the calls that have a price; None if no model was called.
        unpriced: calls whose price is not known.
        title: of its benchmark.
        tabs: what is shown of it; the common ones, and its benchmark's own.
        links: ways on that its benchmark has.
    """

    run: Run
    progress: Progress
    seats: Mapping[str, str]
    cost: float | None
    unpriced: int
    title: str
    tabs: tuple[Tab, ...] = TABS
    links: tuple[Link, ...] = ()

    @property
    def live(self) -> bool:
        """True while episodes are still to come or to end."""
        return self.progress.running > 0 or self.progress.done < (self.progress.planned or 0)


def _title(benchmark: str) -> str:
    """Return what a benchmark is called; its name where it is not installed."""
    try:
        return catalog.find(benchmark).title
    except InputError:
        return benchmark


def run_cards(reader: LogReader) -> list[RunCard]:
    """Return all runs, newest first, that have scores which count.

    What paired people are asked each alone has none, and previews of studies count nowhere.
    """
    return [
        run_card(reader, run)
        for run in reversed(reader.runs())
        if run.benchmark != participation.BENCHMARK and PREVIEW not in run.id
    ]


def run_card(reader: LogReader, run: Run) -> RunCard:
    """Return one run for the list."""
    usage = reader.usage(run.id)
    seats = run.config.get("seats")
    return RunCard(
        run,
        reader.progress(run.id),
        dict(seats) if isinstance(seats, dict) else {},
        sum(used.cost for used in usage) if usage else None,
        sum(used.unpriced for used in usage),
        _title(run.benchmark),
    )
