"""A participant's set in a study with two seats: what is theirs alone, around a task that stands elsewhere.

Consent, instructions and questions are asked in an episode of the person's own, by the machine of every study
(`simulator.studies.graph`). Its task is another episode, which belongs to two people or to one and a model
(`simulator.studies.pairing`): so that one is the same row as any run's, and what one of two people does
before or after it holds up nobody.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from logs.rows import Ending, Item, Judgment, Score, Turn
from simulator.runner.machines import NO_OPTIONS, ActiveEpisode, AnyMachine
from simulator.studies.ledger import BENCHMARK, study_item
from simulator.studies.material import StudyMaterial

WAITING_ROOM: Final = "waiting"
"""The stage at which somebody has come to the task."""


class Participation:
    """The benchmark's machine, as a participant's own episode has it: of the task it shows and plays nothing.

    `is_over`: returns True if the task of an episode, by its id, has been played to its end.
    """

    name = BENCHMARK

    def __init__(
        self,
        machine: AnyMachine,
        material: StudyMaterial[Any],
        is_over: Callable[[str], bool],
    ) -> None:
        self._machine = machine
        self._study = material.study
        self._material = material
        self._is_over = is_over

    def __getattr__(self, name: str) -> Any:
        """Return what is the benchmark's."""
        return getattr(self._machine, name)

    def seated(self, options: Mapping[str, Any]) -> tuple[str, ...]:
        """Return the seat of the participant."""
        return (options["seat"],)

    def setup(self, kinds: Mapping[str, str]) -> Any:
        """Return the study's."""
        return self._study.setup

    def item_row(self, item: Any) -> Item:
        """Return the study as a row of the log."""
        return study_item(self._study)

    def read_item(self, row: Item) -> Any:
        """Return an item of the study, for pages that describe the task."""
        study = self._study
        return self._material.item(self._material.cells[0], study.seed, study.language)

    async def advance(self, live: ActiveEpisode, state: Any) -> Any:
        """Return the state as it is."""
        return state

    def due(self, live: ActiveEpisode, state: Any) -> None:
        """Return None: in the task, nobody moves here."""

    def ending(self, live: ActiveEpisode, state: Any) -> Ending | None:
        """Return that the task is over, once it is."""
        over = self._is_over(live.episode.id)
        return Ending(episode_id=live.episode.id, status="completed") if over else None

    def view(
        self, live: ActiveEpisode, state: Any, seat: str, ending: Ending | None, warning: str | None
    ) -> Any:
        """Return the benchmark's page, which shows nothing of the task at any stage of the study."""
        stage = live.stage or ("done" if ending else WAITING_ROOM)
        seats = dict.fromkeys(self._study.people, live.seats[seat])
        return self._machine.view(replace(live, stage=stage, seats=seats), state, seat, None, warning)

    def score(
        self,
        item: Any,
        turns: Sequence[Turn],
        judgments: Sequence[Judgment],
        options: Mapping[str, Any] = NO_OPTIONS,
    ) -> tuple[Score, ...]:
        """Return nothing: the task has the scores."""
        return ()
