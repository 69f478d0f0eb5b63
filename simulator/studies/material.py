"""What a benchmark gives a study: its cells, and in each place an item, seats and options of the episode.

A benchmark declares a subclass of `StudyMaterial` (`Benchmark.studies`), of `ItemStudy` where each item is a
cell, or of `OppositeStudy` where the participant also has one of two seats; for a benchmark that is a set of
pure functions, `DeclaredStudy` follows from the declaration.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, ClassVar, Final, Generic, TypeVar

from logs import LogReader
from simulator import catalog
from simulator.benchmark import Benchmark, SeatSpec
from simulator.errors import InputError
from simulator.fields import read_fields
from simulator.models import Needs
from simulator.models.preflight import REMOTE
from simulator.runner.build import load_machine
from simulator.runner.lobby import PERSON
from simulator.studies.files import Study
from simulator.studies.parts import StudySettings
from simulator.studies.quota import Cell, Place, quota_of, wanted_cells
from trees import Language

if TYPE_CHECKING:
    from simulator.runner.machines import AnyMachine


SettingsT = TypeVar("SettingsT", bound=StudySettings)
DATA: Final = "data"
"""The setting of a declared benchmark that names the items, as ``--data`` does."""
EVERY_STUDY: Final = frozenset({"study", "language", "set", "place", "begun", "break"})
"""Options that every study's episodes have; no rule may be called so."""


class StudyMaterial(ABC, Generic[SettingsT]):
    """A study, as its benchmark reads it.

    Attributes:
        benchmark: whose study it is; `seats` that a participant can sit in, `reads` what settings there are.
        reader: of the log that holds the runs which settings name; None where the cells alone are asked for.

    Args:
        study: one of the benchmark's.
        reader: as above.

    Raises:
        InputError: if the study is another benchmark's.
    """

    benchmark: str
    seats: tuple[str, ...]
    reads: ClassVar[type[StudySettings]] = StudySettings

    def __init__(self, study: Study, reader: LogReader | None = None) -> None:
        if study.benchmark != self.benchmark or not set(study.people) <= set(self.seats):
            raise InputError(
                f"study {study.id!r}: benchmark and seat must be {self.benchmark} and "
                f"{' or '.join(self.seats)}, not {study.benchmark} and {' and '.join(study.people)}"
            )
        self.study = study
        self.reader = reader

    @cached_property
    def settings(self) -> SettingsT:
        """The settings of the study.

        Raises:
            InputError: as for `read_settings`.
        """
        settings: SettingsT = self.read_settings()
        return settings

    def read_settings(self) -> Any:
        """Read the settings of the study; one without a value is as if it were left out.

        Raises:
            InputError: names the study, the field and what it can be.
        """
        values = {name: value for name, value in self.study.settings.items() if value is not None}
        values = {"languages": [self.study.language], **values}
        return self.reads.parse(values, f"study {self.study.id!r}, settings: ")

    def check(self) -> None:
        """Refuse a study that cannot be held.

        Raises:
            InputError: if a setting is wrong, or cells and numbers of participants do not fit.
        """
        _ = self.settings
        quota_of(self.study, self.cells)

    def check_seats(self, machine: AnyMachine, rules: Mapping[str, Any]) -> None:
        """Refuse a study in which somebody is named who cannot sit where they are to.

        Raises:
            InputError: says who can sit there.
        """
        from simulator.runner.build import require_seats  # a list of studies needs no models

        for seats in (self.seating, {**self.seating, **self.study.pairing.partner}):
            try:
                require_seats(machine, seats, rules)
            except InputError as error:
                raise InputError(f"study {self.study.id!r}, opposite: {error}") from error

    @property
    def languages(self) -> tuple[Language, ...]:
        """Languages of the pages; who wants another one gets the study's own if it is among them."""
        return self.settings.languages

    @property
    def shows_result(self) -> bool:
        """Return True if participants see in the end how they did."""
        return self.settings.show_result

    @property
    @abstractmethod
    def cells(self) -> Sequence[Cell]:
        """The cells of the design.

        Raises:
            InputError: if the benchmark cannot hold it.
        """

    @abstractmethod
    def item(self, cell: Cell, seed: int, language: Language) -> Any:
        """Return what somebody plays: the item of a place, the same whenever it is asked for."""

    @property
    @abstractmethod
    def task(self) -> str:
        """Return what participants do, as a key that the pages turn into words."""

    @property
    def seating(self) -> Mapping[str, str]:
        """Return who sits where: the participant, and opposite whoever the settings name."""
        return dict.fromkeys(self.study.people, "person")

    @property
    def needs(self) -> Mapping[str, Needs]:
        """Return what is asked of the servers' models that sit opposite, by their names."""
        opposite = (*self.seating.values(), *self.study.pairing.partner.values())
        return {name: Needs() for name in opposite if name.startswith(REMOTE)}

    def options(self, place: Place, *, begun: bool) -> Mapping[str, object]:
        """Return further options of a place's episode."""
        return {}


