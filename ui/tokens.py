"""Capability tokens: the holder of a link may use one seat of one episode.

An invitation is a token too, but gives no access until the seat is taken (`Actions.take_seat`).

A token is ``payload.signature``: the payload names episode and seat, the signature is an HMAC-SHA256 with
a secret that never leaves the server's data home.
"""

from __future__ import annotations

import hmac
import json
from dataclasses import dataclass, field
from pathlib import Path

from itsdangerous.encoding import base64_decode, base64_encode
from itsdangerous.exc import BadData

from logs.pseudonym import make_key
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
        return self._token(json.dumps(fields, separators=(",", ":")).encode())

    def holder(self, seat: Pass, browser: str) -> str:
        """Return the log's name for a browser that takes a seat, a different one for each seat."""
        key = json.dumps([seat.episode_id, seat.seat, browser]).encode()
        return hmac.digest(self._secret, _HOLDER + key, "sha256").hex()[:32]

    def read(self, token: str) -> Pass:
        """Verify a token and return its contents; raise `TokenError` for an invitation, too."""
        seat = self.read_any(token)
        if seat.is_invitation:
            raise TokenError("the seat has to be taken first")
        return seat

    def read_any(self, token: str) -> Pass:
        """Verify a token, which may be an invitation, or raise `TokenError` if it is not ours."""
        try:
            given, payload = token.encode(), base64_decode(token.partition(".")[0])
        except (BadData, ValueError) as error:
            raise TokenError("the link is damaged") from error
        if not hmac.compare_digest(given, self._token(payload).encode()):
            raise TokenError("the link was not made by this server")
        # Old links with four fields remain valid.
        episode_id, seat, person_opposite, host, *rest = json.loads(payload)
        return Pass(episode_id, seat, bool(person_opposite), bool(host), *rest)

    def _token(self, payload: bytes) -> str:
        signature = hmac.digest(self._secret, _PURPOSE + payload, "sha256")
        return b".".join(map(base64_encode, (payload, signature))).decode()


def secret_of(home: Path) -> bytes:
    """Return the data home's own secret, created on first use; what it signs must begin with a purpose."""
    path = home / SECRET_FILE
    if not path.exists():
        make_key(path)
    return path.read_bytes()
