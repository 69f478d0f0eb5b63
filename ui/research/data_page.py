"""The data of benchmarks: which there are, and those of one as a filtered list with one item of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import gradio as gr

from simulator import catalog, datasets
from simulator.benchmark import Benchmark
from simulator.blocks import Translated
from simulator.errors import AskbackError, InputError
from simulator.packages import attempt
from simulator.research import BUILTIN, DataPages, Entry, Shown, research_pages
from ui.i18n import Strings, problem_text
from ui.research.blocks import Visit, part
from ui.research.fields import Menu, put_menus
from ui.research.listing import filters, fits, neighbours, several
from ui.research.report_pages import show_own
from ui.research.runs import Words

MOST: Final = 300
_VALUES: Final = 40


def _data_of(benchmark: Benchmark[Any, Any]) -> DataPages | None:
    pages = attempt(f"what researchers see of {benchmark.name}", lambda: research_pages(benchmark))
    return None if pages is None else pages.data


def data_page(visit: Visit) -> str:
    """Show the benchmarks that have data, or those of one of them with the item that the address names."""
    at, t = visit.at, visit.t
    if not at.benchmark:
        known = [(each, Words(t, each.name)) for each in catalog.installed() if _data_of(each)]
        part(visit, "data_sets", benchmarks=known)
        return t("research.data.nav")
    benchmark = catalog.find(at.benchmark)
    words, data, pages = Words(t, benchmark.name), at.data or BUILTIN, research_pages(benchmark).data
    if pages is None:
        raise InputError(
            f"{benchmark.title} has no data to be browsed.", code="no_data_pages", benchmark=benchmark.title
        )
    title = words("data.title", t("research.list.items"))
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
    wish = at.text.casefold().strip()
    listed = [
        entry
        for entry in every
        if fits(entry.fields, at.filters) and wish in f"{entry.name} {_text(entry, t)}".casefold()
    ]
    previous, following = neighbours([entry.name for entry in listed], at.item)
    sets = dict.fromkeys(
        (BUILTIN, *(each.name for each in datasets.list_all() if each.benchmark == benchmark.name), data)
    )
    part(visit, "data_head", title=title, benchmark=benchmark, words=words)
    chosen = Menu(t("research.data.set"), [(name, name) for name in sets], data, free=True)
    fields = filters((entry.fields for entry in every), _VALUES)
    put_menus(visit, {"data": chosen, **words.filters("data", fields, at)}, search=t("research.data.text"))
    if pages.files or problem:
        files = {"benchmark": benchmark, "data": data, "words": words, "files": pages.files}
        part(visit, "data_files", **files, problem=problem)
    with gr.Row(elem_classes=["rs-browse"]):
        part(
            visit,
            "items",
            title=title,
            words=words,
            entries=listed[:MOST],
            found=len(listed),
            total=len(every),
            several=several,
            text=lambda entry: _text(entry, t),
        )
        with gr.Column(elem_classes=["rs-dialogue"]):
            if at.item:
                part(visit, "item_head", previous=previous, next=following)
            show_own(visit, benchmark.name, shown, t.language)
            if not shown:
                part(visit, "note", text=t("research.data.choose"), choose=True)
    return f"{title} · {benchmark.title}"


def _text(entry: Entry, t: Strings) -> str:
    text = entry.text
    return (text.zh if t.language == "zh" else text.en) if isinstance(text, Translated) else text
