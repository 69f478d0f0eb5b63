"""The paper's figures out of trials (spec section 13), each under its number.

A figure takes every actor that there is: people, models and oracles in one axes where the paper has it so.
One that lacks all its data is not drawn; what is missing is named with the command that plays it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import cycle
from typing import Any, Final, NamedTuple

import pandas as pd

from simulator.ambibench.aws import CATEGORIES as REGIONS
from simulator.ambibench.features import PAIR_NAMES, Kind, Pair, Setting
from simulator.ambibench.oracle import exact_curve
from simulator.ambibench.reporting.frame import (
    TITLES,
    Pivot,
    balanced,
    by_level,
    means,
    pair_title,
    pivot,
    present,
    shares,
    where,
)
from simulator.errors import InputError
from simulator.figures import Bars, Figure, Level, Line, Panel, Stacked
from simulator.figures.look import COLOURS
from simulator.figures.spec import Style
from simulator.stats import Interval

INTERVALS: Final = "95 % bootstrap intervals over prompts, and over people."
LEVELS: Final[tuple[Kind, ...]] = ("uninformative", "informative")
ORACLE: Final = "oracle (exact)"
EXAMPLE: Final = "example"
HALF: Final = Level(0.5, "chance")
# The model that the paper shows by itself in Fig. 19.
ALONE: Final = "t0pp"
_AS_THEY_ARE: Final[Mapping[str, str]] = {}
_AWS: Final = {
    "first": ("first name of its origin", "askback run ambibench --setting aws --model NAME"),
    "second": ("after a second name", "askback run ambibench --setting aws --second-name --model NAME"),
}


class Drawn(NamedTuple):
    """The outcome of drawing a figure.

    Attributes:
        figure: None if there is nothing that it could show.
        missing: what it lacks, with the command that plays it.
    """

    figure: Figure | None
    missing: tuple[str, ...]


# ---- marks and panels


def curves(table: Pivot, titles: Mapping[str, str] = _AS_THEY_ARE) -> list[Line]:
    """Return a line over k for each row of a table."""
    return [curve(titles.get(name, name), points) for name, points in table.items()]


def curve(
    name: str, points: Mapping[Any, Interval], *, style: Style = "solid", colour: str | None = None
) -> Line:
    """Return a line through points at k = 1, 2, …."""
    return Line(name=name, x=[int(k) for k in points], style=style, colour=colour, **_values(points))


def bars(
    table: Pivot, titles: Mapping[str, str] = _AS_THEY_ARE, levels: Mapping[str, str] = TITLES
) -> list[Bars]:
    """Return bars for each row of a table: one for each level that has a value."""
    return [
        Bars(
            name=titles.get(name, name),
            categories=[levels.get(level, level) for level in points],
            **_values(points),
        )
        for name, points in table.items()
    ]


def oracle_line(trials: pd.DataFrame) -> Line:
    """Return the Bayes-optimal learner's exact expectation, as far as trials go."""
    length = longest(trials)
    return Line(ORACLE, list(range(1, length + 1)), exact_curve(length).bayes, style="dashed", colour="ink")


def longest(trials: pd.DataFrame) -> int:
    """Return the last k that there is."""
    return int(max(present(trials, "k"), default=0))


def k_panel(title: str, marks: Sequence[Line], y_label: str = "accuracy", *, chance: bool = True) -> Panel:
    """Return lines over k, from 0 to 1."""
    last = int(max(max(line.x) for line in marks))
    ticks = [1, *range(5, last + 1, 5)] if last >= 5 else list(range(1, last + 1))
    return Panel(title, EXAMPLE, y_label, (*marks, *([HALF] if chance else [])), x_ticks=ticks)


def bar_panel(title: str, marks: Sequence[Bars], x_label: str = "salient feature") -> Panel:
    """Return grouped bars, from 0 to 1."""
    return Panel(title, x_label, "accuracy", (*marks, HALF))


def _values(points: Mapping[Any, Interval]) -> dict[str, Any]:
    """Return the values of a mark; a whisker reaches its mean also where resampling did not."""
    return {
        "y": [point.value for point in points.values()],
        "low": [min(*point.reach, point.value) for point in points.values()],
        "high": [max(*point.reach, point.value) for point in points.values()],
        "n": [point.n for point in points.values()],
    }


def _drawn(
    name: str,
    title: str,
    panels: Sequence[Panel],
    missing: Iterable[str] = (),
    columns: int = 0,
    caption: str = INTERVALS,
) -> Drawn:
    """Return a figure of the panels that there are; its caption says what it lacks."""
    lacks = tuple(dict.fromkeys(missing))
    if not panels:
        return Drawn(None, lacks)
    if lacks:
        names = "; ".join(lack.partition(":")[0] for lack in lacks)
        caption = f"{caption} Not in it, for lack of data: {names}."
    grid = min(columns, len(panels)) or None
    return Drawn(Figure(name, title, tuple(panels), caption, grid), lacks)


