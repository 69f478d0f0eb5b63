from __future__ import annotations

import pytest
from typer.testing import CliRunner

import app  # noqa: F401  (it says which benchmarks hold studies)
from logs import LogReader, LogWriter
from simulator.ambibench.assignment import PatternStudy
from simulator.errors import InputError
from simulator.studies import StudyDesk
from simulator.studies.command import find_study, study_app
from simulator.studies.material import builtin_studies

STUDY = "ambibench-multiple"


@pytest.fixture
async def log(tmp_path):
    """A log in which one person has completed a study and one has left it."""
    path = tmp_path / "log.sqlite"
    study = next(one for one in builtin_studies("ambibench") if one.id == STUDY)
    async with LogWriter(path, durable=True) as writer:
        with LogReader(path) as reader:
            desk = StudyDesk(writer, reader, study, PatternStudy(study).cells)
            for name in ("anna", "ben"):
                admission = await desk.admit({"PROLIFIC_PID": name}, "en")
                await desk.started(admission.participant)
                await (desk.completed if name == "anna" else desk.returned)(admission.participant)
    return path


def run(*words):
    return CliRunner().invoke(study_app, [*map(str, words)], catch_exceptions=False)


async def test_progress_counts_places_by_condition_and_state(log):
    found = run("progress", STUDY, "--log", log)
    assert found.exit_code == 0
    assert "completed" in found.output and "returned" in found.output
    assert "spent 1.25" in found.output


async def test_the_list_names_every_study(log):
    found = run("list", "--log", log).output
    titles = [study.title_in(study.language) for study in builtin_studies("ambibench")]
    assert [title.split()[0] in found for title in titles] == [True] * 3


async def test_books_that_differ_end_with_status_one(log, tmp_path):
    # Somebody completed here without having played: the desk was told so directly.
    found = run("reconcile", STUDY, "--log", log)
    assert found.exit_code == 1 and "do not balance" in found.output
    export = tmp_path / "export.csv"
    export.write_text(
        "Participant id,Status,Completion code\nnobody,APPROVED,AMBI43-DONE\n", encoding="utf-8"
    )
    found = run("reconcile", STUDY, "--log", log, "--export", export)
    assert found.exit_code == 1 and "submissions" in found.output and "APPROVED 1" in found.output


def test_a_study_is_named_by_id_or_file(tmp_path):
    assert find_study(STUDY).id == STUDY
    with pytest.raises(InputError, match="no file, and no built-in study; those are ambibench-"):
        find_study("ambibench-manifold")
