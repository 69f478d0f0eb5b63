"""Tables of results (spec section 13): sections of the report, a slice of the frame each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, Final, NamedTuple

import pandas as pd

from simulator.ambibench.aws import CATEGORIES as REGIONS
from simulator.ambibench.coding import CATEGORIES, Agreement
from simulator.ambibench.features import FEATURES, PAIR_NAMES, Setting
from simulator.ambibench.oracle import Curve, exact_curve
from simulator.ambibench.reporting.figures import ORACLE, longest
from simulator.ambibench.reporting.frame import (
    FLAGS,
    SETTING_TITLES,
    TITLES,
    by_level,
    means,
    pair_title,
    pivot,
    present,
    sessions,
    shares,
    where,
    without_flagged,
)
from simulator.figures import Table
from simulator.figures.tables import Cell
from simulator.reporting import Section, slug
from simulator.stats import Interval

SAME: Final = "oracle (these episodes)"
CURVES: Final[tuple[Setting, ...]] = ("multiple", "wug", "ft_eval")
"""Settings in which labels follow each other, so that accuracy has a curve."""
_ANSWERED: Final[tuple[Setting, ...]] = ("instruction", "multiple", "wug", "ft_train", "ft_eval")
_MEASURES: Final = {"correct": "all", "strict": "strict", "valid": "valid", "bayes": "oracle"}


class Slice(NamedTuple):
    """Trials that belong into one table."""

    key: str
    title: str
    setting: Setting
    trials: pd.DataFrame


def slices(trials: pd.DataFrame) -> Iterator[Slice]:
    """Yield one slice per setting, kind of instruction and held-out pair that there is, of labels only."""
    for setting in _ANSWERED:
        for kind in present(where(trials, setting=setting), "kind"):
            here = where(trials, setting=setting, kind=kind)
            usual = setting != "instruction" and kind in ("uninformative", "wug")
            key = setting if usual else f"{setting}-{kind}"
            title = SETTING_TITLES[setting] if usual else f"{SETTING_TITLES[setting]}, {kind}"
            unfolded = here[here["fold"].isna()]
            if len(unfolded):
                yield Slice(key, title, setting, unfolded)
            for fold in present(here, "fold"):
                part = where(here, fold=fold)
                yield Slice(f"{key}-{fold}", f"{title}, {pair_title(fold)}", setting, part)


def table_sections(trials: pd.DataFrame, agreements: Sequence[Agreement] = ()) -> Iterator[Section]:
    """Yield a section per part, and on outputs, buckets and people; long tables of all labels last."""
    for part in slices(trials):
        tables = [accuracy_table(part)]
        if part.setting in CURVES:
            tables += [curve_table(part), validity_table(part)]
        yield Section(name=slug(part.key), title=part.title, tables=tables)
    if len(outputs := where(trials, setting="verbalise")):
        title = SETTING_TITLES["verbalise"]
        yield Section(name="verbalise", title=title, tables=[verbalise_table(outputs)])
    if agreements:
        yield Section(name="agreement", title="Sorting outputs", tables=[agreement_table(agreements)])
    if len(buckets := where(trials, setting="aws")):
        yield Section(name="aws", title=SETTING_TITLES["aws"], tables=[aws_table(buckets)])
    if len(people := sessions(trials)):
        long = [Table.of_frame(people, title="Sessions of people", name="sessions")]
        table = people_table(where(trials, role="human"), people)
        yield _with_long(Section(name="people", title="People", tables=[table]), long)
    if len(labels := where(trials, setting=_ANSWERED)):
        section = Section(name="labels", title=f"All labels of {len(labels)} trials, by cell and prompt")
        yield _with_long(section, [cells_table(labels), prompts_table(labels)])


def named_tables(trials: pd.DataFrame, agreements: Sequence[Agreement] = ()) -> dict[str, Table]:
    """Return every table that there is data for, by the name of its file."""
    return dict(table for section in table_sections(trials, agreements) for table in section.named_tables())


def _with_long(section: Section, tables: Sequence[Table]) -> Section:
    """Return a section with tables that are too long to be shown."""
    names = " and ".join(table.name for table in tables)
    remarks = [f"{names}: in JSON, and as files with --out"]
    return replace(section, exact=tables, remarks=remarks, data={table.name: table for table in tables})


def accuracy_table(part: Slice) -> Table:
    """Return actor by salient feature and by format; of 4.3 over all labels (spec section 7.4).

    ``strict`` takes no lower case, ``valid`` is the share (or probability) of X and Y, ``oracle`` what the
    Bayes-optimal learner gets on the same trials.
    """
    trials = part.trials
    whole = {name: by_level(means(trials, name, ("actor",))) for name in _MEASURES}
    heads, parts = [], []
    for column in ("feature", "format"):
        table = pivot(means(trials, "correct", (column, "actor")))
        heads += [TITLES[level] for level in present(trials, column)]
        parts += [table.get(level, {}) for level in present(trials, column)]
    counts = trials["actor"].value_counts()
    rows = [
        [
            actor,
            *(by_actor.get(actor) for by_actor in parts),
            accuracy,
            *(_value(whole[name].get(actor)) for name in list(_MEASURES)[1:]),
            int(counts[actor]),
        ]
        for actor, accuracy in whole["correct"].items()
    ]
    title = f"Accuracy: {part.title}{', all k' if part.setting in CURVES else ''}"
    return Table(["actor", *heads, *_MEASURES.values(), "trials"], rows, title, "accuracy")


def curve_table(part: Slice) -> Table:
    """Return k by actor, with the oracle: its exact readings, and the Bayes-optimal one on these episodes."""
    # Every actor's trials have it; a prompt counts once however many have answered it.
    same = by_level(means(part.trials.drop_duplicates(["prompt", "k"]), "bayes", ("k",)))
    exact = exact_curve(longest(part.trials))
    if present(part.trials, "kind") == ["informative"]:
        exact = Curve(*(tuple(1.0 for _ in exact.bayes),) * 3)
    rows = [
        [k, *accuracies, exact.bayes[k - 1], same.get(k), exact.literal[k - 1], exact.identified[k - 1]]
        for k, *accuracies in _by_k(part.trials, "correct")
    ]
    heads = ["k", *present(part.trials, "actor"), ORACLE, SAME, "literal (exact)", "task known"]
    return Table(heads, rows, f"Accuracy by k: {part.title}", "curve")


def validity_table(part: Slice) -> Table:
    """Return k by actor: probability of X or Y, or the share of written answers that are."""
    heads = ["k", *present(part.trials, "actor")]
    return Table(heads, _by_k(part.trials, "valid"), f"Valid answers by k: {part.title}", "validity")


def verbalise_table(outputs: pd.DataFrame) -> Table:
    """Return actor by salient feature: share of sorted outputs that name it; how many are not sorted yet."""
    by_feature = pivot(shares(outputs, "correct", ("actor", "feature")))
    whole = {name: by_level(shares(outputs, name, ("actor",))) for name in CATEGORIES}
    unsorted = outputs.loc[outputs["category"].isna(), "actor"].value_counts()
    rows = [
        [
            actor,
            *(by_feature.get(actor, {}).get(feature) for feature in FEATURES),
            whole["correct"].get(actor),
            *(_value(whole[name].get(actor)) for name in ("incorrect", "other")),
            int(unsorted[actor]),
        ]
        for actor in present(outputs, "actor")
    ]
    heads = ["actor", *(TITLES[feature] for feature in FEATURES), "all", "incorrect", "other", "to sort"]
    return Table(heads, rows, "Share of outputs that name the task")


def agreement_table(agreements: Sequence[Agreement]) -> Table:
    """Return how far two raters sort outputs alike."""
    rows: list[list[Cell]] = [
        [
            " and ".join(pair.raters),
            pair.observed.n,
            pair.observed,
            pair.kappa,
            len(pair.disagreements),
            sum(output.decided is not None for output in pair.disagreements),
        ]
        for pair in agreements
    ]
    heads = ["raters", "outputs", "agreement", "kappa", "differing", "decided"]
    return Table(heads, rows, "Agreement of raters")


def aws_table(buckets: pd.DataFrame) -> Table:
    """Return shares of the three outcomes by actor, before and after a second name, and by origin."""
    by_region = [shares(buckets, region, ("actor", "second_name", "origin")) for region in REGIONS]
    rows: list[list[Cell]] = [
        [actor, second, TITLES[origin], *(table[actor, second, origin] for table in by_region)]
        for actor, second, origin in by_region[0]
    ]
    return Table(["actor", "name", "origin", *REGIONS], rows, "Region of a bucket: same, other, invalid")


def people_table(trials: pd.DataFrame, people: pd.DataFrame) -> Table:
    """Return how many sessions are flagged and why, accuracy with and without those, and strict."""
    by = ("setting", "kind")
    accuracy, strict = (means(trials, name, by) for name in ("correct", "strict"))
    clean = means(without_flagged(trials), "correct", by)
    rows: list[list[Cell]] = []
    for (setting, kind), value in accuracy.items():
        flags = people.loc[(people["setting"] == setting) & (people["kind"] == kind), "flags"]
        counts = (int(flags.str.contains(flag).sum()) for flag in FLAGS)
        place = setting, kind
        rows.append([*place, len(flags), int((flags != "").sum()), *counts, value])
        rows[-1] += [strict[place], clean.get(place)]
    heads = ["setting", "instruction", "sessions", "flagged", *FLAGS]
    heads += ["everybody", "strict", "without flagged"]
    return Table(heads, rows, "People's sessions and accuracy", "accuracy")


def cells_table(labels: pd.DataFrame) -> Table:
    """Return accuracy per actor, setting, instruction, fold, feature, format and k, in long form."""
    by = ["actor", "setting", "kind", "feature", "format", "k"]
    rows: list[list[Cell]] = []
    unfolded = labels[labels["fold"].isna()]
    for fold, trials in ((None, unfolded), *((fold, where(labels, fold=fold)) for fold in PAIR_NAMES)):
        valid = trials.groupby(by, observed=True)["valid"].mean().to_dict()
        for levels, value in means(trials, "correct", by).items():
            rows.append([*levels[:3], fold, *levels[3:], value, _known(valid[levels])])
    heads = ["actor", "setting", "instruction", "fold", "feature", "format", "k", "accuracy", "valid"]
    return Table(heads, rows, "Accuracy per cell", "cells")


def prompts_table(labels: pd.DataFrame) -> Table:
    """Return the mean accuracy of each actor on each prompt."""
    groups = labels.groupby(["actor", "setting", "kind", "prompt"], observed=True)
    rows = groups.agg(
        trials=("correct", "size"), accuracy=("correct", "mean"), oracle=("bayes", "mean")
    ).reset_index()
    rows[["prompt", "seed"]] = [prompt.rpartition(" ")[::2] for prompt in rows["prompt"]]
    rows = rows.rename(columns={"kind": "instruction"})
    heads = ["actor", "setting", "instruction", "prompt", "seed", "trials", "accuracy", "oracle"]
    return Table.of_frame(rows, heads, "Accuracy per prompt", "prompts")


def _by_k(trials: pd.DataFrame, measure: str) -> list[list[Any]]:
    """Return k and each actor's mean at it, a row each."""
    by_k, actors = pivot(means(trials, measure, ("k", "actor"))), present(trials, "actor")
    return [[int(k), *(by_actor.get(actor) for actor in actors)] for k, by_actor in by_k.items()]


def _value(interval: Interval | None) -> float | None:
    return None if interval is None else interval.value


def _known(number: float) -> float | None:
    return None if pd.isna(number) else float(number)
