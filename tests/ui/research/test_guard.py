import asyncio
import time

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient

from ui.research.guard import COOKIE, PASSWORD_VARIABLE, Passes, Throttle, local
from ui.research.mount import research_mount
from ui.server import create_server

HTML = {"accept": "text/html"}
INNER = (
    "/research",
    "/research/",
    "/research/review",
    "/research/config",
    "/research/gradio_api/info",
    "/research/api/progress",
    "/research/assets/plotly.js",
    "/research/download/scores.csv?run=one",
    "/research/download/run.zip?run=one",
)


class NoSessions:
    def catalog(self, language):
        return ()

    def opponents(self, seat):
        return ()


def app(bench, home, password=None) -> FastAPI:
    async def build() -> FastAPI:
        mount = research_mount(bench.writer, bench.reader, home=home, password=password)
        return create_server(NoSessions(), home=home, mounts=[mount])

    # Outside a running loop Gradio makes loops that nobody closes.
    return asyncio.run(build())


def client(app, address="127.0.0.1", host="127.0.0.1:7860"):
    return TestClient(app, base_url=f"http://{host}", client=(address, 50_000), follow_redirects=False)


@pytest.fixture(scope="module")
def opened(unchanging, tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv(PASSWORD_VARIABLE, raising=False)
        return app(unchanging, tmp_path_factory.mktemp("home"))


@pytest.fixture(scope="module")
def locked(unchanging, tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(PASSWORD_VARIABLE, "a green lamp")
        return app(unchanging, tmp_path_factory.mktemp("home"))


def log_in(browser, password="a green lamp"):
    return browser.post("/research/login", data={"password": password}, headers=HTML)


def test_this_machine_is_served_without_a_password(opened):
    browser = client(opened)
    assert [browser.get(path, headers=HTML).status_code for path in INNER[:3]] == [200] * 3
    assert browser.get("/research/api/progress").json()["one"]["done"] == 4
    assert client(opened, "::1", "localhost:7860").get("/research").status_code == 200


@pytest.mark.parametrize("path", INNER)
def test_other_machines_are_refused_without_a_password(opened, path):
    answer = client(opened, "192.0.2.7").get(path)
    assert answer.status_code == 403
    assert answer.json() == {"error": "refused"}


def test_the_refusal_says_what_to_do(opened):
    browser = client(opened, "192.0.2.7")
    english = browser.get("/research", headers=HTML | {"accept-language": "en"})
    assert "ASKBACK_RESEARCH_PASSWORD" in english.text
    assert "content-security-policy" in english.headers
    assert "仅供本机" in browser.get("/research?lang=zh", headers=HTML).text
    assert browser.get("/", headers=HTML).status_code == 200


@pytest.mark.parametrize(
    ("address", "host", "headers"),
    [
        ("127.0.0.1", "evil.example", {}),
        ("127.0.0.1", "127.0.0.1.evil.example", {}),
        ("127.0.0.1", "127.0.0.1:7860", {"x-forwarded-for": "192.0.2.7"}),
        ("127.0.0.1", "127.0.0.1:7860", {"forwarded": "for=192.0.2.7"}),
        ("192.0.2.7", "127.0.0.1:7860", {}),
    ],
)
def test_proxies_and_foreign_names_are_not_this_machine(opened, address, host, headers):
    assert client(opened, address).get("/research", headers={"host": host} | headers).status_code == 403


@pytest.mark.parametrize(
    ("address", "host", "expected"),
    [
        ("127.0.0.1", "localhost", True),
        ("127.8.9.1", "127.0.0.1:80", True),
        ("::1", "[::1]:7860", True),
        ("::ffff:127.0.0.1", "LOCALHOST:1", True),
        ("::ffff:192.0.2.7", "localhost", False),
        ("", "localhost", False),
        ("127.0.0.1", "", False),
    ],
)
def test_what_is_local(address, host, expected):
    scope = {"type": "http", "client": (address, 1), "headers": [(b"host", host.encode())]}
    assert local(scope) is expected


@pytest.mark.parametrize("path", INNER)
def test_with_a_password_nothing_is_served_before_it_is_given(locked, path):
    answer = client(locked).get(path)
    assert answer.status_code == 401
    assert answer.json() == {"error": "login"}


def test_server_functions_are_locked_too(locked):
    call = {"component_id": 2, "fn_name": "call_page", "session_hash": "x", "data": {}}
    assert client(locked).post("/research/gradio_api/component_server", json=call).status_code == 401


def test_logging_in_and_out(locked):
    browser = client(locked, "192.0.2.7", "study.example")
    assert 'action="/research/login"' in browser.get("/research", headers=HTML).text
    answer = log_in(browser)
    assert (answer.status_code, answer.headers["location"]) == (303, "/research")
    cookie = answer.headers["set-cookie"]
    assert all(part in cookie for part in ("HttpOnly", "SameSite=lax", "Path=/research"))
    assert browser.get("/research/api/progress").status_code == 200
    assert browser.post("/research/logout").status_code == 303
    browser.cookies.clear()
    assert browser.get("/research/api/progress").status_code == 401


def test_a_wrong_password_and_too_many_of_them(locked):
    browser = client(locked, "192.0.2.9")
    statuses = [log_in(browser, "a red lamp").status_code for _ in range(6)]
    assert statuses[:5] == [401] * 5
    assert "That is not the password." in log_in(client(locked, "192.0.2.10"), "a red lamp").text
    # The right one has to wait as well, or waiting would tell which one is right.
    while (answer := log_in(browser, "a red lamp")).status_code != 429:
        pass
    assert int(answer.headers["retry-after"]) >= 1
    assert log_in(browser).status_code == 429
    assert log_in(client(locked, "192.0.2.8")).status_code == 303


def test_a_log_in_from_another_site_is_refused(locked):
    answer = client(locked).post(
        "/research/login", data={"password": "a green lamp"}, headers={"origin": "http://evil.example"}
    )
    assert answer.status_code == 403


@pytest.mark.parametrize(
    "cookie", ["", "1", "9999999999.", "9999999999.x", "abc.def", "٣.x", f"{2**60}.AAAA"]
)
def test_forged_cookies_open_nothing(locked, cookie):
    browser = client(locked)
    headers = {"cookie": f"{COOKIE}={cookie}".encode()}
    assert browser.get("/research/api/progress", headers=headers).status_code == 401


def test_passes_end_and_belong_to_one_secret_and_password():
    clock = [1000.0]
    passes = Passes(b"secret", "word", lambda: clock[0])
    cookie = passes.issue()
    assert passes.valid(cookie)
    assert not Passes(b"secret", "other", lambda: 0.0).valid(cookie)
    assert not Passes(b"others", "word", lambda: 0.0).valid(cookie)
    clock[0] += 12 * 3600
    assert not passes.valid(cookie)
    assert Passes(b"s", "w").valid(Passes(b"s", "w", lambda: time.time() - 60).issue())


def test_throttle_waits_longer_each_time_and_forgives():
    clock = [0.0]
    throttle = Throttle(lambda: clock[0])
    for _ in range(5):
        assert throttle.wait("a") == 0
        throttle.failed("a")
    waits = []
    for _ in range(12):
        waits.append(throttle.wait("a"))
        throttle.failed("a")
    assert waits == [1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300, 300]
    assert throttle.wait("b") == 0
    clock[0] += 300
    assert throttle.wait("a") == 0
    throttle.failed("a")
    throttle.succeeded("a")
    assert throttle.wait("a") == 0


def test_config_and_page_source_hold_nothing_of_the_log(opened):
    browser = client(opened)
    for path in ("/research/config", "/research", "/research/review"):
        text = browser.get(path, headers=HTML).text
        assert "gather-resources" not in text
        assert "offline/seeker" not in text


def test_downloads(opened):
    browser = client(opened)
    table = browser.get("/research/download/scores.csv", params={"run": "one"})
    assert table.status_code == 200
    assert "one.scores.csv" in table.headers["content-disposition"]
    assert table.content.startswith(b"\xef\xbb\xbflanguage,type,n,success")
    for name in ("episodes", "reviews"):
        assert browser.get(f"/research/download/{name}.csv", params={"run": "one"}).status_code == 200
    compared = browser.get("/research/download/compare.csv", params={"run": "one", "against": "two"})
    assert len(compared.text.splitlines()) == 3
    assert browser.get("/research/download/run.zip", params={"run": "one"}).content[:2] == b"PK"
    for name, params in (
        ("scores.csv", {"run": "gone"}),
        ("other.csv", {"run": "one"}),
        ("run.zip", {"run": "gone"}),
    ):
        assert browser.get(f"/research/download/{name}", params=params).status_code == 404
    script = browser.get("/research/assets/plotly.js")
    assert "immutable" in script.headers["cache-control"]
    assert len(script.content) > 1_000_000
