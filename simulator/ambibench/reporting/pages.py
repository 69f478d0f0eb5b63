"""What the researchers' pages show of runs: parts with intervals and curves, episodes, one of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final, NamedTuple

import pandas as pd

from logs import LogReader
from simulator.ambibench.features import Feature, Format
from simulator.ambibench.reporting.figures import EXAMPLE, curves, k_panel, oracle_line
from simulator.ambibench.reporting.frame import TITLES, by_level, means, pivot, present, sessions, where
from simulator.ambibench.reporting.tables import CURVES, SAME, Slice, slices
from simulator.ambibench.views import ReplayTrial
from simulator.figures import Figure, Line, Panel, Stacked

MEASURES: Final = {"correct": "correct", "valid": "valid", "oracle": "bayes"}
"""Accuracy over all labels (in 4.3 and 4.4 those of all k, spec section 7.4), probability of X or Y or the
share of answers that are one, what the Bayes-optimal learner gets on the same trials; with their columns."""
ORACLE: Final = "oracle"


class Section(NamedTuple):
    """One setting, kind of instruction and held-out pair (if any) of a run, as one actor played it.

    Attributes:
        key: names the part.
        units: prompts, or people.
        rows: of all trials, then by salient feature and by format: columns ``group``, ``name`` (the feature
            or format, empty for all), ``n`` (trials) and `MEASURES`, which are intervals.
    """

    key: str
    setting: str
    kind: str
    fold: str
    actor: str
    units: int
    rows: pd.DataFrame


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
    flags: tuple[str, ...]


def sections(trials: pd.DataFrame) -> tuple[Section, ...]:
    """Return the parts of a run in which labels were asked for."""
    return tuple(_section(part, actor) for part in slices(trials) for actor in present(part.trials, "actor"))


def curve_figures(trials: pd.DataFrame) -> dict[str, Figure]:
    """Return of each part that has a curve: accuracy over k, the same by feature, and p(valid)."""
    figures = [
        Figure(f"{name}-{part.key}", title, [panel])
        for part in slices(trials)
        if part.setting in CURVES
        for name, title, panel in _curves(part)
    ]
    return {figure.name: figure for figure in figures}


def played(reader: LogReader, run_id: str, trials: pd.DataFrame) -> tuple[Played, ...]:
    """Return the episodes of a run, in the order in which they began, with what its trials make of them."""
    items = {item.hash: item for item in reader.items(run_id)}
    endings = reader.endings(run_id)
    people = sessions(trials)
    flags = dict(zip(people["session"], people["flags"], strict=True))
    answers = dict(list(trials.groupby(trials["trial_id"].astype(str).str.rsplit(":", n=1).str[0])))
    episodes = []
    for episode in reader.episodes(run_id, latest=True):
        item, given = items[episode.item_hash], answers.get(episode.id, trials[:0])
        right, categories = given["correct"].dropna(), given["category"].dropna()
        episodes.append(
            Played(
                id=episode.id,
                name=item.name,
                setting=item.data["setting"],
                feature=item.data.get("salient_task"),
                format=item.data.get("format"),
                status=endings[episode.id].status if episode.id in endings else "open",
                asked=len(given),
                correct=float(right.sum()) if len(right) else None,
                category=categories.iloc[-1] if len(categories) else None,
                flags=tuple(flags.get(episode.id, "").split()),
            )
        )
    return tuple(episodes)


def posterior_figure(trials: Sequence[ReplayTrial], actor: str) -> Figure:
    """Return the four hypotheses before each label, and what the right one was worth.

    Args:
        trials: every position of a prompt.
        actor: who answered; without probabilities it is drawn at 1 where it was right and at 0 where not.
    """
    ks = [trial.k for trial in trials]
    names = [str(k) for k in ks]
    parts = [
        Stacked(f"{task.value} is X", names, [trial.belief.posterior[task] for trial in trials])
        for task in trials[0].belief.posterior
    ]
    lines = [Line(ORACLE, ks, [trial.belief.p_gold for trial in trials], style="dashed", colour="ink")]
    known = [(trial.k, trial.p_gold) for trial in trials if trial.p_gold is not None]
    right = [(trial.k, trial.score.correct) for trial in trials if trial.score is not None]
    if known or right:
        answered, values = zip(*(known or right), strict=True)
        lines.append(Line(actor, answered, values, style="solid" if known else "dotted", colour="rose"))
    label = "probability" if known else "probability; 1 right, 0 wrong"
    panels = (
        Panel("What the task may be", EXAMPLE, "probability before the label", parts),
        Panel("The right label", EXAMPLE, label, lines, x_ticks=ks),
    )
    return Figure("posterior", "The four hypotheses, trial by trial", panels, columns=1)


def _section(part: Slice, actor: str) -> Section:
    trials = where(part.trials, actor=actor)
    kind, fold = (next(iter(present(trials, name)), "") for name in ("kind", "fold"))
    parts = [("all", "", trials)]
    for group in ("feature", "format"):
        parts += ((group, name, where(trials, **{group: name})) for name in present(trials, group))
    rows = pd.DataFrame({"group": group, "name": name, "n": len(rows)} for group, name, rows in parts)
    for measure, column in MEASURES.items():
        rows[measure] = [next(iter(means(rows, column, ("role",)).values())) for _, _, rows in parts]
    return Section(f"{part.key}-{actor}", part.setting, kind, fold, actor, trials["unit"].nunique(), rows)


def _curves(part: Slice) -> Iterator[tuple[str, str, Panel]]:
    trials = part.trials
    lines = curves(pivot(means(trials, "correct", ("actor", "k"))))
    yield "curve", "Accuracy by example", k_panel("", [*lines, *_oracle(trials)])
    by_feature = curves(pivot(means(trials, "correct", ("feature", "k"))), TITLES)
    # Six bands over each other hide what they are about; the table beside the figure has the intervals.
    lines = [replace(line, low=None, high=None) for line in by_feature]
    yield "features", "Accuracy by example and salient feature", k_panel("", lines)
    lines = curves(pivot(means(trials, "valid", ("actor", "k"))))
    yield "validity", "Valid answers by example", k_panel("", lines, "probability of X or Y", chance=False)


def _oracle(trials: pd.DataFrame) -> Sequence[Line]:
    points = by_level(means(trials, "bayes", ("k",)))
    values = [point.value for point in points.values()]
    here = Line(SAME, list(points), values, style="dotted", colour="muted")
    informed = present(trials, "kind") == ["informative"]
    return [here] if informed else [oracle_line(trials), here]
