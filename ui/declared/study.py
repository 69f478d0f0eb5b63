"""The pages of every study with people, from welcome to leaving, and what all pages of an episode have."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from math import ceil
from typing import Any, Final, Literal

from simulator.studies import Completion
from simulator.studies.admission import Sets, StudyCard
from simulator.studies.graph import REST
from simulator.studies.machine import WAITING_ROOM
from simulator.studies.pairing import beat
from simulator.studies.pairs import LOST, Waiting
from simulator.studies.questions import ASKED, Words
from trees import Language
from ui.calls import address
from ui.i18n import Strings, strings
from ui.render import BenchmarkLink, Frame, render
from ui.tokens import Pass, Signer

_POLL_SECONDS: Final = 3
_MANY_PLACES: Final = 1000
"""From here on how many are left says nothing."""
ONCE: Final = ("consent", "instructions", "comprehension", "qualification", "questions_before")
"""Steps of a person's first set only."""


@dataclass(frozen=True, slots=True)
class Notice:
    """A sentence above the composer."""

    text: str
    kind: Literal["info", "problem"] = "info"


@dataclass(frozen=True, slots=True)
class Offer:
    """A study in words.

    Attributes:
        title: in the page's language.
        address: of its welcome page.
        minutes: how long a set takes; empty if nobody says.
        pay: for it.
        places: how many are left, if anybody can begin.
    """

    card: StudyCard
    title: str
    address: str
    minutes: str
    pay: str
    places: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Here:
    """An episode whose page is asked for.

    Attributes:
        frame: of the page.
        link: the benchmark.
        steps: the step of a study that each stage belongs to, in order; ``study.step_…`` names it.
        view: what may be seen (`simulator.runner.machines.SeatPage`).
        card: the study that it belongs to; None in free play.
        sets: where the participant stands.
        notice: what to tell beside.
        seat: of whoever sees it; None where a benchmark has one seat and does not ask.
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
        """The texts of the page."""
        return self.frame.texts


def session_page(template: str, here: Here, **more: object) -> str:
    """Return a page of an episode: its template extends ``study/session`` or one that does.

    Args:
        template: its name.
        here: the episode.
        more: what else the template wants.
    """
    card = here.card
    return render(
        template,
        here.texts,
        frame=here.frame,
        link=here.link,
        view=here.view,
        card=card,
        sets=here.sets,
        notice=here.notice,
        messages=here.sets.messages,
        own=own_texts(card, here.texts.language),
        minutes=whole(card.study.pay.minutes) if card is not None and card.study.pay else "",
        pay=pay_in_words(here.texts, card) if card is not None else "",
        steps=steps_shown(here),
        step={WAITING_ROOM: "task", LOST: "task", REST: "task", **here.steps}.get(
            here.view.stage, here.view.stage
        ),
        beat=beat_seconds(here),
        **more,
    )


def beat_seconds(here: Here) -> int:
    """Return how often a page tells that its person is there; 0 where nobody waits for them."""
    if here.card is None or not here.card.study.seats or here.view.stage == "done":
        return 0
    if here.view.stage == WAITING_ROOM:
        return _POLL_SECONDS
    return max(1, int(beat(here.card.study.pairing).total_seconds() / 2))


def questions_page(here: Here) -> str:
    """Return the page of a study's own questions; the view's stage says which of them (`ASKED`)."""
    when, language, card = ASKED[here.view.stage], here.texts.language, here.card
    assert card is not None

    def words(texts: Words) -> str:
        return texts if isinstance(texts, str) else texts.get(language) or next(iter(texts.values()))

    questions = [question for question in card.study.questions if question.when == when]
    return session_page("study/questions", here, questions=questions, words=words, when=when)


def waiting_page(here: Here, waiting: Waiting | None) -> str:
    """Return the waiting room; of somebody whose partner has left (not `waiting`), what they are offered."""
    return session_page(
        "study/waiting",
        here,
        waiting=waiting,
        minutes_left=ceil(waiting.seconds_left / 60) if waiting else 0,
        wait=whole(here.card.study.pairing.wait_minutes) if here.card and here.card.study.seats else "",
    )


def steps_shown(here: Here) -> tuple[str, ...]:
    """Return the steps of this set, in order, each once."""
    once = ONCE if here.sets.done else ()
    names = [*dict.fromkeys(here.steps.values())]
    asked = {question.when for question in here.card.study.questions} if here.card is not None else set()
    own = {stage for stage, when in ASKED.items() if when in asked}
    before = [name for name in ONCE if name in own or name in names]
    names = [name for name in names if name not in before]
    if "questions_after" in own:
        names.insert(names.index("task") + 1 if "task" in names else len(names), "questions_after")
    if here.card is not None and "debriefing" in here.card.study.texts:
        names.append("debriefing")
    return tuple(step for step in (*before, *names) if step not in once)


def welcome_page(frame: Frame, link: BenchmarkLink, card: StudyCard) -> str:
    """Return what a participant sees first: what the study is; nothing has begun."""
    return render("study/welcome", frame.texts, frame=frame, link=link, offer=offer(frame, card))


def message_page(frame: Frame, code: str, *, home: str = "/", completion: Completion | None = None) -> str:
    """Return why somebody is not taking part, or no longer, and what they can do.

    Args:
        frame: its frame.
        code: a refusal, ``declined``, ``screened_out``, ``broken``, ``withdrawn``, ``gone`` or ``unknown``.
        home: where one can play without a study.
        completion: the code that they may hand in all the same.
    """
    handed = completion if completion is not None and completion.code else None
    return render("study/message", frame.texts, frame=frame, code=code, home=home, completion=handed)


def offer(frame: Frame, card: StudyCard) -> Offer:
    """Return a study as the pages say it."""
    texts, left, pay = frame.texts, card.places_left, pay_in_words(frame.texts, card)
    name = "one_place" if left == 1 else "places" if left < _MANY_PLACES else "many_places"
    if not pay:
        pay = texts("study.offer.unpaid")
    elif card.builtin:
        pay = texts("study.offer.pay_paper", pay=pay)
    length = whole(card.study.pay.minutes) if card.study.pay else ""
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
    """Return what is paid, for each set of several; empty if nothing."""
    pay = card.study.pay
    if pay is None or not pay.amount:
        return ""
    amount = f"{pay.amount:.2f} {pay.currency}"
    return texts("study.offer.pay_each", pay=amount) if card.study.sets_per_participant > 1 else amount


def own_texts(card: StudyCard | None, language: Language) -> dict[str, tuple[str, ...]]:
    """Return a study's own words, by name, in paragraphs."""
    texts = card.study.texts_in(language) if card is not None else {}
    return {name: tuple(part for part in text.split("\n\n") if part.strip()) for name, text in texts.items()}


