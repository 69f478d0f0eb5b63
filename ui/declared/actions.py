"""Calls of a benchmark's pages on the server: free play, and its studies.

`ui.actions.Actions` checks who asks, and shows `DeclaredActions.gone` where an episode is not in the log any
more (`NotInLog`). Every page is made from what the sessions show, never from what the browser said.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any, Final
from urllib.parse import parse_qsl

from logs import NotInLog
from simulator.errors import ConflictError, InputError, SeatError
from simulator.runner.lobby import PERSON
from simulator.runner.machines import SeatPage
from simulator.studies.admission import Entry, Sets, StudyCard
from simulator.studies.declared import PlaySessions
from simulator.studies.graph import COMMENT, DEBRIEFING, REST
from simulator.studies.machine import WAITING_ROOM
from simulator.studies.pairing import AWAY, LEFT, NO_PARTNER, PARTNER_LEFT
from simulator.studies.pairs import LOST, Pairs
from simulator.studies.places import BY_RESEARCHER
from simulator.studies.questions import ASKED
from ui.calls import AcknowledgeCall, Answer, CheckCall, EnterCall, JudgeCall, MoveCall, StartCall, address
from ui.declared.pages import STEPS, end_page, entry_page, form_in, link_to, step_page, task_page
from ui.declared.study import (
    Here,
    Invitation,
    Notice,
    invitation,
    message_page,
    questions_page,
    session_page,
    spoken,
    waiting_page,
    welcome_page,
)
from ui.i18n import DEFAULT, declared_texts, problem_text
from ui.render import Frame, render
from ui.render import message_page as plain_message_page
from ui.tokens import Pass, Signer, TokenError

TAKEN: Final = ("api", "askback", "assets", "config", "gradio_api", "health", "play", "research", "study")
"""First parts of addresses at which something else stands; no benchmark may be called so."""

TASK: Final = ("qualification", "task")
"""Stages at which the benchmark says what is done."""

PARTED: Final[Mapping[str, str]] = {
    LEFT: "left",
    AWAY: "away",
    NO_PARTNER: "unpaired",
    PARTNER_LEFT: "partner_left",
}
"""The page for somebody whose set ended before its task, by the reason."""


class DeclaredActions:
    """The calls of one benchmark, on live sessions; invitations to its episodes are signed.

    Attributes:
        name: of the benchmark, as passes and cards have it.
        link: how the other pages lead there; its name begins the names of the benchmark's texts.

    Raises:
        InputError: if the benchmark's name is that of another page, or its texts are none.
    """

    def __init__(self, sessions: PlaySessions, signer: Signer, *, home: bool = False) -> None:
        self.sessions = sessions
        self._known: dict[str, StudyCard] = {}
        self.benchmark = sessions.benchmark
        self.name = self.benchmark.name
        if self.name in TAKEN:
            raise InputError(f"No benchmark can be called {self.name!r}: another page has that address.")
        declared_texts(self.benchmark, DEFAULT)  # else every page would fail
        self.link = link_to(self.benchmark, home=home)
        self._signer = signer

    # Free play

    async def home(self, frame: Frame) -> str:
        """Return the entry."""
        return entry_page(frame, self.link, self.sessions, self.studies())

    async def start(self, call: Mapping[str, Any]) -> Answer:
        """Begin an episode of free play; answers with the address of its page.

        Raises:
            AskbackError: if it cannot begin.
            ValidationError: if the call is not of the right form.
        """
        asked = StartCall.model_validate(call)
        episode_id = await self.sessions.start(
            seat=asked.seat,
            others=asked.others,
            rules=asked.rules,
            item=asked.item,
            language=asked.item_language or asked.language,
        )
        company = PERSON in asked.others.values()
        return self._go(
            Pass(episode_id, asked.seat, person_opposite=company, host=company, benchmark=self.name)
        )

    def _go(self, seat: Pass) -> Answer:
        return {"go": address(self._signer.sign(seat))}

    # Studies

    def studies(self) -> Sequence[StudyCard]:
        """Return the studies that there are."""
        cards = self.sessions.studies()
        # Of what the pages of an episode show nothing changes, and counting places takes time.
        self._known.update((card.id, card) for card in cards)
        return cards

    def study(self, study_id: str) -> StudyCard | None:
        """Return a study, or the preview of one; None if it is not held here."""
        card = self.sessions.study(study_id)
        if card is not None:
            self._known[card.id] = card
        return card

    def card_of(self, study_id: str) -> StudyCard | None:
        """Return a study's card, whose places may have been counted a while ago."""
        return (self._known.get(study_id) or self.study(study_id)) if study_id else None

    def welcome(self, frame: Frame, card: StudyCard) -> str:
        """Return the welcome page of a study. Nothing begins there."""
        return welcome_page(spoken(frame, card), self.link, card)

    async def enter(self, frame: Frame, card: StudyCard, call: Mapping[str, Any]) -> Answer:
        """Give somebody a place; answers with the address of its page, or with one that says why not.

        Raises:
            AskbackError: if the study cannot go on.
            ValidationError: if the call is not of the right form.
        """
        asked = EnterCall.model_validate(call)
        frame = spoken(frame, card)
        entry = await self.sessions.enter(
            card.id,
            identity=dict(parse_qsl(asked.query)),
            participant_key=asked.participant_key,
            language=frame.texts.language,
        )
        seats = [seat.name for seat in self.benchmark.seats]
        return self._seat_answer(frame, entry, card.task if card.task in seats else seats[0], card.id)

    def _seat_answer(self, frame: Frame, entry: Entry, usual: str, study: str) -> Answer:
        if entry.episode_id is None:
            return {"html": self._message(frame, entry.refusal or "closed", entry.completion)}
        return self._go(Pass(entry.episode_id, entry.seat or usual, benchmark=self.name, study=study))

    async def next_set(self, frame: Frame, seat: Pass, call: Mapping[str, Any]) -> Answer:
        """Give the participant of an episode another set; answers as `enter` does.

        Raises:
            AskbackError: if it is not a study's.
        """
        entry = await self.sessions.next_set(seat.episode_id)
        return self._seat_answer(spoken(frame, self.card_of(seat.study)), entry, seat.seat, seat.study)

    async def page(self, frame: Frame, seat: Pass) -> Answer:
        """Return the page of an episode as it stands."""
        view = await self.sessions.view(seat.episode_id, seat.seat)
        return {"html": await self._page_of(frame, seat, view)}

    async def send(self, frame: Frame, seat: Pass, call: Mapping[str, Any]) -> Answer:
        """Take a turn; ``accepted`` tells whether it counts, so that what was typed may be dropped."""
        asked = MoveCall.model_validate(call)
        notice = None
        try:
            view = await self.sessions.submit(seat.episode_id, seat.seat, asked.reply(), number=asked.number)
        except ConflictError:
            notice = Notice(frame.texts("study.session.moved"))
        except (SeatError, InputError) as error:
            notice = self._refusal_notice(frame, error)
        if notice is not None:
            view = await self.sessions.view(seat.episode_id, seat.seat)
        if notice is not None and broken_off(view):
            # The place had been given to somebody else.
            return {"accepted": False, "html": self._message(frame, "full")}
        return {"accepted": notice is None, "html": await self._page_of(frame, seat, view, notice)}

    async def judge(self, frame: Frame, seat: Pass, call: Mapping[str, Any]) -> Answer:
        """Note what somebody says of an episode of free play that is over.

        Raises:
            TokenError: if nobody in this seat is asked.
            ValidationError: if the call is not of the right form.
        """
        asked = JudgeCall.model_validate(call)
        if seat.seat not in self.sessions.judges:
            raise TokenError("nobody in this seat judges")
        await self.sessions.judge(seat.episode_id, seat.seat, asked.success, f"{asked.render}.judge")
        return {"accepted": True}

    async def state(self, seat: Pass) -> Answer:
        """Return where an episode stands, for a page that waits for another seat."""
        view: SeatPage = await self.sessions.view(seat.episode_id, seat.seat)
        return {
            "number": view.number,
            "my_turn": view.my_turn if view.stage in TASK else view.stage != "gather",
            "ended": view.stage == "done",
            "trouble": view.warning is not None,
            "stage": view.stage,
        }

    async def check(self, frame: Frame, seat: Pass, call: Mapping[str, Any]) -> Answer:
        """Return what is wrong with a form that is being filled in.

        Returns:
            ``problems``, by field; ``errors``, how many of them are; ``html`` of what is shown beside. Of a
            form that cannot be read, why it is ``refused``.

        Raises:
            ValidationError: if the call is not of the right form.
        """
        asked = CheckCall.model_validate(call)
        view: SeatPage = await self.sessions.view(seat.episode_id, seat.seat)
        form = form_in(view.blocks)
        if form is None or form.check is None:
            return {}
        try:
            checked = form.check(asked.filled, frame.texts.language)
        except (SeatError, InputError) as error:
            return {"refused": self._refusal_notice(frame, error).text}
        texts, problems = frame.texts, dict[str, list[dict[str, str]]]()
        for problem in checked.problems:
            # A benchmark's own checks speak English; its phrases have their words in other languages.
            own = texts.phrase(texts.say(self.link.name, problem.text))
            words = texts.get(f"declared.problem.{problem.code}", own)
            said = {"text": words, "level": problem.level}
            if said not in (held := problems.setdefault(problem.field, [])):
                held.append(said)
        context = {"link": self.link, "view": view, "language": view.language, "blocks": checked.blocks}
        return {
            "problems": problems,
            "errors": sum(each["level"] == "error" for held in problems.values() for each in held),
            "html": render("blocks/all", texts, **context) if checked.blocks else "",
        }

    async def withdraw(self, frame: Frame, seat: Pass, call: Mapping[str, Any]) -> Answer:
        """Erase a participant's sets, and answer with a page that says so.

        Raises:
            AskbackError: if it is not a study's.
        """
        if not seat.study:
            raise InputError("Only a study can be withdrawn from.")
        await self.sessions.withdraw(seat.episode_id)
        return {"html": self._left_page(spoken(frame, self.card_of(seat.study)), seat, "withdrawn")}

    async def leave(self, frame: Frame, seat: Pass, call: Mapping[str, Any]) -> Answer:
        """End the set of somebody who is paired, before its end; what they did stays. Return the page.

        Raises:
            AskbackError: if nobody is paired there.
        """
        await self._pairs(seat).leave(seat.episode_id)
        return await self.page(frame, seat)

    async def acknowledge(self, frame: Frame, seat: Pass, call: Mapping[str, Any]) -> Answer:
        """Record that somebody has read a researcher's message; return the page without it."""
        await self.sessions.acknowledge(seat.episode_id, AcknowledgeCall.model_validate(call).message)
        return await self.page(frame, seat)

    async def wait_again(self, frame: Frame, seat: Pass, call: Mapping[str, Any]) -> Answer:
        """Let somebody whose partner has left wait for another one; return the page.

        Raises:
            AskbackError: if nobody is paired there.
        """
        with suppress(ConflictError):  # it went on in another tab: the page says where it stands
            await self._pairs(seat).wait_again(seat.episode_id)
        return await self.page(frame, seat)

    def _pairs(self, seat: Pass) -> Pairs:
        pairs = self.sessions.pairs(seat.episode_id)
        if pairs is None:
            raise InputError("Nobody is paired here.")
        return pairs

    # Pages

    def steps(self, view: Any) -> Mapping[Any, str]:
        """Return the step of a study that each stage belongs to."""
        asked = {step.page or step.kind for step in self.sessions.around}
        there = {COMMENT.kind: COMMENT.kind in asked, "qualification": view.tested}
        known = {stage: step for stage, step in STEPS.items() if there.get(stage, True)}
        return {**known, **dict.fromkeys(asked - set(STEPS), "task")}

    def session_page(self, here: Here) -> str:
        """Return the page of consent, instructions, the task or the comment."""
        make = task_page if here.view.stage in TASK else step_page
        return make(here, self._invitations(here))

    def _invitations(self, here: Here) -> Mapping[str, Invitation]:
        """Return the invitations for the other people, if this page's person began the episode."""
        seat, view = here.seat, here.view
        if seat is None or not seat.host:
            return {}
        taken = self.sessions.holders(seat.episode_id)
        return {name: invitation(self._signer, seat, name, taken=name in taken) for name in view.people}

    def here(self, frame: Frame, view: Any, **more: Any) -> Here:
        """Return the episode whose page is asked for."""
        return Here(frame=frame, link=self.link, steps=self.steps(view), view=view, **more)

    async def _page_of(self, frame: Frame, seat: Pass, view: Any, notice: Notice | None = None) -> str:
        card = self.card_of(seat.study)
        frame = spoken(frame, card)
        if view.stage == "instructions_again":
            view, notice = replace(view, stage="instructions"), Notice(frame.texts("study.questions.again"))
        sets = self.sessions.sets(seat.episode_id) if view.study else Sets()
        here = self.here(frame, view, card=card, sets=sets, notice=notice, seat=seat)
        if view.stage in ASKED:
            return questions_page(here)
        if view.stage in (WAITING_ROOM, LOST):
            return waiting_page(here, self._pairs(seat).waiting(seat.episode_id))
        if view.stage in (DEBRIEFING.kind, REST):
            return session_page(f"study/{view.stage}", here)
        if view.stage != "done":
            return self.session_page(here)
        if broken_off(view) or (sets.completion is not None and not sets.completion.is_done):
            return self._left_page(frame, seat, self._broken_off_page(seat, view, sets))
        return end_page(here, self.benchmark, await self._replay(seat))

    def _broken_off_page(self, seat: Pass, view: SeatPage, sets: Sets) -> str:
        """Return the page for somebody whose episode was broken off, or who left afterwards."""
        if sets.completion is not None and sets.completion.outcome == "screened_out":
            return "screened_out"
        if view.ending is not None and view.ending.message == BY_RESEARCHER:
            return "ended"
        pairs = self.sessions.pairs(seat.episode_id)
        if pairs is not None and (reason := pairs.reason(seat.episode_id)):
            return PARTED[reason]
        cause = view.ending.cause if view.ending is not None else None
        return "broken" if broken_off(view) and cause != seat.seat else "declined"

    def _left_page(self, frame: Frame, seat: Pass, code: str) -> str:
        """Return a page for somebody who has left before the end, or afterwards."""
        try:
            return self._message(frame, code, self.sessions.completion(seat.episode_id))
        except NotInLog:
            return self._message(frame, code)

    def _message(self, frame: Frame, code: str, completion: Any = None) -> str:
        return message_page(frame, code, home=self.link.path, completion=completion)

    def gone(self, frame: Frame, seat: Pass) -> Answer:
        """Return the page for somebody whose episode is not there any more."""
        if not seat.study:
            return {"html": plain_message_page(frame, "gone")}
        return {"html": self._message(spoken(frame, self.card_of(seat.study)), "gone")}

    async def _replay(self, seat: Pass) -> Any:
        try:
            return await self.sessions.replay(seat.episode_id, seat.seat)
        except ConflictError:  # the study does not show it
            return None

    def _refusal_notice(self, frame: Frame, error: SeatError | InputError) -> Notice:
        """Return why a turn does not count; a benchmark whose forms can be corrected may say where."""
        code = getattr(error, "code", "")
        refusal = frame.texts.get(
            f"{self.link.name}.refused.{code}",
            problem_text(frame.texts, error),
            node=getattr(error, "node", ""),
        )
        return Notice(frame.texts("study.session.refused", message=refusal), "problem")


def broken_off(view: SeatPage) -> bool:
    """Return True if a study's episode ended before it was through."""
    return view.study and view.ending is not None and view.ending.status == "aborted"
