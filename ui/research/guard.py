"""The guard of the researchers' pages, which hold the answers to every task: log-in, and a role for each act.

A browser logs in and carries a cookie: with name and password, with the shared password, or, where there is
neither, by a link with a one-time token that the server prints. A browser on this very machine has to as
well, since a proxy that rewrites the Host header and adds none looks just like one.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
from collections.abc import Callable
from contextvars import ContextVar
from http.cookies import SimpleCookie
from typing import Any, Final
from urllib.parse import parse_qs

from gradio.context import LocalContext
from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from logs.rows import Event
from ui.accounts import Action, NotAllowedError, User
from ui.limits import Throttle, client_group
from ui.research.log_in import HOURS, LogIns

COOKIE: Final = "askback_research"
LOGIN: Final = "login"
LOGOUT: Final = "logout"
_TRIES_PER_NAME: Final = 20
_USER: Final = "askback.user"
_current: ContextVar[User | None] = ContextVar("researcher", default=None)


def current_user() -> User:
    """Return who sends the request that is being answered: a route's, a server function's or an event's.

    Raises:
        NotAllowedError: if nobody has logged in.
    """
    # Gradio's queue runs events in a task of its own, and says there whose they are.
    request: Any = LocalContext.request.get(None)
    user = _current.get() if request is None else getattr(request, "request", request).scope.get(_USER)
    if user is None:
        raise NotAllowedError("Nobody has logged in.")
    return user


def require(action: Action) -> User:
    """Return who sends the request; everything that changes something asks this first.

    Raises:
        NotAllowedError: if their role does not reach `action`.
    """
    user = current_user()
    if not user.may(action):
        raise NotAllowedError(f"{user.name} is {user.role}, which is not enough for this.", role=user.role)
    return user


def action_event(user: User, action: Action, **details: object) -> Event:
    """Return the row that says what a researcher did."""
    return Event(kind=f"researcher.{action}", details={"by": user.name, **details})


class Guard:
    """Stands before everything under one path, for every kind of request.

    Args:
        page: makes the page that asks to log in, of a request and of what is wrong.
    """

    def __init__(self, app: ASGIApp, *, path: str, log_ins: LogIns, page: Callable[[Scope, str], str]):
        self.app = app
        self.path = path
        self.log_ins = log_ins
        self.page = page
        self._by_client, self._by_name = Throttle(), Throttle(_TRIES_PER_NAME)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on, let in, or ask who it is."""
        if scope["type"] not in ("http", "websocket") or not self._guarded(scope):
            await self.app(scope, receive, send)
            return
        answer = await self._answer(scope, receive)
        if isinstance(answer, User):
            _current.set(answer)
            await self.app({**scope, _USER: answer}, receive, send)
        elif scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1008})
        else:
            await answer(scope, receive, send)

    def _guarded(self, scope: Scope) -> bool:
        path = "/" + _route(scope).lstrip("/")
        return path == self.path or path.startswith(f"{self.path}/")

    async def _answer(self, scope: Scope, receive: Receive) -> Response | User:
        step = _route(scope).removeprefix(self.path).strip("/")
        headers, method = Headers(scope=scope), scope.get("method")
        if self.log_ins.sso_header and (name := headers.get(self.log_ins.sso_header)):
            return self.log_ins.known(name) or self._refusal(scope, "no_account", 403)
        morsel = SimpleCookie(headers.get("cookie", "")).get(COOKIE)
        cookie = "" if morsel is None else morsel.value
        home = f"{scope.get('root_path', '')}{self.path}"
        if step == LOGIN and method == "POST":
            fields = parse_qs((await Request(scope, receive).body()).decode("utf-8", "replace"))
            name, secret = (fields.get(field, [""])[0] for field in ("name", "password"))
            return await self._log_in(scope, name.strip(), secret, home)
        if step == LOGOUT and method == "POST":
            self.log_ins.end(cookie)
            response = RedirectResponse(home, status_code=303)
            response.delete_cookie(COOKIE, path=home)
            return response
        if user := self.log_ins.user(cookie):
            return user
        query = parse_qs(bytes(scope.get("query_string", b"")).decode("latin-1"))
        if "token" in query and method == "GET":
            here = f"{scope.get('root_path', '')}/{_route(scope).lstrip('/')}"
            return await self._log_in(scope, "", query["token"][0], here)
        # Scripts that download tables; a one-time token would be gone after the first.
        credentials = _credentials(headers.get("authorization", ""))
        if credentials is not None and not self.log_ins.by_token:
            return await self._checked(scope, *credentials)
        return self._refusal(scope, "login", 401)

    async def _log_in(self, scope: Scope, name: str, secret: str, target: str) -> Response:
        user = await self._checked(scope, name, secret)
        if isinstance(user, Response):
            return user
        response = RedirectResponse(target, status_code=303)
        response.set_cookie(
            COOKIE,
            self.log_ins.issue(user),
            max_age=HOURS * 3600,
            path=f"{scope.get('root_path', '')}{self.path}",
            httponly=True,
            samesite="lax",
            secure=scope.get("scheme") == "https",
        )
        return response

    async def _checked(self, scope: Scope, name: str, secret: str) -> Response | User:
        """Return who comes with a name and a password, or why they are not let in."""
        client = client_group(scope["client"][0]) if scope.get("client") else ""
        wait = max(self._by_client.wait(client), self._by_name.wait(name) if name else 0.0)
        if wait > 0:
            return self._refusal(scope, "wait", 429, {"Retry-After": str(int(wait) + 1)})
        # Counted before it is looked at: of many that come at once, few are looked at.
        self._by_client.failed(client)
        self._by_name.failed(name)
        user = await asyncio.to_thread(self.log_ins.check, name, secret)
        if user is None:
            return self._refusal(scope, "wrong", 401)
        self._by_client.succeeded(client)
        self._by_name.succeeded(name)
        return user

    def _refusal(
        self, scope: Scope, name: str, status: int, headers: dict[str, str] | None = None
    ) -> Response:
        if "text/html" in Headers(scope=scope).get("accept", ""):
            return HTMLResponse(self.page(scope, name), status_code=status, headers=headers)
        return JSONResponse({"error": name}, status_code=status, headers=headers)


def _credentials(authorization: str) -> tuple[str, str] | None:
    """Return name and password of an Authorization header: an account's, or the shared password alone."""
    kind, _, value = authorization.partition(" ")
    if kind.lower() == "bearer":
        return "", value.strip()
    if kind.lower() != "basic":
        return None
    try:
        name, _, password = base64.b64decode(value, validate=True).decode().partition(":")
    except (binascii.Error, UnicodeDecodeError):
        return None
    return name, password


def _route(scope: Scope) -> str:
    path, root = str(scope["path"]), str(scope.get("root_path", ""))
    return path[len(root) :] if root and path.startswith(root) else path
