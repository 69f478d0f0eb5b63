"""Profiles are used again by the tests after: nothing of one test is known to the next."""

from __future__ import annotations

from typing import Any

import pytest

pytestmark = [pytest.mark.browser, pytest.mark.slow]

KEEP = """async () => {
    document.cookie = 'me=1; max-age=1000';
    localStorage.setItem('me', '1');
    sessionStorage.setItem('me', '1');
    await (await caches.open('me')).put('/me', new Response('1'));
    await new Promise((done) => { indexedDB.open('me').onsuccess = done; });
    addEventListener('pagehide', () => localStorage.setItem('last', '1'));
}"""
KNOWN = """async () => [document.cookie, localStorage.length, sessionStorage.length,
    (await caches.keys()).length, (await indexedDB.databases()).length]"""


@pytest.mark.parametrize("time", ["first", "second"])
def test_nothing_is_known_of_who_was_here_before(
    server: Any, chromium: Any, open_page: Any, time: str
) -> None:
    page = open_page().page
    page.goto(f"{server.url}/health")
    assert page.evaluate(KNOWN) == ["", 0, 0, 0, 0]
    page.evaluate(KEEP)
    assert page.evaluate(KNOWN) == ["me=1", 1, 1, 1, 1]
