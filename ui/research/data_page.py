"""The data of benchmarks: which there are, and those of one as a filtered list with one item of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from simulator import catalog, datasets
from simulator.benchmark import Benchmark
from simulator.blocks import Translated
from simulator.errors import AskbackError, InputError
from simulator.research import BUILTIN, DataPages, Entry, Shown, research_pages
from ui.i18n import Strings
from ui.problems import problem_text
from ui.research.address import Address
from ui.research.declared import Words, drawn
from ui.research.view import Page, Visit

MOST: Final = 300
_VALUES: Final = 40


class Filter(NamedTuple):
    """A field by which the list is filtered, and its values."""

    name: str
    values: Sequence[str]


def data_page(visit: Visit) -> Page:
    """Return the benchmarks that have data, or those of one of them with the item that the address names."""
    at, t = visit.at, visit.t
    if not at.benchmark:
        known = [(each, Words(t, each.name)) for each in catalog.installed() if research_pages(each).data]
        return visit.page("data_sets", benchmarks=known)
    benchmark = catalog.find(at.benchmark)
    pages, data = _pages(benchmark), at.data or BUILTIN
    every: Sequence[Entry] = ()
    shown: Sequence[Shown] = ()
    problem = ""
    try:
        every = pages.entries(data)
        if at.item and all(entry.name != at.item for entry in every):
            raise InputError(f"{data} has no {at.item!r}.", code="no_item", item=at.item, data=data)
        shown = pages.show(data, at.item, t.language) if at.item else pages.overview(data, t.language)
    except AskbackError as error:
        problem = problem_text(t, error)
    listed = [entry for entry in every if fits(entry, at, t)]
    names = [entry.name for entry in listed]
    place = names.index(at.item) if at.item in names else None
    made = drawn(t, benchmark.name, shown, t.language)
    return visit.page(
        "data",
        made.figures,
        benchmark=benchmark,
        words=Words(t, benchmark.name),
        data=data,
        sets=(BUILTIN, *(each.name for each in datasets.list_all() if each.benchmark == benchmark.name)),
        files=pages.files,
        problem=problem,
        entries=listed[:MOST],
        found=len(listed),
        total=len(every),
        filters=filters(every),
        chosen=dict(at.filters),
        values=values_of,
        text=lambda entry: _text(entry, t),
        previous=names[place - 1] if place else None,
        next=names[place + 1] if place is not None and place + 1 < len(names) else None,
        **made.context,
    )


def fits(entry: Entry, at: Address, t: Strings) -> bool:
    """Return True if an entry fits the filters of an address."""
    words = at.text.casefold().strip()
    return all(wish in values_of(entry, name) for name, wish in at.filters) and (
        not words or words in f"{entry.name} {_text(entry, t)}".casefold()
    )


def filters(every: Sequence[Entry]) -> tuple[Filter, ...]:
    """Return the fields by which entries can be told apart, in the order in which they are declared."""
    held: dict[str, dict[str, None]] = {}
    for entry in every:
        for name in entry.fields:
            held.setdefault(name, {}).update(dict.fromkeys(values_of(entry, name)))
    return tuple(
        Filter(name, sorted(values, key=lambda value: (len(value), value)) if _numbers(values) else [*values])
        for name, values in held.items()
        if 1 < len(values) <= _VALUES
    )


def values_of(entry: Entry, name: str) -> Sequence[str]:
    """Return the values that an entry has of a field."""
    value = entry.fields.get(name, ())
    return (value,) if isinstance(value, str) else value


def _numbers(values: Any) -> bool:
    return all(value.isdecimal() for value in values)


def _pages(benchmark: Benchmark[Any, Any]) -> DataPages:
    pages = research_pages(benchmark).data
    if pages is None:
        raise InputError(
            f"{benchmark.title} has no data to be browsed.", code="no_data_pages", benchmark=benchmark.title
        )
    return pages


def _text(entry: Entry, t: Strings) -> str:
    text = entry.text
    return (text.zh if t.language == "zh" else text.en) if isinstance(text, Translated) else text
