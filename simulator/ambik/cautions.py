"""What there is to say of a calibration and its sets, as values: a code and the numbers in it (spec 7).

A page says a caution in its own language, by its code; the command line, files and logs say it in the English
words that stand here.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal, NamedTuple

Code = Literal[
    "target_of_one", "too_few", "without", "wide", "no_promise", "marginal", "unaffordable", "repeats"
]
_ENGLISH: Final[Mapping[Code, str]] = {
    "target_of_one": "a target of 1 puts every candidate into every set; choose one below 1.",
    "too_few": (
        "{n} calibration items are too few for a finite threshold: every candidate is in every set; with "
        "epsilon {epsilon:g} at least {least} are needed."
    ),
    "without": (
        "{without} of {n} calibration items have no right candidate, more than the {most} that the threshold "
        "can leave out: q-hat is the value such items get, and the sets tell nothing. Better candidates are "
        "needed, or a lower target."
    ),
    "wide": (
        "with {n} calibration items, coverage lies between {low:.2f} and {high:.2f} in 95 % of calibrations; "
        "about {more} items would halve that range."
    ),
    "repeats": (
        "the calibration counts each of its {n} items once: {repeats} repeated decisions on them are left "
        "out."
    ),
    "unaffordable": (
        "of {unaffordable} of {n} calibration items the right options have affordance 0: they name things "
        "that the scene does not list, so that LAP can never hold them for likely. From {most} such items "
        "on, q-hat is 1 and it always asks."
    ),
    "no_promise": (
        "these sets follow the rule of the published code, which takes the quantile of a nonconformity for "
        "that of a score: nothing is promised of their coverage."
    ),
    "marginal": (
        "The guarantee is marginal: it holds for items of this kind taken together, not for each type of "
        "them, and it is lost when the items that are tested differ in kind from those of the calibration."
    ),
}


class Caution(NamedTuple):
    """Something to know before a promise is relied on; as a text it is the English sentence.

    Attributes:
        code: names it.
        numbers: in it, by name: ``n`` calibration items, the allowed error ``epsilon``, the ``least`` number
            of items that is enough, items ``without`` a right candidate and how many of them at ``most`` do
            no harm, coverage between ``low`` and ``high``, how many ``more`` items would halve that range,
            how many are ``unaffordable``, how many decisions were ``repeats``.
    """

    code: Code
    numbers: tuple[tuple[str, float], ...] = ()

    def plain(self) -> str:
        """Return the sentence, as JSON has it."""
        return str(self)

    def __str__(self) -> str:
        return _ENGLISH[self.code].format(**dict(self.numbers))


def caution(code: Code, **numbers: float) -> Caution:
    """Return a caution with its numbers by name."""
    return Caution(code, tuple(numbers.items()))


NO_PROMISE: Final = caution("no_promise")
"""Of sets by the rule of the published code."""
MARGINAL: Final = caution("marginal")
"""What is promised and what is not, whatever the calibration; to be shown beside its numbers."""
