"""What is shown in a step, and to whom it may be shown: the one place that takes texts out of an item.

A person's page, a model's prompt and the log's ``shown`` (spec 13) all come from here, so nobody sees
anything of a later step, and no label of the dataset leaves this module.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from simulator.ambient.data import Question
from simulator.ambient.items import AnnotateItem, CrowdItem, Item, TrueFalseItem
from simulator.ambient.labels import Side
from simulator.ambient.playing import Step, statements
from simulator.codecs import Codec


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """The texts of one step; empty where there are none. See `views.ParticipantView`."""

    premise: str = ""
    hypothesis: str = ""
    sentence: str = ""
    candidates: tuple[str, ...] = ()
    pairs: tuple[tuple[str, str], ...] = ()
    side: Side | None = None
    statement: str = ""


_SHOWN: Final = Codec[Shown](Shown)


def shown_in(item: Item, step: Step, questions: Sequence[Question] = ()) -> Shown:
    """Return what is shown in a step.

    Args:
        item: what is played.
        step: the step.
        questions: of the qualification, if the step is one of them.
    """
    if step.kind == "qualification":
        question = questions[step.number]
        return Shown(premise=question.premise, hypothesis=question.hypothesis)
    if isinstance(item, CrowdItem):
        return _crowd(item, step)
    if isinstance(item, AnnotateItem) and step.kind == "annotate":
        return Shown(premise=item.example.premise, hypothesis=item.example.hypothesis)
    if isinstance(item, TrueFalseItem) and step.kind == "true_false":
        return Shown(sentence=item.sentence, statement=statements(item)[step.number].text)
    return Shown()


def _crowd(item: CrowdItem, step: Step) -> Shown:
    places = range(len(item.candidates))
    if step.kind == "label":
        return Shown(premise=item.premise, hypothesis=item.hypothesis)
    if step.kind == "plausible":
        return Shown(
            sentence=item.sentence, candidates=tuple(candidate.sentence for candidate in item.candidates)
        )
    if step.kind == "relabel":
        return Shown(pairs=tuple(item.pair(place) for place in places), side=item.side)
    return Shown()


def shown_record(item: Item, step: Step, shown: Shown) -> dict[str, Any]:
    """What the log keeps of it: exact texts, their order, and where the distractors stood (spec 13)."""
    record: dict[str, Any] = _SHOWN.adapter.dump_python(shown, mode="json", exclude_defaults=True)
    if isinstance(item, CrowdItem) and step.kind in ("plausible", "relabel"):
        record["distractors"] = [
            place for place, candidate in enumerate(item.candidates) if candidate.label is None
        ]
    return record
