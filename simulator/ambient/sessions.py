"""AmbiEnt episodes with people in them, free play and studies: what the web app calls."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from random import Random
from typing import Final, get_args
from uuid import uuid4

from logs import LogReader, LogWriter
from logs.rows import Turn
from simulator.ambient.assignment import PersonTask, Settings, builtin_studies, qualification, study_items
from simulator.ambient.data import load_examples
from simulator.ambient.items import Item
from simulator.ambient.playing import ANNOTATOR
from simulator.ambient.prepare import annotate_items, crowd_items, true_false_items
from simulator.ambient.room import ROOM
from simulator.errors import InputError
from simulator.models import ChatModel
from simulator.seeds import derive_seed
from simulator.studies import Cell, Place, Study
from simulator.studies.sessions import Left, StudySessions
from trees import Language

PLAYED: Final[tuple[PersonTask, ...]] = ("crowd", "annotate", "true_false")
"""What is played freely; the evaluation of a model's rewrites needs some."""


class AmbientSessions(StudySessions):
    """Free play and studies.

    What a person says in their turns: ``yes`` or ``no`` to the consent, anything once the instructions are
    read; else `Reply.move` is the form of the stage (see `forms.read_form` and `payloads`), with
    ``keys_used`` and ``shown_at`` beside its fields.

    Args:
        studies: those that can be entered; default: the built-in ones (studies/*.yaml).

    Raises:
        InputError: if a study's settings, conditions, numbers or data do not fit AmbiEnt.
    """

    def __init__(
        self,
        log: LogWriter,
        reader: LogReader,
        models: Callable[[str], ChatModel],
        *,
        studies: Sequence[Study] | None = None,
    ) -> None:
        given = builtin_studies() if studies is None else tuple(studies)
        self._settings = {study.id: Settings.read(study) for study in given}
        self._items = {study.id: study_items(study) for study in given}
        super().__init__(ROOM, log, reader, models, studies=given, builtin=studies is None)

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
        if task not in PLAYED:
            raise InputError(
                f"task {task!r}: must be one of {', '.join(PLAYED)}.", code="no_choice", value=task
            )
        if language not in get_args(Language):
            raise InputError(
                f"language {language!r}: must be one of {', '.join(get_args(Language))}.",
                code="no_choice",
                value=language,
            )
        item = _drawn_item(task, uuid4().int >> 97)
        # The item's own name is an example's, which may be looked up; an episode's id may be seen.
        return await self.start_item(item, {ANNOTATOR: "person"}, {"language": language}, name=task)

    def study_cells(self, study: Study) -> Sequence[Cell]:
        """One per item."""
        return tuple(self._items[study.id])

    def study_item(self, study: Study, cell: Cell, seed: int, language: Language) -> Item:
        """The item of a place; everybody sees it in the same form."""
        return self._items[study.id][cell]

    def study_task(self, study: Study) -> str:
        """The task."""
        return self._settings[study.id].task

    def study_options(self, study: Study, place: Place, *, begun: bool) -> Mapping[str, object]:
        """The qualification, before a person's first set."""
        test = None if begun else qualification(self._settings[study.id])
        return {} if test is None else {"qualification": test.option()}

    def study_languages(self, study: Study) -> tuple[Language, ...]:
        """As the settings say."""
        return self._settings[study.id].languages

    def shows_result(self, study: Study) -> bool:
        """As the settings say."""
        return self._settings[study.id].show_result

    def left(self, turns: Sequence[Turn]) -> Left:
        """Who has answered questions did not qualify; who has not did not consent."""
        asked = any(turn.payload.get("kind") == "qualification" for turn in turns)
        return "screened_out" if asked else "declined"


def _drawn_item(task: PersonTask, seed: int) -> Item:
    """An item of a built-in example; linguists also get such as are not ambiguous."""
    random = Random(derive_seed(seed, "play"))
    examples = load_examples()
    if task == "annotate":
        return random.choice(annotate_items(examples))
    if task == "crowd":
        return random.choice(crowd_items(examples, seed=seed))
    return random.choice(true_false_items(examples))