class ItemStudy(StudyMaterial[SettingsT]):
    """A study in which each item is a condition of its own, so nobody sees it twice; a cell is its id."""

    @abstractmethod
    def all_items(self) -> Sequence[Any]:
        """Return all items that the settings allow."""

    def name(self, item: Any) -> str:
        """Return the name of an item, unlike that of every other."""
        return str(item.id)

    def taken(self, items: Mapping[Cell, Any]) -> Mapping[Cell, Any]:
        """Return the items that are played, of those that conditions and settings allow."""
        return items

    @cached_property
    def items(self) -> Mapping[Cell, Any]:
        """The items by cell: those that the study's conditions name, else all that its settings say.

        Raises:
            InputError: if the data cannot be had, or a condition is no item.
        """
        _ = self.settings  # what is wrong with these names the study itself
        try:
            items = {item_cell(self.name(item)): item for item in self.all_items()}
            return self.taken(wanted_cells(self.study, items))
        except InputError as error:
            raise InputError(f"study {self.study.id!r}: {error}") from error

    @property
    def cells(self) -> Sequence[Cell]:
        """One cell for each item."""
        return tuple(self.items)

    def item(self, cell: Cell, seed: int, language: Language) -> Any:
        """Return the item of a place; everybody sees it in the same form."""
        return self.items[cell]


def item_cell(name: str) -> Cell:
    """Return the cell of an item: its name, without what divides a condition's parts."""
    return ("_".join(name.replace("/", " ").split()),)


class DeclaredStudy(ItemStudy[StudySettings]):
    """A study of a benchmark that is a declaration.

    Its settings are the rules, who sits in each other seat, the name of the data, and every study's. ::

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
            InputError: if there is no such setting, or a rule is out of its range.
        """
        assert self._declared.rules is not None
        where, names = f"study {self.study.id!r}: settings: ", tuple(self._declared.rules.model_fields)
        if clash := [name for name in names if name in EVERY_STUDY]:
            raise InputError(f"{self.benchmark}: the rule {clash[0]} is an option of every study's episodes.")
        shared, others = tuple(StudySettings.model_fields), self._other_seats
        known = (DATA, *(seat.name for seat in others), *names, *shared)
        settings = self.study.settings
        if unknown := [name for name in settings if name not in known]:
            raise InputError(f"{where}there is no {unknown[0]}; there are: {', '.join(known)}.")
        rules = read_fields(self._declared.rules, settings, where)
        self.rules: dict[str, Any] = rules.model_dump(mode="json")
        own = {name: value for name, value in settings.items() if name in shared}
        return StudySettings.parse({"languages": [self.study.language], **own}, where)

    def check(self) -> None:
        """See `StudyMaterial.check`; nor can a study be held in which a seat is empty.

        Raises:
            InputError: also if the setup is not that of the seats, or somebody cannot sit in one.
        """
        from simulator.runner.build import machine_of

        super().check()
        machine, where = machine_of(self._declared), f"study {self.study.id!r}: "
        kinds = {
            seat.name: "person" if seat.name in self.study.people else "" for seat in self._declared.seats
        }
        if self.study.setup != (setup := machine.setup(kinds)):
            raise InputError(
                f"{where}setup must be {setup} where people sit as {', '.join(self.study.people)}"
            )
        for seat in self._other_seats:
            if self.seating[seat.name] == "person":
                raise InputError(
                    f"{where}settings: {seat.name} is a person; seats names people who are paired"
                )
        self.check_seats(machine, self.rules)

    @property
    def _other_seats(self) -> tuple[SeatSpec, ...]:
        return tuple(seat for seat in self._declared.seats if seat.name not in self.study.people)

    @property
    def seating(self) -> Mapping[str, str]:
        """Return people's seats, and who sits in the others: by default the first built-in player."""
        others = {
            seat.name: str(self.study.settings.get(seat.name, seat.usual)) for seat in self._other_seats
        }
        return {**super().seating, **others}

    def options(self, place: Place, *, begun: bool) -> Mapping[str, object]:
        """Return the rules."""
        _ = self.settings
        return self.rules

    def all_items(self) -> Sequence[Any]:
        """Return the items of the data."""
        assert self._declared.load is not None
        return self._declared.load(str(self.study.settings.get(DATA, "builtin")))

    def name(self, item: Any) -> str:
        """Return the name of an item."""
        return self._declared.key(item)

    @property
    def task(self) -> str:
        """The participant's seat; empty where two are paired, and it is not known yet."""
        return self.study.seat


