"""The runs of one command line: methods of robots; conformal ones are calibrated before (spec 7, 8)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from importlib.metadata import version
from typing import Any, Final

import typer
from rich.console import Console

from logs import LogReader
from simulator.ambik.calibration import SUFFIX, calibrated_on, calibration_options, fitting
from simulator.ambik.items import DecideItem, Item
from simulator.ambik.parts import Wish, calibrating_items, episode_options, items_of, version_of
from simulator.ambik.playing import ANNOTATOR, ROBOT, USER, Options, calibration_option
from simulator.ambik.records import Calibrated
from simulator.ambik.room import ROOM
from simulator.ambik.seating import ITEM
from simulator.ambik.summary import RunSummary, print_summaries, summarise
from simulator.ambik.terms import CONFORMAL, NAMES, Method
from simulator.runner.command import Manner, Wanted, play, run_name
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
    """

    pairs: tuple[tuple[str, Method | None], ...]
    manner: Manner
    wish: Wish = field(default_factory=Wish)
    common: Mapping[str, Any] = field(default_factory=dict)
    user: str = ITEM
    chooser: str = ""
    samples: int = 5
    calibrations: tuple[str, ...] = ()

    def options(self, method: Method | None) -> dict[str, Any]:
        """Of a method's episodes."""
        return episode_options(self.wish, self.common, method, chooser=self.chooser, samples=self.samples)


def play_all(experiment: Experiment, console: Console, *, exclude_aborted: bool = False) -> tuple[str, ...]:
    """Play every run of an experiment and print what came of them; the names of the test runs.

    Raises:
        InputError: if an option, a name, a calibration or the data are wrong.
        ModelError: if a model cannot be loaded.
        typer.Exit: with status 1 if episodes failed, or all of a run were aborted.
    """
    tests = items_of(experiment.wish)
    # What is wrong with the data or a run that was named is told before anything is played.
    given = {pair: _given(experiment, *pair, tests) for pair in experiment.pairs}
    calibrating: tuple[DecideItem, ...] = ()
    if any(given[pair] is None for pair in experiment.pairs if pair[1] in CONFORMAL):
        calibrating = calibrating_items(experiment.wish)
    told: list[str] = []
    for robot, method in experiment.pairs:
        options = experiment.options(method)
        if method in CONFORMAL:
            source = given[robot, method] or play(
                _calibrating(experiment, robot, method, calibrating), console
            )
            calibrated = _calibrated(experiment, source, tests, console)
            options["calibration"] = calibration_option(calibrated)
        told.append(play(_wanted(experiment, robot, method, tests, options), console))
    summary = partial(summarise, exclude_aborted=exclude_aborted)
    return print_played(console, experiment.manner.log, told, summary, _print)


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


def _calibrated(experiment: Experiment, run: str, tests: tuple[Item, ...], console: Console) -> Calibrated:
    """The threshold of a calibration run; told.

    Raises:
        typer.Exit: with status 1 if episodes of it failed: they must be played first.
    """
    settings = Options.read(experiment.common).settings
    with LogReader(experiment.manner.log) as reader:
        failed = sum(one.status == "failed" for one in reader.endings(run).values())
        ended = len(reader.episodes(run, latest=True, status="failed")) if failed else 0
        if ended:
            console.print(
                f"{ended} episodes of the calibration {run} failed, so there is no threshold yet; the same "
                "command plays them again."
            )
            raise typer.Exit(1)
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
    )


def _title(method: Method | None) -> str:
    return NAMES[method] if method else ""


def _run_name(experiment: Experiment, robot: str, method: Method | None) -> str | None:
    pairs = [(each, one or "") for each, one in experiment.pairs]
    return run_name(experiment.manner.name, (robot, method or ""), pairs)
