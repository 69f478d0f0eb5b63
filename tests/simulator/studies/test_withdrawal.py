"""Links that are signed, places that stay with a browser, withdrawals that can be taken back."""

from __future__ import annotations

import asyncio
import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlparse

import pytest
from typer.testing import CliRunner

import app  # noqa: F401  (it says which benchmarks hold studies)
from logs import LogReader, LogWriter, load_key
from logs.export import export_log
from simulator.errors import ConflictError
from simulator.studies import Study, StudyDesk
from simulator.studies.admission import erase_due
from simulator.studies.command import study_app
from simulator.studies.people import LINK_KEY, link_key

ANNA, BEN = {"PROLIFIC_PID": "anna"}, {"PROLIFIC_PID": "ben"}


def study(**changes: Any) -> Study:
    plain = {
        "id": "pattern",
        "title": "Finding the pattern",
        "benchmark": "ambibench",
        "seat": "participant",
        "participants": 8,
        "completion_codes": {"complete": "C1", "returned": "C3"},
        "conditions": ["subject"],
    }
    return Study.model_validate(plain | changes)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "log.sqlite"


@pytest.fixture
def desk(path: Path) -> Any:
    opened = []

    def make(clock: Any = None, **changes: Any) -> StudyDesk:
        writer, reader = LogWriter(path, durable=False, group_seconds=0.001), LogReader(path)
        opened.append((writer, reader))
        clocked = {} if clock is None else {"clock": clock}
        return StudyDesk(writer, reader, study(**changes), **clocked)

    yield make
    for writer, reader in opened:
        reader.close()
        writer.close()


async def test_knowing_an_id_opens_nobodys_place(desk: Any) -> None:
    here = desk()
    first = await here.admit(ANNA, browser="browser-of-anna-0")
    assert (await here.admit(ANNA, browser="browser-of-anna-0")).code == "resumed"
    stranger = await here.admit(ANNA, browser="browser-of-eve-00")
    assert (stranger.code, stranger.place) == ("other_browser", None)
    assert (await here.admit(BEN, browser="browser-of-anna-0")).code == "admitted"
    # Until a researcher lets them, once.
    await here.release(first.participant)
    assert (await here.admit(ANNA, browser="telephone-of-anna")).code == "resumed"
    assert (await here.admit(ANNA, browser="browser-of-anna-0")).code == "other_browser"
    await here.release(first.participant)
    assert (await here.admit(ANNA, browser="browser-of-anna-0")).code == "resumed"
    # Whoever has finished gets the code in any browser.
    await here.complete_set(first.participant)
    assert (await here.admit(ANNA, browser="telephone-of-anna")).code == "already"


async def test_a_stranger_in_another_study_gets_no_place_of_this_one(desk: Any) -> None:
    here, elsewhere = desk(), desk(id="elsewhere", exclude=[])
    assert (await here.admit(ANNA, browser="browser-of-anna-0")).code == "admitted"
    assert (await elsewhere.admit(ANNA, browser="browser-of-eve-00")).code == "admitted"
    assert (await here.admit(ANNA, browser="browser-of-eve-00")).code == "other_browser"
    assert (await here.admit(ANNA, browser="browser-of-anna-0")).code == "resumed"


async def test_a_place_of_an_older_log_goes_to_the_browser_that_comes_first(desk: Any) -> None:
    here = desk()
    await here.admit(ANNA)
    assert (await here.admit(ANNA, browser="browser-of-anna-0")).code == "resumed"
    assert (await here.admit(ANNA, browser="browser-of-eve-00")).code == "other_browser"


async def test_a_signed_study_lets_in_whom_a_link_of_its_own_brings(desk: Any, path: Path) -> None:
    here = desk(signed_links=True)
    assert (await here.admit(ANNA, browser="browser-of-anna-0")).code == "unsigned"
    key = load_key(path)
    platform = {LINK_KEY: link_key(here.study, key)}
    other = {LINK_KEY: link_key(study(id="another", signed_links=True), key)}
    bens = {LINK_KEY: link_key(here.study, key, "ben")}
    for wrong in (other, bens, {LINK_KEY: ""}, {LINK_KEY: platform[LINK_KEY][:-1]}):
        assert (await here.admit(ANNA | wrong, browser="browser-of-anna-0")).code == "unsigned"
    assert (await here.admit("a-browser-without-an-id", browser="x" * 16)).code == "unsigned"
    assert (await here.admit(ANNA | platform, browser="browser-of-anna-0")).code == "admitted"
    assert (await here.admit(ANNA | platform, browser="browser-of-eve-00")).code == "other_browser"
    # A link for one person proves who comes.
    assert (await here.admit(BEN | bens, browser="browser-of-ben-00")).code == "admitted"
    assert (await here.admit(BEN | bens, browser="telephone-of-ben-")).code == "resumed"


