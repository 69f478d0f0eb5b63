"""Sorting what participants say the task is about (spec section 8; paper App. A).

A rater sees an output and the salient feature, never the model, and sorts the output into one of three
categories. Two raters sort each output; where they differ, a third decides. Raters may change their mind, and
who was asked to decide stays the one who decides.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Final, Literal, NamedTuple, get_args

from logs import LogReader
from logs.rows import Judgment
from simulator.ambibench.features import VALUES, Feature
from simulator.ambibench.items import BENCHMARK, item_from_row, settings_of
from simulator.ambibench.prompt import Prompt
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
_LENGTH: Final = 10


class Mark(Form):
    """The category that a rater sorted an output into."""

    category: Category


CODING: Final = JudgingForm(kind=KIND, model=Mark, about="episode")


@dataclass(frozen=True, slots=True, kw_only=True)
class Output:
    """A rater's view of one output.

    Attributes:
        token: names the output without telling whose it is; `episode_of` knows.
        text: as it was written.
        feature: the salient one, with the names of its two values.
    """

    token: str
    text: str
    feature: Feature
    values: tuple[str, str]


class Standing(NamedTuple):
    """The progress of one rater.

    Attributes:
        outputs: that there are.
        mine: token -> category of what the rater has sorted.
        done: outputs that need no rater any more: two have sorted them alike, or a third has decided.
        differing: two differ and nobody has decided.
        raters: everybody who has sorted something, in order of appearance.
        last: the token of what the rater sorted last.
    """

    outputs: int
    mine: Mapping[str, Category]
    done: int
    differing: int
    raters: tuple[str, ...]
    last: str | None


class Disagreement(NamedTuple):
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
    """The agreement of two raters.

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


class Compared(NamedTuple):
    """Two raters' agreement, and the outputs that they differ on.

    Attributes:
        shown: those that may be seen; `hidden` counts the others.
    """

    agreement: Agreement
    shown: tuple[tuple[Output, Disagreement], ...]
    hidden: int


# ---- sets of outputs


def set_key(run_id: str) -> str:
    """Return a name for a run's outputs that tells nothing of the run, whose name may be its model's."""
    return sha256(run_id.encode()).hexdigest()[:_LENGTH]


def chosen_runs(reader: LogReader, keys: str = "") -> tuple[str, ...]:
    """Return the runs behind a comma list of `set_key`; all that hold outputs, oldest first, if it is empty.

    Raises:
        InputError: if there is no such set.
    """
    own = (run for run in reader.runs() if run.benchmark == BENCHMARK)
    by_key = {set_key(run.id): run.id for run in own if "verbalise" in settings_of(reader, run, ended=True)}
    chosen = dict.fromkeys(keys.split(",")) if keys else by_key
    for key in chosen:
        if key not in by_key:
            raise InputError(f"There is no set of outputs {key!r}.", code="no_output_set", token=key)
    return tuple(by_key[key] for key in chosen)


def outputs(reader: LogReader, runs: str | Sequence[str]) -> dict[str, Output]:
    """Return every output of some runs, by episode, sorted or not.

    Raises:
        InputError: if a run has no such outputs.
    """
    return {episode: output for run in _names(runs) for episode, output in _of_run(reader, run).items()}


def episode_of(reader: LogReader, runs: str | Sequence[str], token: str) -> str:
    """Return the episode whose output is called `token`.

    Raises:
        InputError: if there is none.
    """
    for episode, output in outputs(reader, runs).items():
        if output.token == token:
            return episode
    raise InputError(f"There is no output {token!r} to be sorted.", code="no_output", token=token)


def judgments_of(reader: LogReader, runs: str | Sequence[str]) -> list[Judgment]:
    """Return what raters said of the outputs of some runs."""
    return [judgment for run in _names(runs) for judgment in reader.judgments(run_id=run, kind=KIND)]


# ---- what raters do


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
    return _due(reader, runs, rater, lambda opinions: opinions.awaits(rater, RATERS))


def to_decide(reader: LogReader, runs: str | Sequence[str], rater: str) -> tuple[Output, ...]:
    """Return the outputs that two others sorted differently, undecided; what they said is not told.

    Raises:
        InputError: as for `to_code`.
    """
    return _due(
        reader, runs, rater, lambda opinions: opinions.differs(_category) and rater not in opinions.blind
    )


def _due(
    reader: LogReader, runs: str | Sequence[str], rater: str, is_due: Callable[[Opinions[Mark]], bool]
) -> tuple[Output, ...]:
    opinions = _opinions(judgments_of(reader, runs))
    there = outputs(reader, runs).items()
    due = (output for episode, output in there if is_due(opinions.get(episode, Opinions())))
    return in_own_order(due, "coding", rater, lambda output: output.token)


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


