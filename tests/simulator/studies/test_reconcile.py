from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from simulator.errors import InputError
from simulator.studies import StudyDesk
from simulator.studies.reconcile import Balance, reconcile

HEAD = "Submission id,Participant id,Status,Completion code\n"
OLD_HEAD = "session_id,participant_id,status,entered_code\n"


def write(folder: Path, rows: Mapping[str, tuple[str, str]], head: str = HEAD) -> Path:
    path = folder / "export.csv"
    lines = [
        f"s{number},{name},{status},{code}\n" for number, (name, (status, code)) in enumerate(rows.items())
    ]
    path.write_text(head + "".join(lines), encoding="utf-8-sig")
    return path


async def admit(desk: StudyDesk, name: str) -> Any:
    admission = await desk.admit({"PROLIFIC_PID": name})
    assert admission.placed
    return admission


async def complete(office: Any, desk: StudyDesk, name: str) -> Any:
    admission = await admit(desk, name)
    await desk.start_set(admission.participant)
    office.play(desk.study, admission)
    await desk.complete_set(admission.participant)
    return admission


def kinds(balance: Balance) -> dict[str, bool]:
    return {finding.kind: finding.explained for finding in balance.findings}


async def test_books_that_balance(office: Any, tmp_path: Path) -> None:
    desk = office.desk(participants=8)
    for name in ("anna", "berta"):
        await complete(office, desk, name)
    carla, doris = await admit(desk, "carla"), await admit(desk, "doris")
    await desk.return_place(carla.participant)
    await desk.screen_out(doris.participant)
    await admit(desk, "still there")
    export = {
        "anna": ("APPROVED", "C1"),
        "berta": ("AWAITING REVIEW", "C1"),
        "carla": ("RETURNED", ""),
        "doris": ("APPROVED", "C2"),
        "still there": ("ACTIVE", ""),
    }
    for head in (HEAD, OLD_HEAD):
        balance = reconcile(desk, office.reader, write(tmp_path, export, head))
        assert balance.findings == ()
        assert balance.balanced
    assert balance.places == {"completed": 2, "returned": 1, "screened_out": 1, "reserved": 1}
    assert balance.episodes == {"completed": 2}
    assert balance.submissions == {"APPROVED": 2, "AWAITING REVIEW": 1, "RETURNED": 1, "ACTIVE": 1}
    assert reconcile(desk, office.reader).submissions is None


@pytest.mark.parametrize(
    ("submission", "kind", "message"),
    [
        (("RETURNED", "C1"), "not_paid", "completed here, but is RETURNED there"),
        (("TIMED-OUT", ""), "not_paid", "completed here, but is TIMED-OUT there"),
        (("ACTIVE", ""), "not_paid", "completed here, but is ACTIVE there"),
        (("SCREENED OUT", "C2"), "not_paid", "completed here, but is SCREENED OUT there"),
        (("APPROVED", "C2"), "code", "submitted the code C2 (line 2), not the code C1 (completed)"),
        (("AWAITING REVIEW", "NOCODE"), "code", "submitted no code"),
        (None, "not_there", "the export does not list them"),
    ],
)
async def test_completed_here_and_something_else_there(
    office: Any, tmp_path: Path, submission: tuple[str, str] | None, kind: str, message: str
) -> None:
    desk = office.desk()
    anna = await complete(office, desk, "anna-5f3")
    export = write(tmp_path, {"anna-5f3": submission} if submission else {})
    (finding,) = reconcile(desk, office.reader, export).findings
    assert (finding.kind, finding.participant, finding.explained) == (kind, anna.participant, False)
    assert message in finding.sentence
    assert anna.participant in finding.sentence
    assert "anna-5f3" not in str(finding)


async def test_complete_there_and_not_here(office: Any, tmp_path: Path) -> None:
    desk = office.desk()
    await admit(desk, "anna")
    export = {"anna": ("AWAITING REVIEW", "C1"), "never": ("APPROVED", "C1"), "gone": ("RETURNED", "")}
    balance = reconcile(desk, office.reader, write(tmp_path, export))
    assert [(finding.kind, finding.explained) for finding in balance.findings] == [
        ("not_here", False),
        ("not_completed", False),
        ("not_here", True),
    ]
    assert "Line 3 of the export (APPROVED)" in balance.findings[0].sentence
    assert not balance.balanced


async def test_who_came_another_way_is_not_missed(office: Any, tmp_path: Path) -> None:
    desk = office.desk()
    admission = await desk.admit("a colleague")
    office.play(desk.study, admission)
    await desk.complete_set(admission.participant)
    balance = reconcile(desk, office.reader, write(tmp_path, {}))
    assert kinds(balance) == {"not_there": True}
    assert balance.balanced


async def test_one_who_handed_in_twice(office: Any, tmp_path: Path) -> None:
    desk = office.desk()
    await complete(office, desk, "anna")
    export = write(tmp_path, {"anna": ("APPROVED", "C1"), " anna ": ("APPROVED", "C1")})
    assert kinds(reconcile(desk, office.reader, export)) == {"twice": False}


