"""Coding of outputs in which participants name the task (spec section 8; paper App. A).

A rater sees an output and the salient feature, never the model, and sorts the output into one of three
categories. Two raters sort each output; if they differ, a third decides. Raters may revise their judgments;
the third rater of an output stays the one who decides.
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
from simulator.desks import ALL, Case, Desk
from simulator.errors import InputError
from simulator.form_blocks import Choice, Field
from simulator.judging import Form, JudgingForm, Opinions, with_third_rater
from simulator.judging.agreement import cluster_kappa
from simulator.runner.logged import played_items
from simulator.stats import Interval

Category = Literal["correct", "incorrect", "other"]
CATEGORIES: Final[tuple[Category, ...]] = get_args(Category)
"""The output names the salient feature, in any words; names another feature; or names no task."""
KIND: Final = "ambibench.category"
RATERS: Final = 2
_LENGTH: Final = 10


class Mark(Form):
    """A rater's judgment of an output."""

    category: Category


CODING: Final = JudgingForm(kind=KIND, model=Mark, about="episode")


class Agreement(NamedTuple):
    """The agreement of two raters.

    Attributes:
        raters: the two raters, sorted by name.
        observed: share of equal categories, with a bootstrap interval over outputs.
        kappa: Cohen's kappa, with a bootstrap interval; None if both only used one and the same category.
        differing: number of outputs that the two sorted differently.
        decided: number of differing outputs that a third rater has decided.
    """

    raters: tuple[str, str]
    observed: Interval
    kappa: Interval | None
    differing: int
    decided: int


# ---- sets of outputs


def set_key(run_id: str) -> str:
    """Return an opaque name for a run's outputs: the run's own name may contain the model's."""
    return sha256(run_id.encode()).hexdigest()[:_LENGTH]


def chosen_runs(reader: LogReader, keys: str = "") -> tuple[str, ...]:
    """Return the runs of a comma-separated list of `set_key`s; if empty, all runs with outputs, oldest first.

    Raises:
        InputError: if there is no such set.
    """
    runs = (run for run in reader.runs() if run.benchmark == BENCHMARK)
    by_key = {set_key(run.id): run.id for run in runs if _has_outputs(reader, run)}
    chosen = dict.fromkeys(keys.split(",")) if keys else by_key
    for key in chosen:
        if key not in by_key:
            raise InputError(f"There is no set of outputs {key!r}.", code="no_output_set", token=key)
    return tuple(by_key[key] for key in chosen)


def _has_outputs(reader: LogReader, run: Run) -> bool:
    """Return True if an episode of the setting verbalise has ended in a run."""
    ended = "SELECT episode_id FROM endings WHERE status IN ('completed', 'truncated')"
    with reader.connection() as connection:
        row = connection.execute(
            "SELECT 1 FROM items WHERE json_extract(data, '$.setting') = 'verbalise' AND hash IN "
            f"(SELECT item_hash FROM episodes WHERE run_id = ? AND id IN ({ended})) LIMIT 1",
            [run.id],
        ).fetchone()
    return row is not None


def judgments_of(reader: LogReader, runs: Iterable[str]) -> list[Judgment]:
    """Return the judgments of the outputs of some runs."""
    return [judgment for run in dict.fromkeys(runs) for judgment in reader.judgments(run_id=run, kind=KIND)]


# ---- settled categories and agreement


def settled_categories(judgments: Iterable[Judgment]) -> dict[str, Category]:
    """Return the category of each output, by its episode: of a single rater, two that agree, or the third.

    Outputs on which two raters differ and no third has decided are left out.
    """
    forms = {episode: opinions.settled(_category) for episode, opinions in _opinions(judgments).items()}
    return {episode: form.category for episode, form in forms.items() if form is not None}


def agreement(judgments: Iterable[Judgment]) -> tuple[Agreement, ...]:
    """Return the agreement of each two raters who sorted the same outputs.

    Judgments of a third rater, who only sees outputs on which others differ, are not compared.
    """
    pairs: defaultdict[tuple[str, str], list[tuple[Category, Category, bool]]] = defaultdict(list)
    for opinions in _opinions(judgments).values():
        if len(opinions.blind) >= RATERS:
            (first, first_form), (second, second_form) = sorted(opinions.blind.items())
            decided = opinions.decided is not None
            pairs[first, second].append((first_form.category, second_form.category, decided))
    agreements = []
    for raters, outputs in sorted(pairs.items()):
        of_first, of_second, _ = zip(*outputs, strict=True)
        observed, kappa = cluster_kappa(of_first, of_second, range(len(outputs)))
        differing = [decided for first, second, decided in outputs if first != second]
        agreements.append(Agreement(raters, observed, kappa, len(differing), sum(differing)))
    return tuple(agreements)


def _category(form: Mark) -> Category:
    return form.category


def _opinions(judgments: Iterable[Judgment]) -> Mapping[str, Opinions[Mark]]:
    """Return the opinions on each episode's output, in the order in which raters first sorted it."""
    by_episode = CODING.opinions(judgments)
    return {id: with_third_rater(opinions, _category, RATERS) for id, opinions in by_episode.items()}


# ---- the desk


def outputs(reader: LogReader, keys: str) -> list[Case[Mark]]:
    """Return all outputs of some sets, sorted or not, with the raters' opinions.

    A rater sees the text and the salient feature, but not the model. The name of an output is therefore a
    hash of the episode's id, which contains the run's name.

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
        for episode, text, feature in _outputs_of_run(reader, run)
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


def _outputs_of_run(reader: LogReader, run_id: str) -> Iterator[tuple[str, str, Feature]]:
    for episode, item, turns, _ in played_items(reader, run_id, item_from_row):
        texts = [turn.text for turn in turns if turn.payload.get("kind") == "text"]
        if isinstance(item, Prompt) and item.setting == "verbalise" and texts:
            yield episode.id, texts[-1], item.salient


DESK: Final = Desk(
    name="coding",
    form=CODING,
    fields=(Field("category", "choice", choices=[*map(Choice, CATEGORIES)], sends=True),),
    sets=lambda reader: (ALL,) if chosen_runs(reader) else (),
    cases=outputs,
    outcome=_category,
    command="askback run ambibench --setting verbalise --model PROVIDER/MODEL",
)
