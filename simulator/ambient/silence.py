"""What a model that broke off is taken to have answered: nothing, wherever an answer was still due.

An episode that was aborted because its seat failed counts as unsuccessful (`simulator.runner.logged`): an
empty text, no verdict, no label, no estimate. Judgments of annotators have no success: who breaks off has
given none, and is not among them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from logs.rows import Episode, Turn
from simulator.ambient.items import ClaimItem, ContinueItem, GenerateItem, Item, NliItem, TrueFalseItem
from simulator.ambient.payloads import logged
from simulator.ambient.playing import ANNOTATOR, Options, task_steps
from simulator.seats import Reply

_NOTHING: Final = Reply(
    move={
        "continuations": [],
        "own": [],
        "original": [],
        "tokens": [],
        "prediction": [],
        "texts": [],
        "kept": [],
        "paraphrases": [],
        "score": None,
        "flagged": False,
    }
)


def has_silence(item: Item) -> bool:
    """Return True if an item is one of the models' tasks, in which no answer is a wrong one."""
    return isinstance(item, GenerateItem | TrueFalseItem | ContinueItem | NliItem | ClaimItem)


def with_silence(item: Item, episode: Episode, turns: Sequence[Turn]) -> tuple[Turn, ...]:
    """Return the turns of an aborted episode, and an empty answer for each step that is missing."""
    options = Options.read(episode.options)
    silent = [logged(item, step, _NOTHING, options, person=False) for step in task_steps(item)[len(turns) :]]
    return (
        *turns,
        *(
            Turn(episode_id=episode.id, number=number, seat=ANNOTATOR, text=text, payload=payload)
            for number, (text, payload) in enumerate(silent, start=len(turns))
        ),
    )
