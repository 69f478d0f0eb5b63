"""What is asked, prompt by prompt: a trial is one answer that is due."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from simulator.ambibench.aws import AwsPrompt
from simulator.ambibench.features import Label, Setting
from simulator.ambibench.prompt import (
    Prompt,
    asked_text,
    label_offsets,
    scored_positions,
    shown_text,
)

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


def trials(item: Item) -> tuple[Trial, ...]:
    """Return the trials of an item, in order."""
    if isinstance(item, AwsPrompt):
        return (Trial(1, item.text, "text"),)
    if item.setting == "verbalise":
        return (Trial(1, asked_text(item), "text"),)
    offsets = label_offsets(item)
    return tuple(
        Trial(k, shown_text(item, k), "label", item.examples[k - 1].label, offsets[k - 1])
        for k in scored_positions(item)
    )


def setting_of(item: Item) -> Setting:
    """Return the setting that an item belongs to."""
    return "aws" if isinstance(item, AwsPrompt) else item.setting
