"""Free play and studies of benchmarks whose pages consist of blocks, as called by the web app."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from random import SystemRandom
from typing import Any, ClassVar, NamedTuple, TypeVar, Unpack

from pydantic import BaseModel

from logs import LogReader, LogWriter
from logs.rows import Judgment
from simulator import catalog
from simulator.benchmark import Benchmark
from simulator.datasets import locate
from simulator.errors import InputError
from simulator.fields import read_fields
from simulator.items import BUILTIN
from simulator.models import ChatModel
from simulator.runner.build import machine_of
from simulator.runner.declared_machine import language_of
from simulator.runner.lobby import PERSON, Opponent, require_choice, require_offered
from simulator.runner.machines import ItemGroup
from simulator.studies.graph import CONSENT, READY, Step
from simulator.studies.held import SessionOptions
from simulator.studies.material import material_type
from simulator.studies.sessions import StudySessions

ItemT = TypeVar("ItemT")


class DrawnItem(NamedTuple):
    """An item of free play, with the options and the name of its episode (None: the item's name)."""

    item: Any
    options: Mapping[str, Any]
    name: str | None = None


class PlaySessions(StudySessions, ABC):
    """Free play and studies of one benchmark whose pages consist of blocks (`Benchmark.sessions`).

    A person's turn is a `Reply.text`; in a study the first is ``yes`` or ``no`` to the consent, and the
    second any text once the instructions are read.

    Attributes:
        data: the items of free play, as for ``askback run NAME --data``.

    Raises:
        InputError: if a study's settings, conditions, numbers or data do not fit the benchmark.
    """

    outer_steps: ClassVar[tuple[Step, ...]] = (CONSENT, replace(READY, when=("first",)))
    judges: ClassVar[tuple[str, ...]] = ()
    """The seats whose people may judge the success of free play (`judge`)."""
    loads_items: ClassVar[bool] = False
    """True if the items of free play can be loaded from anywhere (`data`)."""
    languages: ClassVar[tuple[str, ...]] = ()
    """The languages of items if there is no menu of items; empty: the language of the pages."""

    def __init__(
        self,
        benchmark: Benchmark[Any, Any],
        log: LogWriter,
        reader: LogReader,
        models: Callable[[str], ChatModel],
        *,
        data: str = BUILTIN,
        **options: Unpack[SessionOptions],
    ) -> None:
        if data != BUILTIN and not self.loads_items:
            raise InputError(f"The items of free play in {benchmark.name} cannot be chosen: {data!r}.")
        self.benchmark, self.data = benchmark, data
        material = material_type(benchmark)
        assert material is not None
        self.material = material
        super().__init__(machine_of(benchmark), log, reader, models, **options)

    def require_items(self) -> None:
        """Check that the data of free play exist, without reading them: they may be large.

        Raises:
            InputError: if they don't.
        """
        if self.data != BUILTIN:
            locate(self.data, self.benchmark.name, BUILTIN)

    @property
    @abstractmethod
    def choices(self) -> type[BaseModel]:
        """The model whose fields are the choices of free play."""

    @property
    def items(self) -> Sequence[Any]:
        """The items of free play, in order; empty if they are drawn at random."""
        return ()

    def item_menu(self, language: str) -> Sequence[ItemGroup]:
        """Return the items in a language by name; empty if names may give away the solution."""
        return ()

    def opponents(self, seat: str) -> tuple[Opponent, ...]:
        """Return the possible players of `seat`: built-in ones, a person, and models if it has a prompt."""
        spec = self.benchmark.seat(seat)
        return self._menu(spec.players, models=bool(spec.prompt))

    def other_seats(self, seat: str) -> Sequence[str]:
        """Return the other seats of an episode in which a person sits in `seat`."""
        return [spec.name for spec in self.benchmark.seats if spec.name != seat]

    def allowed_players(self, seat: str) -> Sequence[Opponent]:
        """Return the allowed players of `seat`: `opponents`, and any that are not on the menu."""
        return self.opponents(seat)

    def player_by_seat(self, seat: str, others: Mapping[str, str]) -> dict[str, str]:
        """Return the player of each seat in an episode of a person in `seat`.

        Raises:
            InputError: if there is no such seat, or a player is not offered for it.
        """
        seats = [spec.name for spec in self.benchmark.seats]
        require_choice("seat", seat, seats)
        chosen = {name: others.get(name, "") for name in seats if name in self.other_seats(seat)}
        for name, who in chosen.items():
            require_offered(who, name, self.allowed_players(name))
        return {name: PERSON if name == seat else chosen[name] for name in seats if name in (seat, *chosen)}

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
            seat: the person's seat.
            others: the player of each other seat, among its `opponents`.
            rules: the choices that differ from the defaults.
            item: the item's position, from 1; None for a random one, in `language` if there is any.
            language: the item's language if it can be chosen (`item_menu`, `languages`), else the pages'.

        Returns:
            The episode's id.

        Raises:
            InputError: if a choice is not allowed.
        """
        seats = self.player_by_seat(seat, others)
        chosen = read_fields(self.choices, rules).model_dump(mode="json")
        drawn = await self.draw_item(chosen, seat, seats, item, language)
        return await self.start_item(drawn.item, seats, drawn.options, name=drawn.name)

    @abstractmethod
    async def draw_item(
        self, rules: Mapping[str, Any], seat: str, seats: Mapping[str, str], item: int | None, language: str
    ) -> DrawnItem:
        """Return the item to play, for checked choices and players; arguments as for `start`."""


class DeclaredSessions(PlaySessions):
    """Free play and studies of a benchmark without a machine: its rules are the choices."""

    loads_items: ClassVar[bool] = True

    @property
    def choices(self) -> type[BaseModel]:
        """The rules."""
        assert self.benchmark.rules is not None
        rules: type[BaseModel] = self.benchmark.rules
        return rules

    @cached_property
    def items(self) -> Sequence[Any]:
        """The items of free play, in order."""
        return catalog.load_items(self.benchmark, self.data)

    def require_items(self) -> None:
        """See `PlaySessions.require_items`; only the benchmark knows what its data are, so they are read."""
        _ = self.items

    async def draw_item(
        self, rules: Mapping[str, Any], seat: str, seats: Mapping[str, str], item: int | None, language: str
    ) -> DrawnItem:
        """See `PlaySessions.draw_item`."""
        # An item's name may give away the solution, and people may see an episode's id.
        candidates = [] if item else [each for each in self.items if language_of(each) == language]
        return DrawnItem(chosen_item(candidates or self.items, item), rules, seat)

    def _reveal(self, here: Any, judgments: tuple[Judgment, ...]) -> Any:
        return self._machine.replay(here.live.item, here.turns, judgments, here.live.episode.options)


def chosen_item(items: Sequence[ItemT], place: int | None) -> ItemT:
    """Return the item at a position, from 1, or a random item if `place` is None.

    Raises:
        InputError: if there is no such position.
    """
    if place is None:
        # A random item of free play need not be reproducible.
        return SystemRandom().choice(items)
    if not 1 <= place <= len(items):
        message = f"item {place}: must be from 1 to {len(items)}."
        raise InputError(message, code="no_choice", value=place)
    return items[place - 1]


def sessions_type(benchmark: Benchmark[Any, Any]) -> type[PlaySessions] | None:
    """Return the class that serves the pages of a benchmark; None if they do not consist of blocks."""
    if benchmark.sessions is not None:
        return benchmark.sessions()
    return DeclaredSessions if benchmark.machine is None else None
