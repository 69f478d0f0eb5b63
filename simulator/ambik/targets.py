"""A run as researchers' pages need it: scored once, so that another target is laid on it in no time."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Final

from logs import LogReader
from simulator.ambik.playing import Options
from simulator.ambik.records import Calibrated, Decision, Outcome
from simulator.ambik.sets.predicting import (
    Prepared,
    calibrate_prepared,
    outcome_prepared,
    prepared,
    recalibrated,
)
from simulator.ambik.settings import Settings
from simulator.ambik.terms import CONFORMAL
from simulator.ambik.trial_log import calibration_of, decisions, options_of

LEAST: Final = 0.05
MOST: Final = 0.99
"""Between what a target can be moved; in hundredths."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRead:
    """The decisions of a run, before any threshold.

    Attributes:
        ready: its first decisions, scored; what was prompted and written is left out.
        calibrated: the calibration it was played with; None if it had none.
        calibrating: it is there to calibrate a method on: nothing has a set in it.
        movable: whether the threshold can be taken again, at another target.
    """

    options: Options
    ready: tuple[Prepared, ...]
    calibrated: Calibrated | None
    calibrating: bool
    movable: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Laid:
    """A target laid on a run.

    Attributes:
        target: 1 - epsilon.
        calibrated: the threshold; None where the method has none.
        outcomes: sets and decisions; none in a calibration run.
    """

    target: float
    own: bool
    settings: Settings
    calibrated: Calibrated | None
    outcomes: tuple[Outcome, ...]


def read_run(reader: LogReader, run: str) -> RunRead:
    """Read and score a run.

    Raises:
        InputError: if its options or decisions cannot be read.
    """
    options = options_of(reader, run)
    calibrating = options.method in CONFORMAL and options.calibration is None
    logged = [_light(decision) for decision in decisions(reader, [run], aborted=not calibrating)]
    ready = tuple(prepared(decision, options.settings) for decision in logged)
    calibrated = calibration_of(reader, run)
    if calibrating and ready:
        calibrated = calibrate_prepared(ready, options.settings, run)
    return RunRead(
        options=options,
        ready=ready,
        calibrated=calibrated,
        calibrating=calibrating,
        movable=calibrated is not None and 0 < len(calibrated.nonconformities) == calibrated.n,
    )


def laid(read: RunRead, target: str = "") -> Laid:
    """Return the run under a target; its own if `target` is none or cannot be laid on it."""
    own = read.options.settings.target_success
    wished = share(target) if read.movable else None
    settings = replace(read.options.settings, target_success=own if wished is None else wished)
    calibrated = read.calibrated
    if calibrated is not None and wished is not None:
        calibrated = recalibrated(calibrated, settings)
    q_hat = math.inf if calibrated is None else calibrated.q_hat
    sets = () if read.calibrating else tuple(outcome_prepared(ready, q_hat, settings) for ready in read.ready)
    return Laid(
        target=settings.target_success,
        own=settings.target_success == own,
        settings=settings,
        calibrated=calibrated,
        outcomes=sets,
    )


def _light(decision: Decision) -> Decision:
    return replace(decision, prompts=(), raw=())


def share(text: str) -> float | None:
    """Return a target that is written; None if that is no number."""
    try:
        value = float(text)
    except ValueError:
        return None
    return min(max(round(value, 2), LEAST), MOST) if math.isfinite(value) else None
