import re
from pathlib import Path

import gradio
import pytest
from fake_sessions import FakeSessions
from fastapi.testclient import TestClient

from simulator.errors import InputError
from ui.security import Access, rewrite_index
from ui.server import create_server
from ui.tokens import SECRET_FILE

HTML = {"Accept": "text/html,application/xhtml+xml"}
OUTSIDE = re.compile(r"""(?:https?:)?//(?!127\.0\.0\.1|www\.w3\.org)[\w.-]+\.\w+""")
INDEX = Path(gradio.__file__).parent / "templates" / "frontend" / "index.html"


def test_gradios_own_page_names_places_outside() -> None:
    """The reason for `rewrite_index`: if this fails, Gradio has cleaned up and the rewriting can shrink."""
    assert OUTSIDE.search(INDEX.read_text(encoding="utf-8"))
    assert 'rel="manifest"' in INDEX.read_text(encoding="utf-8")


@pytest.mark.parametrize("path", ["/", "/play", "/play?t=nonsense&lang=zh"])
def test_a_page_names_nothing_outside(client: TestClient, path: str) -> None:
    html = client.get(path, headers=HTML).text
    assert "askback.mount" in html
    assert OUTSIDE.findall(html) == []
    assert "manifest" not in html
    assert "iframe" not in html.lower()


def test_every_script_has_the_nonce_of_the_policy(client: TestClient) -> None:
    response = client.get("/", headers=HTML)
    policy = response.headers["content-security-policy"]
    (nonce,) = re.findall(r"'nonce-([^']+)'", policy)
    tags = re.findall(r"<script[^>]*>", response.text)
    assert len(tags) >= 5
    assert all(f'nonce="{nonce}"' in tag for tag in tags)
    assert nonce not in client.get("/", headers=HTML).text
    assert "connect-src 'self'" in policy
    assert "'unsafe-inline'" not in re.findall(r"script-src[^;]*", policy)[0]


@pytest.mark.parametrize(
    "path", ["/", "/play", "/health", "/config", "/askback/askback.css", "/nothing/here"]
)
def test_every_answer_has_the_security_headers(client: TestClient, path: str) -> None:
    headers = client.get(path, headers=HTML).headers
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "same-origin"
    assert headers["x-frame-options"] == "SAMEORIGIN"


@pytest.mark.parametrize("path", ["/", "/play", "/study"])
def test_a_page_is_served_to_programs_that_do_not_name_pages(client: TestClient, path: str) -> None:
    response = client.get(path, headers={"Accept": "*/*", "Accept-Encoding": "gzip"})
    assert response.status_code == 200
    assert "nonce-" in response.headers["Content-Security-Policy"]
    assert "/askback/askback.css" in response.text


def test_a_page_is_in_the_language_that_was_asked_for_last(client: TestClient) -> None:
    plain = client.get("/", headers=HTML | {"Accept-Language": "zh-CN,zh;q=0.9"})
    assert '<html\n\tlang="zh" data-language="zh"' in plain.text
    assert "set-cookie" not in plain.headers
    chosen = client.get("/?lang=en", headers=HTML | {"Accept-Language": "zh-CN"})
    assert 'data-language="en"' in chosen.text
    assert "HttpOnly" in chosen.headers["set-cookie"]
    later = client.get("/play", headers=HTML | {"Accept-Language": "zh-CN"})
    assert 'data-language="en"' in later.text


def test_an_unknown_language_sets_nothing(client: TestClient) -> None:
    response = client.get('/?lang="><script>', headers=HTML)
    assert 'data-language="en"' in response.text
    assert "set-cookie" not in response.headers


def test_another_sites_page_cannot_call(client: TestClient) -> None:
    route = "/api/call/page"
    assert client.post(route, json={}, headers={"Origin": "https://example.org"}).status_code == 403
    assert client.post(route, json={}, headers={"Origin": "null"}).status_code == 403
    assert client.post(route, json={}, headers={"Origin": "http://127.0.0.1:7860"}).status_code == 200
    # Whoever calls can write this header; it counts from a proxy that was named, and from nobody else.
    behind = {"Origin": "https://play.example.org", "X-Forwarded-Host": "play.example.org"}
    refused = client.post(route, json={}, headers=behind)
    assert (
        refused.status_code == 403
        and "https://play.example.org" in refused.text
        and "--proxy" in refused.text
    )


