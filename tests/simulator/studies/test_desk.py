from __future__ import annotations

import asyncio
import sqlite3
from collections import Counter
from contextlib import closing
from datetime import timedelta
from typing import Any

import pytest
from arriving import by_link, person

from logs import LogReader
from logs.rows import Run
from simulator.errors import InputError
from simulator.studies import Completion
from simulator.studies.admission import Admission
from simulator.studies.people import Person
from simulator.studies.quota import Place


async def test_a_person_gets_a_place_once(office: Any) -> None:
    desk = office.desk()
    first = await desk.admit(by_link("anna"))
    again = await desk.admit(by_link("anna"))
    assert (first.code, again.code) == ("admitted", "resumed")
    assert first.place.id == again.place.id == "study-pattern/00001"
    assert (first.place.cell, first.place.seed) == (again.place.cell, again.place.seed)
    started = await desk.start_set(person(first))
    assert started.place.state == "started"
    assert (await desk.start_set(person(first))).place.started_at == started.place.started_at
    done = Completion("complete", "C1", "https://app.prolific.com/submissions/complete?cc=C1")
    assert await desk.complete_set(person(first)) == done
    assert await desk.complete_set(person(first)) == done
    assert desk.completion(person(first)) == done
    assert (await desk.admit(by_link("anna"))).code == "already"
    assert (await desk.start_set(person(first))).code == "already"
    states = [row.state for row in office.reader.assignments(run_id="study-pattern", latest=False)]
    assert states == ["reserved", "started", "completed"]


async def test_people_are_spread_and_then_the_study_is_full(office: Any) -> None:
    desk = office.desk()
    admissions = [await desk.admit(f"key {number}") for number in range(6)]
    assert [admission.code for admission in admissions] == ["admitted"] * 4 + ["full"] * 2
    assert Counter(place.cell for place in desk.ledger()) == {("subject",): 2, ("location",): 2}
    assert len({place.seed for place in desk.ledger()}) == 4
    await desk.return_place(person(admissions[0]), "no time")
    back = await desk.admit("key 5")
    assert (back.code, back.place.cell) == ("admitted", admissions[0].place.cell)
    assert (await desk.admit("key 0")).code == "already"
    assert desk.progress().refused == {"full": 2}


async def test_the_same_seed_gives_the_same_places(office: Any) -> None:
    drawn = []
    for seed in (1, 1, 2):
        desk = office.desk(id=f"s{len(drawn)}", seed=seed, exclude=[])
        drawn.append([(await desk.admit(f"key {number}")).place for number in range(4)])
    same = [[(place.cell, place.seed) for place in places] for places in drawn]
    assert same[0] == same[1] != same[2]


async def test_identities_are_kept_apart(office: Any) -> None:
    desk = office.desk()
    admission = await desk.admit(by_link("anna-5f3"))
    await desk.start_set(person(admission))
    kinds = {row.kind: row.value for row in office.reader.identities(participant_id=admission.participant)}
    assert kinds == {"prolific_pid": "anna-5f3", "study_id": "5f0", "session_id": "session of anna-5f3"}
    with closing(sqlite3.connect(office.path)) as connection:
        tables = [
            name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
        ]
        containing = [
            name
            for name in tables
            if "anna-5f3" in str(connection.execute(f"SELECT * FROM {name}").fetchall())
        ]
    assert containing == ["identities"]


@pytest.mark.parametrize(
    "who",
    [{}, {"STUDY_ID": "5f0"}, {"PROLIFIC_PID": " "}, {"PROLIFIC_PID": "{{%PROLIFIC_PID%}}"}, "", "x" * 300],
)
async def test_who_cannot_be_told_apart_gets_no_place(office: Any, who: Any) -> None:
    desk = office.desk()
    assert await desk.admit(who) == Admission(code="no_identity")
    assert desk.ledger() == ()


async def test_a_study_may_require_an_identity(office: Any) -> None:
    desk = office.desk(require_identity=True, identity=["WORKER"])
    assert (await desk.admit("key")).code == "no_identity"
    assert (await desk.admit(by_link("anna"))).code == "no_identity"
    admission = await desk.admit({"WORKER": "w1", "PROLIFIC_PID": "anna"})
    assert admission.placed
    (row,) = office.reader.identities()
    assert (row.kind, row.value) == ("worker", "w1")


