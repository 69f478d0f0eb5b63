"""Parts of a study file that are mappings of their own: pay, codes, coming back, pairs, failing models.

And what a benchmark reads in ``settings``: fields of its own beside those of every study (`StudySettings`).
"""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal, Self, TypeVar

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    NonNegativeFloat,
    PositiveFloat,
    PositiveInt,
    StringConstraints,
    model_validator,
)

from simulator.fields import Fields
from simulator.studies.questions import Text, Words
from trees import Language

_Code = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_-]+$", max_length=60)]


class Part(BaseModel):
    """A part of a study file: what it does not know it refuses."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Pay(Part):
    """The pay of a participant for one set.

    Attributes:
        amount: in units of `currency`; 0: nothing, but `minutes` are told all the same.
        currency: three letters, ISO 4217.
        minutes: how long a set is said to take.
    """

    amount: NonNegativeFloat
    currency: Annotated[str, StringConstraints(pattern=r"^[A-Z]{3}$")]
    minutes: PositiveFloat


class Codes(Part):
    """Codes that a participant hands in where they came from, by how it ended.

    Attributes:
        failed_check: for whoever was done but missed an attention check; default: that of ``complete``.
        paid_exit: for whoever was ready but got no partner, or whose partner left, or whose model failed.
    """

    complete: _Code | None = None
    failed_check: _Code | None = None
    screened_out: _Code | None = None
    returned: _Code | None = None
    paid_exit: _Code | None = None


class Resume(Part):
    """The rule for somebody who comes back to a set that they have begun.

    Attributes:
        policy: ``resume``: they go on where they were; ``restart``: they get a new set in the same
            condition; ``block``: it is over.
        max_age_minutes: so long after the place was given it is over in any case; None: never.
    """

    policy: Literal["resume", "restart", "block"] = "resume"
    max_age_minutes: PositiveFloat | None = None


class ModelFailure(Part):
    """The rule for a participant whose model opposite gives no answer.

    Each time somebody's page asks for it, the model is asked again, with the retries that every request has.

    Attributes:
        then: ``wait``: they may try again as often as they like; after `tries`, ``paid_exit``: the set ends
            and they leave with the code of that name; ``neutral_turn``: `say` stands for what the model did
            not say, in a turn whose payload has ``neutral``, and the task goes on. Where the seat cannot say
            that, its person leaves as after ``paid_exit``.
        say: words that keep a conversation going, in one language or in both.
    """

    then: Literal["wait", "neutral_turn", "paid_exit"] = "wait"
    tries: PositiveInt = 3
    say: Words = Field(
        default={
            "en": "Sorry, I lost my thread for a moment. Please go on.",
            "zh": "抱歉，我刚才走神了，请继续。",
        },
        validate_default=True,
    )


class Pairing(Part):
    """Rules by which two participants meet, and of what becomes of somebody who is left without a partner.

    Attributes:
        wait_minutes: the longest that somebody who is ready waits for a partner.
        grace_seconds: so long a browser may be silent (a reload, a lost line) before its person has left.
        then: what comes after waiting in vain. ``model``: `partner` sits opposite, in an episode that does
            not need the other person; ``paid_exit``: they leave with the code of that name.
        partner: who then sits in a seat, by the seat; where nobody is named, the exit is all there is.
        after_loss: what somebody whose partner has left in the middle is offered: ``paid_exit``, or to
            ``wait`` for another partner as well.
    """

    wait_minutes: Annotated[float, Field(gt=0, le=120)] = 5.0
    grace_seconds: Annotated[float, Field(ge=2, le=3600)] = 120.0
    then: Literal["model", "paid_exit"] = "paid_exit"
    partner: dict[str, Text] = Field(default_factory=dict)
    after_loss: Literal["paid_exit", "wait"] = "paid_exit"

    @model_validator(mode="after")
    def _require_partner(self) -> Self:
        if (self.then == "model") != bool(self.partner):
            raise ValueError("`then: model` and `partner`, who then sits in a seat, belong together")
        return self


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
