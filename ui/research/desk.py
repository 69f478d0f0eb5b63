"""What the researchers' pages show of a log, read once per state of it.

A run is read and scored again only when it has new episodes, endings or judgments; so the pages of a run of
several hundred dialogues are made in milliseconds, and those of a run that is being played stay true.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final, NamedTuple

from logs import LogReader, Played, Progress
from logs.rows import Judgment, ModelCall, Run, Turn
from simulator import catalog
from simulator.clarq.data import BENCHMARK, read_item
from simulator.clarq.reporting.report import Report, report
from simulator.clarq.score import REVIEW_SUCCESS, Scored, score_run
from simulator.clarq.views import Replay, replay
from simulator.errors import InputError
from simulator.studies import participation
from simulator.studies.links import PREVIEW

_KEPT_RUNS = 8
_State = tuple[int, ...]


class Link(NamedTuple):
    """A way on from a run; `text` is the name of what is said, `download` whether it is a file."""

    text: str
    address: str
    download: bool = False


class Tab(NamedTuple):
    """A part of what is shown of a run; `text` is the name of what is said."""

    name: str
    text: str


TABS: Final = (
    Tab("scores", "research.run.scores"),
    Tab("dialogues", "research.run.episodes"),
    Tab("compare", "research.run.compare"),
)


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
    tabs: tuple[Tab, ...] = TABS
    links: tuple[Link, ...] = ()

    @property
    def languages(self) -> tuple[str, ...]:
        """The languages its configuration names."""
        language = self.run.config.get("language")
        return (language,) if isinstance(language, str) else ()

    @property
    def live(self) -> bool:
        """Whether episodes are still to come or to end."""
        return self.progress.running > 0 or self.progress.done < (self.progress.planned or 0)


@dataclass(frozen=True)
class RunData:
    """A run of ClarQ-LLM with everything that is shown of it."""

    run: Run
    played: Mapping[str, Played]
    scored: tuple[Scored, ...]
    report: Report
    judgments: tuple[Judgment, ...]

    @cached_property
    def by_id(self) -> dict[str, Scored]:
        """The scored episodes by id."""
        return {scored.episode.id: scored for scored in self.scored}

    @property
    def turns(self) -> dict[str, list[Turn]]:
        """The turns of each episode."""
        return {id: played.turns for id, played in self.played.items()}


@dataclass(frozen=True, slots=True)
class Dialogue:
    """One ended dialogue with its trace.

    Attributes:
        calls: turn number -> the model calls made for it; None for those made outside a turn.
    """

    run_id: str
    episode_id: str
    status: str
    name: str
    replay: Replay
    calls: Mapping[int | None, Sequence[ModelCall]]


def _title(benchmark: str) -> str:
    """Return what a benchmark is called; its name where it is not installed."""
    try:
        return catalog.find(benchmark).title
    except InputError:
        return benchmark


class Desk:
    """Reads runs, dialogues and reviews; may be used from any thread."""

    def __init__(self, reader: LogReader) -> None:
        self.reader = reader
        self._lock = threading.Lock()
        self._kept: OrderedDict[str, tuple[_State, RunData]] = OrderedDict()

    def cards(self) -> list[RunCard]:
        """Return all runs, newest first, that have scores which count.

        What paired people are asked each alone has none, and previews of studies count nowhere.
        """
        return [
            self.card(run)
            for run in reversed(self.reader.runs())
            if run.benchmark != participation.BENCHMARK and PREVIEW not in run.id
        ]

    def card(self, run: Run) -> RunCard:
        """Return one run for the list."""
        usage = self.reader.usage(run.id)
        seats = run.config.get("seats")
        return RunCard(
            run,
            self.reader.progress(run.id),
            dict(seats) if isinstance(seats, dict) else {},
            sum(used.cost for used in usage) if usage else None,
            sum(used.unpriced for used in usage),
            _title(run.benchmark),
        )

    def run_data(self, run_id: str) -> RunData:
        """Return a run, scored.

        Raises:
            NotInLog: there is no such run.
            InputError: it is of a benchmark that these pages do not score.
        """
        run = self.reader.run(run_id)
        if run.benchmark != BENCHMARK:
            raise InputError(
                f"run {run_id!r} is of {run.benchmark}; only runs of {BENCHMARK} are shown here",
                code="other_benchmark",
                run=run_id,
                benchmark=run.benchmark,
            )
        state = self._state(run_id)
        with self._lock:
            kept = self._kept.get(run_id)
        if kept is None or kept[0] != state:
            kept = (state, self._read(run))
        with self._lock:
            self._kept[run_id] = kept
            self._kept.move_to_end(run_id)
            while len(self._kept) > _KEPT_RUNS:
                self._kept.popitem(last=False)
        return kept[1]

    def dialogue(self, episode_id: str, *, reviewing: bool = False) -> Dialogue:
        """Return one ended dialogue; for those who are `reviewing` it without what any reviewer has settled.

        Raises:
            NotInLog: there is no such episode.
            InputError: it has not ended, or its benchmark is another.
        """
        episode = self.reader.episode(episode_id)
        ending = self.reader.ending(episode_id)
        item = self.reader.item(episode.item_hash)
        if item.benchmark != BENCHMARK:
            raise InputError(
                f"episode {episode_id!r} is of {item.benchmark}",
                code="other_benchmark",
                run=episode_id,
                benchmark=item.benchmark,
            )
        if ending is None:
            raise InputError(
                f"episode {episode_id!r} is still being played", code="still_played", episode=episode_id
            )
        calls: dict[int | None, list[ModelCall]] = {}
        for call in self.reader.model_calls(episode_id=episode_id):
            calls.setdefault(call.turn_number, []).append(call)
        judgments = self.reader.judgments(episode_id=episode_id)
        if reviewing:
            judgments = [row for row in judgments if row.kind != REVIEW_SUCCESS]
        seen = replay(read_item(item), self.reader.turns(episode_id), judgments)
        return Dialogue(episode.run_id, episode_id, ending.status, item.name, seen, calls)

    def _state(self, run_id: str) -> _State:
        of_run = "episode_id IN (SELECT id FROM episodes WHERE run_id = :run)"
        with self.reader.connection() as connection:
            counts = connection.execute(
                "SELECT (SELECT count(*) FROM episodes WHERE run_id = :run), "
                f"(SELECT count(*) FROM endings WHERE {of_run}), "
                f"(SELECT count(*) FROM judgments WHERE {of_run})",
                {"run": run_id},
            ).fetchone()
        # Erasing leaves the rows, but what was said in them counts no longer.
        return *map(int, counts), hash(self.reader.uncounted_participants())

    def _read(self, run: Run) -> RunData:
        scored = score_run(self.reader, run.id)
        return RunData(
            run=run,
            played={played.episode.id: played for played in self.reader.turns_of_run(run.id)},
            scored=scored,
            report=report(self.reader, run.id, scored),
            judgments=tuple(self.reader.judgments(run_id=run.id)),
        )
