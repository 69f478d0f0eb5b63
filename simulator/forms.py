"""What forms of people have in common, whatever the benchmark: how they are read, and what may be wrong.

A form comes from a **seat**, where it becomes a turn, or from a **desk**, where somebody judges what others
said and it becomes a `Judgment` (`simulator.judging`). Its benchmark says which rules it has to keep; a rule
that is broken is a `Problem` at one field, so that a page can say it there. Nothing is written of a form that
breaks rules.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Annotated, Any, Final, Generic, Protocol, TypeVar

from pydantic import AfterValidator, BeforeValidator, TypeAdapter, ValidationError
from pydantic_core import PydanticCustomError

from simulator.errors import SeatError
from simulator.fields import Flag, first_fault, null_as

YES: Final = "yes"
NO: Final = "no"
"""What is said to the consent."""
LONGEST: Final = 4000
"""Letters of a text that are kept at most."""
MOST: Final = 50
"""Entries of a list that are kept at most."""

T = TypeVar("T")


class Problem(Protocol):
    """A rule that a form breaks; as a text, a sentence about it."""

    @property
    def code(self) -> str:
        """Names the rule."""

    @property
    def field(self) -> str:
        """Return what of the form it is about."""


ProblemT = TypeVar("ProblemT", bound=Problem)


class SeatFormError(SeatError, Generic[ProblemT]):
    """A form from a seat breaks rules; it can be corrected.

    Attributes:
        problems: every rule that is broken, with the field it is about.
    """

    def __init__(self, problems: Sequence[ProblemT], seat: str, *, code: str, said: str = "") -> None:
        super().__init__(said or " ".join(map(str, problems)), seat, code=code)
        self.problems = tuple(problems)


def read_consent(text: str, seat: str) -> str:
    """Return ``yes`` or ``no``.

    Raises:
        SeatError: if it is neither.
    """
    words = text.strip()
    if words not in (YES, NO):
        raise SeatError("Say yes or no.", seat, code="consent")
    return words


def checked_length(text: str, seat: str) -> str:
    """Return a text as it is.

    Raises:
        SeatError: if it has more letters than are kept.
    """
    if len(text) > LONGEST:
        raise SeatError(f"That is more than {LONGEST} letters.", seat, code="too_long")
    return text


def _refuse_too_long(text: str) -> str:
    if len(text) > LONGEST:
        raise PydanticCustomError("too_long", "has more than {most} letters", {"most": LONGEST})
    return text.strip()


def _split_by(divider: str) -> BeforeValidator:
    return BeforeValidator(lambda value: value.split(divider) if isinstance(value, str) else value or ())


def _drop_empty(texts: tuple[str, ...]) -> tuple[str, ...]:
    kept = tuple(filter(None, texts))
    if len(kept) > MOST:
        raise PydanticCustomError("too_many", "has more than {most} entries", {"most": MOST})
    return kept


Typed = Annotated[str, AfterValidator(_refuse_too_long)]
"""What somebody typed, without the blanks around it."""
FormText = Annotated[Typed, null_as("")]
"""The same, where null is nothing."""
Lines = Annotated[tuple[FormText, ...], _split_by("\n"), AfterValidator(_drop_empty)]
"""A list of texts, empty ones left out; one text is divided into its lines."""
Listed = Annotated[tuple[FormText, ...], _split_by(","), AfterValidator(_drop_empty)]
"""A list of texts, empty ones left out; one text is divided at its commas."""


def read_move(form: TypeAdapter[T], move: Mapping[str, Any], seat: str) -> T:
    """Return a form out of the move of a seat.

    Raises:
        SeatError: if a field is missing or wrong: ``too_long``, ``too_many``, or else ``malformed``.
    """
    try:
        return form.validate_python(dict(move))
    except ValidationError as error:
        fault = first_fault(error)
        own = fault.code in ("too_long", "too_many")
        raise SeatError(f"{fault}.", seat, code=fault.code if own else "malformed") from error


def _as_time(value: str) -> str:
    try:
        return datetime.fromisoformat(value).isoformat(timespec="milliseconds")
    except ValueError as error:
        raise ValueError(f"is {value!r}, no time") from error


@dataclass(frozen=True, slots=True, kw_only=True)
class _Measured:
    shown_at: Annotated[str, AfterValidator(_as_time)] | None = None
    keys_used: Flag | None = None


_MEASURED: Final = TypeAdapter(_Measured)


def measured(move: Mapping[str, Any], seat: str) -> dict[str, Any]:
    """Read what a page measures: when a form was shown (``shown_at``), if keys were used (``keys_used``).

    Raises:
        SeatError: if it is neither a time nor true or false.
    """
    return asdict(read_move(_MEASURED, move, seat))
