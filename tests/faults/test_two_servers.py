"""Two servers on one home: a person may be sent to either of them at any moment, and nothing counts twice."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from urllib.parse import urlparse

import pytest
from fastapi.testclient import TestClient

sys.path.insert(0, str(Path(__file__).parents[1] / "ui"))  # over_http

from over_http import Browser

from logs import LogReader, LogWriter
from simulator.ambient.benchmark import BENCHMARK
from simulator.ambient.sessions import AmbientSessions
from simulator.clarq.benchmark import BENCHMARK as CLARQ
from simulator.clarq.sessions import ClarqSessions
from simulator.models import ModelOptions
from simulator.runner.build import Models
from ui.server import create_server

STUDY = "ambient-crowd"


@pytest.fixture
def pair(tmp_path: Path) -> Iterator[tuple[list[Browser], LogReader]]:
    path = tmp_path / "log.sqlite"

    async def serve(writer: LogWriter, reader: LogReader) -> Any:
        # Within a running loop, because outside of one Gradio makes loops that nobody closes.
        models = Models(options=ModelOptions())
        dialogues = ClarqSessions(CLARQ, writer, reader, models)
        readings = AmbientSessions(BENCHMARK, writer, reader, models)
        return create_server([dialogues, readings], home=tmp_path)

    with ExitStack() as opened:
        browsers = []
        for _ in range(2):
            writer = opened.enter_context(LogWriter(path, durable=True))
            reader = opened.enter_context(LogReader(path))
            server = asyncio.run(serve(writer, reader))
            client = TestClient(server, base_url="http://127.0.0.1:7860")
            browsers.append(Browser(opened.enter_context(client)))
        yield browsers, reader


def test_a_dialogue_goes_on_at_either_and_counts_once(pair: tuple[list[Browser], LogReader]) -> None:
    browsers, reader = pair
    request = {"benchmark": "clarq", "seat": "seeker", "others": {"provider": "offline/experts"}}
    page = {"path": "/play", "query": urlparse(browsers[0].call("start", **request)["go"]).query}
    number = 1
    for words in ("What shall I do?", "Where is it?", "Goodbye!"):
        sent = {"render": f"render-{number:05}", "number": number, "text": words}
        # The answer of the first was lost, so the browser sends the same turn to the second.
        answers = [browser.call("send", **page, **sent) for browser in browsers]
        assert [answer["accepted"] for answer in answers] == [True, True]
        number += 2
    (episode,) = reader.episodes()
    texts = [turn.text for turn in reader.turns(episode.id) if turn.seat == "seeker"]
    assert texts == ["What shall I do?", "Where is it?", "Goodbye!"]
    assert reader.ending(episode.id) is not None


def test_a_participant_has_one_place(pair: tuple[list[Browser], LogReader]) -> None:
    browsers, reader = pair
    links = set()
    for person in ("anna", "ben"):
        for browser in browsers * 2:
            answer = browser.call(
                "enter_study",
                path="/study",
                query=f"study={STUDY}&PROLIFIC_PID={person}",
                participant_key=f"browser-of-{person:<8}".replace(" ", "0"),
            )
            links.add(answer["go"])
    assert len(links) == 2
    assert len({place.participant_id for place in reader.assignments()}) == 2
    assert len(reader.episodes()) == 2
