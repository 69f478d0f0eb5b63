"""What is wrong with an episode file: faults are gathered, so that a reader tells all of them at once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from simulator.errors import InputError
from trees.faults import Fault, Severity


@dataclass(slots=True)
class Faults:
    """The faults of one file.

    Attributes:
        file: the file; empty for what was never in one.
        task: the episode's id.
    """

    file: Path | None
    task: str
    found: list[Fault] = field(default_factory=list)

    def add(self, key: str, message: str, *, code: str = "content", severity: Severity = "error") -> None:
        """Note one: `key` says where in the file (``current_object_dict.apple#0.inside``)."""
        place = str(self.file) if self.file else ""
        text = f"{key}: {message}" if key else message
        self.found.append(Fault(place, self.task, 0, code, text, severity))

    @property
    def errors(self) -> Sequence[Fault]:
        """Those that make the file unusable."""
        return [fault for fault in self.found if fault.severity == "error"]

    def raise_first(self) -> None:
        """Raise the first error, if there is one, with the number of the others.

        Raises:
            InputError: if something was wrong.
        """
        errors = self.errors
        if not errors:
            return
        more = len(errors) - 1
        place = self.file or self.task
        advice = f"; `askback check {place}` lists {more} more" if more else ""
        raise InputError(f"{place}: {errors[0].message}{advice}")

    def __iter__(self) -> Iterator[Fault]:
        return iter(self.found)
