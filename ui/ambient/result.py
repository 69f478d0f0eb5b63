"""The page of an episode that has ended: what was said beside what the dataset says, and what was hidden."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import cast

from simulator.ambient.examples import Disambiguation
from simulator.ambient.labels import SIDES, Label, Side
from simulator.ambient.views import ParticipantView, Replay, ReplayCandidate
from simulator.word_diff import Piece, word_diff
from ui.ambient.stages import SHOWN, steps
from ui.i18n import Strings
from ui.render.frame import Frame, RoomLink
from ui.study.pages import Here, session_page


@dataclass(frozen=True, slots=True)
class Candidate:
    """A candidate with what was hidden and answered; `pieces` are its sentence against the ambiguous one."""

    given: ReplayCandidate
    pieces: tuple[Piece, ...]


@dataclass(frozen=True, slots=True)
class Rewrite:
    """The pair rewritten for one reading: the sides that differ from the original, in pieces."""

    label: Label
    sides: tuple[tuple[Side, tuple[Piece, ...]], ...]


@dataclass(frozen=True, slots=True)
class Story:
    """A replay, made ready to be shown.

    Attributes:
        heading: the result in a line.
        lead: and in a sentence.
        gold: the labels of the dataset, in the order of the pages.
        said: the participant's labels of the original pair.
        sentence: the ambiguous one, if one alone is.
        mine: the participant's rewrites.
        theirs: those of the dataset.
    """

    replay: Replay
    heading: str
    lead: str
    gold: tuple[Label, ...]
    said: tuple[Label, ...]
    sentence: str
    candidates: tuple[Candidate, ...]
    mine: tuple[Rewrite, ...]
    theirs: tuple[Rewrite, ...]

    @property
    def good(self) -> bool:
        """Whether everything said agrees with the dataset."""
        return self.replay.correct is not None and self.replay.correct == self.replay.of


def end_page(frame: Frame, link: RoomLink, here: Here, replay: Replay | None) -> str:
    """Return the last page: in a study thanks, the next set or the code; in free play the result; or both."""
    view = cast(ParticipantView, here.view)
    replayed = story(frame.texts, replay) if replay is not None else None
    return session_page("ambient/done", frame, link, here, steps(view), story=replayed)


def story(texts: Strings, replay: Replay) -> Story:
    """Return a replay in words and pieces."""
    form = replay.annotation
    chosen = form.labels if form is not None else [replay.label] if replay.label else []
    sentence = _sentence(replay)
    return Story(
        replay,
        _heading(texts, replay),
        _lead(texts, replay),
        tuple(label for label in SHOWN if label in replay.gold),
        tuple(label for label in SHOWN if label in chosen),
        sentence,
        tuple(
            Candidate(candidate, word_diff(sentence, candidate.sentence)) for candidate in replay.candidates
        ),
        tuple(_rewrites(replay, form.rewrites if form is not None else ())),
        tuple(_rewrites(replay, replay.disambiguations)),
    )


def _sentence(replay: Replay) -> str:
    if replay.side is None:
        return ""
    return replay.premise if replay.side == "premise" else replay.hypothesis


def _heading(texts: Strings, replay: Replay) -> str:
    form = replay.annotation
    if form is not None:
        verdict = "unknown" if replay.correct is None else "same" if replay.correct else "other"
        name = "discarded" if form.discard else verdict
        return texts(f"ambient.result.annotate_{name}")
    name = "true_false" if replay.task == "true_false" else "crowd"
    return texts(f"ambient.result.{name}_score", correct=replay.correct, of=replay.of)


def _lead(texts: Strings, replay: Replay) -> str:
    if replay.annotation is not None or replay.task == "true_false" or replay.side is None:
        name = "true_false" if replay.task == "true_false" else "annotate"
        return texts(f"ambient.result.{name}_lead")
    count = sum(candidate.label is not None for candidate in replay.candidates)
    side = texts(f"ambient.side.{replay.side}").lower()
    return texts("ambient.result.crowd_lead", side=side, count=count)


def _rewrites(replay: Replay, readings: Iterable[Disambiguation]) -> Iterable[Rewrite]:
    originals: dict[Side, str] = {"premise": replay.premise, "hypothesis": replay.hypothesis}
    for reading in readings:
        changed = [side for side in SIDES if reading.sentence(side) != originals[side]]
        yield Rewrite(
            reading.label,
            tuple((side, word_diff(originals[side], reading.sentence(side))) for side in changed),
        )
