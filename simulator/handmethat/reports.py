"""Reports on runs: the paper's Table 2, results by level and by questions asked, and gains per question.

The shared frame (`simulator.frames`) decides which episodes count. Scores are computed from the logged turns,
not read from the score rows, which are a copy.
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
from simulator.stats import Interval, bootstrap_mean, half_up, paired_bootstrap, share

ALL: Final = "all"
"""The label of all levels together."""
_SUCCESS: Final = Column("success", 1, times=100)
_NUMBERS: Final = ("n", Column("score", 1), _SUCCESS, Column("moves", 1), Column("raw_sum", 1))
_SHARED: Final = ["run", "episode", "item", "language", "repeat", "participant", "status", "seat.human"]
"""The columns of the shared frame that are used."""
_SEE_EVERYTHING: Final = ("offline/heuristic", "offline/heuristic:changes")
"""Robots that observe fully in either mode (spec 11.1)."""
_SETTING: Final = ["robot", "mode", "protocol", "allowed"]


def run_sections(source: Frames) -> Iterator[Section]:
    """Yield the sections on items, results by level and by questions asked, and gains per question."""
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
    """Return the shared frame's episodes with their scores, in the order of robots in the tables.

    Columns: those of the shared frame (`_SHARED`) and of `EpisodeScores`; ``robot``, the player's name
    without a number of questions; ``allowed``, the largest number of questions (missing: no limit);
    ``hash``, the item's hash. People come first, then robots by name; partial observability before
    full. An episode aborted by a failing seat is a failure.
    """
    names, rows = [field.name for field in fields(EpisodeScores)], []
    counted = frames.episodes(reader, runs, exclude_aborted=exclude_aborted)
    counted = counted.reindex(columns=_SHARED).astype({"episode": object})
    counted_ids = set(counted["episode"])
    for run in runs:
        tasks = {item.hash: task_from_row(item) for item in reader.items(run)}
        for episode, turns in reader.turns_of_run(run):
            if episode.id in counted_ids:
                scores = score_episode(tasks[episode.item_hash], turns, episode.options)
                robot, allowed = _asking_robot(episode.seats["robot"], episode.options.get("max_questions"))
                allowed = 0 if scores.protocol == "paper" else allowed
                rows.append([*astuple(scores), episode.id, episode.item_hash, robot, allowed])
    scored = pd.DataFrame(rows, columns=[*names, "episode", "hash", "robot", "allowed"])
    scored.loc[scored["robot"].isin(_SEE_EVERYTHING), "mode"] = "full"
    frame = counted.merge(scored, on="episode")
    order = frame.assign(
        robots=frame["robot"] != PERSON,
        full=frame["mode"] == "full",
        most=frame["allowed"].fillna(-1).astype(int),
        place=frame["run"].map({run: place for place, run in enumerate(runs)}),
    )
    # A fixed order, since resampled intervals must not depend on the order in which episodes ended.
    within = ["place", "level", "item", "language", "repeat"]
    order = order.sort_values(["robots", "robot", "full", "protocol", "most", *within])
    return order[[*frame]].reset_index(drop=True)


def _asking_robot(name: str, most: int | None) -> tuple[str, int | None]:
    """Return a robot's name without its number of questions, and the largest number of questions."""
    base, _, number = name.partition(":")
    if base == "offline/asker" and number.isdigit():
        return base, int(number) if most is None else min(int(number), most)
    return name, most


def items_section(source: Frames, scored: int) -> Section:
    """Return the section on the items of runs: composition, samples, and number of unscored episodes."""
    reader = source.reader
    makeups = {run: makeup(stratum_of(item.data) for item in reader.items(run)) for run in source.runs}
    samples = {run: drawn for run in source.runs if (drawn := reader.run(run).config.get("sample"))}
    started = sum(len(reader.episodes(run, latest=True)) for run in source.runs)
    return Section(
        name="items",
        title="Items",
        remarks=[f"{run}: {describe_sample(row, samples.get(run, {}))}" for run, row in makeups.items()],
        data={"items": makeups, "samples": samples, "unscored": started - scored},
    )


def levels_section(episodes: pd.DataFrame) -> Section:
    """Return the section with the paper's table, and the results by level with intervals."""
    results = level_results(episodes)
    columns: list[Column | str] = ["level", *_SETTING, "label", *_NUMBERS]
    sums = episodes.groupby("robot", sort=False)[["invalid", "moves"]].sum().query("invalid > 0")
    vain = (f"{robot}: {n} of {moves} moves had no effect" for robot, n, moves in sums.itertuples())
    return Section(
        name="levels",
        title="Score, success (%) and moves of successes by level",
        tables=[paper_table(results), Table.of_frame(results, columns, "With 95 % intervals", "exact")],
        remarks=[*(["* full observability"] if (episodes["mode"] == "full").any() else ()), *vain],
    )


