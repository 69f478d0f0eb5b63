"""The pages of AmbiK: its entry, those of an episode that is going on, one per stage, and that of its end."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, NamedTuple, cast, get_args

from simulator.ambik.annotation.form import ORDER, Accepted, Problem, check_fields, preview
from simulator.ambik.data import Guidelines, load_guidelines
from simulator.ambik.forms import proposed_step, read_pair_form
from simulator.ambik.intents import Concept, parse_intent
from simulator.ambik.pairs import Draft
from simulator.ambik.terms import AMBIGUITIES, APPLIANCES, TASK_TYPES, TaskType, task_type
from simulator.ambik.views import Exchanged, ParticipantView, Replay, SeatName
from simulator.runner.lobby import Opponent
from simulator.studies.cards import StudyCard
from ui.ambik.calls import Kind, PairFields
from ui.i18n import Strings
from ui.render.environment import render
from ui.render.frame import Frame, RoomLink
from ui.render.opponents import opponent_options
from ui.render.play import Company, Notice
from ui.study.pages import Here, offer, session_page


class Picture(NamedTuple):
    """An instruction, what stands about, and what may be meant."""

    task: str
    things: tuple[str, ...]
    possible: tuple[str, ...]
    options: tuple[str, ...]


SEATS: Final[tuple[SeatName, ...]] = get_args(SeatName)
OPPOSITE: Final[Mapping[SeatName, SeatName]] = {"robot": "user", "user": "robot"}
KINDS: Final[tuple[Kind, ...]] = ("any", *TASK_TYPES)
PICTURE: Final = Picture(
    "Put the soup into a bowl, please.",
    ("lentil soup", "ladle", "glass bowl", "wooden bowl", "bread rolls", "chopping board"),
    ("glass bowl", "wooden bowl"),
    ("ladle the soup into the glass bowl", "ladle the soup into the wooden bowl"),
)
"""Drawn on the entry; of no data set."""


def entry_page(
    frame: Frame,
    link: RoomLink,
    studies: Sequence[StudyCard],
    opponents: Mapping[SeatName, Sequence[Opponent]],
) -> str:
    """Return the entry: free play, and the studies that are open."""
    return render(
        "ambik/entry",
        frame.texts,
        frame=frame,
        room=link,
        offers=[offer(frame, card) for card in studies if card.open],
        seats=SEATS,
        types=KINDS,
        choices={
            seat: opponent_options(frame.texts, known, "ambik.entry.opponent")
            for seat, known in opponents.items()
        },
        picture=PICTURE,
    )


# ---- an episode that is going on; each page is made from what may be seen now

STEPS: Final[Mapping[str, str]] = {
    "consent": "consent",
    "instructions": "instructions",
    "gather": "instructions",
    "tell": "task",
    "decide": "task",
    "wait": "task",
    "answer": "task",
    "annotate": "task",
}
"""The step of a study that each stage is part of."""


def stage_page(frame: Frame, link: RoomLink, here: Here, company: Company) -> str:
    """Return the page of the stage that an episode is at; it is not done yet."""
    view = cast(ParticipantView, here.view)
    guide = load_guidelines(frame.texts.language)
    return session_page(
        f"ambik/{view.stage}",
        frame,
        link,
        replace(here, view=_in_words(frame.texts, with_question(view))),
        STEPS,
        name=view.stage,
        other=OPPOSITE.get(view.seat, ""),
        company=company,
        guide=guide,
        order=ORDER,
        draft=view.draft,
        step_at=proposed_step(view.draft) if view.draft is not None else None,
        appliances=APPLIANCES,
        points=_points(guide, view.seat),
        rules=tuple(step.text for step in guide.steps),
    )


def _points(guide: Guidelines, seat: SeatName) -> tuple[str, ...]:
    """Return what the instructions say to whoever sits there, point by point."""
    if seat == "annotator":
        return tuple(step.text for step in guide.steps)
    return guide.robot if seat == "robot" else guide.user


def _in_words(texts: Strings, view: ParticipantView) -> ParticipantView:
    """Return the view with its trouble in words for participants; in free play it is told as it is."""
    if view.warning is None or not view.study:
        return view
    return replace(view, warning=texts("ambik.wait.trouble"))


def with_question(view: ParticipantView) -> ParticipantView:
    """Return the view with the question that is due among what has been said."""
    last = view.exchanges[-1] if view.exchanges else None
    if not view.question or (last is not None and last.answer is None):
        return view
    return replace(view, exchanges=(*view.exchanges, Exchanged(view.question, None)))


class FormProblem(NamedTuple):
    """A problem in words; with an ``error`` the form cannot be sent, with a ``warning`` it can."""

    text: str
    level: str


def _problems_in_words(texts: Strings, draft: Draft, form: PairFields) -> dict[str, tuple[FormProblem, ...]]:
    """Return what is, or may be, wrong with the form, by field, in the order of the work.

    Raises:
        SeatError: if a text is longer than is kept, or a list has too many entries.
    """
    by_field: dict[str, dict[FormProblem, None]] = {}
    for problem in check_fields(draft, form.model_dump(mode="json")):
        words = FormProblem(sentence_of(texts, problem), problem.level)
        by_field.setdefault(problem.field, {})[words] = None
    return {field: tuple(problems) for field, problems in by_field.items()}


def _accepted(draft: Draft, form: PairFields) -> tuple[Accepted, ...]:
    """Return what intent and variants accept of the plans' lines."""
    # What is accepted depends on neither, and neither need be chosen yet.
    move = form.model_dump(mode="json") | {"type": AMBIGUITIES[0], "step": None, "delete": ""}
    pair = read_pair_form(draft, move).pair
    return () if pair is None else preview(pair)


