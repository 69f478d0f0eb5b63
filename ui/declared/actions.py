"""Server calls of one benchmark's pages: free play and studies.

`ui.actions.Actions` checks permissions, and shows `missing_page` if an episode is no longer in the
log (`NotInLog`). Every page is built from the sessions' view, never from what the browser sent.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any, Final
from urllib.parse import parse_qsl

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
from simulator.studies.sessions import GIVEN_AWAY
from ui.calls import AcknowledgeCall, Answer, CheckCall, EnterCall, JudgeCall, MoveCall, StartCall, page_url
from ui.declared.pages import STEPS, end_page, entry_page, form_in, link_to, step_page, task_page
from ui.declared.study import (
    Invitation,
    Notice,
    PageContext,
    in_study_language,
    invitation,
    message_page,
    questions_page,
    session_page,
    waiting_page,
    welcome_page,
)
from ui.i18n import DEFAULT, declared_texts, problem_text
from ui.render import Frame, render
from ui.render import message_page as plain_message_page
from ui.tokens import Pass, Signer, TokenError

TAKEN: Final = ("api", "askback", "assets", "config", "gradio_api", "health", "play", "research", "study")
"""First parts of paths that are in use; no benchmark may have one of these names."""

TASK: Final = ("qualification", "task")
"""Stages whose pages the benchmark defines."""

PARTED: Final[Mapping[str, str]] = {
    LEFT: "left",
    AWAY: "away",
    NO_PARTNER: "unpaired",
    PARTNER_LEFT: "partner_left",
}
"""Code of the page for a participant whose set ended early, by reason."""


class DeclaredActions:
    """The calls of one benchmark, on live sessions.

    Attributes:
        name: the benchmark's name in passes and study cards.
        link: link to the benchmark from other pages; its name is the prefix of the benchmark's texts.

    Raises:
        InputError: if the benchmark's name is that of another page, or its texts cannot be read.
    """

    def __init__(self, sessions: PlaySessions, signer: Signer, *, home: bool = False) -> None:
        self.sessions = sessions
        self._cards: dict[str, StudyCard] = {}
        self.benchmark = sessions.benchmark
        self.name = self.benchmark.name
        if self.name in TAKEN:
            raise InputError(f"A benchmark cannot be called {self.name!r}: another page has that address.")
        declared_texts(self.benchmark, DEFAULT)  # fail here rather than on every page
        self.link = link_to(self.benchmark, home=home)
        self._signer = signer

    # Free play

    async def home(self, frame: Frame) -> str:
        """Return the entry page."""
        return entry_page(frame, self.link, self.sessions, self.studies())

    async def start(self, call: Mapping[str, Any]) -> Answer:
        """Start an episode of free play; answer with the address of its page.

        Raises:
            AskbackError: if it cannot start.
            ValidationError: if the call is malformed.
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
        return {"go": page_url(self._signer.sign(seat))}

    # Studies

    def studies(self) -> Sequence[StudyCard]:
        """Return the cards of all studies of the benchmark."""
        cards = self.sessions.studies()
        # Cached for the pages of episodes: counting places takes time, and those pages do not show them.
        self._cards.update((card.id, card) for card in cards)
        return cards

    def study(self, study_id: str) -> StudyCard | None:
        """Return the card of a study or of its preview; None if this benchmark has no such study."""
        card = self.sessions.study(study_id)
        if card is not None:
            self._cards[card.id] = card
        return card

    def card_of(self, study_id: str) -> StudyCard | None:
        """Return a study's card, from the cache if possible; its count of places may be out of date."""
        return (self._cards.get(study_id) or self.study(study_id)) if study_id else None

    def welcome(self, frame: Frame, card: StudyCard) -> str:
        """Return the welcome page of a study. Opening it starts nothing."""
        return welcome_page(in_study_language(frame, card), self.link, card)

    async def enter(self, frame: Frame, card: StudyCard, call: Mapping[str, Any]) -> Answer:
        """Give a participant a place; answer with the address of its page, or with a page that says why not.

        Raises:
            AskbackError: if the study cannot continue.
            ValidationError: if the call is malformed.
        """
        asked = EnterCall.model_validate(call)
        frame = in_study_language(frame, card)
        entry = await self.sessions.enter(
            card.id,
            identity=dict(parse_qsl(asked.query)),
            participant_key=asked.participant_key,
            language=frame.texts.language,
        )
        seats = [seat.name for seat in self.benchmark.seats]
        return self._seat_answer(frame, entry, card.task if card.task in seats else seats[0], card.id)

    def _seat_answer(self, frame: Frame, entry: Entry, default_seat: str, study: str) -> Answer:
        if entry.episode_id is None:
            return {"html": self._message(frame, entry.refusal or "closed", entry.completion)}
        return self._go(Pass(entry.episode_id, entry.seat or default_seat, benchmark=self.name, study=study))

    async def next_set(self, frame: Frame, seat: Pass, call: Mapping[str, Any]) -> Answer:
        """Give the participant of an episode another set; answer as `enter` does.

        Raises:
            AskbackError: if the episode does not belong to a study.
        """
        entry = await self.sessions.next_set(seat.episode_id)
        frame = in_study_language(frame, self.card_of(seat.study))
        return self._seat_answer(frame, entry, seat.seat, seat.study)

    async def page(self, frame: Frame, seat: Pass) -> Answer:
        """Return the current page of an episode."""
        view = await self.sessions.view(seat.episode_id, seat.seat)
        return {"html": await self._page_of(frame, seat, view)}

    async def send(self, frame: Frame, seat: Pass, call: Mapping[str, Any]) -> Answer:
        """Submit a turn; if ``accepted`` is true in the answer, the browser drops the draft."""
        asked, frame = MoveCall.model_validate(call), in_study_language(frame, self.card_of(seat.study))
        notice = None
        try:
            view = await self.sessions.submit(seat.episode_id, seat.seat, asked.reply(), number=asked.number)
        except ConflictError:
            notice = Notice(frame.texts("study.session.moved"))
        except (SeatError, InputError) as error:
            notice = self._refusal_notice(frame, error)
        if notice is not None:
            view = await self.sessions.view(seat.episode_id, seat.seat)
        return {"accepted": notice is None, "html": await self._page_of(frame, seat, view, notice)}

    async def judge(self, frame: Frame, seat: Pass, call: Mapping[str, Any]) -> Answer:
        """Log a player's verdict on a finished episode of free play, if their seat judges (`TokenError`)."""
        asked = JudgeCall.model_validate(call)
        if seat.seat not in self.sessions.judges:
            raise TokenError("this seat does not judge")
        await self.sessions.judge(seat.episode_id, seat.seat, asked.success, f"{asked.render}.judge")
        return {"accepted": True}

    async def state(self, seat: Pass) -> Answer:
        """Return the state of an episode, for a page that waits for another seat."""
        view: SeatPage = await self.sessions.view(seat.episode_id, seat.seat)
        return {
            "number": view.number,
            "my_turn": view.my_turn if view.stage in TASK else view.stage != "gather",
            "ended": view.stage == "done",
            "trouble": view.warning is not None,
            "stage": view.stage,
        }

    async def check(self, frame: Frame, seat: Pass, call: Mapping[str, Any]) -> Answer:
        """Check a form that is being filled in.

        Returns:
            ``problems`` by field, the number of ``errors`` among them, and the ``html`` to show next to the
            form; for a form that cannot be read, only why it is ``refused``.

        Raises:
            ValidationError: if the call is malformed.
        """
        asked, frame = CheckCall.model_validate(call), in_study_language(frame, self.card_of(seat.study))
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
            # A benchmark's own checks report in English; its phrases translate them.
            own = texts.phrase(texts.say(self.link.name, problem.text))
            words = texts.get(f"declared.problem.{problem.code}", own)
            message = {"text": words, "level": problem.level}
            if message not in (messages := problems.setdefault(problem.field, [])):
                messages.append(message)
        context = {"link": self.link, "view": view, "language": view.language, "blocks": checked.blocks}
        return {
            "problems": problems,
            "errors": sum(each["level"] == "error" for messages in problems.values() for each in messages),
            "html": render("blocks/all", texts, **context) if checked.blocks else "",
        }

    async def withdraw(self, frame: Frame, seat: Pass, call: Mapping[str, Any]) -> Answer:
        """Withdraw a participant with all their sets; return a page that confirms it.

        Raises:
            AskbackError: if the episode does not belong to a study.
        """
        if not seat.study:
            raise InputError("One can only withdraw from a study.")
        await self.sessions.withdraw(seat.episode_id)
        card = self.card_of(seat.study)
        frame, erased = in_study_language(frame, card), card is not None and not card.study.erase_after_days
        code = "erased" if erased else "withdrawn"
        return {"html": self._message(frame, code, self.sessions.sets(seat.episode_id).completion)}

    async def leave(self, frame: Frame, seat: Pass, call: Mapping[str, Any]) -> Answer:
        """End the set of a paired participant early, keeping what they did; return the page.

        Raises:
            AskbackError: if the study pairs nobody.
        """
        await self._pairs(seat).leave(seat.episode_id)
        return await self.page(frame, seat)

    async def acknowledge(self, frame: Frame, seat: Pass, call: Mapping[str, Any]) -> Answer:
        """Log that a participant has read a researcher's message; return the page without it."""
        await self.sessions.acknowledge(seat.episode_id, AcknowledgeCall.model_validate(call).message)
        return await self.page(frame, seat)

    async def wait_again(self, frame: Frame, seat: Pass, call: Mapping[str, Any]) -> Answer:
        """Let a participant whose partner has left wait for another one; return the page.

        Raises:
            AskbackError: if the study pairs nobody.
        """
        with suppress(ConflictError):  # continued in another tab: the page shows the current state
            await self._pairs(seat).wait_again(seat.episode_id)
        return await self.page(frame, seat)

    def _pairs(self, seat: Pass) -> Pairs:
        pairs = self.sessions.pairs(seat.episode_id)
        if pairs is None:
            raise InputError("Nobody is paired here.")
        return pairs

    # Pages

    def steps(self, view: Any) -> Mapping[Any, str]:
        """Return the step of the study for each stage of an episode."""
        declared = {step.page or step.kind for step in self.sessions.outer_steps}
        optional = {COMMENT.kind: COMMENT.kind in declared, "qualification": view.tested}
        steps = {stage: step for stage, step in STEPS.items() if optional.get(stage, True)}
        return {**steps, **dict.fromkeys(declared - set(STEPS), "task")}

    def session_page(self, context: PageContext) -> str:
        """Return the page for consent, instructions, the task or the comment."""
        make = task_page if context.view.stage in TASK else step_page
        return make(context, self._invitations(context))

    def _invitations(self, context: PageContext) -> Mapping[str, Invitation]:
        """Return the invitations to the other people's seats; none unless this person is the host."""
        seat, view = context.seat, context.view
        if seat is None or not seat.host:
            return {}
        taken = self.sessions.holders(seat.episode_id)
        return {name: invitation(self._signer, seat, name, taken=name in taken) for name in view.people}

    def page_context(self, frame: Frame, view: Any, **more: Any) -> PageContext:
        """Return the context of an episode's page."""
        return PageContext(frame=frame, link=self.link, steps=self.steps(view), view=view, **more)

    async def _page_of(self, frame: Frame, seat: Pass, view: Any, notice: Notice | None = None) -> str:
        card = self.card_of(seat.study)
        frame = in_study_language(frame, card)
        if view.stage == "instructions_again":
            view, notice = replace(view, stage="instructions"), Notice(frame.texts("study.questions.again"))
        sets = self.sessions.sets(seat.episode_id) if view.study else Sets()
        context = self.page_context(frame, view, card=card, sets=sets, notice=notice, seat=seat)
        if view.stage in ASKED:
            return questions_page(context)
        if view.stage in (WAITING_ROOM, LOST):
            return waiting_page(context, self._pairs(seat).waiting(seat.episode_id))
        if view.stage in (DEBRIEFING.kind, REST):
            return session_page(f"study/{view.stage}", context)
        if view.stage != "done":
            return self.session_page(context)
        if was_aborted(view) or (sets.completion is not None and not sets.completion.is_done):
            return self._message(frame, self._reason_code(seat, view, sets), sets.completion)
        return end_page(context, self.benchmark, await self._replay(seat))

    def _reason_code(self, seat: Pass, view: SeatPage, sets: Sets) -> str:
        if sets.withdrawn:
            return "withdrawn"
        if sets.completion is not None and sets.completion.outcome == "screened_out":
            return "screened_out"
        if view.ending is not None and view.ending.message == BY_RESEARCHER:
            return "ended"
        if view.ending is not None and view.ending.message == GIVEN_AWAY:
            return "full"
        pairs = self.sessions.pairs(seat.episode_id)
        if pairs is not None and (reason := pairs.reason(seat.episode_id)):
            return PARTED[reason]
        cause = view.ending.cause if view.ending is not None else None
        return "broken" if was_aborted(view) and cause != seat.seat else "declined"

    def _message(self, frame: Frame, code: str, completion: Any = None) -> str:
        return message_page(frame, code, home=self.link.path, completion=completion)

    def missing_page(self, frame: Frame, seat: Pass) -> Answer:
        """Return the page for an episode that is no longer in the log."""
        if not seat.study:
            return {"html": plain_message_page(frame, "gone")}
        return {"html": self._message(in_study_language(frame, self.card_of(seat.study)), "gone")}

    async def _replay(self, seat: Pass) -> Any:
        try:
            return await self.sessions.replay(seat.episode_id, seat.seat)
        except ConflictError:  # the study does not show it
            return None

    def _refusal_notice(self, frame: Frame, error: SeatError | InputError) -> Notice:
        """Return why a turn was refused, in the benchmark's own words if it has any for the error's code."""
        code = getattr(error, "code", "")
        refusal = frame.texts.get(
            f"{self.link.name}.refused.{code}",
            problem_text(frame.texts, error),
            node=getattr(error, "node", ""),
        )
        return Notice(frame.texts("study.session.refused", message=refusal), "problem")


def was_aborted(view: SeatPage) -> bool:
    """Return True if an episode of a study was aborted."""
    return view.study and view.ending is not None and view.ending.status == "aborted"
