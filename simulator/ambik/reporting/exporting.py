"""Export of logged runs to files: decisions, a table of results, annotators' pairs (spec 13)."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from importlib.metadata import version as installed
from pathlib import Path
from typing import Any, Final

import pandas as pd

from logs import LogReader
from logs.rows import Episode, Turn
from simulator.ambik.annotation.desk import export_run
from simulator.ambik.files.published import ALL
from simulator.ambik.items import BENCHMARK, DecideItem, DraftItem, Item, PairItem, item_from_row, item_record
from simulator.ambik.metrics import icr_counts, outcome_values
from simulator.ambik.payloads import outcome_of
from simulator.ambik.playing import ANNOTATOR, ROBOT, USER, Options, is_calibrated, needs_question
from simulator.ambik.predicting import prepare
from simulator.ambik.records import Decision
from simulator.ambik.reporting.results import Result
from simulator.ambik.score import logged_options
from simulator.ambik.terms import CONFORMAL
from simulator.ambik.trial_log import decision, options_of
from simulator.fields import plain_number
from simulator.jsonlines import write_lines
from simulator.output_files import file_name, write_atomically
from simulator.runner.logged import required_run

_MEASURED: Final = ("icr", "hr", "chr", "ssc")
_DECISION_FIELDS: Final = ("context", "dialogue", "method", "generator", "chooser")
_PAYLOAD_FIELDS: Final = ("q_hat", "epsilon", "n_calibration", "rank", "prediction_set", "help", "settings")
Json = dict[str, Any]


def form_lines(reader: LogReader, run_id: str, *, self_contained: bool = False) -> Iterator[Json]:
    """Yield one JSON object per decision, per person's answer, and per annotator's form (spec 13).

    They come episode by episode, in order, including unfinished episodes but without erased people. Infinite
    numbers are texts.

    `self_contained`: True to include the task, its part and the players, so that no other file is needed.
    """
    run = required_run(reader, run_id, BENCHMARK)
    gone = reader.erased_participants()
    items = {row.hash: item_from_row(row) for row in reader.items(run_id)}
    version = str(run.config.get("software_version") or installed("askback"))
    decoding, options = _decoding(reader, run_id), options_of(reader, run_id) if self_contained else None
    for episode, turns in reader.turns_of_run(run_id):
        if episode.participant_id in gone:
            continue
        item = items[episode.item_hash]
        head = {
            "run_id": run.id,
            "version": version,
            "dataset": run.config.get("dataset", "ambik" if isinstance(item, PairItem) else ""),
            "dataset_version": run.config.get("dataset_version", ""),
            "episode_id": episode.id,
            "pair_id": item.pair.id if isinstance(item, PairItem) else item.id,
            "member": item.member if isinstance(item, PairItem) else None,
            "type": getattr(item, "type", None),
        }
        for place, turn in enumerate(turns):
            kind, payload = turn.payload.get("kind"), turn.payload
            if kind == "decide" and not isinstance(item, DraftItem):
                # Imported runs have no model calls: decoding is in their turns.
                used = decoding.get((episode.id, turn.number)) or payload.get("decoding", {})
                fields = _decision_row(episode, item, turns, place, used)
                person = ROBOT if payload.get("person") else ""
            elif kind == "answer" and payload.get("person"):
                fields, person = {"seat": USER}, USER
            elif kind == "annotate":
                fields = {"seat": ANNOTATOR, "form": payload["form"], "problems": payload["problems"]}
                person = ANNOTATOR
            else:
                continue
            line = {**head, **fields, **(_actor(episode, turn, person) if person else {})}
            line |= {"seed": episode.seed, "seconds": turn.seconds, "time": turn.created_at}
            yield line if options is None else line | _extra_fields(episode, item, turn, options)


def _actor(episode: Episode, turn: Turn, seat: str) -> Json:
    return {
        "actor": episode.participant_id or episode.seats[seat],
        "shown_at": turn.payload.get("shown_at"),
        "answered_at": turn.created_at,
        "typed_text": turn.text,
    }


def _extra_fields(episode: Episode, item: Item, turn: Turn, options: Options) -> Json:
    more = {"item": item_record(item), **{seat: episode.seats.get(seat, "") for seat in (ROBOT, USER)}}
    if turn.payload["kind"] != "decide":
        return more
    return more | {
        "calibration_run": options.calibration.run if options.calibration else "",
        "part": "calibration" if is_calibrated(options) else "test",
        "draws": turn.payload.get("draws"),
        "questions": episode.options.get("questions", 0),
    }


def _decoding(reader: LogReader, run_id: str) -> dict[tuple[str, int], Json]:
    """Return the decoding parameters by episode and turn, then by role."""
    decoding: dict[tuple[str, int], Json] = {}
    for call in reader.model_calls(run_id=run_id):
        if call.episode_id is not None and call.turn_number is not None:
            role = call.purpose.rpartition(".")[2]
            parameters = {"model": call.model, **call.request.get("parameters", {})}
            decoding.setdefault((call.episode_id, call.turn_number), {})[role] = parameters
    return decoding


def _decision_row(
    episode: Episode, item: DecideItem, turns: Sequence[Turn], place: int, decoding: Json
) -> Json:
    """Return the fields of the decision at index `place` of an episode's turns."""
    turn = turns[place]
    payload, made = turn.payload, decision(turn, episode, item)
    answers = {at: each.text for at, each in enumerate(turns) if each.payload.get("kind") == "answer"}
    # After an answer an ambiguous task counts as clear (spec 5).
    if any(at < place for at in answers):
        made = replace(made, dialogue="after")
    answer = next((text for at, text in answers.items() if at > place), "")
    fields = {
        "turn": turn.number,
        "expected_help": needs_question(item, made.dialogue),
        **{name: getattr(made, name) for name in _DECISION_FIELDS},
        "decoding": decoding,
        "prompts": [{"role": role, "text": text} for role, text in made.prompts],
        "raw_outputs": [{"role": role, "text": text} for role, text in made.raw],
        "options": dict(made.options),
        "filled_options": list(made.filled),
        "token_table": payload["tokens"],
        **_scores_by_option(made, payload),
        "affordance": {
            letter: {"context": each.context, "prompt": each.prompt, "score": each.score}
            for letter, each in made.affordance.items()
        },
        "samples": dict(made.samples),
        "similarities": dict(made.similarities),
        **{name: payload[name] for name in _PAYLOAD_FIELDS},
        "certainty": made.certainty,
        **{name: payload[name] for name in ("asks", "action", "question")},
        "answer": answer if payload["asks"] else "",
        **_metric_values(item, made, payload),
        "flags": list(made.flags),
    }
    if made.right is not None:
        fields["right"] = list(made.right)
    if payload.get("person"):
        fields |= {"offered": payload["offered"], "marked": payload["chosen"]}
    return fields


