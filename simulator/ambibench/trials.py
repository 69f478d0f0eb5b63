"""What is asked, prompt by prompt: a trial is one answer that is due, and one step of an episode."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

from logs.rows import Turn
from simulator.ambibench.aws import AwsPrompt
from simulator.ambibench.features import Label, Setting
from simulator.ambibench.prompt import Prompt, asked_text, label_offsets, scored_positions, whole_text

PARTICIPANT: Final = "participant"
"""The one seat that there is."""
Item = Prompt | AwsPrompt


@dataclass(frozen=True, slots=True)
class Trial:
    """One answer that is due.

    Attributes:
        k: the position in the prompt, from 1; for free text 1.
        text: what the participant sees: right labels before `k`, nothing of what comes after.
        answer: a label, or free text.
        gold: the right label; None for free text.
        offset: of that label in the whole text, in characters; None for free text.
    """

    k: int
    text: str
    answer: Literal["label", "text"]
    gold: Label | None = None
    offset: int | None = None

    @property
    def kind(self) -> Literal["answer", "text"]:
        """The kind of the turn that answers it."""
        return "answer" if self.answer == "label" else "text"


def trials(item: Item) -> tuple[Trial, ...]:
    """Return the trials of an item, in order; an episode has a turn for each."""
    if isinstance(item, AwsPrompt):
        return (Trial(1, item.text, "text"),)
    if item.setting == "verbalise":
        return (Trial(1, asked_text(item), "text"),)
    text, offsets = whole_text(item), label_offsets(item)
    return tuple(
        Trial(k, text[:offset].rstrip(" "), "label", item.examples[k - 1].label, offset)
        for k in scored_positions(item)
        for offset in (offsets[k - 1],)
    )


def setting_of(item: Item) -> Setting:
    """Return the setting that an item belongs to."""
    return "aws" if isinstance(item, AwsPrompt) else item.setting


def with_silence(item: Item, episode_id: str, turns: Sequence[Turn]) -> tuple[Turn, ...]:
    """Return the turns of an aborted episode of a model's, and an empty answer for each that is missing.

    An episode that was aborted because its seat failed counts as unsuccessful (`simulator.runner.logged`):
    the labels that it never gave are wrong, like any other answer that is no label.
    """
    answered = {turn.payload.get("k", 1) for turn in turns if turn.payload.get("kind") in ("answer", "text")}
    missing = (trial for trial in trials(item) if trial.k not in answered)
    silent = (
        Turn(
            episode_id=episode_id,
            number=number,
            seat=PARTICIPANT,
            text="",
            payload={"kind": trial.kind, "k": trial.k, "silent": True},
        )
        for number, trial in enumerate(missing, start=len(turns))
    )
    return (*turns, *silent)
