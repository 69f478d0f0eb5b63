"""Two people who are paired meet, play, leave, fall silent and come back; servers start again."""

from __future__ import annotations

import asyncio
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from duets import ASKER, MODEL, SEATS, TELLER, WITH_MODEL, DuetSessions, House, study
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from logs import LogReader, erase_participant
from logs.export import export_log
from logs.rows import Score
from simulator import frames
from simulator.errors import ConflictError
from simulator.seats import Reply
from simulator.studies.pairs import LOST
from simulator.studies.quality import carelessness_signs
from simulator.studies.reconcile import payment_of, reconcile
from simulator.studies.steering import write_snapshot


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    with ExitStack() as stack:
        yield House(tmp_path / "log.sqlite", stack, study())


@pytest.fixture
def houses(tmp_path: Path) -> Iterator[Any]:
    with ExitStack() as stack:
        yield lambda **more: House(tmp_path / "log.sqlite", stack, study(**more))


async def test_two_people_are_asked_alone_meet_play_and_are_asked_alone(house: House) -> None:
    assert (await house.ready("anna")).stage == "waiting"
    assert {await house.arrive("ben"), house.episodes["anna"][1]} == set(SEATS)
    waiting = house.pairs.waiting(house.episodes["anna"][0])
    assert waiting is not None
    assert waiting.until - waiting.since == timedelta(minutes=5)
    assert (await house.ready("ben")).stage == "play"
    asker, teller = house.by_seat("anna", "ben")
    seen = await house.look(asker)
    assert (seen.stage, seen.lines, seen.study) == ("play", (), True)
    await house.say(asker, "Which colour is it?")
    with pytest.raises(ConflictError):
        await house.say(asker, "And again?")
    assert (await house.say(teller, "It is red.")).stage == "comment"
    # The asker has said nothing more: the task is over for both, and the teller can go.
    done = await house.say(teller, "Nice.")
    assert (done.stage, done.lines) == ("done", ("Which colour is it?", "It is red."))
    assert (house.code(teller), house.code(asker)) == ("C", None)
    assert (await house.look(asker)).stage == "comment"
    await house.say(asker, "Well.")
    assert house.code(asker) == "C"
    (task,) = house.tasks()
    turns = house.reader.turns(task.id)
    assert [turn.payload["participant_id"] for turn in turns] == [
        task.options["people"][turn.seat] for turn in turns
    ]
    assert len({turn.payload["participant_id"] for turn in turns}) == 2
    ending = house.reader.ending(task.id)
    assert ending is not None
    assert ending.status == "completed"
    replay = await house.sessions.replay(*house.episodes[asker])
    assert replay == [seen.item, "Which colour is it?", "It is red."]
    desk = house.sessions._desks["duets"]
    assert reconcile(desk, house.reader).balanced


async def test_what_is_looked_at_and_taken_home_knows_both_people_of_a_pair(
    house: House, tmp_path: Path
) -> None:
    await house.ready("anna")
    await house.ready("ben")
    asker, teller = house.by_seat("anna", "ben")
    await house.say(asker, "Which colour is it?")
    await house.say(teller, "It is red.")
    for who in (asker, teller):
        await house.say(who, "Nice.")
    (task,) = house.tasks()
    people = set(task.options["people"].values())
    table = carelessness_signs(house.reader, house.study)
    assert set(table["participant"]) == people and list(table["sets"]) == [1, 1]
    await house.log.write(Score(episode_id=task.id, metric="right", value=2.0, version="1"))
    owed = payment_of(house.sessions._desks["duets"], house.reader, metric="right", amount=0.5)
    # They came by no platform: nobody can be paid there, and that is said.
    assert (set(owed.unknown), owed.bonus, owed.approve) == (people, {}, ())
    manifest = write_snapshot(house.reader, house.study, tmp_path / "out")
    with LogReader(tmp_path / "out" / "log.sqlite") as snapshot:
        for run in house.study.runs:
            assert [each.id for each in snapshot.episodes(run)] == [
                each.id for each in house.reader.episodes(run)
            ]
        assert len(snapshot.episodes(house.study.runs[1])) == 2
    assert manifest["episodes"] == {"completed": 1}
    asked = frames.episodes(house.reader, [house.study.runs[1]])
    assert set(asked["participant"]) == people
    assert frames.judgments(house.reader, [house.study.runs[1]]).empty


