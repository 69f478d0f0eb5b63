"""What the seats are told (`View.task`)."""

from __future__ import annotations

from dataclasses import dataclass

from simulator.ambik.items import DecideItem, DraftItem

Exchanges = tuple[tuple[str, str], ...]
"""Questions with their answers, in order."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RobotKnows:
    """What is told to whoever is to act or to ask.

    Attributes:
        item: scene, task, plan and offered options, and nothing that a robot must not know
            (`playing.blinded`); the data's question and answer only where the option dialogue is ``after``.
        exchanges: what it has asked in this episode, and what it was told.
        may_ask: whether a question would be answered: it must then be in words.
        must_act: whether the decision cannot be to ask: the questions are used up. Where nobody answers from
            the start (the option questions is 0), a robot still decides whether it would ask.
    """

    item: DecideItem
    exchanges: Exchanges = ()
    may_ask: bool = False
    must_act: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class UserKnows:
    """What is told to whoever gave the task.

    Attributes:
        item: a user knows what they want: the clear task and the answer of the data.
        question: to be answered now.
        exchanges: before it.
    """

    item: DecideItem
    question: str
    exchanges: Exchanges = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class AnnotatorKnows:
    """What is told to whoever makes a pair of a draft."""

    item: DraftItem
