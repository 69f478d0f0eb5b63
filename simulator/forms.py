"""What forms of people have in common, whatever the benchmark: how they are read, and what may be wrong.

A form comes from a **seat**, where it becomes a turn, or from a **desk**, where somebody judges what others
said and it becomes a `Judgment`. Which rules it has to keep, its room says; a rule that is broken is a
`Problem` at one field, so that a page can say it there. Nothing is written of a form that breaks rules.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, Final, Generic, Protocol, TypeVar

from logs.rows import Judgment
from simulator.errors import InputError, SeatError
from simulator.seeds import derive_seed

YES: Final = "yes"
NO: Final = "no"
"""What is said to the consent."""
LONGEST: Final = 4000
"""Letters of a text that are kept at most."""

T = TypeVar("T")


class Problem(Protocol):
    """A rule that a form breaks; as a text, a sentence about it."""

    @property
    def code(self) -> str:
        """Names the rule."""
        ...

    @property
    def field(self) -> str:
        """What of the form it is about."""
        ...


ProblemT = TypeVar("ProblemT", bound=Problem)


class SeatFormError(SeatError, Generic[ProblemT]):
    """A form from a seat breaks rules; it can be mended.

    Attributes:
        problems: every rule that is broken, with the field it is about.
    """

    def __init__(self, problems: Sequence[ProblemT], seat: str, *, code: str, said: str = "") -> None:
        super().__init__(said or " ".join(map(str, problems)), seat, code=code)
        self.problems = tuple(problems)


class DeskFormError(InputError, Generic[ProblemT]):
    """A form from a desk breaks rules; it can be mended.

    Attributes:
        problems: every rule that is broken, with the field it is about.
    """

    def __init__(self, problems: Sequence[ProblemT]) -> None:
        super().__init__(" ".join(map(str, problems)))
        self.problems = tuple(problems)


def read_consent(text: str, seat: str) -> str:
    """``yes`` or ``no``.

    Raises:
        SeatError: if it is neither.
    """
    said = text.strip()
    if said not in (YES, NO):
        raise SeatError("Say yes or no.", seat, code="consent")
    return said


def checked_length(text: str, seat: str) -> str:
    """A text as it is.

    Raises:
        SeatError: if it has more letters than are kept.
    """
    if len(text) > LONGEST:
        raise SeatError(f"That is more than {LONGEST} letters.", seat, code="too_long")
    return text


def measured(move: Mapping[str, Any], seat: str) -> dict[str, Any]:
    """What a page measures: when the form was shown (``shown_at``), whether keys were used (``keys_used``).

    Raises:
        SeatError: if it is neither a time nor true or false.
    """
    return {
        "shown_at": _time(move.get("shown_at"), seat),
        "keys_used": _flag(move.get("keys_used"), seat),
    }


def desk_row(
    kind: str, source: str, key: str, who: str, value: Mapping[str, Any], *, submission: str
) -> Judgment:
    """The row that a form on an item makes; nothing is written here.

    Args:
        kind: of the judgment: the benchmark and what is judged, with a dot between.
        source: the run, or the data set, that the item is of.
        key: of the item: its hash.
        who: whose form it is, by pseudonym.
        value: the form.
        submission: the same is the same form, however often it is sent.
    """
    return Judgment(
        id=f"{source}/{key}/{kind.rpartition('.')[2]}/{who}/{submission}",
        episode_id=None,
        item_hash=key,
        annotator=who,
        kind=kind,
        value=dict(value),
        key=submission,
    )


def in_own_order(due: Iterable[T], desk: str, who: str, key: Callable[[T], str]) -> tuple[T, ...]:
    """What somebody is to judge, in an order of their own.

    Each thing has a place of its own, so what remains keeps its order however far others have come.

    Args:
        due: what there is to judge.
        desk: names the desk.
        who: is to judge, by pseudonym.
        key: names a thing.
    """
    return tuple(sorted(due, key=lambda one: derive_seed(0, desk, who, key(one))))


def _time(value: object, seat: str) -> str | None:
    if value is None:
        return None
    try:
        return datetime.fromisoformat(str(value)).isoformat(timespec="milliseconds")
    except ValueError as error:
        raise SeatError(f"shown_at {value!r} is no time.", seat, code="malformed") from error


def _flag(value: object, seat: str) -> bool | None:
    if value is None or isinstance(value, bool):
        return value
    raise SeatError(f"keys_used {value!r} is neither true nor false.", seat, code="malformed")
