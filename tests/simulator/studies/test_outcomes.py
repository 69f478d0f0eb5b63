"""Outcomes of places in a study, and the traces of people who are gone."""

from __future__ import annotations

from typing import Any

import pytest
from arriving import by_link, person

from logs import erase_participant
from simulator.errors import ConflictError
from simulator.studies import Completion


async def test_what_a_place_becomes_is_final(office: Any) -> None:
    desk = office.desk()
    gone, failed, done = [await desk.admit(name) for name in ("gone", "failed", "done")]
    assert await desk.return_place(person(gone)) == Completion(
        "returned", "C3", "https://app.prolific.com/submissions/complete?cc=C3"
    )
    assert (await desk.screen_out(person(failed), "comprehension")).code == "C2"
    with pytest.raises(ConflictError, match="not finished"):
        desk.completion(person(done))
    await desk.complete_set(person(done))
    for move, who in ((desk.complete_set, gone), (desk.return_place, failed), (desk.screen_out, done)):
        before = desk.ledger()
        with pytest.raises(ConflictError, match="cannot be marked"):
            await move(person(who))
        assert desk.ledger() == before
    for call in (desk.complete_set, desk.admit_again, desk.start_set, desk.withdraw_and_erase):
        with pytest.raises(ConflictError, match="has no place"):
            await call("pnobody")


@pytest.mark.parametrize(
    ("changed", "outcome", "completion"),
    [
        ({"completion_url": None}, "complete", ("C1", None)),
        ({"completion_url": "https://x.org/?cc=C1"}, "complete", ("C1", "https://x.org/?cc=C1")),
        ({"completion_url": "https://x.org/?cc=C1"}, "returned", ("C3", None)),
        ({"completion_codes": None}, "complete", (None, None)),
    ],
)
async def test_an_address_never_carries_another_outcomes_code(
    office: Any, changed: dict[str, Any], outcome: str, completion: tuple[str | None, str | None]
) -> None:
    desk = office.desk(**changed)
    admission = await desk.admit("anna")
    left = await (desk.complete_set if outcome == "complete" else desk.return_place)(person(admission))
    assert left == (Completion(outcome, *completion))  # type: ignore[arg-type]


async def test_taking_consent_back_erases_and_frees_the_place(office: Any) -> None:
    desk = office.desk(participants=2)
    anna, berta = [await desk.admit(by_link(name)) for name in ("anna", "berta")]
    await desk.start_set(person(anna))
    episode = office.play(desk.study, anna, status=None)
    assert (await desk.admit(by_link("carla"))).code == "full"
    assert (await desk.withdraw_and_erase(person(anna))).code == "C3"
    assert [turn.text for turn in office.reader.turns(episode)] == ["[erased]"]
    assert office.reader.identities(participant_id=anna.participant) == []
    assert len(office.reader.identities(participant_id=berta.participant)) == 3
    (receipt,) = office.reader.events(kind="participant.erased")
    assert receipt.details["reason"] == "consent withdrawn in study pattern"
    place = desk.ledger()[0]
    assert (place.state, place.cell, place.erased) == ("withdrawn", None, True)
    carla = await desk.admit(by_link("carla"))
    assert (carla.code, carla.place.cell) == ("admitted", anna.place.cell)
    assert (await desk.admit(by_link("anna"))).code == "full"
    assert desk.progress().states["withdrawn"] == 1
    assert receipt.details["kept_out_of"] == []


@pytest.mark.parametrize("why", ["the study says so", "a researcher excluded them", "another study does"])
async def test_who_is_erased_comes_back_as_somebody_new_unless_an_exclusion_list_has_them(
    office: Any, why: str
) -> None:
    strict = {"keep_out_erased": True} if why == "the study says so" else {}
    desk, other = office.desk(**strict), office.desk(id="other", exclude=["pattern"])
    anna, berta = [person(await desk.admit(by_link(name))) for name in ("anna", "berta")]
    await desk.complete_set(anna)
    if why == "a researcher excluded them":
        await desk.exclude(anna, "a bot", by="ann")
    await desk.withdraw_and_erase(anna)
    (receipt,) = office.reader.events(kind="participant.erased")
    with office.reader.connection() as connection:
        left = "".join(connection.iterdump())
    assert (anna in left) == (why != "another study does")
    place = next(place for place in desk.ledger() if place.erased)
    assert (place.participant, place.state) == (receipt.participant_id, "withdrawn")
    again = await (other if why == "another study does" else desk).admit(by_link("anna"))
    if why == "another study does":
        assert receipt.details["kept_out_of"] == []
        assert (receipt.participant_id or "").startswith("erased-")
        # Nothing tells that they were here, neither in the study nor in those that keep out its people.
        assert (again.code, again.participant) == ("admitted", anna)
    else:
        assert (again.code, receipt.participant_id) == ("already", anna)
        assert receipt.details["kept_out_of"] == [desk.study.run_id]
        assert (await other.admit(by_link("anna"))).code == "excluded"
    assert office.reader.participant(berta).id == berta


async def test_a_person_erased_by_command_frees_their_place_too(office: Any) -> None:
    desk = office.desk(participants=2)
    anna = await desk.admit("anna")
    await desk.complete_set(person(anna))
    await desk.admit("berta")
    erase_participant(office.path, person(anna))
    assert (await desk.admit("carla")).place.cell == anna.place.cell
