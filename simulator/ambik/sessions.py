"""AmbiK episodes with people in them, free play and studies: what the web app calls."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from random import Random
from typing import Any, Final, Unpack, get_args
from uuid import uuid4

from logs import LogReader, LogWriter
from simulator.ambik.assignment import KitchenStudy, offering
from simulator.ambik.data import load_drafts, load_pairs
from simulator.ambik.items import DraftItem, Item, PairItem, ScenarioItem
from simulator.ambik.players.robots import ALWAYS_ASKS, ROBOTS
from simulator.ambik.players.user import ITEM, request_of
from simulator.ambik.playing import ANNOTATOR, ROBOT, USER, Options
from simulator.ambik.room import ROOM
from simulator.ambik.show import TELL
from simulator.ambik.terms import TASK_TYPES, TaskType
from simulator.ambik.trial_log import conformal_sets
from simulator.ambik.views import Replay, SeatName
from simulator.models import ChatModel
from simulator.runner.lobby import PERSON, Opponent, require_choice, require_offered
from simulator.runner.rooms import ActiveEpisode
from simulator.seeds import derive_seed
from simulator.studies.graph import CONSENT, READY
from simulator.studies.held import HeldOptions
from simulator.studies.sessions import StudySessions
from trees import Language

SEATS: Final[tuple[SeatName, ...]] = get_args(SeatName)
TYPES: Final = (*TASK_TYPES, "any")
MODEL_METHOD: Final = "binary"
"""What a language model plays opposite a person in free play: it needs no calibration."""


class AmbikSessions(StudySessions):
    """Free play and studies.

    What a person says in their turns: ``yes`` or ``no`` to the consent, anything once the instructions are
    read; as robot `Reply.move` is ``{"marked": [texts], "act": text}`` or ``{"marked": [texts], "ask":
    question}``, as user `Reply.text` is the answer, as annotator `Reply.move` is the form (see `forms`), each
    with ``keys_used`` and ``shown_at`` beside its fields.

    Models' keys are looked up in `env`; the studies are the built-in ones unless others are given.

    Raises:
        InputError: if a study's settings, conditions, numbers or data do not fit AmbiK.
    """

    material = KitchenStudy
    # A robot that acts at once would end a further set before its user has seen it.
    around = (CONSENT, READY, replace(READY, page=TELL, when=("further",), seat=USER))

    def __init__(
        self,
        log: LogWriter,
        reader: LogReader,
        models: Callable[[str], ChatModel],
        **options: Unpack[HeldOptions],
    ) -> None:
        super().__init__(ROOM, log, reader, models, **options)

    def opponents(self, seat: SeatName) -> tuple[Opponent, ...]:
        """Return who can sit opposite a person: the built-in ones, a second person, models with a key."""
        if seat == ANNOTATOR:
            return ()
        # Who is the user meets a question: the robot that asks in any case stands first.
        robots = (ALWAYS_ASKS, *(robot for robot in ROBOTS if robot != ALWAYS_ASKS))
        return self._menu(robots if seat == USER else (ITEM,))

    async def start(
        self,
        *,
        seat: SeatName,
        type: TaskType | str = "any",
        language: str = "en",
        opposite: str | None = None,
        questions: int = 1,
    ) -> str:
        """Begin an episode of free play on a built-in task or draft.

        The type is of no concern for annotators. Opposite sits the first of `opponents` unless somebody is
        named; a language model as robot plays the method Binary.

        Returns:
            The episode's id.

        Raises:
            InputError: if a choice is none.
        """
        require_choice("seat", seat, SEATS)
        require_choice("type", type, TYPES)
        require_choice("language", language, get_args(Language))
        require_choice("questions", questions, range(1, 10))
        drawn = uuid4().int >> 97
        options: dict[str, Any] = {"language": language}
        if seat == ANNOTATOR:
            draft: Item = DraftItem(draft=Random(drawn).choice(load_drafts()))
            return await self.start_item(
                draft, {ANNOTATOR: PERSON}, {**options, "task": "annotate"}, name=seat
            )
        offered = self.opponents(seat)
        other = opposite or offered[0].name
        require_offered(other, ROBOT if seat == USER else USER, offered)
        options |= {"task": "decide", "questions": questions}
        if seat == USER and other != PERSON and not other.startswith("offline/"):
            options["method"] = MODEL_METHOD
        seats = {ROBOT: PERSON, USER: other} if seat == ROBOT else {ROBOT: other, USER: PERSON}
        # The item's own name tells which member of a pair it is, and an episode's id may be seen.
        return await self.start_item(drawn_item(type, drawn), seats, options, name=seat)

    def _is_due(self, live: ActiveEpisode, state: Any, seat: str, number: int | None, now: int) -> bool:
        # Two people read the instructions at the same time: who is ready first does not hold up the other.
        return self._room.may_begin(live, state, seat) or super()._is_due(live, state, seat, number, now)

    async def replay(self, episode_id: str, seat: str) -> Replay:
        """See `StudySessions.replay`; with the prediction sets of conformal runs on the same task.

        What was meant in a scenario is said in the episode's language: the data have no sentence for it.
        """
        shown: Replay = await super().replay(episode_id, seat)
        episode = self._reader.episode(episode_id)
        item = ROOM.read_item(self._reader.item(episode.item_hash))
        if isinstance(item, ScenarioItem):
            wish = request_of(item, Options.read(episode.options).language)
            return replace(shown, wish=wish.text, wish_language=wish.language)
        if not isinstance(item, PairItem):
            return shown
        return replace(shown, conformal=conformal_sets(self._reader, item))


def drawn_item(type: str, seed: int) -> PairItem:
    """Return a task of a built-in pair, with its options; of any type both members are as likely."""
    random = Random(derive_seed(seed, "play"))
    if type == "any":
        pair, ambiguous = random.choice(load_pairs()), random.random() < 0.5
    else:
        ambiguous = type != "unambiguous_direct"
        pair = random.choice([pair for pair in load_pairs() if not ambiguous or pair.type == type])
    return offering(pair, "ambiguous" if ambiguous else "clear")
