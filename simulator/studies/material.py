"""The material of a study, from its benchmark: cells, and for each place an item, seats and episode options.

A benchmark declares a subclass of `StudyMaterial` (`Benchmark.studies`): of `ItemStudy` if each item is a
cell, or of `OppositeStudy` if the participant also takes one of two seats. For a benchmark without its own
machine, `DeclaredStudy` follows from the declaration.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, partial
from typing import Any, ClassVar, Final, Generic, TypeVar

from logs import LogReader
from simulator import catalog
from simulator.benchmark import Benchmark, SeatSpec
from simulator.errors import InputError
from simulator.fields import read_fields
from simulator.models import Needs
from simulator.models.preflight import REMOTE
from simulator.runner.build import load_machine, require_seats
from simulator.runner.lobby import PERSON
from simulator.studies.files import Study
from simulator.studies.parts import StudySettings
from simulator.studies.quota import Cell, Place, quota_of, wanted_cells
from trees import Language

SettingsT = TypeVar("SettingsT", bound=StudySettings)
DATA: Final = "data"
"""The setting of a declared benchmark that names the items, as ``--data`` does."""
EVERY_STUDY: Final = frozenset({"study", "language", "set", "place", "begun", "break"})
"""Options of the episodes of every study, which no rule may be named after."""


class StudyMaterial(ABC, Generic[SettingsT]):
    """A study, as read by its benchmark.

    Attributes:
        reader: a reader of the log with the runs that settings name; None if only the cells are needed.

    Raises:
        InputError: if the study belongs to another benchmark, or the benchmark has no such seat.
    """

    benchmark: str
    seats: tuple[str, ...]
    reads: ClassVar[type[StudySettings]] = StudySettings

    def __init__(self, study: Study, reader: LogReader | None = None) -> None:
        if study.benchmark != self.benchmark:
            raise InputError(f"study {study.id!r}: benchmark must be {self.benchmark}, not {study.benchmark}")
        if unknown := [seat for seat in study.people if seat not in self.seats]:
            known = f"known are: {', '.join(self.seats)}"
            raise InputError(
                f"study {study.id!r}: seat: {self.benchmark} has no seat {unknown[0]!r}; {known}"
            )
        self.study = study
        self.reader = reader

    @cached_property
    def settings(self) -> SettingsT:
        """The settings of the study."""
        settings: SettingsT = self.read_settings()
        return settings

    def read_settings(self) -> Any:
        """Read the settings of the study; a setting without a value counts as left out.

        Raises:
            InputError: names the study, the field and the allowed values.
        """
        values = {name: value for name, value in self.study.settings.items() if value is not None}
        values = {"languages": [self.study.language], **values}
        return self.reads.parse(values, f"study {self.study.id!r}, settings: ")

    def check(self) -> None:
        """Refuse a study that cannot be run.

        Raises:
            InputError: if a setting is wrong, or cells and numbers of participants do not fit.
        """
        _ = self.settings
        quota_of(self.study, self.cells)

    @property
    def languages(self) -> tuple[Language, ...]:
        """The languages of the pages; for any other language, the study's own is used if available."""
        return self.settings.languages

    @property
    def shows_result(self) -> bool:
        """True if participants see their result at the end."""
        return self.settings.show_result

    @property
    @abstractmethod
    def cells(self) -> Sequence[Cell]:
        """The cells of the design.

        Raises:
            InputError: if the benchmark cannot run it.
        """

    @abstractmethod
    def item(self, cell: Cell, seed: int, language: Language) -> Any:
        """Return the item of a place; equal arguments give equal items."""

    @property
    @abstractmethod
    def task(self) -> str:
        """The task of participants, as a key to the texts of pages."""

    @property
    def seating(self) -> Mapping[str, str]:
        """The player of each seat: people, and those named by the settings."""
        return dict.fromkeys(self.study.people, "person")

    @property
    def needs(self) -> Mapping[str, Needs]:
        """The abilities needed of remote models, by their names."""
        opposite = (*self.seating.values(), *self.study.pairing.partner.values())
        return {name: Needs() for name in opposite if name.startswith(REMOTE)}

    @property
    def rules(self) -> Mapping[str, Any]:
        """The rules that decide who can take a seat; also the options of every episode, by default."""
        return {}

    def options(self, place: Place, *, begun: bool) -> Mapping[str, object]:
        """Return additional options of a place's episode."""
        return self.rules


