"""The report as objects and as JSON by section."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from logs import LogReader
from simulator.ambik.benchmark import BENCHMARK
from simulator.ambik.reporting.results import REPORT_SETTINGS
from simulator.frames import Frames
from simulator.reporting import Report
from simulator.reporting.render import report_json
from simulator.reports import build_report


def report(
    reader: LogReader | None = None, runs: Sequence[str] = (), files: Sequence[Path] = (), **settings: Any
) -> Report:
    """The report on runs and files under some settings, without figures."""
    source = Frames(
        log=reader,
        runs=tuple(runs),
        files=tuple(files),
        settings=REPORT_SETTINGS(**settings),
        draws=False,
    )
    return build_report(BENCHMARK, source)


def sections(source: Report | dict[str, Any]) -> dict[str, dict[str, Any]]:
    """A report's sections as JSON, by name."""
    plain = report_json(source) if isinstance(source, Report) else source
    return {section["name"]: section for section in plain["sections"]}
