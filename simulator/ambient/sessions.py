"""AmbiEnt episodes with people in them, free play and studies: what the web app calls."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random
from typing import Final, get_args
from uuid import uuid4

from logs import LogReader, LogWriter
from simulator.ambient.assignment import ExampleStudy, PersonTask
from simulator.ambient.data import load_examples
from simulator.ambient.items import Item
from simulator.ambient.playing import ANNOTATOR
from simulator.ambient.prepare import annotate_items, crowd_items, true_false_items
from simulator.ambient.room import ROOM
from simulator.models import ChatModel
from simulator.runner.lobby import require_choice
from simulator.seeds import derive_seed
from simulator.studies import Study
from simulator.studies.graph import CONSENT, READY
from simulator.studies.sessions import StudySessions
from trees import Language

PLAYED: Final[tuple[PersonTask, ...]] = ("crowd", "annotate", "true_false")
"""What is played freely; the evaluation of a model's rewrites needs some."""


class AmbientSessions(StudySessions):
    """Free play and studies.

    What a person says in their turns: ``yes`` or ``no`` to the consent, anything once the instructions are
    read; else `Reply.move` is the form of the stage (see `payloads.read_form` and `payloads`), with
    ``keys_used`` and ``shown_at`` beside its fields.

    Args:
        studies: those that can be entered; default: the built-in ones (studies/*.yaml).

    Raises:
        InputError: if a study's settings, conditions, numbers or data do not fit AmbiEnt.
    """

    material = ExampleStudy
    around = (CONSENT, READY)

    def __init__(
        self,
        log: LogWriter,
        reader: LogReader,
        models: Callable[[str], ChatModel],
        *,
        studies: Sequence[Study] | None = None,
    ) -> None:
        super().__init__(ROOM, log, reader, models, studies=studies)

    async def start(self, *, task: PersonTask, language: str) -> str:
        """Begin an episode of free play on a built-in example.

        Args:
            task: ``crowd``, ``annotate`` or ``true_false``.
            language: of the pages; the benchmark's own text is English.

        Returns:
            The episode's id.

        Raises:
            InputError: if a choice is none.
        """
        require_choice("task", task, PLAYED)
        require_choice("language", language, get_args(Language))
        item = _drawn_item(task, uuid4().int >> 97)
        # The item's own name is an example's, which may be looked up; an episode's id may be seen.
        return await self.start_item(item, {ANNOTATOR: "person"}, {"language": language}, name=task)


def _drawn_item(task: PersonTask, seed: int) -> Item:
    """Return an item of a built-in example; linguists also get such as are not ambiguous."""
    random = Random(derive_seed(seed, "play"))
    examples = load_examples()
    if task == "annotate":
        return random.choice(annotate_items(examples))
    if task == "crowd":
        return random.choice(crowd_items(examples, seed=seed))
    return random.choice(true_false_items(examples))