class ItemStudy(StudyMaterial[SettingsT]):
    """A study in which each item is a condition, so nobody sees it twice; its cell is the item's id."""

    @abstractmethod
    def all_items(self) -> Sequence[Any]:
        """Return all items that the settings allow."""

    def check(self) -> None:
        """Refuse a study that cannot be run; see `StudyMaterial.check`.

        Raises:
            InputError: also if a player cannot take their seat.
        """
        super().check()
        named = {"opposite": self.seating, "pairing": {**self.seating, **self.study.pairing.partner}}
        for field, seats in named.items():
            try:
                require_seats(load_machine(self.benchmark), seats, self.rules)
            except InputError as error:
                raise InputError(f"study {self.study.id!r}, {field}: {error}") from error

    def name(self, item: Any) -> str:
        """Return the unique name of an item."""
        return str(item.id)

    def choose_items(self, items: Mapping[Cell, Any]) -> Mapping[Cell, Any]:
        """Return the items to play, among those that conditions and settings allow."""
        return items

    @cached_property
    def items(self) -> Mapping[Cell, Any]:
        """The items by cell: those named by the study's conditions, else all that its settings allow.

        Raises:
            InputError: if the data cannot be loaded, or a condition is not an item.
        """
        _ = self.settings  # its errors name the study already
        try:
            items = {item_cell(self.name(item)): item for item in self.all_items()}
            return self.choose_items(wanted_cells(self.study, items))
        except InputError as error:
            raise InputError(f"study {self.study.id!r}: {error}") from error

    @property
    def cells(self) -> Sequence[Cell]:
        """One cell for each item."""
        return tuple(self.items)

    def item(self, cell: Cell, seed: int, language: Language) -> Any:
        """Return the item of a place; it is the same for everybody."""
        return self.items[cell]


def item_cell(name: str) -> Cell:
    """Return the cell of an item: its name, without slashes, which nest conditions."""
    return ("_".join(name.replace("/", " ").split()),)


class DeclaredStudy(ItemStudy[StudySettings]):
    """A study of a benchmark without its own machine.

    Its settings are the rules, the player of each other seat, the data, and those of every study::

        settings: {questions: 15, answerer: openai/gpt-4o, show_result: true}
    """

    def __init__(self, benchmark: Benchmark[Any, Any], study: Study, reader: LogReader | None = None) -> None:
        self._declared = benchmark
        self.benchmark = benchmark.name
        self.seats = tuple(seat.name for seat in benchmark.seats)
        super().__init__(study, reader)

    def read_settings(self) -> StudySettings:
        """Read the settings.

        Raises:
            InputError: if a setting is unknown, or a rule is out of its range.
        """
        assert self._declared.rules is not None
        where, names = f"study {self.study.id!r}: settings: ", tuple(self._declared.rules.model_fields)
        if clash := [name for name in names if name in EVERY_STUDY]:
            raise InputError(
                f"{self.benchmark}: the rule {clash[0]} has the name of an option of every study; rename it."
            )
        shared, others = tuple(StudySettings.model_fields), self._other_seats
        known = (DATA, *(seat.name for seat in others), *names, *shared)
        settings = self.study.settings
        if unknown := [name for name in settings if name not in known]:
            if unknown[0] in Study.model_fields:
                raise InputError(f"{where}key {unknown[0]!r} belongs beside `settings`.")
            raise InputError(f"{where}unknown setting {unknown[0]}; known are: {', '.join(known)}.")
        rules = read_fields(self._declared.rules, settings, where)
        self._rules: dict[str, Any] = rules.model_dump(mode="json")
        own = {name: value for name, value in settings.items() if name in shared}
        return StudySettings.parse({"languages": [self.study.language], **own}, where)

    def check(self) -> None:
        """Refuse a study that cannot be run; see `StudyMaterial.check`.

        Raises:
            InputError: also if the setup does not match the seats, or a person sits in a model's seat.
        """
        super().check()
        machine, where = load_machine(self.benchmark), f"study {self.study.id!r}: "
        kinds = {
            seat.name: "person" if seat.name in self.study.people else "" for seat in self._declared.seats
        }
        if self.study.setup != (setup := machine.setup(kinds)):
            raise InputError(f"{where}setup must be {setup} if people sit as {', '.join(self.study.people)}")
        for seat in self._other_seats:
            if self.seating[seat.name] == "person":
                raise InputError(f"{where}settings: {seat.name} is a person; use seats to pair people")

    @property
    def _other_seats(self) -> tuple[SeatSpec, ...]:
        return tuple(seat for seat in self._declared.seats if seat.name not in self.study.people)

    @property
    def seating(self) -> Mapping[str, str]:
        """The player of each seat: people, and in other seats by default the first built-in player."""
        others = {
            seat.name: str(self.study.settings.get(seat.name, seat.usual)) for seat in self._other_seats
        }
        return {**super().seating, **others}

    @property
    def rules(self) -> Mapping[str, Any]:
        """The rules, as in the declaration."""
        _ = self.settings
        return self._rules

    def all_items(self) -> Sequence[Any]:
        """Return the items of the data."""
        return catalog.load_items(self._declared, str(self.study.settings.get(DATA, "builtin")))

    def choose_items(self, items: Mapping[Cell, Any]) -> Mapping[Cell, Any]:
        """Return the items in the languages of the pages; all that the study's conditions name.

        Raises:
            InputError: if there are none.
        """
        if self.study.conditions:
            return items
        # With LangGraph, which commands that list studies should not wait for.
        from simulator.runner.declared_machine import language_of

        taken = {cell: item for cell, item in items.items() if language_of(item) in self.languages}
        if not taken:
            raise InputError(f"no item is in a language of its pages ({', '.join(self.languages)})")
        return taken

    def name(self, item: Any) -> str:
        """Return the name of an item."""
        return self._declared.key(item)

    @property
    def task(self) -> str:
        """The participant's seat; empty if people are paired, since it is not known yet."""
        return self.study.seat


