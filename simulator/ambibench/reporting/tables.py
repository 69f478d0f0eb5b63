"""Tables of results (spec section 13), in sections of the report."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, NamedTuple

import pandas as pd

from simulator.ambibench.aws import CATEGORIES as REGIONS
from simulator.ambibench.coding import CATEGORIES, Agreement
from simulator.ambibench.features import FEATURES, PAIR_NAMES, Setting
from simulator.ambibench.prompt import Curve, exact_curve
from simulator.ambibench.reporting.figures import ORACLE, longest
from simulator.ambibench.reporting.frame import (
    FLAGS,
    SETTING_TITLES,
    TITLES,
    means,
    pair_title,
    pivot,
    present,
    select,
    sessions,
    shares,
    without_flagged,
)
from simulator.figures import Table
from simulator.figures.tables import Cell
from simulator.reporting import Section, slug
from simulator.stats import Interval

SAME: Final = "oracle (these episodes)"
CURVES: Final[tuple[Setting, ...]] = ("multiple", "wug", "ft_eval")
"""Settings with a sequence of labels, so that accuracy is a curve over k."""
_ANSWERED: Final[tuple[Setting, ...]] = ("instruction", "multiple", "wug", "ft_train", "ft_eval")
# Columns after accuracy: `strict` does not accept lower case, `valid` is the share (or probability) of X and
# Y, `oracle` the score of the Bayes-optimal learner on the same trials.
_MEASURES: Final = {"strict": "strict", "valid": "valid", "oracle": "bayes"}


class Slice(NamedTuple):
    """The trials of one section."""

    key: str
    title: str
    setting: Setting
    trials: pd.DataFrame


def slices(trials: pd.DataFrame) -> Iterator[Slice]:
    """Yield one slice per setting, kind of instruction and held-out pair with labels in `trials`."""
    for setting in _ANSWERED:
        for kind in present(select(trials, setting=setting), "kind"):
            here = select(trials, setting=setting, kind=kind)
            default = setting != "instruction" and kind in ("uninformative", "wug")
            key = setting if default else f"{setting}-{kind}"
            title = SETTING_TITLES[setting] if default else f"{SETTING_TITLES[setting]}, {kind}"
            unfolded = here[here["fold"].isna()]
            if len(unfolded):
                yield Slice(key, title, setting, unfolded)
            for fold in present(here, "fold"):
                part = select(here, fold=fold)
                yield Slice(f"{key}-{fold}", f"{title}, {pair_title(fold)}", setting, part)


def table_sections(trials: pd.DataFrame, agreements: Sequence[Agreement] = ()) -> Iterator[Section]:
    """Yield a section per slice, then on outputs, agreement, buckets, people, and all labels."""
    for part in slices(trials):
        tables = [_accuracy_table(part)]
        if part.setting in CURVES:
            tables += [
                _curve_table(part),
                _k_table(part, "valid", f"Valid answers by k: {part.title}", "validity"),
            ]
        yield Section(name=slug(part.key), title=part.title, tables=tables)
    if len(outputs := select(trials, setting="verbalise")):
        yield Section(name="verbalise", title=SETTING_TITLES["verbalise"], tables=[_outputs_table(outputs)])
    if agreements:
        heads = ["raters", "outputs", "agreement", "kappa", "differing", "decided"]
        rows = [(" and ".join(pair.raters), pair.observed.n, *pair[1:]) for pair in agreements]
        table = Table(heads, rows, "Agreement of raters")
        yield Section(name="agreement", title="Sorting outputs", tables=[table])
    if len(buckets := select(trials, setting="aws")):
        yield Section(name="aws", title=SETTING_TITLES["aws"], tables=[_buckets_table(buckets)])
    if len(people := sessions(trials)):
        long = [Table.of_frame(people, title="Sessions of people", name="sessions")]
        table = _people_table(select(trials, role="human"), people)
        yield _add_long_tables(Section(name="people", title="People", tables=[table]), long)
    if len(labels := select(trials, setting=_ANSWERED)):
        section = Section(name="labels", title=f"All labels of {len(labels)} trials, by cell and prompt")
        yield _add_long_tables(section, [_cells_table(labels), _prompts_table(labels)])


def _add_long_tables(section: Section, tables: Sequence[Table]) -> Section:
    """Return a section with tables that are only written, because they are too long to show."""
    names = " and ".join(table.name for table in tables)
    remarks = [f"{names}: in JSON, and as files with --out"]
    return replace(section, exact=tables, remarks=remarks, data={table.name: table for table in tables})


def _level_table(
    head: str, levels: Iterable[Any], columns: Mapping[str, Mapping[Any, Cell]], title: str, name: str = ""
) -> Table:
    rows = [[level, *(column.get(level) for column in columns.values())] for level in levels]
    return Table([head, *columns], rows, title, name)


def _values(means: Mapping[Any, Interval]) -> dict[Any, float]:
    return {level: interval.value for level, interval in means.items()}


def _accuracy_table(part: Slice) -> Table:
    """Return accuracy by actor, per salient feature and format, over all labels (spec section 7.4)."""
    trials, columns = part.trials, dict[str, Mapping[Any, Cell]]()
    for by in ("feature", "format"):
        levels = pivot(means(trials, "correct", (by, "actor")))
        columns |= {TITLES[level]: by_actor for level, by_actor in levels.items()}
    columns["all"] = accuracy = means(trials, "correct", "actor")
    columns |= {name: _values(means(trials, measure, "actor")) for name, measure in _MEASURES.items()}
    columns["trials"] = trials["actor"].value_counts().to_dict()
    title = f"Accuracy: {part.title}{', all k' if part.setting in CURVES else ''}"
    return _level_table("actor", accuracy, columns, title, "accuracy")


def _k_table(
    part: Slice, measure: str, title: str, name: str, further: Mapping[str, Mapping[Any, Cell]] | None = None
) -> Table:
    """Return the mean of a measure by k and actor, with further columns."""
    by_actor = pivot(means(part.trials, measure, ("actor", "k")))
    columns = {actor: by_actor.get(actor, {}) for actor in present(part.trials, "actor")}
    levels = sorted({int(k) for points in by_actor.values() for k in points})
    return _level_table("k", levels, columns | dict(further or {}), title, name)


def _curve_table(part: Slice) -> Table:
    """Return accuracy by k; for the oracle both exact readings, and the Bayes-optimal one on these trials."""
    exact = exact_curve(longest(part.trials))
    if present(part.trials, "kind") == ["informative"]:
        exact = Curve(*(tuple(1.0 for _ in exact.bayes),) * 3)
    bayes, literal, known = (dict(enumerate(values, start=1)) for values in exact)
    # The value is the same for all actors, so each prompt counts once.
    same = means(part.trials.drop_duplicates(["prompt", "k"]), "bayes", "k")
    oracles: dict[str, Mapping[Any, Cell]] = {
        ORACLE: bayes,
        SAME: same,
        "literal (exact)": literal,
        "task known": known,
    }
    return _k_table(part, "correct", f"Accuracy by k: {part.title}", "curve", oracles)


def _outputs_table(outputs: pd.DataFrame) -> Table:
    """Return the share of outputs that name the task, by actor and salient feature, and the unsorted ones."""
    by_feature = pivot(shares(outputs, "correct", ("feature", "actor")))
    named, *others = CATEGORIES
    columns: dict[str, Mapping[Any, Cell]] = {
        **{TITLES[feature]: by_feature.get(feature, {}) for feature in FEATURES},
        "all": shares(outputs, named, "actor"),
        **{category: _values(shares(outputs, category, "actor")) for category in others},
        "to sort": outputs.loc[outputs["category"].isna(), "actor"].value_counts().to_dict(),
    }
    return _level_table("actor", present(outputs, "actor"), columns, "Share of outputs that name the task")


def _buckets_table(buckets: pd.DataFrame) -> Table:
    by_region = [shares(buckets, region, ("actor", "second_name", "origin")) for region in REGIONS]
    rows = [
        [actor, second, TITLES[origin], *(table[actor, second, origin] for table in by_region)]
        for actor, second, origin in by_region[0]
    ]
    return Table(["actor", "name", "origin", *REGIONS], rows, "Region of a bucket: same, other, invalid")


def _people_table(trials: pd.DataFrame, people: pd.DataFrame) -> Table:
    """Return numbers of flagged sessions by reason, and accuracy with and without them, and strict."""
    by = ("setting", "kind")
    accuracy, strict = (means(trials, name, by) for name in ("correct", "strict"))
    clean = means(without_flagged(trials), "correct", by)
    rows: list[list[Cell]] = []
    for place, value in accuracy.items():
        flags = people.loc[(people["setting"] == place[0]) & (people["kind"] == place[1]), "flags"]
        counts = (int(flags.str.contains(flag).sum()) for flag in FLAGS)
        flagged = int((flags != "").sum())
        rows.append([*place, len(flags), flagged, *counts, value, strict[place], clean.get(place)])
    heads = ["setting", "instruction", "sessions", "flagged", *FLAGS]
    heads += ["everybody", "strict", "without flagged"]
    return Table(heads, rows, "People's sessions and accuracy", "accuracy")


def _cells_table(labels: pd.DataFrame) -> Table:
    """Return accuracy by actor, setting, instruction, fold, feature, format and k, in long form."""
    by = ("actor", "setting", "kind", "feature", "format", "k")
    rows: list[list[Cell]] = []
    unfolded = labels[labels["fold"].isna()]
    for fold, trials in ((None, unfolded), *((fold, select(labels, fold=fold)) for fold in PAIR_NAMES)):
        valid = trials.groupby(list(by), observed=True)["valid"].mean().dropna().to_dict()
        for levels, value in means(trials, "correct", by).items():
            rows.append([*levels[:3], fold, *levels[3:], value, valid.get(levels)])
    heads = ["actor", "setting", "instruction", "fold", "feature", "format", "k", "accuracy", "valid"]
    return Table(heads, rows, "Accuracy per cell", "cells")


def _prompts_table(labels: pd.DataFrame) -> Table:
    groups = labels.groupby(["actor", "setting", "kind", "prompt"], observed=True)
    rows = groups.agg(
        trials=("correct", "size"), accuracy=("correct", "mean"), oracle=("bayes", "mean")
    ).reset_index()
    rows[["prompt", "seed"]] = [prompt.rpartition(" ")[::2] for prompt in rows["prompt"]]
    rows = rows.rename(columns={"kind": "instruction"})
    heads = ["actor", "setting", "instruction", "prompt", "seed", "trials", "accuracy", "oracle"]
    return Table.of_frame(rows, heads, "Accuracy per prompt", "prompts")
