import asyncio
import random
from dataclasses import asdict, replace

import pytest

from logs import LogError, LogReader, LogWriter
from simulator.clarq.machine import MACHINE
from simulator.errors import InputError
from simulator.models import Unavailable
from simulator.runner.batch import Job, play_jobs, run_batch
from simulator.runner.build import build_plan
from simulator.seats import ScriptSeat
from trees.sources import load_builtin

TASKS = [*load_builtin("en")[:3], *load_builtin("zh")[:1]]


def offline(**others):
    """Built-in seats, except for `others`."""
    names = {"seeker": "offline/seeker", "provider": "offline/experts"}
    return {seat: MACHINE.seat_for(seat, name, None, {}) for seat, name in names.items()} | others


def plan(tasks=TASKS, seats=None, name="run", **changes):
    given = {
        "machine": MACHINE,
        "items": tasks,
        "seats": seats or offline(),
        "config": {},
        "seed": 3,
        "name": name,
    }
    return build_plan(**{**given, **changes})


def contents(reader, run="run"):
    """Return the rows played, said and scored, without times."""
    endings = reader.endings(run)
    scores = {}
    for score in reader.scores(run_id=run):
        scores.setdefault(score.episode_id, {})[score.metric] = (score.value, score.details)
    left_out = {"created_at", "seconds"}
    return {
        played.episode.id: (
            endings[played.episode.id].status if played.episode.id in endings else None,
            scores.get(played.episode.id),
            [{k: v for k, v in asdict(turn).items() if k not in left_out} for turn in played.turns],
        )
        for played in reader.turns_of_run(run, latest=False)
    }


class Counted:
    """A seat around another that counts its replies, and may do something at one of them."""

    kind = "offline"

    def __init__(self, inner, at=None, act=lambda: None):
        self.inner, self.at, self.act = inner, at, act
        self.name, self.kind = inner.name, inner.kind
        self.episodes = []

    async def reply(self, view):
        self.episodes.append(view.episode_id)
        if len(self.episodes) == self.at:
            self.act()
        await asyncio.sleep(0)
        return await self.inner.reply(view)


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory):
    path = tmp_path_factory.mktemp("whole") / "log.sqlite"
    with LogWriter(path, durable=False) as log, LogReader(path) as reader:
        asyncio.run(run_batch(plan(repeats=2), log, reader, concurrency=3))
        return contents(reader)


async def test_every_episode_is_played_once(log, reader, uninterrupted):
    counts = []
    tally = await run_batch(plan(repeats=2), log, reader, on_progress=lambda tally: counts.append(tally.done))
    assert contents(reader).keys() == uninterrupted.keys()
    assert len(uninterrupted) == 2 * len(TASKS)
    assert counts == list(range(9))
    assert (tally.planned, tally.done, tally.statuses) == (8, 8, {"completed": 8})
    assert len(tally.scores["success"]) == 8
    assert reader.progress("run").done == 8


@pytest.mark.parametrize("concurrency", [1, 50])
async def test_concurrency_changes_nothing(log, reader, uninterrupted, concurrency):
    await run_batch(plan(repeats=2), log, reader, concurrency=concurrency)
    assert contents(reader) == uninterrupted


async def test_concurrency_is_bounded(log, reader):
    now, most = set(), 0

    class Slow(Counted):
        async def reply(self, view):
            nonlocal most
            now.add(view.episode_id)
            most = max(most, len(now))
            reply = await super().reply(view)
            if "goodbye" in reply.text.lower() or "再见" in reply.text:
                now.discard(view.episode_id)
            return reply

    await run_batch(plan(seats=offline(seeker=Slow(offline()["seeker"]))), log, reader, concurrency=3)
    assert most == 3


async def sit(log, reader, at):
    """Play on until the seeker's reply number `at` cancels it; whether it finished, and what it played."""
    seeker = Counted(offline()["seeker"], at=at, act=lambda: task.cancel())
    task = asyncio.create_task(run_batch(plan(repeats=2, seats=offline(seeker=seeker)), log, reader))
    try:
        await task
    except asyncio.CancelledError:
        return False, seeker.episodes
    return True, seeker.episodes


