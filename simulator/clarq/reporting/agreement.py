"""What reviews add up to: the provider's error rates, the seekers' failures, agreement (paper VI-C, VI-G)."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from operator import eq

from logs.rows import Judgment, Turn
from simulator.clarq.playing import PROVIDER
from simulator.clarq.review import Failure, ProviderMark, Review, read_reviews
from simulator.clarq.score import (
    REVIEW_SUCCESS,
    SUCCESS,
    Scored,
    judge_decides,
    judge_verdicts,
    reviewer_verdicts,
)
from simulator.judging.agreement import cluster_kappa
from simulator.runner.turns import task_turns
from simulator.stats import Interval, cluster_bootstrap, cohen_kappa, wilson

Turns = Mapping[str, Sequence[Turn]]
Reviews = Mapping[tuple[str, str], Review]


@dataclass(frozen=True, slots=True)
class ErrorRate:
    """The rate of one kind of the provider's errors.

    Attributes:
        error: ``type_1``, ``type_2`` or ``hallucination``.
        per_100: errors per 100 provider turns, with an interval from resampling whole clusters; Wilson's
            where there is no error.
    """

    error: str
    count: int
    per_100: Interval


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorRates:
    """The provider's errors over all finished reviews.

    Attributes:
        rates: one per kind of error; empty if no review is finished.
        turns: provider turns reviewed, the greeting left out; a turn that two people reviewed counts twice.
        failures: why nodes were missing -> how many.
    """

    rates: tuple[ErrorRate, ...]
    turns: int
    dialogues: int
    failures: Mapping[Failure, int]


@dataclass(frozen=True, slots=True)
class Disagreement:
    """Two answers to one question that differ.

    Attributes:
        turn_number: the turn it is about, None for the whole dialogue.
        node: the missing node it is about, if it is about one.
        second: the second's.
        flagged: by the automatic rule alone the dialogue still needed a judge.
    """

    episode_id: str
    turn_number: int | None
    node: str | None
    first: str
    second: str
    flagged: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Agreement:
    """The agreement of two annotators on one question.

    Attributes:
        question: ``provider_error``, ``hallucination``, ``seeker_failure``, ``success`` or ``automatic``.
        observed: share of equal answers; dialogues are resampled whole for the interval.
        kappa: Cohen's; 1 where both always give the same one answer; None of a single answer, which says
            nothing of chance.
    """

    question: str
    observed: Interval
    kappa: Interval | None
    disagreements: tuple[Disagreement, ...]


def error_rates(judgments: Iterable[Judgment], turns: Turns) -> ErrorRates:
    """Return the provider's errors per 100 turns, out of all finished reviews.

    `turns`: the turns of each reviewed episode, which is resampled whole for the intervals.
    """
    finished = _finished(read_reviews(judgments), turns)
    marks = [
        (episode, review.provider.get(number, ProviderMark()))
        for (episode, _), review in finished.items()
        for number in _provider_turns(turns[episode])
    ]
    errors = {
        "type_1": [mark.type == 1 for _, mark in marks],
        "type_2": [mark.type == 2 for _, mark in marks],
        "hallucination": [mark.hallucination for _, mark in marks],
    }
    episodes = [episode for episode, _ in marks]
    return ErrorRates(
        rates=tuple(_rate(error, wrong, episodes) for error, wrong in errors.items() if marks),
        turns=len(marks),
        dialogues=len({episode for episode, _ in finished}),
        failures=Counter(failure for review in finished.values() for failure in review.seeker.values()),
    )


def reviewers(judgments: Iterable[Judgment]) -> tuple[str, ...]:
    """Return who has finished at least one review, in the order of their first marks."""
    done = [who for (_, who), review in read_reviews(judgments).items() if review.done]
    return tuple(dict.fromkeys(done))


def agreement(judgments: Iterable[Judgment], turns: Turns, first: str, second: str) -> tuple[Agreement, ...]:
    """Compare two reviewers on the dialogues both have finished, by question; empty if there are none."""
    finished = _finished(read_reviews(judgments), turns)
    answers: defaultdict[str, list[Disagreement]] = defaultdict(list)

    def answer(question: str, said: Sequence[str], turn: int | None = None, node: str | None = None) -> None:
        answers[question].append(Disagreement(episode, turn, node, said[0], said[1]))

    for episode in dict.fromkeys(episode for episode, _ in finished):
        both = [finished[episode, who] for who in (first, second) if (episode, who) in finished]
        if len(both) < 2:
            continue
        for number in _provider_turns(turns[episode]):
            marks = [review.provider.get(number, ProviderMark()) for review in both]
            answer("provider_error", [f"type_{mark.type}" for mark in marks], number)
            answer("hallucination", [_yes(mark.hallucination) for mark in marks], number)
        for node in dict.fromkeys(node for review in both for node in review.seeker):
            answer("seeker_failure", [review.seeker.get(node, "none") for review in both], node=node)
        answer("success", [_yes(bool(review.success)) for review in both])
    return tuple(_agreement(question, pairs) for question, pairs in answers.items())


def success_agreement(scored: Iterable[Scored], judgments: Iterable[Judgment]) -> Agreement | None:
    """Return the automatic success against what people said of the same dialogues (paper VI-C).

    The automatic one is the rule's and the judges', whatever reviewers have settled since. People are
    reviewers and those who played the provider; None if nobody has said anything.
    """
    by_id = {dialogue.episode.id: dialogue.automatic for dialogue in scored}
    verdicts: dict[tuple[str, str], bool] = {}
    for row in judgments:
        if row.kind in (SUCCESS, REVIEW_SUCCESS) and row.episode_id in by_id:
            verdicts[row.episode_id or "", row.annotator] = bool(row.value["success"])
    answers = [
        Disagreement(
            episode, None, None, _yes(by_id[episode].success), _yes(verdict), by_id[episode].needs_judge
        )
        for (episode, _), verdict in verdicts.items()
    ]
    return _agreement("automatic", answers) if answers else None


@dataclass(frozen=True, slots=True, kw_only=True)
class PairOfJudges:
    """The agreement of two judges of dialogues on their success.

    Attributes:
        n: dialogues that both have decided.
        equal: of how many they say the same.
        kappa: Cohen's; None for a single dialogue.
    """

    first: str
    second: str
    n: int
    equal: int
    kappa: float | None


def judge_agreement(scored: Iterable[Scored], judgments: Iterable[Judgment]) -> tuple[PairOfJudges, ...]:
    """Return every two reviewers and judges who decided on the success of the same dialogues."""
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
    pairs = []
    for first, second in combinations(votes, 2):
        both = [id for id in votes[first] if id in votes[second]]
        mine, theirs = ([votes[name][id] for id in both] for name in (first, second))
        if both:
            kappa = cohen_kappa(mine, theirs) if len(both) > 1 else None
            equal = sum(map(eq, mine, theirs))
            pairs.append(PairOfJudges(first=first, second=second, n=len(both), equal=equal, kappa=kappa))
    return tuple(pairs)


def _finished(reviews: Reviews, turns: Turns) -> dict[tuple[str, str], Review]:
    return {place: review for place, review in reviews.items() if review.done and place[0] in turns}


def _provider_turns(turns: Sequence[Turn]) -> list[int]:
    return [turn.number for turn in task_turns(turns) if turn.seat == PROVIDER and turn.number > 0]


def _yes(said: bool) -> str:
    return "yes" if said else "no"


def _rate(error: str, wrong: Sequence[bool], clusters: Sequence[Hashable]) -> ErrorRate:
    if any(wrong):
        rate = cluster_bootstrap([100.0 * erred for erred in wrong], clusters, bounds=(0, 100))
        return ErrorRate(error, sum(wrong), rate)
    # Resampling what never happened would claim certainty.
    return ErrorRate(error, 0, wilson(0, len(wrong)).times(100))


def _agreement(question: str, answers: Sequence[Disagreement]) -> Agreement:
    observed, kappa = cluster_kappa(
        [answer.first for answer in answers],
        [answer.second for answer in answers],
        [answer.episode_id for answer in answers],
    )
    differing = tuple(answer for answer in answers if answer.first != answer.second)
    known = kappa if len(answers) > 1 else None
    return Agreement(question=question, observed=observed, kappa=known, disagreements=differing)
