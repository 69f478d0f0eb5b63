"""The pages of an episode that is going on: consent, instructions, a trial, the comment."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from simulator.ambibench.features import Format, Label
from simulator.ambibench.views import ParticipantView
from ui.ambibench.entry import LINK
from ui.render.frame import Frame
from ui.study.pages import Here, session_page

STEPS: Final[Mapping[str, str]] = {
    "consent": "consent",
    "instructions": "instructions",
    "trial": "task",
    "comment": "comment",
}
"""The step of a study that each stage of an episode belongs to."""
# Lines of one example; the second of them ends with its label.
_LINES: Final = 2


@dataclass(frozen=True, slots=True)
class Layout:
    """A trial's text in parts that, one after the other, are the text.

    Attributes:
        instruction: the first line.
        past: from there to the label that has just been told, or to the example that is due.
        told: that label, if any.
        between: from there to the example that is due.
        due: the example whose label is due, without it.
    """

    instruction: str
    past: str
    told: str
    between: str
    due: str

    @property
    def parts(self) -> tuple[str, ...]:
        """The parts in their order."""
        return self.instruction, self.past, self.told, self.between, self.due


def lay_out(text: str, right: Label | None, form: Format | None) -> Layout:
    """Return a trial's text in parts.

    Args:
        text: as a model gets it.
        right: the label of the example before, if it was asked for and is told now.
        form: of the examples; None if the text is not made of them.
    """
    if form is None:
        return Layout(text, "", "", "", "")
    lines = text.splitlines(keepends=True)
    instruction, past, due = lines[0], "".join(lines[1:-_LINES]), "".join(lines[-_LINES:])
    if right is not None and past.endswith(f"{right}\n"):
        return Layout(instruction, past.removesuffix(f"{right}\n"), right, "\n", due)
    return Layout(instruction, past, "", "", due)


def trial_page(frame: Frame, here: Here) -> str:
    """Return the page of the stage that an episode is at; it is not done yet."""
    view: ParticipantView = here.view
    feedback = view.feedback
    form = view.format if view.stage == "trial" and view.answer == "label" else None
    layout = lay_out(view.text, feedback.right if feedback else None, form)
    return session_page(f"ambibench/{view.stage}", frame, LINK, here, STEPS, layout=layout)
