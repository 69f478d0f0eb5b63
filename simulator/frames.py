"""The log as tidy pandas frames: a row per episode, turn, judgment or model call.

Every report is a pivot of these. Which episodes count is one rule for all benchmarks
(`simulator.runner.logged`): a frame of episodes holds those that were played to their end, and those that a
failing seat aborted, which are unsuccessful; people who have withdrawn are in none, nor are those who
were excluded from their study, unless the reader counts them (then ``excluded`` says who they are).
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
from simulator.benchmark import Benchmark
from simulator.reporting import Problems
from simulator.runner.logged import ENDED, MODEL_FAILURE, erased_episodes, played_items, took_part
from simulator.studies.questions import ASKED_AFTER, ASKED_BEFORE, TRIED

EPISODE_COLUMNS: Final = (
    "run",
    "benchmark",
    "setup",
    "episode",
    "item",
    "language",
    "repeat",
    "participant",
    "status",
    "cause",
    "turns",
    "seconds",
)
_OF_TURN: Final = ("number", "seat", "text", "seconds", "created_at", "payload")
MadeT = TypeVar("MadeT")
SEAT: Final = "seat."
"""Begins the names of columns that say who sat in a seat: ``seat.seeker``."""
FAILURES: Final = "model_failures"
"""The column that says how often a model opposite a person gave no answer; only where one has."""
ANSWER: Final = "answer."
"""Begins the names of columns with answers to a study's own questions: ``answer.age``."""
_ASKED: Final = (TRIED, ASKED_BEFORE, ASKED_AFTER)


@dataclass(frozen=True, kw_only=True)
class Frames:
    """The material of a report's sections: the log of some runs as frames, files, settings.

    Attributes:
        log: its reader; None where files alone are reported.
        files: files and folders that are reported beside them.
        settings: an instance of the benchmark's `simulator.benchmark.ReportSpec.settings`, or None.
        exclude_aborted: whether what a failing seat aborted is left out.
        out: the folder that the report goes into; None where it is only shown.
        draws: whether figures are asked for; they take time.
        problems: with the files; whoever reads these adds them.
    """

    log: LogReader | None = None
    runs: tuple[str, ...] = ()
    files: tuple[Path, ...] = ()
    settings: Any = None
    exclude_aborted: bool = False
    out: Path | None = None
    draws: bool = True
    problems: Problems = field(default_factory=Problems)
    _made: dict[Callable[[Frames], Any], Any] = field(default_factory=dict)

    def once(self, make: Callable[[Frames], MadeT]) -> MadeT:
        """Return `make` of this; what several sections need is made the first time alone."""
        if make not in self._made:
            self._made[make] = make(self)
        made: MadeT = self._made[make]
        return made

    @property
    def reader(self) -> LogReader:
        """The log's reader, where runs are reported."""
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
    """Return one row per episode that counts: where it belongs, who sat where, how it ended, its scores.

    What people answered to a study's own questions is there, too (``answer.age``).

    Scores are columns called like their metrics; the latest score of the latest attempt counts. An episode
    that a failing seat aborted has no scores of its own and gets what
    `simulator.benchmark.Metric.unsuccessful` says, in the metrics that its run has: all that are declared,
    or, of a benchmark with a machine of its own, those that were scored (the headline, if none).

    Raises:
        NotInLog: if there is no such run.
    """
    read = [reader.run(run) for run in dict.fromkeys(runs)]
    frame = pd.DataFrame([row for run in read for row in _episodes_of(reader, run, exclude_aborted)])
    # A section of a report can name what is declared, whether or not something was scored.
    declared = (name for run in read for name in _declared_metrics(catalog.find(run.benchmark)))
    return frame.reindex(columns=list(dict.fromkeys((*EPISODE_COLUMNS, *frame, *declared))))


def turns(reader: LogReader, runs: Iterable[str]) -> pd.DataFrame:
    """Return one row per turn of the latest attempts: who said what, how long it took, what was logged.

    Raises:
        NotInLog: if there is no such run.
    """
    rows: list[dict[str, Any]] = []
    for run in dict.fromkeys(runs):
        reader.run(run)
        items, erased = {row.hash: row.name for row in reader.items(run)}, erased_episodes(reader, run)
        for played in reader.turns_of_run(run):
            if played.episode.id in erased:
                continue
            place = {"run": run, "episode": played.episode.id, "item": items[played.episode.item_hash]}
            rows += (
                {
                    **place,
                    "kind": turn.payload.get("kind"),
                    **{name: getattr(turn, name) for name in _OF_TURN},
                }
                for turn in played.turns
            )
    return pd.DataFrame(rows, columns=["run", "episode", "item", "number", "seat", "kind", *_OF_TURN[2:]])


def judgments(reader: LogReader, runs: Iterable[str]) -> pd.DataFrame:
    """Return one row per judgment: whose it is, of what kind, and its value (a dict).

    They are judgments of episodes, and those of items in the forms that the runs' benchmarks declare.

    Raises:
        NotInLog: if there is no such run.
    """
    rows: list[dict[str, Any]] = []
    for run in dict.fromkeys(runs):
        erased = erased_episodes(reader, run)
        forms = [form() for form in catalog.find(reader.run(run).benchmark).judging]
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
        rows += ({"run": run, **asdict(call)} for call in reader.model_calls(run_id=run))
    columns = ["run", *(part.name for part in fields(ModelCall))]
    return pd.DataFrame(rows, columns=columns).rename(columns={"episode_id": "episode", "id": "call"})


def _declared_metrics(benchmark: Benchmark[Any, Any]) -> tuple[str, ...]:
    """Return the metrics that every run of a benchmark has; none of one with a machine of its own."""
    return tuple(metric.name for metric in benchmark.metrics) if benchmark.machine is None else ()


def _episodes_of(reader: LogReader, run: Run, exclude_aborted: bool) -> Iterable[dict[str, Any]]:
    benchmark = catalog.find(run.benchmark)
    metrics = benchmark.metrics
    scores: dict[str, dict[str, float | None]] = {}
    for score in reader.scores(run_id=run.id, latest=True):
        scores.setdefault(score.episode_id, {})[score.metric] = score.value
    # With several kinds of items, a benchmark with a machine has metrics that do not apply to this run.
    scored = {metric for values in scores.values() for metric in values} | {*_declared_metrics(benchmark)}
    scored = scored or {metrics[0].name}
    unsuccessful = {metric.name: metric.unsuccessful for metric in metrics if metric.name in scored}
    excluded, endings = frozenset(reader.exclusions(run.id)), reader.endings(run.id)
    failures = Counter(
        event.episode_id
        for event in reader.events(kind=MODEL_FAILURE)
        if event.episode_id is not None and event.episode_id in endings
    )
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
