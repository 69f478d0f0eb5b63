"""Sorting what participants say the task is about (spec section 8; paper App. A).

A rater sees an output and the salient feature, never the model, and sorts the output into one of three
categories. Two raters sort each output; where they differ, a third decides. Raters may change their mind, and
who was asked to decide stays the one who decides.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from hashlib import sha256
from typing import Final, Literal, NamedTuple, get_args

from logs import LogReader
from logs.rows import Judgment, Run
from simulator.ambibench.features import VALUES, Feature
from simulator.ambibench.items import BENCHMARK, item_from_row
from simulator.ambibench.prompt import Prompt
from simulator.blocks import Block, Heading, Text, message
from simulator.desks import ALL, Case, Desk, Field
from simulator.errors import InputError
from simulator.judging import Form, JudgingForm, Opinions, third_decides
from simulator.judging.agreement import cluster_kappa
from simulator.runner.logged import played_items
from simulator.stats import Interval

Category = Literal["correct", "incorrect", "other"]
CATEGORIES: Final[tuple[Category, ...]] = get_args(Category)
"""Names the salient feature in any words; names another; names no task."""
KIND: Final = "ambibench.category"
RATERS: Final = 2
_LENGTH: Final = 10


class Mark(Form):
    """The category that a rater sorted an output into."""

    category: Category


CODING: Final = JudgingForm(kind=KIND, model=Mark, about="episode")


class Agreement(NamedTuple):
    """The agreement of two raters.

    Attributes:
        raters: the two, in the order of their names.
        observed: share of equal categories, with a bootstrap interval over outputs.
        kappa: Cohen's, likewise; None if both always say the same one thing.
        differing: outputs that the two sorted differently; `decided` those of them that a third has sorted.
    """

    raters: tuple[str, str]
    observed: Interval
    kappa: Interval | None
    differing: int
    decided: int


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
    by_key = {set_key(run.id): run.id for run in own if _holds_outputs(reader, run)}
    chosen = dict.fromkeys(keys.split(",")) if keys else by_key
    for key in chosen:
        if key not in by_key:
            raise InputError(f"There is no set of outputs {key!r}.", code="no_output_set", token=key)
    return tuple(by_key[key] for key in chosen)


def _holds_outputs(reader: LogReader, run: Run) -> bool:
    """Return True if an episode of a run in which the task is named has come to its end."""
    ended = "SELECT episode_id FROM endings WHERE status IN ('completed', 'truncated')"
    with reader.connection() as connection:
        row = connection.execute(
            "SELECT 1 FROM items WHERE json_extract(data, '$.setting') = 'verbalise' AND hash IN "
            f"(SELECT item_hash FROM episodes WHERE run_id = ? AND id IN ({ended})) LIMIT 1",
            [run.id],
        ).fetchone()
    return row is not None


def judgments_of(reader: LogReader, runs: Iterable[str]) -> list[Judgment]:
    """Return what raters said of the outputs of some runs."""
    return [judgment for run in dict.fromkeys(runs) for judgment in reader.judgments(run_id=run, kind=KIND)]


# ---- what holds, and how far raters agree


def settled(judgments: Iterable[Judgment]) -> dict[str, Category]:
    """Return the category of each output: what one rater or two agreeing say, else what a third decides.

    Outputs that two sorted differently and nobody has decided are left out.
    """
    forms = {episode: opinions.settled(_category) for episode, opinions in _opinions(judgments).items()}
    return {episode: form.category for episode, form in forms.items() if form is not None}


def agreement(judgments: Iterable[Judgment]) -> tuple[Agreement, ...]:
    """Return the agreement of every two raters who sorted outputs in common.

    The word of a third, who sees nothing but what others differ on, is not compared.
    """
    pairs: defaultdict[tuple[str, str], list[tuple[Category, Category, bool]]] = defaultdict(list)
    for opinions in _opinions(judgments).values():
        if len(opinions.blind) >= RATERS:
            (first, mine), (second, theirs) = sorted(opinions.blind.items())
            decided = opinions.decided is not None
            pairs[first, second].append((mine.category, theirs.category, decided))
    agreements = []
    for raters, outputs in sorted(pairs.items()):
        one_rater, other, _ = zip(*outputs, strict=True)
        observed, kappa = cluster_kappa(one_rater, other, range(len(outputs)))
        differing = [decided for first, second, decided in outputs if first != second]
        agreements.append(Agreement(raters, observed, kappa, len(differing), sum(differing)))
    return tuple(agreements)


def _category(form: Mark) -> Category:
    return form.category


def _opinions(judgments: Iterable[Judgment]) -> Mapping[str, Opinions[Mark]]:
    """Return what was said of each episode's output; raters in the order in which they first sorted it."""
    opinions = CODING.opinions(judgments)
    return {episode: third_decides(each, _category, RATERS) for episode, each in opinions.items()}


# ---- the desk


def outputs(reader: LogReader, keys: str) -> list[Case[Mark]]:
    """Return every output of some sets, sorted or not, with what raters said of it; of several runs, mixed.

    A rater sees what was written and what counted. Neither shows whose it is: the name of an output is a
    hash of the episode's id, which holds the run's name, which may be the model's.

    Raises:
        InputError: if there is no such set.
    """
    runs = chosen_runs(reader, keys)
    opinions = _opinions(judgments_of(reader, runs))
    return [
        Case(
            key=episode,
            name=sha256(episode.encode()).hexdigest()[:20],
            title=text,
            show=partial(_show, text, feature),
            opinions=opinions.get(episode, Opinions()),
        )
        for run in runs
        for episode, text, feature in _of_run(reader, run)
    ]


def _show(text: str, feature: Feature) -> list[Block]:
    first, second = (message(f"value.{feature}.{value}") for value in VALUES[feature])
    label = message(f"desks.feature.{feature}")
    return [
        Heading(message("desks.coding.counted")),
        Text(message("desks.coding.feature", label=label, first=first, second=second)),
        Heading(message("desks.coding.wrote")),
        Text(text),
    ]


def _of_run(reader: LogReader, run_id: str) -> Iterator[tuple[str, str, Feature]]:
    for episode, item, turns, _ in played_items(reader, run_id, item_from_row):
        texts = [turn.text for turn in turns if turn.payload.get("kind") == "text"]
        if isinstance(item, Prompt) and item.setting == "verbalise" and texts:
            yield episode.id, texts[-1], item.salient


DESK: Final = Desk(
    name="coding",
    form=CODING,
    fields=(Field(name="category", kind="choice", choices=CATEGORIES, sends=True),),
    sets=lambda reader: (ALL,) if chosen_runs(reader) else (),
    cases=outputs,
    outcome=_category,
    read=lambda case, values, deciding: Mark.model_validate(values),
    command="askback run ambibench --setting verbalise --model PROVIDER/MODEL",
)
