"""Runs of a log for the pages, with the additions of their benchmarks (`simulator.research`)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Final, NamedTuple
from urllib.parse import quote

from logs import LogReader, Progress
from logs.rows import Run
from simulator import catalog
from simulator.errors import InputError
from simulator.research import PageRequest, Part, ResearchPages, Setting, research_pages
from simulator.studies.known import opened_studies
from simulator.studies.ledger import BENCHMARK
from simulator.studies.people import PREVIEW
from ui.i18n import DECLARED, Strings
from ui.research.address import RESEARCH, STUDIES, Address
from ui.research.blocks import Visit
from ui.research.controls import Menu


class Link(NamedTuple):
    """A link on a run's page; `text` is the name of its text, `download` is True for files."""

    text: str
    address: str
    download: bool = False


TABS: Final = (
    ("scores", "research.run.scores"),
    ("dialogues", "research.run.episodes"),
    ("compare", "research.run.compare"),
)
"""The common parts of a run's pages, with the names of their texts."""


@dataclass(frozen=True, slots=True)
class RunCard:
    """A run in the list.

    Attributes:
        seats: seat -> who sits there.
        cost: cost in US dollars of the calls with a known price; None if no model was called.
        unpriced: number of calls whose price is unknown.
        tabs: parts of the run's pages: the common ones, and the benchmark's own.
    """

    run: Run
    progress: Progress
    seats: Mapping[str, str]
    cost: float | None
    unpriced: int
    title: str
    tabs: tuple[tuple[str, str], ...] = TABS
    links: tuple[Link, ...] = ()

    @property
    def live(self) -> bool:
        """True until all episodes have ended."""
        return self.progress.running > 0 or self.progress.done < (self.progress.planned or 0)


def run_cards(reader: LogReader) -> list[RunCard]:
    """Return all runs whose scores count, newest first.

    Left out are the individual parts of paired studies, which have no scores, and previews of studies.
    """
    return [
        run_card(reader, run)
        for run in reversed(reader.runs())
        if run.benchmark != BENCHMARK and PREVIEW not in run.id
    ]


def run_card(reader: LogReader, run: Run) -> RunCard:
    """Return the card of a run for the list."""
    usage, seats = reader.usage(run.id), run.config.get("seats")
    try:
        title = catalog.find(run.benchmark).title
    except InputError:  # the benchmark is not installed
        title = run.benchmark
    return RunCard(
        run,
        reader.progress(run.id),
        dict(seats) if isinstance(seats, dict) else {},
        sum(used.cost for used in usage) if usage else None,
        sum(used.unpriced for used in usage),
        title,
    )


def full_card(reader: LogReader, run: Run) -> RunCard:
    """Return a run's card with its benchmark's parts and links."""
    card, pages = run_card(reader, run), pages_of(run.benchmark)
    say = Words(Strings("en", {}), run.benchmark).name
    links = [Link(say(f"link.{link.name}"), link.address) for link in pages.links(reader, run)]
    if study := next((study.id for study in opened_studies(reader).values() if study.run_id == run.id), None):
        links.append(Link("research.run.to_study", f"{STUDIES}?study={quote(study, safe='')}"))
    files = [
        Link(
            say(f"file.{file.name.partition('.')[0]}"),
            f"{RESEARCH}/download/of-run/{file.name}?run={quote(run.id, safe='')}",
            True,
        )
        for file in pages.files
        if file.where(reader, run)
    ]
    tabs = [(part.name, say(f"part.{part.name}")) for part in parts_of(run, reader)]
    return replace(card, tabs=(*card.tabs, *tabs), links=(*card.links, *links, *files))


# ---- additions of benchmarks


@dataclass(frozen=True, slots=True)
class Words:
    """The texts of a benchmark's ``research.yaml``."""

    t: Strings
    benchmark: str

    def name(self, text: str) -> str:
        """Return the full name of a text."""
        return f"{DECLARED}.{self.benchmark}.research.{text}"

    def __call__(self, text: str, default: str) -> str:
        """Return a text, or `default` if there is none."""
        return self.t.get(self.name(text), default)

    def value(self, group: str, name: str, value: str) -> str:
        """Return the label of a value of a setting or a field."""
        return self._shared(group, f"{name}.{value}", value)

    def label(self, group: str, name: str) -> str:
        """Return the label of a setting or a field."""
        return self._shared(group, name, name.replace("_", " "))

    def _shared(self, group: str, name: str, default: str) -> str:
        """Return a label; fields of episodes and of the data have each other's."""
        other = {"field": "data", "data": "field"}.get(group, group)
        return self(f"{group}.{name}", self(f"{other}.{name}", self.t.phrase(default)))

    def menus(self, settings: Iterable[Setting], at: Address) -> dict[str, Menu]:
        """Return menus for the settings of an episode or of a part of a run."""
        chosen = dict(at.settings)
        return {
            f"s.{name}": self._menu(
                "setting", name, [] if usual else [("–", "")], values, chosen.get(name, usual)
            )
            for name, values, usual in settings
        }

    def filters(self, group: str, fields: Mapping[str, Iterable[str]], at: Address) -> dict[str, Menu]:
        """Return menus for filtering a list by fields: ``field`` of episodes, or ``data``."""
        chosen, any_value = dict(at.filters), [(self.t("research.episodes.any"), "")]
        return {
            f"f.{name}": self._menu(group, name, any_value, values, chosen.get(name, ""))
            for name, values in fields.items()
        }

    def _menu(
        self, group: str, name: str, first: list[tuple[str, str]], values: Iterable[str], chosen: str
    ) -> Menu:
        choices = [*first, *((self.value(group, name, value), value) for value in values)]
        return Menu(self.label(group, name), choices, chosen)


def pages_of(benchmark: str) -> ResearchPages:
    """Return the additions of a benchmark; none if it is not installed."""
    try:
        return research_pages(catalog.find(benchmark))
    except InputError:
        return ResearchPages()


def parts_of(run: Run, reader: LogReader) -> tuple[Part, ...]:
    """Return the benchmark's own parts of a run."""
    return tuple(part for part in pages_of(run.benchmark).parts if part.where(reader, run))


def make_request(visit: Visit, run: Run) -> PageRequest:
    """Return the context in which a benchmark builds its part of a page."""
    return PageRequest(
        reader=visit.reader,
        run=run,
        language=visit.t.language,
        chosen={**dict(visit.at.settings), **({"step": visit.at.step} if visit.at.step else {})},
        keep=lambda name, make: visit.office.cache.get(("declared", name), run.id, make),
    )
