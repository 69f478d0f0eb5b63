"""Studies with people, whatever the benchmark: files, places, balanced assignment, reconciliation.

A benchmark makes the cells (conditions) and, from a place's cell and seed, the participant's items;
pages call the `StudyDesk`. Everything that happens is an assignment row of the log, never changed; how a
study stands is read from there.
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
