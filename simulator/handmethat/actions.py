"""The actions of the three domains, compiled from tables/actions.yaml (spec 3).

``human``: the human's actions; ``robot``: the robot's in the text environment; ``teleport``: abstract actions
of the robot, used for the rewards of help. A schema checks and applies; the caller chooses the arguments.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType
from typing import Any, Final, Literal, NamedTuple

from simulator.handmethat.hierarchy import STATE_OF_ABILITY, STATES, read_table
from simulator.handmethat.world import HUMAN, NOTHING, State, World, is_reachable, is_unlocked

Domain = Literal["human", "robot", "teleport"]
Args = tuple[int, ...]
_Check = Callable[[World, State, Args], bool]
_Change = Callable[[State, Args], State]
_CLEANABLE: Final = ("dustyable", "stainable")


class Action(NamedTuple):
    """An action of an agent: the name of its schema (with the agent as a prefix) and its entities."""

    name: str
    args: Args


@dataclass(frozen=True, slots=True)
class Need:
    """A precondition: its words in the table, and the check."""

    text: str
    check: _Check


@dataclass(frozen=True, slots=True)
class Schema:
    """One kind of action.

    Attributes:
        name: with the agent as a prefix: ``human-move``, ``robot-move``.
        bounds: allowed entities of each parameter (see the top of the table).
        serves: the quest type that an abstract robot action serves.
        argument: the verb of an abstract robot action, or its parameter for the destination.
    """

    name: str
    params: tuple[str, ...]
    bounds: tuple[str, ...]
    needs: tuple[Need, ...]
    changes: tuple[_Change, ...]
    serves: str = ""
    argument: str = ""

    def applicable(self, world: World, state: State, args: Args) -> bool:
        """Return True if every precondition holds; `args`: entities, one per parameter."""
        return all(need.check(world, state, args) for need in self.needs)

    def unmet(self, world: World, state: State, args: Args) -> str | None:
        """Return the first precondition that fails, in the words of the table; None if all hold."""
        return next((need.text for need in self.needs if not need.check(world, state, args)), None)

    def apply(self, state: State, args: Args) -> State:
        """Return the state after the action; `args` must be applicable."""
        for change in self.changes:
            state = change(state, args)
        return state


@cache
def domain(which: Domain) -> Mapping[str, Schema]:
    """Return the schemas of a domain by name."""
    table = read_table("actions")
    if which == "teleport":
        return MappingProxyType({name: _schema(name, row) for name, row in table["teleport"].items()})
    rows: dict[str, Any] = dict(table["agent"])
    if which == "robot":
        rows = {name: {**row, "params": row.get("robot", row["params"])} for name, row in rows.items()}
        rows |= table["robot"]
    prefixed = {f"{which}-{name}": row for name, row in rows.items()}
    return MappingProxyType({name: _schema(name, row) for name, row in prefixed.items()})


def carry_out(
    world: World, state: State, actions: Iterable[Action], which: Domain = "human"
) -> tuple[State, str | None]:
    """Carry out `actions` one after the other.

    Returns:
        The final state and None; if an action is impossible, the state before it, and its number with the
        reason: ``3: human-move cannot be done then: needs at l``.
    """
    for number, (name, args) in enumerate(actions):
        schema = domain(which)[name]
        if (unmet := schema.unmet(world, state, args)) is not None:
            return state, f"{number}: {name} cannot be done then: needs {unmet}"
        state = schema.apply(state, args)
    return state, None


def _schema(name: str, row: Mapping[str, Any]) -> Schema:
    params = tuple(row["params"])
    needs = [_need(text, params) for text in row["needs"]]
    if name.startswith("human-"):
        needs.insert(0, Need("not waiting", lambda w, s, a: not s.waiting))
    return Schema(
        name=name,
        params=params,
        bounds=tuple(row["params"].values()),
        needs=tuple(needs),
        changes=tuple(_change(text, params) for text in row["makes"]),
        serves=row.get("serves", ""),
        argument=row.get("argument", ""),
    )


def _need(text: str, params: tuple[str, ...]) -> Need:
    words = text.split()
    negated = words[0] == "not"
    word, *names = words[negated:]
    check = _check(word, *(params.index(name) for name in names))
    return Need(text, (lambda w, s, a: not check(w, s, a)) if negated else check)


def _check(word: str, i: int = -1, j: int = -1) -> _Check:
    if word in STATES:
        field = State._fields.index(word)
        return lambda w, s, a: bool(s[field] >> a[i] & 1)  # type: ignore[operator]
    if word in STATE_OF_ABILITY or word in ("has-inside", "has-ontop", "movable", "receptacle"):
        return lambda w, s, a: bool(w.find_all(word) >> a[i] & 1) if a[i] >= 0 else False
    if word in ("heats", "cools", "soaks"):
        return lambda w, s, a: w.kinds[a[i]].role == word
    if word in ("inside", "ontop"):
        return lambda w, s, a: s.place[a[i]] == a[j] and w.kinds[a[j]].relation == word
    return _CHECKS[word](i, j)


def _is_cleanable(world: World, thing: int) -> bool:
    return thing >= 0 and any(world.find_all(ability) >> thing & 1 for ability in _CLEANABLE)


_CHECKS: Final[Mapping[str, Callable[[int, int], _Check]]] = {
    "at": lambda i, j: lambda w, s, a: s.at == a[i],
    "hand-empty": lambda i, j: lambda w, s, a: s.holding == NOTHING,
    "holding": lambda i, j: lambda w, s, a: s.holding == a[i],
    "human": lambda i, j: lambda w, s, a: a[i] == HUMAN,
    "human-holding": lambda i, j: lambda w, s, a: a[i] >= 0 and bool(s.given >> a[i] & 1),
    "waiting": lambda i, j: lambda w, s, a: s.waiting,
    "reach": lambda i, j: lambda w, s, a: is_reachable(w, s, a[i], a[j]),
    "unlocked": lambda i, j: lambda w, s, a: is_unlocked(w, s, a[i]),
    "in-or-on": lambda i, j: lambda w, s, a: s.place[a[i]] == a[j],
    # A receptacle may be put at a location, never in or on a movable receptacle.
    "may-hold": lambda i, j: lambda w, s, a: not (w.kinds[a[i]].movable and w.kinds[a[j]].receptacle),
    "cuts": lambda i, j: lambda w, s, a: w.kinds[a[i]].name == "knife",
    "cleans": lambda i, j: lambda w, s, a: w.kinds[a[i]].name in w.kinds[a[j]].cleaners,
    "wet-enough": lambda i, j: lambda w, s, a: bool((s.soaked | ~w.find_all("soakable")) >> a[i] & 1),
    "cleanable": lambda i, j: lambda w, s, a: _is_cleanable(w, a[i]),
}


def _change(text: str, params: tuple[str, ...]) -> _Change:
    words = text.split()
    if words == ["not", "waiting"]:
        return lambda s, a: s._replace(waiting=False)
    negated = words[0] == "not"
    word, *names = words[negated:]
    indices = [params.index(name) for name in names]
    if word in STATES:
        return _assign(word, indices[0], not negated)
    return _CHANGES[word](*indices)


def _assign(name: str, i: int, value: bool) -> _Change:
    field = State._fields.index(name)

    def change(state: State, args: Args) -> State:
        values: list[Any] = list(state)
        bit = 1 << args[i]
        values[field] = values[field] | bit if value else values[field] & ~bit
        return State._make(values)

    return change


def _put(state: State, entity: int, container: int) -> State:
    # An abstract robot action may move a thing that the human does not hold.
    hand = NOTHING if state.holding == entity else state.holding
    return state.with_place(entity, container)._replace(holding=hand)


_CHANGES: Final[Mapping[str, Callable[..., _Change]]] = {
    "at": lambda i: lambda s, a: s._replace(at=a[i]),
    "holding": lambda i: lambda s, a: s.with_place(a[i], NOTHING)._replace(holding=a[i]),
    "put": lambda i, j: lambda s, a: _put(s, a[i], a[j]),
    "give": lambda i: lambda s, a: s._replace(holding=NOTHING, given=s.given | 1 << a[i]),
    "take": lambda i: lambda s, a: s._replace(holding=a[i], given=s.given & ~(1 << a[i])),
}
