"""The paper's figures out of trials (spec section 13), each under its number.

A figure takes every actor that there is: people, models and oracles in one axes where the paper has it so.
One that lacks all its data is not drawn; what is missing is named with the command that plays it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import partial
from itertools import cycle
from typing import Any, Final

import pandas as pd

from simulator.ambibench.aws import CATEGORIES as REGIONS
from simulator.ambibench.features import PAIR_NAMES, Kind, Setting
from simulator.ambibench.reporting.frame import longest, present, where
from simulator.ambibench.reporting.measures import balanced, means, shares, split, turned
from simulator.ambibench.reporting.panels import (
    Drawn,
    bar_panel,
    bars,
    curve,
    drawn,
    feature_lines,
    k_panel,
    label_curves,
    oracle_line,
    people_missing,
    run_missing,
)
from simulator.ambibench.reporting.wording import (
    FEATURE_TITLES,
    FORMAT_TITLES,
    ORIGIN_TITLES,
    pair_title,
)
from simulator.errors import InputError
from simulator.figures import Line, Panel, Stacked
from simulator.figures.look import COLOURS
from simulator.figures.spec import Style
from simulator.stats import Interval

INTERVALS: Final = "95 % bootstrap intervals over prompts, and over people."
LEVELS: Final[tuple[Kind, ...]] = ("uninformative", "informative")
# The model that the paper shows by itself in Fig. 19.
ALONE: Final = "t0pp"
_AWS: Final = {
    "first": "askback run ambibench --setting aws --model NAME",
    "second": "askback run ambibench --setting aws --second-name --model NAME",
}


def figure_2(trials: pd.DataFrame) -> Drawn:
    """4.2: accuracy by salient feature under both instructions."""
    panels, missing = [], []
    for kind in LEVELS:
        here = where(trials, setting="instruction", kind=kind)
        missing += _missing(here, "instruction", kind)
        by_actor = split(means(here, "correct", ("actor", "feature")))
        if by_actor:
            marks = [bars(actor, points, FEATURE_TITLES) for actor, points in by_actor.items()]
            panels.append(bar_panel(f"{kind} instruction", marks))
    title = "Accuracy from an instruction and two examples"
    return drawn("figure-2", title, panels, INTERVALS, missing, 1)


def figure_3(trials: pd.DataFrame) -> Drawn:
    """4.3: accuracy over k, with the oracle."""
    here = _multiple(trials)
    lines = label_curves(here)
    panels = [k_panel("", [*lines, oracle_line(longest(here))])] if lines else []
    missing = _missing(here, "multiple", "uninformative")
    return drawn("figure-3", "Accuracy by example", panels, INTERVALS, missing)


def figure_4(trials: pd.DataFrame) -> Drawn:
    """4.4: accuracy over k on each held-out pair."""
    panels, missing = [], []
    for pair in PAIR_NAMES:
        here = where(trials, setting="ft_eval", fold=pair)
        lines = _finetuned_lines(here)
        if lines:
            panels.append(k_panel(pair_title(pair), [*lines, oracle_line(longest(here))]))
        else:
            missing.append(run_missing("ft_eval", fold=pair))
    return drawn("figure-4", "Accuracy by example on a held-out pair", panels, INTERVALS, missing, 3)


def figure_5(trials: pd.DataFrame) -> Drawn:
    """App. A: how often an output names the task, by salient feature."""
    outputs = where(trials, setting="verbalise")
    by_actor = split(shares(outputs, "correct", ("actor", "feature")))
    panels = [
        Panel(
            actor,
            "salient feature",
            "share that names the task",
            (bars("names the task", points, FEATURE_TITLES),),
        )
        for actor, points in by_actor.items()
    ]
    missing = [
        f"outputs of {actor} have not been sorted: people sort them on the coding page"
        for actor in present(outputs, "actor")
        if actor not in by_actor
    ]
    if not len(outputs):
        missing = [run_missing("verbalise")]
    return drawn("figure-5", "Can the task be named?", panels, INTERVALS, missing, 2)


def figure_6(trials: pd.DataFrame) -> Drawn:
    """App. B: what becomes of the region, by origin, before and after a second name."""
    panels, missing = [], []
    buckets = where(trials, setting="aws")
    for actor in present(buckets, "actor"):
        for name, title in (("first", "first name of its origin"), ("second", "after a second name")):
            here = where(buckets, actor=actor, second_name=name)
            if len(here):
                panels.append(_regions(f"{actor}: {title}", here))
            else:
                missing.append(f"no buckets of {actor}, {title}: {_AWS[name]}")
    if not len(buckets):
        missing = [f"no models in setting aws: {command}" for command in _AWS.values()]
    title = "The region of a bucket, by the origin of the name"
    return drawn("figure-6", title, panels, "Share of the answers.", missing, 2)


def figure_7(trials: pd.DataFrame) -> Drawn:
    """App. C: probability of X or Y over k, models only."""
    lines = label_curves(_multiple(trials, role="model"), "valid")
    panels = [k_panel("", lines, "probability of X or Y", chance=False)] if lines else []
    return _of_models("figure-7", "Valid answers by example", panels, "multiple", "uninformative")


def figure_8(trials: pd.DataFrame) -> Drawn:
    """App. D: the bracket against ``wug``, for models that have had both."""
    bracket, wug = _multiple(trials, role="model"), where(trials, setting="wug", role="model")
    both = [actor for actor in present(bracket, "actor") if actor in present(wug, "actor")]
    lines: list[Line] = []
    kinds: tuple[tuple[str, pd.DataFrame, Style], ...] = (
        ("[category withheld]", bracket, "solid"),
        ("wug", wug, "dashed"),
    )
    for colour, actor in zip(cycle(COLOURS), both, strict=False):
        for name, here, style in kinds:
            points = split(means(where(here, actor=actor), "correct", ("actor", "k")))[actor]
            lines.append(curve(f"{actor}, {name}", points, style=style, colour=colour))
    panels = [k_panel("", lines)] if lines else []
    needed: tuple[tuple[Setting, pd.DataFrame], ...] = (("multiple", bracket), ("wug", wug))
    missing = [run_missing(setting) for setting, played in needed if not len(played)]
    if not lines and not missing:
        missing = ["no model has played both settings multiple and wug: play the other one, too"]
    return drawn("figure-8", "A category withheld, and a wug", panels, INTERVALS, missing)


def by_model(trials: pd.DataFrame, name: str, kind: Kind) -> Drawn:
    """4.2: each model by salient feature."""
    here = where(trials, setting="instruction", kind=kind, role="model")
    by_feature = turned(split(means(here, "correct", ("actor", "feature"))))
    marks = [bars(FEATURE_TITLES[feature], points) for feature, points in by_feature.items()]
    panels = [bar_panel("", marks, "model")] if marks else []
    title = f"Accuracy by model and salient feature, {kind} instruction"
    return _of_models(name, title, panels, "instruction", kind)


def by_format(trials: pd.DataFrame, name: str, kind: Kind) -> Drawn:
    """4.2: mean over models by salient feature and format."""
    here = where(trials, setting="instruction", kind=kind, role="model")
    by_form = split(balanced(here, "correct", ("format", "feature"), "actor"))
    marks = [bars(FORMAT_TITLES[form], points, FEATURE_TITLES) for form, points in by_form.items()]
    panels = [bar_panel("", marks)] if marks else []
    title = f"Accuracy by salient feature and format, {kind} instruction"
    caption = f"Mean over {len(present(here, 'actor'))} models. {INTERVALS}"
    return _of_models(name, title, panels, "instruction", kind, caption=caption)


def figures_14_18(trials: pd.DataFrame) -> Drawn:
    """4.3: a panel per model, a line per salient feature."""
    here = _multiple(trials, role="model")
    panels = [
        k_panel(actor, feature_lines(split(means(where(here, actor=actor), "correct", ("feature", "k")))))
        for actor in present(here, "actor")
    ]
    title = "Accuracy by example and salient feature"
    return _of_models("figures-14-18", title, panels, "multiple", "uninformative", columns=3)


def figure_19(trials: pd.DataFrame) -> Drawn:
    """4.3 by format: t0pp by itself, and the mean over all other models."""
    here = _multiple(trials, role="model")
    alone = [actor for actor in present(here, "actor") if ALONE in actor.lower()]
    others = [actor for actor in present(here, "actor") if actor not in alone]
    panels, missing = [], []
    for actor in alone:
        by_form = split(means(where(here, actor=actor), "correct", ("format", "k")))
        panels.append(k_panel(actor, _format_lines(by_form)))
    if others:
        by_form = split(balanced(where(here, actor=others), "correct", ("format", "k"), "actor"))
        title = others[0] if len(others) == 1 else f"mean over {len(others)} models"
        panels.append(k_panel(title, _format_lines(by_form)))
    else:
        missing.append(run_missing("multiple", "uninformative"))
    if not alone:
        missing.append(f"no {ALONE} in setting multiple: call a model so with --actor NAME={ALONE}")
    return drawn("figure-19", "Accuracy by example and format", panels, INTERVALS, missing, 2)


FIGURES: Final[Mapping[str, Callable[[pd.DataFrame], Drawn]]] = {
    "2": figure_2,
    "3": figure_3,
    "4": figure_4,
    "5": figure_5,
    "6": figure_6,
    "7": figure_7,
    "8": figure_8,
    "10": partial(by_model, name="figure-10", kind="informative"),
    "11": partial(by_format, name="figure-11", kind="informative"),
    "12": partial(by_model, name="figure-12", kind="uninformative"),
    "13": partial(by_format, name="figure-13", kind="uninformative"),
    "14-18": figures_14_18,
    "19": figure_19,
}


def chosen_figures(choices: Iterable[str]) -> tuple[str, ...]:
    """Return numbers of figures as people write them (``3``, ``2,4``, ``15``, ``all``), as keys of `FIGURES`.

    Raises:
        InputError: if there is no such figure.
    """
    chosen: set[str] = set()
    for name in (part.strip() for choice in choices for part in choice.split(",")):
        if name == "all":
            chosen |= FIGURES.keys()
            continue
        key = "14-18" if name in ("14", "15", "16", "17", "18") else name
        if key not in FIGURES:
            raise InputError(
                f"--figure {name}: there is no such figure; there are {', '.join(FIGURES)} and all."
            )
        chosen.add(key)
    return tuple(key for key in FIGURES if key in chosen)


def _multiple(trials: pd.DataFrame, **levels: str) -> pd.DataFrame:
    return where(trials, setting="multiple", kind="uninformative", **levels)


def _missing(trials: pd.DataFrame, setting: Setting, kind: Kind) -> list[str]:
    missing = [] if len(where(trials, role="human")) else [people_missing(setting, kind)]
    return missing if len(where(trials, role="model")) else [*missing, run_missing(setting, kind)]


def _of_models(
    name: str,
    title: str,
    panels: list[Panel],
    setting: Setting,
    kind: Kind,
    *,
    caption: str = INTERVALS,
    columns: int = 0,
) -> Drawn:
    """Return a figure of models alone, or the run that it lacks."""
    missing = [] if panels else [run_missing(setting, kind)]
    return drawn(name, title, panels, caption, missing, columns)


def _finetuned_lines(trials: pd.DataFrame) -> list[Line]:
    lines = label_curves(trials[trials["variant"].isna()])
    for variant in present(trials, "variant"):
        for line in label_curves(where(trials, variant=variant)):
            named = (
                line if variant in line.name else replace(line, name=f"{line.name}, finetuned ({variant})")
            )
            lines.append(named)
    return lines


def _format_lines(by_form: Mapping[Any, Mapping[Any, Interval]]) -> list[Line]:
    return [curve(FORMAT_TITLES[form], points) for form, points in by_form.items()]


def _regions(title: str, buckets: pd.DataFrame) -> Panel:
    marks = []
    for category in REGIONS:
        by_origin = shares(buckets, category, ("origin",))
        origins = [ORIGIN_TITLES[origin] for (origin,) in by_origin]
        values, counts = [one.value for one in by_origin.values()], [one.n for one in by_origin.values()]
        name = category if category == "invalid" else f"{category} region"
        marks.append(Stacked(name, origins, values, counts))
    return Panel(title, "origin of the name", "share", marks)
