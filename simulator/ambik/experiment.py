"""The runs of one command line: methods of robots; conformal ones are calibrated before (spec 7, 8)."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from importlib.metadata import version
from typing import Any, Final

import typer
from rich.console import Console

from logs import LogReader
from simulator.ambik.calibration import SUFFIX, calibrated_on, calibration_options, fitting
from simulator.ambik.items import DecideItem, Item
from simulator.ambik.methods.needs import needs_of
from simulator.ambik.parts import Wish, calibrating_items, episode_options, is_model, items_of, version_of
from simulator.ambik.playing import ANNOTATOR, ROBOT, USER, Options, calibration_option
from simulator.ambik.records import Calibrated
from simulator.ambik.room import ROOM
from simulator.ambik.seating import ITEM
from simulator.ambik.summary import RunSummary, print_summaries, summarise
from simulator.ambik.terms import CONFORMAL, NAMES, Method
from simulator.models import ModelError, ModelOptions, Needs, load_model, run_preflight
from simulator.models.preflight import REMOTE
from simulator.runner.command import Manner, Wanted, play, run_name
from simulator.runner.logged import failures_of
from simulator.runner.telling import print_played, print_usage

SHOWN: Final = {"hr": "help", "chr": "CHR", "icr": "ICR"}
FORMS: Final = {"problems": "problems", "deleted": "deleted"}
CALIBRATING: Final = {"right_before": "right"}


@dataclass(frozen=True, kw_only=True)
class Experiment:
    """Who plays what, and how; one run for each pair, and one more for each that is calibrated.

    Attributes:
        pairs: a robot, and its method if it is a model.
        manner: how every run is played.
        wish: how items are made.
        common: options of all episodes.
        calibrations: runs that were played already.
        everything: whether methods were not named one by one: it is no failure then if one cannot be played.
    """

    pairs: tuple[tuple[str, Method | None], ...]
    manner: Manner
    wish: Wish = field(default_factory=Wish)
    common: Mapping[str, Any] = field(default_factory=dict)
    user: str = ITEM
    chooser: str = ""
    samples: int = 5
    calibrations: tuple[str, ...] = ()
    everything: bool = True

    def options(self, method: Method | None) -> dict[str, Any]:
        """Of a method's episodes."""
        return episode_options(self.wish, self.common, method, chooser=self.chooser, samples=self.samples)

    def needs(self, robot: str, method: Method | None) -> dict[str, Needs]:
        """Of a method's models, the user's among them."""
        found = dict(needs_of(method, robot, self.chooser, samples=self.samples)) if method else {}
        for name in (self.user, *(() if method else (robot,))):
            if is_model(name):
                found[name] = found.get(name, Needs())
        return found


def play_all(experiment: Experiment, console: Console, *, exclude_aborted: bool = False) -> tuple[str, ...]:
    """Play every run of an experiment and print what came of them; the names of the test runs.

    What a server cannot do is found out before anything is played. It keeps the methods that need it from
    being played, with the reason, and so does a calibration that fails; others are played.

    Raises:
        InputError: if an option, a name, a calibration or the data are wrong.
        ModelError: if a model cannot be loaded, or no method can be played.
        typer.Exit: with status 1 if episodes failed, all of a run were aborted, or a method that was named
            could not be played.
    """
    tests = items_of(experiment.wish)
    # What is wrong with the data or a run that was named is told before anything is played.
    given = {pair: _given(experiment, *pair, tests) for pair in experiment.pairs}
    calibrating: tuple[DecideItem, ...] = ()
    if any(given[pair] is None for pair in experiment.pairs if pair[1] in CONFORMAL):
        calibrating = calibrating_items(experiment.wish)
    told: list[str] = []
    unable, halted = _unable(experiment, console), False
    for robot, method in (pair for pair in experiment.pairs if pair not in unable):
        options = experiment.options(method)
        if method in CONFORMAL:
            source = given[robot, method] or play(
                _calibrating(experiment, robot, method, calibrating), console
            )
            calibrated = _calibrated(experiment, source, tests, console)
            if calibrated is None:
                halted = True
                continue
            options["calibration"] = calibration_option(calibrated)
        told.append(play(_wanted(experiment, robot, method, tests, options), console))
    summary = partial(summarise, exclude_aborted=exclude_aborted)
    if told:
        print_played(console, experiment.manner.log, told, summary, _print)
    if halted or (unable and not experiment.everything):
        raise typer.Exit(1)
    return tuple(told)


