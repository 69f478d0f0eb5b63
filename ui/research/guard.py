"""Log-in and permissions for the researchers' pages, which show the answers to every task.

A browser logs in with name and password, with the shared password, or, if there is neither, by a link with a
one-time token that the server prints; then it has a cookie. This applies to local browsers too, since a
proxy that rewrites the Host header and adds no other looks like one.
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
from urllib.parse import parse_qs, urlencode

from gradio.context import LocalContext
from itsdangerous import BadData, URLSafeTimedSerializer
from starlette.datastructures import Headers
from starlette.requests import HTTPConnection, Request
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from logs.rows import Event
from simulator.output_files import write_atomically
from ui.accounts import ACCOUNTS_FILE, OWNER, Accounts, Action, NotAllowedError, User
from ui.limits import Throttle, client_group
from ui.tokens import secret_of

COOKIE: Final = "askback_research"
LOGIN: Final = "login"
LOGOUT: Final = "logout"
PASSWORD_VARIABLE: Final = "ASKBACK_RESEARCH_PASSWORD"
SIGNED_OUT_FILE: Final = "research-signed-out.json"
HOURS: Final = 12
"""Hours until a log-in expires."""
_PURPOSE: Final = "askback researcher v1"
_TRIES_PER_NAME: Final = 20
_USER: Final = "askback.user"
_current: ContextVar[User | None] = ContextVar("researcher", default=None)


def current_user() -> User:
    """Return the sender of the current request, in a route or a Gradio event, or raise `NotAllowedError`."""
    # Gradio's queue runs events in a task of its own, with the request in this variable.
    request: Any = LocalContext.request.get(None)
    user = _current.get() if request is None else getattr(request, "request", request).scope.get(_USER)
    if user is None:
        raise NotAllowedError("Nobody has logged in.")
    return user


def require_permission(action: Action) -> User:
    """Return the current sender if they may act, else raise `NotAllowedError`; call it before any change."""
    user = current_user()
    if not user.may(action):
        raise NotAllowedError(f"{user.name} is {user.role}, which does not allow this.", role=user.role)
    return user


def action_event(user: User, action: Action, **details: object) -> Event:
    """Return the event for the log that records what a researcher did."""
    return Event(kind=f"researcher.{action}", details={"by": user.name, **details})


class LogIns:
    """The log-ins of one server.

    A log-in is a signed cookie. It ends when it expires, by signing out (remembered until it would have
    expired), and when its password changes or its account is removed.

    Args:
        home: the data home, with the secret, the accounts and the signed-out log-ins.
        password: shared password of the owner; default: ``ASKBACK_RESEARCH_PASSWORD``. Without one and
            without accounts, log-in is by token.
        announce: shows a new one-time token in the terminal; called now, and whenever a token has been used.
        sso_header: header in which a trusted proxy names the user (`ui.security.Access`); empty for none.
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
        ended = json.loads(self._file.read_text("utf-8")) if self._file.exists() else {}
        self._signed_out = {str(id): float(end) for id, end in ended.items()}
        self._token = ""
        self.by_token = self.password is None and not sso_header and not self.accounts.all()
        if self.by_token:
            self._renew()

    def check(self, name: str, secret: str) -> User | None:
        """Return the user for a name and password, or without a name for the shared password or the token.

        This uses up a token. It takes some time: call it in a thread.
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
        """Return the cookie for a new log-in."""
        return str(self._signer.dumps([user.name, secrets.token_urlsafe(16), self._stamp(user.name)]))

    def user(self, cookie: str) -> User | None:
        """Return the user of a cookie; None if the cookie is not ours or the log-in has ended."""
        if (fields := self._fields(cookie)) is None:
            return None
        name, id, stamp = fields
        if id in self._signed_out or not hmac.compare_digest(stamp, self._stamp(name)):
            return None
        return User(OWNER, "owner") if name == OWNER else self.find(name)

    def find(self, name: str) -> User | None:
        """Return the user with an account of this name; None if there is no such account."""
        account = self.accounts.all().get(name)
        return None if account is None else User(name, account.role)

    def end(self, cookie: str) -> None:
        """End a log-in; every copy of its cookie becomes invalid."""
        if (fields := self._fields(cookie)) is None:
            return
        now = time.time()
        with self._lock:
            kept = {id: end for id, end in self._signed_out.items() if end > now}
            self._signed_out = {**kept, fields[1]: now + HOURS * 3600}
            write_atomically(self._file, json.dumps(self._signed_out), private=True)

    def _fields(self, cookie: str) -> tuple[str, str, str] | None:
        try:
            name, id, stamp = self._signer.loads(cookie, max_age=HOURS * 3600)
        except BadData:
            return None
        return name, id, stamp

    def _stamp(self, name: str) -> str:
        """Return a stamp that changes with the user's password."""
        account = self.accounts.all().get(name)
        password = (self.password or "") if name == OWNER else account.hash if account else ""
        return hmac.new(self._secret, f"{_PURPOSE}\n{password}".encode(), hashlib.sha256).hexdigest()[:32]

    def _renew(self) -> None:
        self._token = secrets.token_urlsafe(24)
        self._announce(self._token)


