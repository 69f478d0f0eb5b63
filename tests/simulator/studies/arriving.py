"""People who come to a study's desk."""

from __future__ import annotations

from simulator.studies.admission import Admission


def by_link(name: str) -> dict[str, str]:
    return {"PROLIFIC_PID": name, "STUDY_ID": "5f0", "SESSION_ID": f"session of {name}"}


def person(admission: Admission) -> str:
    assert admission.participant is not None
    return admission.participant
