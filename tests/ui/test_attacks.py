"""Attacks by strangers: none may break the server, reveal hidden data, or write a row."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlparse

import pytest
from fake_sessions import SECRET, TREE, FakeSessions
from fastapi.testclient import TestClient
from over_http import Browser

from logs import LogReader, LogWriter
from ui.research.mount import research_mount
from ui.server import create_server
from ui.tokens import SECRET_FILE, Pass, Signer

GRADIO_CALL = "/gradio_api/component_server/"
PASSWORD = "a green lamp"


@dataclass(frozen=True)
class Attack:
    """A request, and the answers that it may have.

    Attributes:
        allowed: statuses; 200 only where the answer is a page or a refusal that holds nothing.
    """

    name: str
    method: str
    path: str
    json: Any = None
    content: bytes | None = None
    headers: dict[str, str] = field(default_factory=dict)
    allowed: tuple[int, ...] = (400, 401, 403, 404, 405, 408, 411, 413, 421, 422)


@dataclass
class House:
    client: TestClient
    sessions: FakeSessions
    token: str
    home: Path


@pytest.fixture
async def house(tmp_path: Path) -> Any:
    sessions = FakeSessions()
    path = tmp_path / "log.sqlite"
    with LogWriter(path, durable=False, group_seconds=0.001) as writer, LogReader(path) as reader:
        research = research_mount(writer, reader, home=tmp_path, password=PASSWORD)
        server = create_server([sessions], home=tmp_path, mounts=[research])
        client = TestClient(server, base_url="http://127.0.0.1:7860", raise_server_exceptions=False)
        browser = Browser(client)
        choice = {"benchmark": "clarq", "seat": "seeker", "others": {"provider": "offline/experts"}}
        go = browser.call("start", **choice)["go"]
        (token,) = parse_qs(urlparse(go).query)["t"]
        yield House(client, sessions, token, tmp_path)


def forged(house: House) -> Iterator[tuple[str, str]]:
    """Tokens that this server did not sign, by what is wrong with them."""
    head, _, tail = house.token.partition(".")
    fields = json.loads(base64.urlsafe_b64decode(head + "=" * (-len(head) % 4)))

    def encoded(value: Any) -> str:
        return base64.urlsafe_b64encode(json.dumps(value).encode()).rstrip(b"=").decode()

    yield "no signature", head
    yield "an empty signature", f"{head}."
    yield "a cut signature", f"{head}.{tail[:-4]}"
    yield "another seat", f"{encoded([fields[0], 'provider', *fields[2:]])}.{tail}"
    yield "another episode", f"{encoded(['play-x/y/1', *fields[1:]])}.{tail}"
    yield "the host's right", f"{encoded([*fields[:3], 1])}.{tail}"
    yield "another server's", Signer(b"another secret").sign(Pass(fields[0], "provider"))
    yield "no list", f"{encoded({'episode': fields[0]})}.{tail}"
    yield "no JSON", f"{base64.urlsafe_b64encode(b'{{{{').decode()}.{tail}"
    yield "no base64", f"%%%.{tail}"
    yield "letters that are not ASCII", f"é{head}.{tail}"
    yield "a long one", "A" * 1900
    yield "nothing", ""


def attacks(house: House) -> Iterator[Attack]:
    def call(name: str, fn: str, data: Any, allowed: tuple[int, ...] = Attack.allowed) -> Attack:
        return Attack(name, "POST", f"/api/call/{fn}", json=data, allowed=allowed)

    page = {"path": "/play", "query": f"t={house.token}", "language": "en"}
    start = {"benchmark": "clarq", "seat": "seeker", "others": {"provider": "offline/experts"}}
    send = page | {"render": "render-0001", "number": 1, "text": "?"}
    refused = (*Attack.allowed, 200)

    for what, token in forged(house):
        query = f"t={token}"
        yield call(f"page with a token: {what}", "page", page | {"query": query}, allowed=refused)
        yield call(f"send with a token: {what}", "send", send | {"query": query}, allowed=refused)
        yield call(
            f"judge with a token: {what}",
            "judge",
            page | {"query": query, "render": "x" * 8, "success": True},
            allowed=refused,
        )
        headers = {"x-askback-seat": token} if token.isascii() else {}
        yield Attack(f"state with a token: {what}", "GET", "/api/state", headers=headers)

    # The researchers' side, without having logged in.
    for path in (
        "",
        "/",
        "/review",
        "/config",
        "/gradio_api/info",
        "/api/progress",
        "/download/run.zip?run=x",
        "//",
        "/../research/config",
        "/%2e%2e/research/config",
        "/.",
        "/login",
        "?token=x",
    ):
        yield Attack(f"research{path}", "GET", f"/research{path}")
    for fn in ("call_page", "call_judge_desk", "call_figure", "call_code"):
        body = {"session_hash": "s", "component_id": 2, "fn_name": fn, "data": {}}
        yield Attack(f"research function {fn}", "POST", f"/research{GRADIO_CALL}", json=body)
        yield Attack(f"research function {fn} over the players' side", "POST", GRADIO_CALL, json=body)
        yield call(f"research function {fn} as a call", fn, {"item": "success"})
    for name, value in (
        ("cookie", "askback_research=x"),
        ("authorization", "Bearer x"),
        ("authorization", "Basic eDp4"),
        ("x-original-url", "/"),
        ("x-rewrite-url", "/research"),
        ("x-forwarded-for", "127.0.0.1"),
    ):
        yield Attack(f"research with {name}", "GET", "/research/config", headers={name: value})
    for body in (
        b"",
        b"password=",
        b"password[]=x",
        b"password=" + b"x" * 5000,
        b"\xff\xfe",
        b"password=x&password=" + PASSWORD.encode(),
    ):
        yield Attack(
            f"log-in with {body[:24]!r}", "POST", "/research/login", content=body, allowed=(401, 429)
        )

    # Names of the server.
    for host in (
        "evil.example",
        "127.0.0.1.evil.example",
        "localhost.evil.example",
        "",
        "169.254.169.254",
        "0.0.0.0",
        "[::]",
        "evil.example:7860",
        "127.0.0.1@evil.example",
        "xn--lcalhost-54a",
    ):
        yield Attack(f"asked as {host!r}", "GET", "/", headers={"host": host})
    for origin in (
        "https://evil.example",
        "null",
        "http://127.0.0.1:7861",
        "http://localhost.evil.example",
        "file://",
    ):
        yield Attack(
            f"from {origin}",
            "POST",
            "/api/call/start",
            json=start,
            headers={"origin": origin},
        )

    # Gradio's own doors.
    for path in (
        "upload",
        "upload_progress?upload_id=x",
        f"file={house.home / SECRET_FILE}",
        "file=/etc/passwd",
        "file/etc/passwd",
        "proxy=http://169.254.169.254/",
        "stream/x/0/0/playlist.m3u8",
        "deep_link",
        "vibe-code",
        "dev/reload",
        "startup-events",
        "login",
        "token",
        "app_id",
        "theme.css?x=../../etc/passwd",
        "custom_component/../../../etc/passwd",
        "static/../../../../etc/passwd",
        "process_recording",
    ):
        for method in ("GET", "POST"):
            yield Attack(f"{method} {path}", method, f"/gradio_api/{path}")
    for fn in (
        "__init__",
        "__class__",
        "postprocess",
        "preprocess",
        "get_config",
        "call_page",
        "",
        None,
        7,
        ["page"],
        "page%00",
    ):
        yield call(f"call {fn!r}", str(fn), {}, allowed=(400, 403, 404, 405, 422))
        for component in (-1, 1, 10**9, "1", None, 1.5, [], True):
            body = {"session_hash": "s", "component_id": component, "fn_name": fn, "data": page}
            yield Attack(f"function {fn!r} of component {component!r}", "POST", GRADIO_CALL, json=body)

    # Bodies.
    for name, body in (
        ("nothing", b""),
        ("no JSON", b"{"),
        ("a list", b"[]"),
        ("a number", b"7"),
        ("null", b"null"),
        ("not UTF-8", b"\xff\xfe\x00"),
        ("deep", b"[" * 50_000),
        ("a deep object", b'{"a":' * 20_000),
        ("large", b"x" * 400_000),
        ("a bomb of digits", b'{"component_id":' + b"9" * 100_000 + b"}"),
    ):
        for path in ("/api/call/page", GRADIO_CALL):
            headers = {"content-type": "application/json"}
            yield Attack(f"{path}: a body of {name}", "POST", path, content=body, headers=headers)
    for data in (
        [],
        None,
        "x",
        7,
        [[]],
        {"path": 7},
        {"path": []},
        {"path": "/play", "query": "t=\ud800"},
        {"language": {"a": 1}},
        {"language": "../../etc/passwd"},
        {"path": "/" * 300},
        {"query": "q" * 3000},
        {"participant": "x" * 100_000},
    ):
        for fn in (
            "page",
            "start",
            "send",
            "enter_study",
            "withdraw",
            "next_set",
        ):
            yield call(f"{fn} with {str(data)[:30]}", fn, data, allowed=refused)
    for changes in (
        {"seat": "judge"},
        {"benchmark": "nowhere"},
        {"benchmark": "clarq\x00"},
        {"item_language": "fr"},
    ):
        yield call(f"start {changes}", "start", start | changes, allowed=refused)
    for changes in (
        {"number": -1},
        {"number": 10**9},
        {"number": "1; DROP TABLE turns"},
        {"text": "x" * 5000},
        {"render": "../x"},
        {"render": ""},
        {"number": True, "render": None},
    ):
        yield call(f"send {changes}", "send", send | changes, allowed=refused)

    # Paths and methods.
    for path in (
        "/askback/../tokens.py",
        "/askback/%2e%2e/tokens.py",
        "/askback/..%2ftokens.py",
        "/static/../tokens.py",
        "/.git/config",
        "/log.sqlite",
        f"/{SECRET_FILE}",
        "/env",
        "/monitoring",
        "/docs",
        "/openapi.json",
        "/gradio_api/mcp/sse",
    ):
        yield Attack(f"GET {path}", "GET", path, allowed=(400, 401, 403, 404, 405, 307))
    for method in ("PUT", "DELETE", "PATCH", "TRACE", "CONNECT", "BREW"):
        yield Attack(f"{method} a call", method, "/api/call/page", allowed=(400, 403, 404, 405, 501))


def test_nothing_gets_through(house: House) -> None:
    every = list(attacks(house))
    assert len(every) >= 60
    episodes = len(house.sessions.episodes)
    hidden = (
        SECRET,
        (house.home / SECRET_FILE).read_bytes().hex(),
        "Traceback",
        "root:x:0",
        TREE.nodes[-1].text,
    )
    through = []
    for attack in every:
        body = None if attack.json is None else json.dumps(attack.json).encode("utf-8", "surrogatepass")
        headers = {"content-type": "application/json"} if attack.json is not None else {}
        answer = house.client.request(
            attack.method,
            attack.path,
            content=attack.content if body is None else body,
            headers=headers | attack.headers,
            follow_redirects=False,
        )
        if answer.status_code not in attack.allowed:
            through.append(f"{attack.name}: {answer.status_code} {answer.text[:80]!r}")
        through += [f"{attack.name}: shows {text[:20]!r}" for text in hidden if text in answer.text]
    assert not through, "\n".join(through)
    assert len(house.sessions.episodes) == episodes
    # And the person whose dialogue it is goes on.
    assert house.client.get("/api/state", headers={"x-askback-seat": house.token}).status_code == 200