async def test_nobody_takes_part_in_two_studies_of_a_benchmark(office: Any) -> None:
    first, second = office.desk(), office.desk(id="second")
    other = office.desk(id="other", benchmark="clarq", seat="seeker")
    third, fourth = office.desk(id="third", exclude=[]), office.desk(id="fourth", exclude=["third"])
    await first.admit("anna")
    assert [(await desk.admit("anna")).code for desk in (second, other, third, fourth)] == [
        "excluded", "admitted", "admitted", "excluded",
    ]  # fmt: skip
    assert (await second.admit("berta")).code == "admitted"
    assert (await first.admit("berta")).code == "excluded"
    assert (await second.admit("berta")).code == "resumed"
    # Who was refused left nothing of theirs in the study.
    assert len(second.ledger()) == 1


async def test_an_episode_in_a_study_without_places_counts_as_taking_part(office: Any) -> None:
    desk, other = office.desk(), office.desk(id="other", exclude=[])
    office.log.put(Run(id="study-old", benchmark="handmethat", setup="H2L", seed=0))
    admission = await other.admit("anna")
    office.play(office.study(id="old"), admission)
    assert (await office.desk(id="named", exclude=["old"]).admit("anna")).code == "excluded"
    assert (await desk.admit("anna")).code == "excluded"


async def test_two_studies_at_once_let_one_person_into_one(office: Any) -> None:
    for number in range(10):
        desks = [office.desk(id=f"a{number}", apart=True), office.desk(id=f"b{number}", apart=True)]
        for desk in desks:
            await desk.open()
        who = f"key {number}"
        codes = sorted(
            [admission.code for admission in await asyncio.gather(*(desk.admit(who) for desk in desks))]
        )
        assert codes == ["admitted", "excluded"]
        assert sorted(place.live for desk in desks for place in desk.ledger()) in ([True], [False, True])


async def test_arrivals_at_once_never_exceed_the_quota(office: Any) -> None:
    """Three programs on one log, each with a rush of people, some of whom come to two of them."""
    desks = [office.desk(apart=True, participants=10) for _ in range(3)]
    rush = [desk.admit(f"key {number % 20}") for number in range(30) for desk in desks[number % 2 :]]
    admissions = await asyncio.gather(*rush)
    places = desks[0].ledger()
    assert Counter(place.cell for place in places) == {("subject",): 5, ("location",): 5}
    assert [place.number for place in places] == list(range(1, 11))
    assert {admission.code for admission in admissions} == {"admitted", "resumed", "full"}
    # Whichever program somebody comes to, and however often, the place is the same.
    given = {
        (admission.participant, admission.place.id, admission.place.cell)
        for admission in admissions
        if admission.place is not None
    }
    assert given == {(place.participant, place.id, place.cell) for place in places}
    assert len({place.participant for place in places}) == 10


async def test_a_place_that_does_not_move_is_given_again(office: Any) -> None:
    desk = office.desk(participants=2)
    slow, quick = [await desk.admit(name) for name in ("slow", "quick")]
    await desk.start_set(person(slow))
    await desk.start_set(person(quick))
    episode = office.play(desk.study, quick, status=None)
    office.clock.pass_minutes(20)
    assert (await desk.admit("third")).code == "full"
    office.turn(episode, 1)
    office.clock.pass_minutes(20)
    third = await desk.admit("third")
    # A turn of theirs twenty minutes ago keeps the place of the one who plays on.
    assert (third.code, third.place.cell) == ("admitted", slow.place.cell)
    assert [place.state for place in desk.ledger()] == ["expired", "started", "reserved"]
    assert (await desk.admit_again(person(slow))).code == "expired"
    # Late is better than never: it counts, and is told apart.
    assert (await desk.complete_set(person(slow))).outcome == "complete"
    assert [place.late for place in desk.ledger()] == [True, False, False]
    assert desk.progress().late == 1


async def test_who_comes_back_too_late_goes_on_if_there_is_room(office: Any) -> None:
    desk = office.desk(participants=4)
    slow = await desk.admit("slow")
    begun = await desk.start_set(person(slow))
    office.clock.pass_minutes(31)
    await desk.admit("other")
    assert desk.ledger()[0].state == "expired"
    back = await desk.admit_again(person(slow))
    assert (back.code, back.place.number, back.place.continues) == ("resumed", 3, slow.place.id)
    assert (back.place.cell, back.place.seed, back.place.state) == (
        slow.place.cell,
        slow.place.seed,
        "started",
    )
    assert back.place.started_at == begun.place.started_at
    # The place that was continued is not counted beside the new one.
    assert [place.number for place in desk.ledger()] == [2, 3]
    await desk.complete_set(person(slow))
    assert not desk.ledger()[1].late
    assert desk.progress().median_minutes == 31


