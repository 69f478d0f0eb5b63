"""Studies of two seats: a participant opposite whoever the settings name, or two who are paired."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar, Final, TypeVar

from simulator.errors import InputError
from simulator.runner.build import load_machine
from simulator.runner.lobby import PERSON
from simulator.studies.material import ItemStudy
from simulator.studies.parts import StudySettings
from simulator.studies.quota import Place


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
