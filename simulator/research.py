"""A benchmark's additions to the researchers' pages: episodes, runs, downloads, and data to browse.

`Benchmark.research` returns a `ResearchPages`. Pages show blocks (`simulator.blocks`), drawn as on players'
pages, and report sections (`simulator.reporting`), drawn with intervals and plots. Labels are in the
benchmark's ``research.yaml``, by language; blocks refer to them by ``message("research.NAME")``:

=============================================  =====================================================
``part.PART``                                  the title of a part of a run
``link.LINK``, ``file.FILE``                   a link from a run, a download (file name up to the dot)
``setting.SETTING``, ``setting.SETTING.VALUE``  a choice above an episode or a part
``field.FIELD``, ``field.FIELD.VALUE``         a filter field of episodes, and a value of it
``data.title``, ``data.lead``                  the title of the data, and the lead text above the list
``data.FIELD``, ``data.FIELD.VALUE``           a field of an entry, and a value of it
=============================================  =====================================================

A setting, field or value without a label is shown by its name.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final, NamedTuple

from logs import LogReader
from logs.rows import Run
from simulator.benchmark import Benchmark
from simulator.blocks import Block, Card, Facts, Translated
from simulator.catalog import load_items
from simulator.errors import InputError
from simulator.reporting import Section

PageContent = Block | Section
"""A part of a researchers' page."""
BUILTIN: Final = "builtin"
_SHORT: Final = 40


@dataclass(frozen=True, slots=True, kw_only=True)
class PageRequest:
    """A request for a page about a run.

    Attributes:
        chosen: the value chosen for each `Setting`, by name; empty or missing if none was. ``step`` is the
            turn selected in a `Walk`.
        keep: ``keep(name, make)`` returns `make()`, cached under `name` until the run changes.
    """

    reader: LogReader
    run: Run
    language: str = "en"
    chosen: Mapping[str, str] = field(default_factory=dict)
    keep: Callable[[str, Callable[[], Any]], Any] = lambda name, make: make()


class Setting(NamedTuple):
    """A choice offered on a page; the chosen value is in `PageRequest.chosen`.

    Attributes:
        usual: the default; if empty, the page also offers a choice of no value.
    """

    name: str
    values: Sequence[str]
    usual: str = ""


class Link(NamedTuple):
    """A link from a run's page: a name and an address."""

    name: str
    address: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """A tab on a run's page.

    Attributes:
        name: used in the address and to look up the title.
        show: returns the blocks and sections of the tab.
        settings: returns the choices offered above it.
        where: True for runs that have the tab.
    """

    name: str
    show: Callable[[PageRequest], Sequence[PageContent]]
    settings: Callable[[PageRequest], Sequence[Setting]] = lambda request: ()
    where: Callable[[LogReader, Run], bool] = lambda reader, run: True


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFile:
    """A download from a run's page.

    Attributes:
        write: ``write(reader, run_id, path)`` writes the file.
        where: True for runs that have the file.
    """

    name: str
    write: Callable[[LogReader, str, Path], object]
    where: Callable[[LogReader, Run], bool] = lambda reader, run: True


class Entry(NamedTuple):
    """An item of a data set, as listed.

    Attributes:
        name: unique in the data set.
        fields: columns of the list, which it can be filtered by; each has one value or several.
        text: the beginning of the item; searched together with the name.
    """

    name: str
    fields: Mapping[str, str | Sequence[str]]
    text: str | Translated = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class DataPages:
    """Pages to browse data: a list with filters, and a view of one item.

    Attributes:
        entries: ``entries(data)`` lists the items of ``builtin``, a registered data set, a file or a folder.
        show: ``show(data, entry_name, language)`` returns the view of an item.
        overview: ``overview(data, language)`` returns what is shown while no item is selected.
        files: downloads: file name -> ``write(data, path)``.
    """

    entries: Callable[[str], Sequence[Entry]]
    show: Callable[[str, str, str], Sequence[PageContent]]
    overview: Callable[[str, str], Sequence[PageContent]] = lambda data, language: ()
    files: Mapping[str, Callable[[str, Path], object]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class ResearchPages:
    """Everything that a benchmark adds to the researchers' pages.

    Attributes:
        episode: ``episode(request, episode_id)`` returns what is shown above the turns; may be empty.
        settings: choices offered above an episode.
        fields: extra fields to filter and search episodes by: episode id -> field name -> value.
        parts: tabs on a run's page.
        links: links from a run's page.
        files: downloads from a run's page.
        data: pages to browse data; by default they show the benchmark's items.
    """

    episode: Callable[[PageRequest, str], Sequence[PageContent]] = lambda request, id: ()
    settings: Callable[[PageRequest], Sequence[Setting]] = lambda request: ()
    fields: Callable[[PageRequest], Mapping[str, Mapping[str, str]]] = lambda request: {}
    parts: tuple[Part, ...] = ()
    links: Callable[[LogReader, Run], Sequence[Link]] = lambda reader, run: ()
    files: tuple[RunFile, ...] = ()
    data: DataPages | None = None


def research_pages(benchmark: Benchmark[Any, Any]) -> ResearchPages:
    """Return a benchmark's pages; by default its items can be browsed, if it declares them.

    Raises:
        InputError: if `Benchmark.research` returns anything else.
    """
    pages = ResearchPages() if benchmark.research is None else benchmark.research()
    if not isinstance(pages, ResearchPages):
        raise InputError(f"{benchmark.name}: research returned {pages!r}; expected a ResearchPages")
    if pages.data is None and benchmark.item is not None:
        return replace(pages, data=item_pages(benchmark))
    return pages


def item_pages(benchmark: Benchmark[Any, Any]) -> DataPages:
    """Return pages to browse the items that a benchmark loads, each shown as a table of its fields."""

    def entries(data: str) -> list[Entry]:
        return [Entry(benchmark.key(item), _short_fields(item)) for item in load_items(benchmark, data)]

    def show(data: str, name: str, language: str) -> list[PageContent]:
        item = next(item for item in load_items(benchmark, data) if benchmark.key(item) == name)
        rows = [(key, _as_text(value)) for key, value in item.model_dump(mode="json").items()]
        return [Card(name, [Facts(rows)])]

    return DataPages(entries=entries, show=show)


def _short_fields(item: Any) -> dict[str, str]:
    values = item.model_dump(mode="json")
    values.pop("name", None)
    return {
        name: str(value)
        for name, value in values.items()
        if isinstance(value, bool | int | float) or (isinstance(value, str) and 0 < len(value) <= _SHORT)
    }


def _as_text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
