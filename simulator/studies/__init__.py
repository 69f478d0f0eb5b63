"""Studies with people, for every benchmark: files, places, balanced assignment, reconciliation.

A benchmark provides the cells (conditions) and builds the participant's items from a place's cell and seed;
pages call the `StudyDesk`. Every change of a place is appended to the log as an assignment row, and a study's
state is read from these rows.
"""

from simulator.studies.admission import Completion
from simulator.studies.desk import StudyDesk
from simulator.studies.files import Study, read_study
from simulator.studies.quota import Cell, Place, cell_name, parse_cell

__all__ = [
    "Cell",
    "Completion",
    "Place",
    "Study",
    "StudyDesk",
    "cell_name",
    "parse_cell",
    "read_study",
]
