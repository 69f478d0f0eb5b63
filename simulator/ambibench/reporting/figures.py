"""The paper's figures out of results (spec section 13), each under its number.

A figure takes every actor that there is: people, models and oracles in one axes where the paper has it so.
One that lacks all its data is not drawn; what is missing is told with the command that plays it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from itertools import cycle
from typing import Final

from simulator.ambibench.aws import CATEGORIES as REGIONS
from simulator.ambibench.features import PAIR_NAMES, Kind, Setting
from simulator.ambibench.reporting.measures import balanced, longest, means, shares, split, turned
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
from simulator.ambibench.reporting.results import Results
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
NAMED: Final = "names the task"
LEVELS: Final[tuple[Kind, ...]] = ("uninformative", "informative")
# The model that the paper shows by itself in Fig. 19.
ALONE: Final = "t0pp"


def figure_2(results: Results) -> Drawn:
    """4.2: accuracy by salient feature under both instructions."""
    panels, missing = [], []
    for kind in LEVELS:
        some = results.where(setting="instruction", kind=kind)
        missing += _missing(some, "instruction", kind)
        found = split(means(some, "correct", ("actor", "feature")))
        if found:
            marks = [bars(actor, points, FEATURE_TITLES) for actor, points in found.items()]
            panels.append(bar_panel(f"{kind} instruction", marks))
    title = "Accuracy from an instruction and two examples"
    return drawn("figure-2", title, panels, INTERVALS, missing, 1)


def figure_3(results: Results) -> Drawn:
    """4.3: accuracy over k, with the oracle."""
    some = _multiple(results)
    lines = label_curves(some)
    panels = [k_panel("", [*lines, oracle_line(longest(some))])] if lines else []
    title = "Accuracy by example"
    return drawn("figure-3", title, panels, INTERVALS, _missing(some, "multiple", "uninformative"))


def figure_4(results: Results) -> Drawn:
    """4.4: accuracy over k on each held-out pair."""
    panels, missing = [], []
    for pair in PAIR_NAMES:
        some = results.where(setting="ft_eval", fold=pair)
        lines = _finetuned_lines(some)
        if lines:
            panels.append(k_panel(pair_title(pair), [*lines, oracle_line(longest(some))]))
        else:
            missing.append(run_missing("ft_eval", fold=pair))
    return drawn("figure-4", "Accuracy by example on a held-out pair", panels, INTERVALS, missing, 3)


def figure_5(results: Results) -> Drawn:
    """App. A: how often an output names the task, by salient feature."""
    some = results.where(setting="verbalise")
    found = split(shares(some, "correct", ("actor", "feature")))
    panels = [
        Panel(
            actor,
            "salient feature",
            "share that names the task",
            (bars("names the task", points, FEATURE_TITLES),),
        )
        for actor, points in found.items()
    ]
    missing = [
        f"outputs of {actor} have not been sorted: people sort them on the coding page"
        for actor in some.present("actor")
        if actor not in found
    ]
    if not len(some):
        missing = [run_missing("verbalise")]
    return drawn("figure-5", "Can the task be named?", panels, INTERVALS, missing, 2)


def figure_6(results: Results) -> Drawn:
    """App. B: what becomes of the region, by origin, before and after a second name."""
    panels, missing = [], []
    some = results.where(setting="aws")
    for actor in some.present("actor"):
        for name, told in (("first", "first name of its origin"), ("second", "after a second name")):
            here = some.where(actor=actor, second_name=name)
            if len(here):
                panels.append(_regions(f"{actor}: {told}", here))
            else:
                missing.append(f"no buckets of {actor}, {told}: {_AWS[name]}")
    if not len(some):
        missing = [f"no models in setting aws: {command}" for command in _AWS.values()]
    title = "The region of a bucket, by the origin of the name"
    return drawn("figure-6", title, panels, "Share of the answers.", missing, 2)


def figure_7(results: Results) -> Drawn:
    """App. C: probability of X or Y over k, models only."""
    some = _multiple(results).where(role="model")
    lines = label_curves(some, "valid")
    panels = [k_panel("", lines, "probability of X or Y", chance=False)] if lines else []
    missing = [] if lines else [run_missing("multiple", "uninformative")]
    return drawn("figure-7", "Valid answers by example", panels, INTERVALS, missing)


def figure_8(results: Results) -> Drawn:
    """App. D: the bracket against ``wug``, for models that have had both."""
    bracket, wug = _multiple(results).where(role="model"), results.where(setting="wug", role="model")
    both = [actor for actor in bracket.present("actor") if actor in wug.present("actor")]
    lines: list[Line] = []
    kinds: tuple[tuple[str, Results, Style], ...] = (
        ("[category withheld]", bracket, "solid"),
        ("wug", wug, "dashed"),
    )
    for colour, actor in zip(cycle(COLOURS), both, strict=False):
        for name, some, style in kinds:
            points = split(means(some.where(actor=actor), "correct", ("actor", "k")))[actor]
            lines.append(curve(f"{actor}, {name}", points, style=style, colour=colour))
    panels = [k_panel("", lines)] if lines else []
    needed: tuple[tuple[Setting, Results], ...] = (("multiple", bracket), ("wug", wug))
    missing = [run_missing(setting) for setting, there in needed if not len(there)]
    if not lines and not missing:
        missing = ["no model has played both settings multiple and wug: play the other one, too"]
    return drawn("figure-8", "A category withheld, and a wug", panels, INTERVALS, missing)


def figure_10(results: Results) -> Drawn:
    """4.2, informative: each model by salient feature."""
    return _by_model("figure-10", results, "informative")


def figure_11(results: Results) -> Drawn:
    """4.2, informative: mean over models by salient feature and format."""
    return _by_format("figure-11", results, "informative")


def figure_12(results: Results) -> Drawn:
    """4.2, uninformative: each model by salient feature."""
    return _by_model("figure-12", results, "uninformative")


def figure_13(results: Results) -> Drawn:
    """4.2, uninformative: mean over models by salient feature and format."""
    return _by_format("figure-13", results, "uninformative")


def figures_14_18(results: Results) -> Drawn:
    """4.3: a panel per model, a line per salient feature."""
    some = _multiple(results).where(role="model")
    panels = [
        k_panel(actor, feature_lines(split(means(some.where(actor=actor), "correct", ("feature", "k")))))
        for actor in some.present("actor")
    ]
    missing = [] if panels else [run_missing("multiple", "uninformative")]
    return drawn("figures-14-18", "Accuracy by example and salient feature", panels, INTERVALS, missing, 3)


def figure_19(results: Results) -> Drawn:
    """4.3 by format: t0pp by itself, and the mean over all other models."""
    some = _multiple(results).where(role="model")
    alone = [actor for actor in some.present("actor") if ALONE in actor.lower()]
    others = [actor for actor in some.present("actor") if actor not in alone]
    panels, missing = [], []
    for actor in alone:
        found = split(means(some.where(actor=actor), "correct", ("format", "k")))
        panels.append(k_panel(actor, _format_lines(found)))
    if others:
        found = split(balanced(some.where(actor=others), "correct", ("format", "k"), "actor"))
        title = others[0] if len(others) == 1 else f"mean over {len(others)} models"
        panels.append(k_panel(title, _format_lines(found)))
    else:
        missing.append(run_missing("multiple", "uninformative"))
    if not alone:
        missing.append(f"no {ALONE} in setting multiple: call a model so with --actor NAME={ALONE}")
    return drawn("figure-19", "Accuracy by example and format", panels, INTERVALS, missing, 2)


FIGURES: Final[Mapping[str, Callable[[Results], Drawn]]] = {
    "2": figure_2,
    "3": figure_3,
    "4": figure_4,
    "5": figure_5,
    "6": figure_6,
    "7": figure_7,
    "8": figure_8,
    "10": figure_10,
    "11": figure_11,
    "12": figure_12,
    "13": figure_13,
    "14-18": figures_14_18,
    "19": figure_19,
}
_AWS: Final = {
    "first": "askback run ambibench --setting aws --model NAME",
    "second": "askback run ambibench --setting aws --second-name --model NAME",
}


def chosen_figures(wanted: Iterable[str]) -> tuple[str, ...]:
    """Numbers of figures as people write them (``3``, ``2,4``, ``15``, ``all``), as keys of `FIGURES`.

    Raises:
        InputError: if there is no such figure.
    """
    found: dict[str, None] = {}
    for name in (part.strip() for one in wanted for part in one.split(",")):
        if name == "all":
            found |= dict.fromkeys(FIGURES)
            continue
        key = "14-18" if name in ("14", "15", "16", "17", "18") else name
        if key not in FIGURES:
            raise InputError(
                f"--figure {name}: there is no such figure; there are {', '.join(FIGURES)} and all."
            )
        found[key] = None
    return tuple(key for key in FIGURES if key in found)


def _multiple(results: Results) -> Results:
    return results.where(setting="multiple", kind="uninformative")


def _missing(some: Results, setting: Setting, kind: Kind) -> list[str]:
    missing = [] if len(some.where(role="human")) else [people_missing(setting, kind)]
    return missing if len(some.where(role="model")) else [*missing, run_missing(setting, kind)]


def _by_model(name: str, results: Results, kind: Kind) -> Drawn:
    some = results.where(setting="instruction", kind=kind, role="model")
    found = turned(split(means(some, "correct", ("actor", "feature"))))
    marks = [bars(FEATURE_TITLES[feature], points) for feature, points in found.items()]
    panels = [bar_panel("", marks, "model")] if marks else []
    missing = [] if marks else [run_missing("instruction", kind)]
    return drawn(
        name, f"Accuracy by model and salient feature, {kind} instruction", panels, INTERVALS, missing
    )


def _by_format(name: str, results: Results, kind: Kind) -> Drawn:
    some = results.where(setting="instruction", kind=kind, role="model")
    found = split(balanced(some, "correct", ("format", "feature"), "actor"))
    marks = [bars(FORMAT_TITLES[form], points, FEATURE_TITLES) for form, points in found.items()]
    panels = [bar_panel("", marks)] if marks else []
    missing = [] if marks else [run_missing("instruction", kind)]
    caption = f"Mean over {len(some.present('actor'))} models. {INTERVALS}"
    return drawn(
        name, f"Accuracy by salient feature and format, {kind} instruction", panels, caption, missing
    )


def _finetuned_lines(some: Results) -> list[Line]:
    lines = label_curves(some.take(some.factors["variant"].codes < 0))
    for variant in some.present("variant"):
        for line in label_curves(some.where(variant=variant)):
            told = variant in line.name
            lines.append(line if told else replace(line, name=f"{line.name}, finetuned ({variant})"))
    return lines


def _format_lines(found: Mapping[str, Mapping[str, Interval]]) -> list[Line]:
    return [curve(FORMAT_TITLES[form], points) for form, points in found.items()]


def _regions(title: str, some: Results) -> Panel:
    marks = []
    for category in REGIONS:
        found = {origin: one for (origin,), one in shares(some, category, ("origin",)).items()}
        categories = [ORIGIN_TITLES[origin] for origin in found]
        share, n = [one.value for one in found.values()], [one.n for one in found.values()]
        marks.append(
            Stacked(f"{category} region" if category != "invalid" else category, categories, share, n)
        )
    return Panel(title, "origin of the name", "share", marks)
