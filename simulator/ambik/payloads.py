"""What a turn's payload holds: the log's contract, which `trial_log` makes records of (spec 13).

============== ==========================================================================================
kind           payload, beside ``kind``
============== ==========================================================================================
consent, ready (people only)
decide         ``asks`` (null while its method is being calibrated), `records.Decision`'s fields as plain
               values, ``nonconformity`` (text -> value), ``q_hat``, ``epsilon``, ``n_calibration``, ``rank``,
               ``prediction_set``, ``settings`` (that differ from the default), ``action`` (done, or what it
               would do now), ``question``, ``help`` (what the set says, whether it may ask or not);
               of people ``offered`` (actions in display order)
answer         ``asked`` (number of the turn that asked), ``question`` (if no person asked it)
annotate       ``form`` (see `forms.read_pair_form`), ``problems``
============== ==========================================================================================

People's turns have besides ``person`` (true), ``private`` (what goes when they are erased, see `logs.erase`),
``shown_at`` and ``keys_used``. Infinite numbers are texts (``inf``, ``-inf``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from simulator.ambik.forms import Chosen
from simulator.ambik.items import DecideItem
from simulator.ambik.playing import Options, plain_number, settings_option
from simulator.ambik.records import Affordance, Decision, Outcome, Scored
from simulator.ambik.sets.predicting import Prepared, outcome_under, prepared
from simulator.ambik.terms import CONFORMAL, METHODS
from simulator.errors import SeatError

_HELD_ELSEWHERE: Final = ("episode_id", "run", "item", "seconds", "asked", "answer")
"""Fields of a decision that the log holds in other places."""
PRIVATE: Final[Mapping[str, list[str]]] = {
    "decide": ["chosen", "action", "question", "prediction_set", "nonconformity", "help", "asks"],
    "annotate": ["form", "problems"],
}
"""What tells what a person said, to go with it when they are erased."""


def decided(decision: Decision, options: Options, *, must_act: bool) -> dict[str, Any]:
    """The payload of a decision under an episode's settings and calibration.

    Whether it asks follows from its prediction set (or from its certainty, or from what a person said); it
    never does where it must act.

    Args:
        decision: of a real item; `Decision.question` if it has asked in words.
        options: of the episode.
        must_act: whether the questions are used up.
    """
    conformal = decision.method in CONFORMAL
    calibrated = options.calibration if conformal else None
    of = prepared(decision, options.settings)
    head = {
        "kind": "decide",
        **decision_payload(decision),
        "nonconformity": _by_text(of.scored) if conformal else {},
        "q_hat": plain_number(calibrated.q_hat) if calibrated else None,
        "epsilon": calibrated.epsilon if calibrated else None,
        "n_calibration": calibrated.n if calibrated else None,
        "rank": calibrated.rank if calibrated else None,
        "settings": settings_option(options.settings),
    }
    if _without_threshold(decision, options):
        told: dict[str, Any] = {
            "asks": None,
            "help": None,
            "prediction_set": [],
            "action": of.best,
            "question": "",
        }
        return head | told
    found = _outcome(of, options)
    # Who marks actions says whether to ask; of everybody else it follows from the set.
    wants = found.help if decision.chosen is None else bool(decision.asked)
    asks = wants and not must_act
    return head | {
        "asks": asks,
        "help": found.help,
        "prediction_set": list(found.predicted),
        "action": decision.action or ("" if asks and decision.chosen is not None else found.action),
        "question": decision.question if asks else "",
    }


def outcome_of(decision: Decision, options: Options) -> Outcome | None:
    """The decision with its prediction set; None while its method is being calibrated."""
    if _without_threshold(decision, options):
        return None
    return _outcome(prepared(decision, options.settings), options)


def _without_threshold(decision: Decision, options: Options) -> bool:
    return decision.method in CONFORMAL and options.calibration is None


def _outcome(of: Prepared, options: Options) -> Outcome:
    conformal = of.decision.method in CONFORMAL
    return outcome_under(of, options.calibration if conformal else None, options.settings)


def _by_text(candidates: Sequence[Scored]) -> dict[str, float | str | None]:
    """Nonconformity by text; of options that read the same the smallest."""
    found: dict[str, float] = {}
    for one in candidates:
        found[one.text] = min(one.nonconformity, found.get(one.text, one.nonconformity))
    return {text: plain_number(value) for text, value in found.items()}


def decision_payload(decision: Decision) -> dict[str, Any]:
    """A decision's fields as plain values; the inverse of `decision_fields`."""
    names = [name for name in Decision.__dataclass_fields__ if name not in _HELD_ELSEWHERE]
    return {name: _plain(getattr(decision, name)) for name in names}


