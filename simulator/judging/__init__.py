"""Judging: forms in which people judge things blind to each other, and measures of their agreement.

A benchmark declares a `JudgingForm`: the kind of its judgments and the fields of the form (a pydantic model).
From it follow the rows of the log, the forms that count (`Opinions`), who judges what next, and what a third
person must decide. `simulator.judging.agreement` has the measures.
"""

from simulator.judging.desk import (
    DecidingForm,
    DeskFormError,
    Form,
    JudgingForm,
    Opinions,
    rater_order,
    require_known,
    with_third_rater,
)

__all__ = [
    "DecidingForm",
    "DeskFormError",
    "Form",
    "JudgingForm",
    "Opinions",
    "rater_order",
    "require_known",
    "with_third_rater",
]
