"""Tables of results (spec section 13), each under the name of its file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, Final, NamedTuple

import pandas as pd

from simulator.ambibench.aws import CATEGORIES as REGIONS
from simulator.ambibench.coding import CATEGORIES, Agreement
from simulator.ambibench.features import FEATURES, PAIR_NAMES, Setting
from simulator.ambibench.oracle import Curve, exact_curve
from simulator.ambibench.reporting.frame import longest, present, where
from simulator.ambibench.reporting.measures import Means, means, shares, split
from simulator.ambibench.reporting.people import FLAGS, Session, sessions, without_flagged
from simulator.ambibench.reporting.wording import (
    FEATURE_TITLES,
    FORMAT_TITLES,
    ORACLE,
    ORIGIN_TITLES,
    SETTING_TITLES,
    pair_title,
)
from simulator.figures import Table
from simulator.figures.tables import Cell
from simulator.reporting import Section, slug
from simulator.stats import Interval

LITERAL: Final = "literal (exact)"
SAME: Final = "oracle (these episodes)"
CURVES: Final[tuple[Setting, ...]] = ("multiple", "wug", "ft_eval")
"""Settings in which labels follow each other, so that accuracy has a curve."""
_SHOWN: Final = ("correct", "strict", "valid", "bayes")
_ANSWERED: Final[tuple[Setting, ...]] = ("instruction", "multiple", "wug", "ft_train", "ft_eval")


class Slice(NamedTuple):
    """Trials that belong into one table.

    Attributes:
        key: for names of files.
        title: what they are.
        setting: of all of them.
        trials: their frame.
    """

    key: str
    title: str
    setting: Setting
    trials: pd.DataFrame


def slices(trials: pd.DataFrame) -> Iterator[Slice]:
    """Yield one slice per setting, kind of instruction and held-out pair that there is, of labels only."""
    for setting in _ANSWERED:
        for kind in present(where(trials, setting=setting), "kind"):
            here = where(trials, setting=setting, kind=kind)
            named = setting != "instruction" and kind in ("uninformative", "wug")
            key = setting if named else f"{setting}-{kind}"
            title = SETTING_TITLES[setting] if named else f"{SETTING_TITLES[setting]}, {kind}"
            unfolded = here[here["fold"].isna()]
            if len(unfolded):
                yield Slice(key, title, setting, unfolded)
            for fold in present(here, "fold"):
                of_fold = where(here, fold=fold)
                yield Slice(f"{key}-{fold}", f"{title}, {pair_title(fold)}", setting, of_fold)


def table_sections(trials: pd.DataFrame, agreements: Sequence[Agreement] = ()) -> Iterator[Section]:
    """Yield a section per part, and on outputs, buckets and people; long tables of all labels last."""
    for part in slices(trials):
        tables = [accuracy_table(part)]
        if part.setting in CURVES:
            tables += [curve_table(part), validity_table(part)]
        yield Section(name=slug(part.key), title=part.title, tables=tables)
    if len(outputs := where(trials, setting="verbalise")):
        yield Section(name="verbalise", title=SETTING_TITLES["verbalise"], tables=[verbalise_table(outputs)])
    if agreements:
        yield Section(name="agreement", title="Sorting outputs", tables=[agreement_table(agreements)])
    if len(buckets := where(trials, setting="aws")):
        yield Section(name="aws", title=SETTING_TITLES["aws"], tables=[aws_table(buckets)])
    if people := sessions(trials):
        long = [sessions_table(people)]
        yield _with_long(Section(name="people", title="People", tables=[people_table(trials, people)]), long)
    if len(labels := where(trials, setting=_ANSWERED)):
        long = [cells_table(labels), prompts_table(labels)]
        yield _with_long(
            Section(name="labels", title=f"All labels of {len(labels)} trials, by cell and prompt"), long
        )


def named_tables(trials: pd.DataFrame, agreements: Sequence[Agreement] = ()) -> dict[str, Table]:
    """Return every table that there is data for, by the name of its file."""
    return dict(table for section in table_sections(trials, agreements) for table in section.named_tables())


def _with_long(section: Section, tables: Sequence[Table]) -> Section:
    """Return a section with tables that are too long to be shown."""
    names = " and ".join(table.name for table in tables)
    return replace(
        section,
        exact=tables,
        remarks=[f"{names}: in JSON, and as files with --out"],
        data={table.name: table for table in tables},
    )


def accuracy_table(part: Slice) -> Table:
    """Actor by salient feature and by format; of 4.3 over all labels (spec section 7.4).

    ``strict`` takes no lower case, ``valid`` is the share (or probability) of X and Y, ``oracle`` what the
    Bayes-optimal learner gets on the same trials.
    """
    trials = part.trials
    by_feature = split(means(trials, "correct", ("actor", "feature")))
    by_format = split(means(trials, "correct", ("actor", "format")))
    whole = {name: _by_level(means(trials, name, ("actor",))) for name in _SHOWN}
    counts = trials["actor"].value_counts()
    features, formats = present(trials, "feature"), present(trials, "format")
    rows = [
        [
            actor,
            *(by_feature[actor].get(feature) for feature in features),
            *(by_format[actor].get(form) for form in formats),
            accuracy,
            *(_value(whole[name].get(actor)) for name in _SHOWN[1:]),
            int(counts[actor]),
        ]
        for actor, accuracy in whole["correct"].items()
    ]
    heads = [*map(FEATURE_TITLES.__getitem__, features), *map(FORMAT_TITLES.__getitem__, formats)]
    title = f"Accuracy: {part.title}{', all k' if part.setting in CURVES else ''}"
    return Table(["actor", *heads, "all", "strict", "valid", "oracle", "trials"], rows, title, "accuracy")


def curve_table(part: Slice) -> Table:
    """K by actor, with the oracle: its two exact readings, and the Bayes-optimal one on these episodes."""
    # Every actor's trials have it; a prompt counts once however many have answered it.
    same = _by_level(means(part.trials.drop_duplicates(["prompt", "k"]), "bayes", ("k",)))
    exact = exact_curve(longest(part.trials))
    if present(part.trials, "kind") == ["informative"]:
        exact = Curve(*(tuple(1.0 for _ in exact.bayes),) * 3)
    actors = present(part.trials, "actor")
    rows = [
        [k, *accuracies, exact.bayes[k - 1], same.get(k), exact.literal[k - 1], exact.identified[k - 1]]
        for k, *accuracies in _by_k(part.trials, "correct", actors)
    ]
    heads = ["k", *actors, ORACLE, SAME, LITERAL, "task known"]
    return Table(heads, rows, f"Accuracy by k: {part.title}", "curve")


def validity_table(part: Slice) -> Table:
    """K by actor: probability of X or Y, or the share of written answers that are."""
    actors = present(part.trials, "actor")
    rows = _by_k(part.trials, "valid", actors)
    return Table(["k", *actors], rows, f"Valid answers by k: {part.title}", "validity")


def verbalise_table(outputs: pd.DataFrame) -> Table:
    """Actor by salient feature: share of the sorted outputs that name it; how many are not sorted yet."""
    by_feature = split(shares(outputs, "correct", ("actor", "feature")))
    whole = {name: _by_level(shares(outputs, name, ("actor",))) for name in CATEGORIES}
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
    heads = ["actor", *FEATURE_TITLES.values(), "all", "incorrect", "other", "to sort"]
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
    """By actor, before and after a second name, and by origin: shares of the three outcomes."""
    by_region = [shares(buckets, region, ("actor", "second_name", "origin")) for region in REGIONS]
    rows: list[list[Cell]] = [
        [actor, second, ORIGIN_TITLES[origin], *(of_region[actor, second, origin] for of_region in by_region)]
        for actor, second, origin in by_region[0]
    ]
    return Table(["actor", "name", "origin", *REGIONS], rows, "Region of a bucket: same, other, invalid")


def people_table(trials: pd.DataFrame, people: Sequence[Session]) -> Table:
    """People's sessions: how many are flagged and why, accuracy with and without those, and strict."""
    everybody, by = where(trials, role="human"), ("setting", "kind")
    accuracy, strict = (means(everybody, name, by) for name in ("correct", "strict"))
    clean = means(without_flagged(everybody, people), "correct", by)
    rows: list[list[Cell]] = []
    for place, value in accuracy.items():
        here = [session for session in people if (session.setting, session.kind) == place]
        counts = (sum(flag in session.flags for session in here) for flag in FLAGS)
        flagged = sum(bool(session.flags) for session in here)
        rows.append([*place, len(here), flagged, *counts, value, strict[place], clean.get(place)])
    heads = ["setting", "instruction", "sessions", "flagged", *FLAGS]
    heads += ["everybody", "strict", "without flagged"]
    return Table(heads, rows, "People's sessions and accuracy", "accuracy")