def _scores_by_option(decision: Decision, payload: Mapping[str, Any]) -> Json:
    """Return nonconformities by letter, or by text without letters; and confidences by letter.

    LofreeCP has no confidences, and the methods without thresholds have neither.
    """
    if decision.method not in CONFORMAL:
        return {"scores": {}, "nonconformity": {}}
    candidates = prepare(decision, logged_options(payload).settings).scored
    return {
        "scores": {each.letter: 1 - each.nonconformity for each in candidates if each.letter},
        "nonconformity": {each.letter or each.text: plain_number(each.nonconformity) for each in candidates},
    }


def _metric_values(item: DecideItem, decision: Decision, payload: Mapping[str, Any]) -> Json:
    """Return the metrics of a decision; null where they do not apply."""
    options = logged_options(payload)
    outcome = outcome_of(decision, options)
    measured: Json = dict.fromkeys(("icr_found", "icr_total", *_MEASURED))
    if outcome is None:
        return measured
    (values,) = outcome_values([outcome], options.settings)
    measured |= {name: None if isinstance(values[name], str) else values[name] for name in _MEASURED}
    intent = item.about.intent
    if intent is not None and not intent.malformed:
        hits, total = icr_counts(intent, outcome.predicted, options.settings.icr)
        measured |= {"icr_found": hits, "icr_total": total}
    return measured


def write_run_lines(path: Path, reader: LogReader, runs: Sequence[str]) -> int:
    """Write the lines of distinct runs, each after its calibration, and return the number of lines."""
    known, ordered = {run.id for run in reader.runs()}, dict[str, None]()
    for run in runs:
        calibrated = options_of(reader, run).calibration
        if calibrated is not None and calibrated.run in known:
            ordered[calibrated.run] = None
        ordered[run] = None
    lines = [
        json.dumps(line, ensure_ascii=False, allow_nan=False)
        for run in ordered
        for line in form_lines(reader, run, self_contained=True)
    ]
    write_lines(path, lines)
    return len(lines)


def export_runs(
    folder: Path, reader: LogReader, runs: Sequence[str], results: Sequence[Result]
) -> Iterator[Path]:
    """Write a file of decisions for each run, with its calibration, and one table of all results.

    For annotators' runs, the finished pairs are written.
    """
    for run in dict.fromkeys(runs):
        if options_of(reader, run).task == "annotate":
            path = folder / f"{file_name(run)}-pairs.csv"
            export_run(reader, run, path)
        else:
            path = folder / f"{file_name(run)}.jsonl"
            write_run_lines(path, reader, [run])
        yield path
    if results:
        yield write_atomically(folder / "results.csv", results_csv(results))


def results_csv(results: Sequence[Result]) -> str:
    """Return results as CSV for `files.published`: a row per method, robot and type, and one for AmbDif."""
    rows: list[dict[str, Any]] = []
    for result in results:
        if result.dataset == "knowno":
            continue
        name = {"method": result.method_name, "model": result.name}
        for kind in result.measures.types:
            values = {measure: getattr(kind, measure).value for measure in _MEASURED}
            rows.append({**name, "type": kind.type, "tasks": kind.tasks, **values})
        ambdif = result.measures.ambdif.value
        rows.append({**name, "type": ALL[0], "tasks": len(result.outcomes), "ambdif": ambdif})
    columns = ["method", "model", "type", "tasks", *_MEASURED, "ambdif"]
    return str(pd.DataFrame(rows, columns=columns).to_csv(index=False, lineterminator="\n"))
