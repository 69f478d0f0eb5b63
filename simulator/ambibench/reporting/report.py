"""The report on runs and on trials in files: tables by setting, people's sessions, the paper's figures.

The report is computed from logged turns. The summary of `askback run` and `askback score` has a row per run,
computed from the logged scores.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Final

import pandas as pd
import typer
from pydantic import Field

from logs import LogReader
from simulator.ambibench.coding import Agreement, agreement, judgments_of
from simulator.ambibench.graph import MACHINE
from simulator.ambibench.prompt import PARTICIPANT, fill_missing_answers
from simulator.ambibench.records import TrialRecord, read_trial_file, recorded_rule, score_again, write_trials
from simulator.ambibench.reporting.figures import FIGURES, chosen_figures
from simulator.ambibench.reporting.frame import RESAMPLES, trial_frame
from simulator.ambibench.reporting.tables import table_sections
from simulator.ambibench.score import Mode, Tie, exceeds_one
from simulator.ambibench.trial_log import trials_of_runs
from simulator.errors import InputError
from simulator.fields import Fields
from simulator.figures import Cell, Column, Table
from simulator.frames import Frames
from simulator.jsonlines import DuplicatesOption, Read
from simulator.reporting import Section
from simulator.runner.logged import ENDED, played_items
from simulator.stats import Interval, cluster_bootstrap
from trees.faults import Fault

METRICS: Final = ("accuracy", "strict", "valid", "oracle", "named", "same", "other", "invalid")
_REMARK: Final = (
    "Means over labels (for free text, over episodes); intervals resample items, each with its repeats; "
    "n counts items."
)


class Settings(Fields):
    """Options of `askback report ambibench`, in addition to runs and files."""

    from_files: Annotated[tuple[Path, ...], typer.Option("--from", help="file of trials, JSON lines")] = ()
    figure: tuple[str, ...] = Field(
        default=(), description=f"figures to draw: {', '.join(FIGURES)}, or all (default with --out)"
    )
    trials: Path | None = Field(default=None, description="write all trials to this file, JSON lines")
    score_mode: Mode | None = Field(
        default=None, description="how tables of token probabilities are read; default: as in the run"
    )
    tie: Tie | None = Field(
        default=None, description="how a tie for the first place counts; default: as in the run"
    )
    actor: tuple[str, ...] = Field(
        default=(), description="NAME=LABEL: label of an actor; NAME may contain *, LABELs may repeat"
    )
    duplicates: DuplicatesOption = "refuse"

    def labels(self) -> dict[str, str]:
        """Return the labels of actors by name.

        Raises:
            InputError: if an option is not of the form NAME=LABEL.
        """
        labels = {}
        for text in self.actor:
            name, _, label = text.partition("=")
            if not (name and label.strip()):
                raise InputError(f"--actor {text!r}: write NAME=LABEL.")
            labels[name] = label.strip()
        return labels


@dataclass(frozen=True, slots=True, kw_only=True)
class Results:
    """The trials of runs and files, as records and as a frame, with raters' agreement and faults."""

    trials: tuple[TrialRecord, ...]
    frame: pd.DataFrame
    agreements: tuple[Agreement, ...] = ()
    faults: tuple[Fault, ...] = ()


def read_results(
    reader: LogReader | None,
    runs: Sequence[str] = (),
    files: Sequence[Path] = (),
    settings: Settings | None = None,
    *,
    exclude_aborted: bool = False,
) -> Results:
    """Return the trials of some runs and files (`records.read_trial_file`).

    `reader`: the log; None if only files are read.

    Raises:
        InputError: if a run is of another benchmark, or a setting or file is wrong.
        NotInLog: if there is no such run.
    """
    settings = settings or Settings()
    rules = settings.score_mode, settings.tie
    read = [read_trial_file(path, settings.duplicates) for path in files]
    trials = [score_again(trial, *rules) for file in read for trial in file.rows]
    if reader is not None:
        trials = [*trials_of_runs(reader, runs, *rules, exclude_aborted=exclude_aborted), *trials]
    return Results(
        trials=tuple(trials),
        frame=trial_frame(trials, settings.labels()),
        agreements=() if reader is None else agreement(judgments_of(reader, runs)),
        faults=(
            *(fault for file in read for fault in file.faults),
            *(fault for path, file in zip(files, read, strict=True) for fault in _contradictions(path, file)),
            *_excesses(trials),
        ),
    )


def run_sections(source: Frames) -> Iterator[Section]:
    """Yield the sections of a report: tables of each setting, and figures if they are to be drawn.

    Raises:
        InputError: if neither runs nor files are given, or a setting or file is wrong.
    """
    settings = source.settings or Settings()
    if settings.figure and not source.draws:
        raise InputError("--figure needs --out FOLDER to draw into.")
    numbers = chosen_figures(settings.figure or ("all",))
    results = source.once(results_of)
    source.problems.faults.extend(results.faults)
    yield from table_sections(results.frame, results.agreements)
    if source.draws:
        drawn = {number: FIGURES[number](results.frame) for number in numbers}
        missing = ((number, lack) for number, (_, lacks) in drawn.items() for lack in lacks)
        yield Section(
            name="figures",
            title="The paper's figures",
            figures=[figure for figure, _ in drawn.values() if figure is not None],
            remarks=[f"figure {number}: {lack}" for number, lack in missing],
        )


