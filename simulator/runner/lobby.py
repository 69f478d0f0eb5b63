"""Who is offered to a person for the seat opposite: built-in players, another person, models with a key."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Final, TypeVar

from simulator.errors import InputError
from simulator.models.load import bare_name

# The models offered in the menus, and the environment variable that each needs.
MODELS: Final[Mapping[str, str]] = {
    "openai/gpt-4o": "OPENAI_API_KEY",
    "openai/gpt-4o-mini": "OPENAI_API_KEY",
    "anthropic/claude-sonnet-4-5": "ANTHROPIC_API_KEY",
}
T = TypeVar("T")
PERSON: Final = "person"


@dataclass(frozen=True, slots=True)
class Opponent:
    """Somebody who can sit opposite a person.

    Attributes:
        available: False if `requires`, an environment variable, is not set.
    """

    name: str
    available: bool
    requires: str = ""

    @property
    def label(self) -> str:
        """The name without provider and server, for people."""
        return bare_name(self.name).partition("/")[2] or self.name


def menu(
    offline: Iterable[str], env: Mapping[str, str], models: Iterable[str] | None = None
) -> tuple[Opponent, ...]:
    """Return the built-in players named `offline`, a second person, and models, in this order.

    Args:
        offline: names of the built-in players for the seat.
        env: the environment, in which models' keys are looked up.
        models: those that whoever started the app has chosen; None for the usual ones.
    """
    if models is None:
        offered = [Opponent(name, bool(env.get(key)), key) for name, key in MODELS.items()]
    else:
        offered = [Opponent(name, True) for name in models]
    return (*(Opponent(name, True) for name in offline), Opponent(PERSON, True), *offered)


def require_choice(field: str, value: T, allowed: Collection[T]) -> T:
    """Return a choice that came from a browser.

    Raises:
        InputError: if it is not among those `allowed`.
    """
    if value not in allowed:
        known = ", ".join(map(str, allowed))
        raise InputError(f"{field} {value!r}: must be one of {known}.", code="no_choice", value=value)
    return value


def require_offered(name: str, seat: str, offered: Iterable[Opponent]) -> None:
    """Refuse who was not offered: names come from a browser, and must not reach files or other servers.

    Raises:
        InputError: if `name` is not among those in `offered` who are available.
    """
    if name not in {opponent.name for opponent in offered if opponent.available}:
        raise InputError(
            f"{name!r} cannot sit in the {seat}'s seat here; pick somebody from the list.",
            code="not_offered",
            who=name,
        )