async def test_links_are_printed(path: Path, tmp_path: Path) -> None:
    file = tmp_path / "study.yaml"
    file.write_text(json.dumps(study(signed_links=True).to_json()))
    arguments = ["links", str(file), "--log", str(path), "--site", "https://lab.example/"]
    result = CliRunner().invoke(study_app, [*arguments, "--id", "anna & co"])
    assert result.exit_code == 0, result.output
    general, personal = result.output.split()
    assert general.startswith("https://lab.example/ambibench/study/pattern?key=")
    blanks = [f"{name}={{{{%{name}%}}}}" for name in ("PROLIFIC_PID", "STUDY_ID", "SESSION_ID")]
    assert general.endswith("&".join(blanks))
    given = dict(parse_qsl(urlparse(personal).query))
    assert given["PROLIFIC_PID"] == "anna & co"
    assert given[LINK_KEY] == link_key(study(), load_key(path), "anna & co")


async def test_a_withdrawal_counts_at_once_and_erases_later(desk: Any, path: Path, tmp_path: Path) -> None:
    now = [datetime(2026, 3, 1, tzinfo=UTC)]
    here = desk(clock=lambda: now[0])
    anna = (await here.admit(ANNA, browser="browser-of-anna-0")).participant
    await here.start_set(anna)
    assert (await here.withdraw(anna)).code == "C3"
    assert (await here.withdraw(anna)).code == "C3"
    assert here.progress().states["withdrawn"] == 1
    assert (await here.admit(ANNA, browser="browser-of-anna-0")).code == "already"
    with LogReader(path) as reader:
        assert reader.erased_participants() == {anna}
        export_log(reader, tmp_path / "out", identities=True)
    text = "".join(file.read_text() for file in (tmp_path / "out").iterdir())
    assert anna not in text
    assert "Omitted, because they have withdrawn: 1 participants." in text
    assert erase_due(path, now=now[0] + timedelta(days=6)) == ()
    (erasure,) = erase_due(path, now=now[0] + timedelta(days=7))
    assert erasure.participant_id == anna
    assert erase_due(path) == ()
    with LogReader(path) as reader:
        assert reader.identities() == []
        assert reader.erased_participants() == {erasure.name}
    with pytest.raises(ConflictError, match="is already erased"):
        await here.restore(anna)


@pytest.mark.parametrize(("done", "state"), [(True, "completed"), (False, "returned")])
async def test_a_withdrawal_can_be_taken_back(desk: Any, path: Path, done: bool, state: str) -> None:
    here = desk()
    anna = (await here.admit(ANNA, browser="browser-of-anna-0")).participant
    await here.start_set(anna)
    if done:
        await here.complete_set(anna)
    with pytest.raises(ConflictError, match="has not withdrawn"):
        await here.restore(anna)
    await here.withdraw(anna)
    assert here.progress().states["withdrawn"] == 1
    (place,) = await here.restore(anna)
    assert place.state == state
    assert erase_due(path) == ()
    with LogReader(path) as reader:
        assert reader.erased_participants() == frozenset()
    # And again: the newest word holds.
    await here.withdraw(anna)
    assert [erasure.participant_id for erasure in erase_due(path)] == [anna]


async def test_a_withdrawal_holds_in_every_study_and_each_takes_it_back(desk: Any, path: Path) -> None:
    first, second = desk(), desk(id="other", exclude=[])
    for here in (first, second):
        anna = (await here.admit(ANNA, browser="browser-of-anna-0")).participant
        await here.start_set(anna)
        await here.complete_set(anna)
    for here in (first, second):
        await here.withdraw(anna)
    for here in (first, second):
        assert [place.state for place in await here.restore(anna)] == ["completed"]
    with pytest.raises(ConflictError, match="has not withdrawn"):
        await second.restore(anna)
    await first.withdraw(anna)
    assert [erasure.participant_id for erasure in erase_due(path, run_id=second.study.run_id)] == [anna]


async def test_who_withdraws_in_two_programs_at_once_is_told_in_one_that_they_are_erased(desk: Any) -> None:
    here, other = desk(), desk()
    who = (await here.admit(ANNA)).participant
    (place,) = other.places_of(who)
    await here.withdraw_and_erase(who)
    with pytest.raises(ConflictError, match="is erased from study"):
        await other._move(place, "withdrawn")


async def test_a_study_may_erase_at_once(desk: Any, path: Path) -> None:
    here = desk(erase_after_days=0)
    anna = (await here.admit(ANNA)).participant
    await here.withdraw(anna)
    with LogReader(path) as reader:
        assert reader.identities() == []


async def test_commands_for_people_who_write_to_the_researcher(desk: Any, path: Path, tmp_path: Path) -> None:
    file = tmp_path / "study.yaml"
    file.write_text(json.dumps(study().to_json()))
    here = desk()
    anna = (await here.admit(ANNA, browser="browser-of-anna-0")).participant

    def run(name: str, *people: str) -> str:
        result = CliRunner().invoke(study_app, [name, str(file), *people, "--log", str(path)])
        return result.output if result.exit_code == 0 else f"failed: {result.exception}"

    async def askback(*words: str) -> str:
        return await asyncio.to_thread(run, *words)

    assert "may continue in the next browser" in await askback("release", "anna")
    assert "no participant in" in await askback("release", "zoe")
    await here.withdraw(anna)
    assert "is back: returned" in await askback("restore", anna)
    assert "nobody left to erase" in await askback("erase")
    await here.withdraw(anna)
    assert f"{anna} is erased." in await askback("erase")
