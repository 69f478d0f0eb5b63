"""The pages of studies with people, from welcome to leaving, and the frame of every page of an episode."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from math import ceil
from typing import Any, Final, Literal

from simulator.studies import Completion
from simulator.studies.admission import Sets, StudyCard
from simulator.studies.graph import REST
from simulator.studies.machine import WAITING_ROOM
from simulator.studies.pairing import beat_interval
from simulator.studies.pairs import LOST, Waiting
from simulator.studies.questions import ASKED
from trees import Language
from ui.calls import page_url
from ui.i18n import Strings, strings
from ui.render import BenchmarkLink, Frame, render
from ui.tokens import Pass, Signer

_POLL_SECONDS: Final = 3
_MANY_PLACES: Final = 1000
"""From this number on, the page does not say how many places are left."""
ONCE: Final = ("consent", "instructions", "comprehension", "qualification", "questions_before")
"""Steps that are part of a participant's first set only."""


@dataclass(frozen=True, slots=True)
class Notice:
    """A message above the reply box."""

    text: str
    kind: Literal["info", "problem"] = "info"


@dataclass(frozen=True, slots=True)
class Offer:
    """A study as texts for its card.

    Attributes:
        title: title in the page's language.
        minutes: how long a set takes; empty if unknown.
    """

    card: StudyCard
    title: str
    address: str
    minutes: str
    pay: str
    places: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PageContext:
    """Everything needed to build the page of an episode.

    Attributes:
        steps: stage -> step of the study, in order; a step's title is ``study.step_…``.
        view: what the seat may see (`simulator.runner.machines.SeatPage`).
        card: the study of the episode; None in free play.
        seat: the viewer's seat; None for benchmarks that do not need it.
    """

    frame: Frame
    link: BenchmarkLink
    steps: Mapping[Any, str]
    view: Any
    card: StudyCard | None = None
    sets: Sets = field(default_factory=Sets)
    notice: Notice | None = None
    seat: Pass | None = None

    @property
    def texts(self) -> Strings:
        """Texts of the page."""
        return self.frame.texts


def session_page(template: str, context: PageContext, **more: object) -> str:
    """Return a page of an episode; `template` extends ``study/session``, directly or not."""
    card = context.card
    return render(
        template,
        context.texts,
        **{name: getattr(context, name) for name in ("frame", "link", "view", "card", "sets", "notice")},
        messages=context.sets.messages,
        own=study_texts(card, context.texts.language),
        minutes=short_number(card.study.pay.minutes) if card is not None and card.study.pay else "",
        pay=pay_in_words(context.texts, card) if card is not None else "",
        steps=steps_shown(context),
        step={WAITING_ROOM: "task", LOST: "task", REST: "task", **context.steps}.get(
            context.view.stage, context.view.stage
        ),
        beat=beat_seconds(context),
        **more,
    )


def beat_seconds(context: PageContext) -> int:
    """Return the seconds between a page's signs of life; 0 if no partner depends on them."""
    if context.card is None or not context.card.study.seats or context.view.stage == "done":
        return 0
    if context.view.stage == WAITING_ROOM:
        return _POLL_SECONDS
    return max(1, int(beat_interval(context.card.study.pairing).total_seconds() / 2))


def questions_page(context: PageContext) -> str:
    """Return the page with a study's own questions for the view's stage (`ASKED`)."""
    when, language, card = ASKED[context.view.stage], context.texts.language, context.card
    assert card is not None
    words = partial(card.study.in_language, language)
    questions = [question for question in card.study.questions if question.when == when]
    return session_page("study/questions", context, questions=questions, words=words, when=when)


def waiting_page(context: PageContext, waiting: Waiting | None) -> str:
    """Return the waiting room; without `waiting`, the choice for a participant whose partner has left."""
    study = context.card.study if context.card else None
    return session_page(
        "study/waiting",
        context,
        waiting=waiting,
        minutes_left=ceil(waiting.seconds_left / 60) if waiting else 0,
        wait=short_number(study.pairing.wait_minutes) if study and study.seats else "",
    )