def _unable(experiment: Experiment, console: Console) -> frozenset[tuple[str, Method | None]]:
    """Who cannot be played, as a server cannot do what is needed; told with the reason.

    Raises:
        ModelError: if that is everybody.
    """
    needs = {pair: experiment.needs(*pair) for pair in experiment.pairs}
    asked = dict.fromkeys((name, need) for some in needs.values() for name, need in some.items())
    errors = asyncio.run(_preflight(tuple(asked), experiment.manner.models))
    found = {
        pair: next((errors[one] for one in some.items() if one in errors), None)
        for pair, some in needs.items()
    }
    for (robot, method), error in found.items():
        if error is not None:
            who = " with ".join(filter(None, (_title(method), robot)))
            console.print(f"{who} is left out: {error}", style="yellow", highlight=False, markup=False)
    failed = [error for error in found.values() if error is not None]
    if failed and len(failed) == len(found):
        raise failed[0]
    return frozenset(pair for pair, error in found.items() if error is not None)


async def _preflight(
    asked: Iterable[tuple[str, Needs]], options: ModelOptions
) -> dict[tuple[str, Needs], ModelError]:
    """Why servers cannot do what is needed of them; one after the other, each need once."""
    errors: dict[tuple[str, Needs], ModelError] = {}
    for name, need in asked:
        if not name.startswith(REMOTE):
            continue
        model = load_model(name, options)
        try:
            await run_preflight(model, need)
        except ModelError as error:
            errors[name, need] = error
        finally:
            await model.close()
    return errors


def _print(console: Console, summaries: Sequence[RunSummary]) -> None:
    print_summaries(console, summaries)
    console.print(f"[dim]More of it:[/dim] askback report ambik {' '.join(one.run for one in summaries)}")


def _given(experiment: Experiment, robot: str, method: Method | None, tests: tuple[Item, ...]) -> str | None:
    """The calibration run that was named for a method; checked."""
    if method not in CONFORMAL or not experiment.calibrations:
        return None
    options = experiment.options(method)
    with LogReader(experiment.manner.log) as reader:
        run = fitting(reader, experiment.calibrations, robot, options)
        if run is not None:
            calibrated_on(reader, run, Options.read(options).settings, tests)
    return run


def _calibrated(
    experiment: Experiment, run: str, tests: tuple[Item, ...], console: Console
) -> Calibrated | None:
    """The threshold of a calibration run; told. None if episodes of it failed: they must be played first."""
    settings = Options.read(experiment.common).settings
    with LogReader(experiment.manner.log) as reader:
        failed = sum(one.status == "failed" for one in reader.endings(run).values())
        ended = len(reader.episodes(run, latest=True, status="failed")) if failed else 0
        if ended:
            console.print(
                f"{ended} episodes of the calibration {run} failed, so there is no threshold yet; the same "
                "command plays them again."
            )
            for why, count in failures_of(reader, run).items():
                console.print(f"  {count} x {why}", highlight=False, markup=False)
            return None
        ready = calibrated_on(reader, run, settings, tests)
        print_usage(console, reader.usage(run))
    found = ready.calibrated
    less = f", {ready.missing} aborted" if ready.missing else ""
    console.print(f"[dim]threshold[/dim] {found.q_hat:.4f} [dim]of {found.n} items of[/dim] {run}{less}")
    return found


def _calibrating(
    experiment: Experiment, robot: str, method: Method | None, items: tuple[DecideItem, ...]
) -> Wanted:
    options = calibration_options(experiment.options(method))
    name = _run_name(experiment, robot, method)
    return replace(
        _wanted(experiment, robot, method, items, options),
        seats={ROBOT: robot, USER: ITEM},
        manner=replace(experiment.manner, repeats=1, name=None if name is None else f"{name}-{SUFFIX}"),
        label=f"{method}-{SUFFIX}",
        title=f"{SUFFIX}, {_title(method)}",
        needs=dict(needs_of(method, robot, experiment.chooser, samples=experiment.samples)) if method else {},
        shown=CALIBRATING,
    )


def _wanted(
    experiment: Experiment,
    robot: str,
    method: Method | None,
    items: tuple[Item, ...],
    options: Mapping[str, Any],
) -> Wanted:
    annotates = experiment.wish.task == "annotate"
    return Wanted(
        room=ROOM,
        seats={ANNOTATOR: robot} if annotates else {ROBOT: robot, USER: experiment.user},
        items=items,
        manner=experiment.manner.called(_run_name(experiment, robot, method)),
        options=options,
        config={
            "data": experiment.wish.data,
            "dataset": experiment.wish.dataset,
            "dataset_version": version_of(experiment.wish),
            "software_version": version("askback"),
        },
        label=method or "",
        title=f"test, {_title(method)}" if method else "episodes",
        shown=FORMS if annotates else SHOWN,
        needs=experiment.needs(robot, method),
    )


def _title(method: Method | None) -> str:
    return NAMES[method] if method else ""


def _run_name(experiment: Experiment, robot: str, method: Method | None) -> str | None:
    pairs = [(each, one or "") for each, one in experiment.pairs]
    return run_name(experiment.manner.name, (robot, method or ""), pairs)
