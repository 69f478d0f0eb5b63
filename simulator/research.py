"""What a benchmark adds to researchers' pages: to episodes, to runs, to files; and its data, to be browsed.

`Benchmark.research` finds a `ResearchPages`. What is shown are blocks (`simulator.blocks`), drawn as on
players' pages, and sections of reports (`simulator.reporting`), drawn with intervals and plots. Words stand
in the benchmark's ``research.yaml``, by language; blocks call them ``message("research.NAME")``:

=============================================  =====================================================
``part.PART``                                  the title of a part of a run
``link.LINK``, ``file.FILE``                   a way on from a run, a file (its name up to the dot)
``setting.SETTING``, ``setting.SETTING.VALUE``  a choice above an episode or a part
``field.FIELD``, ``field.FIELD.VALUE``         a field that episodes are filtered by, and a value of it
``data.title``, ``data.lead``                  the data, in lists and above them
``data.FIELD``, ``data.FIELD.VALUE``           a field of an entry, and a value of it
=============================================  =====================================================

A setting, a field or a value without words is shown as it is called.
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
from simulator.reporting import Section

Shown = Block | Section
"""A part of a researchers' page."""
BUILTIN: Final = "builtin"
_SHORT: Final = 40


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """A look at a run.

    Attributes:
        reader: of the log.
        run: that is looked at.
        language: of the page.
        chosen: what was chosen of the `Setting`s, by name; empty or missing where nothing was. Under ``step``
            the turn that a `Walk` leads to.
        keep: makes something of the run, once for each state of it: a name for it, and what makes it.
    """

    reader: LogReader
    run: Run
    language: str = "en"
    chosen: Mapping[str, str] = field(default_factory=dict)
    keep: Callable[[str, Callable[[], Any]], Any] = lambda name, make: make()


class Setting(NamedTuple):
    """A choice that a page leaves; what was chosen is `Look.chosen`.

    Attributes:
        name: of it.
        values: that can be chosen.
        usual: the value that holds where nothing was chosen; empty for a choice of its own, of none of them.
    """

    name: str
    values: Sequence[str]
    usual: str = ""


class Link(NamedTuple):
    """A way on from a run, by its name and its address."""

    name: str
    address: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """A further part of a run, as a tab of its own.

    Attributes:
        name: in addresses and texts.
        show: what is shown there.
        settings: what can be chosen above it.
        where: True for runs that have it.
    """

    name: str
    show: Callable[[Look], Sequence[Shown]]
    settings: Callable[[Look], Sequence[Setting]] = lambda look: ()
    where: Callable[[LogReader, Run], bool] = lambda reader, run: True


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFile:
    """A file that can be downloaded of a run.

    Attributes:
        name: of the file.
        write: writes it of a run, by its id, to a path.
        where: True for runs that have it.
    """

    name: str
    write: Callable[[LogReader, str, Path], object]
    where: Callable[[LogReader, Run], bool] = lambda reader, run: True


class Entry(NamedTuple):
    """An item of a data set in a list.

    Attributes:
        name: of it, unlike that of every other.
        fields: what it is filtered by, and has a column for: a value, or several.
        text: that it begins with, and is found by, beside its name.
    """

    name: str
    fields: Mapping[str, str | Sequence[str]]
    text: str | Translated = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class DataPages:
    """Data that can be browsed: a list that is filtered, and one item of it.

    Attributes:
        entries: of the data that are named: ``builtin``, registered data, a file or a folder.
        show: an item by the name of its entry, in data that are named, on a page in a language.
        overview: what is shown beside the list while none is chosen, of the data and the language.
        files: what can be downloaded of the data: the name of a file, and what writes it.
    """

    entries: Callable[[str], Sequence[Entry]]
    show: Callable[[str, str, str], Sequence[Shown]]
    overview: Callable[[str, str], Sequence[Shown]] = lambda data, language: ()
    files: Mapping[str, Callable[[str, Path], object]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class ResearchPages:
    """Everything that a benchmark adds.

    Attributes:
        episode: what is shown of an episode, by its id, above its turns; nothing while there is nothing yet.
        settings: what can be chosen above an episode.
        fields: further fields by which the list of episodes is filtered and searched: id -> name -> value.
        parts: further parts of a run.
        links: ways on from a run.
        files: what can be downloaded of a run.
        data: what can be browsed, in place of the items that a benchmark declares.
    """

    episode: Callable[[Look, str], Sequence[Shown]] = lambda look, id: ()
    settings: Callable[[Look], Sequence[Setting]] = lambda look: ()
    fields: Callable[[Look], Mapping[str, Mapping[str, str]]] = lambda look: {}
    parts: tuple[Part, ...] = ()
    links: Callable[[LogReader, Run], Sequence[Link]] = lambda reader, run: ()
    files: tuple[RunFile, ...] = ()
    data: DataPages | None = None


def research_pages(benchmark: Benchmark[Any, Any]) -> ResearchPages:
    """Return what a benchmark adds; by default its items can be browsed, if it declares them."""
    pages = ResearchPages() if benchmark.research is None else benchmark.research()
    if pages.data is None and benchmark.item is not None:
        return replace(pages, data=item_pages(benchmark))
    return pages


def item_pages(benchmark: Benchmark[Any, Any]) -> DataPages:
    """Return pages of the items that a benchmark loads, with their fields as what is shown of them."""
    load = benchmark.load
    assert load is not None

    def entries(data: str) -> list[Entry]:
        return [Entry(benchmark.key(item), _short_fields(item)) for item in load(data)]

    def show(data: str, name: str, language: str) -> list[Shown]:
        item = next(item for item in load(data) if benchmark.key(item) == name)
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
