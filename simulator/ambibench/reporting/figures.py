"""The paper's figures, drawn from trials (spec section 13) and called by their numbers.

A figure shows all actors in the data: people, models and oracles share axes where they do in the paper. A
figure without any data is not drawn; missing data are listed with the command that plays them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import cycle
from typing import Any, Final, NamedTuple

import pandas as pd

from simulator.ambibench.aws import CATEGORIES as REGIONS
from simulator.ambibench.features import BRACKETED, PAIR_NAMES, Kind, Pair, Setting
from simulator.ambibench.prompt import exact_curve
from simulator.ambibench.reporting.frame import (
    TITLES,
    Means,
    macro_means,
    means,
    pair_title,
    pivot,
    present,
    select,
    shares,
)
from simulator.errors import InputError
from simulator.figures import Bars, Figure, Level, Line, Panel, Stacked
from simulator.figures.look import COLOURS
from simulator.figures.spec import Style
from simulator.stats import Interval

INTERVALS: Final = "95 % bootstrap intervals over prompts, and over people."
ORACLE: Final = "oracle (exact)"
HALF: Final = Level(0.5, "chance")
# The model with a separate panel in the paper's Fig. 19.
ALONE: Final = "t0pp"
_AWS: Final = {
    "first": ("first name of its origin", "askback run ambibench --setting aws --model NAME"),
    "second": ("after a second name", "askback run ambibench --setting aws --second-name --model NAME"),
}


class Drawn(NamedTuple):
    """A figure, None if it has no data; and the missing data, with the commands that play them."""

    figure: Figure | None
    missing: tuple[str, ...]


# ---- marks and panels


def _curves(points: Means) -> list[Line]:
    """Return a line over k, the second column of means, for each level of the first."""
    return [_curve(TITLES.get(name, name), line) for name, line in pivot(points).items()]


def _actor_lines(trials: pd.DataFrame, measure: str = "correct") -> list[Line]:
    return _curves(means(trials, measure, ("actor", "k")))


def _curve(name: str, points: Mapping[Any, Interval], **look: Any) -> Line:
    return Line(name=name, x=[int(k) for k in points], **look, **_values(points))


def _bars(points: Means) -> list[Bars]:
    return [
        Bars(
            name=TITLES.get(name, name),
            categories=[TITLES.get(level, level) for level in bars],
            **_values(bars),
        )
        for name, bars in pivot(points).items()
    ]


def _values(points: Mapping[Any, Interval]) -> dict[str, Any]:
    """Return the values of a mark, with intervals extended to include the mean."""
    return {
        "y": [point.value for point in points.values()],
        "low": [min(*point.reach, point.value) for point in points.values()],
        "high": [max(*point.reach, point.value) for point in points.values()],
        "n": [point.n for point in points.values()],
    }


def longest(trials: pd.DataFrame) -> int:
    """Return the largest k in trials; 0 if there is none."""
    return int(max(present(trials, "k"), default=0))


def _k_panel(
    title: str,
    lines: Sequence[Line],
    y_label: str = "accuracy",
    levels: Sequence[Level] = (HALF,),
    oracle: int = 0,
) -> list[Panel]:
    """Return a panel of lines over k; no panel without lines. `oracle`: the last k of the oracle's line."""
    if not lines:
        return []
    marks = list(lines)
    if oracle:
        exact = exact_curve(oracle).bayes
        marks.append(Line(ORACLE, list(range(1, oracle + 1)), exact, style="dashed", colour="ink"))
    last = int(max(max(line.x) for line in marks))
    ticks = [1, *range(5, last + 1, 5)] if last >= 5 else list(range(1, last + 1))
    return [Panel(title, "example", y_label, (*marks, *levels), x_ticks=ticks)]


def _bar_panel(title: str, marks: Sequence[Bars], x_label: str = "salient feature") -> list[Panel]:
    return [Panel(title, x_label, "accuracy", (*marks, HALF))] if marks else []


def _make_figure(
    name: str,
    title: str,
    panels: Sequence[Panel],
    missing: Iterable[str] = (),
    columns: int = 0,
    caption: str = INTERVALS,
) -> Drawn:
    """Return a figure of the panels, if any; its caption lists missing data."""
    lacks = tuple(dict.fromkeys(missing))
    if not panels:
        return Drawn(None, lacks)
    if lacks:
        names = "; ".join(lack.partition(":")[0] for lack in lacks)
        caption = f"{caption} Missing data: {names}."
    grid = min(columns, len(panels)) or None
    return Drawn(Figure(name, title, tuple(panels), caption, grid), lacks)


def _model_figure(
    name: str, title: str, panels: list[Panel], setting: Setting, kind: Kind, **look: Any
) -> Drawn:
    return _make_figure(name, title, panels, [] if panels else [_run_missing(setting, kind)], **look)


