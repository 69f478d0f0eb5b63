"""The runs of a log as pages show them, with what their benchmarks add (`simulator.research`)."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, NamedTuple
from urllib.parse import quote

from logs import LogReader, Progress
from logs.rows import Episode, Item, ModelCall, Run, Turn
from simulator import catalog
from simulator.errors import InputError
from simulator.research import Look, Part, ResearchPages, Setting, research_pages
from simulator.studies.known import opened_studies
from simulator.studies.ledger import BENCHMARK
from simulator.studies.people import PREVIEW
from ui.i18n import DECLARED, Strings
from ui.research.address import RESEARCH, STUDIES, Address
from ui.research.blocks import Visit
from ui.research.controls import Menu
from ui.research.office import CachedReports


class Link(NamedTuple):
    """A way on from a run; `text` is the name of what is said, `download` whether it is a file."""

    text: str
    address: str
    download: bool = False


TABS: Final = (
    ("scores", "research.run.scores"),
    ("dialogues", "research.run.episodes"),
    ("compare", "research.run.compare"),
)
"""The parts of what is shown of a run, with the names of what is said."""


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
    tabs: tuple[tuple[str, str], ...] = TABS
    links: tuple[Link, ...] = ()

    @property
    def live(self) -> bool:
        """True while episodes are still to come or to end."""
        return self.progress.running > 0 or self.progress.done < (self.progress.planned or 0)


def run_cards(reader: LogReader) -> list[RunCard]:
    """Return all runs, newest first, that have scores which count.

    What paired people are asked each alone has none, and previews of studies count nowhere.
    """
    return [
        run_card(reader, run)
        for run in reversed(reader.runs())
        if run.benchmark != BENCHMARK and PREVIEW not in run.id
    ]


def run_card(reader: LogReader, run: Run) -> RunCard:
    """Return one run for the list."""
    usage, seats = reader.usage(run.id), run.config.get("seats")
    try:
        title = catalog.find(run.benchmark).title
    except InputError:  # it is not installed
        title = run.benchmark
    return RunCard(
        run,
        reader.progress(run.id),
        dict(seats) if isinstance(seats, dict) else {},
        sum(used.cost for used in usage) if usage else None,
        sum(used.unpriced for used in usage),
        title,
    )


def whole_card(reader: LogReader, run: Run) -> RunCard:
    """Return a run's card with its parts, and the ways on from it."""
    card, pages = run_card(reader, run), pages_of(run.benchmark)
    say = Words(Strings("en", {}), run.benchmark).name
    known = [Link(say(f"link.{link.name}"), link.address) for link in pages.links(reader, run)]
    if study := next((study.id for study in opened_studies(reader).values() if study.run_id == run.id), None):
        known.append(Link("research.run.to_study", f"{STUDIES}?study={quote(study, safe='')}"))
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
    return replace(card, tabs=(*card.tabs, *tabs), links=(*card.links, *known, *files))


# ---- what a benchmark adds


@dataclass(frozen=True, slots=True)
class Words:
    """The words of a benchmark's ``research.yaml``."""

    t: Strings
    benchmark: str

    def name(self, text: str) -> str:
        """Return the whole name of a text."""
        return f"{DECLARED}.{self.benchmark}.research.{text}"

    def __call__(self, text: str, default: str) -> str:
        """Return a text, or `default` if there is none."""
        return self.t.get(self.name(text), default)

    def value(self, of: str, name: str, value: str) -> str:
        """Return what a value is called of a ``setting`` or of a field of the ``data``."""
        return self(f"{of}.{name}.{value}", value)

    def label(self, of: str, name: str) -> str:
        """Return what a setting or a field is called."""
        return self(f"{of}.{name}", self.t.phrase(name.replace("_", " ")))

    def menus(self, settings: Iterable[Setting], at: Address) -> dict[str, Menu]:
        """Return menus for what an episode or a part of a run leaves to be chosen."""
        chosen = dict(at.settings)
        return {
            f"s.{name}": self._menu(
                "setting", name, [] if usual else [("–", "")], values, chosen.get(name, usual)
            )
            for name, values, usual in settings
        }

    def filters(self, of: str, fields: Mapping[str, Iterable[str]], at: Address) -> dict[str, Menu]:
        """Return menus for fields that a list is filtered by: a ``field`` of episodes, or of the ``data``."""
        chosen, any_of_them = dict(at.filters), [(self.t("research.episodes.any"), "")]
        return {
            f"f.{name}": self._menu(of, name, any_of_them, values, chosen.get(name, ""))
            for name, values in fields.items()
        }

    def _menu(
        self, of: str, name: str, first: list[tuple[str, str]], values: Iterable[str], chosen: str
    ) -> Menu:
        choices = [*first, *((self.value(of, name, value), value) for value in values)]
        return Menu(self.label(of, name), choices, chosen)


def pages_of(benchmark: str) -> ResearchPages:
    """Return what a benchmark adds; nothing if it is not installed."""
    try:
        return research_pages(catalog.find(benchmark))
    except InputError:
        return ResearchPages()


def parts_of(run: Run, reader: LogReader) -> tuple[Part, ...]:
    """Return the further parts of a run."""
    return tuple(part for part in pages_of(run.benchmark).parts if part.where(reader, run))


def look_at(visit: Visit, kept: CachedReports, run: Run) -> Look:
    """Return a visit as benchmarks know it."""
    return Look(
        reader=kept.reader,
        run=run,
        language=visit.t.language,
        chosen={**dict(visit.at.settings), **({"step": visit.at.step} if visit.at.step else {})},
        keep=lambda name, make: kept.once(("declared", name), run.id, make),
    )


# ---- an episode, turn by turn


class TranscriptTurn(NamedTuple):
    """A turn with its model calls; `kind` of its move and, as JSON, what else was logged may be empty."""

    turn: Turn
    kind: str
    payload: str
    calls: Sequence[ModelCall]


class Transcript(NamedTuple):
    """An episode of any benchmark, with what the log holds beside.

    Attributes:
        status: how it ended; ``open`` if it has not.
        cause: why it did not end well; empty otherwise.
        scores: metric -> value.
        item_data: the item as JSON.
        other_calls: made outside a turn.
    """

    episode: Episode
    item: Item
    status: str
    cause: str
    scores: Mapping[str, float]
    turns: tuple[TranscriptTurn, ...]
    item_data: str
    other_calls: Sequence[ModelCall]


def transcript(reader: LogReader, id: str) -> Transcript:
    """Return an episode.

    Raises:
        NotInLog: if there is none.
    """
    episode, ending = reader.episode(id), reader.ending(id)
    item = reader.item(episode.item_hash)
    calls: dict[int | None, list[ModelCall]] = {}
    for call in reader.model_calls(episode_id=id):
        calls.setdefault(call.turn_number, []).append(call)

    def shown(turn: Turn) -> TranscriptTurn:
        rest = {name: value for name, value in turn.payload.items() if name != "kind"}
        kind = str(turn.payload.get("kind") or "")
        return TranscriptTurn(turn, kind, _json(rest) if rest else "", calls.get(turn.number, ()))

    return Transcript(
        episode,
        item,
        ending.status if ending else "open",
        (ending.cause or "") if ending else "",
        {score.metric: score.value for score in reader.scores(episode_id=id) if score.value is not None},
        tuple(map(shown, reader.turns(id))),
        _json(item.data),
        calls.get(None, ()),
    )


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, indent=1)
