"""From a study file to its cells, and from a participant's place to their prompt (spec section 10).

A cell is a salient feature, a format and a polarity, which is the value labelled X: ``("subject", "arrow",
"human")``. A study file wants so many people by feature; formats and polarities are kept even within it.
The prompt is drawn from the seed of the place, which descends from the study's, so that it can be drawn
again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from random import Random
from typing import Any, Final, Literal, get_args

from simulator.ambibench.features import FEATURES, FORMATS, VALUES, Feature, Format, Kind, value_code
from simulator.ambibench.generation import draw_instruction, draw_multiple
from simulator.ambibench.instructions import LocationWord
from simulator.ambibench.playing import PARTICIPANT
from simulator.ambibench.prompt import Prompt
from simulator.ambibench.rows import BENCHMARK
from simulator.errors import InputError
from simulator.seeds import derive_seed
from simulator.studies import Cell, Study, cell_name, find_studies, parse_cell, quota_of, read_study
from trees import Language

Played = Literal["instruction", "multiple", "wug"]
STUDIES: Final = Path(__file__).parent / "studies"
_KINDS: Final[Mapping[Played, tuple[Kind, ...]]] = {
    "instruction": ("uninformative", "informative", "wug"),
    "multiple": ("uninformative", "informative"),
    "wug": ("wug",),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What AmbiBench reads in a study file's ``settings``.

    Attributes:
        setting: ``instruction`` (4.2), ``multiple`` (4.3) or ``wug``.
        kind: how much the instruction tells.
        location_word: see `instructions.instruction`.
        show_result: whether participants see in the end how they did.
        languages: of the pages; the benchmark's own text is English.
    """

    setting: Played
    kind: Kind = "uninformative"
    location_word: LocationWord = "setting"
    show_result: bool = False
    languages: tuple[Language, ...] = ("en",)

    @classmethod
    def read(cls, study: Study) -> Settings:
        """Out of a study file.

        Raises:
            InputError: names the study, the field and what it can be.
        """
        given = dict(study.settings)
        where = f"study {study.id!r}, settings"
        if unknown := sorted(given.keys() - set(cls.__slots__)):
            raise InputError(f"{where}: unknown key {unknown[0]!r}; known: {', '.join(cls.__slots__)}")
        if "setting" not in given:
            raise InputError(f"{where}: setting is missing; it is one of {', '.join(get_args(Played))}")
        _require(where, "setting", given["setting"], get_args(Played))
        setting: Played = given["setting"]  # type: ignore[assignment]
        kinds = _KINDS[setting]
        given.setdefault("kind", kinds[0])
        _require(where, "kind", given["kind"], kinds)
        _require(where, "location_word", given.get("location_word", "setting"), get_args(LocationWord))
        _require(where, "show_result", given.get("show_result", False), (True, False))
        languages = given.get("languages", [study.language])
        for language in languages if isinstance(languages, list) and languages else [languages]:
            _require(where, "languages", language, get_args(Language))
        fields: dict[str, Any] = {**given, "languages": tuple(languages)}  # type: ignore[arg-type]
        return cls(**fields)


def _require(where: str, field: str, value: object, allowed: tuple[object, ...]) -> None:
    if value not in allowed:
        raise InputError(f"{where}: {field} is {value!r}; it must be one of {', '.join(map(str, allowed))}")


@cache
def builtin_studies() -> tuple[Study, ...]:
    """The paper's three studies (studies/*.yaml)."""
    return tuple(read_study(path) for path in find_studies(STUDIES))


def cells(study: Study) -> tuple[Cell, ...]:
    """The cells of a study: those it names, else every feature, format and polarity.

    Raises:
        InputError: if the study is not one of AmbiBench's, or a condition is none.
    """
    if study.benchmark != BENCHMARK or study.seat != PARTICIPANT:
        raise InputError(
            f"study {study.id!r}: benchmark and seat must be {BENCHMARK} and {PARTICIPANT}, "
            f"not {study.benchmark} and {study.seat}"
        )
    if study.conditions:
        found = tuple(map(parse_cell, study.conditions))
        for cell in found:
            _task(study, cell)
        return found
    return tuple(
        (feature, form, value) for feature in FEATURES for form in FORMATS for value in VALUES[feature]
    )


def check_study(study: Study) -> None:
    """Make sure that AmbiBench can hold a study: its settings, its conditions, its numbers of people.

    Raises:
        InputError: names the study and what is wrong.
    """
    Settings.read(study)
    quota_of(study, cells(study))


def assigned_prompt(study: Study, cell: Cell, seed: int) -> Prompt:
    """The prompt of a place; what the cell leaves open (format, polarity) is drawn, too.

    Raises:
        InputError: if the cell names no task.
    """
    settings = Settings.read(study)
    feature, shape, x_is = _task(study, cell)
    form: Format = shape if shape is not None else Random(derive_seed(seed, "format")).choice(FORMATS)
    return drawn_prompt(
        seed,
        settings.setting,
        settings.kind,
        feature,
        form,
        x_is=x_is,
        location_word=settings.location_word,
        name=f"{study.id}-{seed}",
    )


def drawn_prompt(
    seed: int,
    setting: Played,
    kind: Kind,
    feature: Feature,
    form: Format,
    *,
    x_is: bool | None = None,
    location_word: LocationWord = "setting",
    name: str = "",
) -> Prompt:
    """One prompt of a setting that people play.

    Raises:
        InputError: if the setting is not played with that kind of instruction.
    """
    if kind not in _KINDS[setting]:
        raise InputError(
            f"{setting} is played with {' or '.join(_KINDS[setting])}, not with {kind}.", code="not_together"
        )
    draw = draw_instruction if setting == "instruction" else draw_multiple
    return draw(seed, feature, form, kind, x_is=x_is, location_word=location_word, name=name)


def _task(study: Study, cell: Cell) -> tuple[Feature, Format | None, bool | None]:
    """Salient feature, format and polarity of a cell; None for what it leaves open."""
    name, form, value = (*cell, None, None)[:3]
    feature = next((one for one in FEATURES if one == name), None)
    shape = next((one for one in FORMATS if one == form), None)
    wrong = len(cell) > 3 or (form and not shape) or feature is None
    if wrong or feature is None or (value and value not in VALUES[feature]):
        raise InputError(
            f"study {study.id!r}: there is no condition {cell_name(cell)!r}; write a feature "
            f"({', '.join(FEATURES)}), and after it if wanted a format and the value labelled X, "
            "such as subject/arrow/human"
        )
    return feature, shape, value_code(feature, value) if value else None
