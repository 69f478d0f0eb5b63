"""What the researchers' pages tell of runs: parts with intervals, episodes, how a study stands."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final, Literal, NamedTuple

import pandas as pd

from logs import LogReader, LogWriter
from logs.rows import Run
from simulator.ambibench.assignment import PatternStudy
from simulator.ambibench.features import SETTINGS, Feature, Format
from simulator.ambibench.records import TrialRecord
from simulator.ambibench.reporting.frame import longest, present, where
from simulator.ambibench.reporting.measures import means, split
from simulator.ambibench.reporting.panels import (
    feature_lines,
    k_panel,
    label_curves,
    oracle_line,
)
from simulator.ambibench.reporting.people import Flag, sessions
from simulator.ambibench.reporting.report import Results
from simulator.ambibench.reporting.tables import CURVES, SAME, Slice, slices
from simulator.ambibench.rows import BENCHMARK
from simulator.figures import Figure, Line, Panel
from simulator.stats import Interval
from simulator.studies import Study, StudyDesk, StudyProgress

Group = Literal["all", "feature", "format"]
GROUPS: Final[tuple[Group, ...]] = ("all", "feature", "format")


class Row(NamedTuple):
    """Some trials of one part of a run.

    Attributes:
        group: what tells them from the others; `name` is the feature or format, empty for all.
        n: trials.
        correct: accuracy over all labels; in 4.3 and 4.4 those of all k (spec section 7.4).
        valid: probability of X or Y, or the share of answers that are one.
        oracle: what the Bayes-optimal learner gets on the same trials.
    """

    group: Group
    name: str
    n: int
    correct: Interval
    valid: Interval
    oracle: Interval


class Section(NamedTuple):
    """One setting, kind of instruction and held-out pair of a run, as one actor played it.

    Attributes:
        key: names the part.
        kind: of the instruction.
        fold: the held-out pair; empty if none is.
        actor: who took part.
        units: prompts, or people.
        rows: all trials first, then by salient feature and by format.
    """

    key: str
    setting: str
    kind: str
    fold: str
    actor: str
    units: int
    rows: tuple[Row, ...]


class Played(NamedTuple):
    """An episode in a list.

    Attributes:
        status: how it ended; ``open`` if it has not.
        asked: answers that were given.
        correct: how many were right; None for free text.
        category: what free text was sorted into.
        flags: of a person's session.
    """

    id: str
    name: str
    setting: str
    feature: Feature | None
    format: Format | None
    status: str
    asked: int
    correct: float | None
    category: str | None
    flags: tuple[Flag, ...]


def sections(trials: pd.DataFrame) -> tuple[Section, ...]:
    """Return the parts of a run in which labels were asked for."""
    return tuple(_section(part, actor) for part in slices(trials) for actor in present(part.trials, "actor"))


def curve_figures(trials: pd.DataFrame) -> dict[str, Figure]:
    """Of each part that has a curve: accuracy over k with the oracle, the same by feature, and p(valid)."""
    figures: dict[str, Figure] = {}
    for part in slices(trials):
        for name, title, panel in _curves(part) if part.setting in CURVES else ():
            key = f"{name}-{part.key}"
            figures[key] = Figure(key, title, [panel])
    return figures


def played(reader: LogReader, run_id: str, results: Results) -> tuple[Played, ...]:
    """Return the episodes of a run, in the order in which they began."""
    names = {item.hash: item for item in reader.items(run_id)}
    endings = reader.endings(run_id)
    flags = {session.session: session.flags for session in sessions(results.frame)}
    answers: dict[str, list[TrialRecord]] = {}
    for trial in results.trials:
        answers.setdefault((trial.trial_id or "").rpartition(":")[0], []).append(trial)
    episodes = []
    for episode in reader.episodes(run_id, latest=True):
        item, trials = names[episode.item_hash], answers.get(episode.id, [])
        right = [trial.correct for trial in trials if trial.correct is not None]
        episodes.append(
            Played(
                id=episode.id,
                name=item.name,
                setting=item.data["setting"],
                feature=item.data.get("salient_task"),
                format=item.data.get("format"),
                status=endings[episode.id].status if episode.id in endings else "open",
                asked=len(trials),
                correct=sum(right) if right else None,
                category=trials[-1].category if trials else None,
                flags=flags.get(episode.id, ()),
            )
        )
    return tuple(episodes)


def settings_of(reader: LogReader, run: Run, *, ended: bool = False) -> tuple[str, ...]:
    """Return the settings of the items that a run has begun so far, or (`ended`) has come to the end of."""
    status = "SELECT episode_id FROM endings WHERE status IN ('completed', 'truncated')"
    having = f" AND id IN ({status})" if ended else ""
    with reader.connection() as connection:
        found = connection.execute(
            "SELECT DISTINCT json_extract(data, '$.setting') FROM items "
            f"WHERE hash IN (SELECT item_hash FROM episodes WHERE run_id = ?{having})",
            [run.id],
        ).fetchall()
    return tuple(setting for setting in SETTINGS if (setting,) in [tuple(one) for one in found])


def study_of(run: Run) -> Study | None:
    """Return the study that a run is; None if it is none of AmbiBench's."""
    given = run.config.get("study")
    if run.benchmark != BENCHMARK or not isinstance(given, dict):
        return None
    return Study.model_validate(given)


def study_progress(writer: LogWriter, reader: LogReader, study: Study) -> StudyProgress:
    """Return how a study stands. Nothing is written."""
    return StudyDesk(writer, reader, study, PatternStudy(study).cells).progress()


def _section(part: Slice, actor: str) -> Section:
    trials = where(part.trials, actor=actor)
    kind, fold = (next(iter(present(trials, name)), "") for name in ("kind", "fold"))
    rows = [_row("all", "", trials)]
    for group in GROUPS[1:]:
        rows += (_row(group, name, where(trials, **{group: name})) for name in present(trials, group))
    units = trials["unit"].nunique()
    return Section(f"{part.key}-{actor}", part.setting, kind, fold, actor, units, tuple(rows))


def _row(group: Group, name: str, trials: pd.DataFrame) -> Row:
    correct, valid, oracle = (
        next(iter(means(trials, measure, ("role",)).values())) for measure in ("correct", "valid", "bayes")
    )
    return Row(group, name, len(trials), correct, valid, oracle)


def _curves(part: Slice) -> Iterator[tuple[str, str, Panel]]:
    trials = part.trials
    yield "curve", "Accuracy by example", k_panel("", [*label_curves(trials), *_oracle(trials)])
    by_feature = feature_lines(split(means(trials, "correct", ("feature", "k"))))
    # Six bands over each other hide what they are about; the table beside the figure has the intervals.
    lines = [replace(line, low=None, high=None) for line in by_feature]
    yield "features", "Accuracy by example and salient feature", k_panel("", lines)
    valid = k_panel("", label_curves(trials, "valid"), "probability of X or Y", chance=False)
    yield "validity", "Valid answers by example", valid


def _oracle(trials: pd.DataFrame) -> Sequence[Line]:
    points = {k: value.value for (k,), value in means(trials, "bayes", ("k",)).items()}
    here = Line(SAME, list(points), list(points.values()), style="dotted", colour="muted")
    if present(trials, "kind") == ["informative"]:
        return [here]
    return [oracle_line(longest(trials)), here]