def sessions_table(people: Sequence[Session]) -> Table:
    """Return one row per session of people."""
    rows: list[list[Cell]] = [[*session[:-1], " ".join(session.flags)] for session in people]
    return Table([*Session._fields], rows, "Sessions of people", "sessions")


def cells_table(labels: pd.DataFrame) -> Table:
    """Accuracy per actor, setting, instruction, held-out pair, feature, format and k, in long form."""
    by = ["actor", "setting", "kind", "feature", "format", "k"]
    rows: list[list[Cell]] = []
    unfolded = labels[labels["fold"].isna()]
    for trials in (unfolded, *(where(labels, fold=fold) for fold in PAIR_NAMES)):
        valid = trials.groupby(by, observed=True)["valid"].mean().to_dict()
        fold = next(iter(present(trials, "fold")), None)
        for levels, value in means(trials, "correct", by).items():
            rows.append([*levels[:3], fold, *levels[3:], value, _known(valid[levels])])
    heads = ["actor", "setting", "instruction", "fold", "feature", "format", "k", "accuracy", "valid"]
    return Table(heads, rows, "Accuracy per cell", "cells")


def prompts_table(labels: pd.DataFrame) -> Table:
    """Mean accuracy of each actor on each prompt."""
    groups = labels.groupby(["actor", "setting", "kind", "prompt"], observed=True)
    of_prompts = groups.agg(
        trials=("correct", "size"), accuracy=("correct", "mean"), oracle=("bayes", "mean")
    )
    rows: list[list[Cell]] = []
    for (*levels, prompt), (count, *values) in zip(of_prompts.index, of_prompts.to_numpy(), strict=True):
        name, _, seed = prompt.rpartition(" ")
        rows.append([*levels, name, seed, int(count), *map(_known, values)])
    heads = ["actor", "setting", "instruction", "prompt", "seed", *of_prompts.columns]
    return Table(heads, rows, "Accuracy per prompt", "prompts")


def _by_k(trials: pd.DataFrame, measure: str, actors: Sequence[str]) -> list[list[Any]]:
    """Return k and each actor's mean at it, a row each."""
    by_k = split(means(trials, measure, ("k", "actor")))
    return [[int(k), *(by_actor.get(actor) for actor in actors)] for k, by_actor in by_k.items()]


def _by_level(by_levels: Means) -> dict[Any, Interval]:
    """Return means by a single column, by its levels."""
    return {level: value for (level,), value in by_levels.items()}


def _value(interval: Interval | None) -> float | None:
    return None if interval is None else interval.value


def _known(number: float) -> float | None:
    return None if pd.isna(number) else float(number)