def write_trial_file(source: Frames) -> Iterator[str]:
    """Write all trials to the file named in the settings, if any; yield a message."""
    if source.settings.trials is not None:
        trials = source.once(results_of).trials
        write_trials(source.settings.trials, trials)
        yield f"{source.settings.trials}: {len(trials)} trials"


def results_of(source: Frames) -> Results:
    """Return the trials of a report's runs and files.

    Raises:
        InputError: if neither runs nor files are given, or a setting or file is wrong.
    """
    settings = source.settings or Settings()
    files = [*source.files, *settings.from_files]
    if not source.runs and not files:
        raise InputError("Name runs (askback log list shows them), or files.")
    return read_results(source.log, source.runs, files, settings, exclude_aborted=source.exclude_aborted)


def _contradictions(path: Path, file: Read[TrialRecord]) -> Iterator[Fault]:
    """Yield a warning if trials in a file contradict their probabilities."""
    rows = zip(file.rows, file.lines, strict=True)
    tables = ((trial, line) for trial, line in rows if trial.top_logprobs and trial.gold)
    lines = [line for trial, line in tables if recorded_rule(trial) is None]
    if lines:
        message = f"trials that contradict their 'top_logprobs', from which it was read again: {len(lines)}"
        yield Fault(str(path), "", lines[0], "correct", message, "warning")


def _excesses(trials: Iterable[TrialRecord]) -> Iterator[Fault]:
    """Yield a warning for each run with tables of probabilities that add up to more than 1."""
    tables = ((trial.run_id, trial.top_logprobs) for trial in trials if trial.top_logprobs)
    counts = Counter(run for run, table in tables if exceeds_one(table))
    for run, count in counts.items():
        message = "answers with probabilities that add up to more than 1 (each is divided by the sum)"
        yield Fault(run, "", 0, "probabilities", f"{message}: {count}", "warning")


def summary_section(source: Frames) -> Section:
    """Return a table with participant, part and mean metrics of each run, without withdrawn people."""
    runs = {
        run: run_scores(source.reader, run, exclude_aborted=source.exclude_aborted) for run in source.runs
    }
    metrics = [name for name in METRICS if any(name in scores for scores in runs.values())]
    rows: list[list[Cell]] = []
    remarks = [_REMARK]
    for run, scores in runs.items():
        config = source.reader.run(run).config
        means = {name: mean_over_labels(scores, name) for name in scores.columns.intersection(metrics)}
        items = max((mean.n for mean in means.values()), default=0)
        who, part = str(config["seats"][PARTICIPANT]), str(config.get("part", run))
        episodes = int((source.episodes["run"] == run).sum())
        rows.append([run, who, part.replace("-", " "), items, episodes, *map(means.get, metrics)])
        if episodes and not means:
            remarks.append(f"{run}: {episodes} answers are to be sorted by raters.")
    heads = ("run", "participant", "what", "items", "episodes")
    table = Table([*heads, *(Column(name, 3) for name in metrics)], rows, "Means over labels", "labels")
    return Section(name="labels", title="Labels", tables=[table], remarks=remarks)


def run_scores(reader: LogReader, run: str, *, exclude_aborted: bool = False) -> pd.DataFrame:
    """Return a row per episode of a run that counts: item, number of labels, and the latest scores.

    Episodes aborted by a failing seat are scored with empty answers in place of missing ones.
    """
    stored: dict[str, dict[str, float]] = {}
    for score in reader.scores(run_id=run):
        if score.value is not None:
            stored.setdefault(score.episode_id, {})[score.metric] = score.value
    rows = []
    for episode, item, turns, ending in played_items(
        reader, run, MACHINE.read_item, aborted=not exclude_aborted
    ):
        values: Mapping[str, Any] = stored.get(episode.id, {})
        if ending.status not in ENDED:
            turns = fill_missing_answers(item, episode.id, turns)
            values = {score.metric: score.value for score in MACHINE.score(item, turns, ())}
        if values:
            labels = sum(turn.payload.get("kind") == "answer" for turn in turns)
            rows.append({"item": episode.item_hash, "labels": labels or 1, **values})
    return pd.DataFrame(rows)


def mean_over_labels(scores: pd.DataFrame, metric: str) -> Interval:
    """Return a metric's mean over labels with its interval; `n` counts items."""
    scores = scores.dropna(subset=metric)
    items, weights = scores["item"].tolist(), scores["labels"].tolist()
    mean = cluster_bootstrap(scores[metric].tolist(), items, weights=weights, resamples=RESAMPLES)
    return mean._replace(n=len(set(items)))
