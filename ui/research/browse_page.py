"""The episodes of a run of any benchmark: a filtered list, and one of them turn by turn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import gradio as gr

from logs import LogReader, rows
from simulator.benchmark import Benchmark, Metric
from simulator.commands.compare import one_benchmark
from simulator.errors import InputError
from simulator.research import Look
from simulator.runner.logged import erased_episodes, seat_failed
from ui.i18n import Strings
from ui.research.address import Address
from ui.research.blocks import Visit, follow, part
from ui.research.fields import Menu, put_menus
from ui.research.listing import filters, fits, neighbours
from ui.research.office import Office
from ui.research.report_pages import show_own
from ui.research.runs import RunCard, Words, look_at, pages_of, parts_of, transcript, whole_card

MOST: Final = 500
OUTCOMES: Final = ("success", "part", "failure", "unscored")
_VALUES: Final = 12
_FIELDS: Final = 5
_LENGTH: Final = 40


@dataclass(frozen=True, slots=True)
class Entry:
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
    with gr.Row(elem_classes=["rs-browse"]):
        part(
            visit,
            "episodes",
            entries=listed[:MOST],
            found=len(listed),
            total=len(every),
            metrics=benchmark.metrics,
        )
        with gr.Column(elem_classes=["rs-dialogue"]):
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


def _menus(t: Strings, at: Address, every: Sequence[Entry], words: Words) -> dict[str, Menu]:
    """Return what the episodes of a run can be filtered by: a few values, each of several items."""
    outcomes = [name for name in OUTCOMES if any(entry.outcome == name for entry in every)]
    statuses = list(dict.fromkeys(entry.status for entry in every))
    menus = {}
    if outcomes:
        all_of_them = t("research.outcome.all")
        named = [(all_of_them, ""), *((t(f"research.outcome.{name}"), name) for name in outcomes)]
        menus["outcome"] = Menu(t("research.dialogues.outcome"), named, at.outcome)
    if len(statuses) > 1:
        all_of_them = t("research.episodes.all_statuses")
        named = [(all_of_them, ""), *((t(f"research.status.{name}"), name) for name in statuses)]
        menus["status"] = Menu(t("research.episodes.status"), named, at.status)
    fields = filters((entry.fields for entry in every), min(_VALUES, len(every) // 2 + 1))
    return menus | words.filters("field", dict([*fields.items()][:_FIELDS]), at)


def entries(
    reader: LogReader, benchmark: Benchmark[Any, Any], run: str, more: Mapping[str, Mapping[str, str]]
) -> tuple[Entry, ...]:
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
    headline = _headline(benchmark, scores)

    def entry(episode: rows.Episode) -> Entry:
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
        return Entry(episode.id, item.name, episode.language, status, known, fields, outcome, words)

    return tuple(entry(episode) for episode in reader.episodes(run, latest=True) if episode.id not in erased)


def fits_address(entry: Entry, at: Address, talked: frozenset[str]) -> bool:
    """Return True if an episode fits the filters; `talked` are those in which the words are said."""
    return (
        at.outcome in ("", entry.outcome)
        and at.status in ("", entry.status)
        and fits(entry.fields, at.filters)
        and (not at.text or at.text.casefold() in entry.words.casefold() or entry.id in talked)
    )


def _headline(benchmark: Benchmark[Any, Any], scores: Mapping[str, Mapping[str, float]]) -> Metric:
    """Return the first declared metric that a run has, else the first that was logged."""
    known: dict[str, list[float]] = {}
    for values in scores.values():
        for name, value in values.items():
            known.setdefault(name, []).append(value)
    declared = [metric for metric in benchmark.metrics if metric.name in known]
    logged = [
        Metric(name, name, "share" if min(values) >= 0 and max(values) <= 1 else "value")
        for name, values in known.items()
    ]
    return next(iter([*declared, *logged]), benchmark.metrics[0])


def _episodes_mentioning(reader: LogReader, run: str, words: str) -> frozenset[str]:
    wish = words.casefold()
    return frozenset(
        played.episode.id
        for played in reader.turns_of_run(run)
        if any(wish in turn.text.casefold() for turn in played.turns)
    )


def _is_short(each: Any) -> bool:
    return isinstance(each, bool | int) or (isinstance(each, str) and 0 < len(each) <= _LENGTH)