async def test_progress_counts_pairs_and_who_waits(house: House) -> None:
    for who in ("anna", "ben", "cleo"):
        await house.ready(who)
    desk = house.sessions._desks["duets"]
    total = desk.items.total
    assert desk.progress().pairs == {"wanted": total, "started": 1, "waiting": 1}
    await house.leave("anna")
    assert desk.progress().pairs == {"wanted": total, "returned": 1, "waiting": 1}


async def test_a_turn_sent_again_counts_where_it_was_taken(house: House) -> None:
    """A server that is killed has taken it, but has not said so; meanwhile a task has begun or ended."""

    async def submit(who: str, words: str) -> str:
        seen = await house.sessions.submit(*house.episodes[who], Reply(text=words, key=f"{who} {words}"))
        return str(seen.stage)

    await house.ready("ben")
    await house.arrive("anna")
    for words in ("yes", "ready", "ready"):
        await submit("anna", words)
    assert (await house.look("anna")).stage == "play"
    asker, teller = house.by_seat("anna", "ben")
    await submit(asker, "Which colour is it?")
    assert [await submit(teller, "Red."), await submit(teller, "Red.")] == ["comment", "comment"]
    (task,) = house.tasks()
    assert len(house.reader.turns(task.id)) == 2


async def test_a_turn_sent_twice_is_one_turn(house: House) -> None:
    await house.ready("anna")
    await house.ready("ben")
    asker, _ = house.by_seat("anna", "ben")
    for _ in range(2):
        await house.sessions.submit(*house.episodes[asker], Reply(text="Hello?", key="the same"))
    (task,) = house.tasks()
    assert [turn.text for turn in house.reader.turns(task.id)] == ["Hello?"]


async def test_who_waits_in_vain_leaves_with_the_code_of_the_paid_exit(house: House) -> None:
    await house.ready("anna")
    for _ in range(9):
        house.pass_seconds(30)
        assert (await house.look("anna")).stage == "waiting"
    house.pass_seconds(30)
    assert (await house.look("anna")).stage == "done"
    assert (house.code("anna"), house.reason("anna")) == ("P", "no partner came")
    assert await house.arrive("anna") == "taken"
    assert house.tasks() == []
    # The place is free again: two others get a whole pair.
    assert (await house.ready("ben")).stage == "waiting"
    assert (await house.ready("cleo")).stage == "play"


async def test_who_waits_in_vain_plays_with_a_model_where_the_study_has_one(houses: Any) -> None:
    house = houses(pairing=WITH_MODEL)
    await house.ready("anna")
    for _ in range(10):
        house.pass_seconds(30)
        seen = await house.look("anna")
    assert seen.stage == "play"
    assert (await house.say("anna", "Red?")).stage == "comment"
    await house.say("anna", "")
    assert house.code("anna") == "C"
    (task,) = house.tasks()
    seat = house.episodes["anna"][1]
    assert task.seats == {**dict.fromkeys(SEATS, MODEL), seat: "person"}
    assert list(task.options["people"]) == [seat]
    assert len(house.reader.turns(task.id)) == 2


async def test_a_partner_who_leaves_ends_it_for_both_and_each_is_told(house: House) -> None:
    await house.ready("anna")
    await house.ready("ben")
    asker, teller = house.by_seat("anna", "ben")
    await house.say(asker, "Which colour?")
    await house.leave(teller)
    assert (await house.look(teller)).stage == "done"
    assert (house.code(teller), house.reason(teller)) == ("R", "The participant left.")
    assert (await house.look(asker)).stage == LOST
    # The study offers to wait for another one; the item that was seen does not come again.
    (first,) = house.tasks()
    await house.wait_again(asker)
    assert (await house.look(asker)).stage == "waiting"
    assert await house.arrive("cleo") == TELLER
    await house.ready("cleo")
    assert (await house.look(asker)).stage == "play"
    _, second = house.tasks()
    assert second.options["cell"] != first.options["cell"]
    ending = house.reader.ending(first.id)
    assert ending is not None
    assert (ending.status, ending.cause) == ("aborted", TELLER)


async def test_who_is_left_may_go_with_the_code_of_the_paid_exit(house: House) -> None:
    await house.ready("anna")
    await house.ready("ben")
    await house.leave("ben")
    await house.leave("anna")
    assert (house.code("anna"), house.code("ben")) == ("P", "R")
    with pytest.raises(ConflictError):
        await house.wait_again("anna")


