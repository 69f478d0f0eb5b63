"""Free play and studies of benchmarks that are declarations: what the web app calls."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial
from random import SystemRandom
from typing import Any

from logs import LogReader, LogWriter
from logs.rows import Judgment
from simulator import catalog
from simulator.benchmark import Benchmark
from simulator.errors import InputError
from simulator.models import ChatModel
from simulator.runner.declared import language_of, read_rules
from simulator.runner.finding import room_of
from simulator.runner.lobby import PERSON, Opponent, menu, require_choice, require_offered
from simulator.studies.files import Study
from simulator.studies.graph import CONSENT, READY
from simulator.studies.material import DeclaredStudy
from simulator.studies.sessions import StudySessions


class DeclaredSessions(StudySessions):
    """Free play and studies of one benchmark.

    What a person says in their turns is `Reply.text`; in a study ``yes`` or ``no`` to the consent first, and
    anything once the instructions are read.

    Models' keys are looked up in `env`; the studies are the built-in ones unless others are given.

    Raises:
        InputError: if a study's settings, conditions, numbers or data do not fit the benchmark.
    """

    around = (CONSENT, replace(READY, when=("first",)))

    def __init__(
        self,
        benchmark: Benchmark[Any, Any],
        log: LogWriter,
        reader: LogReader,
        models: Callable[[str], ChatModel],
        *,
        studies: Sequence[Study] | None = None,
        env: Mapping[str, str] = os.environ,
        opponents: Sequence[str] | None = None,
    ) -> None:
        self.benchmark = benchmark
        self.material = partial(DeclaredStudy, benchmark)
        self._env = env
        self._models = opponents
        super().__init__(room_of(benchmark), log, reader, models, studies=studies)

    @cached_property
    def items(self) -> Sequence[Any]:
        """The items of free play: those that come with the benchmark, in their order."""
        assert self.benchmark.load is not None
        return self.benchmark.load("builtin")

    def opponents(self, seat: str) -> tuple[Opponent, ...]:
        """Return who can sit in `seat`: built-in players, a person, and models if it has a prompt."""
        spec = self.benchmark.seat(seat)
        return menu(spec.players, self._env, self._models if spec.prompt else ())

    async def start(
        self,
        *,
        seat: str,
        others: Mapping[str, str],
        rules: Mapping[str, Any],
        item: int | None = None,
        language: str = "en",
    ) -> str:
        """Begin an episode of free play.

        Args:
            seat: the person's.
            others: who sits in each other seat, as `opponents` offers them.
            rules: those that are not as usual.
            item: its place among the items, from 1; None for one in the language of the pages, if any is.
            language: of the pages.

        Returns:
            The episode's id.

        Raises:
            InputError: if a choice is none.
        """
        seats = tuple(spec.name for spec in self.benchmark.seats)
        require_choice("seat", seat, seats)
        seated = {name: PERSON if name == seat else others.get(name, "") for name in seats}
        for name, who in seated.items():
            if name != seat:
                require_offered(who, name, self.opponents(name))
        options = read_rules(self.benchmark, rules)
        # An item's own name may tell what is to be found out, and an episode's id may be seen.
        return await self.start_item(self._item(item, language), seated, options, name=seat)

    def _item(self, place: int | None, language: str) -> Any:
        if place is not None and not 1 <= place <= len(self.items):
            message = f"item {place}: must be from 1 to {len(self.items)}."
            raise InputError(message, code="no_choice", value=place)
        if place is not None:
            return self.items[place - 1]
        spoken = [item for item in self.items if language_of(item) == language]
        # Which item a person is surprised with is nothing that a run has to reproduce.
        return SystemRandom().choice(spoken or self.items)

    def _revealed(self, here: Any, judgments: tuple[Judgment, ...]) -> Any:
        return self._room.replay(here.live.item, here.turns, judgments, here.live.episode.options)


def declared_benchmarks() -> tuple[Benchmark[Any, Any], ...]:
    """Return the installed benchmarks that are declarations, as lists order them."""
    return tuple(benchmark for benchmark in catalog.installed() if benchmark.room is None)
