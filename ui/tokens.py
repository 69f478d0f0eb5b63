"""Capability tokens: whoever holds the link may sit in that one seat of that one episode, nobody else.

An invitation to a seat is a token, too, but opens nothing: it has to be taken first (`ui.invitations`).

A token is ``payload.signature``: the payload names episode and seat, the signature is an HMAC-SHA256 under
a secret that never leaves the server's data home.
"""

from __future__ import annotations

import base64
import binascii
import contextlib
import hashlib
import hmac
import json
import os
import secrets
from dataclasses import dataclass, field
from pathlib import Path

from simulator import catalog

SECRET_FILE = "ui-secret.key"
_PURPOSE = b"askback seat v1\n"
_HOLDER = b"askback holder v1\n"


class TokenError(Exception):
    """The token is missing, damaged or was signed by another server."""


@dataclass(frozen=True, slots=True)
class Pass:
    """An entitlement that a token gives.

    Attributes:
        episode_id: the episode.
        seat: the seat in it.
        person_opposite: whether a second person sits opposite.
        host: whether its holder began the episode, and so may see the link for the second person.
        benchmark: the one that it belongs to; by default the first, as links that were sent before there was
            a second name none.
        study: the id of the study that it is part of; empty in free play.
        holder: who has taken the seat that they were invited to, as the log calls them; else empty.
    """

    episode_id: str
    seat: str
    person_opposite: bool = False
    host: bool = False
    benchmark: str = field(default_factory=lambda: catalog.names()[0])
    study: str = ""
    holder: str = ""

    @property
    def is_invitation(self) -> bool:
        """True if the seat has to be taken before anything can be done in it."""
        return self.person_opposite and not (self.host or self.holder)


class Signer:
    """Makes and reads tokens under one secret."""

    def __init__(self, secret: bytes) -> None:
        self._secret = secret

    @classmethod
    def at(cls, home: Path) -> Signer:
        """Return the signer of the data home `home`; its secret is made on first use, for its owner only."""
        return cls(secret_of(home))

    def sign(self, seat: Pass) -> str:
        """Return the token for `seat`."""
        fields: list[str | int] = [seat.episode_id, seat.seat, int(seat.person_opposite), int(seat.host)]
        fields += [seat.benchmark, seat.study, seat.holder]
        payload = json.dumps(fields, separators=(",", ":")).encode()
        return f"{_encode(payload)}.{_encode(self._mac(payload))}"

    def holder(self, seat: Pass, browser: str) -> str:
        """Return what the log calls the browser that takes a seat; in every seat another name."""
        named = json.dumps([seat.episode_id, seat.seat, browser]).encode()
        return hmac.new(self._secret, _HOLDER + named, hashlib.sha256).hexdigest()[:32]

    def read(self, token: str) -> Pass:
        """Return what `token` entitles to.

        Raises:
            TokenError: if it is not a token that this server signed, or an invitation.
        """
        seat = self.read_any(token)
        if seat.is_invitation:
            raise TokenError("the seat has to be taken first")
        return seat

    def read_any(self, token: str) -> Pass:
        """Return what `token` entitles or invites to.

        Raises:
            TokenError: if it is not a token that this server signed.
        """
        payload, signature = _split(token)
        if not hmac.compare_digest(signature, self._mac(payload)):
            raise TokenError("the link was not made by this server")
        # The oldest links have four fields, and stay good.
        episode_id, seat, person_opposite, host, *rest = json.loads(payload)
        return Pass(episode_id, seat, bool(person_opposite), bool(host), *rest)

    def _mac(self, payload: bytes) -> bytes:
        return hmac.new(self._secret, _PURPOSE + payload, hashlib.sha256).digest()


def _split(token: str) -> tuple[bytes, bytes]:
    head, dot, tail = token.partition(".")
    if not dot:
        raise TokenError("the link is incomplete")
    try:
        return _decode(head), _decode(tail)
    except (binascii.Error, ValueError) as error:
        raise TokenError("the link is damaged") from error


def _encode(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def _decode(text: str) -> bytes:
    padded = text + "=" * (-len(text) % 4)
    return base64.b64decode(padded.encode("ascii"), altchars=b"-_", validate=True)


def secret_of(home: Path) -> bytes:
    """Return the secret of the data home `home`, made on first use; sign with it under a purpose only."""
    path = home / SECRET_FILE
    home.mkdir(parents=True, exist_ok=True)
    # Linked into place whole: two servers starting at once must not read half a secret.
    if not path.exists():
        draft = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(secrets.token_bytes(32))
            file.flush()
            os.fsync(file.fileno())
        with contextlib.suppress(FileExistsError):
            os.link(draft, path)
        draft.unlink()
    return path.read_bytes()
