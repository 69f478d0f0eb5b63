"""Nested parts of a study file: pay, completion codes, resuming, pairing, failing models, settings."""

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
    """A part of a study file; unknown keys are refused."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Pay(Part):
    """The pay of a participant for one set.

    Attributes:
        amount: in units of `currency`; with 0, pages still show `minutes`.
        currency: three letters, ISO 4217.
        minutes: the announced duration of a set.
        paid_exit: the amount for a person who leaves with the code of that name; None if it is not fixed.
    """

    amount: NonNegativeFloat
    currency: Annotated[str, StringConstraints(pattern=r"^[A-Z]{3}$")]
    minutes: PositiveFloat
    paid_exit: NonNegativeFloat | None = None


class Codes(Part):
    """Completion codes that participants enter on the recruitment platform, by outcome.

    Attributes:
        failed_check: for people who finished but missed an attention check; default: ``complete``.
        paid_exit: for people who got no partner, or whose partner left or model failed.
    """

    complete: _Code | None = None
    failed_check: _Code | None = None
    screened_out: _Code | None = None
    returned: _Code | None = None
    paid_exit: _Code | None = None


class Resume(Part):
    """The policy for a person who comes back to a set that they have begun.

    Attributes:
        policy: ``resume``: they continue where they were; ``restart``: they get a new set in the same
            condition; ``block``: they cannot continue.
        max_age_minutes: minutes after which nobody can continue; None for no limit.
    """

    policy: Literal["resume", "restart", "block"] = "resume"
    max_age_minutes: PositiveFloat | None = None


class ModelFailure(Part):
    """The policy for a participant whose model does not answer.

    Each time the participant's page asks, the model is asked again, with the retries of every request.

    Attributes:
        then: ``wait``: they may try again as often as they like. After `tries` failures, ``paid_exit``: the
            set ends with the completion code of that name; ``neutral_turn``: `say` replaces the model's
            answer, in a turn whose payload has ``neutral``, and the task continues; if the rules do not
            allow the text, the set ends as with ``paid_exit``.
        say: a text that keeps a conversation going, in one language or in both.
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
    """Rules for pairing two participants, and for people without a partner.

    Attributes:
        wait_minutes: the longest wait for a partner.
        grace_seconds: how long a browser may be silent (reload, lost connection) before the person counts as
            gone.
        then: what follows a wait in vain. ``model``: the person plays with `partner`; ``paid_exit``: they
            leave with the completion code of that name.
        partner: the model or built-in player of each seat for that case; a person whose partner's seat has
            none takes the paid exit.
        after_loss: what a person whose partner left is offered: ``paid_exit`` only, or also to ``wait`` for
            another partner.
    """

    wait_minutes: Annotated[float, Field(gt=0, le=120)] = 5.0
    grace_seconds: Annotated[float, Field(ge=2, le=3600)] = 120.0
    then: Literal["model", "paid_exit"] = "paid_exit"
    partner: dict[str, Text] = Field(default_factory=dict)
    after_loss: Literal["paid_exit", "wait"] = "paid_exit"

    @model_validator(mode="after")
    def _require_partner(self) -> Self:
        if (self.then == "model") != bool(self.partner):
            raise ValueError("`then: model` and `partner` must be given together")
        return self


T = TypeVar("T")


def _read_several(value_or_values: Any) -> Any:
    if value_or_values == [] or value_or_values == ():
        raise ValueError("is empty")
    values = list(value_or_values) if isinstance(value_or_values, list | tuple) else [value_or_values]
    # No dict.fromkeys: unhashable values (lists, objects) are left for the field to refuse.
    return tuple(value for place, value in enumerate(values) if value not in values[:place])


Several = Annotated[tuple[T, ...], BeforeValidator(_read_several)]
"""One value or a list of values, without repeats."""


class StudySettings(Fields):
    """Settings of every study; benchmarks add their own fields.

    Attributes:
        languages: the languages of the pages; a benchmark's own texts are English.
    """

    model_config: ClassVar[ConfigDict] = ConfigDict(extra="forbid")

    show_result: bool = False
    languages: Several[Language] = ("en",)