async def test_silence_within_the_grace_is_forgiven_and_beyond_it_ends_the_task(houses: Any) -> None:
    house = houses(pairing={"grace_seconds": 60})
    await house.ready("anna")
    await house.ready("ben")
    for _ in range(4):
        house.pass_seconds(15)
        assert (await house.look("anna")).stage == "play"
    assert (await house.look("ben")).stage == "play"
    for _ in range(6):
        house.pass_seconds(15)
        seen = await house.look("anna")
    assert seen.stage == "done"
    assert (house.code("anna"), house.reason("anna")) == ("P", "the partner left")
    assert (await house.look("ben")).stage == "done"
    assert (house.code("ben"), house.reason("ben")) == ("R", "The participant was not there any more.")


async def test_who_was_away_for_too_long_cannot_be_back_before_the_partner_looks(houses: Any) -> None:
    house = houses(pairing={"grace_seconds": 60})
    await house.ready("anna")
    await house.ready("ben")
    house.pass_seconds(50)
    await house.look("anna")
    house.pass_seconds(50)
    assert (await house.look("ben")).stage == "done"
    assert (house.reason("ben"), (await house.look("anna")).stage) != ("", "play")


async def test_a_server_that_was_down_is_nobodys_silence(house: House) -> None:
    await house.ready("anna")
    await house.ready("ben")
    house.pass_seconds(3600 * 3)
    house.start()
    assert (await house.look("ben")).stage == "play"
    house.pass_seconds(30)
    assert (await house.look("anna")).stage == "play"


async def test_who_comes_back_to_the_waiting_room_waits_anew_and_was_not_paired(house: House) -> None:
    await house.ready("anna")
    house.pass_seconds(280)
    assert (await house.ready("ben")).stage == "waiting"
    assert (await house.look("anna")).stage == "play"


async def test_a_seat_that_lacks_somebody_is_given_next(house: House) -> None:
    people = [f"person {number}" for number in range(12)]
    seats = [await house.arrive(who) for who in people]
    for first, second in zip(seats[::2], seats[1::2], strict=True):
        assert {first, second} == set(SEATS)
    assert await house.arrive("one too many") == "full"
    card = house.sessions.study("duets")
    assert card is not None
    assert card.places_left == 0


async def test_who_vanished_at_the_instructions_holds_no_seat(houses: Any) -> None:
    house = houses(judgments_per_item=10)
    for number in range(4):
        await house.arrive(f"ghost {number}")
        await house.look(f"ghost {number}")
        house.pass_seconds(200)
        assert {await house.arrive(f"{who} {number}") for who in ("anna", "ben")} == set(SEATS)


async def test_nobody_sees_an_item_twice_and_each_has_two_sets(house: House) -> None:
    for _ in range(2):
        for who in ("anna", "ben"):
            if who in house.episodes:
                entry = await house.sessions.next_set(house.episodes[who][0])
                assert entry.episode_id is not None
                house.episodes[who] = (entry.episode_id, entry.seat)
        first = await house.look("anna") if house.tasks() else await house.ready("anna")
        assert first.stage == "waiting"
        await (house.look("ben") if house.tasks() else house.ready("ben"))
        asker, teller = house.by_seat("anna", "ben")
        await house.say(asker, "Which?")
        await house.say(teller, "This.")
        for who in ("anna", "ben"):
            await house.say(who, "fine")
    cells = [task.options["cell"] for task in house.tasks()]
    assert len(cells) == 2
    assert cells[0] != cells[1]
    assert (await house.sessions.next_set(house.episodes["anna"][0])).refusal == "done"


async def test_withdrawing_ends_it_for_the_partner_and_is_told_in_no_export(
    house: House, tmp_path: Path
) -> None:
    await house.ready("anna")
    await house.ready("ben")
    asker, teller = house.by_seat("anna", "ben")
    await house.say(asker, "The elephant in the room?")
    await house.sessions.withdraw(house.episodes[asker][0])
    assert (await house.look(teller)).stage == LOST
    assert house.code(asker) == "R"
    export_log(house.reader, tmp_path / "out", format="jsonl")
    assert "elephant" not in (tmp_path / "out" / "turns.jsonl").read_text(encoding="utf-8")
    (task,) = house.tasks()
    erase_participant(house.path, task.options["people"][ASKER])
    assert [turn.text for turn in house.reader.turns(task.id)] == ["[erased]"]
    # The pages of the others go on.
    assert (await house.look(teller)).stage == LOST


