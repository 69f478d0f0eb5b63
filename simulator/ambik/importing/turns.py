"""The lines of an episode as its turns: the inverse of `log_lines` (spec 13).

What was stored stays as it was; where it is not what comes out when a set is made anew, that is told.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from logs.rows import Status, Turn, now
from simulator.ambik.files.decisions import METRICS, PERSON, AnswerLine, DecisionLine
from simulator.ambik.importing.batches import ImportedEpisode
from simulator.ambik.payloads import PRIVATE, decided
from simulator.ambik.playing import ROBOT, USER, Options
from simulator.ambik.score import Values, values
from simulator.forms import YES
from simulator.studies.graph import CONSENT, READY

_FRONT: Final = ((CONSENT.kind, YES), (READY.kind, READY.kind))
"""What comes before a person's first decision in a study."""
_CLOSE: Final = 1e-9


@dataclass(frozen=True, slots=True)
class Episode:
    """What is logged of an episode.

    Attributes:
        turns: in order.
        status: ``truncated`` where a question was never answered.
        scores: of the turns.
        differences: stored values that are not those that come out, a sentence each.
    """

    turns: tuple[Turn, ...]
    status: Status
    scores: Values
    differences: tuple[str, ...]


def episode_of(sitting: ImportedEpisode, episode_id: str, options: Options) -> Episode:
    """Return an episode out of its lines.

    Args:
        sitting: the lines.
        episode_id: how it is called in the log.
        options: of the run; the threshold among them, unless it is a calibration.

    Raises:
        InputError: if a decision cannot be scored.
    """
    turns = list(_front(sitting, episode_id))
    differences: list[str] = []
    answers = iter(sitting.answers)
    for line in sitting.lines:
        payload, stored = _decided(line, options)
        differences += stored
        asked = len(turns)
        turns.append(_turn(episode_id, asked, line, payload))
        if line.decision.answer:
            turns.append(_answer(episode_id, asked, line, next(answers, None)))
    last = turns[-1].payload
    unanswered = last["kind"] == "decide" and last["asks"] and options.questions > 0
    scores = values(sitting.first.decision.item, turns)
    return Episode(
        turns=tuple(turns),
        status="truncated" if unanswered else "completed",
        scores=scores,
        differences=(*differences, *_scored(sitting.lines[0], scores)),
    )


def _front(sitting: ImportedEpisode, episode_id: str) -> Iterator[Turn]:
    """What a person has said before, which lines do not tell but by the number of the first decision."""
    first = sitting.lines[0]
    if first.decision.method == PERSON and 0 < first.turn <= len(_FRONT):
        for number, (kind, text) in enumerate(_FRONT[-first.turn :]):
            payload: dict[str, Any] = {"kind": kind, **_person(kind)}
            yield Turn(
                episode_id=episode_id,
                number=number,
                seat=ROBOT,
                text=text,
                payload=payload,
                created_at=first.details.shown_at or first.details.made_at or now(),
            )


def _decided(line: DecisionLine, options: Options) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Return a decision's payload, and what of it was stored otherwise than it comes out."""
    decision, details = line.decision, line.details
    made = decided(decision, options.model_copy(update={"settings": line.settings}), must_act=False)
    differences: list[str] = []
    if not line.calibrates:
        asks = decision.asked
        if asks is None:  # it could not be answered, so that a set says it
            asks = made["help"]
        stored: dict[str, Any] = {
            "prediction_set": details.prediction_set and list(details.prediction_set),
            "help": details.help,
        }
        stored = {name: value for name, value in stored.items() if value is not None}
        differences = [
            f"line {line.number}: {name} is stored as {_said(value)}, but comes out as {_said(made[name])}"
            for name, value in stored.items()
            if value != made[name]
        ]
        made |= {**stored, "asks": asks, "question": decision.question if asks else ""}
    if decision.method == PERSON:
        made |= {"generator": PERSON, "offered": list(details.offered), "shown_at": details.shown_at}
        made |= _person("decide")
    return made | ({"decoding": dict(details.decoding)} if details.decoding else {}), tuple(differences)


def _turn(episode_id: str, number: int, line: DecisionLine, payload: Mapping[str, Any]) -> Turn:
    return Turn(
        episode_id=episode_id,
        number=number,
        seat=ROBOT,
        text=line.details.typed_text or payload["question"] or payload["action"],
        payload=dict(payload),
        seconds=line.details.seconds,
        created_at=line.details.made_at or now(),
    )


def _answer(episode_id: str, asked: int, line: DecisionLine, answer: AnswerLine | None) -> Turn:
    payload: dict[str, Any] = {"kind": "answer", "asked": asked}
    if line.decision.method != PERSON:
        payload["question"] = line.decision.question
    if answer is not None:
        payload |= {**_person("answer"), "shown_at": answer.details.shown_at}
    return Turn(
        episode_id=episode_id,
        number=asked + 1,
        seat=USER,
        text=line.decision.answer,
        payload=payload,
        seconds=None if answer is None else answer.details.seconds,
        created_at=(answer or line).details.made_at or now(),
    )


def _person(kind: str) -> dict[str, Any]:
    return {"person": True, "private": list(PRIVATE.get(kind, ()))}


def _scored(first: DecisionLine, values: Values) -> Iterator[str]:
    """Metrics that were stored otherwise than they come out; of the first decision, which is scored."""
    for name in METRICS:
        if name not in first.details.scores or name not in values:
            continue
        then, now_ = first.details.scores[name], values[name]
        if then != now_ and (then is None or now_ is None or abs(then - now_) > _CLOSE):
            yield f"line {first.number}: {name} is stored as {_said(then)}, but comes out as {_said(now_)}"


def _said(value: Any) -> str:
    if value is None:
        return "nothing"
    return f"{value:g}" if isinstance(value, float) else str(value)
