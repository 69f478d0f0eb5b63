"""The trials of logged runs, one record each (spec section 15)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from hashlib import sha256
from typing import Any, Final

from logs import LogReader, Played
from logs.rows import Ending, Episode, Turn
from simulator.ambibench.aws import AwsPrompt, classify
from simulator.ambibench.coding import KIND, settled
from simulator.ambibench.items import BENCHMARK, item_from_row
from simulator.ambibench.prompt import PARTICIPANT, Item, Prompt, beliefs, trials, with_silence
from simulator.ambibench.records import ActorKind, ShownExample, TrialRecord, finetuned, read_fields
from simulator.ambibench.score import MODES, NOTHING, Mode, Tie, logged_table
from simulator.runner.logged import ENDED, PERSON, required_run, seat_failed

_ORACLE: Final = "offline/oracle"


_Asked = dict[str, tuple[Item, Mapping[int, Mapping[str, Any]]]]
"""Hash -> an item, and what is the same of the trial at each position however often it is played."""


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
    empty ones (`prompt.with_silence`); of people all that hold an answer, for those who leave early are
    flagged, not dropped (spec section 10). Who has withdrawn is in none of them.
    Trials come in the order of prompts and repeats, not of time.

    `mode`: how tables of probabilities are read; None: as each run says.

    Raises:
        InputError: if one is a run of another benchmark.
        NotInLog: if there is no such run.
    """
    asked: _Asked = {}
    return tuple(
        _record(fields, turn, mode, tie)
        for run in dict.fromkeys(runs)
        for fields, turn in _fields_of_run(reader, run, asked, exclude_aborted)
    )


def _fields_of_run(
    reader: LogReader, run_id: str, asked: _Asked, exclude_aborted: bool
) -> Iterator[tuple[dict[str, Any], Turn]]:
    """Yield what is known of each trial of a run, and its turn; `asked` keeps items for the runs after it."""
    run = required_run(reader, run_id, BENCHMARK)
    for row in reader.items(run_id):
        if row.hash not in asked:
            item = item_from_row(row)
            asked[row.hash] = item, _fields_by_position(item)
    endings = reader.endings(run_id)
    categories = settled(reader.judgments(run_id=run_id, kind=KIND))
    gone = reader.uncounted_participants(run_id)
    counting = [
        played
        for played in reader.turns_of_run(run_id)
        if played.episode.participant_id not in gone
        and _counts(played, endings.get(played.episode.id), exclude_aborted)
    ]
    counting.sort(
        key=lambda played: (asked[played.episode.item_hash][0].id, played.episode.repeat, played.episode.id)
    )
    for episode, turns in counting:
        (item, fields), ending = asked[episode.item_hash], endings.get(episode.id)
        if ending is not None and seat_failed(episode, ending):
            turns = list(with_silence(item, episode.id, turns))
        facts = {
            "run_id": run_id,
            "software_version": run.config.get("software_version"),
            "category": categories.get(episode.id),
            **_session(episode, turns),
        }
        if item.setting == "ft_eval" and (trained := finetuned(facts["actor_id"])):
            facts["ft_variant"] = trained.variant
        before = None
        for turn in turns:
            if turn.payload.get("kind") in ("answer", "text"):
                k = turn.payload.get("k", 1)
                trial_id = f"{episode.id}:{k}"
                history: dict[str, Any] = {} if before is None else {"history": before}
                yield {**fields[k], **facts, **history, "trial_id": trial_id}, turn
                before = trial_id


def _counts(played: Played, ending: Ending | None, exclude_aborted: bool) -> bool:
    if played.episode.seats.get(PARTICIPANT) == PERSON:
        return ending is None or ending.status != "failed"
    if ending is None:
        return False
    return ending.status in ENDED or (not exclude_aborted and seat_failed(played.episode, ending))


def _record(fields: dict[str, Any], turn: Turn, mode: Mode | None, tie: Tie | None) -> TrialRecord:
    payload, person = turn.payload, fields["actor_kind"] == "human"
    fields |= {
        "created_at": turn.created_at,
        "decoding": payload.get("decoding"),
        "raw_answer": turn.text,
    }
    if person:
        fields |= {
            "shown_at": payload.get("shown_at"),
            "answered_at": turn.created_at,
            "rt_ms": None if turn.seconds is None else round(1000 * turn.seconds),
            "keys_used": payload.get("keys_used"),
        }
    if payload["kind"] == "answer":
        noted: Mode = payload["score_mode"] if payload.get("score_mode") in MODES else "strip"
        rules: dict[str, Any] = {"mode": mode or noted, "tie": tie or payload.get("tie_rule", "wrong")}
        table = logged_table(turn)
        read = read_fields(turn.text, table, fields["gold"], person=person, **rules)
        return TrialRecord(**{**fields, "category": None, "top_logprobs": table, **read})
    if fields["setting"] == "aws":
        fields["category"] = classify(turn.text)
    elif payload.get("silent"):
        fields["category"] = NOTHING
    return TrialRecord(**fields)


def _session(episode: Episode, turns: Iterable[Turn]) -> dict[str, Any]:
    """Return who took part in an episode; of people also what they said around the trials."""
    name = episode.seats[PARTICIPANT]
    if name != PERSON:
        kind: ActorKind = "oracle" if name.partition(":")[0] == _ORACLE else "model"
        return {"repeat": episode.repeat, "actor_kind": kind, "actor_id": name}
    texts = {turn.payload.get("kind"): turn.text for turn in turns}
    return {
        "repeat": episode.repeat,
        "actor_kind": "human",
        "actor_id": episode.participant_id or f"anonymous/{episode.id}",
        "session_id": episode.id,
        "consent": None if "consent" not in texts else texts["consent"].strip().lower() == "yes",
        "comment": texts.get("comment"),
    }


def _fields_by_position(item: Item) -> dict[int, dict[str, Any]]:
    """Return what is known of the trial at each position; of free text at 1."""
    shared: dict[str, Any] = {
        "prompt_id": item.id,
        "seed": item.seed,
        "n_examples": len(item.examples),
        "setting": item.setting,
    }
    if isinstance(item, AwsPrompt):
        task, *lines = item.text.splitlines()
        seen = list(map(ShownExample, lines[:-2:2], lines[1:-2:2]))
        shared |= {"origin": item.origin, "second_name": item.followup}
        shared |= {"instruction": task, "history": seen, "sentence": lines[-2]}
    else:
        shared |= {
            "fold": item.fold,
            "ft_variant": item.variant,
            "pair": item.pair,
            "salient_feature": item.salient,
            "polarity": item.hypothesis.value,
            "format": item.format,
            "instruction_kind": item.kind,
            "instruction": item.instruction,
            "history": [ShownExample(example.sentence, example.label) for example in item.examples],
        }
    return {
        trial.k: {
            **shared,
            "prompt_text": trial.text,
            "prompt_sha256": sha256(trial.text.encode()).hexdigest(),
            **(_label_fields(item, trial.k) if isinstance(item, Prompt) and trial.gold else {}),
        }
        for trial in trials(item)
    }


def _label_fields(prompt: Prompt, k: int) -> dict[str, Any]:
    *seen, example = prompt.examples[:k]
    belief = beliefs(prompt)[k - 1]
    return {
        "k": k,
        "sentence": example.sentence,
        "feature_a": example.a,
        "feature_b": example.b,
        "gold": example.label,
        "history": [ShownExample(before.sentence, before.label) for before in seen],
        "oracle_p": belief.p_gold,
        "oracle_identified": belief.identified,
    }
