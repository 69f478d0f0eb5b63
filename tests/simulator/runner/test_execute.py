import asyncio
import re
from dataclasses import asdict, replace

import pytest

from logs import LogError
from logs.rows import Episode, Run
from simulator.clarq.machine import MACHINE, ClarqMachine
from simulator.errors import SeatError
from simulator.models import Refused, ScriptModel, Unavailable
from simulator.runner.execute import Recorder, execute
from simulator.runner.machines import ActiveEpisode
from simulator.seats import PersonSeat, ScriptSeat
from trees.sources import load_builtin


def seats(**others):
    made = {seat: MACHINE.seat_for(seat, name, None, {}) for seat, name in OFFLINE.items()}
    return made | others


OFFLINE = {"seeker": "offline/seeker", "provider": "offline/experts"}


def prepare(log, task, who, *, number=0, durable=False, **options):
    """An episode in the log, ready to be played."""
    item = MACHINE.item_row(task)
    episode = Episode(
        id=f"e{number}",
        run_id="run",
        item_hash=item.hash,
        language=task.language,
        seats={seat: player.name for seat, player in who.items()},
        seed=11,
        repeat=number,
        options=options,
    )
    log.put(Run(id="run", benchmark="clarq", setup="L2L", seed=0))
    log.put(item)
    log.put(episode)
    recorder = Recorder(log, durable=durable)
    return ActiveEpisode(episode=episode, item=task, seats=who, record=recorder), recorder


async def played(log, task, who, turns=(), *, machine=MACHINE, number=0, **options):
    live, recorder = prepare(log, task, who, number=number, **options)
    for turn in turns:
        log.put(replace(turn, episode_id=live.episode.id))
    return await execute(
        machine, live, log, recorder, [replace(t, episode_id=live.episode.id) for t in turns]
    )


def bare(row):
    left_out = {"created_at", "seconds", "episode_id"}
    return {key: value for key, value in asdict(row).items() if key not in left_out}


async def test_an_episode_is_played_scored_and_ended(log, reader, check, either_lamp):
    outcome = await played(log, either_lamp, seats())
    turns = reader.turns("e0")
    check(either_lamp, turns)
    assert reader.ending("e0").status == outcome.ending.status == "completed"
    await log.aflush()
    stored = {score.metric: score.value for score in reader.scores(episode_id="e0")}
    assert stored == {score.metric: score.value for score in outcome.scores}
    assert set(stored) == {"success", "aqd", "aql"}
    assert list(map(bare, outcome.scores)) == list(map(bare, MACHINE.score(either_lamp, turns, ())))


async def test_the_turn_limit_truncates(log, reader, check, lamp):
    outcome = await played(log, lamp, seats(seeker=ScriptSeat(["And?"] * 9)), turn_limit=2)
    check(lamp, reader.turns("e0"), limit=2)
    assert outcome.ending.status == "truncated"
    assert len(outcome.scores) == 3


@pytest.mark.parametrize("language", ["en", "zh"])
async def test_from_any_prefix_it_is_the_same_dialogue(log, reader, language):
    task = load_builtin(language)[3]
    whole = await played(log, task, seats())
    turns = reader.turns("e0")
    assert len(turns) > 6
    for cut in range(len(turns) + 1):
        outcome = await played(log, task, seats(), turns[:cut], number=cut + 1)
        await log.aflush()
        again = reader.turns(f"e{cut + 1}")
        assert list(map(bare, again)) == list(map(bare, turns))
        assert list(map(bare, outcome.scores)) == list(map(bare, whole.scores))
        assert reader.ending(f"e{cut + 1}").status == whole.ending.status


async def test_where_a_person_is_due_it_waits(log, reader, lamp):
    outcome = await played(log, lamp, seats(seeker=PersonSeat()))
    assert outcome.ending is None
    assert outcome.scores == ()
    assert len(reader.turns("e0")) == 1
    assert reader.ending("e0") is None


def raising(error):
    def answer(view):
        raise error

    return ScriptSeat(answer)


