"""Limits of one client's use of the server, and the names under which it answers."""

from __future__ import annotations

import asyncio
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import gradio as gr
import pytest
import uvicorn
from fastapi import FastAPI
from fastapi.testclient import TestClient
from over_http import Browser
from starlette.responses import PlainTextResponse

from simulator.errors import InputError
from ui import i18n, limits
from ui.gradio_setup import KEPT_SESSIONS, mount_blocks
from ui.limits import MAX_BODY, Arrivals, Bodies, PatientProtocol, Starts, client_group
from ui.security import Access, Hosts
from ui.server import players_blocks

ROUTE = "/api/call/page"


def test_languages_that_a_browser_makes_up_are_read_and_kept_once(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    browser = Browser(client)
    browser.call("page", language="en")
    reads: list[object] = []
    whole = i18n.yaml.safe_load
    monkeypatch.setattr(i18n.yaml, "safe_load", lambda text: reads.append(text) or whole(text))
    for number in range(50):
        browser.call("page", language=f"x{number}")
        client.get("/", params={"lang": f"y{number}"}, headers={"Accept": "text/html"})
    assert not reads


def test_a_body_has_a_limit_whether_or_not_its_length_is_told(client: TestClient) -> None:
    large = "x" * MAX_BODY
    response = client.post(ROUTE, json={"path": large})
    assert (response.status_code, response.headers.get("connection")) == (413, "close")

    def parts() -> Iterator[bytes]:
        for _ in range(MAX_BODY // 1024 + 1):
            yield b"x" * 1024

    assert client.post(ROUTE, content=parts()).status_code == 413
    assert client.post("/research/login", content=parts()).status_code == 413
    assert client.post(ROUTE, json={"path": "x" * 1000}).status_code == 200


async def test_a_body_that_does_not_come_is_waited_for_no_longer() -> None:
    sent: list[dict[str, object]] = []

    async def never() -> dict[str, object]:
        await asyncio.sleep(60)
        raise AssertionError

    async def send(message: dict[str, object]) -> None:
        sent.append(message)

    async def reached(*_: object) -> None:
        raise AssertionError

    scope = {"type": "http", "method": "POST", "path": "/", "headers": []}
    await Bodies(reached, seconds=0.01)(scope, never, send)
    assert sent[0]["status"] == 408


def test_gradio_keeps_few_of_the_sessions_that_browsers_make_up(client: TestClient) -> None:
    (component,) = [
        each["id"] for each in client.get("/config").json()["components"] if each["type"] == "html"
    ]
    call = {"component_id": component, "fn_name": "update", "data": {}}
    for number in range(KEPT_SESSIONS + 20):
        client.post("/gradio_api/component_server/", json=call | {"session_hash": f"s{number}"})
    mounted = [route for route in client.app.routes if hasattr(getattr(route, "app", None), "state_holder")]
    assert max(len(route.app.state_holder.session_data) for route in mounted) == KEPT_SESSIONS


@pytest.mark.parametrize(("calls", "least", "most"), [(True, 0.01, 0.1), (False, 1.0, 60.0)])
async def test_gradio_does_not_look_for_work_all_the_time(calls: bool, least: float, most: float) -> None:
    with gr.Blocks() as blocks:
        field = gr.Textbox()
        if calls:
            field.change(str.title, field, field)
    assert not players_blocks().fns  # theirs calls none
    mount_blocks(FastAPI(), blocks, "/")
    queue = blocks._queue
    assert least < queue.sleep_when_free < most
    assert 1.0 < queue.progress_update_sleep_when_free < 60.0  # no function reports progress


def test_one_address_begins_no_more_than_people_do(client: TestClient) -> None:
    browser = Browser(client)
    choice = {"benchmark": "clarq", "seat": "seeker", "others": {"provider": "offline/experts"}}
    began = time.monotonic()
    begun = 0
    # A place comes back each second, and a busy machine takes several for these calls.
    while "go" in (answer := browser.call("start", **choice)):
        begun += 1
        assert begun <= 61 + time.monotonic() - began
    assert begun >= 60
    assert "Please try again in" in answer["problem"]
    while "go" in (answer := browser.call("start", **choice, language="zh")):
        pass
    assert "请在" in answer["problem"]
    assert "html" in browser.call("page", path="/")


async def test_arrivals_wait_for_each_other_but_not_for_one_that_waits_itself():
    arrivals = Arrivals(slots=2, patience=0.02)
    running: set[int] = set()
    most = 0

    async def compute(number):
        nonlocal most
        running.add(number)
        most = max(most, len(running))
        await asyncio.sleep(0.001)
        running.remove(number)
        return number

    assert await asyncio.gather(*(arrivals.admit(compute(n)) for n in range(10))) == [*range(10)]
    assert most == 2
    model = asyncio.Event()
    slow = [asyncio.create_task(arrivals.admit(model.wait())) for _ in range(2)]
    assert await asyncio.wait_for(arrivals.admit(compute(10)), 1) == 10
    model.set()
    assert await asyncio.gather(*slow) == [True, True]


async def test_an_arrival_that_fails_or_is_given_up_leaves_its_slot():
    arrivals = Arrivals(slots=1)

    async def fail():
        raise LookupError("no such study")

    with pytest.raises(LookupError):
        await arrivals.admit(fail())
    first = asyncio.create_task(arrivals.admit(asyncio.sleep(60)))
    second = asyncio.create_task(arrivals.admit(asyncio.sleep(0, "second")))
    await asyncio.sleep(0)
    first.cancel()
    assert await asyncio.wait_for(second, 1) == "second"
    third = asyncio.create_task(arrivals.admit(asyncio.sleep(60)))
    fourth = asyncio.create_task(arrivals.admit(asyncio.sleep(0)))
    await asyncio.sleep(0)
    fourth.cancel()
    third.cancel()
    assert await arrivals.admit(asyncio.sleep(0, "fifth")) == "fifth"


def test_buckets_fill_again_and_are_each_clients_own() -> None:
    clock = [0.0]
    starts = Starts(per_minute=60, burst=3, clock=lambda: clock[0])
    assert [starts.wait("192.0.2.1") for _ in range(4)] == [0, 0, 0, 1]
    assert starts.wait("192.0.2.2") == 0
    clock[0] += 1
    assert starts.wait("192.0.2.1") == 0
    assert starts.wait("192.0.2.1") == 1
    # Whoever comes from many addresses is still one participant.
    assert [bool(starts.wait(f"192.0.2.{number}", "ann")) for number in range(10, 13)] == [False, True, True]
    assert Starts(per_minute=0, burst=0).wait("192.0.2.1") == 0


def test_a_participant_who_is_refused_uses_up_nobody_elses_beginnings() -> None:
    starts = Starts(per_minute=60, burst=30, clock=lambda: 0.0)
    tries = [starts.wait("192.0.2.1", "ann") for _ in range(100)]
    assert sum(not wait for wait in tries) == 10
    # The others of the class room share her address.
    assert [starts.wait("192.0.2.1", f"p{number}") for number in range(20)] == [0] * 20
    assert starts.wait("192.0.2.1", "ben") > 0


def test_what_counts_as_one_client() -> None:
    assert client_group("2001:db8::1") == client_group("2001:db8::ffff:2") == "2001:db8::/64"
    assert client_group("::ffff:192.0.2.7") == client_group("192.0.2.7") == "192.0.2.7"
    assert client_group("testclient") == "testclient"


def test_a_half_sent_request_is_not_kept_open(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "HEAD_SECONDS", 0.3)

    async def app(scope: object, receive: object, send: object) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"2")]})
        await asyncio.sleep(0.6)  # longer than a head may take: being answered is no waiting
        await send({"type": "http.response.body", "body": b"ok"})

    config = uvicorn.Config(app, port=0, http=PatientProtocol, log_level="error", lifespan="off")
    server = uvicorn.Server(config)
    listening = socket.create_server(("127.0.0.1", 0))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
    thread.start()
    try:
        for begun in (b"", b"GET / HTTP/1.1\r\nHost: x\r\n"):
            with socket.create_connection(listening.getsockname(), timeout=20) as half:
                half.sendall(begun)
                assert half.recv(100) == b""
        with socket.create_connection(listening.getsockname(), timeout=20) as whole:
            whole.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
            answer = b""
            while not answer.endswith(b"ok"):
                answer += whole.recv(1000)
            # The next one on the same connection may not stop in the middle either.
            whole.sendall(b"GET / HT")
            assert whole.recv(100) == b""
        monkeypatch.setattr(limits, "HEAD_SECONDS", 60.0)
        endless = socket.create_connection(listening.getsockname(), timeout=20)
        with endless, suppress(ConnectionError):  # some of it may come too late
            endless.sendall(b"GET / HTTP/1.1\r\nHost: x\r\nX: " + b"a" * 2 * limits.MAX_HEAD)
            assert endless.recv(100) == b""
    finally:
        server.should_exit = True
        thread.join(timeout=20)
    assert not thread.is_alive()