def _run_missing(setting: Setting, kind: Kind | None = None, fold: Pair | None = None) -> str:
    what, options = f"setting {setting}", f"--setting {setting}"
    if kind is not None:
        what, options = f"{what} with {kind} instructions", f"{options} --kind {kind}"
    if fold is not None:
        what, options = f"{what}, held-out pair {fold}", f"{options} --fold {fold}"
    return f"no models in {what}: askback run ambibench {options} --model NAME"


def _describe_missing(trials: pd.DataFrame, setting: Setting, kind: Kind) -> list[str]:
    """Return messages on missing data of people and of models."""
    people = f"no people in setting {setting} with {kind} instructions: name a run of a study, or --from FILE"
    missing = {"human": people, "model": _run_missing(setting, kind)}
    return [message for role, message in missing.items() if not len(select(trials, role=role))]


def _select_multiple(trials: pd.DataFrame, **levels: str) -> pd.DataFrame:
    return select(trials, setting="multiple", kind="uninformative", **levels)


# ---- the figures


def figure_2(trials: pd.DataFrame) -> Drawn:
    """Draw section 4.2: accuracy by salient feature under both instructions."""
    panels, missing = [], []
    for kind in BRACKETED:
        here = select(trials, setting="instruction", kind=kind)
        missing += _describe_missing(here, "instruction", kind)
        panels += _bar_panel(f"{kind} instruction", _bars(means(here, "correct", ("actor", "feature"))))
    return _make_figure("figure-2", "Accuracy from an instruction and two examples", panels, missing, 1)


def figure_3(trials: pd.DataFrame) -> Drawn:
    """Draw section 4.3: accuracy over k, with the oracle."""
    here = _select_multiple(trials)
    panels = _k_panel("", _actor_lines(here), oracle=longest(here))
    return _make_figure(
        "figure-3", "Accuracy by example", panels, _describe_missing(here, "multiple", "uninformative")
    )


def figure_4(trials: pd.DataFrame) -> Drawn:
    """Draw section 4.4: accuracy over k on each held-out pair."""
    panels, missing = [], []
    for pair in PAIR_NAMES:
        here = select(trials, setting="ft_eval", fold=pair)
        lines = _actor_lines(here[here["variant"].isna()])
        for variant in present(here, "variant"):
            for line in _actor_lines(select(here, variant=variant)):
                if variant not in line.name:
                    line = replace(line, name=f"{line.name}, finetuned ({variant})")
                lines.append(line)
        panels += _k_panel(pair_title(pair), lines, oracle=longest(here))
        if not lines:
            missing.append(_run_missing("ft_eval", fold=pair))
    return _make_figure("figure-4", "Accuracy by example on a held-out pair", panels, missing, 3)


def figure_5(trials: pd.DataFrame) -> Drawn:
    """Draw App. A: share of outputs that name the task, by salient feature."""
    outputs = select(trials, setting="verbalise")
    by_actor = pivot(shares(outputs, "correct", ("actor", "feature")))
    panels = [
        Panel(
            actor,
            "salient feature",
            "share that names the task",
            _bars({("names the task", feature): share for feature, share in points.items()}),
        )
        for actor, points in by_actor.items()
    ]
    missing = [
        f"outputs of {actor} have not been sorted: raters sort them on the coding page"
        for actor in present(outputs, "actor")
        if actor not in by_actor
    ]
    if not len(outputs):
        missing = [_run_missing("verbalise")]
    return _make_figure("figure-5", "Can the task be named?", panels, missing, 2)


def figure_6(trials: pd.DataFrame) -> Drawn:
    """Draw App. B: regions by origin, without and with a second name."""
    panels, missing = [], []
    buckets = select(trials, setting="aws")
    for actor in present(buckets, "actor"):
        for name, (title, command) in _AWS.items():
            here = select(buckets, actor=actor, second_name=name)
            if len(here):
                marks = [_region(here, category) for category in REGIONS]
                panels.append(Panel(f"{actor}: {title}", "origin of the name", "share", marks))
            else:
                missing.append(f"no buckets of {actor}, {title}: {command}")
    if not len(buckets):
        missing = [f"no models in setting aws: {command}" for _, command in _AWS.values()]
    title = "The region of a bucket, by the origin of the name"
    return _make_figure("figure-6", title, panels, missing, 2, caption="Share of the answers.")


def _region(buckets: pd.DataFrame, category: str) -> Stacked:
    points = shares(buckets, category, "origin")
    values = _values(points)
    name = category if category == "invalid" else f"{category} region"
    return Stacked(name, [TITLES[origin] for origin in points], values["y"], values["n"])