def settled(judgments: Iterable[Judgment]) -> dict[str, Category]:
    """Return the category of each output: what one rater or two agreeing say, else what a third decides.

    Outputs that two sorted differently and nobody has decided are left out.
    """
    forms = {episode: opinions.settled(_category) for episode, opinions in _opinions(judgments).items()}
    return {episode: form.category for episode, form in forms.items() if form is not None}


# ---- how they stand


def standing(reader: LogReader, runs: Sequence[str], rater: str) -> Standing:
    """Return how far `rater` is with the outputs of some runs."""
    there = outputs(reader, runs)
    judgments = sorted(judgments_of(reader, runs), key=lambda judgment: judgment.created_at or "")
    complete = [opinions for opinions in _opinions(judgments).values() if len(opinions.blind) >= RATERS]
    differing = sum(opinions.differs(_category) for opinions in complete)
    mine = {
        episode: opinions.blind[rater].category
        for episode, opinions in CODING.opinions(judgments).items()
        if rater in opinions.blind and episode in there
    }
    marked = [judgment.episode_id for judgment in judgments if judgment.annotator == rater]
    return Standing(
        outputs=len(there),
        mine={there[episode].token: category for episode, category in mine.items()},
        done=len(complete) - differing,
        differing=differing,
        raters=tuple(dict.fromkeys(judgment.annotator for judgment in judgments)),
        last=next((there[episode].token for episode in reversed(marked) if episode in mine), None),
    )


def compared(reader: LogReader, runs: Sequence[str], rater: str = "") -> tuple[Compared, ...]:
    """Return the agreement of every two; differences on outputs that `rater` is yet to sort are counted."""
    there, judgments = outputs(reader, runs), judgments_of(reader, runs)
    opinions = CODING.opinions(judgments)
    comparisons = []
    for pair in agreement(judgments):
        shown = tuple(
            (there[differing.episode_id], differing)
            for differing in pair.disagreements
            if not rater or rater in opinions[differing.episode_id].blind
        )
        comparisons.append(Compared(pair, shown, len(pair.disagreements) - len(shown)))
    return tuple(comparisons)


def agreement(judgments: Iterable[Judgment]) -> tuple[Agreement, ...]:
    """Return the agreement of every two raters who sorted outputs in common.

    The word of a third, who sees nothing but what others differ on, is not compared.

    Args:
        judgments: in the order in which they were written.
    """
    pairs: defaultdict[tuple[str, str], list[Disagreement]] = defaultdict(list)
    for episode, opinions in _opinions(judgments).items():
        if len(opinions.blind) >= RATERS:
            (first, mine), (second, theirs) = sorted(opinions.blind.items())
            decided = opinions.decided.category if opinions.decided else None
            pairs[first, second].append(Disagreement(episode, mine.category, theirs.category, decided))
    return tuple(_agreement(raters, pairs[raters]) for raters in sorted(pairs))


def _agreement(raters: tuple[str, str], pairs: Sequence[Disagreement]) -> Agreement:
    first, second = [pair.first for pair in pairs], [pair.second for pair in pairs]
    observed, kappa = cluster_kappa(first, second, range(len(pairs)), resamples=RESAMPLES)
    differing = tuple(pair for pair in pairs if pair.first != pair.second)
    return Agreement(raters=raters, observed=observed, kappa=kappa, disagreements=differing)


def _category(form: Mark) -> Category:
    return form.category


def _opinions(judgments: Iterable[Judgment]) -> Mapping[str, Opinions[Mark]]:
    """Return what was said of each episode's output; raters in the order in which they first sorted it."""
    opinions = CODING.opinions(judgments)
    return {episode: third_decides(each, _category, RATERS) for episode, each in opinions.items()}


def _of_run(reader: LogReader, run_id: str) -> dict[str, Output]:
    required_run(reader, run_id, BENCHMARK)
    items = {row.hash: item_from_row(row) for row in reader.items(run_id)}
    there = {}
    for episode, turns, _ in played_to_end(reader, run_id, reader.erased_participants()):
        item = items[episode.item_hash]
        texts = [turn.text for turn in turns if turn.payload.get("kind") == "text"]
        if isinstance(item, Prompt) and item.setting == "verbalise" and texts:
            # The episode's id holds the run's name, which may be the model's.
            token = sha256(episode.id.encode()).hexdigest()[:20]
            values = VALUES[item.salient]
            there[episode.id] = Output(token=token, text=texts[-1], feature=item.salient, values=values)
    if not there:
        raise InputError(
            f"{run_id} has no outputs to be sorted: play it with --setting verbalise first.",
            code="no_outputs",
            run=run_id,
        )
    return there


def _names(runs: str | Sequence[str]) -> tuple[str, ...]:
    return (runs,) if isinstance(runs, str) else tuple(dict.fromkeys(runs))
