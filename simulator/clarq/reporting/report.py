"""The tables, the curve and the figures of a run (the paper's Tables I to V and Fig. 4)."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import pandas as pd

from logs import LogReader
from simulator.clarq.reporting.agreement import judge_agreement
from simulator.clarq.score import ScoredEpisode, score_run
from simulator.figures import Bars, Cell, Column, Figure, Line, Panel, Table
from simulator.frames import Frames
from simulator.reporting import Section, slug
from simulator.runner.logged import endings_of_runs
from simulator.stats import bootstrap_mean, share
from trees.model import task_type

_DECIDED: Final = {"rule": "the rule", "judges": "judges", "people": "reviewers"}
_BARS: Final = " ▁▂▃▄▅▆▇█"
_LONGEST: Final = 14  # provider responses
_MOST: Final = 12  # bars of a figure of counts
_SCORES: Final = ("success", "needs_judge", "reached", "aqd", "aql", "decided_by")
_COLUMNS: Final = ("language", "number", "type", "item", "ended", *_SCORES)


def run_sections(source: Frames) -> Iterator[Section]:
    """Yield a section for each run."""
    for run in source.runs:
        yield run_section(
            source.reader, run, exclude_aborted=source.exclude_aborted, draws=bool(source.draws)
        )


def run_section(
    reader: LogReader, run: str, *, exclude_aborted: bool = False, draws: bool = False
) -> Section:
    """Return everything that is told of a run.

    Its data say how many episodes have no scores (failed, open, erased; aborted where they do not count),
    whose verdicts S is, and by language the share of dialogues that had succeeded within 1, 2, … responses.
    """
    scored = score_run(reader, run, exclude_aborted=exclude_aborted)
    frame = dialogue_frame(scored)
    judges = [pair._asdict() for pair in judge_agreement(scored, reader.judgments(run_id=run))]
    curves = {str(language): curve(group) for language, group in frame.groupby("language", sort=False)}
    decided_by = dict(Counter(frame["decided_by"]))
    tables = [_table(frame, "language", (3, 2, 1)), _table(frame, "type", (2, 1, 0))]
    return Section(
        name="dialogues",
        title=f"{run}: S, D and L with 95 % intervals",
        tables=tables if scored else [],
        figures=tuple(_figures(frame, slug(run))) if draws and scored else (),
        text="\n".join(_draw_bars(language, shares) for language, shares in curves.items()),
        remarks=[*_remarks(frame, decided_by, judges)],
        data={
            "run": run,
            "curve": curves,
            "unscored": sum(endings_of_runs(reader, [run]).statuses.values()) - len(scored),
            "decided_by": decided_by,
            "judges": judges,
        },
    )


def dialogue_frame(scored: Sequence[ScoredEpisode]) -> pd.DataFrame:
    """Return a row per dialogue: its task's language and type, its item, whether it ended, its scores."""
    rows = [
        (
            dialogue.task.language,
            dialogue.task.type,
            f"{dialogue.task.type}. {task_type(dialogue.task.type).name(dialogue.task.language)}",
            dialogue.episode.item_hash,
            dialogue.ended,
            *(getattr(dialogue.scores, name) for name in _SCORES),
        )
        for dialogue in scored
    ]
    return pd.DataFrame(rows, columns=_COLUMNS).astype({"reached": float})


def curve(dialogues: pd.DataFrame) -> tuple[float, ...]:
    """Return the share of dialogues won within 1, 2, … responses (Fig. 4)."""
    return tuple(float((dialogues["reached"] <= limit).mean()) for limit in range(1, _LONGEST + 1))


def _table(frame: pd.DataFrame, by: str, digits: tuple[int, int, int]) -> Table:
    """Return S of all dialogues, where aborted ones are unsuccessful, D and L of those that ended.

    S has Wilson's interval, of items played several times a bootstrap interval over items, as D and L have;
    n counts items.
    """
    cells: list[list[Cell]] = []
    for label, group in frame.groupby(by, sort=False):
        success = share(group["success"].tolist(), group["item"].tolist())
        ended = group[group["ended"]]
        items = ended["item"].tolist()
        lengths = (
            bootstrap_mean(ended[name].tolist(), items, bounds=None) if items else None
            for name in ("aqd", "aql")
        )
        waiting, aborted = int(group["needs_judge"].sum()), len(group) - len(ended)
        cells.append([str(label), success.n, success, *lengths, waiting, aborted])
    numbers = [Column("n", 0), *map(Column, "SDL", digits), Column("to judge", 0), Column("aborted", 0)]
    return Table([by, *numbers], cells, f"By {by}", f"by_{by}")


