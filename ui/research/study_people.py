"""The acts on one participant of a study: exclude them, take their place back, write to them."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

import gradio as gr

from simulator.errors import InputError
from simulator.studies.desk import StudyDesk
from simulator.studies.interventions import Interventions
from ui.research.blocks import Visit, markup, part
from ui.research.office import Office

_DEEDS: Final[Mapping[str, Callable[..., Awaitable[object]]]] = {
    "exclude": Interventions.excluded,
    "return": Interventions.freed,
    "message": Interventions.messaged,
}


@dataclass(frozen=True, slots=True)
class StudyPeople:
    """Those who have a place in a study, by their pseudonyms, and what can be done to one of them."""

    visit: Visit
    office: Office
    desk: StudyDesk

    def put(self) -> gr.Dropdown:
        """Put the fields on the page, and return the one that offers the participants."""
        t = self.visit.t
        with gr.Accordion(t("research.people.heading"), open=False, elem_id="people"):
            command = f"askback study exclude|return|message|restore {self.desk.study.id}"
            part(self.visit, "study_people", command=command)
            who = gr.Dropdown(
                self.choices(),
                value=None,
                label=t("research.people.participant"),
                elem_id="participant",
                interactive=True,
            )
            words = gr.Textbox(
                label=t("research.people.words"), lines=2, elem_id="participant-words", interactive=True
            )
            with gr.Row():
                buttons = {
                    name: gr.Button(t(f"research.people.{name}"), elem_id=f"{name}-participant")
                    for name in _DEEDS
                }
            done = gr.HTML(elem_classes=["ab"], padding=False, apply_default_css=False)
        for name, button in buttons.items():
            button.click(partial(self._do, name), [who, words], [who, words, done])
        return who

    def choices(self) -> list[tuple[str, str]]:
        """Return each participant as they are offered, with the state of their latest place."""
        t = self.visit.t
        states = {place.participant: place.state for place in self.desk.ledger()}
        return [(f"{who} · {t(f'research.studies.place.{state}')}", who) for who, state in states.items()]

    def _do(self, name: str, who: str | None, words: str) -> tuple[Any, str, str]:
        study = self.desk.study.id
        with self.office.acting(self.visit, "study", did=name, study=study) as user:
            if not isinstance(who, str):
                raise InputError("Please choose a participant.", code="no_participant")
            asyncio.run(_done(_DEEDS[name](self.desk, who, str(words), by=user.name)))
        done = markup(self.visit, "study_person_done", name=name, who=who)
        return gr.Dropdown(choices=self.choices(), value=None), "", done


async def _done(deed: Awaitable[object]) -> None:
    await deed
