"""The guard of the researchers' pages, which hold the answers to every task: log-in, and a role for each act.

A browser logs in and carries a cookie: with name and password, with the shared password, or, where there is
neither, by a link with a one-time token that the server prints. A browser on this very machine has to as
well, since a proxy that rewrites the Host header and adds none looks just like one.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import hashlib
import hmac
import json
import os
import secrets
import threading
import time
from collections.abc import Callable
from contextvars import ContextVar
from pathlib import Path
from typing import Any, Final
from urllib.parse import parse_qs

from gradio.context import LocalContext
from itsdangerous import BadData, URLSafeTimedSerializer
from starlette.datastructures import Headers
from starlette.requests import HTTPConnection, Request
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from logs.rows import Event
from ui.accounts import ACCOUNTS_FILE, OWNER, Accounts, Action, NotAllowedError, User, write_private
from ui.limits import Throttle, client_group
from ui.tokens import secret_of

COOKIE: Final = "askback_research"
LOGIN: Final = "login"
LOGOUT: Final = "logout"
PASSWORD_VARIABLE: Final = "ASKBACK_RESEARCH_PASSWORD"
SIGNED_OUT_FILE: Final = "research-signed-out.json"
HOURS: Final = 12
"""Time for which a log-in holds."""
_PURPOSE: Final = "askback researcher v1"
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


class LogIns:
    """The log-ins of one server.

    A log-in is a signed cookie. It ends with its time, by signing out (what was signed out is kept until its
    time is over), with the password it was made with, and with its account.

    Args:
        home: the data home; the secret, accounts and what was signed out are there.
        password: of an owner without a name; default: ``ASKBACK_RESEARCH_PASSWORD``. Where there is neither
            one nor an account, whoever starts the server gets links in the terminal.
        announce: tells a new one-time token to whoever started the server; called at once, and again each
            time that the last one was used.
        sso_header: names whom a trusted proxy has logged in (`ui.security.Access`); empty: nobody does.
    """

    def __init__(
        self,
        home: Path,
        password: str | None = None,
        announce: Callable[[str], None] = lambda token: None,
        sso_header: str = "",
    ) -> None:
        self.accounts = Accounts(home / ACCOUNTS_FILE)
        self.password = password or os.environ.get(PASSWORD_VARIABLE) or None
        self.sso_header = sso_header
        self._announce = announce
        self._secret = secret_of(home)
        self._signer = URLSafeTimedSerializer(
            self._secret, salt=_PURPOSE, signer_kwargs={"digest_method": hashlib.sha256}
        )
        self._lock = threading.Lock()
        self._file = home / SIGNED_OUT_FILE
        self._signed_out = _read_ends(self._file)
        self._token = ""
        self.by_token = self.password is None and not sso_header and not self.accounts.all()
        if self.by_token:
            self._renew()

    def check(self, name: str, secret: str) -> User | None:
        """Return who comes with an account's password, or without a name with the shared one or the token.

        A token is used up by it. Takes some time: call it in a thread.
        """
        if name:
            return self.accounts.check(name, secret)
        with self._lock:
            expected = self._token if self.by_token else self.password
            if not expected or not hmac.compare_digest(secret.encode(), expected.encode()):
                return None
            if self.by_token:
                self._renew()
        return User(OWNER, "owner")

    def issue(self, user: User) -> str:
        """Return a cookie that holds for some hours."""
        return str(self._signer.dumps([user.name, secrets.token_urlsafe(16), self._stamp(user.name)]))

    def user(self, cookie: str) -> User | None:
        """Return whose log-in a cookie is; None if it is not ours, or has ended."""
        if (fields := self._fields(cookie)) is None:
            return None
        name, id, stamp = fields
        if id in self._signed_out or not hmac.compare_digest(stamp, self._stamp(name)):
            return None
        return User(OWNER, "owner") if name == OWNER else self.known(name)

    def known(self, name: str) -> User | None:
        """Return somebody by name; None if there is no such account."""
        account = self.accounts.all().get(name)
        return None if account is None else User(name, account.role)

    def end(self, cookie: str) -> None:
        """End a log-in: its cookie holds no longer, whoever has a copy of it."""
        if (fields := self._fields(cookie)) is None:
            return
        now = time.time()
        with self._lock:
            kept = {id: end for id, end in self._signed_out.items() if end > now}
            self._signed_out = {**kept, fields[1]: now + HOURS * 3600}
            write_private(self._file, json.dumps(self._signed_out))

    def _fields(self, cookie: str) -> tuple[str, str, str] | None:
        try:
            name, id, stamp = self._signer.loads(cookie, max_age=HOURS * 3600)
        except BadData:
            return None
        return name, id, stamp

    def _stamp(self, name: str) -> str:
        """Return what changes with the password that a log-in is made with."""
        account = self.accounts.all().get(name)
        password = (self.password or "") if name == OWNER else account.hash if account else ""
        return hmac.new(self._secret, f"{_PURPOSE}\n{password}".encode(), hashlib.sha256).hexdigest()[:32]

    def _renew(self) -> None:
        self._token = secrets.token_urlsafe(24)
        self._announce(self._token)


def _read_ends(file: Path) -> dict[str, float]:
    """Return until when each log-in in a file would have held; none if there is no file."""
    if not file.exists():
        return {}
    return {str(id): float(end) for id, end in json.loads(file.read_text("utf-8")).items()}


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
        if scope["type"] not in ("http", "websocket") or not self._is_guarded(scope):
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

    def _is_guarded(self, scope: Scope) -> bool:
        path = "/" + _route(scope).lstrip("/")
        return path == self.path or path.startswith(f"{self.path}/")

    async def _answer(self, scope: Scope, receive: Receive) -> Response | User:
        step = _route(scope).removeprefix(self.path).strip("/")
        asked, method = HTTPConnection(scope), scope.get("method")
        if self.log_ins.sso_header and (name := asked.headers.get(self.log_ins.sso_header)):
            return self.log_ins.known(name) or self._refusal(scope, "no_account", 403)
        cookie = asked.cookies.get(COOKIE, "")
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
        if (token := asked.query_params.get("token")) and method == "GET":
            here = f"{scope.get('root_path', '')}/{_route(scope).lstrip('/')}"
            return await self._log_in(scope, "", token, here)
        # Scripts that download tables; a one-time token would be gone after the first.
        credentials = _credentials(asked.headers.get("authorization", ""))
        if credentials is not None and not self.log_ins.by_token:
            return await self._authenticate(scope, *credentials)
        return self._refusal(scope, "login", 401)

    async def _log_in(self, scope: Scope, name: str, secret: str, target: str) -> Response:
        user = await self._authenticate(scope, name, secret)
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

    async def _authenticate(self, scope: Scope, name: str, secret: str) -> Response | User:
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
