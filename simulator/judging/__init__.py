"""Judging: forms in which people say, blind to each other, what they make of a thing; how far they agree.

A benchmark declares a `JudgingForm`: the kind of its judgments, the fields of the form (a pydantic model) and
how many people are to judge each thing. From it follow the rows of the log, whose forms count (`Opinions`),
what is due to whom and what a further person has to decide. `simulator.judging.agreement` has the measures.
"""

from simulator.judging.desk import (
    DecidingForm,
    DeskFormError,
    Form,
    JudgingForm,
    Opinions,
    in_own_order,
    require_known,
    third_decides,
)

__all__ = [
    "DecidingForm",
    "DeskFormError",
    "Form",
    "JudgingForm",
    "Opinions",
    "in_own_order",
    "require_known",
    "third_decides",
]
