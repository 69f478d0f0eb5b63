"""Log-ins of researchers: whose they are, how long they hold, and what ends them."""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import secrets
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

from itsdangerous import BadData, URLSafeTimedSerializer

from ui.accounts import ACCOUNTS_FILE, OWNER, Accounts, User, write_private
from ui.tokens import secret_of

PASSWORD_VARIABLE: Final = "ASKBACK_RESEARCH_PASSWORD"
SIGNED_OUT_FILE: Final = "research-signed-out.json"
HOURS: Final = 12
"""Time for which a log-in holds."""
_PURPOSE: Final = "askback researcher v1"


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
        sso_header: names whom a trusted proxy has logged in (`ui.hosts.Access`); empty: nobody does.
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
