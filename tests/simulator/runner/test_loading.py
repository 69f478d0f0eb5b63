import asyncio
import threading

import pytest

from logs import LogReader, LogWriter
from simulator.clarq.machine import MACHINE
from simulator.models import ModelOptions, ScriptModel, Unavailable, load_model
from simulator.runner import build
from simulator.runner.build import Models
from simulator.runner.lobby import Loading
from simulator.runner.sessions import Sessions
from simulator.seats import Reply

WITH_MODEL = {"seeker": "person", "provider": "offline/script"}
WITHOUT = {"seeker": "person", "provider": "offline/experts"}
SECONDS = 60.0


class Slow:
    """Loads a model only when it is let go; counts how often it was asked to."""

    def __init__(self, fails=0):
        self.asked = []
        self.fails = fails
        self.begun = threading.Event()
        self.let_go = threading.Event()

    def __call__(self, name):
        self.asked.append(name)
        self.begun.set()
        if not self.let_go.wait(SECONDS):
            raise AssertionError("nobody else was served meanwhile")
        if len(self.asked) <= self.fails:
            raise Unavailable("no weights")
        return ScriptModel(lambda request: "1", name=name.partition("/")[2])


@pytest.fixture
def sessions(log_path):
    def opened(models):
        return Sessions(MACHINE, log, reader, models)

    with LogWriter(log_path, durable=True) as log, LogReader(log_path) as reader:
        yield opened


async def begun(slow):
    while not slow.begun.is_set():
        await asyncio.sleep(0)


async def test_others_play_while_a_model_is_loaded(sessions, lamp):
    slow = Slow()
    server = sessions(slow)
    waiting = asyncio.create_task(server.start_item(lamp, WITH_MODEL))
    await begun(slow)
    episode = await server.start_item(lamp, WITHOUT)
    view = await server.submit(episode, "seeker", Reply(text="Which oil?", key="k"))
    assert (view.number, view.my_turn, waiting.done()) == (3, True, False)
    slow.let_go.set()
    shown = await server.view(await waiting, "seeker")
    assert (shown.number, shown.my_turn) == (1, True)
    assert slow.asked == ["offline/script"]


async def test_everybody_waits_for_the_same_model(sessions, lamp):
    slow = Slow()
    server = sessions(slow)
    waiting = [asyncio.create_task(server.start_item(lamp, WITH_MODEL)) for _ in range(20)]
    await begun(slow)
    slow.let_go.set()
    assert len(set(await asyncio.gather(*waiting))) == 20
    assert slow.asked == ["offline/script"]


async def test_who_gives_up_leaves_the_model_to_the_others(lamp):
    slow = Slow()
    loading = Loading(slow)
    leaving, staying = (asyncio.create_task(loading.seats(MACHINE, WITH_MODEL, {})) for _ in range(2))
    await begun(slow)
    leaving.cancel()
    with pytest.raises(asyncio.CancelledError):
        await leaving
    slow.let_go.set()
    assert (await staying)["provider"].kind == "model"
    assert slow.asked == ["offline/script"]


async def test_a_model_that_cannot_be_loaded_is_told_to_all_and_tried_again():
    slow = Slow(fails=1)
    loading = Loading(slow)
    waiting = [asyncio.create_task(loading.seats(MACHINE, WITH_MODEL, {})) for _ in range(2)]
    await begun(slow)
    slow.let_go.set()
    errors = await asyncio.gather(*waiting, return_exceptions=True)
    assert [str(error) for error in errors] == ["no weights"] * 2
    assert (await loading.seats(MACHINE, WITH_MODEL, {}))["provider"].kind == "model"
    assert slow.asked == ["offline/script"] * 2


async def test_rooms_that_share_their_models_load_each_once(monkeypatch):
    slow = Slow()
    monkeypatch.setattr(build, "load_model", lambda name, options: slow(name))
    models = Models()
    loadings = [Loading(models), Loading(models)]
    waiting = [asyncio.create_task(loading.seats(MACHINE, WITH_MODEL, {})) for loading in loadings]
    await begun(slow)
    slow.let_go.set()
    await asyncio.gather(*waiting)
    assert slow.asked == ["offline/script"]
    await models.close()


async def test_a_model_is_loaded_with_all_its_layers_in_a_thread(tmp_path):
    def load(name):
        script = ModelOptions(script=lambda request: "1", cache_path=tmp_path / "cache.sqlite")
        return load_model(name, script)

    seats = await Loading(load).seats(MACHINE, WITH_MODEL, {})
    assert seats["provider"].kind == "model"
