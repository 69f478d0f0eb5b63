"""Reports on runs: the shape of the paper's Table 2, results by level and by questions, what these bring.

Which episodes count, and whose they are, is the shared frame's word (`simulator.frames`); scores are computed
from the logged turns, not taken from the score rows, which are a copy.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import astuple, fields
from itertools import pairwise
from typing import Any, Final

import pandas as pd

from logs import LogReader
from simulator import frames
from simulator.figures import Cell, Column, Table
from simulator.frames import Frames
from simulator.handmethat.items import LEVELS, describe_sample, makeup, stratum_of, task_from_row
from simulator.handmethat.score import EpisodeScores, score_episode
from simulator.reporting import Section
from simulator.runner.logged import PERSON
from simulator.stats import Interval, bootstrap_mean, paired_bootstrap, share

ALL: Final = "all"
"""Stands for all levels together."""
_SUCCESS: Final = Column("success", 1, times=100)
_NUMBERS: Final = ("n", Column("score", 1), _SUCCESS, Column("moves", 1), Column("raw_sum", 1))
_SHARED: Final = ["run", "episode", "item", "language", "repeat", "participant", "status", "seat.human"]
"""Columns of the shared frame that are used here."""
_SETTING: Final = ["robot", "mode", "protocol", "allowed"]


def run_sections(source: Frames) -> Iterator[Section]:
    """Yield what the items are, results by level and by questions asked, the gain per question allowed."""
    episodes = scored_episodes(source.reader, source.runs, exclude_aborted=source.exclude_aborted)
    yield items_section(source, len(episodes))
    if len(episodes):
        yield levels_section(episodes)
    free = episodes[episodes["protocol"] == "free"]
    if len(free):
        title = "Success (%) and score by the number of questions asked"
        yield Section(name="asked", title=title, tables=[asked_table(free)])
    if (gains := gains_table(free)).rows:
        title = "Gain per question allowed, over the same items: success (%) and score"
        yield Section(name="gains", title=title, tables=[gains])


def scored_episodes(reader: LogReader, runs: Sequence[str], *, exclude_aborted: bool = False) -> pd.DataFrame:
    """Return the shared frame's episodes with their scores, in the order in which tables show the robots.

    Beside that frame's columns and those of `EpisodeScores` there are ``robot``, who sat there (without the
    number of questions in its name), ``allowed``, the questions that it might ask at most (missing: any
    number), and ``hash``, the item's. People come first, then robots by name; partial observability before
    full. What a failing seat aborted is a failure.
    """
    names, rows = [field.name for field in fields(EpisodeScores)], []
    counted = frames.episodes(reader, runs, exclude_aborted=exclude_aborted)
    counted = counted.reindex(columns=_SHARED).astype({"episode": object})
    counting = set(counted["episode"])
    for run in runs:
        tasks = {item.hash: task_from_row(item) for item in reader.items(run)}
        for episode, turns in reader.turns_of_run(run):
            if episode.id in counting:
                scores = score_episode(tasks[episode.item_hash], turns, episode.options)
                robot, allowed = _asking_robot(episode.seats["robot"], episode.options.get("max_questions"))
                allowed = 0 if scores.protocol == "paper" else allowed
                rows.append([*astuple(scores), episode.id, episode.item_hash, robot, allowed])
    scored = pd.DataFrame(rows, columns=[*names, "episode", "hash", "robot", "allowed"])
    frame = counted.merge(scored, on="episode")
    order = frame.assign(
        robots=frame["robot"] != PERSON,
        full=frame["mode"] == "full",
        most=frame["allowed"].fillna(-1).astype(int),
        place=frame["run"].map({run: place for place, run in enumerate(runs)}),
    )
    # Intervals are resampled, and must not depend on which episode happened to end first.
    within = ["place", "level", "item", "language", "repeat"]
    order = order.sort_values(["robots", "robot", "full", "protocol", "most", *within])
    return order[[*frame]].reset_index(drop=True)


def _asking_robot(name: str, most: int | None) -> tuple[str, int | None]:
    """Return a robot's name without the number of its questions, and how many it might ask at most."""
    base, _, number = name.partition(":")
    if base == "offline/asker" and number.isdigit():
        return base, int(number) if most is None else min(int(number), most)
    return name, most


def items_section(source: Frames, scored: int) -> Section:
    """Return what the items of runs are, how they were drawn, and how many episodes have no scores."""
    reader = source.reader
    makeups = {run: makeup(stratum_of(item.data) for item in reader.items(run)) for run in source.runs}
    samples = {run: drawn for run in source.runs if (drawn := reader.run(run).config.get("sample"))}
    begun = sum(len(reader.episodes(run, latest=True)) for run in source.runs)
    return Section(
        name="items",
        title="Items",
        remarks=[f"{run}: {describe_sample(made, samples.get(run, {}))}" for run, made in makeups.items()],
        data={"items": makeups, "samples": samples, "unscored": begun - scored},
    )


def levels_section(episodes: pd.DataFrame) -> Section:
    """Return the table of the paper, and the same by level with intervals."""
    results = level_results(episodes)
    columns: list[Column | str] = ["level", *_SETTING, "label", *_NUMBERS]
    return Section(
        name="levels",
        title="Score, success (%) and moves of successes by level",
        tables=[paper_table(results), Table.of_frame(results, columns, "With 95 % intervals", "exact")],
        remarks=["* full observability"],
    )


