"""Sorting what participants say the task is about (spec section 8; paper App. A).

A rater sees an output and the salient feature, never the model, and sorts the output into one of three
categories. Two raters sort each output; where they differ, a third decides. Raters may change their mind, and
who was asked to decide stays the one who decides.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Final, Literal, get_args

from logs import LogReader
from logs.rows import Judgment
from simulator.ambibench.features import VALUES, Feature
from simulator.ambibench.prompt import Prompt
from simulator.ambibench.rows import BENCHMARK, item_from_row
from simulator.errors import InputError
from simulator.judging import Form, JudgingForm, Opinions, in_own_order, require_known, third_decides
from simulator.judging.agreement import cluster_kappa
from simulator.runner.logged import played_to_end, required_run
from simulator.stats import Interval

Category = Literal["correct", "incorrect", "other"]
CATEGORIES: Final[tuple[Category, ...]] = get_args(Category)
"""Names the salient feature in any words; names another; names no task."""
KIND: Final = "ambibench.category"
RATERS: Final = 2
RESAMPLES: Final = 1000


class Mark(Form):
    """The category that a rater sorted an output into."""

    category: Category


CODING: Final = JudgingForm(kind=KIND, model=Mark, about="episode")
Said = Mapping[str, Opinions[Mark]]
"""By episode; raters in the order in which they first sorted it, and a third decides."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Output:
    """What a rater sees of one output.

    Attributes:
        token: names the output without telling whose it is; `episode_of` knows.
        text: as it was written.
        feature: the salient one, with the names of its two values.
    """

    token: str
    text: str
    feature: Feature
    values: tuple[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Disagreement:
    """An output that two raters sorted differently.

    Attributes:
        first: the category by the first of the two; `second` by the other.
        decided: the third's word, None before there is one.
    """

    episode_id: str
    first: Category
    second: Category
    decided: Category | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Agreement:
    """How far two raters sort alike.

    Attributes:
        raters: the two, in the order of their names.
        observed: share of equal categories, with a bootstrap interval over outputs.
        kappa: Cohen's, likewise; 1 if both always say the same one thing.
        disagreements: where they differ; `first` is of the first of `raters`.
    """

    raters: tuple[str, str]
    observed: Interval
    kappa: Interval
    disagreements: tuple[Disagreement, ...]


def to_code(reader: LogReader, runs: str | Sequence[str], rater: str) -> tuple[Output, ...]:
    """Return the outputs that `rater` is to sort next, blind, in an order of the rater's own.

    Left out is what the rater has sorted, and what two others have.

    Args:
        reader: of the log.
        runs: runs of setting ``verbalise``; of several, the outputs come mixed.
        rater: the rater's pseudonym.

    Raises:
        InputError: if a run has no such outputs.
    """
    due = (output for output, said in _with_opinions(reader, runs) if said.awaits(rater, RATERS))
    return in_own_order(due, "coding", rater, lambda output: output.token)


def to_decide(reader: LogReader, runs: str | Sequence[str], rater: str) -> tuple[Output, ...]:
    """The outputs that two others sorted differently and nobody has decided; what they said is not told.

    Raises:
        InputError: as for `to_code`.
    """
    due = (
        output
        for output, said in _with_opinions(reader, runs)
        if said.differs(_category) and rater not in said.blind
    )
    return in_own_order(due, "coding", rater, lambda output: output.token)


def episode_of(reader: LogReader, runs: str | Sequence[str], token: str) -> str:
    """Return the episode whose output is called `token`.

    Raises:
        InputError: if there is none.
    """
    for episode, output in outputs(reader, runs).items():
        if output.token == token:
            return episode
    raise InputError(f"There is no output {token!r} to be sorted.", code="no_output", token=token)


def mark(episode_id: str, rater: str, category: str, *, key: str) -> Judgment:
    """Return the row that says what a rater sorted an output into.

    Args:
        episode_id: whose output it is.
        rater: the rater's pseudonym.
        category: one of `CATEGORIES`.
        key: of this submission; the same key is the same mark.

    Raises:
        InputError: if there is no such category.
    """
    require_known([category], CATEGORIES, "category")
    form = Mark.model_validate({"category": category})
    return CODING.judgment(episode_id, rater, form, submission=key)


def codes(judgments: Iterable[Judgment]) -> dict[str, dict[str, Category]]:
    """What each rater sorted each output into, out of judgments in the order in which they were written."""
    said = CODING.opinions(judgments)
    return {
        episode: {rater: form.category for rater, form in opinions.blind.items()}
        for episode, opinions in said.items()
    }


def settled(judgments: Iterable[Judgment]) -> dict[str, Category]:
    """Return the category of each output: what one rater or two agreeing say, else what a third decides.

    Outputs that two sorted differently and nobody has decided are left out.
    """
    forms = {episode: opinions.settled(_category) for episode, opinions in _said(judgments).items()}
    return {episode: form.category for episode, form in forms.items() if form is not None}


def agreement(judgments: Iterable[Judgment], *, seed: int = 0) -> tuple[Agreement, ...]:
    """Agreement of every two raters who sorted outputs in common.

    The word of a third, who sees nothing but what others differ on, is not compared.

    Args:
        judgments: in the order in which they were written.
        seed: of the resampling.
    """
    pairs: dict[tuple[str, str], list[Disagreement]] = {}
    for episode, opinions in _said(judgments).items():
        if len(opinions.blind) < RATERS:
            continue
        first, second = sorted(opinions.blind)
        compared = Disagreement(
            episode_id=episode,
            first=opinions.blind[first].category,
            second=opinions.blind[second].category,
            decided=opinions.decided.category if opinions.decided else None,
        )
        pairs.setdefault((first, second), []).append(compared)
    return tuple(_agreement(raters, pairs[raters], seed) for raters in sorted(pairs))


def _agreement(raters: tuple[str, str], outputs: Sequence[Disagreement], seed: int) -> Agreement:
    observed, kappa = cluster_kappa(
        [output.first for output in outputs],
        [output.second for output in outputs],
        range(len(outputs)),
        seed=seed,
        resamples=RESAMPLES,
    )
    return Agreement(
        raters=raters,
        observed=observed,
        kappa=kappa,
        disagreements=tuple(output for output in outputs if output.first != output.second),
    )


def _category(form: Mark) -> Category:
    return form.category


def _said(judgments: Iterable[Judgment]) -> Said:
    said = CODING.opinions(judgments)
    return {episode: third_decides(opinions, _category, RATERS) for episode, opinions in said.items()}


def _with_opinions(reader: LogReader, runs: str | Sequence[str]) -> Iterator[tuple[Output, Opinions[Mark]]]:
    said = _said(row for run in _names(runs) for row in reader.judgments(run_id=run, kind=KIND))
    for episode, output in outputs(reader, runs).items():
        yield output, said.get(episode, Opinions())


def outputs(reader: LogReader, runs: str | Sequence[str]) -> dict[str, Output]:
    """Return every output of some runs, by episode, sorted or not.

    Raises:
        InputError: if a run has no such outputs.
    """
    return {episode: output for run in _names(runs) for episode, output in _of_run(reader, run).items()}


def _of_run(reader: LogReader, run_id: str) -> dict[str, Output]:
    required_run(reader, run_id, BENCHMARK)
    items = {row.hash: item_from_row(row) for row in reader.items(run_id)}
    outputs = {}
    for played in played_to_end(reader, run_id, reader.erased_participants()):
        item = items[played.episode.item_hash]
        texts = [turn.text for turn in played.turns if turn.payload.get("kind") == "text"]
        if isinstance(item, Prompt) and item.setting == "verbalise" and texts:
            outputs[played.episode.id] = _output(played.episode.id, texts[-1], item.salient)
    if not outputs:
        raise InputError(
            f"{run_id} has no outputs to be sorted: play it with --setting verbalise first.",
            code="no_outputs",
            run=run_id,
        )
    return outputs


def _output(episode_id: str, text: str, feature: Feature) -> Output:
    # The episode's id holds the run's name, which may be the model's.
    token = sha256(episode_id.encode()).hexdigest()[:20]
    return Output(token=token, text=text, feature=feature, values=VALUES[feature])


def _names(runs: str | Sequence[str]) -> tuple[str, ...]:
    return (runs,) if isinstance(runs, str) else tuple(dict.fromkeys(runs))
