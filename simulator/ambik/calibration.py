"""The run that gives a conformal method its threshold (spec 7): played first, or there already."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from operator import attrgetter
from typing import Any, Final, NamedTuple

from logs import LogReader
from simulator.ambik.items import DecideItem, DraftItem, Item, PairItem
from simulator.ambik.playing import ROBOT, Options
from simulator.ambik.records import Calibrated
from simulator.ambik.rows import BENCHMARK
from simulator.ambik.sets.predicting import calibrate
from simulator.ambik.settings import Settings
from simulator.ambik.terms import NAMES
from simulator.ambik.trial_log import decisions, options_of
from simulator.errors import InputError
from simulator.runner.logged import required_run

SUFFIX: Final = "calibration"
_LEFT: Final = ("settings", "calibration", "dialogue", "questions")
"""Options of the test run that a calibration has none of."""
_ALIKE: Final = (
    "chooser",
    "context",
    "settings.not_listed",
    "samples",
    "max_tokens",
    "data",
    "dataset",
    "similarity",
)
"""Options that both have to have alike."""


class Ready(NamedTuple):
    """A calibration that can be used.

    Attributes:
        calibrated: the threshold, and what it rests on.
        missing: items of its run that gave no decision, as aborted episodes.
    """

    calibrated: Calibrated
    missing: int


def calibration_options(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of a calibration run: of the test run's those that reach a prompt.

    Temperature, target and all else that only makes sets of what was logged can be changed afterwards, so one
    calibration run serves them all. Nothing has been asked yet in it, whatever the test run does.
    """
    settings = options.get("settings", {})
    kept = {"settings": {"not_listed": True}} if settings.get("not_listed") else {}
    return {**{name: value for name, value in options.items() if name not in _LEFT}, **kept}


def calibrated_on(reader: LogReader, run_id: str, settings: Settings, tests: Sequence[Item]) -> Ready:
    """Return the threshold that a run's decisions give.

    Raises:
        InputError: if a test item is among its items, or it has no decisions.
        NotInLog: if there is no such run.
    """
    made = decisions(reader, [run_id])
    if not made:
        raise InputError(f"calibration {run_id}: no episode of this run has been played to its end.")
    decided = [test for test in tests if not isinstance(test, DraftItem)]
    if twice := shared(decided, [decision.item for decision in made]):
        more = f" and {len(twice) - 1} more" if len(twice) > 1 else ""
        raise InputError(
            f"calibration {run_id}: {twice[0]}{more} of the items to be tested belong to it; a guarantee "
            "needs other items. Take another run, or other data."
        )
    planned = reader.run(run_id).config.get("planned", len(made))
    return Ready(calibrate(made, settings, run=run_id), int(planned) - len(made))


def require_fitting(reader: LogReader, run_id: str, robot: str, options: Mapping[str, Any]) -> None:
    """Make sure that a run given with ``--calibration`` was made as the test run will be.

    Raises:
        InputError: names what is different: method, model, chooser, context, the fifth option, samples,
            tokens, data, similarity.
        NotInLog: if there is no such run.
    """
    run = required_run(reader, run_id, BENCHMARK)
    there, here = options_of(reader, run_id), Options.read(options)
    if there.dialogue == "after" or there.questions:
        raise InputError(f"calibration {run_id}: questions were answered in it; it must be without dialogue.")
    compared = [
        ("method", there.method, here.method),
        ("model", run.config.get("seats", {}).get(ROBOT), robot),
        *((name.rpartition(".")[2], attrgetter(name)(there), attrgetter(name)(here)) for name in _ALIKE),
    ]
    for name, before, now in compared:
        if before != now:
            raise InputError(
                f"calibration {run_id}: its {name} is {before!r}, and here it is {now!r}. Take a run that "
                "was made alike, or leave --calibration out to have one made."
            )


def fitting(reader: LogReader, runs: Sequence[str], robot: str, options: Mapping[str, Any]) -> str:
    """Return the one of several runs given with ``--calibration`` that is of this method.

    Raises:
        InputError: if none of them is of this method, or it does not fit (`require_fitting`).
        NotInLog: if there is no such run.
    """
    method = Options.read(options).method
    for run_id in runs:
        if len(runs) == 1 or options_of(reader, run_id).method == method:
            require_fitting(reader, run_id, robot, options)
            return run_id
    raise InputError(f"--calibration: none of these runs is of {NAMES[method] if method else robot}.")


def shared(tests: Sequence[DecideItem], calibrating: Sequence[DecideItem]) -> tuple[str, ...]:
    """Return ids of test items that calibration items are about, too: by either member of a pair."""
    known = set(map(_task, calibrating))
    return tuple(item.id for item in tests if _task(item) in known)


def _task(item: DecideItem) -> tuple[str, str]:
    if isinstance(item, PairItem):
        return item.pair.scene, item.pair.ambiguous
    return item.scenario.scene, item.scenario.task
