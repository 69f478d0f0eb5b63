"""The built-in players: one that says what the dataset says, one that guesses, one that copies."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from random import Random
from typing import Any, Final

from simulator.ambient.annotation.rules import Annotation
from simulator.ambient.examples import Disambiguation, Example
from simulator.ambient.items import AnnotateItem, CrowdItem, GenerateItem, Item, NliItem, Task, TrueFalseItem
from simulator.ambient.labels import LABEL_SETS, LABELS, VERBALIZERS, Label, LabelSet, format_labels, in_order
from simulator.ambient.playing import ANNOTATOR, Step, statements
from simulator.ambient.views import Knows
from simulator.errors import SeatError
from simulator.seats import Kind, Reply, View
from simulator.seeds import derive_seed

Say = Callable[[Item, Step, Random], Reply]
"""What a player says in a step; chance is its own, from the step's seed."""


class OfflineAnnotator:
    """Answers by a rule."""

    kind: Kind = "offline"

    def __init__(self, name: str, say: Say) -> None:
        self.name = name
        self._say = say

    async def reply(self, view: View) -> Reply:
        """Answer the step that is due.

        Raises:
            SeatError: in a task that the rule has no answer in.
        """
        knows: Knows = view.task
        # Each player's guesses are its own: two of them must not agree by seed.
        return self._say(knows.item, knows.steps[0], Random(derive_seed(view.seed, self.name)))


def numbered(rewrites: Iterable[tuple[Label, str]]) -> str:
    """Return rewrites as a model is asked to write them (spec 6.2)."""
    pairs = enumerate(rewrites, start=1)
    return "\n".join(f"{place}. {text} {VERBALIZERS[label]}" for place, (label, text) in pairs)


def _gold(item: Item, step: Step, random: Random) -> Reply:
    match item:
        case CrowdItem():
            return _form(_gold_crowd(item, step, random))
        case AnnotateItem():
            gold = Annotation(labels=item.example.labels, rewrites=item.example.disambiguations)
            return _form(gold.payload())
        case GenerateItem():
            readings = item.example.disambiguations
            return _write_reply(
                numbered((reading.label, reading.sentence(item.side)) for reading in readings)
            )
        case TrueFalseItem():
            return _form({"answer": statements(item)[step.number].answer})
        case NliItem():
            return _labelled(item.gold[step.number])
    raise _cannot_play("offline/gold", item)


def _gold_crowd(item: CrowdItem, step: Step, random: Random) -> dict[str, Any]:
    if step.kind == "label":
        return {"label": random.choice(in_order(item.gold) or LABELS)}
    if step.kind == "plausible":
        return {"plausible": [candidate.label is not None for candidate in item.candidates]}
    # Nobody says what a distractor's pair is labelled.
    return {"labels": [candidate.label or "neutral" for candidate in item.candidates]}


def _random(item: Item, step: Step, random: Random) -> Reply:
    match item:
        case CrowdItem():
            return _form(_random_crowd(item, step, random))
        case AnnotateItem():
            return _form(_random_annotation(item.example, random).payload())
        case GenerateItem():
            labels = random.sample(LABELS, random.choice((2, 3)))
            return _write_reply(
                numbered((label, _drop_word(_original_sentence(item), random)) for label in labels)
            )
        case TrueFalseItem():
            return _form({"answer": random.random() < 0.5})
        case NliItem():
            return _labelled(random.choice(LABEL_SETS))
    raise _cannot_play("offline/random", item)


def _random_crowd(item: CrowdItem, step: Step, random: Random) -> dict[str, Any]:
    if step.kind == "label":
        return {"label": random.choice(LABELS)}
    if step.kind == "plausible":
        return {"plausible": [random.random() < 0.5 for _ in item.candidates]}
    return {"labels": [random.choice(LABELS) for _ in item.candidates]}


def _random_annotation(example: Example, random: Random) -> Annotation:
    """Return one of the seven sets; of several labels, each gets a side that says its number."""
    labels = random.choice(LABEL_SETS)
    if len(labels) == 1:
        return Annotation(labels=labels)
    premise = random.random() < 0.5
    rewrites = tuple(
        Disambiguation(
            f"{example.premise} ({number})" if premise else example.premise,
            example.hypothesis if premise else f"{example.hypothesis} ({number})",
            label,
        )
        for number, label in enumerate(in_order(labels), start=1)
    )
    return Annotation(labels=labels, rewrites=rewrites)


def _copy(item: Item, step: Step, random: Random) -> Reply:
    if not isinstance(item, GenerateItem):
        raise _cannot_play("offline/copy", item)
    return _write_reply(numbered((label, _original_sentence(item)) for label in LABELS))


def _original_sentence(item: GenerateItem) -> str:
    return item.example.sentence(item.side)


def _drop_word(sentence: str, random: Random) -> str:
    """Return the sentence without one of its words."""
    words = sentence.split(" ")
    left_out = random.randrange(len(words))
    return " ".join(word for place, word in enumerate(words) if place != left_out) or sentence


def _form(move: dict[str, Any]) -> Reply:
    return Reply(move=move, seconds=0.0)


def _write_reply(text: str) -> Reply:
    return Reply(text=text, seconds=0.0)


def _labelled(labels: LabelSet) -> Reply:
    return Reply(text=format_labels(labels), move={"prediction": in_order(labels)}, seconds=0.0)


def _cannot_play(name: str, item: Item) -> SeatError:
    return SeatError(f"{name} has nothing to say in the task {item.task}.", ANNOTATOR, code="task")


PLAYERS: Final[dict[str, Say]] = {"offline/gold": _gold, "offline/random": _random, "offline/copy": _copy}
_ANSWERED: Final[tuple[Task, ...]] = ("crowd", "evaluate", "annotate", "generate", "true_false", "nli")
TASKS_OF: Final[Mapping[str, tuple[Task, ...]]] = {
    "offline/gold": _ANSWERED,
    "offline/random": _ANSWERED,
    "offline/copy": ("generate",),
}
"""The tasks that each has something to say in; nobody without likelihoods continues sentences."""
