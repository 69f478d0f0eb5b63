"""How an episode is played: its options, its steps, and what is logged with each answer.

Every episode is a fixed list of steps, known beforehand; a step is one turn of the one seat there is.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, Literal, NamedTuple

from pydantic import Field, PositiveInt

from simulator.ambibench.aws import AwsPrompt, classify
from simulator.ambibench.labels import Mode, Tie
from simulator.ambibench.oracle import Belief
from simulator.ambibench.score import read_reply
from simulator.ambibench.trials import Item, Trial, trials
from simulator.errors import SeatError
from simulator.fields import EpisodeOptions
from simulator.forms import checked_length, measured
from simulator.seats import Reply

PARTICIPANT: Final = "participant"
Kind = Literal["answer", "text"]
System = Literal["continue", "none"]
# What tells a person's answer, to go with it when they are erased (see `logs.erase`).
_PRIVATE: Final = ["raw_answer", "answer", "normalised", "correct", "strict", "valid", "category"]


class Options(EpisodeOptions):
    """What governs an episode.

    Attributes:
        score_mode: see spec 7.1.
        system: ``continue`` is ours.
    """

    score_mode: Mode = Field(default="strip", description="how tables of probabilities are read")
    tie: Tie = Field(default="wrong", description="what a tie for the first place counts")
    top: PositiveInt = Field(default=20, description="tokens with probabilities asked for at a label")
    max_tokens: PositiveInt = Field(
        default=2, description="tokens a model may write for a label (more if it thinks first)"
    )
    system: System = Field(default="continue", description="chat models: our system prompt, or none")


class Step(NamedTuple):
    """One turn of an episode.

    Attributes:
        kind: what is said in it.
        trial: what is asked.
    """

    kind: Kind
    trial: Trial


def plan(item: Item) -> tuple[Step, ...]:
    """Return the steps of an episode of `item`."""
    return tuple(Step(trial_kind(trial), trial) for trial in trials(item))


def trial_kind(trial: Trial) -> Kind:
    """Return the kind of the turn that answers a trial."""
    return "answer" if trial.answer == "label" else "text"


def gives_feedback(item: Item) -> bool:
    """Whether the right label is shown after an answer: where several are asked for, one by one (4.3)."""
    return not isinstance(item, AwsPrompt) and item.setting in ("multiple", "wug", "ft_eval")


def label_payload(
    trial: Trial, reply: Reply, belief: Belief, options: Options, *, person: bool
) -> dict[str, Any]:
    """Return what is logged with the answer to a trial that asks for a label (spec section 15).

    Args:
        trial: what was asked.
        reply: its `Reply.move` may hold the table of token probabilities at the label's place (``table``),
            how the model was asked (``decoding``) and what a page measures (``shown_at``, ``keys_used``).
        belief: what the Bayes-optimal learner thinks when this label is due.
        options: how a table is read.
        person: whether a person answers: lower case will do.
    """
    assert trial.gold is not None
    move = reply.move or {}
    table = move.get("table")
    read = read_reply(reply.text, table, trial.gold, lower=person, mode=options.score_mode, tie=options.tie)
    mode = read.pop("mode")
    payload = {
        "kind": "answer",
        "k": trial.k,
        "gold": trial.gold,
        "raw_answer": reply.text,
        **read,
        "table": None if table is None else [list(pair) for pair in table],
        "score_mode": mode,
        "tie_rule": options.tie,
        "oracle_p": belief.p_gold,
        "oracle_identified": belief.identified,
        "decoding": dict(move["decoding"]) if "decoding" in move else None,
    }
    return payload | _measured(move, person=person)


def text_payload(item: Item, reply: Reply, *, person: bool) -> dict[str, Any]:
    """Return what is logged with an answer in free text."""
    move = reply.move or {}
    payload = {
        "kind": "text",
        "raw_answer": reply.text,
        "category": classify(reply.text) if isinstance(item, AwsPrompt) else None,
        "decoding": dict(move["decoding"]) if "decoding" in move else None,
    }
    return payload | _measured(move, person=person)


def _measured(move: Mapping[str, Any], *, person: bool) -> dict[str, Any]:
    """Return what only people's turns have: when the trial was shown, whether keys were used to go on."""
    if not person:
        return {}
    return {"person": True, "private": _PRIVATE, **measured(move, PARTICIPANT)}


def person_text(text: str) -> str:
    """Return what a person said in a trial, as it is logged.

    Raises:
        SeatError: if they said nothing, or too much.
    """
    if not text.strip():
        raise SeatError("Nothing was answered.", PARTICIPANT, code="nothing_said")
    return checked_length(text, PARTICIPANT)