async def test_coming_back_keeps_a_place(office: Any) -> None:
    desk = office.desk(participants=2)
    admission = await desk.admit("anna")
    for _ in range(3):
        office.clock.pass_minutes(25)
        assert (await desk.admit_again(person(admission))).code == "resumed"
    await desk.admit("berta")
    assert [place.live for place in desk.ledger()] == [True, True]


async def test_a_study_may_have_people_start_anew(office: Any) -> None:
    desk = office.desk(resume={"policy": "restart"})
    admission = await desk.admit("anna")
    assert (await desk.admit_again(person(admission))).code == "resumed"
    await desk.start_set(person(admission))
    office.clock.pass_minutes(5)
    again = await desk.admit_again(person(admission))
    assert (again.code, again.place.attempt, again.place.state) == ("restarted", 1, "reserved")
    assert (again.place.id, again.place.cell) == (admission.place.id, admission.place.cell)
    assert again.place.seed != admission.place.seed
    assert again.place.started_at is None
    office.clock.pass_minutes(2)
    await desk.start_set(person(admission))
    office.clock.pass_minutes(4)
    await desk.complete_set(person(admission))
    assert desk.progress().median_minutes == 4
    events = office.reader.events(kind="study.came_back", participant_id=admission.participant)
    assert [event.details["policy"] for event in events] == ["restart"] * 2


async def test_a_study_may_let_nobody_back(office: Any) -> None:
    desk = office.desk(resume={"policy": "block"}, participants=2)
    admission = await desk.admit("anna")
    assert (await desk.admit("anna")).code == "resumed"
    await desk.start_set(person(admission))
    assert [(await desk.admit("anna")).code for _ in range(2)] == ["blocked"] * 2
    assert desk.completion(person(admission)).outcome == "returned"
    assert [(await desk.admit(name)).code for name in ("berta", "carla")] == ["admitted"] * 2


async def test_after_the_longest_time_nobody_goes_on(office: Any) -> None:
    desk = office.desk(resume={"max_age_minutes": 60}, stale_after_minutes=1000)
    admission = await desk.admit("anna")
    await desk.start_set(person(admission))
    office.clock.pass_minutes(60)
    assert (await desk.admit_again(person(admission))).code == "resumed"
    office.clock.pass_minutes(1)
    assert (await desk.admit_again(person(admission))).code == "too_late"
    assert desk.ledger()[0].state == "expired"


async def test_a_study_that_is_open_stays_as_it_is(office: Any) -> None:
    await office.desk().admit("anna")
    run = office.reader.run("study-pattern")
    study = office.study()
    assert run.config["study_hash"] == study.content_hash == office.reader.item(study.content_hash).hash
    assert run.config["study"] == study.to_json()
    assert (run.config["planned"], run.config["wanted"]) == (4, {"subject": 2, "location": 2})
    assert (await office.desk().admit("anna")).code == "resumed"
    for changed in ({"title": "Another"}, {"seed": 1}, {"participants": 6}):
        with pytest.raises(InputError, match="opened with different content"):
            await office.desk(**changed).admit("berta")
    with pytest.raises(InputError, match="opened with different content"):
        await office.desk((("subject",), ("negation",))).admit("berta")
    assert len(office.desk().ledger()) == 1


async def test_items_that_several_people_judge(office: Any) -> None:
    """Nine workers per item, say, each of whom may do several items but none of them twice."""
    items = [(f"item {number}",) for number in range(4)]
    given = {"participants": None, "conditions": None, "judgments_per_item": 2, "sets_per_participant": 3}
    desk = office.desk(items, **given)
    codes = Counter()
    for worker in range(4):
        for _ in range(4):
            admission = await desk.admit(f"worker {worker}")
            codes[admission.code] += 1
            if admission.placed:
                await desk.complete_set(person(admission))
    assert Counter(place.cell for place in desk.ledger()) == dict.fromkeys(items, 2)
    seen = Counter((place.participant, place.cell) for place in desk.ledger())
    assert set(seen.values()) == {1}
    assert max(Counter(who for who, _ in seen).values()) == 3
    assert codes["admitted"] == 8


