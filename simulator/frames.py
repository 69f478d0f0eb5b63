"""The log as tidy pandas frames: a row per episode, turn, judgment or model call.

All reports are built from these. One rule decides which episodes count, for all benchmarks
(`simulator.runner.logged`): those played to their end, and those aborted by a failing seat, which are
unsuccessful. Participants who withdrew are in no frame; neither are those excluded from their study, unless
the reader includes them (the column ``excluded`` then marks them).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, field, fields
from functools import cached_property
from pathlib import Path
from typing import Any, Final, TypeVar

import pandas as pd

from logs import LogReader
from logs.rows import Judgment, ModelCall, Run
from simulator import catalog
from simulator.benchmark import EPISODE_COLUMNS, Benchmark
from simulator.reporting import Problems
from simulator.runner.logged import ENDED, MODEL_FAILURE, erased_episodes, played_items, took_part
from simulator.studies.ledger import BENCHMARK
from simulator.studies.questions import ASKED_AFTER, ASKED_BEFORE, TRIED

_TURN_FIELDS: Final = ("number", "seat", "text", "seconds", "created_at", "payload")
ValueT = TypeVar("ValueT")
SEAT: Final = "seat."
"""Prefix of the columns that name the player in a seat: ``seat.seeker``."""
FAILURES: Final = "model_failures"
"""Column with the number of times that a model opposite a person gave no answer; absent if none failed."""
ANSWER: Final = "answer."
"""Prefix of the columns with answers to a study's questions: ``answer.age``."""
_ASKED: Final = (TRIED, ASKED_BEFORE, ASKED_AFTER)


@dataclass(frozen=True, kw_only=True)
class Frames:
    """The input of a report's sections: logged runs as frames, files, and settings.

    Attributes:
        log: reader of the log; None if only files are reported.
        files: files and folders to report in addition to the runs.
        settings: an instance of the benchmark's `simulator.benchmark.ReportSpec.settings`, or None.
        out: the folder to write the report to; None if it is only shown.
        draws: whether to draw figures, which takes time.
        problems: problems with the files, collected as they are read.
    """

    log: LogReader | None = None
    runs: tuple[str, ...] = ()
    files: tuple[Path, ...] = ()
    settings: Any = None
    exclude_aborted: bool = False
    out: Path | None = None
    draws: bool = True
    problems: Problems = field(default_factory=Problems)
    _cache: dict[Callable[[Frames], Any], Any] = field(default_factory=dict)

    def once(self, make: Callable[[Frames], ValueT]) -> ValueT:
        """Return ``make(self)``, computed only once: several sections may need it."""
        if make not in self._cache:
            self._cache[make] = make(self)
        value: ValueT = self._cache[make]
        return value

    @property
    def reader(self) -> LogReader:
        """The reader of the log; there must be one."""
        assert self.log is not None, "no run is reported"
        return self.log

    @cached_property
    def episodes(self) -> pd.DataFrame:
        """See `episodes`."""
        return episodes(self.reader, self.runs, exclude_aborted=self.exclude_aborted)

    @cached_property
    def turns(self) -> pd.DataFrame:
        """See `turns`."""
        return turns(self.reader, self.runs)

    @cached_property
    def judgments(self) -> pd.DataFrame:
        """See `judgments`."""
        return judgments(self.reader, self.runs)


def episodes(reader: LogReader, runs: Iterable[str], *, exclude_aborted: bool = False) -> pd.DataFrame:
    """Return one row per episode that counts: run, item, players, ending, and scores.

    Answers to a study's questions are columns, too (``answer.age``).

    Each metric is a column with the latest score of the latest attempt. An episode aborted by a failing seat
    has no scores; it gets the values of `simulator.benchmark.Metric.unsuccessful` for the metrics of its run:
    all declared metrics, or, if the benchmark has its own machine, those scored in the run (the headline
    metric if there are none). Episodes of paired people (``people-STUDY``) have answers and no metrics.

    Raises:
        NotInLog: if there is no such run.
    """
    rows = [reader.run(run) for run in dict.fromkeys(runs)]
    frame = pd.DataFrame([row for run in rows for row in _episodes_of(reader, run, exclude_aborted)])
    # Report sections may refer to any declared metric, even if it was never scored.
    benchmarks = [_benchmark_of(run) for run in rows]
    declared = [name for benchmark in benchmarks for name in _declared_metrics(benchmark)]
    if frame.empty:
        declared += [metric.name for each in benchmarks if each for metric in each.metrics[:1]]
    columns = list(dict.fromkeys((*EPISODE_COLUMNS, *frame, *declared)))
    return frame.reindex(columns=columns).astype({"repeat": int, "turns": int, "seconds": float})


