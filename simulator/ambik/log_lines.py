"""The log of decisions as JSON objects, one line each, with every field of spec 13."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from importlib.metadata import version as installed
from typing import Any, Final, NamedTuple

from logs import LogReader
from logs.rows import Episode, Run, Turn
from simulator.ambik.items import DecideItem, DraftItem, Item, PairItem
from simulator.ambik.measuring.metrics import icr_counts
from simulator.ambik.measuring.outcome_rows import outcome_rows
from simulator.ambik.payloads import outcome_of
from simulator.ambik.playing import ANNOTATOR, ROBOT, USER, needs_question
from simulator.ambik.records import Decision
from simulator.ambik.rows import BENCHMARK, item_from_row
from simulator.ambik.score import logged_options
from simulator.ambik.sets.predicting import scored
from simulator.ambik.terms import CONFORMAL
from simulator.ambik.trial_log import decision
from simulator.fields import plain_number
from simulator.runner.logged import required_run

_MEASURED: Final = ("icr", "hr", "chr", "ssc")
Json = dict[str, Any]


class _Place(NamedTuple):
    """Where a turn stands."""

    run: Run
    episode: Episode
    item: Item
    version: str

    @property
    def head(self) -> Json:
        """What every line begins with."""
        told = {
            "run_id": self.run.id,
            "version": self.version,
            "dataset": self.run.config.get("dataset", "ambik" if isinstance(self.item, PairItem) else ""),
            "dataset_version": self.run.config.get("dataset_version", ""),
            "episode_id": self.episode.id,
        }
        if isinstance(self.item, PairItem):
            return told | {
                "pair_id": self.item.pair.id,
                "member": self.item.member,
                "type": self.item.type,
            }
        return told | {"pair_id": self.item.id, "member": None, "type": getattr(self.item, "type", None)}


def form_lines(reader: LogReader, run_id: str) -> Iterator[Json]:
    """Yield one JSON object per decision, per answer that a person gave, and per annotator's form.

    They come episode by episode, in order. Episodes that were broken off are there, too; what erased people
    said is gone. Numbers that are infinite are texts.

    Raises:
        InputError: if the run is another benchmark's.
        NotInLog: if there is no such run.
    """
    run = required_run(reader, run_id, BENCHMARK)
    gone = reader.erased_participants()
    items = {row.hash: item_from_row(row) for row in reader.items(run_id)}
    version = str(run.config.get("software_version") or installed("askback"))
    decoding = _decoding(reader, run_id)
    for episode, turns in reader.turns_of_run(run_id):
        if episode.participant_id in gone:
            continue
        place = _Place(run, episode, items[episode.item_hash], version)
        for number, turn in enumerate(turns):
            match turn.payload.get("kind"):
                case "decide":
                    # Of imported runs there are no calls: their turns say what was told of them.
                    used = decoding.get((episode.id, turn.number)) or turn.payload.get("decoding", {})
                    yield _decided(place, turn, turns[:number], turns[number + 1 :], used)
                case "answer" if turn.payload.get("person"):
                    yield place.head | {"seat": USER, **_person(place, turn, USER), **_closing(place, turn)}
                case "annotate":
                    yield _annotated(place, turn)


def _decoding(reader: LogReader, run_id: str) -> dict[tuple[str, int], Json]:
    """By episode and turn: what each role's requests were made with."""
    jsons: dict[tuple[str, int], Json] = {}
    for call in reader.model_calls(run_id=run_id):
        if call.episode_id is not None and call.turn_number is not None:
            role = call.purpose.rpartition(".")[2]
            parameters = {"model": call.model, **call.request.get("parameters", {})}
            jsons.setdefault((call.episode_id, call.turn_number), {})[role] = parameters
    return jsons