async def test_progress_tells_time_and_pay(office: Any) -> None:
    desk = office.desk([("subject", "arrow"), ("subject", "qa"), ("location", "arrow"), ("location", "qa")])
    for minutes in (4, 6, 20):
        admission = await desk.admit(f"key {minutes}")
        await desk.start_set(person(admission))
        office.clock.pass_minutes(minutes)
        await desk.complete_set(person(admission))
    await desk.admit("still there")
    progress = desk.progress()
    assert (progress.wanted, progress.states["completed"], progress.states["reserved"]) == (4, 3, 1)
    assert (progress.median_minutes, progress.hourly_pay) == (6, 20)
    assert (progress.spent, progress.committed) == (6, 8)
    assert [(row.cell, row.wanted, row.open) for row in progress.cells] == [
        (("subject",), 2, 0),
        (("location",), 2, 0),
    ]
    assert set(Counter(place.cell for place in progress.places).values()) == {1}


async def test_an_empty_study_has_no_times(office: Any) -> None:
    desk = office.desk(pay=None)
    await desk.open()
    progress = desk.progress()
    assert (progress.median_minutes, progress.hourly_pay, progress.spent) == (None, None, 0)
    assert [row.open for row in progress.cells] == [2, 2]


async def test_a_completion_is_never_taken_back(office: Any) -> None:
    """Another program found the place stale a moment before it was completed, and writes after."""
    desk, other = office.desk(), office.desk(apart=True)
    admission = await desk.admit("anna")
    (seen,) = other.ledger()
    await desk.complete_set(person(admission))
    await other._expire(seen, "stale")
    assert office.reader.assignments(run_id="study-pattern")[0].state == "expired"
    assert desk.ledger()[0].state == "completed"


async def test_two_desks_that_let_in_the_same_person_give_one_place(office: Any) -> None:
    """The second desk looked for the person's places a moment before the first one gave one."""
    desk, other = office.desk(participants=6), office.desk(apart=True, participants=6)
    admission = await desk.admit("anna")
    again = await other._give(Person(person(admission)), "en", ())
    assert (again.code, again.place) == ("resumed", admission.place)
    assert len(desk.ledger()) == 1


async def test_two_tabs_that_come_back_too_late_go_on_with_one_place(office: Any) -> None:
    desk, other = office.desk(participants=6), office.desk(apart=True, participants=6)
    await desk.start_set(person(await desk.admit("anna")))
    office.clock.pass_minutes(31)
    await desk.admit("berta")
    (old, _) = desk.ledger()
    first, second = await desk._revive(old), await other._revive(old)
    assert first == second
    assert len(desk.ledger()) == 2
    # The old tab was at the last page: what it has completed is the person's one set.
    await other._move(old, "completed")
    done = [place for place in desk.ledger() if place.participant == old.participant]
    assert [(place.id, place.state, place.late) for place in done] == [(old.id, "completed", True)]
    assert (await desk.admit_again(old.participant)).code == "already"
    # The number of the place that is no longer there is not given again.
    assert (await desk.admit("carla")).place.number == 4


async def test_only_of_places_that_look_stale_the_log_is_asked_when_their_holders_moved(
    office: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk, asked = office.desk(stale_after_minutes=1), list[str]()
    moved = desk._ledger.with_last_move

    def noting(place: Place) -> Place:
        asked.append(place.participant)
        return moved(place)

    monkeypatch.setattr(desk._ledger, "with_last_move", noting)
    anna = await desk.admit("anna")
    office.clock.now += timedelta(minutes=2)
    berta = await desk.admit("berta")
    asked.clear()
    assert desk.places_left() == 3
    assert asked == []
    await desk.write_event("study.reload", berta.participant)
    office.clock.now += timedelta(seconds=50)
    await desk.write_event("study.reload", berta.participant)
    office.clock.now += timedelta(seconds=50)
    assert desk.places_left() == 3  # who has just loaded the page is there
    assert set(asked) == {berta.participant}
    office.clock.now += timedelta(minutes=2)
    assert desk.places_left() == 4
    assert anna.code == berta.code == "admitted"


async def test_the_log_holds_what_a_reader_elsewhere_needs(office: Any) -> None:
    desk = office.desk(stale_after_minutes=1)
    admission = await desk.admit("anna")
    office.clock.now += timedelta(minutes=2)
    await desk.admit("berta")
    with LogReader(office.path) as reader:
        rows = reader.assignments(participant_id=admission.participant, latest=False)
    assert [(row.state, row.details["cell"], row.details["reason"]) for row in rows] == [
        ("reserved", admission.place.cell[0], ""),
        ("expired", admission.place.cell[0], "stale"),
    ]
