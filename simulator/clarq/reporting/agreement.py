"""What reviews add up to: the provider's error rates, the seekers' failures, agreement (paper VI-C, VI-G)."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from operator import eq
from typing import Final, NamedTuple

import pandas as pd

from logs import LogReader
from logs.rows import Judgment
from simulator.clarq.playing import PROVIDER
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
from simulator.figures import Column, Table
from simulator.judging.agreement import cluster_kappa
from simulator.reporting import Section, slug
from simulator.runner.turns import task_turns
from simulator.stats import cluster_bootstrap, cohen_kappa, wilson

Turns = Mapping[str, Sequence[int]]
"""By episode the numbers of the provider's turns, the greeting left out."""
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
    """Two answers to one question about a dialogue.

    Attributes:
        flagged: by the automatic rule alone the dialogue still needed a judge.
    """

    question: str
    episode: str
    first: str
    second: str
    flagged: bool = False


def review_sections(reader: LogReader, run: str, hidden: Callable[[str], bool]) -> Iterator[Section]:
    """Yield the provider's errors, agreement of every two reviewers, and the rule against people.

    `hidden`: returns True of an episode whose success somebody is still to judge: it is not named.
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
        remark = "A second reviewer has still to finish a dialogue that the first has finished."
        yield from pairs or [Section(name="reviewers", title="Between reviewers", remarks=(remark,))]
    if automatic := success_answers(score_run(reader, run), judgments):
        differing = [answers for answers in automatic if answers.first != answers.second]
        rows = [
            (episode.removeprefix(f"{run}/"), first, second, "needed a judge" if flagged else "")
            for _, episode, first, second, flagged in differing
            if not hidden(episode)
        ]
        held = len(differing) - len(rows)
        yield Section(
            name="automatic",
            title=_AUTOMATIC,
            tables=(measures(automatic), Table(("Dialogue", "Rule", "Person", ""), rows, "Disagreements")),
            remarks=(
                "The rule’s verdict against what reviewers, and people who played the provider, ticked.",
                *([f"{held} more are hidden until you have reviewed those dialogues yourself."] * (held > 0)),
            ),
        )


def finished_reviews(judgments: Iterable[Judgment], turns: Turns) -> Reviews:
    """Return the finished reviews of episodes that have turns."""
    reviews = read_reviews(judgments)
    return {place: review for place, review in reviews.items() if review.done and place[0] in turns}


def error_section(finished: Reviews, turns: Turns) -> Section | None:
    """Return the provider's errors per 100 turns; None if no turn has been reviewed.

    A turn that two people reviewed counts twice. Intervals resample whole dialogues; Wilson's where there is
    no error.
    """
    marks = [
        (episode, review.provider.get(number, ProviderMark()))
        for (episode, _), review in finished.items()
        for number in turns[episode]
    ]
    if not marks:
        return None
    errors = []
    for error, holds in _ERRORS.items():
        wrong = [holds(mark) for _, mark in marks]
        # Resampling what never happened would claim certainty.
        rate = (
            cluster_bootstrap([100.0 * erred for erred in wrong], [id for id, _ in marks], bounds=(0, 100))
            if any(wrong)
            else wilson(0, len(wrong)).times(100)
        )
        errors.append((error, sum(wrong), rate))
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
    """Return what two reviewers say of the dialogues that both have finished."""
    answers: list[Answers] = []
    for episode in dict.fromkeys(episode for episode, _ in finished):
        both = [finished[episode, who] for who in (first, second) if (episode, who) in finished]
        if len(both) < 2:
            continue
        said: list[tuple[str, list[str]]] = []
        for number in turns[episode]:
            marks = [review.provider.get(number, ProviderMark()) for review in both]
            said.append(("Provider error (none, type 1, type 2)", [f"type_{mark.type}" for mark in marks]))
            said.append(("Hallucination", [_yes(mark.hallucination) for mark in marks]))
        for node in dict.fromkeys(node for review in both for node in review.seeker):
            said.append(("Reason of a missing node", [review.seeker.get(node, "none") for review in both]))
        said.append(("Success of the dialogue", [_yes(bool(review.success)) for review in both]))
        answers += [Answers(question, episode, first, second) for question, (first, second) in said]
    return answers


def success_answers(scored: Iterable[ScoredEpisode], judgments: Iterable[Judgment]) -> list[Answers]:
    """Return the automatic success beside what people said of the same dialogues (paper VI-C).

    The automatic one is the rule's and the judges', whatever reviewers have settled since. People are
    reviewers and those who played the provider.
    """
    automatic = {dialogue.episode.id: dialogue.automatic for dialogue in scored}
    verdicts = {
        (row.episode_id or "", row.annotator): bool(row.value["success"])
        for row in judgments
        if row.kind in (SUCCESS, REVIEW_SUCCESS) and row.episode_id in automatic
    }
    return [
        Answers(_AUTOMATIC, id, _yes(automatic[id].success), _yes(verdict), automatic[id].needs_judge)
        for (id, _), verdict in verdicts.items()
    ]


def measures(answers: Sequence[Answers]) -> Table:
    """Return the share of equal answers to each question, and Cohen's κ.

    There is none where both always give the same one answer, or of a single one: it says nothing of chance.
    """
    rows = []
    for question, group in pd.DataFrame(answers).groupby("question", sort=False):
        observed, kappa = cluster_kappa(*(group[name].tolist() for name in ("first", "second", "episode")))
        rows.append((str(question), observed.n, observed, kappa if len(group) > 1 else None))
    return Table(("Question", Column("n", 0), Column("Agreement", 3), Column("Cohen’s κ", 3)), rows)


class PairOfJudges(NamedTuple):
    """The agreement of two judges of dialogues on their success.

    Attributes:
        n: dialogues that both have decided.
        equal: of how many they say the same.
        kappa: Cohen's; None where both always say the same one thing, or for a single dialogue.
    """

    first: str
    second: str
    n: int
    equal: int
    kappa: float | None


def judge_agreement(scored: Iterable[ScoredEpisode], judgments: Iterable[Judgment]) -> Iterator[PairOfJudges]:
    """Yield every two reviewers and judges who decided on the success of the same dialogues."""
    rows: defaultdict[str, list[Judgment]] = defaultdict(list)
    for row in judgments:
        rows[row.episode_id or ""].append(row)
    votes: defaultdict[str, dict[str, bool]] = defaultdict(dict)
    for dialogue in scored:
        id, own = dialogue.episode.id, rows[dialogue.episode.id]
        judges = {name: judge_decides(said, dialogue.absent) for name, said in judge_verdicts(own).items()}
        for name, vote in {**judges, **reviewer_verdicts(own)}.items():
            if vote is not None:
                votes[name][id] = vote
    for first, second in combinations(votes, 2):
        both = [id for id in votes[first] if id in votes[second]]
        mine, theirs = ([votes[name][id] for id in both] for name in (first, second))
        if both:
            kappa = cohen_kappa(mine, theirs) if len(both) > 1 else None
            yield PairOfJudges(first, second, len(both), sum(map(eq, mine, theirs)), kappa)


def _yes(said: bool) -> str:
    return "yes" if said else "no"