def turns(reader: LogReader, runs: Iterable[str]) -> pd.DataFrame:
    """Return one row per turn of the latest attempts: seat, text, seconds, and payload.

    Raises:
        NotInLog: if there is no such run.
    """
    rows: list[dict[str, Any]] = []
    for run in dict.fromkeys(runs):
        reader.run(run)
        items, erased = {row.hash: row.name for row in reader.items(run)}, erased_episodes(reader, run)
        for played in reader.turns_of_run(run):
            if played.episode.id in erased or played.episode.item_hash not in items:  # just begun
                continue
            place = {"run": run, "episode": played.episode.id, "item": items[played.episode.item_hash]}
            rows += (
                {
                    **place,
                    "kind": turn.payload.get("kind"),
                    **{name: getattr(turn, name) for name in _TURN_FIELDS},
                }
                for turn in played.turns
            )
    columns = ["run", "episode", "item", "number", "seat", "kind", *_TURN_FIELDS[2:]]
    return pd.DataFrame(rows, columns=columns).astype({"seconds": float})


def judgments(reader: LogReader, runs: Iterable[str]) -> pd.DataFrame:
    """Return one row per judgment: its annotator, its kind, and its value (a dict).

    Includes judgments of the runs' episodes, and of their items in forms that the benchmarks declare.

    Raises:
        NotInLog: if there is no such run.
    """
    rows: list[dict[str, Any]] = []
    for run in dict.fromkeys(runs):
        erased = erased_episodes(reader, run)
        benchmark = _benchmark_of(reader.run(run))
        forms = [form() for form in benchmark.judging] if benchmark else []
        of_items = (
            judgment
            for form in forms
            if form.about == "item"
            for judgment in reader.judgments(kind=form.kind)
            if judgment.value.get(form.source) == run
        )
        rows += (
            {"run": run, **asdict(judgment)}
            for judgment in (*reader.judgments(run_id=run), *of_items)
            if judgment.episode_id is None or judgment.episode_id not in erased
        )
    columns = ["run", *(part.name for part in fields(Judgment))]
    return pd.DataFrame(rows, columns=columns).rename(columns={"episode_id": "episode", "id": "judgment"})


def calls(reader: LogReader, runs: Iterable[str]) -> pd.DataFrame:
    """Return one row per model call: model, purpose, tokens, cost, seconds, error.

    Raises:
        NotInLog: if there is no such run.
    """
    rows: list[dict[str, Any]] = []
    for run in dict.fromkeys(runs):
        reader.run(run)
        erased = erased_episodes(reader, run)
        known = (call for call in reader.model_calls(run_id=run) if call.episode_id not in erased)
        rows += ({"run": run, **asdict(call)} for call in known)
    columns = ["run", *(part.name for part in fields(ModelCall))]
    frame = pd.DataFrame(rows, columns=columns).rename(columns={"episode_id": "episode", "id": "call"})
    return frame.astype({"cost": float, "seconds": float})  # even if no model has a price


def _benchmark_of(run: Run) -> Benchmark[Any, Any] | None:
    """Return the benchmark of a run; None for a run of paired people, whose task is in another run."""
    return None if run.benchmark == BENCHMARK else catalog.find(run.benchmark)


def _declared_metrics(benchmark: Benchmark[Any, Any] | None) -> tuple[str, ...]:
    """Return the metrics that every run of a benchmark has; none if it has its own machine."""
    return tuple(metric.name for metric in benchmark.metrics) if benchmark and not benchmark.machine else ()


def _episodes_of(reader: LogReader, run: Run, exclude_aborted: bool) -> Iterable[dict[str, Any]]:
    benchmark = _benchmark_of(run)
    metrics = benchmark.metrics if benchmark else ()
    scores: dict[str, dict[str, float | None]] = {}
    for score in reader.scores(run_id=run.id, latest=True):
        scores.setdefault(score.episode_id, {})[score.metric] = score.value
    # If the benchmark has its own machine and several kinds of items, some metrics do not apply to this run.
    scored = {metric for values in scores.values() for metric in values} | {*_declared_metrics(benchmark)}
    scored = scored or {metric.name for metric in metrics[:1]}
    unsuccessful = {metric.name: metric.unsuccessful for metric in metrics if metric.name in scored}
    excluded, endings = frozenset(reader.exclusions(run.id)), reader.endings(run.id)
    events = reader.events(kind=MODEL_FAILURE)
    failures = Counter(event.episode_id for event in events if event.episode_id in endings)
    for played in played_items(reader, run.id, aborted=not exclude_aborted):
        episode, ending = played.episode, played.ending
        values: Mapping[str, float | None] = unsuccessful
        if ending.status in ENDED:
            values = scores.get(episode.id, {})
        yield {
            "run": run.id,
            "benchmark": run.benchmark,
            "setup": run.setup,
            "episode": episode.id,
            "item": played.item.name,
            "language": episode.language,
            "repeat": episode.repeat,
            "participant": episode.participant_id,
            "status": ending.status,
            "cause": ending.cause,
            "turns": len(played.turns),
            "seconds": sum(turn.seconds or 0.0 for turn in played.turns),
            **{SEAT + seat: who for seat, who in episode.seats.items()},
            **({"excluded": took_part(excluded, played)} if excluded else {}),
            **({FAILURES: failures[episode.id]} if failures else {}),
            **{
                ANSWER + name: answer
                for turn in played.turns
                if str(turn.payload.get("kind")).startswith(_ASKED)
                for name, answer in turn.payload.get("answers", {}).items()
            },
            **values,
        }
