"""What words are instances of: the built-in table of kinds, or a user's own file of IsA relations (spec 8).

The paper looks words up in ConceptNet, which is not part of this program: the built-in table
(``tables/kinds.yaml``) is a small one of our own, with common nouns and names. A user who has ConceptNet's
assertions can bring them as a file.
"""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final

from simulator.errors import InputError
from simulator.tables.builtin import read_yaml
from simulator.tables.records import read_text

TABLES: Final = Path(__file__).parent / "tables"
_RELATION: Final = "isa"
_URI_COLUMNS: Final = 5


@dataclass(frozen=True, slots=True)
class Relations:
    """Words and their kinds.

    Attributes:
        kinds: lower-cased term -> kind -> weight of "term IsA kind".
        members: kind -> its single-word terms as they are written -> weight.
        names: kinds whose members are proper names; empty where a file does not tell.
    """

    kinds: Mapping[str, Mapping[str, float]]
    members: Mapping[str, Mapping[str, float]]
    names: frozenset[str] = frozenset()

    def kinds_of(self, term: str) -> Mapping[str, float]:
        """Return kind -> weight, in the order of the table or file; empty if the term is not known."""
        return self.kinds.get(term.lower(), {})


def table(name: str) -> Mapping[str, Any]:
    """Return a table of this package, ``tables/<name>.yaml``."""
    content: Mapping[str, Any] = read_yaml(TABLES / f"{name}.yaml")
    return content


@cache
def builtin_relations() -> Relations:
    """Return the built-in table of kinds, read once."""
    groups = table("kinds")
    triples = [
        (word, kind, float(weight) if weight else float(entry["weight"]))
        for group in groups.values()
        for kind, entry in group.items()
        for word, _, weight in (written.partition(":") for written in entry["words"].split())
    ]
    return _relations(triples, frozenset(groups["names"]))


def read_relations(path: str | Path) -> Relations:
    """Return the IsA relations of a file, others are passed over.

    A line is ``start, relation, end, weight``, with tabs or commas between, as in ``dog,IsA,animal,2.0`` or
    ``/c/en/dog/n,/r/IsA,/c/en/animal,2.0``; or one of ConceptNet's own five columns. A header is passed over,
    and so are terms in other languages than English and starts of several words.

    Raises:
        InputError: if the file cannot be read, a line of it is wrong, or it holds no such relation.
    """
    relations = _relations(_triples(path, read_text(path).split("\n")), frozenset())
    if not relations.kinds:
        raise InputError(
            f"{path}: holds no English IsA relations; lines should be start, relation, end, weight"
        )
    return relations


def _relations(triples: Iterable[tuple[str, str, float]], names: frozenset[str]) -> Relations:
    kinds: dict[str, dict[str, float]] = {}
    members: dict[str, dict[str, float]] = {}
    for term, kind, weight in triples:
        of_term, of_kind = kinds.setdefault(term.lower(), {}), members.setdefault(kind, {})
        of_term[kind] = max(weight, of_term.get(kind, -math.inf))
        of_kind[term] = max(weight, of_kind.get(term, -math.inf))
    return Relations(kinds, members, names)


def _triples(path: str | Path, lines: Sequence[str]) -> Iterator[tuple[str, str, float]]:
    tabs = "\t" in next((line for line in lines if line.strip()), "")
    # ConceptNet's own columns hold JSON, which is not quoted as CSV.
    rows = csv.reader(lines, delimiter="\t", quoting=csv.QUOTE_NONE) if tabs else csv.reader(lines)
    for number, cells in enumerate(rows, start=1):
        columns = [cell.strip() for cell in cells]
        if not any(columns):
            continue
        if len(columns) < _URI_COLUMNS - 1:
            raise InputError(
                f"{path}:{number}: has {len(columns)} columns; wanted are start, relation, end, weight"
            )
        if columns[1].rsplit("/", 1)[-1].lower() != _RELATION:
            continue
        whole = columns[0].startswith("/a/")
        start, end, weight = columns[2:5] if whole else (columns[0], *columns[2:4])
        try:
            value = float(json.loads(weight)["weight"] if whole else weight)
        except (ValueError, KeyError, TypeError) as error:
            raise InputError(f"{path}:{number}: weight: {weight!r} holds no number") from error
        if not math.isfinite(value):
            raise InputError(f"{path}:{number}: weight: {weight!r} is not finite")
        term, kind = _term(start), _term(end)
        if term and kind and " " not in term:
            yield term, kind, value


def _term(text: str) -> str:
    """Return a term's words; empty for one in another language."""
    if text.startswith("/c/"):
        _, _, language, *rest = text.split("/")
        text = rest[0] if language == "en" and rest else ""
    return text.replace("_", " ").strip()
