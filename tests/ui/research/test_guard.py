import asyncio
import re
import time
from dataclasses import dataclass

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient

from simulator import catalog
from simulator.clarq.sessions import Choices
from ui.accounts import User
from ui.limits import Throttle
from ui.research.guard import COOKIE, PASSWORD_VARIABLE, SIGNED_OUT_FILE, LogIns
from ui.research.mount import research_mount
from ui.security import Access
from ui.server import create_server

HTML = {"accept": "text/html"}
INNER = (
    "/research",
    "/research/",
    "/research/desk",
    "/research/config",
    "/research/gradio_api/info",
    "/research/download/episodes.csv?run=one",
    "/research/download/report.csv?run=one",
    "/research/download/report.zip?run=one&run=two&tab=compare",
    "/research/download/run.zip?run=one",
)


class NoSessions:
    benchmark = catalog.find("clarq")
    choices = Choices
    items = ()

    def item_menu(self, language):
        return ()

    def studies(self):
        return ()

    def opponents(self, seat):
        return ()


def app(bench, home, password=None, announce=lambda token: None, access=None, sso_header="") -> FastAPI:
    async def build() -> FastAPI:
        mount = research_mount(
            bench.writer, bench.reader, home=home, password=password, announce=announce, sso_header=sso_header
        )
        return create_server([NoSessions()], home=home, mounts=[mount], access=access)

    # Outside a running loop Gradio makes loops that nobody closes.
    return asyncio.run(build())


def client(app, address="127.0.0.1", host="127.0.0.1:7860"):
    return TestClient(app, base_url=f"http://{host}", client=(address, 50_000), follow_redirects=False)


ANYWHERE = Access(names=("study.example",), proxies=("192.0.2.1",), addresses=True)


@dataclass
class Terminal:
    """A server without a password, and the tokens that it has printed."""

    app: FastAPI
    tokens: list[str]

    def browser(self, *client_of, **kinds):
        """A browser that has opened the newest link."""
        browser = client(self.app, *client_of, **kinds)
        answer = browser.get("/research/review", params={"token": self.tokens[-1]}, headers=HTML)
        assert (answer.status_code, answer.headers["location"]) == (303, "/research/review")
        return browser


@pytest.fixture(scope="module")
def terminal(unchanging, tmp_path_factory):
    tokens: list[str] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv(PASSWORD_VARIABLE, raising=False)
        made = app(unchanging, tmp_path_factory.mktemp("home"), announce=tokens.append, access=ANYWHERE)
        return Terminal(made, tokens)


