"""Logged model calls equal the requests that were sent, however they are stored."""

from hashlib import blake2b

import pytest

from logs import LogReader, LogWriter
from simulator.clarq.machine import MACHINE
from simulator.models import Identity, Message, ModelOptions, Request
from simulator.models.keys import request_key
from simulator.runner.batch import run_batch
from simulator.runner.build import NamedSeatFactory, build_plan
from trees.sources import load_builtin

TASKS = [*load_builtin("en")[:3], *load_builtin("zh")[:2]]


def answer(request):
    """Drawn from a hash of the prompt."""
    chance = blake2b(request.messages[-1].content.encode(), digest_size=8).digest()
    match request.purpose:
        case "seeker":
            bye = request.turn_number > 12 and chance[0] < 80
            return "Goodbye! 再见" if bye else f"What of number {chance.hex()}? “第{chance[1]}”"
        case "provider.opening":
            return {"reason": "", "relevant": chance[0] > 60}
        case "provider.type":
            return {"reason": "", "type": 1 + chance[0] % 6}
        case "provider.repeated":
            return {"reason": "", "repeated": chance[0] > 127}
        case "provider.node" | "provider.node_again" | "provider.assumption":
            return {"analysis": chance.hex(), "answers": chance[0] > 180}
    return f"Look at number {chance.hex()}."


async def play(path, run, model, mode, **options):
    """The turns of a run in which `model` sits in both seats."""
    names = {"seeker": model, "provider": model}
    factory = NamedSeatFactory(
        benchmark="clarq", names=names, options={"mode": mode}, models=ModelOptions(**options)
    )
    async with LogWriter(path, durable=False) as log, factory(log, 5) as seats:
        with LogReader(path) as reader:
            plan = build_plan(
                machine=MACHINE, items=TASKS, seats=seats, config={}, seed=3, name=run, repeats=2
            )
            await run_batch(plan, log, reader, concurrency=5)
            return {
                (played.episode.item_hash, played.episode.repeat): [
                    (turn.seat, turn.text, turn.payload) for turn in played.turns
                ]
                for played in reader.turns_of_run(run)
            }


@pytest.mark.parametrize("mode", [pytest.param("completion", marks=pytest.mark.slow), "chat"])
async def test_every_prompt_can_be_read_exactly_and_the_run_replayed(log_path, mode):
    played = await play(log_path, "run", "offline/script", mode, script=answer)
    assert len(played) == 10
    assert any(turn[2].get("give") for turns in played.values() for turn in turns)
    with LogReader(log_path) as reader:
        calls = reader.model_calls(run_id="run")
        with reader.connection() as connection:
            (stored,) = connection.execute("SELECT total(length(request)) FROM model_calls").fetchone()
    assert len(calls) > 100
    asked = 0
    for call in calls:
        messages = tuple(Message(each["role"], each["content"]) for each in call.request["messages"])
        parameters = {**call.request["parameters"], "stop": tuple(call.request["parameters"]["stop"])}
        request = Request(
            messages=messages, schema=call.request["schema"], repeat=call.request["repeat"], **parameters
        )
        assert request_key(Identity("offline", "script"), request) == call.request["key"]
        asked += sum(len(message.content) for message in messages)
    assert stored < asked / 2
    again = await play(log_path, "again", "replay/run", mode, recordings=log_path)
    assert again == played