@pytest.mark.parametrize("name", ["https://lab.example/", "lab.example:443", ""])
def test_a_host_name_is_a_name_only(name: str) -> None:
    with pytest.raises(InputError, match="--host-name"):
        Access.build("127.0.0.1", (name,), ())


def test_a_host_name_can_be_an_address() -> None:
    assert Access.build("127.0.0.1", ("2001:db8::7",), ()).allows("[2001:db8::7]:443")


async def test_a_named_proxy_says_by_which_name_the_server_was_asked(
    sessions: FakeSessions, tmp_path: Path
) -> None:
    access = Access(names=("play.example.org",), proxies=("192.0.2.1",))
    server = create_server([sessions], home=tmp_path, access=access)
    behind = {"Origin": "https://play.example.org", "X-Forwarded-Host": "play.example.org"}
    for peer, status in (("192.0.2.1", 200), ("192.0.2.2", 403)):
        caller = TestClient(server, base_url="http://127.0.0.1:7860", client=(peer, 5000))
        assert caller.post("/api/call/page", json={}, headers=behind).status_code == status


@pytest.mark.parametrize("path", ["/gradio_api/upload", "/research/gradio_api/upload", "/gradio_api/upload/"])
def test_nothing_can_be_uploaded(client: TestClient, path: str) -> None:
    refused = client.post(path, files={"files": ("a.txt", b"x" * 1000)})
    assert refused.status_code == 404
    assert refused.headers["x-content-type-options"] == "nosniff"


def test_rewriting_keeps_links_to_parts_on_the_page() -> None:
    html = rewrite_index(
        INDEX.read_text().replace("{{ base_url | default('./') }}", "./"),
        language="zh",
        head="<meta x>",
        nonce="n",
    )
    assert "<base" not in html
    assert html.count("<meta x>") == 1
    assert 'nonce="n"' in html


def test_what_gradio_offers_beside_the_pages_is_closed(client: TestClient) -> None:
    for path in ("/gradio_api/runs", "/monitoring", "/gradio_api/mcp/", "/docs", "/openapi.json"):
        assert client.get(path, headers=HTML).status_code in (401, 403, 404), path
    info = client.get("/gradio_api/info").json()
    assert info == {"named_endpoints": {}, "unnamed_endpoints": {}}


def test_analytics_are_off(client: TestClient) -> None:
    config = client.get("/config").json()
    assert config["analytics_enabled"] is False
    assert config["run_history"] is False
    assert config["show_error"] is False
    assert config["footer_links"] == []


def test_files_of_the_data_home_are_not_served(client: TestClient, tmp_path: Path) -> None:
    secret = tmp_path / SECRET_FILE
    for path in (
        f"/gradio_api/file={secret}",
        f"/file={secret}",
        f"/askback/../{secret}",
        f"/static/..{secret}",
    ):
        response = client.get(path)
        assert response.status_code in (403, 404, 405), path
        assert secret.read_bytes() not in response.content


@pytest.mark.each("path", ["/nowhere", "/askback/none.css", "/a/b?x=<b>", "/%3Cscript%3E"])
def test_a_wrong_address_has_a_page_for_people_and_words_for_programs(client: TestClient, path: str) -> None:
    for language, title in (("en", "Page not found"), ("zh", "找不到页面")):
        page = client.get(path, headers=HTML | {"accept-language": language})
        assert page.status_code == 404
        assert f"<h1>{title}</h1>" in page.text and f'lang="{language}"' in page.text
        assert "askback.css" in page.text and "content-security-policy" in page.headers
        assert "<b>" not in page.text and "&lt;b" not in page.text
    plain = client.get(path)
    assert plain.status_code == 404 and "<html" not in plain.text
    assert client.post(path, headers=HTML).status_code in (404, 405)
    assert "<html" not in client.post(path, headers=HTML).text