def level_results(episodes: pd.DataFrame) -> pd.DataFrame:
    """Return a row per robot, mode, protocol and number of questions allowed at each level, then at all.

    Beside these (``level`` is a text) it has a ``label`` as the paper has it, and `summarise`'s columns.
    """
    rows = []
    for (robot, mode, protocol, most), group in _groups(episodes, _SETTING):
        allowed = None if pd.isna(most) else int(most)
        label = _label(robot, mode, protocol, allowed)
        for level, at_level in _levels(group, last=True):
            who = {"robot": robot, "mode": mode, "protocol": protocol, "allowed": allowed}
            rows.append(
                {**who, "level": ALL if level is None else str(level), "label": label, **summarise(at_level)}
            )
    return pd.DataFrame(rows).astype(object)


def summarise(episodes: pd.DataFrame) -> dict[str, Any]:
    """Return what some episodes come to, at least one.

    Returns:
        ``n`` items; ``score`` and ``moves`` (of the successes; None without any) with bootstrap intervals,
        ``success`` with Wilson's, or of items played several times a bootstrap interval over items;
        ``raw_sum``, the running sum of rewards, as the score.
    """
    items, moved = episodes["hash"].tolist(), episodes.dropna(subset="moves_of_success")
    success = share(episodes["success"].astype(bool).tolist(), items)
    moves = moved["moves_of_success"].astype(float).tolist()
    return {
        "n": success.n,
        "score": bootstrap_mean(episodes["score"].tolist(), items, bounds=None),
        "success": success,
        "moves": bootstrap_mean(moves, moved["hash"].tolist(), bounds=None) if moves else None,
        "raw_sum": bootstrap_mean(episodes["raw_sum"].astype(float).tolist(), items, bounds=None),
    }


def paper_table(results: pd.DataFrame) -> Table:
    """Return the paper's Table 2: a row per robot, a column per level."""
    cells = results.apply(lambda row: paper_cell(row, row["robot"] == PERSON), axis=1)
    by_level = dict(zip(zip(results["label"], results["level"], strict=True), cells, strict=True))
    levels = {**{f"Level {level}": str(level) for level in LEVELS}, ALL: ALL}
    rows: list[list[Cell]] = [
        [label, *(by_level.get((label, level)) for level in levels.values())]
        for label in results["label"].unique()
    ]
    return Table(["Robot", *levels], rows, "Score (success in per cent, moves of successes)", "paper")


def paper_cell(result: Any, person: bool = False) -> str:
    """Return a cell as the paper prints it: ``88.9 (94.9, 4.2)``; of people only success and moves."""
    success, moves = f"{100 * result['success'].value:.1f}", result["moves"]
    inner = success if moves is None else f"{success}, {moves.value:.1f}"
    # PAPER has no scores of people, who are not told about points.
    return f"({inner})" if person else f"{result['score'].value:.1f} ({inner})"


def asked_table(episodes: pd.DataFrame) -> Table:
    """By robot and mode, of all levels and of each: a row per number of questions asked and answered."""
    rows: list[list[Cell]] = []
    for (robot, mode), group in _groups(episodes, ["robot", "mode"]):
        for level, at_level in _levels(group):
            for questions in sorted(at_level["questions"].unique()):
                asked = at_level[at_level["questions"] == questions]
                rows.append([robot, mode, level, int(questions), *summarise(asked).values()])
    return Table(["robot", "mode", "level", "questions", *_NUMBERS], rows, "By questions asked", "asked")


def gains_table(episodes: pd.DataFrame) -> Table:
    """Return what each further question allowed brings, paired over items (and repeats) that both had.

    Success and score are mean differences per question, with a bootstrap interval over pairs.
    """
    rows: list[list[Cell]] = []
    allowed = episodes.dropna(subset="allowed")
    for (robot, mode), group in _groups(allowed, ["robot", "mode"]):
        for level, at_level in _levels(group):
            for fewer, more in pairwise(sorted(at_level["allowed"].unique())):
                played = at_level.drop_duplicates(["allowed", *_PAIRED], keep="last").set_index("allowed")
                pairs = played.loc[[fewer]].merge(played.loc[[more]], on=_PAIRED)
                if len(pairs):
                    gains = (_gain(pairs, measure, more - fewer) for measure in ("success", "score"))
                    rows.append([robot, mode, level, int(fewer), int(more), *gains])
    columns: list[Column | str] = ["robot", "mode", "level", "fewer", "more", _SUCCESS, Column("score", 1)]
    return Table(columns, rows, "Per question allowed", "gains")


_PAIRED: Final = ["item", "language", "repeat", "seat.human"]
"""What is the same of two episodes that a gain is the difference of."""


def _gain(pairs: pd.DataFrame, measure: str, questions: int) -> Interval:
    fewer, more = (pairs[f"{measure}_{side}"].astype(float) / questions for side in ("x", "y"))
    return paired_bootstrap(fewer.tolist(), more.tolist(), pairs["item"].tolist())


def _groups(episodes: pd.DataFrame, by: list[str]) -> Iterator[tuple[tuple[Any, ...], pd.DataFrame]]:
    """Yield the groups of episodes in the order in which they come, those with missing values, too."""
    groups: Any = episodes.groupby(by, sort=False, dropna=False)
    yield from groups


def _levels(episodes: pd.DataFrame, *, last: bool = False) -> Sequence[tuple[Any, pd.DataFrame]]:
    """Return episodes of each level, and those of all, whose level is None, first or `last`."""
    by_level = [
        (level, at_level) for level in LEVELS if len(at_level := episodes[episodes["level"] == level])
    ]
    return [*by_level, (None, episodes)] if last else [(None, episodes), *by_level]


def _label(robot: str, mode: str, protocol: str, allowed: int | None) -> str:
    """Return a robot as the paper names it: with an asterisk for full observability."""
    name = f"{robot}{'*' if mode == 'full' else ''}"
    if protocol == "paper":
        return f"{name}, one try"
    return name if allowed is None else f"{name}, {allowed} question{'s'[: allowed != 1]}"
