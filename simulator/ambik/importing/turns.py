"""The lines of an episode as its turns: the inverse of `log_lines` (spec 13).

What was stored stays as it was; where it is not what comes out when a set is made anew, that is told.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from logs.rows import Turn, now
from simulator.ambik.files.decisions import AnswerLine, DecisionLine
from simulator.ambik.files.fields import METRICS, PERSON
from simulator.ambik.importing.sources import ImportedEpisode
from simulator.ambik.payloads import PRIVATE, calibrated, decided
from simulator.ambik.playing import ROBOT, USER, Options
from simulator.ambik.score import Values
from simulator.ambik.sets.predicting import prepared
from simulator.forms import YES
from simulator.studies.graph import CONSENT, READY

_CLOSE: Final = 1e-9
_FRONT: Final = ((CONSENT.kind, YES), (READY.kind, READY.kind))
"""What comes before a person's first decision in a study."""


def turns_of(
    episode: ImportedEpisode, episode_id: str, options: Options
) -> tuple[tuple[Turn, ...], tuple[str, ...]]:
    """Return an episode's turns, and stored values that are not those that come out, a sentence each.

    Raises:
        InputError: if a decision cannot be read.
    """
    turns: list[Turn] = []
    differences: list[str] = []

    def add(seat: str, text: str, payload: dict[str, Any], seconds: float | None, time: str) -> None:
        turns.append(
            Turn(
                episode_id=episode_id,
                number=len(turns),
                seat=seat,
                text=text,
                payload=payload,
                seconds=seconds,
                created_at=time or now(),
            )
        )

    first = episode.first
    if first.decision.method == PERSON and 0 < first.turn <= len(_FRONT):
        # What was said before, lines do not tell but by the number of the first decision.
        for kind, text in _FRONT[-first.turn :]:
            add(
                ROBOT,
                text,
                {"kind": kind, **_person(kind)},
                None,
                first.details.shown_at or first.details.made_at,
            )
    answers = iter(episode.answers)
    for line in episode.lines:
        payload, stored = _decided(line, options)
        differences += stored
        asked, details = len(turns), line.details
        text = details.typed_text or payload["question"] or payload["action"]
        add(ROBOT, text, payload, details.seconds, details.made_at)
        if line.decision.answer:
            answer = next(answers, None)
            details = answer.details if answer else details
            payload = _answer(asked, line, answer)
            add(USER, line.decision.answer, payload, details.seconds if answer else None, details.made_at)
    return tuple(turns), tuple(differences)


def _decided(line: DecisionLine, options: Options) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Return a decision's payload, and what of it was stored otherwise than it comes out."""
    decision, details = line.decision, line.details
    rules = options.model_copy(update={"settings": line.settings})
    ready = prepared(decision, rules.settings)
    made = decided(ready, calibrated(ready, rules), rules, must_act=False)
    differences: list[str] = []
    if not line.calibrates:
        # Where it could not be answered, its set says whether it asked.
        asks = made["help"] if decision.asked is None else decision.asked
        predicted = None if details.prediction_set is None else list(details.prediction_set)
        stored: dict[str, Any] = {"prediction_set": predicted, "help": details.help}
        stored = {name: value for name, value in stored.items() if value is not None}
        differences = [
            _differs(line, name, value, made[name]) for name, value in stored.items() if value != made[name]
        ]
        made |= {**stored, "asks": asks, "question": decision.question if asks else ""}
    if decision.method == PERSON:
        made |= {"generator": PERSON, "offered": list(details.offered), "shown_at": details.shown_at}
        made |= _person("decide")
    return made | ({"decoding": dict(details.decoding)} if details.decoding else {}), tuple(differences)


def _answer(asked: int, line: DecisionLine, answer: AnswerLine | None) -> dict[str, Any]:
    payload: dict[str, Any] = {"kind": "answer", "asked": asked}
    if line.decision.method != PERSON:
        payload["question"] = line.decision.question
    if answer is not None:
        payload |= {**_person("answer"), "shown_at": answer.details.shown_at}
    return payload


def _person(kind: str) -> dict[str, Any]:
    return {"person": True, "private": list(PRIVATE.get(kind, ()))}


def differing_scores(first: DecisionLine, metrics: Values) -> Iterator[str]:
    """Yield metrics that were stored otherwise than they come out; of the first decision, which is scored."""
    for name in METRICS:
        if name in first.details.scores and name in metrics:
            stored, value = first.details.scores[name], metrics[name]
            if stored != value and (stored is None or value is None or abs(stored - value) > _CLOSE):
                yield _differs(first, name, stored, value)


def _differs(line: DecisionLine, name: str, stored: Any, value: Any) -> str:
    return f"line {line.number}: {name} is stored as {_said(stored)}, but comes out as {_said(value)}"


def _said(value: Any) -> str:
    if value is None:
        return "nothing"
    return f"{value:g}" if isinstance(value, float) else str(value)
