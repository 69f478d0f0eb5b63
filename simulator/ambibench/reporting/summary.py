"""What `askback run ambibench` and `askback score` print of runs: a row each, out of their scores."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import pandas as pd

from logs import LogReader
from simulator.ambibench.room import ROOM
from simulator.ambibench.trials import PARTICIPANT, with_silence
from simulator.figures import Cell, Column, Table
from simulator.frames import Frames
from simulator.reporting import Section
from simulator.runner.logged import ENDED, counting_episodes, played_to_end
from simulator.stats import Interval, cluster_bootstrap

METRICS: Final = ("accuracy", "strict", "valid", "oracle", "named", "same", "other", "invalid")
_RESAMPLES: Final = 1000  # spec 7.4
_REMARK: Final = (
    "Means over labels (of free text over episodes); intervals from resampling whole items, each with its "
    "repeats; n counts items."
)


def summary_section(source: Frames) -> Section:
    """Return who played what in each run, and the means of its metrics. Who has withdrawn does not count."""
    runs = {
        run: run_scores(source.reader, run, exclude_aborted=source.exclude_aborted) for run in source.runs
    }
    known = [name for name in METRICS if any(name in scores for scores in runs.values())]
    rows: list[list[Cell]] = []
    remarks = [_REMARK]
    for run, scores in runs.items():
        config = source.reader.run(run).config
        means = {name: mean_over_labels(scores, name) for name in scores.columns.intersection(known)}
        items = max((mean.n for mean in means.values()), default=0)
        who, part = str(config["seats"][PARTICIPANT]), str(config.get("part", run))
        episodes = int((source.episodes["run"] == run).sum())
        rows.append([run, who, part.replace("-", " "), items, episodes, *map(means.get, known)])
        if episodes and not means:
            remarks.append(f"{run}: {episodes} answers are to be sorted by people.")
    heads = ("run", "participant", "what", "items", "episodes")
    table = Table([*heads, *(Column(name, 3) for name in known)], rows, "Means over labels", "labels")
    return Section(name="labels", title="Labels", tables=[table], remarks=remarks)


def run_scores(reader: LogReader, run: str, *, exclude_aborted: bool = False) -> pd.DataFrame:
    """Return the newest scores of each episode of a run that counts: its item, labels given, metrics.

    An episode that a failing seat aborted has the scores of its answers with nothing in place of those that
    are missing (`silence`).
    """
    counting = frozenset(counting_episodes(reader, run))
    items = {episode.id: episode.item_hash for episode in reader.episodes(run)}
    labels = _labels(reader, run)
    scores: dict[str, dict[str, Any]] = {}
    for score in reader.scores(run_id=run):
        if score.value is not None and score.episode_id in counting:
            scores.setdefault(score.episode_id, {})[score.metric] = score.value
    rows = {id: {"item": items[id], "labels": labels.get(id, 1), **values} for id, values in scores.items()}
    if not exclude_aborted:
        rows |= _aborted(reader, run)
    return pd.DataFrame(list(rows.values()))


def mean_over_labels(scores: pd.DataFrame, metric: str) -> Interval:
    """Return a metric's mean over labels with its interval; `n` counts items."""
    known = scores.dropna(subset=metric)
    items, weights = known["item"].tolist(), known["labels"].tolist()
    mean = cluster_bootstrap(known[metric].tolist(), items, weights=weights, resamples=_RESAMPLES)
    return mean._replace(n=len(set(items)))


def _aborted(reader: LogReader, run: str) -> dict[str, dict[str, Any]]:
    """Return the same of the episodes that a failing seat aborted, by their ids."""
    items = {row.hash: ROOM.read_item(row) for row in reader.items(run)}
    rows = {}
    for episode, turns, ending in played_to_end(reader, run, reader.erased_participants(), aborted=True):
        if ending.status not in ENDED:
            item = items[episode.item_hash]
            whole = with_silence(item, episode.id, turns)
            asked = sum(turn.payload.get("kind") == "answer" for turn in whole)
            values = {score.metric: score.value for score in ROOM.score(item, whole, ())}
            rows[episode.id] = {"item": episode.item_hash, "labels": asked or 1, **values}
    return rows


def _labels(reader: LogReader, run: str) -> Mapping[str, int]:
    """Return how many labels were given in each episode that has any."""
    with reader.connection() as connection:
        counts = connection.execute(
            "SELECT episode_id, COUNT(*) FROM turns WHERE json_extract(payload, '$.kind') = 'answer' "
            "AND episode_id IN (SELECT id FROM episodes WHERE run_id = ?) GROUP BY episode_id",
            [run],
        )
        return {str(episode): int(count) for episode, count in counts}
