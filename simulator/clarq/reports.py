"""Report sections of a run (the paper's Tables I to V and Fig. 4) and of its reviews (paper VI-C, VI-G)."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from operator import eq
from typing import Any, Final, NamedTuple

import pandas as pd

from logs import LogReader
from logs.rows import Judgment
from simulator.clarq.data import PROVIDER
from simulator.clarq.review import ProviderMark, Review, read_reviews
from simulator.clarq.score import (
    REVIEW_SUCCESS,
    SUCCESS,
    ScoredEpisode,
    judge_decides,
    judge_verdicts,
    reviewer_verdicts,
    score_run,
)
from simulator.figures import Bars, Cell, Column, Figure, Line, Panel, Table
from simulator.frames import Frames
from simulator.judging.agreement import cluster_kappa
from simulator.reporting import Section, slug
from simulator.runner.logged import endings_of_runs
from simulator.runner.machines import task_turns
from simulator.stats import bootstrap_mean, cluster_bootstrap, cohen_kappa, half_up, share, wilson
from trees.model import task_type

_DECIDED: Final = {"rule": "the rule", "judges": "judges", "people": "reviewers"}
_BARS: Final = " ▁▂▃▄▅▆▇█"
_MAX_RESPONSES: Final = 14
_MAX_BARS: Final = 12  # in a figure of counts
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
    """Return the report section of a run.

    Its data have the number of episodes without scores (failed, open, erased; aborted if excluded),
    who decided S, and by language the share of dialogues that succeeded within 1, 2, … responses.
    """
    scored = score_run(reader, run, exclude_aborted=exclude_aborted)
    frame = dialogue_frame(scored)
    judges = list(judge_agreement(scored, reader.judgments(run_id=run)))
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
    """Return a row per dialogue: language and type of its task, item, whether it ended, and scores."""
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
    """Return the share of dialogues that succeeded within 1, 2, … responses (Fig. 4)."""
    return tuple(float((dialogues["reached"] <= limit).mean()) for limit in range(1, _MAX_RESPONSES + 1))


def _table(frame: pd.DataFrame, by: str, digits: tuple[int, int, int]) -> Table:
    """Return S of all dialogues (aborted ones are unsuccessful), and D and L of those that ended.

    S has Wilson's interval, or a bootstrap interval over items if items were played several times, as D and
    L have; n counts items.
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
    steps = "  ".join(f"{n}: {half_up(share)}" for n, share in enumerate(shares, 1) if n % 2 == 0)
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
        counts = ", ".join(f"{_DECIDED[who]} ({count})" for who, count in sorted(decided_by.items()))
        yield f"S was decided by {counts}; reviewers override judges, and the majority of each counts."
    for pair in judges:
        kappa = "" if pair["kappa"] is None else f", κ {pair['kappa']:.3f}"
        agree = f"agree on {pair['equal']} of {pair['n']} dialogues{kappa}"
        yield f"{pair['first']} and {pair['second']} {agree}"