def material_type(benchmark: Benchmark[Any, Any]) -> Callable[..., StudyMaterial[Any]] | None:
    """Return the factory of the material of a benchmark's studies; None if it does not support studies."""
    if benchmark.studies is not None:
        return benchmark.studies()
    return partial(DeclaredStudy, benchmark) if benchmark.machine is None else None


def material_of(study: Study, reader: LogReader | None = None) -> StudyMaterial[Any] | None:
    """Return the material of a study; None if its benchmark does not support studies."""
    make = material_type(catalog.find(study.benchmark))
    return None if make is None else make(study, reader)


class OppositeSettings(StudySettings):
    """Settings of an `OppositeStudy`.

    Attributes:
        opposite: the player of the other seat; by default the benchmark's (`OppositeStudy.usual`).
    """

    opposite: str = ""


OppositeT = TypeVar("OppositeT", bound=OppositeSettings)
PAIR: Final = "pair"
"""The `task` of participants who are paired."""


class OppositeStudy(ItemStudy[OppositeT]):
    """A study in which each item is a cell, and the participant takes one of the benchmark's two seats.

    Attributes:
        usual: the default player of each seat.
    """

    usual: ClassVar[Mapping[str, str]]

    def read_settings(self) -> Any:
        """Read the settings.

        Raises:
            InputError: also if the setup does not match the seat, or `opposite` is a person.
        """
        settings = super().read_settings()
        setup = "H2L" if self.study.seat == self.seats[0] else "L2H"
        problem = ""
        if self.study.seats is None and self.study.setup != setup:
            problem = f"setup must be {setup} if the participant is the {self.study.seat}"
        elif settings.opposite == PERSON:
            problem = "opposite is a person; to pair people, use seats in place of seat"
        elif settings.opposite and self.study.seats is not None:
            problem = "opposite: not allowed if people are paired"
        if problem:
            raise InputError(f"study {self.study.id!r}: {problem}")
        return settings

    @property
    def task(self) -> str:
        """The participant's seat; ``pair`` if people are paired."""
        return self.study.seat or PAIR

    @property
    def seating(self) -> Mapping[str, str]:
        """The player of each seat."""
        return {
            seat: PERSON if seat in self.study.people else self.settings.opposite or self.usual[seat]
            for seat in self.seats
        }