def _draw_bars(language: str, shares: Sequence[float]) -> str:
    bars = "".join(_BARS[round(share * (len(_BARS) - 1))] for share in shares)
    steps = "  ".join(f"{n}: {share:.2f}" for n, share in enumerate(shares, 1) if n % 2 == 0)
    return f"success by number of responses ({language})  {bars}  {steps}"


def _remarks(
    frame: pd.DataFrame, decided_by: Mapping[str, int], judges: Sequence[Mapping[str, Any]]
) -> Iterator[str]:
    if aborted := len(frame) - sum(frame["ended"]):
        yield (
            f"{aborted} {'dialogue' if aborted == 1 else 'dialogues'} that a failing seat aborted "
            f"{'counts' if aborted == 1 else 'count'} as unsuccessful in S, and in neither D "
            "nor L (--exclude-aborted leaves them out)."
        )
    if waiting := sum(frame["needs_judge"]):
        yield (
            f"{waiting} {'dialogue needs' if waiting == 1 else 'dialogues need'} a judge (counted as not "
            "successful): askback score RUN --judge MODEL, or a reviewer in the app."
        )
    if decided_by.keys() - {"rule"}:
        shares = ", ".join(f"{count} by {_DECIDED[who]}" for who, count in sorted(decided_by.items()))
        yield f"S is decided in {shares}; people stand above judges, and most of each count."
    for pair in judges:
        kappa = "" if pair["kappa"] is None else f", κ {pair['kappa']:.3f}"
        same = f"say the same of {pair['equal']} of {pair['n']} dialogues{kappa}"
        yield f"{pair['first']} and {pair['second']} {same}"


def _figures(frame: pd.DataFrame, run: str) -> Iterator[Figure]:
    groups = [(str(language), group) for language, group in frame.groupby("language", sort=False)]
    responses = range(1, _LONGEST + 1)
    curves = [Line(name, responses, curve(group), n=len(group)) for name, group in groups]
    yield Figure(
        f"{run}-curve",
        "Success by number of provider responses",
        [Panel("", "provider responses", "success", curves)],
        "Share of dialogues in which the seeker knew everything after so many responses of the provider.",
    )
    yield Figure(
        f"{run}-types",
        "Success by task type",
        [Panel("", "task type", "success", [_types(name, group) for name, group in groups])],
        "Bars are success rates, lines their 95 % intervals.",
    )
    ended = {name: group[group["ended"]] for name, group in groups if group["ended"].any()}
    if not ended:
        return
    yield Figure(
        f"{run}-replies",
        "Extra replies (D)",
        [_counts("extra replies", {name: group["aqd"].tolist() for name, group in ended.items()})],
        "Provider replies beyond those that the item holds, and the number of dialogues with so many.",
    )
    yield Figure(
        f"{run}-lengths",
        "Length of the seeker's turns (L)",
        [_counts("mean length", {name: group["aql"].tolist() for name, group in ended.items()})],
        "Mean length of a dialogue's seeker turns: blanks in English, characters in Chinese.",
    )


def _types(name: str, dialogues: pd.DataFrame) -> Bars:
    shares = {
        f"{number}. {task_type(str(number)).en}": share(group["success"].tolist(), group["item"].tolist())
        for number, group in dialogues.groupby("number")
    }
    return Bars.of(name, shares.items())


def _counts(label: str, values: Mapping[str, Sequence[float]]) -> Panel:
    """Return how many dialogues have which value; values in bins where there are many."""
    every = [value for held in values.values() for value in held]
    width = max(1, math.ceil((max(every) - min(every) + 1) / _MOST))
    low = math.floor(min(every))
    bins = range(int((max(every) - low) // width) + 1)
    names = [f"{low + place * width}" if width == 1 else f"{low + place * width}–" for place in bins]
    marks = []
    for name, held in values.items():
        counts = Counter(int((value - low) // width) for value in held)
        marks.append(Bars(name, names, [counts[place] for place in bins], n=len(held)))
    return Panel("", label, "dialogues", marks, y_range=None)
