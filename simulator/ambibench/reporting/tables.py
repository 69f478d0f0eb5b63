"""Tables of results (spec section 13), each under the name of its file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

import numpy as np

from simulator.ambibench.aws import CATEGORIES as REGIONS
from simulator.ambibench.coding import CATEGORIES, Agreement
from simulator.ambibench.features import FEATURES, FORMATS, PAIR_NAMES, Setting
from simulator.ambibench.oracle import Curve, exact_curve
from simulator.ambibench.reporting.measures import Means, longest, means, plain_means, shares, split
from simulator.ambibench.reporting.people import FLAGS, Session, sessions, without_flagged
from simulator.ambibench.reporting.results import Measure, Name, Results
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
from simulator.stats import Interval

LITERAL: Final = "literal (exact)"
SAME: Final = "oracle (these episodes)"
_CURVES: Final[tuple[Setting, ...]] = ("multiple", "wug", "ft_eval")
_SHOWN: Final[tuple[Measure, ...]] = ("correct", "strict", "valid", "bayes")
_ANSWERED: Final[tuple[Setting, ...]] = ("instruction", "multiple", "wug", "ft_train", "ft_eval")


class Slice(NamedTuple):
    """Trials that belong into one table.

    Attributes:
        key: for names of files.
        title: what they are.
        setting: of all of them.
        results: the trials.
    """

    key: str
    title: str
    setting: Setting
    results: Results


def slices(results: Results) -> Iterator[Slice]:
    """One slice per setting, kind of instruction and held-out pair that there is, of labels only."""
    for setting in _ANSWERED:
        some = results.where(setting=setting)
        for kind in some.present("kind"):
            here = some.where(kind=kind)
            named = setting != "instruction" and kind in ("uninformative", "wug")
            key = setting if named else f"{setting}-{kind}"
            title = SETTING_TITLES[setting] if named else f"{SETTING_TITLES[setting]}, {kind}"
            yield Slice(key, title, setting, here.take(here.factors["fold"].codes < 0))
            for fold in PAIR_NAMES:
                yield Slice(f"{key}-{fold}", f"{title}, {pair_title(fold)}", setting, here.where(fold=fold))


def tables(results: Results, agreements: Sequence[Agreement] = ()) -> dict[str, Table]:
    """Every table that there is data for, by the name of its file."""
    found: dict[str, Table] = {}
    for one in slices(results):
        if not len(one.results):
            continue
        found[f"accuracy-{one.key}"] = accuracy_table(one)
        if one.setting in _CURVES:
            found[f"curve-{one.key}"] = curve_table(one)
            found[f"validity-{one.key}"] = validity_table(one)
    if len(some := results.where(setting="verbalise")):
        found["verbalise"] = verbalise_table(some)
    if agreements:
        found["agreement"] = agreement_table(agreements)
    if len(some := results.where(setting="aws")):
        found["aws"] = aws_table(some)
    if told := sessions(results):
        found["people"] = people_table(results, told)
        found["sessions"] = sessions_table(told)
    if labels := [setting for setting in _ANSWERED if len(results.where(setting=setting))]:
        some = results.where(setting=labels)
        found["cells"] = cells_table(some)
        found["prompts"] = prompts_table(some)
    return found


def accuracy_table(one: Slice) -> Table:
    """Actor by salient feature and by format; of 4.3 over all labels (spec section 7.4).

    ``strict`` takes no lower case, ``valid`` is the share (or probability) of X and Y, ``oracle`` what the
    Bayes-optimal learner gets on the same trials.
    """
    some = one.results
    by_feature = split(means(some, "correct", ("actor", "feature")))
    by_format = split(means(some, "correct", ("actor", "format")))
    whole = {name: _by_actor(means(some, name, ("actor",))) for name in _SHOWN}
    features = [feature for feature in FEATURES if feature in some.present("feature")]
    formats = [form for form in FORMATS if form in some.present("format")]
    rows = [
        [
            actor,
            *(by_feature[actor].get(feature) for feature in features),
            *(by_format[actor].get(form) for form in formats),
            whole["correct"][actor],
            *(_value(whole[name].get(actor)) for name in _SHOWN[1:]),
            len(some.where(actor=actor)),
        ]
        for actor in whole["correct"]
    ]
    heads = [*(FEATURE_TITLES[one] for one in features), *(FORMAT_TITLES[one] for one in formats)]
    title = f"Accuracy: {one.title}{', all k' if one.setting in _CURVES else ''}"
    return Table(["actor", *heads, "all", "strict", "valid", "oracle", "n"], rows, title)


def curve_table(one: Slice) -> Table:
    """K by actor, with the oracle: its two exact readings, and the Bayes-optimal one on these episodes."""
    by_k = split(means(one.results, "correct", ("k", "actor")))
    # Every actor's trials tell it; a prompt counts once however many have answered it.
    same = _same_episodes(one.results)
    exact = exact_curve(longest(one.results))
    if one.results.present("kind") == ("informative",):
        exact = Curve(*(tuple(1.0 for _ in exact.bayes),) * 3)
    actors = one.results.present("actor")
    rows = [
        [
            int(k),
            *(here.get(actor) for actor in actors),
            exact.bayes[int(k) - 1],
            same.get(k),
            exact.literal[int(k) - 1],
            exact.identified[int(k) - 1],
        ]
        for k, here in by_k.items()
    ]
    return Table(["k", *actors, ORACLE, SAME, LITERAL, "task known"], rows, f"Accuracy by k: {one.title}")


def validity_table(one: Slice) -> Table:
    """K by actor: probability of X or Y, or the share of written answers that are."""
    by_k = split(means(one.results, "valid", ("k", "actor")))
    actors = one.results.present("actor")
    rows = [[int(k), *(here.get(actor) for actor in actors)] for k, here in by_k.items()]
    return Table(["k", *actors], rows, f"Valid answers by k: {one.title}")


def verbalise_table(some: Results) -> Table:
    """Actor by salient feature: share of the sorted outputs that name it; how many are not sorted yet."""
    by_feature = split(shares(some, "correct", ("actor", "feature")))
    whole = {name: _by_actor(shares(some, name, ("actor",))) for name in CATEGORIES}
    unsorted = some.take(some.factors["category"].codes < 0)
    rows = [
        [
            actor,
            *(by_feature.get(actor, {}).get(feature) for feature in FEATURES),
            whole["correct"].get(actor),
            *(_value(whole[name].get(actor)) for name in ("incorrect", "other")),
            len(unsorted.where(actor=actor)),
        ]
        for actor in some.present("actor")
    ]
    heads = [FEATURE_TITLES[feature] for feature in FEATURES]
    return Table(
        ["actor", *heads, "all", "incorrect", "other", "to sort"], rows, "Share of outputs that name the task"
    )


def agreement_table(agreements: Sequence[Agreement]) -> Table:
    """How far two raters sort outputs alike."""
    rows: list[list[Cell]] = [
        [
            " and ".join(one.raters),
            one.observed.n,
            one.observed,
            one.kappa,
            len(one.disagreements),
            sum(each.decided is not None for each in one.disagreements),
        ]
        for one in agreements
    ]
    heads = ["raters", "outputs", "agreement", "kappa", "differing", "decided"]
    return Table(heads, rows, "Agreement of raters")


def aws_table(some: Results) -> Table:
    """By actor, before and after a second name, and by origin: shares of the three outcomes."""
    by: tuple[Name, ...] = ("actor", "second_name", "origin")
    found = [shares(some, category, by) for category in REGIONS]
    rows: list[list[Cell]] = [
        [actor, second, ORIGIN_TITLES[origin], *(one[actor, second, origin] for one in found)]
        for actor, second, origin in found[0]
    ]
    return Table(["actor", "name", "origin", *REGIONS], rows, "Region of a bucket: same, other, invalid")


def people_table(results: Results, told: Sequence[Session]) -> Table:
    """People's sessions: how many are flagged and why, accuracy with and without those, and strict."""
    everybody = results.where(role="human")
    kept = without_flagged(everybody, told)
    by: tuple[Name, ...] = ("setting", "kind")
    every, strict = (means(everybody, name, by) for name in ("correct", "strict"))
    clean = means(kept, "correct", by)
    rows: list[list[Cell]] = []
    for setting, kind in every:
        here = [one for one in told if (one.setting, one.kind) == (setting, kind)]
        counts = (sum(flag in one.flags for one in here) for flag in FLAGS)
        numbers = (every[setting, kind], strict[setting, kind], clean.get((setting, kind)))
        rows.append([setting, kind, len(here), sum(bool(one.flags) for one in here), *counts, *numbers])
    heads = ["setting", "instruction", "sessions", "flagged", *FLAGS]
    return Table([*heads, "everybody", "strict", "without flagged"], rows, "People's sessions and accuracy")


