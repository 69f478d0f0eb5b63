"""AmbiBench episodes with people in them, free play and studies: what the web app calls."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from random import Random
from typing import TypeVar, get_args
from uuid import uuid4

from logs import LogReader, LogWriter
from simulator.ambibench.assignment import PatternStudy, Played, drawn_prompt
from simulator.ambibench.features import FEATURES, FORMATS, Feature, Format, Kind
from simulator.ambibench.prompt import PARTICIPANT
from simulator.ambibench.room import ROOM
from simulator.errors import InputError
from simulator.models import ChatModel
from simulator.runner.lobby import require_choice
from simulator.seeds import derive_seed
from simulator.studies import Study
from simulator.studies.graph import COMMENT, CONSENT, READY
from simulator.studies.sessions import StudySessions
from trees import Language

T = TypeVar("T")


def setting_with(setting: Played, kind: Kind) -> Played:
    """Return the setting that a length and an instruction come to: ``wug`` is 4.3 with that word (App. D).

    Raises:
        InputError: if the two do not go together.
    """
    if kind != "wug":
        return setting
    if setting == "instruction":
        raise InputError("The made-up word goes with twenty sentences only.", code="wug_length")
    return "wug"


class AmbiBenchSessions(StudySessions):
    """Free play and studies.

    What a person says in their turns: ``yes`` or ``no`` to the consent, anything once the instructions are
    read, in a trial what was typed, and the comment, which may be empty. In a trial `Reply.move` holds
    ``keys_used`` and ``shown_at``.

    Args:
        studies: those that can be entered; default: the paper's three (studies/*.yaml).

    Raises:
        InputError: if a study's settings, conditions or numbers do not fit AmbiBench.
    """

    material = PatternStudy
    # What their pages measured was never logged.
    around = tuple(replace(step, measured=False) for step in (CONSENT, READY, COMMENT))

    def __init__(
        self,
        log: LogWriter,
        reader: LogReader,
        models: Callable[[str], ChatModel],
        *,
        studies: Sequence[Study] | None = None,
    ) -> None:
        super().__init__(ROOM, log, reader, models, studies=studies)

    async def start(
        self,
        *,
        setting: Played,
        kind: Kind = "uninformative",
        format: Format | None = None,
        feature: Feature | None = None,
        language: str,
    ) -> str:
        """Begin an episode of free play; what is None is drawn.

        Args:
            setting: ``instruction`` (4.2), ``multiple`` (4.3) or ``wug``.
            kind: how much the instruction tells; ``wug`` goes with the setting of that name.
            format: of the prompt.
            feature: that the labels follow.
            language: of the pages; the benchmark's own text is English.

        Returns:
            The episode's id.

        Raises:
            InputError: if a choice is none.
        """
        seed = uuid4().int >> 97
        random = Random(derive_seed(seed, "play"))
        require_choice("setting", setting, get_args(Played))
        prompt = drawn_prompt(
            seed,
            setting,
            "wug" if setting == "wug" else kind,
            _chosen("feature", feature, FEATURES, random),
            _chosen("format", format, FORMATS, random),
        )
        options = {"language": require_choice("language", language, get_args(Language))}
        # The item's own name tells what the labels follow, and an episode's id may be seen.
        return await self.start_item(prompt, {PARTICIPANT: "person"}, options, name=setting)


def _chosen(field: str, value: T | None, allowed: Sequence[T], random: Random) -> T:
    return random.choice(allowed) if value is None else require_choice(field, value, allowed)