@pytest.mark.parametrize("seed", range(4))
async def test_interrupted_anywhere_and_continued_it_is_the_same_run(log_path, uninterrupted, seed):
    chance = random.Random(seed)
    finished, sittings = False, 0
    while not finished:
        sittings += 1
        assert sittings < 40
        with LogWriter(log_path, durable=False) as log, LogReader(log_path) as reader:
            before = contents(reader)
            finished, episodes = await sit(log, reader, chance.randint(1, 30))
            after = contents(reader)
        for episode, (status, scores, turns) in before.items():
            assert after[episode][2][: len(turns)] == turns
            assert status is None or after[episode] == (status, scores, turns)
            assert status is None or episode not in episodes
    assert sittings > 1
    assert after == uninterrupted


async def test_a_finished_run_is_left_alone(log, reader, uninterrupted):
    await run_batch(plan(repeats=2), log, reader)
    seeker = Counted(offline()["seeker"])
    tally = await run_batch(plan(repeats=2, seats=offline(seeker=seeker)), log, reader)
    assert seeker.episodes == []
    assert contents(reader) == uninterrupted
    assert (tally.done, len(tally.scores["aql"])) == (8, 8)


async def test_an_episode_without_turns_is_taken_up(log, reader):
    made = plan(TASKS[:1])
    ((episode, row, _),) = made.episodes()
    for part in (made.run, row, episode):
        log.put(part)
    await run_batch(made, log, reader)
    assert contents(reader)[episode.id][0] == "completed"


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"seed": 4}, "seed: 3 there, 4 here"),
        ({"repeats": 2}, "repeats: 1 there, 2 here"),
        ({"options": {"multi": True}}, "options: {} there, {'multi': True} here"),
        ({"config": {"data": "clarq"}}, "data: None there, 'clarq' here"),
        ({"tasks": TASKS[1:2]}, "items: "),
        ({"seats": offline(seeker=ScriptSeat(["Goodbye"]))}, "seats: "),
    ],
)
async def test_another_configuration_under_the_same_name_is_refused(log, reader, change, field):
    await run_batch(plan(TASKS[:1]), log, reader)
    before = contents(reader)
    with pytest.raises(InputError, match="another configuration") as caught:
        await run_batch(plan(**{"tasks": TASKS[:1], **change}), log, reader)
    assert field in str(caught.value)
    assert "--run" in str(caught.value)
    assert contents(reader) == before


async def test_a_configuration_is_compared_as_the_log_keeps_it(log, reader):
    made = plan(TASKS[:1], config={"languages": ("en", "zh")})
    await run_batch(made, log, reader)
    assert (await run_batch(made, log, reader)).done == 1


# Faults


def failing(times, where=TASKS[1].id, error=None):
    """A seeker that fails in the first `times` attempts at one item."""
    inner = offline()["seeker"]
    tried = []

    class Failing(Counted):
        async def reply(self, view):
            if f"/{where}.en/" in view.episode_id and len(view.lines) > 2:
                if view.episode_id not in tried:
                    tried.append(view.episode_id)
                if len(tried) <= times:
                    raise error or Unavailable("down")
            return await super().reply(view)

    return Failing(inner)


async def test_a_failed_episode_is_run_again_at_once_and_then_in_the_next_sitting(log, reader, uninterrupted):
    seats = offline(seeker=failing(3))
    tally = await run_batch(plan(seats=seats), log, reader)
    assert tally.statuses == {"completed": 3, "failed": 1}
    base = f"run/{TASKS[1].id}.en/0"
    assert [e.id for e in reader.episodes("run") if e.id.startswith(base)] == [base, f"{base}#1"]
    tally = await run_batch(plan(seats=seats), log, reader)
    assert tally.statuses == {"completed": 4}
    attempts = [e for e in reader.episodes("run") if e.id.startswith(base)]
    assert [(e.id, e.attempt) for e in attempts] == [(f"{base}#{n}" if n else base, n) for n in range(4)]
    assert len({e.seed for e in attempts}) == 1
    assert [reader.ending(e.id).status for e in attempts] == ["failed", "failed", "failed", "completed"]
    texts = [turn["text"] for turn in contents(reader)[attempts[-1].id][2]]
    assert texts == [turn["text"] for turn in uninterrupted[base][2]]
    assert reader.progress("run").done == 4