def _run_missing(setting: Setting, kind: Kind | None = None, fold: Pair | None = None) -> str:
    """Return what is missing, and the command that plays it."""
    what, options = f"setting {setting}", f"--setting {setting}"
    if kind is not None:
        what, options = f"{what} with {kind} instructions", f"{options} --kind {kind}"
    if fold is not None:
        what, options = f"{what}, held-out pair {fold}", f"{options} --fold {fold}"
    return f"no models in {what}: askback run ambibench {options} --model NAME"


def _missing(trials: pd.DataFrame, setting: Setting, kind: Kind) -> list[str]:
    """Return what is missing of people, who take part in the browser, and of models."""
    people = f"no people in setting {setting} with {kind} instructions: name a run of a study, or --from FILE"
    missing = {"human": people, "model": _run_missing(setting, kind)}
    return [message for role, message in missing.items() if not len(where(trials, role=role))]


def _multiple(trials: pd.DataFrame, **levels: str) -> pd.DataFrame:
    return where(trials, setting="multiple", kind="uninformative", **levels)


# ---- the figures


def figure_2(trials: pd.DataFrame) -> Drawn:
    """Draw section 4.2: accuracy by salient feature under both instructions."""
    panels, missing = [], []
    for kind in LEVELS:
        here = where(trials, setting="instruction", kind=kind)
        missing += _missing(here, "instruction", kind)
        if marks := bars(pivot(means(here, "correct", ("actor", "feature")))):
            panels.append(bar_panel(f"{kind} instruction", marks))
    return _drawn("figure-2", "Accuracy from an instruction and two examples", panels, missing, 1)


def figure_3(trials: pd.DataFrame) -> Drawn:
    """Draw section 4.3: accuracy over k, with the oracle."""
    here = _multiple(trials)
    lines = curves(pivot(means(here, "correct", ("actor", "k"))))
    panels = [k_panel("", [*lines, oracle_line(here)])] if lines else []
    return _drawn("figure-3", "Accuracy by example", panels, _missing(here, "multiple", "uninformative"))


def figure_4(trials: pd.DataFrame) -> Drawn:
    """Draw section 4.4: accuracy over k on each held-out pair."""
    panels, missing = [], []
    for pair in PAIR_NAMES:
        here = where(trials, setting="ft_eval", fold=pair)
        lines = curves(pivot(means(here[here["variant"].isna()], "correct", ("actor", "k"))))
        for variant in present(here, "variant"):
            for line in curves(pivot(means(where(here, variant=variant), "correct", ("actor", "k")))):
                named = variant in line.name
                lines.append(line if named else replace(line, name=f"{line.name}, finetuned ({variant})"))
        if lines:
            panels.append(k_panel(pair_title(pair), [*lines, oracle_line(here)]))
        else:
            missing.append(_run_missing("ft_eval", fold=pair))
    return _drawn("figure-4", "Accuracy by example on a held-out pair", panels, missing, 3)


def figure_5(trials: pd.DataFrame) -> Drawn:
    """Draw App. A: how often an output names the task, by salient feature."""
    outputs = where(trials, setting="verbalise")
    by_actor = pivot(shares(outputs, "correct", ("actor", "feature")))
    panels = [
        Panel(actor, "salient feature", "share that names the task", bars({"names the task": points}))
        for actor, points in by_actor.items()
    ]
    missing = [
        f"outputs of {actor} have not been sorted: people sort them on the coding page"
        for actor in present(outputs, "actor")
        if actor not in by_actor
    ]
    if not len(outputs):
        missing = [_run_missing("verbalise")]
    return _drawn("figure-5", "Can the task be named?", panels, missing, 2)


def figure_6(trials: pd.DataFrame) -> Drawn:
    """Draw App. B: what becomes of the region, by origin, before and after a second name."""
    panels, missing = [], []
    buckets = where(trials, setting="aws")
    for actor in present(buckets, "actor"):
        for name, (title, command) in _AWS.items():
            here = where(buckets, actor=actor, second_name=name)
            if len(here):
                marks = [_region(here, category) for category in REGIONS]
                panels.append(Panel(f"{actor}: {title}", "origin of the name", "share", marks))
            else:
                missing.append(f"no buckets of {actor}, {title}: {command}")
    if not len(buckets):
        missing = [f"no models in setting aws: {command}" for _, command in _AWS.values()]
    title = "The region of a bucket, by the origin of the name"
    return _drawn("figure-6", title, panels, missing, 2, caption="Share of the answers.")


def _region(buckets: pd.DataFrame, category: str) -> Stacked:
    points = by_level(shares(buckets, category, ("origin",)))
    name = category if category == "invalid" else f"{category} region"
    values = [point.value for point in points.values()]
    return Stacked(
        name, [TITLES[origin] for origin in points], values, [point.n for point in points.values()]
    )


