"""Who may see the researchers' pages: they hold the answers to every task.

A browser logs in and carries a cookie: with the password (``ASKBACK_RESEARCH_PASSWORD``), or, where none is
set, by a link with a one-time token that the server prints. A browser on this very machine has to as well,
since a proxy that rewrites the Host header and adds none looks just like one.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import secrets
import threading
import time
from collections.abc import Callable
from http.cookies import SimpleCookie
from pathlib import Path
from typing import Final
from urllib.parse import parse_qs

from starlette.datastructures import Headers
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from ui.limits import client_group

SESSIONS_FILE: Final = "research-sessions.json"
PASSWORD_VARIABLE: Final = "ASKBACK_RESEARCH_PASSWORD"
COOKIE: Final = "askback_research"
LOGIN: Final = "login"
LOGOUT: Final = "logout"
_HOURS = 12
_MAX_BODY = 4096
_FREE_TRIES = 5
_LONGEST_WAIT = 300.0
_KEPT_ADDRESSES = 10_000


def password_from_environment() -> str | None:
    """Return the password that was set, None if there is none."""
    return os.environ.get(PASSWORD_VARIABLE) or None


class Throttle:
    """Makes an address wait after failures, twice as long each time; the clock is the caller's."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._failures: dict[str, tuple[int, float]] = {}

    def wait(self, address: str) -> float:
        """Return seconds until `address` may try again, 0 if at once."""
        with self._lock:
            failures, since = self._failures.get(address, (0, 0.0))
        if failures < _FREE_TRIES:
            return 0.0
        pause = min(float(2 ** (failures - _FREE_TRIES)), _LONGEST_WAIT)
        return max(0.0, since + pause - self._clock())

    def failed(self, address: str) -> None:
        """Note a failure."""
        with self._lock:
            failures, _ = self._failures.pop(address, (0, 0.0))
            self._failures[address] = (failures + 1, self._clock())
            while len(self._failures) > _KEPT_ADDRESSES:
                del self._failures[next(iter(self._failures))]

    def succeeded(self, address: str) -> None:
        """Forget the failures."""
        with self._lock:
            self._failures.pop(address, None)


