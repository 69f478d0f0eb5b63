"""Sessions of AmbiK episodes with people, in free play and studies, for the web app."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from random import Random
from typing import Any, Final, Literal, get_args
from uuid import uuid4

from pydantic import BaseModel, Field

from simulator.ambik.assignment import with_options
from simulator.ambik.data import load_drafts, load_pairs
from simulator.ambik.items import LANGUAGE, DraftItem, PairItem
from simulator.ambik.players import ALWAYS_ASKS, ITEM, ROBOTS
from simulator.ambik.playing import ANNOTATOR, ROBOT, USER, Options
from simulator.ambik.show import TELL, broken_off, reveal
from simulator.ambik.terms import TaskType
from simulator.ambik.trial_log import conformal_sets
from simulator.runner.lobby import PERSON, Opponent, require_choice
from simulator.runner.logged import ENDED
from simulator.runner.machines import ActiveEpisode, Result
from simulator.seeds import derive_seed
from simulator.studies.declared import DrawnItem, PlaySessions
from simulator.studies.graph import CONSENT, READY
from trees import Language

MODEL_METHOD: Final = "binary"
"""The method of a language model opposite a person in free play: it needs no calibration."""


class Play(BaseModel, frozen=True):
    """The choices of free play.

    `type`: the task's type; not used for annotators.
    """

    type: Literal["any", TaskType] = Field("any", json_schema_extra={"seats": [ROBOT, USER]})


class AmbikSessions(PlaySessions):
    """Free play and studies.

    A person's replies: as robot, `Reply.move` is ``{"marked": [texts], "act": text}`` or
    ``{"marked": [texts], "ask": question}``; as user, `Reply.text` is the answer; as annotator, `Reply.move`
    is the form (see `forms`). Each move also has ``keys_used`` and ``shown_at``.
    """

    choices = Play
    # A robot that acts immediately would end a further episode before its user has seen it.
    outer_steps = (CONSENT, READY, replace(READY, page=TELL, when=("further",), seat=USER, paired=False))

    def opponents(self, seat: str) -> tuple[Opponent, ...]:
        """Return the possible players in `seat` opposite a person: built-in, a second person, models."""
        # The robot that always asks comes first, so that a user is asked something.
        robots = (ALWAYS_ASKS, *(robot for robot in ROBOTS if robot != ALWAYS_ASKS))
        known = {ROBOT: robots, USER: (ITEM,)}
        return self._menu(known[seat]) if seat in known else ()

    def other_seats(self, seat: str) -> Sequence[str]:
        """See `PlaySessions.other_seats`: annotators work alone."""
        return {ROBOT: (USER,), USER: (ROBOT,)}.get(seat, ())

    async def draw_item(
        self, rules: Mapping[str, Any], seat: str, seats: Mapping[str, str], item: int | None, language: str
    ) -> DrawnItem:
        """See `PlaySessions.draw_item`. Tasks and drafts are built-in and in English.

        A language model as robot plays the method Binary.
        """
        options: dict[str, Any] = {"language": require_choice("language", language, get_args(Language))}
        play = Play.model_validate(rules)
        drawn = uuid4().int >> 97
        if seat == ANNOTATOR:
            draft = DraftItem(draft=Random(drawn).choice(load_drafts()))
            return DrawnItem(draft, options | {"task": "annotate"}, seat)
        options |= {"task": "decide", "questions": 1}
        if seats[ROBOT] != PERSON and not seats[ROBOT].startswith("offline/"):
            options["method"] = MODEL_METHOD
        # The item's own name would reveal the member of the pair, and people may see an episode's id.
        return DrawnItem(drawn_item(play.type, drawn), options, seat)

    def _is_due(self, live: ActiveEpisode, state: Any, seat: str, number: int | None, now: int) -> bool:
        # Two people read the instructions concurrently, so both may begin before either is to move.
        return self._machine.may_begin(live, state, seat) or super()._is_due(live, state, seat, number, now)

    async def replay(self, episode_id: str, seat: str) -> Result:
        """See `StudySessions.replay`; also shows the prediction sets of runs on the same task."""
        item, turns = await super().replay(episode_id, seat)
        episode, ending = self._reader.episode(episode_id), self._reader.ending(episode_id)
        if ending is not None and ending.status not in ENDED:
            return Result(language=LANGUAGE, moves=(), blocks=broken_off())
        blocks = reveal(
            seat,
            item,
            turns,
            language=Options.read(episode.options).language,
            study=self._study_desk(episode) is not None,
            sets=conformal_sets(self._reader, item) if isinstance(item, PairItem) else (),
        )
        return Result(language=LANGUAGE, moves=(), blocks=blocks)


def drawn_item(type: str, seed: int) -> PairItem:
    """Return a task of a built-in pair, with options; for ``any`` type both members are equally likely."""
    random = Random(derive_seed(seed, "play"))
    if type == "any":
        pair, ambiguous = random.choice(load_pairs()), random.random() < 0.5
    else:
        ambiguous = type != "unambiguous_direct"
        pair = random.choice([pair for pair in load_pairs() if not ambiguous or pair.type == type])
    return with_options(pair, "ambiguous" if ambiguous else "clear")
