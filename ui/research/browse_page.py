"""Filtered lists with the selected entry next to them: a run's episodes, and a benchmark's data."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

import gradio as gr
import pandas as pd

from logs import LogReader, rows
from logs.transcript import read_transcript
from simulator import catalog, datasets
from simulator.benchmark import Benchmark
from simulator.blocks import Translated
from simulator.catalog import attempt
from simulator.commands.compare import one_benchmark
from simulator.errors import AskbackError, InputError
from simulator.reports import present_metrics
from simulator.research import BUILTIN, Entry, PageContent, PageRequest, research_pages
from simulator.runner.logged import erased_episodes, seat_failed
from ui.i18n import Strings, problem_text
from ui.research.address import Address
from ui.research.blocks import Visit, add_part, rebuild_on_change
from ui.research.controls import Menu, put_menus
from ui.research.report_pages import show_own
from ui.research.runs import RunCard, Words, full_card, make_request, pages_of, parts_of

Values = Mapping[str, str | Sequence[str]]
"""Fields of an entry for filtering: name -> a value, or several."""
MOST: Final = 500
OUTCOMES: Final = ("success", "part", "failure", "unscored")
_MAX_VALUES: Final = 12
_MAX_DATA_VALUES: Final = 40
_MAX_FIELDS: Final = 5
_MAX_LENGTH: Final = 40


# ---- the episodes of a run


@dataclass(frozen=True, slots=True)
class ListedEpisode:
    """An episode in the list.

    Attributes:
        status: how it ended; ``open`` if it has not.
        scores: metric -> value.
        fields: its language, and all short values of its item and its scores' details.
        outcome: one of `OUTCOMES` by the headline metric; ``scored`` if that is not a share.
        words: searchable text in addition to what was said.
    """

    id: str
    name: str
    language: str
    status: str
    scores: Mapping[str, float]
    fields: Mapping[str, str]
    outcome: str
    words: str = ""


def browse_page(visit: Visit) -> str:
    """Show a part of a run, by address: one that its benchmark declares, or the episodes.

    Raises:
        InputError: if the run has no such episode.
    """
    t, at, reader = visit.t, visit.at, visit.reader
    run = reader.run(at.run)
    request = make_request(visit, run)
    card, words = full_card(reader, run), Words(t, run.benchmark)
    own = next((each for each in parts_of(run, reader) if each.name == at.tab), None)
    if card.live and not at.episode:
        rebuild_on_change(visit, lambda: reader.progress(run.id))
    add_part(visit, "run_head", card=card, tab=own.name if own else "dialogues", aborted=0)
    if own is None:
        _show_episodes(visit, request, card, words)
        return f"{t('research.run.episodes')} · {run.id}"
    put_menus(visit, words.menus(own.settings(request), at))
    if shown := own.show(request):
        show_own(visit, run.benchmark, shown, t.language)
    else:
        add_part(visit, "note", text=t("research.run.nothing_yet"))
    return f"{words(f'part.{own.name}', own.name)} · {run.id}"


def _show_episodes(visit: Visit, request: PageRequest, card: RunCard, words: Words) -> None:
    t, at, reader, run = visit.t, visit.at, visit.reader, card.run.id
    benchmark = one_benchmark(reader, [run])
    pages = pages_of(benchmark.name)
    every = visit.office.cache.get(
        ("entries", at.settings), run, lambda: list_episodes(reader, benchmark, run, pages.fields(request))
    )
    if at.episode and all(entry.id != at.episode for entry in every):
        raise InputError(f"The run has no episode {at.episode!r}.", code="no_episode", episode=at.episode)
    talked = _episodes_mentioning(reader, run, at.text) if at.text else frozenset()
    listed = [entry for entry in every if matches_address(entry, at, talked)]
    previous, following = neighbours([entry.id for entry in listed], at.episode)
    put_menus(visit, _menus(t, at, every, words), search=t("research.episodes.text"))
    settings = words.menus(pages.settings(request), at) if at.episode or at.settings else {}
    if not at.episode:
        put_menus(visit, settings)
    with _list_with_detail(visit, "episodes", listed, len(every), metrics=benchmark.metrics):
        if not at.episode:
            add_part(visit, "note", text=t("research.episodes.choose"), choose=True)
            return
        shown = read_transcript(reader, at.episode)
        titles = {metric.name: metric.title for metric in benchmark.metrics}
        add_part(visit, "episode_head", shown=shown, titles=titles, previous=previous, next=following)
        put_menus(visit, settings)
        own = pages.episode(request, at.episode)
        show_own(visit, benchmark.name, own, shown.episode.language)
        add_part(visit, "episode_log", shown=shown, folded=bool(own))


def _menus(t: Strings, at: Address, every: Sequence[ListedEpisode], words: Words) -> dict[str, Menu]:
    """Return the filter menus for the episodes of a run, for fields with a few different values."""
    outcomes = [name for name in OUTCOMES if any(entry.outcome == name for entry in every)]
    statuses = list(dict.fromkeys(entry.status for entry in every))

    def menu(label: str, every: str, named: str, values: Sequence[str], chosen: str) -> Menu:
        choices = [(t(every), ""), *((t(f"research.{named}.{value}"), value) for value in values)]
        return Menu(t(label), choices, chosen)

    menus = {}
    if outcomes:
        label, every_outcome = "research.dialogues.outcome", "research.outcome.all"
        menus["outcome"] = menu(label, every_outcome, "outcome", outcomes, at.outcome)
    if len(statuses) > 1:
        label, every_status = "research.episodes.status", "research.episodes.all_statuses"
        menus["status"] = menu(label, every_status, "status", statuses, at.status)
    fields = filters((entry.fields for entry in every), min(_MAX_VALUES, len(every) // 2 + 1))
    return menus | words.filters("field", dict([*fields.items()][:_MAX_FIELDS]), at)


def list_episodes(
    reader: LogReader, benchmark: Benchmark[Any, Any], run: str, more: Mapping[str, Mapping[str, str]]
) -> tuple[ListedEpisode, ...]:
    """Return the episodes of a run in order of their start, without those of erased people."""
    erased, endings = erased_episodes(reader, run), reader.endings(run)
    # Items last: the run may be playing, and every episode has an item.
    episodes, items = tuple(reader.episodes(run, latest=True)), {row.hash: row for row in reader.items(run)}
    scores: dict[str, dict[str, float]] = {}
    details: dict[str, Mapping[str, Any]] = {}
    for score in reader.scores(run_id=run, latest=True):
        details.setdefault(score.episode_id, score.details)
        if score.value is not None:
            scores.setdefault(score.episode_id, {})[score.metric] = score.value
    metrics = present_metrics(benchmark, pd.DataFrame([*scores.values()]))
    headline = next(iter(metrics), benchmark.metrics[0])

    def entry(episode: rows.Episode) -> ListedEpisode:
        scored, item = scores.get(episode.id, {}), items[episode.item_hash]
        values = {**more.get(episode.id, {}), **item.data, **details.get(episode.id, {})}
        short = {name: str(each) for name, each in values.items() if _is_short(each)}
        fields = {"language": episode.language, **short}
        ending = endings.get(episode.id)
        status = ending.status if ending else "open"
        value = scored.get(headline.name)
        if ending and seat_failed(episode, ending):
            value = headline.unsuccessful
        outcome = "unscored" if value is None else {1.0: "success", 0.0: "failure"}.get(value, "part")
        outcome = outcome if headline.is_share else "scored"
        words = " ".join((item.name, *more.get(episode.id, {}).values()))
        return ListedEpisode(episode.id, item.name, episode.language, status, scored, fields, outcome, words)

    return tuple(entry(episode) for episode in episodes if episode.id not in erased)


def matches_address(entry: ListedEpisode, at: Address, talked: frozenset[str]) -> bool:
    """Return True if an episode matches the filters; `talked` are ids of those that mention the text."""
    return (
        at.outcome in ("", entry.outcome)
        and at.status in ("", entry.status)
        and matches(entry.fields, at.filters)
        and (not at.text or at.text.casefold() in entry.words.casefold() or entry.id in talked)
    )


def _episodes_mentioning(reader: LogReader, run: str, words: str) -> frozenset[str]:
    wish = words.casefold()
    return frozenset(
        played.episode.id
        for played in reader.turns_of_run(run)
        if any(wish in turn.text.casefold() for turn in played.turns)
    )


def _is_short(each: Any) -> bool:
    return isinstance(each, bool | int) or (isinstance(each, str) and 0 < len(each) <= _MAX_LENGTH)


# ---- the data of benchmarks


def data_page(visit: Visit) -> str:
    """Show the benchmarks that have data, or the data of one benchmark with the selected item."""
    at, t = visit.at, visit.t
    if not at.benchmark:
        with_data = [(each, Words(t, each.name)) for each in catalog.installed() if _has_data(each)]
        add_part(visit, "data_sets", benchmarks=with_data)
        return t("research.data.nav")
    benchmark = catalog.find(at.benchmark)
    words, data, pages = Words(t, benchmark.name), at.data or BUILTIN, research_pages(benchmark).data
    if pages is None:
        raise InputError(
            f"{benchmark.title} has no data to browse.", code="no_data_pages", benchmark=benchmark.title
        )
    title = words("data.title", t("research.list.items"))
    every: Sequence[Entry] = ()
    shown: Sequence[PageContent] = ()
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
        if matches(entry.fields, at.filters) and wish in f"{entry.name} {_entry_text(entry, t)}".casefold()
    ]
    previous, following = neighbours([entry.name for entry in listed], at.item)
    sets = dict.fromkeys(
        (BUILTIN, *(each.name for each in datasets.list_all() if each.benchmark == benchmark.name), data)
    )
    add_part(visit, "data_head", title=title, benchmark=benchmark, words=words)
    chosen = Menu(t("research.data.set"), [(name, name) for name in sets], data, free=True)
    fields = filters((entry.fields for entry in every), _MAX_DATA_VALUES)
    put_menus(visit, {"data": chosen, **words.filters("data", fields, at)}, search=t("research.data.text"))
    if pages.files or problem:
        files = {"benchmark": benchmark, "data": data, "words": words, "files": pages.files}
        add_part(visit, "data_files", **files, problem=problem)
    context = {"title": title, "words": words, "several": as_values, "text": partial(_entry_text, t=t)}
    with _list_with_detail(visit, "items", listed, len(every), **context):
        if at.item:
            add_part(visit, "item_head", previous=previous, next=following)
        show_own(visit, benchmark.name, shown, t.language)
        if not shown:
            add_part(visit, "note", text=t("research.data.choose"), choose=True)
    return f"{title} · {t.phrase(benchmark.title)}"


def _has_data(benchmark: Benchmark[Any, Any]) -> bool:
    pages = attempt(f"researchers' pages of {benchmark.name}", lambda: research_pages(benchmark))
    return pages is not None and pages.data is not None


def _entry_text(entry: Entry, t: Strings) -> str:
    text = entry.text
    return (text.zh if t.language == "zh" else text.en) if isinstance(text, Translated) else text


# ---- lists


@contextmanager
def _list_with_detail(
    visit: Visit, template: str, listed: Sequence[object], total: int, **context: object
) -> Iterator[None]:
    """Add a list to the page; components created within the context are placed next to it."""
    with gr.Row(elem_classes=["rs-browse"]):
        add_part(visit, template, entries=listed[:MOST], found=len(listed), total=total, **context)
        with gr.Column(elem_classes=["rs-dialogue"]):
            yield


def filters(every: Iterable[Values], most: int) -> dict[str, Sequence[str]]:
    """Return the fields that have at least two and at most `most` different values, with these values."""
    values_by_field: dict[str, dict[str, None]] = {}
    for values in every:
        for name, value in values.items():
            values_by_field.setdefault(name, {}).update(dict.fromkeys(as_values(value)))
    return {
        name: sorted(values, key=lambda value: (len(value), value))
        if all(map(str.isdecimal, values))
        else [*values]
        for name, values in values_by_field.items()
        if 1 < len(values) <= most
    }


def matches(values: Values, wishes: Iterable[tuple[str, str]]) -> bool:
    """Return True if an entry has all wanted values; an empty one matches everything."""
    return all(not wish or wish in as_values(values.get(name, ())) for name, wish in wishes)


def as_values(value: str | Sequence[str]) -> Sequence[str]:
    """Return the value or values of a field as a sequence."""
    return (value,) if isinstance(value, str) else value


def neighbours(names: Sequence[str], shown: str) -> tuple[str | None, str | None]:
    """Return the names before and after `shown` in a list; None where there is none."""
    if shown not in names:
        return None, None
    index = names.index(shown)
    return (names[index - 1] if index else None), next(iter(names[index + 1 :]), None)
