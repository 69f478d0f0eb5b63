"""What `askback report ambik` can be told: whose decisions count, and how sets are made of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Annotated, Any, Final, Literal, get_args, get_type_hints

import typer
from pydantic import Field, create_model

from simulator.ambik.settings import DEFAULT, Settings
from simulator.duplicates import DuplicatesOption
from simulator.fields import Fields

Switches = Mapping[str, Any]
"""Settings, by field of `Settings`, that are laid over those of a run."""
OF_SCORES: Final = (
    *("target_success", "temperature", "tokens", "quantile", "cp_rule", "calibration_truth", "renormalise"),
    *("entropy_weight", "similarity_weight"),
)
"""Settings on which a threshold rests: with others it has to be taken anew."""
_SWITCHES: Final = tuple(field.name for field in fields(Settings) if field.name != "not_listed")
"""Settings that need no other decisions: whether there is a fifth option is in what was logged."""


class ReportSettings(Fields):
    """The settings of a report; those of prediction sets are fields of `REPORT_SETTINGS`."""

    calibration: Annotated[
        tuple[Path, ...], typer.Option(help="a file of decisions on calibration items; may be repeated")
    ] = ()
    data: str | None = Field(
        default=None,
        description="the pairs that files of decisions are of, where they do not say: a name or a path",
    )
    part: Literal["all", "released", "added"] = Field(
        default="all",
        description="of the pairs: of the paper's kind, or as added in 2025; all: both, told apart",
    )
    task: Annotated[
        tuple[str, ...],
        typer.Option(help="App. K: show scene, plans and all sets of this pair (or all); may be repeated"),
    ] = ()
    lines: Path | None = Field(
        default=None, description="write every decision of the runs, JSON lines, calibrations first"
    )
    export: Path | None = Field(
        default=None, description="write the runs' decisions and a table of results into this folder"
    )
    duplicates: DuplicatesOption = "refuse"

    @property
    def switches(self) -> Switches:
        """The settings of prediction sets that were chosen."""
        chosen = {name: getattr(self, name, None) for name in _SWITCHES}
        return {name: value for name, value in chosen.items() if value is not None}


def _optional(name: str) -> tuple[Any, None]:
    """Return a field of `Settings` as one that may be left open."""
    kind, *extras = get_args(get_type_hints(Settings, include_extras=True)[name])
    described = next(extra.description for extra in extras if getattr(extra, "description", None))
    usual = getattr(DEFAULT, name)
    of_files = "" if usual is None else f", of files {usual}"
    help = f"{described}; default: as in the run{of_files}"
    return Annotated[(kind | None, *extras, Field(description=help))], None


_FIELDS: Final[dict[str, Any]] = {name: _optional(name) for name in _SWITCHES}
REPORT_SETTINGS: Final = create_model("REPORT_SETTINGS", __base__=ReportSettings, **_FIELDS)
"""`ReportSettings` with every switch of prediction sets; None, where nobody chose, is as a run was played."""
