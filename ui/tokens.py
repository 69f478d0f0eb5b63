"""Capability tokens: the holder of a link may use one seat of one episode.

An invitation is a token too, but gives no access until the seat is taken (`Actions.take_seat`).

A token is ``payload.signature``: the payload names episode and seat, the signature is an HMAC-SHA256 with
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
    """A token is missing, damaged or signed by another server."""


@dataclass(frozen=True, slots=True)
class Pass:
    """The contents of a token: the right to use one seat of one episode.

    Attributes:
        person_opposite: True if another person plays too.
        host: True if the holder started the episode, and so may see the invitation links.
        benchmark: name of the benchmark; the default is the first, for old links that name none.
        study: id of the episode's study; empty in free play.
        holder: the log's name for the person who took the seat by invitation; else empty.
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
        """True if the seat must be taken before it can be used."""
        return self.person_opposite and not (self.host or self.holder)


class Signer:
    """Signs and verifies tokens with one secret."""

    def __init__(self, secret: bytes) -> None:
        self._secret = secret

    @classmethod
    def at(cls, home: Path) -> Signer:
        """Return the signer of the data home `home` (`secret_of`)."""
        return cls(secret_of(home))

    def sign(self, seat: Pass) -> str:
        """Return the token for `seat`."""
        fields: list[str | int] = [seat.episode_id, seat.seat, int(seat.person_opposite), int(seat.host)]
        fields += [seat.benchmark, seat.study, seat.holder]
        payload = json.dumps(fields, separators=(",", ":")).encode()
        return f"{_encode(payload)}.{_encode(self._mac(payload))}"

    def holder(self, seat: Pass, browser: str) -> str:
        """Return the log's name for a browser that takes a seat, a different one for each seat."""
        key = json.dumps([seat.episode_id, seat.seat, browser]).encode()
        return hmac.new(self._secret, _HOLDER + key, hashlib.sha256).hexdigest()[:32]

    def read(self, token: str) -> Pass:
        """Verify a token and return its contents.

        Raises:
            TokenError: if this server did not sign it, or it is an invitation.
        """
        seat = self.read_any(token)
        if seat.is_invitation:
            raise TokenError("the seat has to be taken first")
        return seat

    def read_any(self, token: str) -> Pass:
        """Verify a token, which may be an invitation, and return its contents.

        Raises:
            TokenError: if this server did not sign it.
        """
        payload, signature = _split(token)
        if not hmac.compare_digest(signature, self._mac(payload)):
            raise TokenError("the link was not made by this server")
        # Old links with four fields remain valid.
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
    """Return the secret of the data home, created on first use and readable by its owner only.

    Whatever is signed with it must have a purpose as prefix.
    """
    path = home / SECRET_FILE
    home.mkdir(parents=True, exist_ok=True)
    # Linked into place atomically: two servers starting concurrently must not read half a secret.
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
