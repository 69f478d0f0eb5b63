"""A study that is closed for new participants, and opened again; servers and commands see it alike."""

from __future__ import annotations

import asyncio
import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from simulator.studies.command import study_app
from simulator.studies.data_command import write_payment
from simulator.studies.desk import StudyDesk

CHANGED: dict[str, Any] = {
    "benchmark": "ambibench",
    "seat": "participant",
    "settings": {"setting": "multiple"},
    "sets_per_participant": 2,
}
ANNA, BEN = {"PROLIFIC_PID": "anna"}, {"PROLIFIC_PID": "ben"}


@pytest.fixture
def askback(office: Any, tmp_path: Path) -> Any:
    """Run a study command on the office's log, as another program does."""
    file = tmp_path / "study.yaml"
    file.write_text(json.dumps(office.study(**CHANGED).to_json()))

    async def run(name: str, *words: str, answer: str = "") -> Any:
        command = [name, str(file), *words, "--log", str(office.path)]
        return await asyncio.to_thread(CliRunner().invoke, study_app, command, input=answer)

    return run


@pytest.fixture
def desk(office: Any) -> StudyDesk:
    """The desk of a server that runs all the while."""
    here: StudyDesk = office.desk(**CHANGED)
    return here


async def test_nobody_new_gets_a_place_and_those_under_way_finish(desk: StudyDesk, askback: Any) -> None:
    anna = (await desk.admit(ANNA)).participant
    assert anna is not None
    assert desk.places_left() > 0
    closing = await askback("close")
    assert closing.exit_code == 0, closing.output
    assert "pattern is closed; 1 under way may finish." in closing.output
    assert desk.places_left() == 0
    assert (await desk.admit(BEN)).code == "closed"
    assert (await desk.admit(ANNA)).code == "resumed"
    assert (await desk.start_set(anna)).placed
    assert (await desk.complete_set(anna)).code == "C1"
    # A further set is a new place.
    assert (await desk.admit_again(anna)).code == "closed"
    assert desk.progress().refused == {"closed": 2}


async def test_whose_time_ran_out_before_goes_on(desk: StudyDesk, office: Any) -> None:
    first = await desk.admit(ANNA)
    assert first.participant is not None
    await desk.start_set(first.participant)
    office.clock.pass_minutes(31)
    await desk.admit(BEN)
    assert [place.state for place in desk.ledger()] == ["expired", "reserved"]
    assert await desk.admit_as("closed")
    assert (await desk.admit(ANNA)).code == "resumed"


async def test_closing_and_opening_can_be_repeated(desk: StudyDesk, askback: Any) -> None:
    assert "is open.\n" in (await askback("open")).output
    assert "is closed; 0 under way" in (await askback("close")).output
    since = desk.closed_since
    assert since is not None
    assert "is already closed; 0 under way" in (await askback("close")).output
    assert desk.closed_since == since
    assert "closed for new participants since" in (await askback("progress")).output
    assert "is open again" in (await askback("open")).output
    assert desk.closed_since is None
    assert "closed for new" not in (await askback("progress")).output
    assert (await desk.admit(BEN)).code == "admitted"


async def test_closing_erases_who_has_withdrawn_once_it_is_confirmed(
    desk: StudyDesk, office: Any, askback: Any
) -> None:
    anna = (await desk.admit(ANNA)).participant
    assert anna is not None
    await desk.start_set(anna)
    await desk.withdraw(anna)
    refused = await askback("close", answer="n\n")
    assert refused.exit_code == 1
    assert f"erase the participants who have withdrawn ({anna})?" in refused.output
    assert desk.closed_since is None, "nothing happens without a yes"
    assert office.reader.identities() != []
    closing = await askback("close", "--yes")
    assert f"{anna} is erased." in closing.output
    assert office.reader.identities() == []
    # Opening the study brings nobody back.
    await askback("open")
    assert office.reader.withdrawals() == {}
    (receipt,) = office.reader.events(kind="participant.erased")
    assert office.reader.erased_participants() == {receipt.participant_id} != {anna}


async def test_who_withdraws_after_the_closing_has_the_studys_days(desk: StudyDesk, office: Any) -> None:
    anna = (await desk.admit(ANNA)).participant
    assert anna is not None
    await desk.admit_as("closed")
    await desk.withdraw(anna)
    (withdrawal,) = office.reader.withdrawals().values()
    assert withdrawal.details["erase_at"].startswith(str((office.clock.now + timedelta(days=7)).date()))


async def test_what_is_done_by_command_is_in_the_log(
    desk: StudyDesk, office: Any, askback: Any, tmp_path: Path
) -> None:
    anna = (await desk.admit(ANNA)).participant
    await desk.withdraw(anna or "")
    words = [
        ("open",),
        ("pause",),
        ("release", anna),
        ("restore", anna),
        ("erase", anna, "--yes"),
        ("close",),
    ]
    for name, *rest in words:
        result = await askback(name, *rest)
        assert result.exit_code == 0, result.output
    await asyncio.to_thread(write_payment, str(tmp_path / "study.yaml"), tmp_path / "pay", log=office.path)
    events = [event for event in office.reader.events() if event.kind.startswith("researcher.")]
    assert all(event.details["by"] == "command line" for event in events)
    assert [(event.kind, event.details["did"]) for event in events] == [
        ("researcher.study", "open"),
        ("researcher.study", "pause"),
        ("researcher.study", "release"),
        ("researcher.study", "restore"),
        ("researcher.erase", "erase"),
        ("researcher.study", "close"),
        ("researcher.payment", "bonus"),
    ]
    assert office.reader.events(kind="participant.erased")[0].details["reason"].startswith("asked for in")


def test_the_list_says_which_studies_are_closed(tmp_path: Path) -> None:
    log = str(tmp_path / "log.sqlite")

    def run(*words: str) -> str:
        result = CliRunner(env={"COLUMNS": "160"}).invoke(study_app, [*words, "--log", log])
        assert result.exit_code == 0, result.output
        return result.output

    def states() -> dict[str, str]:
        lines = [line.split() for line in run("list").splitlines() if "ambibench-" in line]
        return {words[0]: words[-1] for words in lines}

    assert set(states().values()) == {"ready"}
    run("close", "ambibench-multiple")
    assert [name for name, state in states().items() if state == "closed"] == ["ambibench-multiple"]
