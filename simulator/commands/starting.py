"""`askback run …` as a form: its options as fields, what may be chosen, and the command that it comes to.

What arrives comes from a browser. So nobody sits in a seat who is not offered, data are those that are
registered, and no text names a file: neither do fields that are paths exist, nor may a text hold what divides
one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import isfinite
from typing import Any, Final, Literal, NoReturn

from simulator import datasets
from simulator.benchmark import Benchmark, SeatSpec
from simulator.commands.run import RUN_OPTIONS, option_of, run_options, run_spec
from simulator.errors import InputError
from simulator.field_options import OptionField, option_field, options_of, read_options

Group = Literal["seats", "items", "rules", "run"]
DATA: Final = "data"
_RUN: Final = ("run", "seed", "repeat", "concurrency", "budget", "temperature", "top_p", "max_tokens")
"""Options of every run that are asked for; the others say how this machine is used, or reach others."""
_BUILTIN: Final = re.compile(r"(offline/[\w-]+(?::[a-z][\w-]*)?)(?:\[:([a-z|-]+)\])?")
_LONGEST: Final = 200
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")


@dataclass(frozen=True, slots=True)
class FormField:
    """A field of the form.

    Attributes:
        group: where it stands.
    """

    group: Group
    option: OptionField


@dataclass(frozen=True, slots=True)
class RunForm:
    """The form of a benchmark's runs.

    Attributes:
        offered: names of players and models that may be chosen.
    """

    benchmark: Benchmark[Any, Any]
    fields: tuple[FormField, ...]
    offered: frozenset[str]

    def checked(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """Return what was chosen, typed and without what is as usual; nothing and empty texts are as usual.

        Raises:
            InputError: if there is no such option, or it cannot be so.
        """
        known = {field.option.name: field.option for field in self.fields}
        chosen: dict[str, Any] = {}
        for name, value in values.items():
            if name not in known:
                _refuse(name, "there is no such option here")
            option = known[name]
            if value in (None, "", []):
                continue
            value = self._read_typed(option, value)
            if value != option.default:
                chosen[name] = value
        spec = run_spec(self.benchmark)
        for model in (spec.selection, spec.rules):
            read_options(model, {name: chosen.get(name) for name in options_of(model)})
        return chosen

    def words(self, values: Mapping[str, Any]) -> list[str]:
        """Return the command that plays what was chosen, without the program: ``run NAME --…``."""
        chosen = (field.option for field in self.fields if field.option.name in values)
        typed = (word for option in chosen for word in option.words(values[option.name]))
        return ["run", self.benchmark.name, *typed]

    def _read_typed(self, option: OptionField, value: Any) -> Any:
        if option.several:
            parts = value if isinstance(value, list | tuple) else [value]
            return [self._read_typed(replace(option, several=False), part) for part in parts]
        match option.kind:
            case "switch":
                if not isinstance(value, bool):
                    _refuse(option.name, "must be yes or no")
                return value
            case "whole" | "number":
                return _number(option, value)
            case "menu":
                if value not in option.choices:
                    _refuse(option.name, f"must be one of {', '.join(option.choices)}")
                return value
            case _:
                return self._text(option, value)

    def _text(self, option: OptionField, value: Any) -> str:
        if not isinstance(value, str) or len(value) > _LONGEST or not value.isprintable():
            _refuse(option.name, f"must be a text of at most {_LONGEST} characters in one line")
        if option.name == "run" and not _NAME.fullmatch(value):
            _refuse(option.name, "must be of letters, digits, dots, hyphens and underscores")
        if value not in self.offered and re.search(r"[/\\~:]|^\.", value):
            _refuse(option.name, "names a file, or a model that is not offered here")
        return value


def run_form(benchmark: Benchmark[Any, Any], models: Sequence[str]) -> RunForm:
    """Return the form of a benchmark's runs; `models` may be chosen beside the built-in players."""
    spec = run_spec(benchmark)
    seats = {option_of(seat): seat for seat in benchmark.seats if option_of(seat)}
    groups: dict[str, Group] = dict.fromkeys(seats, "seats")
    groups |= dict.fromkeys(options_of(spec.selection), "items")
    groups |= dict.fromkeys(options_of(spec.rules), "rules")
    fields = []
    for name, declared in run_options(benchmark).items():
        if name not in groups and name not in _RUN:
            continue
        option = option_field(name, declared)
        if name in seats:
            players = _players(seats[name], models)
            usual = seats[name].usual
            default = [usual] if option.several else usual
            option = replace(option, kind="menu", choices=players, help=seats[name].role, default=default)
        elif name == DATA:
            option = replace(option, kind="menu", choices=_data(benchmark.name), help="")
        if option.kind != "file":
            group = groups.get(name, "run") if name not in RUN_OPTIONS else "run"
            fields.append(FormField(group, option))
    offered = frozenset(name for field in fields if field.group == "seats" for name in field.option.choices)
    return RunForm(benchmark, tuple(fields), offered)


def _players(seat: SeatSpec, models: Sequence[str]) -> tuple[str, ...]:
    """Return who may be chosen for a seat: built-in players, and models where one can sit."""
    known = (name for match in _BUILTIN.finditer(seat.known) for name in _variants(match))
    asked = models if seat.prompt or "provider/model" in seat.known else ()
    return tuple(dict.fromkeys((*seat.players, *known, *asked)))


def _variants(known: re.Match[str]) -> Iterable[str]:
    name, endings = known.groups()
    return (name, *(f"{name}:{ending}" for ending in (endings or "").split("|") if ending))


def _data(benchmark: str) -> tuple[str, ...]:
    return ("builtin", *(data.name for data in datasets.list_all() if data.benchmark == benchmark))


def _number(option: OptionField, value: Any) -> float:
    number = isinstance(value, int | float) and not isinstance(value, bool) and isfinite(value)
    whole = number and float(value).is_integer()
    if not number or (option.kind == "whole" and not whole):
        _refuse(option.name, f"must be a {'whole ' if option.kind == 'whole' else ''}number")
    least, most = option.least, option.most
    if (least is not None and value < least) or (most is not None and value > most):
        bounds = {"from": least, "to": most}
        limits = (f"{word} {bound:g}" for word, bound in bounds.items() if bound is not None)
        _refuse(option.name, f"must be {' '.join(limits)}")
    return int(value) if option.kind == "whole" else float(value)


def _refuse(name: str, why: str) -> NoReturn:
    raise InputError(f"{name}: {why}.", code="run_option", option=name, why=why)
