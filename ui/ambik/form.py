"""What an annotator is told about a form as it stands: which actions its intent accepts (spec 3, 11.1)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

from simulator.ambik.intents import acceptable, parse_intent, parse_variants, realises
from ui.ambik.calls import PairFields


@dataclass(frozen=True, slots=True)
class Accepted:
    """An action, and whether it is what is meant, or might be before the answer."""

    text: str
    intent: bool
    variants: bool


def preview(form: PairFields) -> tuple[Accepted, ...]:
    """What the intent and the variants accept of the lines of both plans; nothing if neither is written."""
    if not form.intent.strip() and not any(line.strip() for line in form.variants):
        return ()
    meant = parse_intent(form.intent)
    possible = parse_variants("\n".join(form.variants))
    return tuple(
        Accepted(line, bool(form.intent.strip()) and realises(meant, line), acceptable(possible, line))
        for line in _lines(form)
    )


def as_plain(accepted: Iterable[Accepted]) -> list[dict[str, Any]]:
    """For the browser."""
    return [asdict(one) for one in accepted]


def _lines(form: PairFields) -> tuple[str, ...]:
    """Each line once: those of the clear plan, then what the ambiguous one has instead."""
    return tuple(dict.fromkeys((*form.clear_plan, *form.ambiguous_plan)))
