"""What a benchmark reads in a study file's ``settings``: fields of its own beside those of every study."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, TypeVar

from pydantic import BeforeValidator, ConfigDict

from simulator.fields import Fields
from trees import Language

T = TypeVar("T")


def _read_several(value_or_values: Any) -> Any:
    if value_or_values == [] or value_or_values == ():
        raise ValueError("is empty")
    values = list(value_or_values) if isinstance(value_or_values, list | tuple) else [value_or_values]
    # What cannot be hashed (a list, an object) is no value of any setting: the field says so.
    return tuple(value for place, value in enumerate(values) if value not in values[:place])


Several = Annotated[tuple[T, ...], BeforeValidator(_read_several)]
"""One value or a list of them, each once."""


class StudySettings(Fields):
    """Settings of a study.

    Attributes:
        languages: of the pages; a benchmark's own text is English.
    """

    model_config: ClassVar[ConfigDict] = ConfigDict(extra="forbid")

    show_result: bool = False
    languages: Several[Language] = ("en",)
