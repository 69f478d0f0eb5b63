"""The notation in which tables/goals.yaml writes subgoals; the table's head explains it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final, Literal, get_args

from simulator.errors import InputError
from simulator.handmethat.goals.model import ANYWHERE, OF_A_TYPE, Form, Requirement
from simulator.handmethat.hierarchy import STATES, Hierarchy, Relation, hierarchy

# What a slot is filled with: a location, a given type, a type drawn of a subclass, a thing of a given type,
# or a thing of the type that is drawn once for a subclass.
SlotKind = Literal["location", "type", "drawn", "thing", "drawn thing"]
_FORMS: Final[tuple[Form, ...]] = get_args(Form)
_RELATIONS: Final[dict[str, Relation]] = {"in": "inside", "on": "ontop"}
_WITHOUT_PLACE: Final = ("BE", "BE-ALL")
_TOKEN: Final = re.compile(r"\s*([\[\]{},]|[^\s\[\]{},]+)")
_SLOTS: Final[dict[SlotKind, re.Pattern[str]]] = {
    "location": re.compile(r"@(?P<name>\w+)$"),
    "drawn": re.compile(r"\?(?P<name>\w+)(?:\.(?P<tag>\w+))?$"),
    "drawn thing": re.compile(r"<(?P<name>\w+)>#(?P<tag>\w+)$"),
    "thing": re.compile(r"(?P<name>\w+)#(?P<tag>\w+)$"),
    "type": re.compile(r"(?P<name>\w+)$"),
}


@dataclass(frozen=True, slots=True)
class Slot:
    """What is drawn for one term of a subgoal.

    Attributes:
        name: the location, type or subclass.
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
        InputError: if the line is not in the notation; the message names the word that is wrong.
    """
    return _Reader(text).read()


class _Reader:
    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens = _TOKEN.findall(text)
        self._next = 0

    def read(self) -> tuple[Pattern, ...]:
        form = self._form(self._take())
        terms, shared = self._terms()
        y: Slot | None = None
        relation: Relation | None = None
        of_y: tuple[Requirement, ...] = ()
        if form not in _WITHOUT_PLACE:
            relation = self._relation(self._take())
            y = self._slot(self._take())
            of_y = self._states()
            self._check_place(form, y, relation)
        if self._next < len(self._tokens):
            raise self._error(f"nothing is expected after its end, but there is {self._peek()!r}")
        patterns = tuple(Pattern(form, x, y, relation, (*own, *shared), of_y) for x, own in terms)
        for pattern in patterns:
            self._check_about(pattern)
        return patterns

    def _terms(self) -> tuple[list[tuple[Slot, tuple[Requirement, ...]]], tuple[Requirement, ...]]:
        """Return what the subgoals are about with the states of each, and the states that they share."""
        if self._peek() != "[":
            return [(self._slot(self._take()), self._states())], ()
        terms = []
        while self._take() != "]":
            terms.append((self._slot(self._take()), self._states()))
            if self._peek() not in (",", "]"):
                raise self._error(f"a list goes on with a comma or ends with ], not {self._peek()!r}")
        return terms, self._states()

    def _states(self) -> tuple[Requirement, ...]:
        if self._peek() != "{":
            return ()
        requirements: list[Requirement] = []
        while self._take() != "}":
            token = self._take()
            wanted = token != "not"
            state = token if wanted else self._take()
            if state not in STATES:
                raise self._error(f"{state!r} is no state; there are {', '.join(STATES)}")
            requirements.append((state, wanted))
            if self._peek() not in (",", "}"):
                raise self._error(f"states go on with a comma or end with }}, not {self._peek()!r}")
        return tuple(requirements)

    def _slot(self, token: str) -> Slot:
        table = hierarchy()
        for kind, pattern in _SLOTS.items():
            if match := pattern.match(token):
                slot = Slot(kind, match["name"], match.groupdict().get("tag") or "")
                if slot.name not in _known(kind, table):
                    raise self._error(f"{token!r} names no {_WHAT[kind]} of tables/objects.yaml")
                return slot
        raise self._error(f"{token!r} is no slot")

    def _form(self, token: str) -> Form:
        for form in _FORMS:
            if form == token:
                return form
        raise self._error(f"it starts with {token!r}, which is no form; there are {', '.join(_FORMS)}")

    def _relation(self, token: str) -> Relation:
        if token not in _RELATIONS:
            raise self._error(f"what it is about is followed by 'in' or 'on', not {token!r}")
        return _RELATIONS[token]

    def _check_about(self, pattern: Pattern) -> None:
        of_a_type = pattern.x.kind in ("type", "drawn")
        if of_a_type != (pattern.form in OF_A_TYPE):
            wanted = "a type" if pattern.form in OF_A_TYPE else "a location or a thing"
            raise self._error(f"{pattern.form} is about {wanted}, and {pattern.x.name!r} is not")
        if pattern.y is None and not pattern.of_x:
            raise self._error(f"{pattern.form} asks for states in braces, and there are none")

    def _check_place(self, form: Form, y: Slot, relation: Relation) -> None:
        of_a_type = y.kind in ("type", "drawn")
        if of_a_type != (form in ANYWHERE):
            wanted = "a type" if form in ANYWHERE else "a location or a thing"
            raise self._error(f"the place of {form} is {wanted}, and {y.name!r} is not")
        if any(hierarchy().kinds[name].relation != relation for name in _types(y)):
            raise self._error(f"things cannot lie {relation} {y.name!r}")

    def _peek(self) -> str:
        return self._tokens[self._next] if self._next < len(self._tokens) else ""

    def _take(self) -> str:
        token = self._peek()
        if not token:
            raise self._error("it ends too early")
        self._next += 1
        return token

    def _error(self, what: str) -> InputError:
        return InputError(f"Subgoal {self._text!r}: {what} (word {self._next}).")


_WHAT: Final[dict[SlotKind, str]] = {
    "location": "location",
    "type": "type",
    "thing": "type",
    "drawn": "subclass",
    "drawn thing": "subclass",
}


def _known(kind: SlotKind, table: Hierarchy) -> tuple[str, ...]:
    if kind == "location":
        return table.locations
    if _WHAT[kind] == "subclass":
        return tuple(table.subclasses)
    return tuple(name for name, one in table.kinds.items() if one.movable)


def _types(slot: Slot) -> tuple[str, ...]:
    table = hierarchy()
    return table.subclasses[slot.name].types if _WHAT[slot.kind] == "subclass" else (slot.name,)
