"""What a benchmark reads in a study file's ``settings``: fields of its own beside those of every study."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Self, TypeVar

from pydantic import BeforeValidator, ConfigDict

from simulator.fields import Fields
from simulator.studies.files import Study
from trees import Language

T = TypeVar("T")


def _several(given: Any) -> Any:
    if given == [] or given == ():
        raise ValueError("is empty")
    values = list(given) if isinstance(given, list | tuple) else [given]
    # What cannot be hashed (a list, an object) is no value of any setting: the field says so.
    return tuple(value for place, value in enumerate(values) if value not in values[:place])


Several = Annotated[tuple[T, ...], BeforeValidator(_several)]
"""One value or a list of them, each once."""


class StudySettings(Fields):
    """Settings of a study.

    Attributes:
        show_result: participants see in the end how they did.
        languages: of the pages; a benchmark's own text is English.
    """

    model_config: ClassVar[ConfigDict] = ConfigDict(extra="forbid")

    show_result: bool = False
    languages: Several[Language] = ("en",)

    @classmethod
    def read(cls, study: Study) -> Self:
        """Return a study's settings; one without a value is as if it were left out.

        Raises:
            InputError: names the study, the field and what it can be.
        """
        given = {name: value for name, value in study.settings.items() if value is not None}
        given = {"languages": [study.language], **given}
        return cls.parse(given, f"study {study.id!r}, settings: ")
