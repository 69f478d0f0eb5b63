"""Server calls of the players' pages: show a page, start an episode, make a move.

Every call comes from a browser and is not trusted: its form is validated here, its permission by the signed
token. The answer is a complete page built from `Sessions.view`, never from the contents of the call.
The actions of the benchmark carry it out (`ui.declared.actions`).
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import parse_qs, parse_qsl

from pydantic import ValidationError

from logs import NotInLog
from simulator.errors import AskbackError, InputError
from simulator.studies.admission import StudyCard
from ui.calls import PLAY, STUDY, Answer, EnterCall, PageCall, page_url
from ui.declared.actions import DeclaredActions
from ui.declared.study import invitation_page
from ui.declared.study import message_page as study_message
from ui.i18n import problem_text, strings
from ui.render import Frame, message_page
from ui.tokens import Pass, Signer, TokenError

log = logging.getLogger(__name__)


def _at_seat(
    answer: Callable[[DeclaredActions, Frame, Pass, Mapping[str, Any]], Awaitable[Answer]],
) -> Callable[[Actions, Mapping[str, Any]], Awaitable[Answer]]:
    """Return `answer` as a call for the holder of a seat; a bad token raises `TokenError`."""

    async def handle(self: Actions, call: Mapping[str, Any]) -> Answer:
        asked = PageCall.model_validate(call)
        frame, seat = self._frame(asked), self.signer.read(_token(asked))
        benchmark = self._serving(seat)
        try:
            return await answer(benchmark, frame, seat, call)
        except NotInLog:
            return benchmark.missing_page(frame, seat)

    return handle


@dataclass(frozen=True)
class Actions:
    """The calls of the players' pages, on live objects.

    Attributes:
        served: benchmarks by name (`Pass.benchmark`); the entry page of the first is the home page.
        research: path of the researchers' pages; None if they are not mounted.
    """

    next_set = _at_seat(DeclaredActions.next_set)
    withdraw = _at_seat(DeclaredActions.withdraw)
    leave = _at_seat(DeclaredActions.leave)
    wait_again = _at_seat(DeclaredActions.wait_again)
    acknowledge = _at_seat(DeclaredActions.acknowledge)
    check_form = _at_seat(DeclaredActions.check)
    judge = _at_seat(DeclaredActions.judge)
    _send = _at_seat(DeclaredActions.send)

    signer: Signer
    served: Mapping[str, DeclaredActions]
    research: str | None = None

    def __post_init__(self) -> None:
        """Refuse (`InputError`) two studies with the same id: a link could not tell them apart."""
        owners: dict[str, str] = {}
        for name, benchmark in self.served.items():
            for card in benchmark.studies():
                if owners.setdefault(card.id, name) != name:
                    raise InputError(
                        f"study {card.id!r}: both {owners[card.id]} and {name} have a study with this id"
                    )

    @property
    def paths(self) -> tuple[str, ...]:
        """The paths of the players' pages."""
        return (PLAY, STUDY, *(benchmark.link.path for benchmark in self.served.values()))

    async def page(self, call: Mapping[str, Any]) -> Answer:
        """Return the page at the call's path: an episode, a study's welcome page, or an entry page."""
        asked = PageCall.model_validate(call)
        first = next(iter(self.served.values()))
        paths = {benchmark.link.path: benchmark for benchmark in self.served.values()}
        entry = paths.get(asked.path, first)
        try:
            if asked.path == PLAY:
                return await self._play(asked)
            if asked.path == STUDY:
                return {"html": self._welcome(asked)}
            return {"html": await entry.home(self._frame(asked, active=entry.link.name))}
        except Exception:  # the boundary: the person sees a page that says something went wrong
            log.exception("a page could not be built: %s", asked.path)
            return {"html": message_page(self._frame(asked), "failed")}

    async def start(self, call: Mapping[str, Any]) -> Answer:
        """Start an episode; answer with the address of its page, or with the ``problem`` as text.

        ``benchmark`` in the call names the benchmark; the default is that of the home page.
        """
        try:
            if (name := str(call.get("benchmark", next(iter(self.served))))) not in self.served:
                raise InputError(f"{name} is not served here.", code="not_served", benchmark=name)
            return await self.served[name].start(call)
        except (AskbackError, ValidationError) as error:
            log.warning("an episode could not be started: %s", error)
            return {"problem": problem_text(strings(str(call.get("language", ""))), error)}

    # Studies

    def _welcome(self, asked: PageCall) -> str:
        frame, study = self._frame(asked), self._find_study(asked, DeclaredActions.study)
        return study_message(frame, "unknown") if study is None else study[0].welcome(frame, study[1])

    async def enter_study(self, call: Mapping[str, Any]) -> Answer:
        """Ask for a place in a study; answer as `start` does, or with a page that says why there is none."""
        asked = PageCall.model_validate(call)
        # Entering checks whether a place is left, so places need not be counted here.
        frame, study = self._frame(asked), self._find_study(asked, DeclaredActions.card_of)
        if study is None:
            return {"html": study_message(frame, "unknown")}
        benchmark, card = study
        try:
            return await benchmark.enter(frame, card, call)
        except (AskbackError, ValidationError) as error:
            log.warning("a study could not be entered: %s", error)
            return {"problem": problem_text(strings(str(call.get("language", ""))), error)}

    def _find_study(
        self, asked: PageCall, find: Callable[[DeclaredActions, str], StudyCard | None]
    ) -> tuple[DeclaredActions, StudyCard] | None:
        """Return the study named by an address and its benchmark; None if there is no such study."""
        study_id = dict(parse_qsl(asked.query)).get("study", "")
        cards = ((benchmark, find(benchmark, study_id)) for benchmark in self.served.values())
        return next(((benchmark, card) for benchmark, card in cards if card is not None), None)

    # Episodes

    async def _play(self, asked: PageCall) -> Answer:
        frame = self._frame(asked)
        try:
            seat = self.signer.read_any(_token(asked))
            benchmark = self._serving(seat)
        except TokenError:
            return {"html": message_page(frame, "bad_link")}
        try:
            if not seat.is_invitation:
                return await benchmark.page(frame, seat)
            taken = seat.seat in benchmark.sessions.holders(seat.episode_id)
        except NotInLog:
            return benchmark.missing_page(frame, seat)
        if taken:
            return {"html": message_page(frame, "seat_taken")}
        return {"html": invitation_page(frame, benchmark.link, seat.seat)}

    async def take_seat(self, call: Mapping[str, Any]) -> Answer:
        """Take the seat of an invitation; answer as `start` does, or with a page that says why not.

        Somebody who already holds the seat is led back to it.
        """
        asked = EnterCall.model_validate(call)
        frame = self._frame(asked)
        try:
            seat = self.signer.read_any(_token(asked))
            if not seat.is_invitation:
                raise TokenError("this link is not an invitation")
            sessions = self._serving(seat).sessions
        except TokenError:
            return {"html": message_page(frame, "bad_link")}
        holder = self.signer.holder(seat, asked.participant_key)
        try:
            if not await sessions.take_seat(seat.episode_id, seat.seat, holder):
                return {"html": message_page(frame, "seat_taken")}
        except NotInLog:
            return {"html": message_page(frame, "gone")}
        return {"go": page_url(self.signer.sign(replace(seat, holder=holder)))}

    async def send(self, call: Mapping[str, Any]) -> Answer:
        """Submit a turn; if ``accepted`` is true in the answer, the page drops the draft."""
        try:
            return {"accepted": False} | await self._send(call)
        except TokenError:
            frame = self._frame(PageCall.model_validate(call))
            return {"accepted": False, "html": message_page(frame, "bad_link")}

    async def state(self, token: str) -> Answer:
        """Return the state of an episode, for a page that polls.

        For the host it includes the number of invited people who have taken their seats (``taken``).

        Raises:
            TokenError: if the token is not ours, or its benchmark is not served.
        """
        seat = self.signer.read(token)
        benchmark = self._serving(seat)
        taken = {"taken": len(benchmark.sessions.holders(seat.episode_id))} if seat.host else {}
        return await benchmark.state(seat) | taken

    def _serving(self, seat: Pass) -> DeclaredActions:
        """Return the benchmark of a seat's episode."""
        if seat.benchmark not in self.served:
            raise TokenError(f"{seat.benchmark} is not served here")
        return self.served[seat.benchmark]

    def _frame(self, asked: PageCall, active: str = "") -> Frame:
        links = tuple(benchmark.link for benchmark in self.served.values())
        return Frame(strings(asked.language), asked.path, asked.query, self.research, active, links)


def _token(asked: PageCall) -> str:
    return parse_qs(asked.query).get("t", [""])[0]