@pytest.mark.parametrize(
    ("error", "status", "cause"),
    [
        (SeatError("no", "seeker"), "aborted", "seeker"),
        (SeatError("unreadable", "parser"), "aborted", "parser"),
        (Unavailable("down"), "failed", "infrastructure"),
        (ZeroDivisionError("oops"), "failed", "infrastructure"),
    ],
)
async def test_a_fault_becomes_an_ending(log, reader, lamp, error, status, cause):
    outcome = await played(log, lamp, seats(seeker=raising(error)))
    ending = reader.ending("e0")
    assert (ending.status, ending.cause) == (status, cause)
    assert str(error) in ending.message
    assert outcome.scores == ()
    await log.aflush()
    assert reader.scores(episode_id="e0") == []
    assert len(reader.turns("e0")) == 1
    tracebacks = [event.details["traceback"] for event in reader.events(kind="exception")]
    assert bool(tracebacks) == isinstance(error, ZeroDivisionError)
    assert all("in answer" in text for text in tracebacks)


@pytest.mark.parametrize("answer", [{"reason": "so", "relevant": "maybe"}, "no JSON"])
async def test_an_answer_of_the_wrong_form_is_the_parsers_fault(log, reader, lamp, answer):
    provider = MACHINE.seat_for("provider", "offline/script", lambda name: ScriptModel(lambda _: answer), {})
    await played(log, lamp, seats(provider=provider))
    ending = reader.ending("e0")
    assert (ending.status, ending.cause) == ("failed", "parser")
    assert ending.message.startswith("Malformed: ")


async def test_a_fault_of_the_scorer_is_no_crash(log, reader, lamp):
    class Unscored(ClarqMachine):
        def score(self, item, turns, judgments, options):
            raise KeyError("3")

    outcome = await played(log, lamp, seats(), machine=Unscored())
    assert (outcome.ending.status, outcome.ending.cause, outcome.scores) == ("failed", "scorer", ())
    assert re.fullmatch(rf"KeyError: '3', {__file__}:\d+", reader.ending("e0").message)
    await log.aflush()
    assert len(reader.events(kind="exception", episode_id="e0")) == 1


async def test_what_was_said_before_a_fault_is_kept(log, reader, lamp):
    def answer(view):
        if view.moves == 2:
            raise Unavailable("down")
        return "What do I have to do?"

    await played(log, lamp, seats(seeker=ScriptSeat(answer)))
    assert len(reader.turns("e0")) == 5


async def test_a_durable_turn_is_on_disk_before_the_next_is_asked_for(log, reader, lamp):
    seen = []

    def answer(view):
        seen.append((view.number, len(reader.turns("e0"))))
        return "Goodbye" if view.moves == 3 else "What do I have to do?"

    who = seats(seeker=ScriptSeat(answer))
    live, recorder = prepare(log, lamp, who, durable=True)
    await execute(MACHINE, live, log, recorder)
    assert seen == [(1, 1), (3, 3), (5, 5), (7, 7)]


async def test_a_log_that_cannot_be_written_stops_everything(log, lamp):
    live, recorder = prepare(log, lamp, seats())
    log.close()
    with pytest.raises(LogError):
        await execute(MACHINE, live, log, recorder)


async def test_a_turn_that_the_log_refuses_is_told(log, reader, lamp):
    await played(log, lamp, seats())
    live, recorder = prepare(log, lamp, seats(seeker=ScriptSeat(["Something else?", "Goodbye"])))
    with pytest.raises(LogError):
        await execute(MACHINE, live, log, recorder)


async def test_cancelling_loses_nothing_that_was_said(log, reader, lamp):
    class Waits:
        name, kind = "waits", "script"

        async def reply(self, view):
            reached.set()
            await asyncio.sleep(60)

    reached = asyncio.Event()
    live, recorder = prepare(log, lamp, seats(seeker=Waits()))
    task = asyncio.create_task(execute(MACHINE, live, log, recorder))
    await reached.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await log.aflush()
    assert len(reader.turns("e0")) == 1
    assert reader.ending("e0") is None


async def test_a_seat_whose_model_refuses_has_failed_and_is_not_asked_again(log, reader, lamp):
    def refuse(request):
        raise Refused("no, thank you")

    outcome = await played(
        log, lamp, seats(seeker=MACHINE.seat_for("seeker", "x/y", lambda name: ScriptModel(refuse), {}))
    )
    ending = reader.ending("e0")
    assert outcome.ending == ending
    assert (ending.status, ending.cause, ending.message) == ("aborted", "seeker", "Refused: no, thank you")