@pytest.fixture(scope="module")
def locked(unchanging, tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(PASSWORD_VARIABLE, "a green lamp")
        return app(unchanging, tmp_path_factory.mktemp("home"), access=ANYWHERE)


def log_in(browser, password="a green lamp"):
    return browser.post("/research/login", data={"password": password}, headers=HTML)


def test_without_a_password_the_printed_link_lets_one_browser_in(terminal):
    browser = terminal.browser()
    used, newest = terminal.tokens[-2:]
    assert [browser.get(path, headers=HTML).status_code for path in INNER[:3]] == [200] * 3
    assert client(terminal.app).get("/research", params={"token": used}).status_code == 401
    assert client(terminal.app).head("/research", params={"token": newest}).status_code == 401
    assert client(terminal.app).post("/research/login", data={"password": newest}).status_code == 303
    assert terminal.tokens[-1] != newest


@pytest.mark.each("path", INNER)
@pytest.mark.each(
    ("address", "host", "headers"),
    [
        ("192.0.2.7", "127.0.0.1:7860", {}),
        # A proxy that rewrites Host and says nothing looks like this machine's own browser.
        ("127.0.0.1", "127.0.0.1:7860", {}),
        ("127.0.0.1", "127.0.0.1:7860", {"x-forwarded-for": "127.0.0.1"}),
        ("127.0.0.1", "localhost", {"forwarded": "for=127.0.0.1"}),
        ("::1", "[::1]:7860", {}),
    ],
)
def test_nobody_is_served_without_having_logged_in(terminal, path, address, host, headers):
    answer = client(terminal.app, address).get(path, headers={"host": host} | headers)
    assert answer.status_code == 401
    assert answer.json() == {"error": "login"}


async def test_what_is_no_request_passes_so_that_gradio_starts_its_queue(locked):
    heard = [{"type": "lifespan.startup"}, {"type": "lifespan.shutdown"}]
    sent = []

    async def receive():
        return heard.pop(0)

    async def send(message):
        sent.append(message["type"])

    await locked({"type": "lifespan", "asgi": {"version": "3.0"}, "state": {}}, receive, send)
    assert sent == ["lifespan.startup.complete", "lifespan.shutdown.complete"]


def test_the_refusal_says_what_to_do(terminal):
    browser = client(terminal.app, "192.0.2.7")
    english = browser.get("/research", headers=HTML | {"accept-language": "en"})
    assert "ASKBACK_RESEARCH_PASSWORD" in english.text
    assert "printed in the terminal" in english.text
    assert "content-security-policy" in english.headers
    assert "令牌" in browser.get("/research?lang=zh", headers=HTML).text
    assert browser.get("/", headers=HTML).status_code == 200


@pytest.mark.each("path", INNER)
def test_with_a_password_nothing_is_served_before_it_is_given(locked, path):
    answer = client(locked).get(path)
    assert answer.status_code == 401
    assert answer.json() == {"error": "login"}


def test_server_functions_are_locked_too(locked):
    call = {"component_id": 2, "fn_name": "call_page", "session_hash": "x", "data": {}}
    assert client(locked).post("/research/gradio_api/component_server", json=call).status_code == 401


def test_a_link_into_the_pages_leads_there_after_the_log_in(locked):
    browser = client(locked, "192.0.2.31", "study.example")
    form = browser.get("/research/run?run=a+b&lang=zh", headers=HTML).text
    (action,) = re.findall(r'action="([^"]*)"', form)
    (again,) = re.findall(
        r'action="([^"]*)"', browser.post(action, data={"password": "x"}, headers=HTML).text
    )
    answer = browser.post(again, data={"password": "a green lamp"}, headers=HTML)
    assert (answer.status_code, answer.headers["location"]) == (303, "/research/run?run=a+b&lang=zh")
    for elsewhere in ("https://evil.example/", "//evil.example", "/researcher", "/play?t=x"):
        answer = browser.post(
            f"/research/login?next={elsewhere}", data={"password": "a green lamp"}, headers=HTML
        )
        assert answer.headers["location"] == "/research"


def test_logging_in_and_out(locked):
    browser = client(locked, "192.0.2.7", "study.example")
    assert 'action="/research/login?next=%2Fresearch"' in browser.get("/research", headers=HTML).text
    answer = log_in(browser)
    assert (answer.status_code, answer.headers["location"]) == (303, "/research")
    cookie = answer.headers["set-cookie"]
    assert all(part in cookie for part in ("HttpOnly", "SameSite=lax", "Path=/research"))
    assert browser.get("/research/config").status_code == 200
    stored = browser.cookies[COOKIE]
    assert browser.post("/research/logout").status_code == 303
    # A copy of the cookie is worth nothing any more.
    for cookies in ({}, {COOKIE: stored}):
        fresh = client(locked, "192.0.2.7", "study.example")
        fresh.cookies.update(cookies)
        assert fresh.get("/research/config").status_code == 401
    assert log_in(browser).status_code == 303


def test_a_script_sends_the_password_with_each_request(locked):
    browser = client(locked, "192.0.2.30")
    right, wrong = ({"authorization": f"Bearer {word}"} for word in ("a green lamp", "a red lamp"))
    assert browser.get("/research/config", headers=right).status_code == 200
    assert [browser.get("/research/config", headers=wrong).status_code for _ in range(6)] == [
        *[401] * 5,
        429,
    ]


def test_a_wrong_password_and_too_many_of_them(locked):
    browser = client(locked, "192.0.2.9")
    statuses = [log_in(browser, "a red lamp").status_code for _ in range(6)]
    assert statuses[:5] == [401] * 5
    assert "Wrong password." in log_in(client(locked, "192.0.2.10"), "a red lamp").text
    # The right one has to wait as well, or waiting would tell which one is right.
    while (answer := log_in(browser, "a red lamp")).status_code != 429:
        pass
    assert int(answer.headers["retry-after"]) >= 1
    assert log_in(browser).status_code == 429
    assert log_in(client(locked, "192.0.2.8")).status_code == 303


def test_tries_count_by_who_is_behind_a_named_proxy(locked):
    attacker = client(locked, "192.0.2.1", "study.example")
    attacker.headers["x-forwarded-for"] = "198.51.100.9"
    while log_in(attacker, "a red lamp").status_code != 429:
        pass
    researcher = client(locked, "192.0.2.1", "study.example")
    researcher.headers["x-forwarded-for"] = "198.51.100.10"
    assert log_in(researcher).status_code == 303
    # Of somebody who is no named proxy the header changes nothing.
    stranger = client(locked, "192.0.2.40")
    for number in range(20):
        stranger.headers["x-forwarded-for"] = f"198.51.100.{number}"
        last = log_in(stranger, "a red lamp").status_code
    assert last == 429


def test_a_network_of_ipv6_addresses_counts_as_one(locked):
    for number in range(6):
        log_in(client(locked, f"2001:db8:1:2::{number:x}"), "a red lamp")
    assert log_in(client(locked, "2001:db8:1:2:ffff::1")).status_code == 429
    assert log_in(client(locked, "2001:db8:1:3::1")).status_code == 303


def test_a_log_in_from_another_site_is_refused(locked):
    answer = client(locked).post(
        "/research/login", data={"password": "a green lamp"}, headers={"origin": "http://evil.example"}
    )
    assert answer.status_code == 403


@pytest.mark.each("cookie", ["", "1", "9999999999.", "9999999999.x", "abc.def", "٣.x", f"{2**60}.AAAA"])
def test_forged_cookies_open_nothing(locked, cookie):
    browser = client(locked)
    headers = {"cookie": f"{COOKIE}={cookie}".encode()}
    assert browser.get("/research/config", headers=headers).status_code == 401


def test_log_ins_outlast_a_restart_but_neither_their_time_nor_the_password(tmp_path, monkeypatch):
    log_ins = LogIns(tmp_path, "word")
    researcher = log_ins.check("", "word")
    cookie, other = log_ins.issue(researcher), log_ins.issue(researcher)
    log_ins.end(other)
    for server in (log_ins, LogIns(tmp_path, "word")):
        assert server.user(cookie) == researcher == User("owner", "owner")
        assert server.user(other) is None
    assert LogIns(tmp_path, "another").user(cookie) is None
    file = tmp_path / SIGNED_OUT_FILE
    assert cookie not in file.read_text() and other not in file.read_text()
    assert file.stat().st_mode & 0o077 == 0
    now = time.time()
    monkeypatch.setattr(time, "time", lambda: now + 12 * 3600 - 60)
    assert log_ins.user(cookie) == researcher
    monkeypatch.setattr(time, "time", lambda: now + 12 * 3600 + 60)
    assert log_ins.user(cookie) is None


def test_throttle_waits_longer_each_time_and_forgives():
    clock = [0.0]
    throttle = Throttle(clock=lambda: clock[0])
    for _ in range(5):
        assert throttle.wait("a") == 0
        throttle.record_failure("a")
    waits = []
    for _ in range(12):
        waits.append(throttle.wait("a"))
        throttle.record_failure("a")
    assert waits == [1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300, 300]
    assert throttle.wait("b") == 0
    clock[0] += 300
    assert throttle.wait("a") == 0
    throttle.record_failure("a")
    throttle.record_success("a")
    assert throttle.wait("a") == 0


def test_config_and_page_source_hold_nothing_of_the_log(terminal):
    browser = terminal.browser()
    for path in ("/research/config", "/research", "/research/review"):
        text = browser.get(path, headers=HTML).text
        assert "gather-resources" not in text
        assert "offline/seeker" not in text


def test_downloads(terminal):
    browser = terminal.browser()
    table = browser.get("/research/download/report.csv", params={"run": "one"})
    assert table.status_code == 200
    assert "report-one.csv" in table.headers["content-disposition"]
    assert table.content.startswith(b"\xef\xbb\xbfrun,episodes,items,S,S_low")
    for name in ("episodes.csv", "of-run/reviews.csv"):
        assert browser.get(f"/research/download/{name}", params={"run": "one"}).status_code == 200
    compared = browser.get("/research/download/report.csv?run=one&runs=two&tab=compare")
    assert "difference" in compared.text
    for form, begins in (("tex", b"\\begin{table}"), ("json", b"{"), ("html", b"<!"), ("zip", b"PK")):
        answer = browser.get(f"/research/download/report.{form}", params={"run": "one"}, headers=HTML)
        assert answer.content.startswith(begins) and "attachment" in answer.headers["content-disposition"]
    assert browser.get("/research/download/run.zip", params={"run": "one"}).content[:2] == b"PK"
    for name, params in (
        ("report.csv", {"run": "gone"}),
        ("report.csv", {}),
        ("report.csv", {"run": "one", "tab": "compare"}),
        ("other.csv", {"run": "one"}),
        ("run.zip", {"run": "gone"}),
    ):
        assert browser.get(f"/research/download/{name}", params=params).status_code == 404