def figure_7(trials: pd.DataFrame) -> Drawn:
    """Draw App. C: probability of X or Y over k, models only."""
    lines = _actor_lines(_select_multiple(trials, role="model"), "valid")
    panels = _k_panel("", lines, "probability of X or Y", levels=())
    return _model_figure("figure-7", "Valid answers by example", panels, "multiple", "uninformative")


def figure_8(trials: pd.DataFrame) -> Drawn:
    """Draw App. D: the bracket against ``wug``, for models that played both."""
    bracket, wug = _select_multiple(trials, role="model"), select(trials, setting="wug", role="model")
    by = ("actor", "k")
    kinds: tuple[tuple[str, Mapping[Any, Mapping[Any, Interval]], Style], ...] = (
        ("[category withheld]", pivot(means(bracket, "correct", by)), "solid"),
        ("wug", pivot(means(wug, "correct", by)), "dashed"),
    )
    both = [actor for actor in kinds[0][1] if actor in kinds[1][1]]
    lines = [
        _curve(f"{actor}, {name}", points[actor], style=style, colour=colour)
        for colour, actor in zip(cycle(COLOURS), both, strict=False)
        for name, points, style in kinds
    ]
    settings: tuple[tuple[Setting, pd.DataFrame], ...] = (("multiple", bracket), ("wug", wug))
    missing = [_run_missing(setting) for setting, played in settings if not len(played)]
    if not lines and not missing:
        missing = ["no model has played both settings multiple and wug: play the other one with a model"]
    return _make_figure("figure-8", "A category withheld, and a wug", _k_panel("", lines), missing)


def by_model(trials: pd.DataFrame, name: str, kind: Kind) -> Drawn:
    """Draw section 4.2: accuracy by model and salient feature."""
    here = select(trials, setting="instruction", kind=kind, role="model")
    panels = _bar_panel("", _bars(means(here, "correct", ("feature", "actor"))), "model")
    title = f"Accuracy by model and salient feature, {kind} instruction"
    return _model_figure(name, title, panels, "instruction", kind)


def by_format(trials: pd.DataFrame, name: str, kind: Kind) -> Drawn:
    """Draw section 4.2: mean over models by salient feature and format."""
    here = select(trials, setting="instruction", kind=kind, role="model")
    panels = _bar_panel("", _bars(macro_means(here, "correct", ("format", "feature"), "actor")))
    title = f"Accuracy by salient feature and format, {kind} instruction"
    caption = f"Mean over {len(present(here, 'actor'))} models. {INTERVALS}"
    return _model_figure(name, title, panels, "instruction", kind, caption=caption)


def figures_14_18(trials: pd.DataFrame) -> Drawn:
    """Draw section 4.3: a panel per model with a line per salient feature."""
    here = _select_multiple(trials, role="model")
    panels = [
        panel
        for actor in present(here, "actor")
        for panel in _k_panel(actor, _curves(means(select(here, actor=actor), "correct", ("feature", "k"))))
    ]
    title = "Accuracy by example and salient feature"
    return _model_figure("figures-14-18", title, panels, "multiple", "uninformative", columns=3)


def figure_19(trials: pd.DataFrame) -> Drawn:
    """Draw section 4.3 by format: t0pp, and the mean over all other models."""
    here = _select_multiple(trials, role="model")
    alone = [actor for actor in present(here, "actor") if ALONE in actor.lower()]
    others = [actor for actor in present(here, "actor") if actor not in alone]
    by = ("format", "k")
    tables = {actor: means(select(here, actor=actor), "correct", by) for actor in alone}
    missing = []
    if others:
        title = others[0] if len(others) == 1 else f"mean over {len(others)} models"
        tables[title] = macro_means(select(here, actor=others), "correct", by, "actor")
    else:
        missing.append(_run_missing("multiple", "uninformative"))
    if not alone:
        missing.append(f"no {ALONE} in setting multiple: --actor NAME={ALONE} calls a model so")
    panels = [panel for title, table in tables.items() for panel in _k_panel(title, _curves(table))]
    return _make_figure("figure-19", "Accuracy by example and format", panels, missing, 2)


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
    """Return the keys of `FIGURES` for figure numbers as typed (``3``, ``2,4``, ``15``, ``all``).

    Raises:
        InputError: if there is no such figure.
    """
    chosen: set[str] = set()
    for name in (part.strip() for choice in choices for part in choice.split(",")):
        key = "14-18" if name in ("14", "15", "16", "17", "18") else name
        if key not in (*FIGURES, "all"):
            raise InputError(
                f"--figure {name}: there is no such figure; choose from {', '.join(FIGURES)} and all."
            )
        chosen.add(key)
    return tuple(key for key in FIGURES if chosen & {key, "all"})