async def test_a_failed_episode_is_run_again_while_the_other_places_wait_for_jobs(log, reader):
    def fail(view):
        raise Unavailable("the server is away")

    failing = plan(TASKS[:1], offline(seeker=ScriptSeat(fail)))
    await log.write(failing.run)
    jobs = asyncio.Queue()
    for episode, row, item in failing.episodes():
        jobs.put_nowait(Job(episode, row, item))
    ended = asyncio.get_running_loop().create_future()
    playing = asyncio.create_task(
        play_jobs(
            MACHINE,
            failing.seats,
            log,
            jobs.get,
            places=1,
            on_ending=lambda job, ending, scores: ended.set_result(ending),
        )
    )
    ending = await asyncio.wait_for(ended, 10)
    assert (ending.status, ending.episode_id[-2:]) == ("failed", "#1")
    playing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await playing


@pytest.mark.parametrize("name", ["a/b", "../x", ".x", "-x", " x", "x ", "a\nb", "a\\b", "a\u00a0b"])
async def test_unsafe_names_are_refused_for_new_runs(log, reader, name):
    with pytest.raises(InputError, match="a run's name has no slash"):
        await run_batch(plan(TASKS[:1], name=name), log, reader)
    assert not reader.runs()


async def test_old_runs_with_unsafe_names_can_be_continued(log, reader):
    drafted = plan(TASKS[:1], name="a/b")
    await log.write(drafted.run)
    await run_batch(drafted, log, reader)
    assert [played.turns != () for played in reader.turns_of_run("a/b")] == [True]


async def test_a_run_name_may_hold_the_attempts_mark(log, reader):
    await run_batch(plan(TASKS[:2], seats=offline(seeker=failing(3)), name="night #2"), log, reader)
    again = [e.id for e in reader.episodes("night #2") if e.attempt]
    assert again == [f"night #2/{TASKS[1].id}.en/0#1"]


async def test_a_seat_that_explodes_takes_its_own_episode_only(log, reader, uninterrupted):
    seats = offline(seeker=failing(99, error=RecursionError("round and round")))
    tally = await run_batch(plan(seats=seats), log, reader, concurrency=3)
    assert tally.statuses == {"completed": 3, "failed": 1}
    logged = contents(reader)
    for episode, whole in uninterrupted.items():
        if episode.endswith("/0") and TASKS[1].id not in episode:
            assert logged[episode] == whole
    assert len(reader.events(kind="exception")) == 2


async def test_an_aborted_episode_is_not_run_again(log, reader):
    seats = offline(seeker=ScriptSeat([""]))
    tally = await run_batch(plan(TASKS[:1], seats=seats), log, reader)
    assert tally.statuses == {"aborted": 1}
    assert (await run_batch(plan(TASKS[:1], seats=seats), log, reader)).statuses == {"aborted": 1}
    assert len(reader.episodes("run")) == 1


async def test_a_log_that_fails_stops_the_run(log, reader):
    seeker = Counted(offline()["seeker"], at=5, act=log.close)
    with pytest.raises(LogError, match="closed"):
        await run_batch(plan(seats=offline(seeker=seeker)), log, reader, concurrency=2)


@pytest.mark.parametrize("concurrency", [0, -1])
async def test_nobody_at_work_is_refused(log, reader, concurrency):
    with pytest.raises(InputError, match="must be 1 or more"):
        await run_batch(plan(), log, reader, concurrency=concurrency)


async def test_items_of_one_name_in_two_versions_do_not_mix(log, reader):
    changed = replace(TASKS[0], type=TASKS[0].type + 1)
    await run_batch(plan(TASKS[:1], name="a"), log, reader)
    await run_batch(plan([changed], name="b"), log, reader)
    assert reader.items("a") != reader.items("b")
