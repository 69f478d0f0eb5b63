"""The page of an episode that has ended: was it right to ask, what was meant, whose set was what."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final, cast

from simulator.ambik.intents import Concept, parse_intent
from simulator.ambik.terms import TaskType, task_type
from simulator.ambik.views import ParticipantView, Replay, SeatName
from ui.ambik.stages import STEPS
from ui.i18n import Strings
from ui.render.frame import Frame, RoomLink
from ui.render.play import Notice
from ui.study.pages import Here, session_page

FIELDS: Final = (
    *("clear", "objects", "scene", "indirect", "type", "passed_over", "ambiguous", "one_ambiguity"),
    *("question", "answer", "clear_plan", "ambiguous_plan", "step", "shortlist", "intent", "variants"),
    *("delete", "comment"),
)
"""Of an annotator's form, from top to bottom."""


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
    """Return the last page: in a study thanks, the next set or the code; in free play the result; or both."""
    view = cast(ParticipantView, here.view)
    through = view.ending is None or view.ending.status not in ("aborted", "failed")
    told = story(frame.texts, view.seat, replay, study=view.study) if replay and through else None
    if view.study and view.seat == "user" and through and not view.exchanges:
        here = replace(here, notice=here.notice or Notice(frame.texts("ambik.result.not_asked")))
    company = here.seat is not None and here.seat.person_opposite
    return session_page("ambik/done", frame, link, here, STEPS, story=told, company=company)


def story(texts: Strings, seat: SeatName, replay: Replay, *, study: bool = False) -> Story:
    """Return a replay in words, for whoever sat there; in a study or in free play."""
    verdict = _verdict(seat, replay)
    told = verdict if study or seat != "annotator" else f"played_{verdict}"
    type_known = seat != "annotator" and (replay.type is not None or replay.member == "clear")
    return Story(
        replay,
        texts(f"ambik.result.heading.{verdict}"),
        texts(f"ambik.result.lead.{told}"),
        task_type(replay.member, replay.type or "preferences") if type_known else None,
        tuple(_mention(concept) for concept in parse_intent(replay.intent).concepts) if replay.intent else (),
        filled_in(texts, dict(replay.form)),
    )


def filled_in(texts: Strings, form: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    """What an annotator filled in, as the form showed it: in its order, with its names, steps from 1."""
    shown = {name: form[name] for name in FIELDS if form.get(name)}
    for name in ("objects", "shortlist"):
        if name in shown:
            shown[name] = ", ".join(shown[name].splitlines())
    if "type" in shown:
        shown["type"] = texts(f"ambik.type.{shown['type']}")
    if "step" in shown:
        shown["step"] = str(int(shown["step"]) + 1)
    if "one_ambiguity" in shown:
        shown["one_ambiguity"] = texts("ambik.result.yes")
    return tuple((texts(f"ambik.form.field.{name}"), value) for name, value in shown.items())


def _verdict(seat: SeatName, replay: Replay) -> str:
    if seat == "annotator":
        return "deleted" if dict(replay.form).get("delete") else "pair"
    asked = "asked" if replay.asked else "acted"
    return f"{seat}_{asked}_{'needed' if replay.needed else 'free'}"


def _mention(concept: Concept) -> Mention:
    words = tuple(
        f"\N{MINUS SIGN}{alternative.text}" if alternative.absent else alternative.text
        for alternative in concept.alternatives
    )
    return Mention(words, concept.negative)
