"""The turns of an imported episode; stored values are kept, and reported if recomputation differs."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Final

from logs.rows import Episode as EpisodeRow
from logs.rows import Turn, now
from simulator.ambik.files.decisions import AnswerLine, DecisionLine
from simulator.ambik.files.fields import METRICS, PERSON
from simulator.ambik.import_sources import Batch, ImportedEpisode
from simulator.ambik.items import LANGUAGE, item_row
from simulator.ambik.payloads import act_or_ask, person_mark, score_candidates
from simulator.ambik.playing import ROBOT, USER, Options
from simulator.ambik.predicting import prepare
from simulator.ambik.score import Values, score_rows
from simulator.forms import YES
from simulator.studies.graph import CONSENT, READY
from simulator.tables.importing import DIGEST, PUBLISHED, EpisodeRows

Json = dict[str, Any]
_CLOSE: Final = 1e-9
_PSEUDONYM: Final = re.compile(r"p[a-z2-7]{20}")
_OPENING: Final = ((CONSENT.kind, YES), (READY.kind, READY.kind))
"""The turns before a person's first decision in a study: consent and readiness."""


def episode_rows(
    episode: ImportedEpisode, batch: Batch, person: str | None
) -> tuple[EpisodeRows, tuple[str, ...]]:
    """Return an episode's rows for the log, and a sentence for each stored value that differs."""
    # The file's name for the episode, under the new name of the run.
    id = f"{batch.run}/{episode.id.removeprefix(f'{episode.first.decision.run}/')}"
    item = item_row(episode.first.decision.item)
    options = {**batch.options, "questions": episode.questions}
    turns, differences = _turns(episode, id, Options.read(options))
    last = turns[-1].payload
    unanswered = last["kind"] == "decide" and last["asks"] and episode.questions > 0
    row = EpisodeRow(
        id=id,
        run_id=batch.run,
        item_hash=item.hash,
        language=LANGUAGE,
        seats=seats_of_episode(episode),
        seed=episode.first.details.seed,
        participant_id=person,
        options=options,
    )
    scores = score_rows(id, episode.first.decision.item, turns)
    metrics = {score.metric: score.value for score in scores}
    rows = EpisodeRows(row, item, turns, scores, "truncated" if unanswered else "completed")
    return rows, (*differences, *_differing_scores(episode.first, metrics))


def pseudonym_of(episode: ImportedEpisode, batch: Batch) -> str | None:
    """Return the player's pseudonym; one from a log is kept, any other name is made unique to the file."""
    actor = episode.actor
    if not actor or _PSEUDONYM.fullmatch(actor):
        return actor or None
    return f"{actor}-{batch.source.digest[:DIGEST]}"


def seats_of_episode(episode: ImportedEpisode) -> dict[str, str]:
    """Return the players by seat, according to the lines."""
    decision, fields = episode.first.decision, episode.first.fields
    robot = PERSON if decision.method == PERSON else fields.robot or decision.generator or PUBLISHED
    user = fields.user or (PERSON if episode.answers else "")
    return {ROBOT: robot, **({USER: user} if user else {})}


def _turns(
    episode: ImportedEpisode, episode_id: str, options: Options
) -> tuple[tuple[Turn, ...], tuple[str, ...]]:
    """Return an episode's turns, and a sentence for each stored value that differs if recomputed."""
    turns: list[Turn] = []
    differences: list[str] = []

    def add(seat: str, text: str, payload: Json, time: str, seconds: float | None = None) -> None:
        turn = Turn(episode_id=episode_id, number=len(turns), seat=seat, text=text, payload=payload)
        turns.append(replace(turn, seconds=seconds, created_at=time or now()))

    first, answers = episode.first, iter(episode.answers)
    if first.decision.method == PERSON and 0 < first.fields.turn <= len(_OPENING):
        # The opening turns are not in the file; the number of the first decision tells how many there were.
        for kind, text in _OPENING[-first.fields.turn :]:
            shown = first.details.shown_at or first.details.made_at
            add(ROBOT, text, {"kind": kind, **person_mark(kind)}, shown)
    for line in episode.lines:
        payload, stored = _decision_payload(line, options)
        differences += stored
        asked, details = len(turns), line.details
        text = details.typed_text or payload["question"] or payload["action"]
        add(ROBOT, text, payload, details.made_at, details.seconds)
        if line.decision.answer:
            answer = next(answers, None)
            made_at = answer.details.made_at if answer else details.made_at
            seconds = answer.details.seconds if answer else None
            add(USER, line.decision.answer, _answer(asked, line, answer), made_at, seconds)
    return tuple(turns), tuple(differences)


def _decision_payload(line: DecisionLine, options: Options) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Return a decision's payload, and a sentence for each stored value that differs."""
    decision, details = line.decision, line.details
    rules = options.model_copy(update={"settings": line.settings})
    ready = prepare(decision, rules.settings)
    made = act_or_ask(ready, score_candidates(ready, rules), rules, must_act=False)
    differences: tuple[str, ...] = ()
    if not line.calibrates:
        # If no question could be answered, the set decides whether the robot asked.
        asks = made["help"] if decision.asked is None else decision.asked
        predicted = None if details.prediction_set is None else list(details.prediction_set)
        stored: dict[str, Any] = {"prediction_set": predicted, "help": details.help}
        stored = {name: value for name, value in stored.items() if value is not None}
        differences = tuple(
            _describe_difference(line, name, value, made[name])
            for name, value in stored.items()
            if value != made[name]
        )
        made |= {**stored, "asks": asks, "question": decision.question if asks else ""}
    if decision.method == PERSON:
        made |= {"generator": PERSON, "offered": list(details.offered), "shown_at": details.shown_at}
        made |= person_mark("decide")
    return made | ({"decoding": dict(details.decoding)} if details.decoding else {}), differences


def _answer(asked: int, line: DecisionLine, answer: AnswerLine | None) -> dict[str, Any]:
    payload: dict[str, Any] = {"kind": "answer", "asked": asked}
    if line.decision.method != PERSON:
        payload["question"] = line.decision.question
    if answer is not None:
        payload |= {**person_mark("answer"), "shown_at": answer.details.shown_at}
    return payload


def _differing_scores(first: DecisionLine, metrics: Values) -> Iterator[str]:
    """Yield a sentence for each stored metric of the first decision, the scored one, that differs."""
    for name in METRICS:
        if name in first.details.scores and name in metrics:
            stored, value = first.details.scores[name], metrics[name]
            if stored != value and (stored is None or value is None or abs(stored - value) > _CLOSE):
                yield _describe_difference(first, name, stored, value)


def _describe_difference(line: DecisionLine, name: str, stored: Any, value: Any) -> str:
    return f"line {line.number}: {name} is stored as {_quote(stored)} but recomputed as {_quote(value)}"


def _quote(value: Any) -> str:
    if value is None:
        return "nothing"
    return f"{value:g}" if isinstance(value, float) else str(value)