def figure_7(trials: pd.DataFrame) -> Drawn:
    """Draw App. C: probability of X or Y over k, models only."""
    lines = curves(pivot(means(_multiple(trials, role="model"), "valid", ("actor", "k"))))
    panels = [k_panel("", lines, "probability of X or Y", chance=False)] if lines else []
    return _of_models("figure-7", "Valid answers by example", panels, "multiple", "uninformative")


def figure_8(trials: pd.DataFrame) -> Drawn:
    """Draw App. D: the bracket against ``wug``, for models that have had both."""
    bracket, wug = _multiple(trials, role="model"), where(trials, setting="wug", role="model")
    kinds: tuple[tuple[str, Pivot, Style], ...] = (
        ("[category withheld]", pivot(means(bracket, "correct", ("actor", "k"))), "solid"),
        ("wug", pivot(means(wug, "correct", ("actor", "k"))), "dashed"),
    )
    both = [actor for actor in kinds[0][1] if actor in kinds[1][1]]
    lines = [
        curve(f"{actor}, {name}", points[actor], style=style, colour=colour)
        for colour, actor in zip(cycle(COLOURS), both, strict=False)
        for name, points, style in kinds
    ]
    needed: tuple[tuple[Setting, pd.DataFrame], ...] = (("multiple", bracket), ("wug", wug))
    missing = [_run_missing(setting) for setting, played in needed if not len(played)]
    if not lines and not missing:
        missing = ["no model has played both settings multiple and wug: play the other one, too"]
    panels = [k_panel("", lines)] if lines else []
    return _drawn("figure-8", "A category withheld, and a wug", panels, missing)


def by_model(trials: pd.DataFrame, name: str, kind: Kind) -> Drawn:
    """Draw section 4.2: each model by salient feature."""
    here = where(trials, setting="instruction", kind=kind, role="model")
    by_actor = means(here, "correct", ("actor", "feature"))
    by_feature = pivot({(feature, actor): value for (actor, feature), value in by_actor.items()})
    marks = bars(by_feature, TITLES, _AS_THEY_ARE)
    panels = [bar_panel("", marks, "model")] if marks else []
    title = f"Accuracy by model and salient feature, {kind} instruction"
    return _of_models(name, title, panels, "instruction", kind)


def by_format(trials: pd.DataFrame, name: str, kind: Kind) -> Drawn:
    """Draw section 4.2: mean over models by salient feature and format."""
    here = where(trials, setting="instruction", kind=kind, role="model")
    marks = bars(pivot(balanced(here, "correct", ("format", "feature"), "actor")), TITLES)
    panels = [bar_panel("", marks)] if marks else []
    title = f"Accuracy by salient feature and format, {kind} instruction"
    caption = f"Mean over {len(present(here, 'actor'))} models. {INTERVALS}"
    return _of_models(name, title, panels, "instruction", kind, caption=caption)


def figures_14_18(trials: pd.DataFrame) -> Drawn:
    """Draw section 4.3: a panel per model, a line per salient feature."""
    here = _multiple(trials, role="model")
    by = ("feature", "k")
    panels = [
        k_panel(actor, curves(pivot(means(where(here, actor=actor), "correct", by)), TITLES))
        for actor in present(here, "actor")
    ]
    title = "Accuracy by example and salient feature"
    return _of_models("figures-14-18", title, panels, "multiple", "uninformative", columns=3)


def figure_19(trials: pd.DataFrame) -> Drawn:
    """Draw section 4.3 by format: t0pp by itself, and the mean over all other models."""
    here = _multiple(trials, role="model")
    alone = [actor for actor in present(here, "actor") if ALONE in actor.lower()]
    others = [actor for actor in present(here, "actor") if actor not in alone]
    by = ("format", "k")
    tables = {actor: means(where(here, actor=actor), "correct", by) for actor in alone}
    missing = []
    if others:
        title = others[0] if len(others) == 1 else f"mean over {len(others)} models"
        tables[title] = balanced(where(here, actor=others), "correct", by, "actor")
    else:
        missing.append(_run_missing("multiple", "uninformative"))
    if not alone:
        missing.append(f"no {ALONE} in setting multiple: call a model so with --actor NAME={ALONE}")
    panels = [k_panel(title, curves(pivot(table), TITLES)) for title, table in tables.items()]
    return _drawn("figure-19", "Accuracy by example and format", panels, missing, 2)


def _of_models(
    name: str, title: str, panels: list[Panel], setting: Setting, kind: Kind, **look: Any
) -> Drawn:
    """Return a figure of models alone, or the run that it lacks."""
    return _drawn(name, title, panels, [] if panels else [_run_missing(setting, kind)], **look)


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
        key = "14-18" if name in ("14", "15", "16", "17", "18") else name
        if key not in (*FIGURES, "all"):
            raise InputError(
                f"--figure {name}: there is no such figure; there are {', '.join(FIGURES)} and all."
            )
        chosen.add(key)
    return tuple(key for key in FIGURES if chosen & {key, "all"})
