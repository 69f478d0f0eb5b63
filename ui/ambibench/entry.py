"""AmbiBench's own entry."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from simulator.ambibench.features import FEATURES, FORMATS, Hypothesis, instruction
from simulator.ambibench.items import BENCHMARK
from simulator.studies.cards import StudyCard
from ui.render.environment import render
from ui.render.frame import Frame, RoomLink
from ui.study.pages import offer

LINK: Final = RoomLink(BENCHMARK, "/ambibench", "letters")
KINDS: Final[Mapping[str, tuple[str, ...]]] = {
    "multiple": ("uninformative", "informative", "wug"),
    "instruction": ("uninformative", "informative"),
}
"""Amount of free play -> the instructions it can be played with."""


def entry_page(frame: Frame, studies: Sequence[StudyCard]) -> str:
    """Return the entry: free play, and the studies that are open."""
    return render(
        "ambibench/entry",
        frame.texts,
        frame=frame,
        offers=[offer(frame, card) for card in studies if card.open],
        kinds=KINDS,
        formats=FORMATS,
        features=FEATURES,
        picture=picture(),
    )


def picture() -> str:
    """Return a task as it is seen, with its third label due: human or indoors?"""
    examples = (("The hiker is in the museum.", "X"), ("The duck is in the meadow.", "Y"))
    lines = [line for sentence, label in examples for line in (sentence, f">{label}")]
    instruction_text = instruction("uninformative", Hypothesis("subject", True))
    return "\n".join([instruction_text, *lines, "The reporter is in the canyon.", ">"])