def sessions_table(told: Sequence[Session]) -> Table:
    """One row per session of people."""
    rows: list[list[Cell]] = [[*one[:-1], " ".join(one.flags)] for one in told]
    return Table([*Session._fields], rows, "Sessions of people")


def cells_table(some: Results) -> Table:
    """Accuracy per actor, setting, instruction, held-out pair, feature, format and k, in long form."""
    rows: list[list[Cell]] = []
    unfolded = some.take(some.factors["fold"].codes < 0)
    for held in (unfolded, *(some.where(fold=fold) for fold in PAIR_NAMES)):
        by: tuple[Name, ...] = ("actor", "setting", "kind", "feature", "format", "k")
        valid = plain_means(held, ("valid",), by)
        fold = next(iter(held.present("fold")), None)
        for levels, value in means(held, "correct", by).items():
            rows.append([*levels[:3], fold, *levels[3:5], int(levels[5]), value, valid[levels][1]])
    heads = ["actor", "setting", "instruction", "fold", "feature", "format", "k", "accuracy", "valid"]
    return Table(heads, rows, "Accuracy per cell")


def prompts_table(some: Results) -> Table:
    """Mean accuracy of each actor on each prompt."""
    rows: list[list[Cell]] = []
    by: tuple[Name, ...] = ("actor", "setting", "kind", "prompt")
    for levels, values in plain_means(some, ("correct", "bayes"), by).items():
        prompt, _, seed = levels[3].rpartition(" ")
        rows.append([*levels[:3], prompt, seed, *values])
    heads = ["actor", "setting", "instruction", "prompt", "seed", "n", "accuracy", "oracle"]
    return Table(heads, rows, "Accuracy per prompt")


def _same_episodes(some: Results) -> dict[str, Interval]:
    """The Bayes-optimal learner on the episodes at hand, each counted once."""
    places = np.stack([some.factors[name].codes for name in ("prompt", "k")])
    _, first = np.unique(places, axis=1, return_index=True)
    mask = np.zeros(len(some), dtype=bool)
    mask[first] = True
    return {k: value for (k,), value in means(some.take(mask), "bayes", ("k",)).items()}


def _by_actor(found: Means) -> dict[str, Interval]:
    return {actor: value for (actor,), value in found.items()}


def _value(interval: Interval | None) -> float | None:
    return None if interval is None else interval.value