def _plain(value: Any) -> Any:
    if value is None or isinstance(value, str | int):
        return value
    if isinstance(value, Affordance):
        return {"context": value.context, "prompt": value.prompt}
    if isinstance(value, Mapping):
        return {key: _plain(one) for key, one in value.items()}
    if isinstance(value, tuple | list):
        return [_plain(one) for one in value]
    return plain_number(value) if isinstance(value, float) else value


def decision_fields(payload: Mapping[str, Any]) -> dict[str, Any]:
    """A decision's fields out of plain values; what is missing is left to the defaults.

    Raises:
        SeatError: if a value cannot be one.
    """
    given = {name: payload[name] for name in _READERS if payload.get(name) is not None}
    try:
        return {name: _READERS[name](value) for name, value in given.items()}
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise SeatError(
            f"The robot's decision cannot be read ({error}).", "robot", code="malformed"
        ) from error


def _pairs(value: Any) -> tuple[tuple[str, str], ...]:
    return tuple((str(first), str(second)) for first, second in value)


def _texts(value: Any) -> tuple[str, ...]:
    return tuple(map(str, value))


_READERS: Final[Mapping[str, Any]] = {
    "method": str,
    "context": str,
    "dialogue": str,
    "generator": str,
    "chooser": str,
    "options": lambda value: {str(key): str(one) for key, one in value.items()},
    "filled": _texts,
    "tokens": lambda value: tuple((str(token), float(logprob)) for token, logprob in value),
    "affordance": lambda value: {
        key: Affordance(float(one["context"]), None if one["prompt"] is None else float(one["prompt"]))
        for key, one in value.items()
    },
    "samples": lambda value: {str(key): int(one) for key, one in value.items()},
    "similarities": lambda value: {str(key): float(one) for key, one in value.items()},
    "draws": int,
    "action": str,
    "certainty": str,
    "chosen": _texts,
    "right": _texts,
    "question": str,
    "prompts": _pairs,
    "raw": _pairs,
    "flags": _texts,
}


def method_decision(
    move: Mapping[str, Any], item: DecideItem, options: Options, *, episode_id: str, generator: str
) -> Decision:
    """The decision that a method's seat gives in its move.

    Raises:
        SeatError: if it cannot be read.
    """
    fields = decision_fields(move["decision"])
    fields = {"generator": generator, "context": options.context, "dialogue": options.dialogue, **fields}
    if options.method:
        fields["method"] = options.method
    if fields.get("method") not in METHODS:
        raise SeatError(f"{fields.get('method')!r} is no method.", "robot", code="malformed")
    if not fields.get("question"):
        fields["question"] = str(move.get("ask") or move.get("question") or "")
    return Decision(episode_id=episode_id, run="", item=item, **fields)


def chosen_decision(
    chosen: Chosen, item: DecideItem, options: Options, *, episode_id: str, generator: str, person: bool
) -> Decision:
    """The decision of somebody who marks actions."""
    return Decision(
        episode_id=episode_id,
        run="",
        item=item,
        method="person" if person else "offline",
        context=options.context,
        dialogue=options.dialogue,
        generator=generator,
        chosen=chosen.marked,
        action=chosen.action,
        asked=chosen.asks,
        question=chosen.question,
    )


def read_decision(
    payload: Mapping[str, Any],
    item: DecideItem,
    *,
    episode_id: str,
    run: str,
    answer: str = "",
    seconds: float | None = None,
) -> Decision:
    """The decision of a logged turn."""
    fields = decision_fields(payload)
    decision = Decision(episode_id=episode_id, run=run, item=item, **fields)
    return replace(decision, asked=payload.get("asks"), answer=answer, seconds=seconds)