def steps_shown(context: PageContext) -> tuple[str, ...]:
    """Return the steps of this set in order, without duplicates."""
    once, card = ONCE if context.sets.done else (), context.card
    names = [*dict.fromkeys(context.steps.values())]
    asked = {question.when for question in card.study.questions} if card is not None else set()
    own = {stage for stage, when in ASKED.items() if when in asked}
    before = [name for name in ONCE if name in own or name in names]
    names = [name for name in names if name not in before]
    if "questions_after" in own:
        names.insert(names.index("task") + 1 if "task" in names else len(names), "questions_after")
    if card is not None and "debriefing" in card.study.texts:
        names.append("debriefing")
    return tuple(step for step in (*before, *names) if step not in once)


def welcome_page(frame: Frame, link: BenchmarkLink, card: StudyCard) -> str:
    """Return the welcome page, which describes the study and starts nothing."""
    return render("study/welcome", frame.texts, frame=frame, link=link, offer=study_offer(frame, card))


def message_page(frame: Frame, code: str, *, home: str = "/", completion: Completion | None = None) -> str:
    """Return a page that says why somebody is not (or no longer) taking part, and what they can do.

    `code`: a refusal, ``declined``, ``screened_out``, ``broken``, ``withdrawn``, ``gone`` or ``unknown``.
    `home`: address for playing outside a study. `completion`: the code that they may still submit.
    """
    handed = completion if completion is not None and completion.code else None
    return render("study/message", frame.texts, frame=frame, code=code, home=home, completion=handed)


def study_offer(frame: Frame, card: StudyCard) -> Offer:
    """Return the texts for a study's card."""
    texts, left, pay = frame.texts, card.places_left, pay_in_words(frame.texts, card)
    name = "one_place" if left == 1 else "places" if left < _MANY_PLACES else "many_places"
    if not pay:
        pay = texts("study.offer.unpaid")
    elif card.builtin:
        pay = texts("study.offer.pay_paper", pay=pay)
    length = short_number(card.study.pay.minutes) if card.study.pay else ""
    minutes = texts(f"study.offer.{'one_minute' if length == '1' else 'minutes'}", minutes=length)
    return Offer(
        card,
        card.study.title_in(texts.language),
        f"/{card.study.benchmark}/study/{card.id}",
        minutes if length else "",
        pay,
        texts(f"study.offer.{name}", count=left),
    )


def pay_in_words(texts: Strings, card: StudyCard) -> str:
    """Return the pay, per set if there are several; empty if there is none."""
    pay = card.study.pay
    if pay is None or not pay.amount:
        return ""
    amount = f"{pay.amount:.2f} {pay.currency}"
    return texts("study.offer.pay_each", pay=amount) if card.study.sets_per_participant > 1 else amount


def study_texts(card: StudyCard | None, language: Language) -> dict[str, tuple[str, ...]]:
    """Return a study's own texts by name, split into paragraphs."""
    texts = card.study.texts_in(language) if card is not None else {}
    return {name: tuple(part for part in text.split("\n\n") if part.strip()) for name, text in texts.items()}


def in_study_language(frame: Frame, card: StudyCard | None) -> Frame:
    """Return the frame in a language of the study, with its contact; unchanged outside studies."""
    if card is None:
        return frame
    language = frame.texts.language
    if language not in card.languages:
        language = card.languages[0]
    return replace(frame, texts=strings(language), contact=card.study.contact_in(language))


def short_number(value: float) -> str:
    """Return a number with at most two decimals and no trailing zeros."""
    return f"{round(value, 2):g}"


# ---- invitations to a seat in free play, which the first person to take it keeps


@dataclass(frozen=True, slots=True)
class Invitation:
    """The link for another person, without a host (the browser adds it), and whether it was taken."""

    link: str
    taken: bool


def invitation(signer: Signer, host: Pass, seat: str, *, taken: bool) -> Invitation:
    """Return the invitation to another seat of the host's episode."""
    guest = Pass(host.episode_id, seat, person_opposite=True, benchmark=host.benchmark)
    return Invitation(page_url(signer.sign(guest)), taken=taken)


def invitation_page(frame: Frame, link: BenchmarkLink, seat: str) -> str:
    """Return the page for an invited person: the game, their seat, and who is waiting."""
    texts = frame.texts
    return render(
        "invitation",
        texts,
        frame=frame,
        link=link,
        seat=texts.get(f"{link.name}.seat.{seat}", seat),
        part=texts.get(f"{link.name}.study.task_{seat}", ""),
    )
