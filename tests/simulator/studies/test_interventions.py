"""Researchers' interventions in a study (exclude, free a place, write) and their effect on counts."""

from __future__ import annotations

import asyncio
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import duets
import guessing
import pytest
from typer.testing import CliRunner

import app
from logs import LogReader, LogWriter, erase_participant
from logs.rows import EXCLUDED, INCLUDED, Score
from simulator.errors import ConflictError, InputError
from simulator.runner.logged import erased_episodes, played_items
from simulator.studies import StudyDesk
from simulator.studies.known import find_study
from simulator.studies.material import material_of
from simulator.studies.places import FREED, MESSAGE, MESSAGE_SEEN
from simulator.studies.reconcile import payment_of, reconcile

STUDY = "ambibench-multiple"


async def completed(office: Any, desk: Any, who: str) -> tuple[str, str]:
    """Let somebody in who plays to the end; return their pseudonym and episode."""
    admission = await desk.admit({"PROLIFIC_PID": who})
    await desk.start_set(admission.participant)
    episode = office.play(desk.study, admission)
    await desk.complete_set(admission.participant)
    return admission.participant, episode


async def test_who_is_excluded_counts_nowhere_and_their_place_is_free(office: Any) -> None:
    desk = office.desk(participants=2)
    anna, episode = await completed(office, desk, "anna")
    ben, _ = await completed(office, desk, "ben")
    assert desk.places_left() == 0
    places = await desk.exclude(anna, " bot-like typing ", by="ann")
    assert [place.state for place in places] == ["excluded"]
    assert desk.places_left() == 1
    (event,) = office.reader.events(kind=EXCLUDED)
    assert (event.participant_id, event.details) == (anna, {"by": "ann", "reason": "bot-like typing"})
    # What they said is there, and reports leave it out, unless they are told otherwise.
    assert office.reader.turns(episode)
    assert erased_episodes(office.reader, desk.study.run_id) == {episode}
    with LogReader(office.path, with_excluded=True) as everybody:
        assert erased_episodes(everybody, desk.study.run_id) == frozenset()
    counting = [played.episode.participant_id for played in played_items(office.reader, desk.study.run_id)]
    assert counting == [ben]
    assert office.reader.uncounted_participants("another run") == frozenset()
    # They come back to no place, and somebody else gets theirs.
    assert (await desk.admit({"PROLIFIC_PID": "anna"})).code == "already"
    assert (await desk.admit({"PROLIFIC_PID": "cleo"})).code == "admitted"
    owed = payment_of(desk, office.reader)
    assert (owed.approve, owed.review, owed.reject) == (("ben",), (), {"anna": "bot-like typing"})
    (file,) = [file for file in owed.write(office.path.parent / "pay") if file.name == "reject.csv"]
    assert file.read_text(encoding="utf-8") == "anna,bot-like typing\n"
    assert reconcile(desk, office.reader).balanced
    assert desk.progress().states["excluded"] == 1


async def test_an_exclusion_can_be_taken_back_and_holds_through_a_withdrawal(office: Any) -> None:
    desk = office.desk(participants=2)
    anna, episode = await completed(office, desk, "anna")
    with pytest.raises(ConflictError, match="is not excluded"):
        await desk.include(anna, by="ann")
    await desk.exclude(anna, "twice here", by="ann")
    with pytest.raises(ConflictError, match="is already excluded"):
        await desk.exclude(anna, "twice here", by="ann")
    assert [place.state for place in await desk.include(anna, by="ann")] == ["completed"]
    assert erased_episodes(office.reader, desk.study.run_id) == frozenset()
    await desk.exclude(anna, "twice here", by="ann")
    await desk.withdraw(anna)
    assert [place.state for place in await desk.restore(anna)] == ["excluded"]
    assert erased_episodes(office.reader, desk.study.run_id) == {episode}
    await desk.withdraw_and_erase(anna)
    with pytest.raises(ConflictError):
        await desk.include(anna, by="ann")


async def test_a_place_is_taken_from_whoever_is_under_way_alone(office: Any) -> None:
    desk = office.desk(participants=2)
    anna = (await desk.admit({"PROLIFIC_PID": "anna"})).participant
    ben, _ = await completed(office, desk, "ben")
    assert (await desk.free(anna, "asleep", by="ann")).state == "returned"
    assert desk.places_left() == 1
    assert office.reader.events(kind=FREED)[0].details == {"by": "ann", "reason": "asleep"}
    assert office.reader.uncounted_participants() == frozenset()
    for person in (anna, ben):
        with pytest.raises(ConflictError, match="not under way"):
            await desk.free(person, "asleep", by="ann")
    with pytest.raises(ConflictError, match="has no place"):
        await desk.free("p-nobody", "asleep", by="ann")


@pytest.mark.parametrize("text", ["", "  \n", "x" * 2001])
async def test_what_is_said_to_or_of_somebody_has_words(office: Any, text: str) -> None:
    desk = office.desk()
    anna = (await desk.admit({"PROLIFIC_PID": "anna"})).participant
    for asked in (desk.exclude, desk.free, desk.send_message):
        with pytest.raises(InputError, match="Please write"):
            await asked(anna, text, by="ann")
    assert desk.ledger()[0].state == "reserved"


