"""The texts that are shown in a step, and to whom they may be shown.

`shown_in` is the one place that takes texts out of an item: a person's page, a model's prompt and the log's
``shown`` (spec 13) all come from here, so nobody sees anything of a later step, and no label of the dataset
leaves it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Protocol, runtime_checkable

from simulator.ambient.data import Question
from simulator.ambient.items import AnnotateItem, CrowdItem, Item, Task, TrueFalseItem
from simulator.ambient.labels import Side
from simulator.ambient.playing import ANNOTATOR, Step, statements
from simulator.codecs import Codec
from simulator.models import Message, Request
from simulator.runner.declared_views import SeatPage
from simulator.seats import Reply, View


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownTexts:
    """The texts of one step; empty where there are none. What there are several of is in display order.

    `sentence`: the ambiguous one alone, or what the statement is about; `pairs`: premise and hypothesis
    with each candidate in place, on `side`.
    """

    premise: str = ""
    hypothesis: str = ""
    sentence: str = ""
    candidates: tuple[str, ...] = ()
    pairs: tuple[tuple[str, str], ...] = ()
    side: Side | None = None
    statement: str = ""


_SHOWN: Final = Codec[ShownTexts](ShownTexts)


def shown_in(item: Item, step: Step, questions: Sequence[Question] = ()) -> ShownTexts:
    """Return what is shown in a step."""
    if step.kind == "qualification":
        question = questions[step.number]
        return ShownTexts(premise=question.premise, hypothesis=question.hypothesis)
    if isinstance(item, CrowdItem):
        return _crowd(item, step)
    if isinstance(item, AnnotateItem) and step.kind == "annotate":
        return ShownTexts(premise=item.example.premise, hypothesis=item.example.hypothesis)
    if isinstance(item, TrueFalseItem) and step.kind == "true_false":
        return ShownTexts(sentence=item.sentence, statement=statements(item)[step.number].text)
    return ShownTexts()


def _crowd(item: CrowdItem, step: Step) -> ShownTexts:
    places = range(len(item.candidates))
    if step.kind == "label":
        return ShownTexts(premise=item.premise, hypothesis=item.hypothesis)
    if step.kind == "plausible":
        return ShownTexts(
            sentence=item.sentence, candidates=tuple(candidate.sentence for candidate in item.candidates)
        )
    if step.kind == "relabel":
        return ShownTexts(pairs=tuple(item.pair(place) for place in places), side=item.side)
    return ShownTexts()


def shown_record(item: Item, step: Step, shown: ShownTexts) -> dict[str, Any]:
    """Return what the log keeps: exact texts, their order, and where the distractors stood (spec 13)."""
    record: dict[str, Any] = _SHOWN.adapter.dump_python(shown, mode="json", exclude_defaults=True)
    if isinstance(item, CrowdItem) and step.kind in ("plausible", "relabel"):
        record["distractors"] = [
            place for place, candidate in enumerate(item.candidates) if candidate.label is None
        ]
    return record


@dataclass(frozen=True, slots=True, kw_only=True)
class ParticipantView(SeatPage):
    """All that a person may see now. Nothing of a later step is in it, and no gold label at all.

    Attributes:
        done: steps that have been answered; `total` steps of the episode (without consent, instructions).
        earlier: the participant's own locked answers, in words of the steps before: label of the original;
            yes or no per candidate.
    """

    task: Task
    done: int
    total: int
    shown: ShownTexts = field(default_factory=ShownTexts)
    earlier: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Knows:
    """The steps that are due, and what is shown in the first of them.

    Attributes:
        steps: the one that is due, or for a seat that does several at once all that are left.
        shown: what a person would see in the first; whoever plays the part of a person looks at nothing else.
        item: for built-in players, which know what is right, and for tests whose prompt is made of it.
        seeds: one per step, for whoever draws anything.
        said: per step before, its kind and what was said.
    """

    steps: tuple[Step, ...]
    shown: ShownTexts
    item: Item
    seeds: tuple[int, ...]
    said: tuple[tuple[str, str], ...] = ()


@runtime_checkable
class AnswersAll(Protocol):
    """A seat that does all that is left of an item at once, where its steps do not rest on each other."""

    def answers_all(self, item: Item) -> bool:
        """Return True if it does so with this item."""

    async def answer_all(self, view: View) -> tuple[Reply, ...]:
        """Return one reply per step of `view.task`, a `Knows`, in order.

        Raises:
            ModelError: if its model fails.
        """


def asked_in(view: View, step: str, place: int = 0) -> dict[str, Any]:
    """Return what a request to a model says of itself: what it is for, and in which turn."""
    return {
        "purpose": f"{ANNOTATOR}.{step}",
        "episode_id": view.episode_id,
        "turn_number": view.number + place,
    }


def request_of(view: View, step: str, text: str, place: int = 0, **options: Any) -> Request:
    """Return a request for one step; by default the likeliest answer is asked for, with seed 0."""
    asked = {"temperature": 0.0, "seed": 0, "repeat": view.repeat, **asked_in(view, step, place), **options}
    return Request(messages=(Message("user", text),), **asked)
