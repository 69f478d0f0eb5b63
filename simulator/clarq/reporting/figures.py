"""The figures of a run: success by responses (Fig. 4) and by task type, lengths of dialogues."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from simulator.clarq.score import Scored, success_by_responses
from simulator.figures import Bars, Figure, Line, Panel
from simulator.stats import share
from trees.model import task_type

Groups = Mapping[str, Sequence[Scored]]
"""Dialogues by what they are called in a legend: a language."""
_MOST = 12


def dialogue_figures(groups: Groups, run: str) -> tuple[Figure, ...]:
    """Return the figures of a run's dialogues, which are in groups; none without dialogues."""
    return tuple(_figures(groups, run)) if groups else ()


def _figures(groups: Groups, run: str) -> Iterator[Figure]:
    yield Figure(
        f"{run}-curve",
        "Success by number of provider responses",
        [
            Panel(
                "",
                "provider responses",
                "success",
                [_curve(name, dialogues) for name, dialogues in groups.items()],
            )
        ],
        "Share of dialogues in which the seeker knew everything after so many responses of the provider.",
    )
    yield Figure(
        f"{run}-types",
        "Success by task type",
        [Panel("", "task type", "success", [_types(name, dialogues) for name, dialogues in groups.items()])],
        "Bars are success rates, lines their 95 % intervals.",
    )
    ended = {
        name: [dialogue.scores for dialogue in dialogues if dialogue.ended]
        for name, dialogues in groups.items()
    }
    if not (lengths := {name: scores for name, scores in ended.items() if scores}):
        return
    yield Figure(
        f"{run}-replies",
        "Extra replies (D)",
        [
            _counts(
                "extra replies", {name: [score.aqd for score in scores] for name, scores in lengths.items()}
            )
        ],
        "Provider replies beyond those that the item holds, and the number of dialogues with so many.",
    )
    yield Figure(
        f"{run}-lengths",
        "Length of the seeker's turns (L)",
        [_counts("mean length", {name: [score.aql for score in scores] for name, scores in lengths.items()})],
        "Mean length of a dialogue's seeker turns: blanks in English, characters in Chinese.",
    )


def _curve(name: str, dialogues: Sequence[Scored]) -> Line:
    curve = success_by_responses(dialogue.scores for dialogue in dialogues)
    return Line(name, range(1, len(curve) + 1), curve, n=len(dialogues))


def _types(name: str, dialogues: Sequence[Scored]) -> Bars:
    by_type: dict[int, list[Scored]] = {}
    for dialogue in sorted(dialogues, key=lambda dialogue: dialogue.task.type):
        by_type.setdefault(dialogue.task.type, []).append(dialogue)
    shares = [
        share([episode.scores.success for episode in group], [episode.episode.item_hash for episode in group])
        for group in by_type.values()
    ]
    return Bars(
        name,
        [f"{number}. {task_type(number).en}" for number in by_type],
        [interval.value for interval in shares],
        [interval.reach[0] for interval in shares],
        [interval.reach[1] for interval in shares],
        n=[interval.n for interval in shares],
    )


def _counts(label: str, values: Mapping[str, Sequence[float]]) -> Panel:
    """Return how many dialogues have which value; values in bins where there are many."""
    every = [value for held in values.values() for value in held]
    width = max(1, math.ceil((max(every) - min(every) + 1) / _MOST))
    low = math.floor(min(every))
    bins = range(int((max(every) - low) // width) + 1)
    names = [f"{low + place * width}" if width == 1 else f"{low + place * width}–" for place in bins]
    marks = []
    for name, held in values.items():
        counts = Counter(int((value - low) // width) for value in held)
        marks.append(Bars(name, names, [counts[place] for place in bins], n=len(held)))
    return Panel("", label, "dialogues", marks, y_range=None)