class Guard:
    """Middleware that requires a log-in for everything under one path."""

    def __init__(self, app: ASGIApp, *, path: str, log_ins: LogIns, page: Callable[[Scope, str], str]):
        self.app = app
        self.path = path
        self.log_ins = log_ins
        self.page = page
        self._by_client, self._by_name = Throttle(), Throttle(_TRIES_PER_NAME)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, or answer with the log-in page."""
        if scope["type"] != "http" or not self._is_guarded(scope):
            await self.app(scope, receive, send)
            return
        answer = await self._answer(scope, receive)
        if isinstance(answer, User):
            _current.set(answer)
            await self.app({**scope, _USER: answer}, receive, send)
        else:
            await answer(scope, receive, send)

    def _is_guarded(self, scope: Scope) -> bool:
        path = "/" + scope["path"].lstrip("/")
        return bool(path == self.path or path.startswith(f"{self.path}/"))

    async def _answer(self, scope: Scope, receive: Receive) -> Response | User:
        step = scope["path"].removeprefix(self.path).strip("/")
        asked, method = HTTPConnection(scope), scope.get("method")
        cookie = asked.cookies.get(COOKIE, "")
        if step == LOGIN and method == "POST":
            fields = parse_qs((await Request(scope, receive).body()).decode("utf-8", "replace"))
            name, secret = (fields.get(field, [""])[0] for field in ("name", "password"))
            target = page_asked_for(scope)
            inside = target.startswith((f"{self.path}/", f"{self.path}?"))  # never another site
            return await self._log_in(scope, name.strip(), secret, target if inside else self.path)
        if step == LOGOUT and method == "POST":
            self.log_ins.end(cookie)
            response = RedirectResponse(self.path, status_code=303)
            response.delete_cookie(COOKIE, path=self.path)
            return response
        if self.log_ins.sso_header and (known := asked.headers.get(self.log_ins.sso_header)):
            return self.log_ins.find(known) or self._refusal(scope, "no_account", 403)
        if user := self.log_ins.user(cookie):
            return user
        if (token := asked.query_params.get("token")) and method == "GET":
            return await self._log_in(scope, "", token, page_asked_for(scope))
        # For scripts that download tables; not with a token, which would be used up by the first request.
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
            path=self.path,
            httponly=True,
            samesite="lax",
            secure=scope.get("scheme") == "https",
        )
        return response

    async def _authenticate(self, scope: Scope, name: str, secret: str) -> Response | User:
        """Return the user for a name and password, or a refusal."""
        client = client_group(scope["client"][0]) if scope.get("client") else ""
        wait = max(self._by_client.wait(client), self._by_name.wait(name) if name else 0.0)
        if wait > 0:
            return self._refusal(scope, "wait", 429, {"Retry-After": str(int(wait) + 1)})
        # Counted as failed beforehand, so that of many concurrent attempts only a few are checked.
        self._by_client.record_failure(client)
        self._by_name.record_failure(name)
        user = await asyncio.to_thread(self.log_ins.check, name, secret)
        if user is None:
            return self._refusal(scope, "wrong", 401)
        self._by_client.record_success(client)
        self._by_name.record_success(name)
        return user

    def _refusal(
        self, scope: Scope, name: str, status: int, headers: dict[str, str] | None = None
    ) -> Response:
        if "text/html" in Headers(scope=scope).get("accept", ""):
            return HTMLResponse(self.page(scope, name), status_code=status, headers=headers)
        return JSONResponse({"error": name}, status_code=status, headers=headers)


def _credentials(authorization: str) -> tuple[str, str] | None:
    """Return name and password of an Authorization header; the name is empty for the shared password."""
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


def page_asked_for(scope: Scope) -> str:
    """Return the page that a request is for; for an attempt to log in, the page that led there."""
    query = HTTPConnection(scope).query_params
    if scope["path"].endswith(f"/{LOGIN}"):
        return query.get("next", "")
    rest = urlencode([(name, value) for name, value in query.multi_items() if name != "token"])
    return f"/{scope['path'].lstrip('/')}" + (f"?{rest}" if rest else "")
