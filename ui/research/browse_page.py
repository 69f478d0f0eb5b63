"""The episodes of a run of any benchmark: a filtered list, and one of them turn by turn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from logs import LogReader, rows
from simulator.benchmark import Benchmark, Metric
from simulator.commands.compare import one_benchmark
from simulator.errors import InputError
from simulator.figures import Column
from simulator.figures.tables import shown
from simulator.runner.logged import erased_episodes, seat_failed
from ui.research.address import Address
from ui.research.declared import Words, drawn, look_at, pages_of
from ui.research.desk import RunCard
from ui.research.kept import CachedReports
from ui.research.report_parts import MINUS
from ui.research.transcript import transcript
from ui.research.view import Page, Visit

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
        fields: of its item and of its scores' details, those that are short values.
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


class Filter(NamedTuple):
    """A field of items by which a list is filtered."""

    name: str
    values: tuple[str, ...]


def browse_page(visit: Visit, card: RunCard, kept: CachedReports) -> Page:
    """Return the list, and the episode that the address names.

    Args:
        visit: of the page.
        card: of the run.
        kept: what was made of runs.

    Raises:
        InputError: if the run has no such episode.
    """
    at, run, reader = visit.at, card.run.id, kept.reader
    benchmark = one_benchmark(reader, [run])
    pages, look = pages_of(benchmark.name), look_at(visit, kept, card.run)
    every = kept.once(
        ("entries", at.settings), run, lambda: entries(reader, benchmark, run, pages.fields(look))
    )
    talked = _talked(reader, run, at.text) if at.text else frozenset()
    listed = [entry for entry in every if fits(entry, at, talked)]
    ids = [entry.id for entry in listed]
    place = ids.index(at.episode) if at.episode in ids else None
    if at.episode and all(entry.id != at.episode for entry in every):
        raise InputError(f"The run has no episode {at.episode!r}.", code="no_episode", episode=at.episode)
    language = reader.episode(at.episode).language if at.episode else ""
    made = drawn(visit.t, benchmark.name, pages.episode(look, at.episode) if at.episode else (), language)
    return visit.page(
        "browse",
        made.figures,
        live=card.live and not at.episode,
        card=card,
        shown=transcript(reader, at.episode) if at.episode else None,
        tab="dialogues",
        entries=listed[:MOST],
        found=len(listed),
        total=len(every),
        metrics=benchmark.metrics,
        value=value,
        outcomes=[name for name in OUTCOMES if any(entry.outcome == name for entry in every)],
        statuses=list(dict.fromkeys(entry.status for entry in every)),
        filters=filters(every),
        chosen=dict(at.filters),
        previous=ids[place - 1] if place else None,
        next=ids[place + 1] if place is not None and place + 1 < len(ids) else None,
        settings=pages.settings(look) if at.episode or at.settings else (),
        words=Words(visit.t, benchmark.name),
        **made.context,
    )


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
        fields = {name: str(each) for name, each in values.items() if _is_short(each)}
        ending = endings.get(episode.id)
        status = ending.status if ending else "open"
        value = known.get(headline.name)
        if ending and seat_failed(episode, ending):
            value = headline.unsuccessful
        outcome = _outcome(value) if headline.is_share else "scored"
        words = " ".join((item.name, *more.get(episode.id, {}).values()))
        return Entry(episode.id, item.name, episode.language, status, known, fields, outcome, words)

    return tuple(entry(episode) for episode in reader.episodes(run, latest=True) if episode.id not in erased)


def filters(every: Sequence[Entry]) -> tuple[Filter, ...]:
    """Return the fields of items that tell groups of a run apart: a few values, each of several items."""
    values: dict[str, dict[str, None]] = {}
    for entry in every:
        for name, text in {"language": entry.language, **entry.fields}.items():
            values.setdefault(name, {})[text] = None
    telling = (
        Filter(name, tuple(sorted(texts, key=lambda text: (len(text), text))))
        for name, texts in values.items()
        if 1 < len(texts) <= min(_VALUES, len(every) // 2 + 1)
    )
    return tuple(telling)[:_FIELDS]


def fits(entry: Entry, at: Address, talked: frozenset[str]) -> bool:
    """Return True if an episode fits the filters; `talked` are those in which the words are said."""
    return (
        at.outcome in ("", entry.outcome)
        and at.status in ("", entry.status)
        and all({"language": entry.language, **entry.fields}.get(name) == wish for name, wish in at.filters)
        and (not at.text or at.text.casefold() in entry.words.casefold() or entry.id in talked)
    )


def value(number: float) -> str:
    """Return a score as a list shows it."""
    return shown(int(number) if number == int(number) else number, Column("")).replace("-", MINUS)


def _headline(benchmark: Benchmark[Any, Any], scores: Mapping[str, Mapping[str, float]]) -> Metric:
    """Return the first declared metric that a run has, else the first that was logged."""
    known: dict[str, None] = {name: None for values in scores.values() for name in values}
    declared = [metric for metric in benchmark.metrics if metric.name in known]
    logged = [Metric(name, name, "share" if _are_shares(scores, name) else "value") for name in known]
    return next(iter([*declared, *logged]), benchmark.metrics[0])


def _are_shares(scores: Mapping[str, Mapping[str, float]], name: str) -> bool:
    return all(0 <= values[name] <= 1 for values in scores.values() if name in values)


def _talked(reader: LogReader, run: str, words: str) -> frozenset[str]:
    wish = words.casefold()
    return frozenset(
        played.episode.id
        for played in reader.turns_of_run(run)
        if any(wish in turn.text.casefold() for turn in played.turns)
    )


def _outcome(score: float | None) -> str:
    return "unscored" if score is None else {1.0: "success", 0.0: "failure"}.get(score, "part")


def _is_short(each: Any) -> bool:
    return isinstance(each, bool | int) or (isinstance(each, str) and 0 < len(each) <= _LENGTH)
