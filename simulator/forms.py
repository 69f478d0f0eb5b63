"""Common parts of people's forms, for every benchmark: field types, reading, and errors.

A form comes from a **seat**, where it becomes a turn, or from a **desk**, where a person judges what others
said and it becomes a `Judgment` (`simulator.judging`). The benchmark defines the rules of its forms; a broken
rule is a `Problem` at a field, where pages show it. A form that breaks rules is not logged.
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
"""The answers to the consent."""
LONGEST: Final = 4000
"""The maximum length of a text, in characters."""
MOST: Final = 50
"""The maximum number of entries of a list."""

T = TypeVar("T")


class Problem(Protocol):
    """A rule that a form breaks; its text is a sentence."""

    @property
    def code(self) -> str:
        """The name of the rule."""

    @property
    def field(self) -> str:
        """The field concerned."""


ProblemT = TypeVar("ProblemT", bound=Problem)


class SeatFormError(SeatError, Generic[ProblemT]):
    """A form from a seat that breaks rules; it can be corrected."""

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
    """Return a text unchanged.

    Raises:
        SeatError: if it is longer than `LONGEST`.
    """
    if len(text) > LONGEST:
        raise SeatError(f"That is more than {LONGEST} characters.", seat, code="too_long")
    return text


def _refuse_too_long(text: str) -> str:
    if len(text) > LONGEST:
        raise PydanticCustomError("too_long", "has more than {most} characters", {"most": LONGEST})
    return text.strip()


def _split_by(divider: str) -> BeforeValidator:
    return BeforeValidator(lambda value: value.split(divider) if isinstance(value, str) else value or ())


def _drop_empty(texts: tuple[str, ...]) -> tuple[str, ...]:
    kept = tuple(filter(None, texts))
    if len(kept) > MOST:
        raise PydanticCustomError("too_many", "has more than {most} entries", {"most": MOST})
    return kept


Typed = Annotated[str, AfterValidator(_refuse_too_long)]
"""A typed text, stripped."""
FormText = Annotated[Typed, null_as("")]
"""A typed text; null becomes an empty text."""
Lines = Annotated[tuple[FormText, ...], _split_by("\n"), AfterValidator(_drop_empty)]
"""A list of non-empty texts; a single text is split into lines."""
Listed = Annotated[tuple[FormText, ...], _split_by(","), AfterValidator(_drop_empty)]
"""A list of non-empty texts; a single text is split at commas."""


def read_move(form: TypeAdapter[T], move: Mapping[str, Any], seat: str) -> T:
    """Read a form from the move of a seat.

    Raises:
        SeatError: if a field is missing or wrong, with the code ``too_long``, ``too_many`` or ``malformed``.
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
        raise ValueError(f"is {value!r}, not a time") from error


@dataclass(frozen=True, slots=True, kw_only=True)
class _Measured:
    shown_at: Annotated[str, AfterValidator(_as_time)] | None = None
    keys_used: Flag | None = None


_MEASURED: Final = TypeAdapter(_Measured)


def measurements(move: Mapping[str, Any], seat: str) -> dict[str, Any]:
    """Return a page's measurements: when a form was shown (``shown_at``), if keys were used (``keys_used``).

    Raises:
        SeatError: if they are not a time and a boolean.
    """
    return asdict(read_move(_MEASURED, move, seat))
