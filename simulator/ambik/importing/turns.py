"""The lines of an episode as its turns: the inverse of `log_lines` (spec 13).

What was stored stays as it was; where it is not what comes out when a set is made anew, that is told.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from logs.rows import Status, Turn, now
from simulator.ambik.importing.batches import Sitting
from simulator.ambik.importing.lines import METRICS, PERSON, Answered, Logged
from simulator.ambik.payloads import PRIVATE, decided
from simulator.ambik.playing import ROBOT, USER, Kind, Options
from simulator.ambik.score import Values, values
from simulator.forms import YES

_FRONT: Final[tuple[tuple[Kind, str], ...]] = (("consent", YES), ("ready", "ready"))
"""What comes before a person's first decision (`playing`)."""
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


def episode_of(sitting: Sitting, episode_id: str, options: Options) -> Episode:
    """An episode out of its lines.

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
    for one in sitting.lines:
        payload, told = _decided(one, options)
        differences += told
        asked = len(turns)
        turns.append(_turn(episode_id, asked, ROBOT, one, payload))
        if one.line.decision.answer:
            turns.append(_answer(episode_id, asked, one, next(answers, None)))
    last = turns[-1].payload
    unanswered = last["kind"] == "decide" and last["asks"] and options.questions > 0
    scores = values(sitting.first.decision.item, turns)
    return Episode(
        turns=tuple(turns),
        status="truncated" if unanswered else "completed",
        scores=scores,
        differences=(*differences, *_scored(sitting.lines[0], scores)),
    )


def questions_of(sitting: Sitting) -> int:
    """How many questions could be answered: as the lines say, or else how many were."""
    told = [one.line.questions for one in sitting.lines if one.line.questions is not None]
    return max([*told, sum(bool(one.line.decision.answer) for one in sitting.lines)])


def actor_of(sitting: Sitting) -> str:
    """The person who plays, by the name that the file has; empty if none is named."""
    told = [one.told.actor for one in sitting.every]
    if sitting.first.decision.method == PERSON:
        told += [one.line.decision.generator for one in sitting.lines]
    return next((one for one in told if one and one != PERSON), "")


def _front(sitting: Sitting, episode_id: str) -> Iterator[Turn]:
    """What a person has said before, which lines do not tell but by the number of the first decision."""
    first = sitting.lines[0]
    if first.line.decision.method == PERSON and 0 < first.line.turn <= len(_FRONT):
        for number, (kind, text) in enumerate(_FRONT[-first.line.turn :]):
            payload: dict[str, Any] = {"kind": kind, **_person(kind)}
            yield Turn(
                episode_id=episode_id,
                number=number,
                seat=ROBOT,
                text=text,
                payload=payload,
                created_at=first.told.shown_at or first.told.time or now(),
            )


def _decided(one: Logged, options: Options) -> tuple[dict[str, Any], tuple[str, ...]]:
    """A decision's payload, and what of it was stored otherwise than it comes out."""
    line, told = one.line, one.told
    decision = line.decision
    made = decided(decision, replace(options, settings=line.settings), must_act=False)
    differences: list[str] = []
    if not line.calibrates:
        asks = decision.asked
        if asks is None:  # it could not be answered, so that a set says it
            asks = made["help"]
        stored: dict[str, Any] = {"prediction_set": told.predicted, "help": told.help}
        stored = {name: value for name, value in stored.items() if value is not None}
        differences = [
            f"line {one.number}: {name} is stored as {_said(value)}, but comes out as {_said(made[name])}"
            for name, value in stored.items()
            if value != made[name]
        ]
        made |= {**stored, "asks": asks, "question": decision.question if asks else ""}
    if decision.method == PERSON:
        made |= {"generator": PERSON, "offered": list(told.offered), "shown_at": told.shown_at}
        made |= _person("decide")
    return made | ({"decoding": dict(told.decoding)} if told.decoding else {}), tuple(differences)


def _turn(episode_id: str, number: int, seat: str, one: Logged, payload: Mapping[str, Any]) -> Turn:
    return Turn(
        episode_id=episode_id,
        number=number,
        seat=seat,
        text=one.told.text or payload["question"] or payload["action"],
        payload=dict(payload),
        seconds=one.told.seconds,
        created_at=one.told.time or now(),
    )


def _answer(episode_id: str, asked: int, one: Logged, given: Answered | None) -> Turn:
    payload: dict[str, Any] = {"kind": "answer", "asked": asked}
    if one.line.decision.method != PERSON:
        payload["question"] = one.line.decision.question
    if given is not None:
        payload |= {**_person("answer"), "shown_at": given.told.shown_at}
    return Turn(
        episode_id=episode_id,
        number=asked + 1,
        seat=USER,
        text=one.line.decision.answer,
        payload=payload,
        seconds=None if given is None else given.told.seconds,
        created_at=(given.told.time if given else one.told.time) or now(),
    )


def _person(kind: Kind) -> dict[str, Any]:
    return {"person": True, "private": list(PRIVATE.get(kind, ()))}


def _scored(first: Logged, found: Values) -> Iterator[str]:
    """Metrics that were stored otherwise than they come out; of the first decision, which is scored."""
    for name in METRICS:
        if name not in first.told.scores or name not in found:
            continue
        then, now_ = first.told.scores[name], found[name]
        if then != now_ and (then is None or now_ is None or abs(then - now_) > _CLOSE):
            yield f"line {first.number}: {name} is stored as {_said(then)}, but comes out as {_said(now_)}"


def _said(value: Any) -> str:
    if value is None:
        return "nothing"
    return f"{value:g}" if isinstance(value, float) else str(value)
