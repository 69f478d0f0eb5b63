"""HandMeThat's runs: a sample of its episodes, under partial or full observability or each in turn."""

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
    """The episodes that are played.

    Attributes:
        mode: what the robot sees; ``both``: a run for each.
        levels: as numbers and ranges; None for all.
        per_level: at most so many of each level; None for all.
        split: part of the data, as their split file says; None for all.
        replay: see `load_tasks`.
    """

    lang: Language = Field(default="en", description="language of everything that is said")
    mode: Literal["full", "partial", "both"] = Field(
        default="partial", description="what the robot sees; both: a run for each"
    )
    levels: str | None = Field(default=None, description="levels, such as 1-4 or 2,3")
    per_level: Limit = Field(default=None, description="a sample of so many items of each level, stratified")
    split: str | None = Field(default=None, description="train, validate or test, as the split file says")
    limit: Limit = Field(default=None, description="a sample of so many items, balanced over levels")
    replay: bool = Field(
        default=False, description="perform the human's actions: published files keep what these have undone"
    )

    def draw(self, seed: int = 0) -> Drawn:
        """Return the tasks to play: all of the levels, or a sample of them.

        Raises:
            InputError: if the data or levels are wrong, or there are none.
        """
        every = self.per_level is None and self.limit is None
        sample = None if every else Sample(limit=self.limit, per_level=self.per_level, seed=seed)
        levels = None if self.levels is None else parse_levels(self.levels)
        return draw_tasks(self.data, sample, levels=levels, split=self.split, replay=self.replay)


def load_posed(data: str) -> tuple[Posed, ...]:
    """Return all tasks of some data, posed in English."""
    return tuple(Posed(task, "en") for task in EpisodeSelection(data=data).draw())


def parse_levels(text: str) -> tuple[int, ...]:
    """Return the levels of ``1-3`` or ``2,4``, each once, in order.

    Raises:
        InputError: if it is not of that form, or names a level that there is not.
    """
    levels = set(read_ranges("--levels", text, "1-4 or 2,3"))
    if unknown := sorted(levels - set(LEVELS)):
        raise InputError(f"--levels {text!r}: there is no level {unknown[0]}; they are 1 to 4.")
    return tuple(sorted(levels))


def _requests(order: RunOrder[EpisodeSelection, Options]) -> list[RunRequest]:
    chosen, name = order.selection, order.settings.name
    if order.played is not None and chosen.per_level is not None:
        raise InputError("--per-level: the items are those of --items-of; leave one of the two out.")
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
