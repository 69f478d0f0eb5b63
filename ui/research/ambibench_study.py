"""A study of AmbiBench: how it stands."""

from __future__ import annotations

from logs import LogReader, LogWriter
from simulator.ambibench.assignment import PatternStudy
from simulator.studies import Study, StudyDesk
from simulator.studies.quota import STATES
from ui.research.desk import RunCard
from ui.research.view import Page, Visit


def study_page(visit: Visit, card: RunCard, reader: LogReader, writer: LogWriter) -> Page:
    """Return what has come in, and what is still to come."""
    study = Study.model_validate(card.run.config["study"])
    progress = StudyDesk(writer, reader, study, PatternStudy(study).cells).progress()
    return visit.page(
        "ambibench_study",
        live=card.live,
        card=card,
        tab="study",
        study=study,
        progress=progress,
        states=[state for state in STATES if progress.states[state]],
        every_state=STATES,
    )