class Passes:
    """The log-ins of one server: who may come in, and who is in.

    Log-ins are kept by their hashes, so that a log-out ends one for good, and in a file, so that nobody's
    review is broken off when the server is started again. Another password ends them all.

    Args:
        file: where log-ins are kept.
        password: that researchers know; None where whoever starts the server gets links in the terminal.
        announce: tells a new one-time token to whoever started the server; called at once, and again each
            time that the last one was used.
        clock: tells the present time, in seconds.
    """

    def __init__(
        self,
        file: Path,
        password: str | None,
        announce: Callable[[str], None] = lambda token: None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.password = password
        self._announce = announce
        self._clock = clock
        self._lock = threading.Lock()
        self._file = file
        self._ends = _read_ends(file)
        self._token = ""
        if password is None:
            self._renew()

    def right(self, secret: str) -> bool:
        """Return True if this is the password, or the token, which is used up by it."""
        with self._lock:
            expected = self._token if self.password is None else self.password
            if not hmac.compare_digest(secret.encode(), expected.encode()):
                return False
            if self.password is None:
                self._renew()
        return True

    def issue(self) -> str:
        """Return a cookie that holds for some hours."""
        cookie, now = secrets.token_urlsafe(32), self._clock()
        with self._lock:
            self._ends = {key: end for key, end in self._ends.items() if end > now}
            self._ends[self._hash(cookie)] = now + _HOURS * 3600
            self._keep()
        return cookie

    def valid(self, cookie: str) -> bool:
        """Return True if a cookie is ours and has not ended."""
        with self._lock:
            return self._ends.get(self._hash(cookie), 0.0) > self._clock()

    def end(self, cookie: str) -> None:
        """End a log-in: its cookie holds no longer, whoever has a copy of it."""
        with self._lock:
            if self._ends.pop(self._hash(cookie), None) is not None:
                self._keep()

    def _hash(self, cookie: str) -> str:
        return hashlib.sha256(f"{self.password}\n{cookie}".encode("utf-8", "replace")).hexdigest()

    def _keep(self) -> None:
        draft = self._file.with_name(f".{self._file.name}.{secrets.token_hex(8)}")
        draft.touch(mode=0o600)
        draft.write_text(json.dumps(self._ends))
        draft.replace(self._file)

    def _renew(self) -> None:
        self._token = secrets.token_urlsafe(24)
        self._announce(self._token)


def _read_ends(file: Path) -> dict[str, float]:
    """Return the log-ins in a file; none if it is spoilt, and everybody logs in again."""
    try:
        ends = json.loads(file.read_text(encoding="utf-8"))
        return {str(name): float(end) for name, end in ends.items()}
    except (OSError, ValueError, AttributeError, TypeError):
        return {}


class Guard:
    """Stands before everything under one path, for every kind of request."""

    def __init__(self, app: ASGIApp, *, path: str, passes: Passes, page: Callable[[Scope, str], str]):
        self.app = app
        self.path = path
        self.passes = passes
        self.page = page
        self.throttle = Throttle()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on, let in, or ask for the password."""
        if scope["type"] not in ("http", "websocket") or not self._guarded(scope):
            await self.app(scope, receive, send)
            return
        answer = await self._answer(scope, receive)
        if answer is None:
            await self.app(scope, receive, send)
        elif scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1008})
        else:
            await answer(scope, receive, send)

    def _guarded(self, scope: Scope) -> bool:
        path = "/" + _route(scope).lstrip("/")
        return path == self.path or path.startswith(f"{self.path}/")

    async def _answer(self, scope: Scope, receive: Receive) -> Response | None:
        step = _route(scope).removeprefix(self.path).strip("/")
        headers = Headers(scope=scope)
        morsel = SimpleCookie(headers.get("cookie", "")).get(COOKIE)
        cookie = "" if morsel is None else morsel.value
        if step == LOGIN and scope.get("method") == "POST":
            fields = parse_qs((await _body(receive)).decode("utf-8", "replace"))
            return self._log_in(scope, fields.get("password", [""])[0], self._address(scope))
        if step == LOGOUT and scope.get("method") == "POST":
            self.passes.end(cookie)
            response = RedirectResponse(self._address(scope), status_code=303)
            response.delete_cookie(COOKIE, path=self._address(scope))
            return response
        if self.passes.valid(cookie):
            return None
        token = _token(scope)
        if token is not None and scope.get("method") == "GET":
            return self._log_in(scope, token, f"{scope.get('root_path', '')}/{_route(scope).lstrip('/')}")
        kind, _, secret = headers.get("authorization", "").partition(" ")
        # Scripts that download tables; a one-time token would be gone after the first.
        if kind.lower() == "bearer" and self.passes.password is not None:
            return self._refused(scope, secret.strip())
        return self._refusal(scope, "login", 401)

    def _address(self, scope: Scope) -> str:
        return f"{scope.get('root_path', '')}{self.path}"

    def _refusal(
        self, scope: Scope, name: str, status: int, headers: dict[str, str] | None = None
    ) -> Response:
        if "text/html" in Headers(scope=scope).get("accept", ""):
            return HTMLResponse(self.page(scope, name), status_code=status, headers=headers)
        return JSONResponse({"error": name}, status_code=status, headers=headers)

    def _log_in(self, scope: Scope, secret: str, target: str) -> Response:
        refusal = self._refused(scope, secret)
        if refusal is not None:
            return refusal
        response = RedirectResponse(target, status_code=303)
        response.set_cookie(
            COOKIE,
            self.passes.issue(),
            max_age=_HOURS * 3600,
            path=self._address(scope),
            httponly=True,
            samesite="lax",
            secure=scope.get("scheme") == "https",
        )
        return response

    def _refused(self, scope: Scope, secret: str) -> Response | None:
        """Return why a password or token lets nobody in; None if it does."""
        client = client_group(_client(scope))
        wait = self.throttle.wait(client)
        if wait > 0:
            return self._refusal(scope, "wait", 429, {"Retry-After": str(int(wait) + 1)})
        if not self.passes.right(secret):
            self.throttle.failed(client)
            return self._refusal(scope, "wrong", 401)
        self.throttle.succeeded(client)
        return None


def _token(scope: Scope) -> str | None:
    tokens = parse_qs(bytes(scope.get("query_string", b"")).decode("latin-1")).get("token")
    return tokens[0] if tokens else None


def _client(scope: Scope) -> str:
    client = scope.get("client")
    return str(client[0]) if client else ""


def _route(scope: Scope) -> str:
    path, root = str(scope["path"]), str(scope.get("root_path", ""))
    return path[len(root) :] if root and path.startswith(root) else path


async def _body(receive: Receive) -> bytes:
    body = b""
    while True:
        message = await receive()
        body += bytes(message.get("body", b""))
        if len(body) > _MAX_BODY:
            return b""
        if not message.get("more_body", False):
            return body