async def test_withdrawn_people_are_known_by_the_key_if_the_study_keeps_them_out(
    office: Any, tmp_path: Path
) -> None:
    desk = office.desk(keep_out_erased=True)
    anna = await complete(office, desk, "anna")
    await desk.withdraw_and_erase(anna.participant)
    balance = reconcile(desk, office.reader, write(tmp_path, {"anna": ("APPROVED", "C1")}))
    assert balance.findings == ()
    assert balance.places == {"withdrawn": 1}


async def test_so_many_people_as_were_erased_are_missed_without_alarm(office: Any, tmp_path: Path) -> None:
    desk = office.desk()
    anna = await complete(office, desk, "anna")
    await desk.withdraw_and_erase(anna.participant)
    export = {"anna": ("APPROVED", "C1"), "never here": ("APPROVED", "C1"), "left": ("RETURNED", "")}
    findings = reconcile(desk, office.reader, write(tmp_path, export)).findings
    assert [(finding.kind, finding.explained) for finding in findings] == [
        ("not_here", False),
        ("not_here", True),
        ("not_here", True),
    ]
    assert "erased people who had one: 1" in findings[0].sentence


async def test_who_was_erased_in_a_further_set_had_finished(office: Any, tmp_path: Path) -> None:
    desk = office.desk(sets_per_participant=2, participants=8)
    anna = await complete(office, desk, "anna")
    await admit(desk, "anna")
    await desk.withdraw_and_erase(anna.participant)
    (finding,) = reconcile(desk, office.reader, write(tmp_path, {"anna": ("APPROVED", "C1")})).findings
    assert (finding.kind, finding.explained) == ("not_here", True)


async def test_who_declined_does_not_explain_a_completion(office: Any, tmp_path: Path) -> None:
    desk = office.desk()
    berta = await admit(desk, "berta")
    await desk.withdraw_and_erase(berta.participant)
    for code, explained in (("C1", False), ("NOCODE", True)):
        export = {"never here": ("AWAITING REVIEW", code)}
        assert kinds(reconcile(desk, office.reader, write(tmp_path, export))) == {"not_here": explained}


async def test_an_erasure_that_was_cut_short_is_found(office: Any) -> None:
    desk = office.desk()
    anna = await admit(desk, "anna")
    await desk._end(anna.participant, "withdrawn")
    (finding,) = reconcile(desk, office.reader).findings
    assert f"askback log erase {anna.participant}" in finding.sentence
    await desk.withdraw_and_erase(anna.participant)
    assert reconcile(desk, office.reader).balanced


async def test_episodes_that_fit_no_place(office: Any) -> None:
    desk, other = office.desk(participants=8), office.desk(id="other", exclude=[])
    marked = await admit(desk, "marked, but has not played")
    await desk.complete_set(marked.participant)
    failed = await admit(desk, "marked, but the episode failed")
    office.play(desk.study, failed, status="failed")
    await desk.complete_set(failed.participant)
    played = await admit(desk, "played, but left before the last page")
    office.play(desk.study, played)
    elsewhere = await admit(other, "has no place here")
    office.play(desk.study, elsewhere)
    busy = await admit(desk, "still plays")
    office.play(desk.study, busy, status=None)
    findings = {finding.participant: finding.kind for finding in reconcile(desk, office.reader).findings}
    assert findings == {
        marked.participant: "not_played",
        failed.participant: "not_played",
        played.participant: "not_marked",
        elsewhere.participant: "no_place",
    }
    assert reconcile(desk, office.reader).episodes == {"failed": 1, "completed": 2, "running": 1}


async def test_more_than_wanted_is_explained_by_who_was_late(office: Any) -> None:
    desk = office.desk(participants=2)
    slow = await admit(desk, "slow")
    await admit(desk, "other")
    office.clock.pass_minutes(31)
    for name in ("new", "newer"):
        await complete(office, desk, name)
    office.play(desk.study, slow)
    await desk.complete_set(slow.participant)
    balance = reconcile(desk, office.reader)
    assert kinds(balance) == {"over": True}
    assert (
        balance.findings[0].sentence
        == f"{slow.place.cell[0]} has 1 more than the 1 wanted; 1 completed late."
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "no column 'participant id'"),
        ("Participant id,Status\n", "no column 'completion code'"),
        (HEAD + "s,anna\n", "export.csv:2: 2 cells, but the header has 4"),
    ],
)
async def test_a_file_that_is_no_export_is_refused(
    office: Any, tmp_path: Path, text: str, message: str
) -> None:
    desk = office.desk()
    await desk.open()
    path = tmp_path / "export.csv"
    path.write_text(text)
    with pytest.raises(InputError, match=message):
        reconcile(desk, office.reader, path)
    with pytest.raises(InputError, match="cannot be read"):
        reconcile(desk, office.reader, tmp_path / "none.csv")


async def test_a_row_that_names_nobody(office: Any, tmp_path: Path) -> None:
    desk = office.desk()
    await desk.open()
    export = write(tmp_path, {"": ("RETURNED", "")})
    export.write_text(export.read_text(encoding="utf-8-sig") + "\n")
    (finding,) = reconcile(desk, office.reader, export).findings
    assert (finding.kind, finding.sentence) == ("nobody", "Line 2 of the export names nobody.")
