"""The trials of logged runs, one record each (spec section 15), and the same as JSON lines."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

from pydantic import ValidationError

from logs import LogReader, Played
from logs.rows import Ending, Episode, Turn
from simulator.ambibench.aws import AwsPrompt, classify
from simulator.ambibench.coding import KIND, settled
from simulator.ambibench.labels import MODES, Mode, Tie
from simulator.ambibench.oracle import beliefs
from simulator.ambibench.prompt import Prompt, asked_text, label_offsets, scored_positions, whole_text
from simulator.ambibench.records import (
    ActorKind,
    Shown,
    TrialRecord,
    finetuned,
    read_fields,
    read_record,
    record_json,
)
from simulator.ambibench.rows import BENCHMARK, item_from_row
from simulator.ambibench.score import NOTHING
from simulator.ambibench.trials import PARTICIPANT, Item, with_silence
from simulator.duplicates import Duplicates, told_once
from simulator.errors import InputError
from simulator.field_faults import first_fault
from simulator.jsonlines import Read
from simulator.runner.logged import ENDED, required_run, seat_failed
from simulator.whole import write_whole

PERSON: Final = "person"
_ORACLE: Final = "offline/oracle"


@dataclass(frozen=True, slots=True)
class _Asked:
    """What is the same of an item however often it is played.

    Attributes:
        fields: of every trial.
        labels: of the trial at each position; of free text at 1.
    """

    item: Item
    fields: Mapping[str, Any]
    labels: Mapping[int, Mapping[str, Any]]


def trials_of_runs(
    reader: LogReader,
    runs: Iterable[str],
    mode: Mode | None = None,
    tie: Tie | None = None,
    *,
    exclude_aborted: bool = False,
) -> tuple[TrialRecord, ...]:
    """Return every answer of some runs, scored from what was logged.

    Of models the episodes that have ended, and those that a failing seat aborted, whose missing answers are
    empty ones (`silence`); of people all that hold an answer, for those who leave early are
    flagged, not dropped (spec section 10). Who has withdrawn is in none of them.
    Trials come in the order of prompts and repeats, not of time.

    Args:
        reader: of the log.
        runs: names of runs.
        mode: how tables of probabilities are read; None: as each run says.
        tie: what a tie counts; None: as each run says.
        exclude_aborted: leave out what a failing seat aborted.

    Raises:
        InputError: if one is a run of another benchmark.
        NotInLog: if there is no such run.
    """
    asked: dict[str, _Asked] = {}
    return tuple(
        record
        for run in dict.fromkeys(runs)
        for record in _of_run(reader, run, asked, mode, tie, exclude_aborted)
    )


def _of_run(
    reader: LogReader,
    run_id: str,
    asked: dict[str, _Asked],
    mode: Mode | None,
    tie: Tie | None,
    exclude_aborted: bool,
) -> Iterator[TrialRecord]:
    """Yield the trials of a run; `asked` keeps the items for the runs after it."""
    run = required_run(reader, run_id, BENCHMARK)
    for row in reader.items(run_id):
        if row.hash not in asked:
            asked[row.hash] = _asked(item_from_row(row))
    endings = reader.endings(run_id)
    categories = settled(reader.judgments(run_id=run_id, kind=KIND))
    of_run = {"run_id": run_id, "software_version": run.config.get("software_version")}
    gone = reader.erased_participants()
    played = [
        turn
        for turn in reader.turns_of_run(run_id)
        if turn.episode.participant_id not in gone
        and _counts(turn, endings.get(turn.episode.id), exclude_aborted)
    ]
    for one in sorted(played, key=lambda one: _place(one.episode, asked[one.episode.item_hash].item)):
        of, ending = asked[one.episode.item_hash], endings.get(one.episode.id)
        if ending is not None and seat_failed(one.episode, ending):
            one = Played(one.episode, list(with_silence(of.item, one.episode.id, one.turns)))
        yield from _of_episode(one, of, of_run, categories, mode, tie)


def _counts(played: Played, ending: Ending | None, exclude_aborted: bool) -> bool:
    if played.episode.seats.get(PARTICIPANT) == PERSON:
        return ending is None or ending.status != "failed"
    if ending is None:
        return False
    return ending.status in ENDED or (not exclude_aborted and seat_failed(played.episode, ending))


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
    if asked.fields["setting"] == "ft_eval" and (trained := finetuned(of_episode["actor_id"])):
        of_episode["ft_variant"] = trained.variant
    person, before = of_episode["actor_kind"] == "human", None
    for turn in played.turns:
        payload = turn.payload
        if payload.get("kind") not in ("answer", "text"):
            continue
        fields = {
            **asked.fields,
            **of_episode,
            **_turn_fields(turn, person),
            **asked.labels[payload.get("k", 1)],
        }
        if payload["kind"] == "answer":
            noted: Mode = payload["score_mode"] if payload.get("score_mode") in MODES else "strip"
            table = _table(payload.get("table"))
            fields |= {"top_logprobs": table} | read_fields(
                turn.text,
                table,
                fields["gold"],
                person=person,
                mode=mode or noted,
                tie=tie or payload.get("tie_rule", "wrong"),
            )
        elif fields["setting"] == "aws":
            fields["category"] = classify(turn.text)
        else:
            fields["category"] = NOTHING if payload.get("silent") else categories.get(episode.id)
        if before is not None:
            fields["history"] = before
        before = fields["trial_id"] = f"{episode.id}:{payload.get('k', 1)}"
        yield TrialRecord(**fields)


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


def _turn_fields(turn: Turn, person: bool) -> dict[str, Any]:
    fields = {
        "created_at": turn.created_at,
        "decoding": turn.payload.get("decoding"),
        "raw_answer": turn.text,
    }
    if not person:
        return fields
    return {
        **fields,
        "shown_at": turn.payload.get("shown_at"),
        "answered_at": turn.created_at,
        "rt_ms": None if turn.seconds is None else round(1000 * turn.seconds),
        "keys_used": turn.payload.get("keys_used"),
    }


def _table(table: list[list[Any]] | None) -> list[tuple[str, float]] | None:
    return None if table is None else [(token, logprob) for token, logprob in table]


def _label_fields(item: Prompt) -> dict[int, dict[str, Any]]:
    """Of each position that is asked for."""
    text, offsets, thought = whole_text(item), label_offsets(item), beliefs(item)
    found = {}
    for k in scored_positions(item):
        example, belief = item.examples[k - 1], thought[k - 1]
        found[k] = {
            "k": k,
            "sentence": example.sentence,
            "feature_a": example.a,
            "feature_b": example.b,
            "gold": example.label,
            "history": _seen(item, k - 1),
            "oracle_p": belief.p_gold,
            "oracle_identified": belief.identified,
            **_text_fields(text[: offsets[k - 1]].rstrip(" ")),
        }
    return found


def _text_fields(text: str) -> dict[str, Any]:
    return {"prompt_text": text, "prompt_sha256": sha256(text.encode()).hexdigest()}


def _aws_label_fields(item: AwsPrompt) -> dict[str, Any]:
    lines = item.text.splitlines()
    seen = [Shown(sentence=lines[at], label=lines[at + 1]) for at in range(1, len(lines) - 2, 2)]
    return {"history": seen, "sentence": lines[-2], **_text_fields(item.text)}


def _seen(item: Prompt, count: int) -> list[Shown]:
    return [Shown(sentence=one.sentence, label=one.label) for one in item.examples[:count]]


def _asked(item: Item) -> _Asked:
    if isinstance(item, AwsPrompt):
        return _Asked(item, _aws_fields(item), {1: _aws_label_fields(item)})
    if item.setting == "verbalise":
        fields = {"history": _seen(item, len(item.examples)), **_text_fields(asked_text(item))}
        return _Asked(item, _prompt_fields(item), {1: fields})
    return _Asked(item, _prompt_fields(item), _label_fields(item))


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
    lines = [record_json(record) + "\n" for record in records]
    write_whole(path, "".join(lines))
    return len(lines)


def read_trials(path: Path) -> tuple[TrialRecord, ...]:
    """Return the trials of such a file, each once; see `read_trial_file`."""
    return read_trial_file(path).rows


def read_trial_file(path: Path, duplicates: Duplicates = "refuse") -> Read[TrialRecord]:
    """Trials out of such a file, whoever made it; fields that a report can do without may be missing.

    A trial without a run is of the run that the file is called. Of one that is kept although it stands there
    before, its `trial_id` is not: trials of a name count once.

    Args:
        path: the file.
        duplicates: what becomes of a trial that stands there twice, in every field.

    Raises:
        InputError: if the file cannot be read, a line is no trial, or two trials have the same `trial_id`;
            names file, line and field.
    """
    try:
        # Not splitlines: people's comments may hold what Unicode calls a line separator.
        lines = path.read_text(encoding="utf-8-sig").split("\n")
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror}).") from error
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: is not UTF-8 text ({error}).") from error
    found = {
        number: _read(line, f"{path}, line {number}", path.stem)
        for number, line in enumerate(lines, start=1)
        if line.strip()
    }
    if not found:
        raise InputError(f"{path}: holds no trials; it must be JSON lines, one object per trial.")
    _refuse_same_names(path, found)
    read = told_once(
        path,
        Read(tuple(found.values()), tuple(found), ()),
        lambda one: (one.trial_id or "", repr(one)),
        duplicates,
    )
    again = {fault.line for fault in read.faults}
    return read._replace(
        rows=tuple(
            replace(one, trial_id=None) if line in again else one
            for one, line in zip(read.rows, read.lines, strict=True)
        )
    )


def _refuse_same_names(path: Path, records: Mapping[int, TrialRecord]) -> None:
    """Only one of the trials of a name would be counted, and `history` could mean either."""
    first: dict[str, int] = {}
    for number, record in records.items():
        if record.trial_id is None:
            continue
        before = first.setdefault(record.trial_id, number)
        if records[before] != record:
            raise InputError(
                f"{path}, line {number}: the field 'trial_id' is {record.trial_id!r}, as in line {before}, "
                "but the trials differ; name each otherwise, or leave the field out."
            )


def _read(line: str, place: str, run: str) -> TrialRecord:
    try:
        fields = json.loads(line)
    except json.JSONDecodeError as error:
        raise InputError(f"{place}: is not JSON ({error.msg}, column {error.colno}).") from error
    if not isinstance(fields, dict):
        raise InputError(f"{place}: must be a JSON object, one trial.")
    try:
        return read_record({"run_id": run, **fields})
    except ValidationError as error:
        fault = first_fault(error, fields)
        raise InputError(f"{place}: the field {fault.field!r} {fault.problem}.") from error
    except ValueError as error:
        raise InputError(f"{place}: {error}.") from error