async def test_a_stampede_is_paired_without_anybody_left_over(houses: Any) -> None:
    house = houses(judgments_per_item=10)
    people = [f"person {number}" for number in range(24)]
    await asyncio.gather(*(house.ready(who) for who in people))
    stages = Counter([(await house.look(who)).stage for who in people])
    assert stages == {"play": 24}
    sets = [set for task in house.tasks() for set in task.options["sets"].values()]
    assert len(sets) == len(dict.fromkeys(sets)) == 24


# ---- whatever happens

MOVES = (
    *("arrive",) * 3,
    *("agree",) * 3,
    *("look",) * 4,
    *("talk",) * 4,
    "leave",
    "again",
    "withdraw",
    "decline",
    "pass",
    "long",
    "restart",
    "other",
)
PEOPLE = 7


@dataclass
class World:
    """Two servers on one log, and people who do whatever they like."""

    house: House
    servers: list[DuetSessions]
    pairs: dict[str, dict[str, str]] = field(default_factory=dict)

    async def move(self, kind: str, who: str) -> None:
        house = self.house
        if kind == "pass":
            house.pass_seconds(20)
        elif kind == "long":
            house.pass_seconds(200)
        elif kind == "restart":
            self.servers[0] = house.start()
        elif kind == "other":
            self.servers.reverse()
        house.sessions = self.servers[0]
        if kind == "arrive":
            await house.arrive(who)
        if who not in house.episodes:
            return
        with suppress(ConflictError):
            if kind == "look":
                await house.look(who)
            elif kind in ("agree", "talk", "decline"):
                await house.say(who, "no" if kind == "decline" else "yes")
            elif kind == "leave":
                await house.leave(who)
            elif kind == "again":
                await house.wait_again(who)
            elif kind == "withdraw":
                await house.sessions.withdraw(house.episodes[who][0])

    def check(self) -> None:
        """Nobody plays twice at once or with themselves, a pair stays, and the quota holds."""
        house = self.house
        endings = house.reader.endings(house.study.run_id)
        playing: list[int] = []
        counts: Counter[str] = Counter()
        for task in house.tasks():
            people, sets = task.options["people"], task.options["sets"]
            assert len({*people.values()}) == len(people)
            assert self.pairs.setdefault(task.id, people) == people
            ending = endings.get(task.id)
            if ending is None:
                playing += sets.values()
            if ending is None or ending.status == "completed":
                counts[task.options["cell"][0]] += 1
            for turn in house.reader.turns(task.id):
                assert turn.payload.get("participant_id") == people.get(turn.seat)
        assert len(playing) == len(dict.fromkeys(playing))
        limit = house.study.judgments_per_item
        assert limit is not None
        assert all(count <= limit for count in counts.values())

    async def close(self) -> None:
        """Nobody waits for ever: whoever stays has something to do, or an end, when the time is over."""
        house = self.house
        for _ in range(14):
            house.pass_seconds(30)
            for who in house.episodes:
                with suppress(LookupError):
                    await house.look(who)
        for who in house.episodes:
            shown = await house.look(who)
            assert shown.stage != "waiting"
            if shown.stage == "done":
                assert house.code(who) is not None


@given(
    moves=st.lists(st.tuples(st.sampled_from(MOVES), st.integers(0, PEOPLE - 1)), max_size=60),
    pairing=st.sampled_from(({"grace_seconds": 60, "after_loss": "wait"}, {"grace_seconds": 60}, WITH_MODEL)),
)
@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None)
def test_whatever_people_do(moves: list[tuple[str, int]], pairing: dict[str, Any]) -> None:
    asyncio.run(_whatever(moves, pairing))


async def _whatever(moves: list[tuple[str, int]], pairing: dict[str, Any]) -> None:
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        tried = study(pairing=pairing, judgments_per_item=1, conditions=["red", "blue"])
        house = House(Path(folder) / "log.sqlite", stack, tried)
        world = World(house, [house.start(), house.start()])
        for kind, number in moves:
            await world.move(kind, f"person {number}")
            world.check()
        await world.close()
        world.check()
