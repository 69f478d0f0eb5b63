"""Who may see the researchers' pages: they hold the answers to every task.

With a password set (``ASKBACK_RESEARCH_PASSWORD``) a browser logs in and carries a signed cookie. Without
one, only browsers on this very machine are served.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import ipaddress
import os
import threading
import time
from collections.abc import Callable
from http.cookies import SimpleCookie
from typing import Final
from urllib.parse import parse_qs

from starlette.datastructures import Headers
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

PASSWORD_VARIABLE: Final = "ASKBACK_RESEARCH_PASSWORD"
COOKIE: Final = "askback_research"
LOGIN: Final = "login"
LOGOUT: Final = "logout"
_HOURS = 12
_MAX_BODY = 4096
_FREE_TRIES = 5
_LONGEST_WAIT = 300.0
_KEPT_ADDRESSES = 10_000
_PURPOSE = b"askback research v1\n"


def password_from_environment() -> str | None:
    """The password that was set, None if there is none."""
    return os.environ.get(PASSWORD_VARIABLE) or None


class Throttle:
    """Makes an address wait after failures, twice as long each time; the clock is the caller's."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._failures: dict[str, tuple[int, float]] = {}

    def wait(self, address: str) -> float:
        """Seconds until `address` may try again, 0 if at once."""
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
    """Makes and reads the cookie: when it ends, signed under the server's secret and the password."""

    def __init__(self, secret: bytes, password: str, clock: Callable[[], float] = time.time) -> None:
        self._key = hashlib.sha256(_PURPOSE + secret + hashlib.sha256(password.encode()).digest()).digest()
        self._password = password.encode()
        self._clock = clock

    def right(self, password: str) -> bool:
        """Whether this is the password."""
        return hmac.compare_digest(password.encode(), self._password)

    def issue(self) -> str:
        """A cookie that holds for some hours."""
        end = str(int(self._clock()) + _HOURS * 3600)
        return f"{end}.{self._sign(end)}"

    def valid(self, cookie: str) -> bool:
        """Whether a cookie is ours and has not ended."""
        end, _, signature = cookie.partition(".")
        return (
            end.isascii()
            and end.isdecimal()
            and hmac.compare_digest(signature.encode(), self._sign(end).encode())
            and int(end) > self._clock()
        )

    def _sign(self, end: str) -> str:
        digest = hmac.new(self._key, end.encode(), hashlib.sha256).digest()
        return base64.urlsafe_b64encode(digest).rstrip(b"=").decode()


class Guard:
    """Stands before everything under one path, for every kind of request."""

    def __init__(self, app: ASGIApp, *, path: str, passes: Passes | None, page: Callable[[Scope, str], str]):
        self.app = app
        self.path = path
        self.passes = passes
        self.page = page
        self.throttle = Throttle()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on, ask for the password, or refuse."""
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
        if self.passes is None:
            return None if local(scope) else self._refusal(scope, "refused", 403)
        step = _route(scope).removeprefix(self.path).strip("/")
        if step == LOGIN and scope.get("method") == "POST":
            return await self._log_in(scope, receive, self.passes)
        if step == LOGOUT and scope.get("method") == "POST":
            response: Response = RedirectResponse(self._address(scope), status_code=303)
            response.delete_cookie(COOKIE, path=self._address(scope))
            return response
        morsel = SimpleCookie(Headers(scope=scope).get("cookie", "")).get(COOKIE)
        if morsel is not None and self.passes.valid(morsel.value):
            return None
        return self._refusal(scope, "login", 401)

    def _address(self, scope: Scope) -> str:
        return f"{scope.get('root_path', '')}{self.path}"

    def _refusal(
        self, scope: Scope, name: str, status: int, headers: dict[str, str] | None = None
    ) -> Response:
        if "text/html" in Headers(scope=scope).get("accept", ""):
            return HTMLResponse(self.page(scope, name), status_code=status, headers=headers)
        return JSONResponse({"error": name}, status_code=status, headers=headers)

    async def _log_in(self, scope: Scope, receive: Receive, passes: Passes) -> Response:
        address = _client(scope)
        wait = self.throttle.wait(address)
        if wait > 0:
            return self._refusal(scope, "wait", 429, {"Retry-After": str(int(wait) + 1)})
        fields = parse_qs((await _body(receive)).decode("utf-8", "replace"))
        if not passes.right(fields.get("password", [""])[0]):
            self.throttle.failed(address)
            return self._refusal(scope, "wrong", 401)
        self.throttle.succeeded(address)
        response = RedirectResponse(self._address(scope), status_code=303)
        response.set_cookie(
            COOKIE,
            passes.issue(),
            max_age=_HOURS * 3600,
            path=self._address(scope),
            httponly=True,
            samesite="lax",
            secure=scope.get("scheme") == "https",
        )
        return response


def local(scope: Scope) -> bool:
    """Whether a request comes from a browser on this machine, by a name of this machine.

    A request that a proxy has passed on comes from elsewhere; and a foreign name that is made to lead
    here (DNS rebinding) is no name of this machine.
    """
    headers = Headers(scope=scope)
    if any(name in headers for name in ("forwarded", "x-forwarded-for", "x-real-ip")):
        return False
    return _loopback(_client(scope)) and _local_name(headers.get("host", ""))


def _client(scope: Scope) -> str:
    client = scope.get("client")
    return str(client[0]) if client else ""


def _loopback(address: str) -> bool:
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return False
    mapped = getattr(parsed, "ipv4_mapped", None)
    return bool((mapped or parsed).is_loopback)


def _local_name(host: str) -> bool:
    name = host.rpartition("]")[0].lstrip("[") if host.startswith("[") else host.partition(":")[0]
    return name.lower() == "localhost" or _loopback(name)


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
