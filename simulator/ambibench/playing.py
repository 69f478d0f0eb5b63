"""The options of an episode, what a seat is told of its trials, and what is logged with each answer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Final, Literal, Protocol, runtime_checkable

from pydantic import Field, PositiveInt

from simulator.ambibench.aws import AwsPrompt, classify
from simulator.ambibench.features import Setting
from simulator.ambibench.labels import Mode, Tie, read_reply
from simulator.ambibench.oracle import Belief
from simulator.ambibench.prompt import Prompt
from simulator.ambibench.trials import PARTICIPANT, Item, Trial
from simulator.errors import SeatError
from simulator.fields import EpisodeOptions
from simulator.forms import checked_length, measured
from simulator.seats import Reply, View

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


@dataclass(frozen=True, slots=True)
class TrialKnows:
    """One trial (`View.task`): all that a person in this seat would see.

    Attributes:
        text: what is to be continued or answered.
        answer: a label, or free text.
    """

    text: str
    answer: Literal["label", "text"]
    setting: Setting


@dataclass(frozen=True, slots=True)
class PromptKnows:
    """A whole prompt with all its labels, for seats whose answer to a trial rests on what is before it alone.

    Attributes:
        trials: those that are still to be answered, in order.
        beliefs: what the Bayes-optimal learner thinks at each position of the prompt, from the first.
        seeds: one per trial, for whoever guesses.
    """

    prompt: Prompt
    trials: tuple[Trial, ...]
    beliefs: tuple[Belief, ...]
    seeds: tuple[int, ...]


@runtime_checkable
class ScoresAll(Protocol):
    """A seat that can answer all trials of a prompt at once."""

    async def score_all(self, view: View) -> tuple[Reply, ...]:
        """Return one reply per trial of `view.task`, a `PromptKnows`, in order.

        Raises:
            ModelError: if its model fails.
        """
        ...


def gives_feedback(item: Item) -> bool:
    """Return True if the right label is shown after an answer: where several are asked for (4.3)."""
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
    table = (reply.move or {}).get("table")
    reading = asdict(
        read_reply(reply.text, table, trial.gold, lower=person, mode=options.score_mode, tie=options.tie)
    )
    mode = reading.pop("mode")
    return {
        "kind": "answer",
        "k": trial.k,
        "gold": trial.gold,
        "raw_answer": reply.text,
        **reading,
        "table": None if table is None else [list(pair) for pair in table],
        "score_mode": mode,
        "tie_rule": options.tie,
        "oracle_p": belief.p_gold,
        "oracle_identified": belief.identified,
        **_circumstances(reply.move or {}, person=person),
    }


def text_payload(item: Item, reply: Reply, *, person: bool) -> dict[str, Any]:
    """Return what is logged with an answer in free text."""
    return {
        "kind": "text",
        "raw_answer": reply.text,
        "category": classify(reply.text) if isinstance(item, AwsPrompt) else None,
        **_circumstances(reply.move or {}, person=person),
    }


def _circumstances(move: Mapping[str, Any], *, person: bool) -> dict[str, Any]:
    """Return how a model was asked; of people when the trial was shown, and whether keys were used."""
    told = {"decoding": dict(move["decoding"]) if "decoding" in move else None}
    if not person:
        return told
    return {**told, "person": True, "private": _PRIVATE, **measured(move, PARTICIPANT)}


def person_text(text: str) -> str:
    """Return what a person said in a trial, as it is logged.

    Raises:
        SeatError: if they said nothing, or too much.
    """
    if not text.strip():
        raise SeatError("Nothing was answered.", PARTICIPANT, code="nothing_said")
    return checked_length(text, PARTICIPANT)