@pytest.mark.parametrize(
    ("access", "allowed", "refused"),
    [
        (
            Access(),
            ["127.0.0.1:7860", "localhost", "LOCALHOST.:80", "[::1]:7860", "127.8.9.1"],
            ["evil.example", "127.0.0.1.evil.example", "192.0.2.7", "", "localhost.evil.example"],
        ),
        (
            Access.build("0.0.0.0", ["Study.Example."], []),
            ["study.example:443", "192.0.2.7:7860", "[2001:db8::1]"],
            ["evil.example", "notstudy.example"],
        ),
        (Access.build("lab-pc", [], []), ["lab-pc:7860"], ["lab-pc.evil.example"]),
    ],
)
def test_the_names_that_the_server_answers_to(access: Access, allowed: list[str], refused: list[str]) -> None:
    assert [host for host in allowed if not access.allows(host)] == []
    assert [host for host in refused if access.allows(host)] == []


def test_a_proxy_is_an_address_or_a_network() -> None:
    with pytest.raises(InputError, match="--proxy nginx is not an IP address"):
        Access.build("127.0.0.1", [], ["nginx"])
    access = Access.build("127.0.0.1", [], ["10.0.0.0/24"])
    assert access.trusts("10.0.0.7")
    written_with_an_address = Access.build("127.0.0.1", [], ["10.0.0.1/24"])

    async def scheme(scope: Any, receive: Any, send: Any) -> None:
        await PlainTextResponse(scope["scheme"])(scope, receive, send)

    behind_it = TestClient(
        Hosts(scheme, written_with_an_address), base_url="http://127.0.0.1", client=("10.0.0.7", 5000)
    )
    assert behind_it.get("/", headers={"X-Forwarded-Proto": "https"}).text == "https"
    # Some proxies pass on what the browser wrote.
    behind = Access(names=("study.example",), proxies=("10.0.0.7",), addresses=True)
    assert behind.allows("study.example", forwarded=True)
    for name in ("localhost", "127.0.0.1", "[::1]:80", "evil.example"):
        assert not behind.allows(name, forwarded=True), name
    assert not access.trusts("10.0.1.7")
    assert not access.trusts("::ffff:10.0.0.7")  # nor does Uvicorn, which reads the other headers
    assert not access.trusts("")


def test_a_name_that_was_made_to_lead_here_begins_nothing(client: TestClient) -> None:
    rebound = {"Host": "evil.example:7860", "Origin": "http://evil.example:7860"}
    choice = {"benchmark": "clarq", "seat": "seeker", "others": {"provider": "offline/experts"}}
    for headers in (rebound, rebound | {"X-Forwarded-Host": "127.0.0.1:7860"}):
        answer = client.post("/api/call/start", json=choice, headers=headers)
        assert answer.status_code == 421
        assert "--host-name" in answer.text
        assert client.get("/", headers=headers).status_code == 421
    assert client.get("/health", headers=rebound).status_code == 200