def _decided(
    place: _Place, turn: Turn, before: Sequence[Turn], after: Sequence[Turn], decoding: Json
) -> Json:
    item, payload = place.item, turn.payload
    assert not isinstance(item, DraftItem)
    found = decision(turn, place.episode, item)
    # What was answered before makes of an ambiguous task a clear one (spec 5).
    if any(one.payload.get("kind") == "answer" for one in before):
        found = replace(found, dialogue="after")
    answer = next((one.text for one in after if one.payload.get("kind") == "answer"), "")
    line = place.head | {
        "turn": turn.number,
        "expected_help": needs_question(item, found.dialogue),
        "context": found.context,
        "dialogue": found.dialogue,
        "method": found.method,
        "generator": found.generator,
        "chooser": found.chooser,
        "decoding": decoding,
        "prompts": [{"role": role, "text": text} for role, text in found.prompts],
        "raw_outputs": [{"role": role, "text": text} for role, text in found.raw],
        "options": dict(found.options),
        "filled_options": list(found.filled),
        "token_table": payload["tokens"],
        **_scored(found, payload),
        "affordance": {
            letter: {"context": one.context, "prompt": one.prompt, "score": one.score}
            for letter, one in found.affordance.items()
        },
        "samples": dict(found.samples),
        "similarities": dict(found.similarities),
        **{name: payload[name] for name in _CARRIED},
        "certainty": found.certainty,
        "asks": payload["asks"],
        "action": payload["action"],
        "question": payload["question"],
        "answer": answer if payload["asks"] else "",
        **_measured(item, found, payload),
        "flags": list(found.flags),
    }
    if found.right is not None:
        line["right"] = list(found.right)
    if payload.get("person"):
        line |= {"offered": payload["offered"], "marked": payload["chosen"], **_person(place, turn, ROBOT)}
    return line | _closing(place, turn)


_CARRIED: Final = (
    *("q_hat", "epsilon", "n_calibration", "rank"),
    *("prediction_set", "help", "settings"),
)


def _scored(decision: Decision, payload: Mapping[str, Any]) -> Json:
    """Nonconformities by letter, or by text where there are no letters; and the confidences they are made of.

    LofreeCP has no confidences, and the methods without thresholds have neither.
    """
    if decision.method not in CONFORMAL:
        return {"scores": {}, "nonconformity": {}}
    candidates = scored(decision, logged_options(payload).settings)
    confidences = {
        candidate.letter: 1 - candidate.nonconformity for candidate in candidates if candidate.letter
    }
    return {
        "scores": confidences,
        "nonconformity": {
            candidate.letter or candidate.text: plain_number(candidate.nonconformity)
            for candidate in candidates
        },
    }


def _measured(item: DecideItem, decision: Decision, payload: Mapping[str, Any]) -> Json:
    """Return the metrics of a decision; null where they do not count."""
    options = logged_options(payload)
    outcome = outcome_of(decision, options)
    nothing = dict.fromkeys(("icr_found", "icr_total", *_MEASURED))
    if outcome is None:
        return nothing
    intent = item.pair.intent if isinstance(item, PairItem) else item.scenario.intent
    (row,) = outcome_rows([outcome], options.settings)
    told = {name: None if isinstance(row.values[name], str) else row.values[name] for name in _MEASURED}
    if intent is None or intent.malformed:
        return nothing | told
    hits, total = icr_counts(intent, outcome.predicted, options.settings.icr)
    return {"icr_found": hits, "icr_total": total, **told}


def _person(place: _Place, turn: Turn, seat: str) -> Json:
    return {
        "actor": place.episode.participant_id or place.episode.seats[seat],
        "shown_at": turn.payload.get("shown_at"),
        "answered_at": turn.created_at,
        "typed_text": turn.text,
    }


def _annotated(place: _Place, turn: Turn) -> Json:
    line = place.head | {
        "seat": ANNOTATOR,
        "form": turn.payload["form"],
        "problems": turn.payload["problems"],
    }
    return line | _person(place, turn, ANNOTATOR) | _closing(place, turn)


def _closing(place: _Place, turn: Turn) -> Json:
    return {"seed": place.episode.seed, "seconds": turn.seconds, "time": turn.created_at}
