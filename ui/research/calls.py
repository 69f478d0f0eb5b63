"""What the researchers' pages can ask of the server: show a page, save a mark.

Every call comes from a browser: its form is checked here. That it may come at all, the guard has seen to.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from logs import LogError, LogWriter
from logs.rows import Judgment
from simulator.clarq.data import BENCHMARK
from simulator.clarq.review import (
    DONE,
    ErrorType,
    Failure,
    Pen,
    ProviderMark,
    finish,
    mark_failure,
    mark_provider,
    mark_success,
    next_unreviewed,
    read_review,
    read_reviews,
    write_note,
)
from simulator.errors import AskbackError
from simulator.runner.logged import ENDED
from ui.i18n import strings
from ui.problems import problem_text
from ui.research.address import (
    ASKING,
    CONSOLIDATE,
    DATA,
    DESK,
    RESEARCH,
    REVIEW,
    Address,
)
from ui.research.ambient_calls import consolidation_place, judged
from ui.research.asking_page import asking_page
from ui.research.browse_page import browse_page
from ui.research.data_page import data_page
from ui.research.declared import part_page, parts_of, with_parts
from ui.research.desk import Desk, Dialogue
from ui.research.desk_page import checked_name, desk_page
from ui.research.desk_page import judged as desk_judged
from ui.research.kept import CachedReports
from ui.research.review_page import agreement_page, all_done_page, marking_page, start_page
from ui.research.view import Page, Visit

log = logging.getLogger(__name__)

Answer = dict[str, Any]


class _Call(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True)

    language: str = Field(default="en", max_length=16)
    path: str = Field(default=RESEARCH, max_length=200)
    query: str = Field(default="", max_length=20_000)


class MarkCall(_Call):
    """A mark of a review.

    Attributes:
        what: which kind of mark; the other fields that it needs are set.
        key: idempotency key, made by the browser once per click.
    """

    what: Literal["provider", "failure", "success", "note", "done"]
    key: str = Field(pattern=r"^[\w-]{8,64}$")
    episode: str = Field(max_length=500)
    turn: int | None = Field(default=None, ge=0, le=10_000)
    type: ErrorType = 0
    node: str | None = Field(default=None, max_length=40)
    hallucination: bool = False
    failure: Failure | None = None
    yes: bool = False
    text: str = Field(default="", max_length=4000)


@dataclass(frozen=True)
class Calls:
    """The calls, on a log.

    Attributes:
        desk: reads it.
        writer: writes it; a mark is on disk before it is shown as saved.
        kept: what was made of runs.
        headlines: of the runs in the list, which are many and short.
    """

    desk: Desk
    writer: LogWriter
    kept: CachedReports = field(init=False)
    headlines: CachedReports = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "kept", CachedReports(self.desk.reader))
        object.__setattr__(self, "headlines", CachedReports(self.desk.reader, 5_000))

    def page(self, call: Mapping[str, Any]) -> Answer:
        """Return the page at the browser's address."""
        visit = self._visit(_Call.model_validate(call))
        try:
            return _answer(self._page(visit))
        except (AskbackError, LogError) as error:
            return _answer(visit.page("problem", message=problem_text(visit.t, error)))

    def mark(self, call: Mapping[str, Any]) -> Answer:
        """Save a mark; answers with the page as the log then has it, and ``saved``."""
        try:
            asked = MarkCall.model_validate(call)
        except ValidationError as error:
            log.warning("a mark was refused: %s", error)
            return {"saved": False, "problem": problem_text(strings(str(call.get("language", ""))), error)}
        visit = self._visit(asked)
        try:
            dialogue = self.desk.dialogue(asked.episode, reviewing=True)
            self.writer.put(self._row(asked, visit, dialogue)).result()
            page = self._marking(visit, dialogue)
        except (AskbackError, LogError) as error:
            log.warning("a mark was not saved: %s", error)
            return {"saved": False, "problem": problem_text(visit.t, error)}
        return {"saved": True, **_answer(page)}

    def judge_desk(self, call: Mapping[str, Any]) -> Answer:
        """Save what somebody says at a desk; answers with what comes next, or what is wrong where."""
        visit = self._visit(_Call.model_validate(call))
        answer, page = desk_judged(visit, self.desk.reader, self.writer, call)
        return {**answer, **(_answer(page) if page else {})}

    def judge(self, call: Mapping[str, Any]) -> Answer:
        """Save what is said of an example or a draft; answers with the next page, or what is wrong where."""
        visit = self._visit(_Call.model_validate(call))
        answer, page = judged(visit, self.desk.reader, self.writer, call)
        return {**answer, **(_answer(page) if page else {})}

    def progress(self) -> Answer:
        """Return where the runs stand, for a page that waits."""
        return {
            card.run.id: {
                "done": card.progress.done,
                "planned": card.progress.planned,
                "running": card.progress.running,
                "failed": card.progress.failed,
            }
            for card in self.desk.cards()
        }

    def _visit(self, asked: _Call) -> Visit:
        return Visit(strings(asked.language), Address.read(asked.path, asked.query))

    def _page(self, visit: Visit) -> Page:
        at = visit.at
        if at.path == DATA:
            return data_page(visit)
        if at.path == DESK:
            return desk_page(visit, self.desk.reader)
        if at.path == ASKING:
            return asking_page(visit, self.desk)
        if at.path == CONSOLIDATE:
            return consolidation_place(visit, self.desk)
        if at.path == REVIEW:
            return self._review(visit)
        return self._run(visit)

    def _run(self, visit: Visit) -> Page:
        """Return the part of a run that the address names: its benchmark's own, or the common one."""
        reader, tab = self.desk.reader, visit.at.tab
        card = with_parts(self.desk.card(reader.run(visit.at.run)), reader)
        for part in parts_of(card.run, reader):
            if part.name == tab:
                return part_page(visit, card, self.kept, part)
        return browse_page(visit, card, self.kept)

    def _review(self, visit: Visit) -> Page:
        at = visit.at
        if at.run and at.tab == "agreement":
            return agreement_page(visit, self.desk.run_data(at.run))
        if not at.run or not at.reviewer:
            cards = [card for card in self.desk.cards() if card.run.benchmark == BENCHMARK]
            return start_page(visit, [card for card in cards if card.progress.done])
        checked_name(at.reviewer)
        reviewable = self._reviewable(at.run)
        judgments = self.desk.reader.judgments(run_id=at.run, annotator=at.reviewer)
        episode = at.episode or next_unreviewed(reviewable, read_reviews(judgments), at.reviewer)
        if episode is None:
            return all_done_page(visit, len(reviewable))
        return self._marking(visit, self.desk.dialogue(episode, reviewing=True))

    def _marking(self, visit: Visit, dialogue: Dialogue) -> Page:
        reader, reviewer = self.desk.reader, visit.at.reviewer
        own = reader.judgments(episode_id=dialogue.episode_id, annotator=reviewer)
        finished = read_reviews(
            reader.judgments(run_id=dialogue.run_id, annotator=reviewer, kind=DONE)
        ).values()
        done = sum(review.done for review in finished)
        return marking_page(visit, dialogue, own, done, len(self._reviewable(dialogue.run_id)))

    def _reviewable(self, run_id: str) -> list[str]:
        endings = self.desk.reader.endings(run_id)
        episodes = self.desk.reader.episodes(run_id, latest=True)
        return [
            episode.id
            for episode in episodes
            if episode.id in endings and endings[episode.id].status in ENDED
        ]

    def _row(self, asked: MarkCall, visit: Visit, dialogue: Dialogue) -> Judgment:
        reviewer = checked_name(visit.at.reviewer)
        pen, episode, replay = Pen(reviewer, asked.key), dialogue.episode_id, dialogue.replay
        makers: dict[str, Callable[[], Judgment]] = {
            "provider": lambda: mark_provider(
                pen,
                episode,
                replay,
                -1 if asked.turn is None else asked.turn,
                ProviderMark(asked.type, asked.node, asked.hallucination),
            ),
            "failure": lambda: mark_failure(pen, episode, replay, asked.node or "", asked.failure),
            "success": lambda: mark_success(pen, episode, asked.yes),
            "note": lambda: write_note(pen, episode, replay, asked.text, asked.turn),
            "done": lambda: finish(
                pen,
                episode,
                replay,
                read_review(self.desk.reader.judgments(episode_id=episode), reviewer),
                done=asked.yes,
            ),
        }
        return makers[asked.what]()


def _answer(page: Page) -> Answer:
    return {
        "html": page.html,
        "figures": {figure.id: figure.plotly for figure in page.figures},
        "live": page.live,
        "more": page.more,
    }