def level_results(episodes: pd.DataFrame) -> pd.DataFrame:
    """Return a row per robot, mode, protocol and allowed questions, for each level and then for all.

    Columns: these (``level`` as a string), the paper's ``label``, and those of `summarise`.
    """
    rows = []
    for (robot, mode, protocol, most), group in _groups(episodes, _SETTING):
        allowed = None if pd.isna(most) else int(most)
        label = _label(robot, mode, protocol, allowed)
        for level, at_level in _levels(group, last=True):
            setting = {"robot": robot, "mode": mode, "protocol": protocol, "allowed": allowed}
            name = ALL if level is None else str(level)
            rows.append({**setting, "level": name, "label": label, **summarise(at_level)})
    return pd.DataFrame(rows, dtype=object)


def summarise(episodes: pd.DataFrame) -> dict[str, Any]:
    """Return the means of at least one episode, with intervals.

    Returns:
        ``n`` items; ``score``, ``raw_sum`` and ``moves`` (of the successes; None without any) with bootstrap
        intervals; ``success`` with Wilson's interval, or a bootstrap interval over items if these were played
        several times.
    """
    items, successes = episodes["hash"].tolist(), episodes.dropna(subset="moves_of_success")
    success = share(episodes["success"].astype(bool).tolist(), items)
    moves = successes["moves_of_success"].astype(float).tolist()
    return {
        "n": success.n,
        "score": bootstrap_mean(episodes["score"].tolist(), items, bounds=None),
        "success": success,
        "moves": bootstrap_mean(moves, successes["hash"].tolist(), bounds=None) if moves else None,
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
    """Return a cell as the paper prints it: ``88.9 (94.9, 4.2)``; for people only success and moves."""
    success, moves = half_up(100 * result["success"].value, 1), result["moves"]
    inner = success if moves is None else f"{success}, {half_up(moves.value, 1)}"
    # The paper has no scores of people, who do not see points.
    return f"({inner})" if person else f"{half_up(result['score'].value, 1)} ({inner})"


def asked_table(episodes: pd.DataFrame) -> Table:
    """Return a row per number of questions asked, by robot and mode, for all levels and for each."""
    rows: list[list[Cell]] = []
    for (robot, mode), group in _groups(episodes, ["robot", "mode"]):
        for level, at_level in _levels(group):
            for questions in sorted(at_level["questions"].unique()):
                asked = at_level[at_level["questions"] == questions]
                rows.append([robot, mode, level, int(questions), *summarise(asked).values()])
    return Table(["robot", "mode", "level", "questions", *_NUMBERS], rows, "By questions asked", "asked")


def gains_table(episodes: pd.DataFrame) -> Table:
    """Return the gain of each additional allowed question, paired over common items (and repeats).

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
"""The columns in which the two episodes of a pair agree."""


def _gain(pairs: pd.DataFrame, measure: str, questions: int) -> Interval:
    fewer, more = (pairs[f"{measure}_{side}"].astype(float) / questions for side in ("x", "y"))
    return paired_bootstrap(fewer.tolist(), more.tolist(), pairs["item"].tolist())


def _groups(episodes: pd.DataFrame, by: list[str]) -> Iterator[tuple[tuple[Any, ...], pd.DataFrame]]:
    """Yield the groups of episodes in order of appearance, including those with missing values."""
    groups: Any = episodes.groupby(by, sort=False, dropna=False)
    yield from groups


def _levels(episodes: pd.DataFrame, *, last: bool = False) -> Sequence[tuple[Any, pd.DataFrame]]:
    """Return the episodes of each level, and all episodes (level None) first or `last`."""
    by_level = [
        (level, at_level) for level in LEVELS if len(at_level := episodes[episodes["level"] == level])
    ]
    return [*by_level, (None, episodes)] if last else [(None, episodes), *by_level]


def _label(robot: str, mode: str, protocol: str, allowed: int | None) -> str:
    """Return the paper's label of a robot, with an asterisk for full observability."""
    name = f"{robot}{'*' if mode == 'full' else ''}"
    if protocol == "paper":
        return f"{name}, one try"
    return name if allowed is None else f"{name}, {allowed} question{'s'[: allowed != 1]}"