def check_answer(texts: Strings, draft: Draft, form: PairFields) -> dict[str, Any]:
    """Return what the browser is answered: ``problems``, ``errors`` (how many of them are), ``accepts``."""
    problems = _problems_in_words(texts, draft, form)
    return {
        "problems": {field: [problem._asdict() for problem in held] for field, held in problems.items()},
        "errors": sum(problem.level == "error" for held in problems.values() for problem in held),
        "accepts": [each._asdict() for each in _accepted(draft, form)],
    }


def sentence_of(texts: Strings, problem: Problem) -> str:
    """Return a problem in the page's language; types are called by their names."""
    if problem.code == "passed_over":
        problem = problem._replace(details=tuple(texts(f"ambik.type.{kind}") for kind in problem.details))
    return problem.sentence(texts.language)


# ---- the end: was it right to ask, what was meant, whose set was what

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
    shown = story(frame.texts, view.seat, replay, study=view.study) if replay and through else None
    if view.study and view.seat == "user" and through and not view.exchanges:
        here = replace(here, notice=here.notice or Notice(frame.texts("ambik.result.not_asked")))
    company = here.seat is not None and here.seat.person_opposite
    return session_page("ambik/done", frame, link, here, STEPS, story=shown, company=company)


def story(texts: Strings, seat: SeatName, replay: Replay, *, study: bool = False) -> Story:
    """Return a replay in words, for whoever sat there; in a study or in free play."""
    verdict = _verdict(seat, replay)
    lead = verdict if study or seat != "annotator" else f"played_{verdict}"
    type_known = seat != "annotator" and (replay.type is not None or replay.member == "clear")
    return Story(
        replay,
        texts(f"ambik.result.heading.{verdict}"),
        texts(f"ambik.result.lead.{lead}"),
        task_type(replay.member, replay.type or "preferences") if type_known else None,
        tuple(_mention(concept) for concept in parse_intent(replay.intent).concepts) if replay.intent else (),
        _filled_in(texts, dict(replay.form)),
    )


def _filled_in(texts: Strings, form: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    """Return what an annotator filled in, in the form's order, with its names and steps from 1."""
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
