"""Studies with people, whatever the benchmark: files, places, balanced assignment, reconciliation.

A benchmark's room makes the cells (conditions) and, from a place's cell and seed, the participant's items;
pages call the `StudyDesk`. Everything that happens is an assignment row of the log, never changed; how a
study stands is read from there.
"""

from simulator.studies.admission import Admission, Code, Completion
from simulator.studies.checking import check_studies
from simulator.studies.desk import StudyDesk
from simulator.studies.files import Study, find_studies, read_study
from simulator.studies.progress import CellProgress, StudyProgress
from simulator.studies.quota import (
    Cell,
    Place,
    Quota,
    State,
    cell_name,
    choose,
    parse_cell,
    quota_of,
    wanted_cells,
)
from simulator.studies.reconcile import Balance, Finding, reconcile

__all__ = [
    "Admission",
    "Balance",
    "Cell",
    "CellProgress",
    "Code",
    "Completion",
    "Finding",
    "Place",
    "Quota",
    "State",
    "Study",
    "StudyDesk",
    "StudyProgress",
    "cell_name",
    "check_studies",
    "choose",
    "find_studies",
    "parse_cell",
    "quota_of",
    "read_study",
    "reconcile",
    "wanted_cells",
]