def _figures(frame: pd.DataFrame, run: str) -> Iterator[Figure]:
    groups = [(str(language), group) for language, group in frame.groupby("language", sort=False)]
    responses = range(1, _MAX_RESPONSES + 1)
    curves = [Line(name, responses, curve(group), n=len(group)) for name, group in groups]
    yield Figure(
        f"{run}-curve",
        "Success by number of provider responses",
        [Panel("", "provider responses", "success", curves)],
        "Share of dialogues in which the seeker had obtained everything within this number of responses.",
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
        "Number of dialogues by provider replies beyond the number of responses in the item.",
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
    return Bars.from_intervals(name, shares.items())


def _counts(label: str, values: Mapping[str, Sequence[float]]) -> Panel:
    """Return a histogram for each group, with bins of several values if there are many."""
    pooled = [value for group in values.values() for value in group]
    width = max(1, math.ceil((max(pooled) - min(pooled) + 1) / _MAX_BARS))
    low = math.floor(min(pooled))
    bins = range(int((max(pooled) - low) // width) + 1)
    names = [f"{low + place * width}" if width == 1 else f"{low + place * width}–" for place in bins]
    marks = []
    for name, group in values.items():
        counts = Counter(int((value - low) // width) for value in group)
        marks.append(Bars(name, names, [counts[place] for place in bins], n=len(group)))
    return Panel("", label, "dialogues", marks, y_range=None)


Turns = Mapping[str, Sequence[int]]
"""Numbers of the provider's turns after the greeting, by episode."""
Reviews = Mapping[tuple[str, str], Review]
"""Finished reviews by episode and reviewer."""
_ERRORS: Final[Mapping[str, Callable[[ProviderMark], bool]]] = {
    "Type 1 · should have given a node": lambda mark: mark.type == 1,
    "Type 2 · should have given none": lambda mark: mark.type == 2,
    "Hallucination": lambda mark: mark.hallucination,
}
_REASONS: Final = {
    "overlooked": "Overlooked",
    "forgotten": "Forgotten",
    "hidden": "Hidden in a summary",
    "provider": "Provider’s fault",
}
_AUTOMATIC: Final = "Automatic against manual success"


class Answers(NamedTuple):
    """Two answers to one question about a dialogue; `flagged`: whether the rule left it to a judge."""

    question: str
    episode: str
    first: str
    second: str
    flagged: bool = False


def review_sections(reader: LogReader, run: str, hidden: Callable[[str], bool]) -> Iterator[Section]:
    """Yield sections on the provider's errors, agreement between reviewers, and automatic success.

    `hidden` returns True for an episode that must not be named because its viewer has yet to judge it.
    """
    judgments = list(reader.judgments(run_id=run))
    turns = {
        played.episode.id: [
            turn.number for turn in task_turns(played.turns) if turn.seat == PROVIDER and turn.number > 0
        ]
        for played in reader.turns_of_run(run)
    }
    finished = finished_reviews(judgments, turns)
    if errors := error_section(finished, turns):
        yield errors
        pairs = list(_pair_sections(finished, turns))
        remark = "No dialogue has been finished by two reviewers yet."
        yield from pairs or [Section(name="reviewers", title="Between reviewers", remarks=(remark,))]
    if automatic := success_answers(score_run(reader, run), judgments):
        differing = [answers for answers in automatic if answers.first != answers.second]
        rows = [
            (episode.removeprefix(f"{run}/"), first, second, "needed a judge" if flagged else "")
            for _, episode, first, second, flagged in differing
            if not hidden(episode)
        ]
        hidden_count = len(differing) - len(rows)
        hidden_remark = f"{hidden_count} more are hidden until you have reviewed those dialogues yourself."
        yield Section(
            name="automatic",
            title=_AUTOMATIC,
            tables=(measures(automatic), Table(("Dialogue", "Rule", "Person", ""), rows, "Disagreements")),
            remarks=(
                "The rule’s verdict compared with those of reviewers and of people who played the provider.",
                *([hidden_remark] if hidden_count else []),
            ),
        )


def finished_reviews(judgments: Iterable[Judgment], turns: Turns) -> Reviews:
    """Return the finished reviews of episodes in `turns`."""
    reviews = read_reviews(judgments)
    return {place: review for place, review in reviews.items() if review.done and place[0] in turns}


def error_section(finished: Reviews, turns: Turns) -> Section | None:
    """Return the section on the provider's errors per 100 turns; None if no turn has been reviewed.

    A turn with two reviews counts twice. Intervals resample dialogues; without any error, they are Wilson's.
    """
    reviewed = [(id, review, number) for (id, _), review in finished.items() for number in turns[id]]
    if not reviewed:
        return None
    marks = [review.provider.get(number, ProviderMark()) for _, review, number in reviewed]
    episodes = [id for id, _, _ in reviewed]
    errors = []
    for error, applies in _ERRORS.items():
        wrong = [100.0 * applies(mark) for mark in marks]
        # Resampling zeros would give an interval of zero width.
        never = wilson(0, len(wrong)).times(100)
        rate = cluster_bootstrap(wrong, episodes, bounds=(0, 100)) if any(wrong) else never
        errors.append((error, sum(map(bool, wrong)), rate))
    failures = Counter(failure for review in finished.values() for failure in review.seeker.values())
    reasons = [(_REASONS[failure], count) for failure, count in failures.items()]
    counted = f"{len(marks)} provider turns in {len({id for id, _ in finished})} dialogues"
    return Section(
        name="errors",
        title="Provider errors per 100 turns",
        tables=(
            Table(("Error", Column("Count", 0), Column("Per 100 turns", 1)), errors),
            Table(("Reason", Column("Count", 0)), reasons, "Why nodes were missing"),
        ),
        remarks=(f"{counted} whose reviews are finished; intervals resample whole dialogues.",),
    )


def _pair_sections(finished: Reviews, turns: Turns) -> Iterator[Section]:
    for first, second in combinations(dict.fromkeys(reviewer for _, reviewer in finished), 2):
        if answers := reviewer_answers(finished, turns, first, second):
            title = f"Reviewers {first} and {second}"
            yield Section(name=slug(title), title=title, tables=(measures(answers),))


def reviewer_answers(finished: Reviews, turns: Turns, first: str, second: str) -> list[Answers]:
    """Return the pairs of answers of two reviewers on the dialogues that both have finished."""
    answers: list[Answers] = []
    for episode in dict.fromkeys(episode for episode, _ in finished):
        both = [finished[episode, who] for who in (first, second) if (episode, who) in finished]
        if len(both) < 2:
            continue
        pairs: list[tuple[str, list[str]]] = []
        for number in turns[episode]:
            marks = [review.provider.get(number, ProviderMark()) for review in both]
            pairs.append(("Provider error (none, type 1, type 2)", [f"type_{mark.type}" for mark in marks]))
            pairs.append(("Hallucination", [_yes_no(mark.hallucination) for mark in marks]))
        for node in dict.fromkeys(node for review in both for node in review.seeker):
            pairs.append(("Reason of a missing node", [review.seeker.get(node, "none") for review in both]))
        pairs.append(("Success of the dialogue", [_yes_no(bool(review.success)) for review in both]))
        answers += [Answers(question, episode, first, second) for question, (first, second) in pairs]
    return answers


def success_answers(scored: Iterable[ScoredEpisode], judgments: Iterable[Judgment]) -> list[Answers]:
    """Return pairs of automatic and human verdicts on the success of the same dialogues (paper VI-C).

    The automatic verdict is that of rule and judges, before any reviewer's. The human verdicts are those of
    reviewers and of people who played the provider.
    """
    automatic = {dialogue.episode.id: dialogue.automatic for dialogue in scored}
    verdicts = {
        (row.episode_id or "", row.annotator): bool(row.value["success"])
        for row in judgments
        if row.kind in (SUCCESS, REVIEW_SUCCESS) and row.episode_id in automatic
    }
    return [
        Answers(_AUTOMATIC, id, _yes_no(automatic[id].success), _yes_no(verdict), automatic[id].needs_judge)
        for (id, _), verdict in verdicts.items()
    ]


def measures(answers: Sequence[Answers]) -> Table:
    """Return the share of equal answers to each question, and Cohen's κ.

    κ is undefined for a single pair, or if both always give the same answer.
    """
    rows = []
    for question, group in pd.DataFrame(answers).groupby("question", sort=False):
        observed, kappa = cluster_kappa(*(group[name].tolist() for name in ("first", "second", "episode")))
        rows.append((str(question), observed.n, observed, kappa if len(group) > 1 else None))
    return Table(("Question", Column("n", 0), Column("Agreement", 3), Column("Cohen’s κ", 3)), rows)


def judge_agreement(
    scored: Iterable[ScoredEpisode], judgments: Iterable[Judgment]
) -> Iterator[dict[str, Any]]:
    """Yield the agreement of every two reviewers or judges, ``first`` and ``second``, with common dialogues.

    ``n``: number of dialogues that both decided; ``equal``: number of equal verdicts; ``kappa``: Cohen's κ,
    None for a single dialogue or if both always give the same verdict.
    """
    rows: defaultdict[str, list[Judgment]] = defaultdict(list)
    for row in judgments:
        rows[row.episode_id or ""].append(row)
    votes: defaultdict[str, dict[str, bool]] = defaultdict(dict)
    for dialogue in scored:
        id, absent = dialogue.episode.id, dialogue.absent
        by_judge = judge_verdicts(rows[id])
        judges = {name: judge_decides(verdicts, absent) for name, verdicts in by_judge.items()}
        for name, vote in {**judges, **reviewer_verdicts(rows[id])}.items():
            if vote is not None:
                votes[name][id] = vote
    for first, second in combinations(votes, 2):
        both = [id for id in votes[first] if id in votes[second]]
        first_votes, second_votes = ([votes[name][id] for id in both] for name in (first, second))
        if both:
            kappa = cohen_kappa(first_votes, second_votes) if len(both) > 1 else None
            equal = sum(map(eq, first_votes, second_votes))
            yield {"first": first, "second": second, "n": len(both), "equal": equal, "kappa": kappa}


def _yes_no(value: bool) -> str:
    return "yes" if value else "no"