def material_type(benchmark: Benchmark[Any, Any]) -> Callable[..., StudyMaterial[Any]] | None:
    """Return what makes the material of a benchmark's studies; None if it holds no studies."""
    if benchmark.studies is not None:
        return benchmark.studies()
    return partial(DeclaredStudy, benchmark) if benchmark.machine is None else None


def material_of(study: Study, reader: LogReader | None = None) -> StudyMaterial[Any] | None:
    """Return the material of a study; None if its benchmark holds no studies.

    Raises:
        InputError: as for `StudyMaterial`.
    """
    made = material_type(catalog.find(study.benchmark))
    return None if made is None else made(study, reader)


class OppositeSettings(StudySettings):
    """Settings of such a study.

    Attributes:
        opposite: who sits in the other seat; by default whom the benchmark names (`OppositeStudy.usual`).
    """

    opposite: str = ""


OppositeT = TypeVar("OppositeT", bound=OppositeSettings)
PAIR: Final = "pair"
"""The task of participants who are paired, in place of a seat."""


class OppositeStudy(ItemStudy[OppositeT]):
    """A study in which each item is a cell, and one of the benchmark's two seats is the participant's.

    Attributes:
        usual: who sits in a seat unless the settings say.
    """

    usual: ClassVar[Mapping[str, str]]

    @property
    @abstractmethod
    def rules(self) -> Mapping[str, Any]:
        """Return the rules of every episode, as its options have them."""

    def read_settings(self) -> Any:
        """Read the settings.

        Raises:
            InputError: also if the setup is not the seat's, or a person is to sit opposite.
        """
        settings = super().read_settings()
        setup = "H2L" if self.study.seat == self.seats[0] else "L2H"
        problem = ""
        if self.study.seats is None and self.study.setup != setup:
            problem = f"setup must be {setup} where the participant sits in the {self.study.seat}'s seat"
        elif settings.opposite == PERSON:
            problem = "opposite is a person; people are paired with seats in place of seat"
        elif settings.opposite and self.study.seats is not None:
            problem = "opposite: nobody else takes part where people are paired"
        if problem:
            raise InputError(f"study {self.study.id!r}: {problem}")
        return settings

    def check(self) -> None:
        """See `ItemStudy.check`; nor can a study be held in which nobody sits opposite.

        Raises:
            InputError: says who can sit there.
        """
        super().check()
        self.check_seats(load_machine(self.benchmark), self.rules)

    @property
    def task(self) -> str:
        """The participant's seat; ``pair`` where two people take part."""
        return self.study.seat or PAIR

    @property
    def seating(self) -> Mapping[str, str]:
        """Return who sits where."""
        return {
            seat: PERSON if seat in self.study.people else self.settings.opposite or self.usual[seat]
            for seat in self.seats
        }

    def options(self, place: Place, *, begun: bool) -> Mapping[str, object]:
        """Return the rules of an episode."""
        return self.rules
