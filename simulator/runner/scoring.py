"""What scores a run of the log."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

from simulator.errors import InputError
from simulator.runner.model_flags import NO_FLAGS, ModelFlags


class Scorer(Protocol):
    """`score_command` of a benchmark."""

    def __call__(
        self,
        run: str,
        judge: str | None,
        flags: ModelFlags,
        as_json: bool,
        log: Path | None,
        *,
        exclude_aborted: bool = False,
    ) -> None:
        """Score `run`, append the scores to the log, and print the report."""


def refuse_judge(run: str, judge: str | None, flags: ModelFlags) -> None:
    """Refuse a judge, and what is said of how it is asked.

    Raises:
        InputError: names the run.
    """
    if judge or flags != NO_FLAGS:
        raise InputError(f"{run} is scored by its benchmark's rules: there is no judge.")