def spoken(frame: Frame, card: StudyCard | None) -> Frame:
    """Return the frame in a language that the study has, if it belongs to one."""
    if card is None:
        return frame
    language = frame.texts.language
    if language not in card.languages:
        language = card.languages[0]
    return replace(frame, texts=strings(language))


def whole(value: float) -> str:
    """Return a number without decimals that say nothing."""
    return f"{round(value, 2):g}"


# ---- invitations to a seat of free play, which its first taker keeps


@dataclass(frozen=True, slots=True)
class Invitation:
    """The link for the second person, shown to whoever began the dialogue.

    Attributes:
        link: path and query, without the host (the browser knows under which name it reached us).
        taken: somebody has taken the seat.
    """

    link: str
    taken: bool


def invitation(signer: Signer, host: Pass, seat: str, *, taken: bool) -> Invitation:
    """Return the invitation to another seat of the episode that `host` began."""
    guest = Pass(host.episode_id, seat, person_opposite=True, benchmark=host.benchmark)
    return Invitation(address(signer.sign(guest)), taken=taken)


def invitation_page(frame: Frame, link: BenchmarkLink, seat: str) -> str:
    """Return the introduction for somebody who is invited: what this is, which seat, who waits."""
    texts = frame.texts
    return render(
        "invitation",
        texts,
        frame=frame,
        link=link,
        seat=texts.get(f"{link.name}.seat.{seat}", texts.get(f"seat.{seat}", seat)),
        part=texts.get(f"{link.name}.study.task_{seat}", ""),
    )
