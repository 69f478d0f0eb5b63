"""How an episode is played: its options, its steps, and what is logged with each answer.

Every episode is a fixed list of steps, known beforehand; a step is one turn of the one seat there is. Models
and built-in players go through the trials alone. People read the instructions first; in a study they are
asked for their consent before, and for a comment at the end (spec section 10).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, NamedTuple, get_args

from simulator.ambibench.aws import AwsPrompt, classify
from simulator.ambibench.labels import Mode, Tie
from simulator.ambibench.oracle import Belief
from simulator.ambibench.score import read_reply
from simulator.ambibench.trials import Item, Trial, trials
from simulator.errors import InputError, SeatError
from simulator.forms import checked_length, measured, read_consent
from simulator.seats import Reply
from trees import Language

PARTICIPANT: Final = "participant"
Kind = Literal["consent", "ready", "answer", "text", "comment"]
System = Literal["continue", "none"]
# What tells a person's answer, to go with it when they are erased (see `logs.erase`).
_PRIVATE: Final = ["raw_answer", "answer", "normalised", "correct", "strict", "valid", "category"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What governs an episode.

    Attributes:
        study: a person's consent is asked for before, and a comment at the end.
        begun: this is not a person's first set of a study: consent and instructions are not asked for again.
        score_mode: how a table of probabilities is read (spec 7.1).
        tie: what a tie for the first place counts.
        top: how many tokens with their probabilities a model is asked for at a label.
        max_tokens: how many a model may write for a label; models that think before they write need more.
        system: the system prompt of chat models: ``continue`` (ours), or ``none``.
        language: of the pages around the text, which is English.
    """

    study: bool = False
    begun: bool = False
    score_mode: Mode = "strip"
    tie: Tie = "wrong"
    top: int = 20
    max_tokens: int = 2
    system: System = "continue"
    language: Language = "en"

    @classmethod
    def read(cls, options: Mapping[str, Any]) -> Options:
        """Out of an episode's options; what is no concern of an episode's is left alone.

        Raises:
            InputError: if a value is not among those that there are.
        """
        given = {name: options[name] for name in cls.__slots__ if name in options}
        choices: tuple[tuple[str, Any], ...] = (
            ("score_mode", Mode),
            ("tie", Tie),
            ("system", System),
            ("language", Language),
        )
        for name, allowed in choices:
            if name in given and given[name] not in get_args(allowed):
                raise InputError(f"{name} {given[name]!r}: must be one of {', '.join(get_args(allowed))}")
        for name in ("top", "max_tokens"):
            if type(given.get(name, 1)) is not int or given.get(name, 1) < 1:
                raise InputError(f"{name} {given[name]!r}: must be a whole number, 1 or more")
        for name in ("study", "begun"):
            if not isinstance(given.get(name, False), bool):
                raise InputError(f"{name} {given[name]!r}: must be true or false")
        return cls(**given)


class Step(NamedTuple):
    """One turn of an episode.

    Attributes:
        kind: what is said in it.
        trial: what is asked, where an answer is due.
    """

    kind: Kind
    trial: Trial | None = None


def plan(item: Item, *, person: bool, study: bool, begun: bool = False) -> tuple[Step, ...]:
    """The steps of an episode of `item`."""
    asked = tuple(Step(trial_kind(trial), trial) for trial in trials(item))
    if not person:
        return asked
    if not study:
        return (Step("ready"), *asked)
    before = () if begun else (Step("consent"), Step("ready"))
    return (*before, *asked, Step("comment"))


def trial_kind(trial: Trial) -> Kind:
    """The kind of the turn that answers a trial."""
    return "answer" if trial.answer == "label" else "text"


def gives_feedback(item: Item) -> bool:
    """Whether the right label is shown after an answer: where several are asked for, one by one (4.3)."""
    return not isinstance(item, AwsPrompt) and item.setting in ("multiple", "wug", "ft_eval")


def label_payload(
    trial: Trial, reply: Reply, belief: Belief, options: Options, *, person: bool
) -> dict[str, Any]:
    """What is logged with the answer to a trial that asks for a label (spec section 15).

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
    """What is logged with an answer in free text."""
    move = reply.move or {}
    payload = {
        "kind": "text",
        "raw_answer": reply.text,
        "category": classify(reply.text) if isinstance(item, AwsPrompt) else None,
        "decoding": dict(move["decoding"]) if "decoding" in move else None,
    }
    return payload | _measured(move, person=person)


def _measured(move: Mapping[str, Any], *, person: bool) -> dict[str, Any]:
    """What only people's turns have: when the trial was shown, whether keys were used to go on."""
    if not person:
        return {}
    return {"person": True, "private": _PRIVATE, **measured(move, PARTICIPANT)}


def person_text(kind: Kind, text: str) -> str:
    """What a person said in a step, as it is logged.

    Raises:
        SeatError: if they said nothing, too much, or neither yes nor no to the consent.
    """
    if kind == "consent":
        return read_consent(text, PARTICIPANT)
    said = text.strip() if kind == "comment" else text
    if kind in ("answer", "text") and not said.strip():
        raise SeatError("Nothing was answered.", PARTICIPANT, code="nothing_said")
    return checked_length(said, PARTICIPANT)
