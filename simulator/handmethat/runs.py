"""Runs of HandMeThat: a sample of episodes under partial or full observability, or a run for each."""

from __future__ import annotations

from typing import Final, Literal

from pydantic import Field

from simulator.errors import InputError
from simulator.field_options import logged_values
from simulator.handmethat.data import Drawn, draw_tasks
from simulator.handmethat.items import LEVELS, Sample
from simulator.handmethat.playing import Options, Posed
from simulator.orders import Limit, RunOrder, RunSpec, Selection
from simulator.runner.command import RunRequest, read_ranges
from trees import Language


class EpisodeSelection(Selection):
    """The episodes of a run."""

    lang: Language = Field(default="en", description="language of the dialogue")
    mode: Literal["full", "partial", "both"] = Field(
        default="partial", description="what the robot sees; both: a run for each"
    )
    levels: str | None = Field(default=None, description="levels, such as 1-4 or 2,3")
    per_level: Limit = Field(default=None, description="number of items per level, a stratified sample")
    split: str | None = Field(default=None, description="part of the split file: train, validate or test")
    limit: Limit = Field(default=None, description="number of items, balanced over levels")
    replay: bool = Field(
        default=False, description="recompute states from the human's actions, as published ones may be stale"
    )

    def draw(self, seed: int = 0) -> Drawn:
        """Return the tasks to play: all of the levels, or a sample of them.

        Raises:
            InputError: if the data or levels are wrong, or there are no such tasks.
        """
        every = self.per_level is None and self.limit is None
        sample = None if every else Sample(limit=self.limit, per_level=self.per_level, seed=seed)
        levels = None if self.levels is None else parse_levels(self.levels)
        return draw_tasks(self.data, sample, levels=levels, split=self.split, replay=self.replay)


def load_posed(data: str) -> tuple[Posed, ...]:
    """Return all tasks of some data, posed in English."""
    return tuple(Posed(task, "en") for task in EpisodeSelection(data=data).draw())


def parse_levels(text: str) -> tuple[int, ...]:
    """Return the levels in a string like ``1-3`` or ``2,4``, sorted and without duplicates.

    Raises:
        InputError: if the string is malformed, or a level does not exist.
    """
    levels = set(read_ranges("--levels", text, "1-4 or 2,3"))
    if unknown := sorted(levels - set(LEVELS)):
        raise InputError(f"--levels {text!r}: there is no level {unknown[0]}; levels are 1 to 4.")
    return tuple(sorted(levels))


def _requests(order: RunOrder[EpisodeSelection, Options]) -> list[RunRequest]:
    chosen, name = order.selection, order.settings.name
    if order.played is not None and chosen.per_level is not None:
        raise InputError("--per-level cannot be used with --items-of, which sets the items; drop one.")
    drawn = chosen.draw(order.settings.seed)
    modes = ("partial", "full") if chosen.mode == "both" else (chosen.mode,)
    return [
        order.request(
            [Posed(task, chosen.lang) for task in drawn],
            name=f"{name}-{mode}" if name and len(modes) > 1 else name,
            options={"mode": mode, **logged_values(order.rules)},
            config={"language": chosen.lang, **({"sample": drawn.to_json()} if drawn.sample else {})},
        )
        for mode in modes
    ]


RUNS: Final = RunSpec(
    selection=EpisodeSelection,
    rules=Options,
    requests=_requests,
    flags={"together": ""},
)
