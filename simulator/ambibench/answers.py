"""Which label a written answer gives (spec section 7.2)."""

from __future__ import annotations

from typing import Final, NamedTuple

from simulator.ambibench.features import LABELS, Label

_LABELS: Final = {str(label): label for label in LABELS}
_AROUND: Final = " \t\r\n\u00a0\u3000'\"‘’“”"


class Answer(NamedTuple):
    """A written answer, read.

    Attributes:
        label: X or Y; None if it is neither.
        normalised: whether it was written in lower case.
    """

    label: Label | None
    normalised: bool = False


def read_answer(text: str, *, lower: bool) -> Answer:
    """Return the label that `text` gives, white space, quotes and one final full stop left out.

    Args:
        text: as it was written.
        lower: whether x and y will do (people's answers); models' letters count as they are.
    """
    bare = text.strip(_AROUND).removesuffix(".").strip(_AROUND)
    label = _LABELS.get(bare)
    if label is None and lower and (label := _LABELS.get(bare.upper())):
        return Answer(label, normalised=True)
    return Answer(label)
