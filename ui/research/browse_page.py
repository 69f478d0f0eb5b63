"""Lists that are filtered, with one of their things beside: a run's episodes, and a benchmark's data."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

import gradio as gr
import pandas as pd

from logs import LogReader, rows
from simulator import catalog, datasets
from simulator.benchmark import Benchmark
from simulator.blocks import Translated
from simulator.catalog import attempt
from simulator.commands.compare import one_benchmark
from simulator.errors import AskbackError, InputError
from simulator.reports import present_metrics
from simulator.research import BUILTIN, Entry, Look, Shown, research_pages
from simulator.runner.logged import erased_episodes, seat_failed
from ui.i18n import Strings, problem_text
from ui.research.address import Address
from ui.research.blocks import Visit, follow, part
from ui.research.controls import Menu, put_menus
from ui.research.office import Office
from ui.research.report_pages import show_own
from ui.research.runs import RunCard, Words, look_at, pages_of, parts_of, transcript, whole_card

Values = Mapping[str, str | Sequence[str]]
"""The fields of a thing by which a list of such is filtered: a value of each, or several."""
MOST: Final = 500
OUTCOMES: Final = ("success", "part", "failure", "unscored")
_VALUES: Final = 12
_DATA_VALUES: Final = 40
_FIELDS: Final = 5
_LENGTH: Final = 40


# ---- the episodes of a run


@dataclass(frozen=True, slots=True)
class ListedEpisode:
    """An episode in the list.

    Attributes:
        status: how it ended; ``open`` if it has not.
        scores: metric -> value.
        fields: its language, and what is short of its item and of its scores' details.
        outcome: one of `OUTCOMES`, by the headline; ``scored`` where the headline is no share.
        words: that it is found by beside what was said in it.
    """

    id: str
    name: str
    language: str
    status: str
    scores: Mapping[str, float]
    fields: Mapping[str, str]
    outcome: str
    words: str = ""


def browse_page(visit: Visit, office: Office) -> str:
    """Show the part of a run that the address names: one of its benchmark's own, or its episodes.

    Raises:
        InputError: if the run has no such episode.
    """
    t, at, reader = visit.t, visit.at, office.reader
    run = reader.run(at.run)
    card, words, look = whole_card(reader, run), Words(t, run.benchmark), look_at(visit, office.kept, run)
    own = next((each for each in parts_of(run, reader) if each.name == at.tab), None)
    if card.live and not at.episode:
        follow(visit, lambda: reader.progress(run.id))
    part(visit, "run_head", card=card, tab=own.name if own else "dialogues", aborted=0)
    if own is None:
        _show_episodes(visit, office, look, card, words)
        return f"{t('research.run.episodes')} · {run.id}"
    put_menus(visit, words.menus(own.settings(look), at))
    if shown := own.show(look):
        show_own(visit, run.benchmark, shown, t.language)
    else:
        part(visit, "note", text=t("research.run.nothing_yet"))
    return f"{words(f'part.{own.name}', own.name)} · {run.id}"


def _show_episodes(visit: Visit, office: Office, look: Look, card: RunCard, words: Words) -> None:
    t, at, reader, run = visit.t, visit.at, office.reader, card.run.id
    benchmark = one_benchmark(reader, [run])
    pages = pages_of(benchmark.name)
    every = office.kept.once(
        ("entries", at.settings), run, lambda: entries(reader, benchmark, run, pages.fields(look))
    )
    if at.episode and all(entry.id != at.episode for entry in every):
        raise InputError(f"The run has no episode {at.episode!r}.", code="no_episode", episode=at.episode)
    talked = _episodes_mentioning(reader, run, at.text) if at.text else frozenset()
    listed = [entry for entry in every if fits_address(entry, at, talked)]
    previous, following = neighbours([entry.id for entry in listed], at.episode)
    put_menus(visit, _menus(t, at, every, words), search=t("research.episodes.text"))
    settings = words.menus(pages.settings(look), at) if at.episode or at.settings else {}
    if not at.episode:
        put_menus(visit, settings)
    with _beside(visit, "episodes", listed, len(every), metrics=benchmark.metrics):
        if not at.episode:
            part(visit, "note", text=t("research.episodes.choose"), choose=True)
            return
        shown = transcript(reader, at.episode)
        titles = {metric.name: metric.title for metric in benchmark.metrics}
        part(visit, "episode_head", shown=shown, titles=titles, previous=previous, next=following)
        put_menus(visit, settings)
        own = pages.episode(look, at.episode)
        show_own(visit, benchmark.name, own, shown.episode.language)
        part(visit, "episode_log", shown=shown, folded=bool(own))


def _menus(t: Strings, at: Address, every: Sequence[ListedEpisode], words: Words) -> dict[str, Menu]:
    """Return what the episodes of a run can be filtered by: a few values, each of several items."""
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
    fields = filters((entry.fields for entry in every), min(_VALUES, len(every) // 2 + 1))
    return menus | words.filters("field", dict([*fields.items()][:_FIELDS]), at)


def entries(
    reader: LogReader, benchmark: Benchmark[Any, Any], run: str, more: Mapping[str, Mapping[str, str]]
) -> tuple[ListedEpisode, ...]:
    """Return the episodes of a run, in the order in which they began; those of erased people left out.

    Args:
        reader: of the log.
        benchmark: of the run.
        run: its id.
        more: further fields of episodes.
    """
    erased, endings = erased_episodes(reader, run), reader.endings(run)
    items = {row.hash: row for row in reader.items(run)}
    scores: dict[str, dict[str, float]] = {}
    details: dict[str, Mapping[str, Any]] = {}
    for score in reader.scores(run_id=run, latest=True):
        details.setdefault(score.episode_id, score.details)
        if score.value is not None:
            scores.setdefault(score.episode_id, {})[score.metric] = score.value
    metrics = present_metrics(benchmark, pd.DataFrame([*scores.values()]))
    headline = next(iter(metrics), benchmark.metrics[0])

    def entry(episode: rows.Episode) -> ListedEpisode:
        known, item = scores.get(episode.id, {}), items[episode.item_hash]
        values = {**more.get(episode.id, {}), **item.data, **details.get(episode.id, {})}
        short = {name: str(each) for name, each in values.items() if _is_short(each)}
        fields = {"language": episode.language, **short}
        ending = endings.get(episode.id)
        status = ending.status if ending else "open"
        value = known.get(headline.name)
        if ending and seat_failed(episode, ending):
            value = headline.unsuccessful
        outcome = "unscored" if value is None else {1.0: "success", 0.0: "failure"}.get(value, "part")
        outcome = outcome if headline.is_share else "scored"
        words = " ".join((item.name, *more.get(episode.id, {}).values()))
        return ListedEpisode(episode.id, item.name, episode.language, status, known, fields, outcome, words)

    return tuple(entry(episode) for episode in reader.episodes(run, latest=True) if episode.id not in erased)


def fits_address(entry: ListedEpisode, at: Address, talked: frozenset[str]) -> bool:
    """Return True if an episode fits the filters; `talked` are those in which the words are said."""
    return (
        at.outcome in ("", entry.outcome)
        and at.status in ("", entry.status)
        and fits(entry.fields, at.filters)
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
    return isinstance(each, bool | int) or (isinstance(each, str) and 0 < len(each) <= _LENGTH)


# ---- the data of benchmarks


def data_page(visit: Visit) -> str:
    """Show the benchmarks that have data, or those of one of them with the item that the address names."""
    at, t = visit.at, visit.t
    if not at.benchmark:
        known = [(each, Words(t, each.name)) for each in catalog.installed() if _has_data(each)]
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
    fields = filters((entry.fields for entry in every), _DATA_VALUES)
    put_menus(visit, {"data": chosen, **words.filters("data", fields, at)}, search=t("research.data.text"))
    if pages.files or problem:
        files = {"benchmark": benchmark, "data": data, "words": words, "files": pages.files}
        part(visit, "data_files", **files, problem=problem)
    context = {"title": title, "words": words, "several": several, "text": lambda entry: _text(entry, t)}
    with _beside(visit, "items", listed, len(every), **context):
        if at.item:
            part(visit, "item_head", previous=previous, next=following)
        show_own(visit, benchmark.name, shown, t.language)
        if not shown:
            part(visit, "note", text=t("research.data.choose"), choose=True)
    return f"{title} · {benchmark.title}"


def _has_data(benchmark: Benchmark[Any, Any]) -> bool:
    pages = attempt(f"what researchers see of {benchmark.name}", lambda: research_pages(benchmark))
    return pages is not None and pages.data is not None


def _text(entry: Entry, t: Strings) -> str:
    text = entry.text
    return (text.zh if t.language == "zh" else text.en) if isinstance(text, Translated) else text


# ---- lists


@contextmanager
def _beside(
    visit: Visit, template: str, listed: Sequence[object], total: int, **context: object
) -> Iterator[None]:
    """Put a list on the page; what is put there within it stands beside."""
    with gr.Row(elem_classes=["rs-browse"]):
        part(visit, template, entries=listed[:MOST], found=len(listed), total=total, **context)
        with gr.Column(elem_classes=["rs-dialogue"]):
            yield


def filters(every: Iterable[Values], most: int) -> dict[str, Sequence[str]]:
    """Return the fields that tell things apart, each with its values, which are not more than `most`."""
    held: dict[str, dict[str, None]] = {}
    for values in every:
        for name, value in values.items():
            held.setdefault(name, {}).update(dict.fromkeys(several(value)))
    return {
        name: sorted(values, key=lambda value: (len(value), value))
        if all(map(str.isdecimal, values))
        else [*values]
        for name, values in held.items()
        if 1 < len(values) <= most
    }


def fits(values: Values, wishes: Iterable[tuple[str, str]]) -> bool:
    """Return True if a thing has the values that are wished for; an empty wish is none."""
    return all(not wish or wish in several(values.get(name, ())) for name, wish in wishes)


def several(value: str | Sequence[str]) -> Sequence[str]:
    """Return the values of a field that may have one alone."""
    return (value,) if isinstance(value, str) else value


def neighbours(names: Sequence[str], shown: str) -> tuple[str | None, str | None]:
    """Return what stands in a list before and after the thing that is shown."""
    if shown not in names:
        return None, None
    place = names.index(shown)
    return (names[place - 1] if place else None), next(iter(names[place + 1 :]), None)
