"""The trials of logged runs, one record each (spec section 15), and the same as JSON lines."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any, Final
from uuid import uuid4

from pydantic import ValidationError

from logs import LogReader, Played
from logs.rows import Ending, Episode, Turn
from simulator.ambibench.aws import AwsPrompt
from simulator.ambibench.coding import KIND, settled
from simulator.ambibench.labels import MODES, Mode, Tie
from simulator.ambibench.oracle import Belief, beliefs
from simulator.ambibench.playing import PARTICIPANT
from simulator.ambibench.prompt import Prompt
from simulator.ambibench.reporting.record import ActorKind, Shown, TrialRecord, scored
from simulator.ambibench.rows import BENCHMARK, item_from_row
from simulator.ambibench.trials import Item, Trial, trials
from simulator.errors import InputError

PERSON: Final = "person"
ENDED: Final = ("completed", "truncated")
_ORACLE: Final = "offline/oracle"


@dataclass(frozen=True, slots=True)
class _Asked:
    """An item with what is the same however often it is played."""

    item: Item
    trials: Mapping[int, Trial]
    beliefs: tuple[Belief, ...]
    fields: Mapping[str, Any]


def trials_of_runs(
    reader: LogReader, runs: Iterable[str], mode: Mode | None = None, tie: Tie | None = None
) -> tuple[TrialRecord, ...]:
    """Every answer of some runs, scored from what was logged.

    Of models the episodes that have ended; of people all that hold an answer, for those who leave early are
    flagged, not dropped (spec section 10). They come in the order of prompts and repeats, not of time.

    Args:
        reader: of the log.
        runs: names of runs.
        mode: how tables of probabilities are read; None: as each run says.
        tie: what a tie counts; None: as each run says.

    Raises:
        InputError: if one is a run of another benchmark.
        NotInLog: if there is no such run.
    """
    return tuple(record for run in dict.fromkeys(runs) for record in _of_run(reader, run, mode, tie))


def _of_run(reader: LogReader, run_id: str, mode: Mode | None, tie: Tie | None) -> Iterator[TrialRecord]:
    run = reader.run(run_id)
    if run.benchmark != BENCHMARK:
        raise InputError(f"{run_id} is a run of {run.benchmark}, not of {BENCHMARK}.")
    asked = {row.hash: _asked(item_from_row(row)) for row in reader.items(run_id)}
    endings = reader.endings(run_id)
    categories = settled(reader.judgments(run_id=run_id, kind=KIND))
    of_run = {"run_id": run_id, "software_version": run.config.get("software_version")}
    played = [one for one in reader.turns_of_run(run_id) if _counts(one, endings.get(one.episode.id))]
    for one in sorted(played, key=lambda one: _place(one.episode, asked[one.episode.item_hash].item)):
        yield from _of_episode(one, asked[one.episode.item_hash], of_run, categories, mode, tie)


def _counts(played: Played, ending: Ending | None) -> bool:
    if played.episode.seats.get(PARTICIPANT) == PERSON:
        return ending is None or ending.status != "failed"
    return ending is not None and ending.status in ENDED


def _place(episode: Episode, item: Item) -> tuple[str, int, str]:
    return item.id, episode.repeat, episode.id


def _of_episode(
    played: Played,
    asked: _Asked,
    of_run: Mapping[str, Any],
    categories: Mapping[str, str],
    mode: Mode | None,
    tie: Tie | None,
) -> Iterator[TrialRecord]:
    episode = played.episode
    of_episode = {**of_run, **_actor(episode), **_session(played)}
    before: str | list[Shown] | None = None
    for turn in played.turns:
        kind = turn.payload.get("kind")
        if kind not in ("answer", "text"):
            continue
        if kind == "answer":
            fields = _label_fields(asked, turn, before)
        else:
            fields = _text_fields(asked, turn, categories.get(episode.id))
        before = fields["trial_id"]
        record = TrialRecord(**{**asked.fields, **of_episode, **_turn_fields(turn), **fields})
        noted = turn.payload.get("score_mode")
        yield scored(
            record,
            mode or (noted if noted in MODES else "strip"),
            tie or turn.payload.get("tie_rule", "wrong"),
        )


def _actor(episode: Episode) -> dict[str, Any]:
    name = episode.seats[PARTICIPANT]
    if name == PERSON:
        return {"actor_kind": "human", "actor_id": episode.participant_id or f"anonymous/{episode.id}"}
    kind: ActorKind = "oracle" if name.partition(":")[0] == _ORACLE else "model"
    return {"actor_kind": kind, "actor_id": name}


def _session(played: Played) -> dict[str, Any]:
    fields: dict[str, Any] = {"repeat": played.episode.repeat}
    if played.episode.seats[PARTICIPANT] != PERSON:
        return fields
    said = {turn.payload.get("kind"): turn.text for turn in played.turns}
    return {
        **fields,
        "session_id": played.episode.id,
        "consent": None if "consent" not in said else said["consent"].strip().lower() == "yes",
        "comment": said.get("comment"),
    }


def _turn_fields(turn: Turn) -> dict[str, Any]:
    return {
        "created_at": turn.created_at,
        "answered_at": turn.created_at,
        "shown_at": turn.payload.get("shown_at"),
        "keys_used": turn.payload.get("keys_used"),
        "rt_ms": None if turn.seconds is None else round(1000 * turn.seconds),
        "decoding": turn.payload.get("decoding"),
        "raw_answer": turn.payload.get("raw_answer", turn.text),
    }


def _label_fields(asked: _Asked, turn: Turn, before: str | list[Shown] | None) -> dict[str, Any]:
    item, k = asked.item, turn.payload["k"]
    assert isinstance(item, Prompt)
    example, belief = item.examples[k - 1], asked.beliefs[k - 1]
    text = asked.trials[k].text
    return {
        "trial_id": f"{turn.episode_id}:{k}",
        "k": k,
        "sentence": example.sentence,
        "feature_a": example.a,
        "feature_b": example.b,
        "gold": example.label,
        "history": before or _seen(item, k - 1),
        "prompt_text": text,
        "prompt_sha256": sha256(text.encode()).hexdigest(),
        "top_logprobs": turn.payload.get("table"),
        "oracle_p": belief.p_gold,
        "oracle_identified": belief.identified,
    }


def _text_fields(asked: _Asked, turn: Turn, category: str | None) -> dict[str, Any]:
    item, text = asked.item, asked.trials[1].text
    fields = {
        "trial_id": f"{turn.episode_id}:{turn.number}",
        "prompt_text": text,
        "prompt_sha256": sha256(text.encode()).hexdigest(),
        "category": category,
    }
    if isinstance(item, Prompt):
        return {**fields, "history": _seen(item, len(item.examples))}
    lines = text.splitlines()
    seen = [Shown(sentence=lines[at], label=lines[at + 1]) for at in range(1, len(lines) - 2, 2)]
    return {**fields, "history": seen, "sentence": lines[-2]}


def _seen(item: Prompt, count: int) -> list[Shown]:
    return [Shown(sentence=one.sentence, label=one.label) for one in item.examples[:count]]


def _asked(item: Item) -> _Asked:
    by_k = {trial.k: trial for trial in trials(item)}
    if isinstance(item, AwsPrompt):
        return _Asked(item, by_k, (), _aws_fields(item))
    return _Asked(item, by_k, beliefs(item), _prompt_fields(item))


def _prompt_fields(item: Prompt) -> dict[str, Any]:
    return {
        "setting": item.setting,
        "fold": item.fold,
        "ft_variant": item.variant,
        "prompt_id": item.id,
        "seed": item.seed,
        "pair": item.pair,
        "salient_feature": item.salient,
        "polarity": item.hypothesis.value,
        "format": item.format,
        "instruction_kind": item.kind,
        "instruction": item.instruction,
        "n_examples": len(item.examples),
    }


def _aws_fields(item: AwsPrompt) -> dict[str, Any]:
    return {
        "setting": "aws",
        "prompt_id": item.id,
        "seed": item.seed,
        "origin": item.origin,
        "second_name": item.followup,
        "n_examples": len(item.examples),
        "instruction": item.text.partition("\n")[0],
    }


def write_trials(path: Path, records: Iterable[TrialRecord]) -> int:
    """Write one JSON object per line, every field in it; the file appears whole or not at all.

    Returns:
        How many trials it holds.

    Raises:
        InputError: if it cannot be written.
    """
    lines = [record.model_dump_json() + "\n" for record in records]
    draft = path.with_name(f".{path.name}.{uuid4().hex}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        draft.write_text("".join(lines), encoding="utf-8")
        os.replace(draft, path)
    except OSError as error:
        draft.unlink(missing_ok=True)
        raise InputError(f"{path}: cannot be written ({error.strerror}).") from error
    return len(lines)


def read_trials(path: Path) -> tuple[TrialRecord, ...]:
    """Trials out of such a file, whoever made it; fields that a report can do without may be missing.

    A trial without a run is of the run that the file is called.

    Raises:
        InputError: if the file cannot be read or a line is no trial; names file, line and field.
    """
    try:
        # Not splitlines: people's comments may hold what Unicode calls a line separator.
        lines = path.read_text(encoding="utf-8-sig").split("\n")
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror}).") from error
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: is not UTF-8 text ({error}).") from error
    found = tuple(
        _read(line, f"{path}, line {number}", path.stem)
        for number, line in enumerate(lines, start=1)
        if line.strip()
    )
    if not found:
        raise InputError(f"{path}: holds no trials; it must be JSON lines, one object per trial.")
    return found


def _read(line: str, place: str, run: str) -> TrialRecord:
    try:
        fields = json.loads(line)
    except json.JSONDecodeError as error:
        raise InputError(f"{place}: is not JSON ({error.msg}, column {error.colno}).") from error
    if not isinstance(fields, dict):
        raise InputError(f"{place}: must be a JSON object, one trial.")
    try:
        return TrialRecord.model_validate({"run_id": run, **fields})
    except ValidationError as error:
        raise InputError(f"{place}: {_told(error)}.") from error


def _told(error: ValidationError) -> str:
    first = error.errors()[0]
    where = ".".join(map(str, first["loc"]))
    said = first["msg"].removeprefix("Value error, ")
    said = said[:1].lower() + said[1:]
    return f"the field {where!r}: {said}" if where else said
