"""Records of the trials in logged runs (spec section 15)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from hashlib import sha256
from typing import Any, Final

from logs import LogReader, Played
from logs.rows import Ending, Episode, Turn
from simulator.ambibench.aws import AwsPrompt, classify
from simulator.ambibench.coding import KIND, settled_categories
from simulator.ambibench.items import BENCHMARK, item_from_row
from simulator.ambibench.prompt import PARTICIPANT, Item, Prompt, beliefs, fill_missing_answers, trials
from simulator.ambibench.records import ActorKind, ShownExample, TrialRecord, parse_finetuned, read_fields
from simulator.ambibench.score import MODES, NOTHING, Mode, Tie, logged_table
from simulator.runner.logged import ENDED, PERSON, required_run, seat_failed

_ORACLE: Final = "offline/oracle"
_Items = dict[str, tuple[Item, Mapping[int, Mapping[str, Any]]]]
"""Hash -> an item, and the fields of the trial at each position that do not depend on the episode."""


def trials_of_runs(
    reader: LogReader,
    runs: Iterable[str],
    mode: Mode | None = None,
    tie: Tie | None = None,
    *,
    exclude_aborted: bool = False,
) -> tuple[TrialRecord, ...]:
    """Return all answers in some runs, scored from the log, ordered by prompts and repeats.

    Models' episodes count if they have ended or were aborted by a failing seat; missing answers of the latter
    are empty. All of people's episodes with an answer count, because participants who leave early are
    flagged, not dropped (spec section 10), but not those of people who have withdrawn.

    `mode`, `tie`: how tables of probabilities are read; None: as logged.

    Raises:
        InputError: if a run is of another benchmark.
        NotInLog: if there is no such run.
    """
    items: _Items = {}
    return tuple(
        _record(fields, turn, mode, tie)
        for run in dict.fromkeys(runs)
        for fields, turn in _fields_of_run(reader, run, items, exclude_aborted)
    )


def _fields_of_run(
    reader: LogReader, run_id: str, items: _Items, exclude_aborted: bool
) -> Iterator[tuple[dict[str, Any], Turn]]:
    """Yield the fields of each trial of a run but those of the answer, and its turn; `items` is a cache."""
    run = required_run(reader, run_id, BENCHMARK)
    for row in reader.items(run_id):
        if row.hash not in items:
            item = item_from_row(row)
            items[row.hash] = item, _fields_by_position(item)
    endings = reader.endings(run_id)
    categories = settled_categories(reader.judgments(run_id=run_id, kind=KIND))
    uncounted = reader.uncounted_participants(run_id)
    episodes = [
        played
        for played in reader.turns_of_run(run_id)
        if played.episode.participant_id not in uncounted
        and _counts(played, endings.get(played.episode.id), exclude_aborted)
    ]
    episodes.sort(
        key=lambda played: (items[played.episode.item_hash][0].id, played.episode.repeat, played.episode.id)
    )
    for episode, turns in episodes:
        (item, fields), ending = items[episode.item_hash], endings.get(episode.id)
        if ending is not None and seat_failed(episode, ending):
            turns = list(fill_missing_answers(item, episode.id, turns))
        facts = {
            "run_id": run_id,
            "software_version": run.config.get("software_version"),
            "category": categories.get(episode.id),
            **_session(episode, turns),
        }
        if item.setting == "ft_eval" and (model := parse_finetuned(facts["actor_id"])):
            facts["ft_variant"] = model.variant
        previous = None
        for turn in turns:
            if turn.payload.get("kind") in ("answer", "text"):
                k = turn.payload.get("k", 1)
                trial_id = f"{episode.id}:{k}"
                history: dict[str, Any] = {} if previous is None else {"history": previous}
                yield {**fields[k], **facts, **history, "trial_id": trial_id}, turn
                previous = trial_id


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
        logged_mode: Mode = payload["score_mode"] if payload.get("score_mode") in MODES else "strip"
        rules: dict[str, Any] = {"mode": mode or logged_mode, "tie": tie or payload.get("tie_rule", "wrong")}
        table = logged_table(turn)
        answer = read_fields(turn.text, table, fields["gold"], person=person, **rules)
        return TrialRecord(**{**fields, "category": None, "top_logprobs": table, **answer})
    if fields["setting"] == "aws":
        fields["category"] = classify(turn.text)
    elif payload.get("silent"):
        fields["category"] = NOTHING
    return TrialRecord(**fields)


def _session(episode: Episode, turns: Iterable[Turn]) -> dict[str, Any]:
    """Return the actor of an episode; for people also the session, with consent and comment."""
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
    """Return the fields that follow from the item for the trial at each position (1 for free text)."""
    shared: dict[str, Any] = {
        "prompt_id": item.id,
        "seed": item.seed,
        "n_examples": len(item.examples),
        "setting": item.setting,
    }
    if isinstance(item, AwsPrompt):
        task, *lines = item.text.splitlines()
        examples = list(map(ShownExample, lines[:-2:2], lines[1:-2:2]))
        shared |= {"origin": item.origin, "second_name": item.followup}
        shared |= {"instruction": task, "history": examples, "sentence": lines[-2]}
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
    *earlier, example = prompt.examples[:k]
    belief = beliefs(prompt)[k - 1]
    return {
        "k": k,
        "sentence": example.sentence,
        "feature_a": example.a,
        "feature_b": example.b,
        "gold": example.label,
        "history": [ShownExample(before.sentence, before.label) for before in earlier],
        "oracle_p": belief.p_gold,
        "oracle_identified": belief.identified,
    }
