"""The page of an episode that has ended: was it right to ask, what was meant, whose set was what."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

from simulator.ambik.intents import Concept, parse_intent
from simulator.ambik.terms import TaskType, task_type
from simulator.ambik.views import ParticipantView, Replay, SeatName
from ui.ambik.stages import STEPS
from ui.i18n import Strings
from ui.render.frame import Frame, RoomLink
from ui.study.pages import Here, session_page


@dataclass(frozen=True, slots=True)
class Mention:
    """What an action has to hold, in any of several words, or must not hold."""

    words: tuple[str, ...]
    negative: bool


@dataclass(frozen=True, slots=True)
class Story:
    """A replay, made ready to be shown.

    Attributes:
        heading: the result in a line.
        lead: and in a sentence.
        type: of the task; None where the data have none.
        concepts: of the intent.
        fields: of an annotator's form that are not empty: name and value.
    """

    replay: Replay
    heading: str
    lead: str
    type: TaskType | None
    concepts: tuple[Mention, ...]
    fields: tuple[tuple[str, str], ...]


def end_page(frame: Frame, link: RoomLink, here: Here, replay: Replay | None) -> str:
    """The last page: in a study thanks, the next set or the code; in free play the result; or both."""
    view = cast(ParticipantView, here.view)
    through = view.ending is None or view.ending.status not in ("aborted", "failed")
    told = story(frame.texts, view.seat, replay) if replay is not None and through else None
    return session_page("ambik/done", frame, link, here, STEPS, story=told)


def story(texts: Strings, seat: SeatName, replay: Replay) -> Story:
    """A replay in words, for whoever sat there."""
    verdict = _verdict(seat, replay)
    type_known = seat != "annotator" and (replay.type is not None or replay.member == "clear")
    return Story(
        replay,
        texts(f"ambik.result.heading.{verdict}"),
        texts(f"ambik.result.lead.{verdict}"),
        task_type(replay.member, replay.type or "preferences") if type_known else None,
        tuple(_mention(one) for one in parse_intent(replay.intent).concepts) if replay.intent else (),
        tuple((texts(f"ambik.form.field.{name}"), value) for name, value in replay.form if value),
    )


def _verdict(seat: SeatName, replay: Replay) -> str:
    if seat == "annotator":
        return "deleted" if dict(replay.form).get("delete") else "pair"
    asked = "asked" if replay.asked else "acted"
    return f"{seat}_{asked}_{'needed' if replay.needed else 'free'}"


def _mention(concept: Concept) -> Mention:
    words = tuple(f"\N{MINUS SIGN}{one.text}" if one.absent else one.text for one in concept.alternatives)
    return Mention(words, concept.negative)
