"""The notation in which tables/goals.yaml writes subgoals; the table's head explains it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final, Literal, get_args

from simulator.errors import InputError
from simulator.handmethat.goals.model import ANYWHERE, OF_A_TYPE, Form, Requirement
from simulator.handmethat.hierarchy import STATES, Relation, hierarchy

# What a slot is filled with: a location, a given type, a type drawn of a subclass, a thing of a given type,
# or a thing of the type that is drawn once for a subclass.
SlotKind = Literal["location", "type", "drawn", "thing", "drawn thing"]
_FORMS: Final[dict[str, Form]] = {form: form for form in get_args(Form)}
_RELATIONS: Final[dict[str, Relation]] = {"in": "inside", "on": "ontop"}
_WITHOUT_PLACE: Final = ("BE", "BE-ALL")
_STATES: Final = r"(?:\{([^{}]*)\})?"
_TERM: Final = re.compile(rf"([^\s{{}}\[\],]+){_STATES}")
_LINE: Final = re.compile(rf"(\S+) (?:\[(.*)\]|([^\s{{}}\[\]]+)){_STATES}(?: (in|on) ([^\s{{}}]+){_STATES})?")
_COMMA: Final = re.compile(r",\s*(?![^{}]*\})")
_SLOTS: Final[dict[SlotKind, re.Pattern[str]]] = {
    "location": re.compile(r"@(?P<name>\w+)"),
    "drawn": re.compile(r"\?(?P<name>\w+)(?:\.(?P<tag>\w+))?"),
    "drawn thing": re.compile(r"<(?P<name>\w+)>#(?P<tag>\w+)"),
    "thing": re.compile(r"(?P<name>\w+)#(?P<tag>\w+)"),
    "type": re.compile(r"(?P<name>\w+)"),
}


@dataclass(frozen=True, slots=True)
class Slot:
    """The draw for one term of a subgoal.

    Attributes:
        tag: slots of one tag are filled alike; empty where there is none.
    """

    kind: SlotKind
    name: str
    tag: str = ""


@dataclass(frozen=True, slots=True)
class Pattern:
    """A subgoal with slots; see `Subgoal` for its parts."""

    form: Form
    x: Slot
    y: Slot | None = None
    relation: Relation | None = None
    of_x: tuple[Requirement, ...] = ()
    of_y: tuple[Requirement, ...] = ()


def read_patterns(text: str) -> tuple[Pattern, ...]:
    """Return the subgoals that one line of the table stands for: one for each element of its list.

    Raises:
        InputError: if the line is not in the notation; the message says what is wrong.
    """
    try:
        return tuple(_patterns(text))
    except ValueError as error:
        raise InputError(f"Subgoal {text!r}: {error}.") from error


def _patterns(text: str) -> list[Pattern]:
    line = _LINE.fullmatch(text)
    if line is None or line[1] not in _FORMS:
        raise ValueError(f"it is no FORM x in y, of the forms {', '.join(_FORMS)}")
    form, shared, y, relation = _FORMS[line[1]], _states(line[4]), None, None
    if (line[5] is None) != (form in _WITHOUT_PLACE):
        raise ValueError(f"{form} {'has a' if line[5] is None else 'has no'} place")
    if line[5] is not None:
        y, relation = _slot(line[6], form in ANYWHERE), _RELATIONS[line[5]]
        if any(hierarchy().kinds[name].relation != relation for name in _types(y)):
            raise ValueError(f"things cannot lie {relation} {y.name!r}")
    patterns = []
    for part in [line[3]] if line[2] is None else _COMMA.split(line[2]):
        term = _TERM.fullmatch(part)
        if term is None:
            raise ValueError(f"{part!r} is no slot with states")
        x, of_x = _slot(term[1], form in OF_A_TYPE), (*_states(term[2]), *shared)
        if y is None and not of_x:
            raise ValueError(f"{form} asks for states in braces, and there are none")
        patterns.append(Pattern(form, x, y, relation, of_x, _states(line[7])))
    return patterns


def _states(text: str | None) -> tuple[Requirement, ...]:
    states = [] if text is None else _COMMA.split(text)
    required = tuple((state.removeprefix("not "), not state.startswith("not ")) for state in states)
    for state, _ in required:
        if state not in STATES:
            raise ValueError(f"{state!r} is no state; there are {', '.join(STATES)}")
    return required


def _slot(token: str, is_type: bool) -> Slot:
    for kind, pattern in _SLOTS.items():
        if match := pattern.fullmatch(token):
            slot = Slot(kind, match["name"], match.groupdict().get("tag") or "")
            break
    else:
        raise ValueError(f"{token!r} is no slot")
    table = hierarchy()
    if slot.kind == "location":
        known = slot.name in table.locations
    elif slot.kind in ("drawn", "drawn thing"):
        known = slot.name in table.subclasses
    else:
        known = slot.name in table.kinds and table.kinds[slot.name].movable
    if not known:
        raise ValueError(f"{token!r} names nothing of tables/objects.yaml")
    if is_type != (slot.kind in ("type", "drawn")):
        raise ValueError(f"{token!r} must be {'a type' if is_type else 'a location or a thing'}")
    return slot


def _types(slot: Slot) -> tuple[str, ...]:
    subclass = slot.kind in ("drawn", "drawn thing")
    return hierarchy().subclasses[slot.name].types if subclass else (slot.name,)