async def test_a_message_is_there_until_it_is_acknowledged_by_whom_it_is_for(office: Any) -> None:
    desk = office.desk()
    anna, ben = [(await desk.admit({"PROLIFIC_PID": who})).participant for who in ("anna", "ben")]
    await desk.send_message(anna, "Please look at the pictures.", by="ann")
    await desk.send_message(anna, "Thank you!", by="ann")
    first, second = desk.messages(anna)
    assert (first.text, second.text) == ("Please look at the pictures.", "Thank you!")
    assert desk.messages(ben) == ()
    await desk.acknowledge(ben, first.id)
    await desk.acknowledge(anna, "0" * 16)
    assert desk.messages(anna) == (first, second)
    for _ in range(2):
        await desk.acknowledge(anna, first.id)
    assert desk.messages(anna) == (second,)
    (seen,) = office.reader.events(kind=MESSAGE_SEEN)
    assert (seen.participant_id, seen.details) == (anna, {"id": first.id})
    erase_participant(office.path, anna)
    assert desk.messages(anna) == ()
    assert "pictures" not in str([event.details for event in office.reader.events(kind=MESSAGE)])


async def test_a_set_ends_when_its_place_is_taken(tmp_path: Path) -> None:
    house = guessing.House(tmp_path / "log.sqlite")
    episode = (await house.enter("anna")).episode_id
    assert episode is not None
    await house.say(episode, "yes", guessing.RIGHT, "a")
    person = house.reader.episode(episode).participant_id
    desk = house.sessions._desks["words"]
    await desk.exclude(person, "bot", by="ann")
    before = house.reader.turns(episode)
    await house.sessions.submit(episode, guessing.SEAT, guessing.Reply(text="b", key="late"))
    assert house.reader.turns(episode) == before, "nothing is said after the end"
    ending = house.reader.ending(episode)
    assert ending is not None and ending.status == "aborted"
    left = house.sessions.completion(episode)
    assert left is not None and left.code == "R"
    assert (await house.enter("anna")).refusal == "taken"
    house.reader.close()
    house.log.close()


async def test_of_a_pair_the_other_one_is_told_and_paid_and_the_task_is_wanted_again(tmp_path: Path) -> None:
    with ExitStack() as stack:
        house = duets.House(tmp_path / "log.sqlite", stack, duets.study(pairing={"grace_seconds": 60}))
        before = house.sessions._desks["duets"].places_left()
        for who in ("anna", "ben"):
            await house.ready(who)
        desk = house.sessions._desks["duets"]
        person = house.reader.episode(house.episodes["anna"][0]).participant_id
        await desk.exclude(person, "rude", by="ann")
        await house.look("ben")
        assert house.reason("ben") == "the partner left"
        assert (await house.look("anna")).stage == "done"
        states = {place.participant: place.state for place in desk.ledger()}
        assert states.pop(person) == "excluded" and set(states.values()) == {"returned"}
        assert house.code("ben") == "P" and desk.places_left() == before


async def test_of_a_pair_that_was_done_the_task_counts_no_longer(tmp_path: Path) -> None:
    with ExitStack() as stack:
        house = duets.House(tmp_path / "log.sqlite", stack, duets.study())
        for who in ("anna", "ben"):
            await house.ready(who)
        asker, teller = house.by_seat("anna", "ben")
        await house.say(asker, "Which colour is it?")
        await house.say(teller, "It is red.")
        for who in (asker, teller):
            await house.say(who, "Nice.")
        (task,) = house.tasks()
        house.log.put(Score(episode_id=task.id, metric="success", value=1.0, version="1")).result()
        desk = house.sessions._desks["duets"]
        left = desk.places_left()
        person = house.reader.episode(house.episodes[asker][0]).participant_id
        await desk.exclude(person, "rude", by="ann")
        assert erased_episodes(house.reader, house.study.run_id) == {task.id}
        assert desk.places_left() == left + 2
        assert payment_of(desk, house.reader).reject == {}  # nobody came by a platform


def test_the_commands(tmp_path: Path) -> None:
    def run(*words: str) -> Any:
        command = ["study", words[0], STUDY, *words[1:], "--log", str(tmp_path / "log.sqlite")]
        return CliRunner().invoke(app.cli, command, catch_exceptions=False)

    study = find_study(STUDY)
    with (
        LogWriter(tmp_path / "log.sqlite", durable=True) as writer,
        LogReader(tmp_path / "log.sqlite") as reader,
    ):
        material = material_of(study)
        assert material is not None
        desk = StudyDesk(writer, reader, study, material.cells)

        async def begin() -> None:
            for who in ("anna", "ben"):
                await desk.start_set((await desk.admit({"PROLIFIC_PID": who})).participant or "")

        asyncio.run(begin())
    assert "their page next updates" in run("message", "anna", "Hello <b>you</b>").output
    assert "is excluded" in run("exclude", "anna", "--reason", "bot").output
    assert "returned" in run("restore", "anna").output
    assert "the place is free" in run("return", "ben", "--reason", "asleep").output
    with LogReader(tmp_path / "log.sqlite") as reader:
        done = {event.kind: event.details["by"] for event in reader.events() if "by" in event.details}
        kinds = (MESSAGE, EXCLUDED, INCLUDED, "researcher.study", FREED)
        assert done == dict.fromkeys(kinds, "command line")
