"""Pseudonyms: keyed hashes of outside identities, so that the log alone identifies no person.

The key is next to the log (``log.sqlite.key``, readable only by its owner). With the key and an identity one
can find out whether that person is in the log; without the key one cannot. Do not publish the key, and do not
lose it: without it, a person who comes back gets another pseudonym.
"""

from __future__ import annotations

import base64
import contextlib
import hashlib
import hmac
import re
import secrets
import stat
import sys
from pathlib import Path

from logs.errors import LogError
from logs.paths import atomic_draft
from logs.reader import LogReader

_KEY_BYTES = 32
# 100 bits: the probability of a collision among a million people is about 4e-19.
_CHARACTERS = 20
PSEUDONYM = re.compile(f"p[a-z2-7]{{{_CHARACTERS}}}")
"""The form of a pseudonym; other names, such as those of imported people, are not derived from identities."""


def key_path(log: Path) -> Path:
    """Return the path of a log's key."""
    return log.with_name(log.name + ".key")


def load_key(log: Path) -> bytes:
    """Return the key of a log, which is created at the first call.

    Raises:
        LogError: if the key is lost (the log has participants), damaged, or readable by others.
    """
    path = key_path(log)
    if not path.exists():
        _require_no_participants(log, path)
        make_key(path)
    if sys.platform != "win32" and stat.S_IMODE(path.stat().st_mode) & 0o077:
        raise LogError(f"other users can read the key {path}: run `chmod 600 {path}`")
    key = path.read_bytes()
    if len(key) != _KEY_BYTES:
        raise LogError(f"the key {path} is damaged ({len(key)} bytes, not {_KEY_BYTES}): restore a backup")
    return key


def pseudonym_of(key: bytes, kind: str, value: str) -> str:
    """Return the pseudonym of an identity, which depends only on key, kind and value."""
    digest = hmac.new(key, f"{kind}\0{value}".encode("utf-8", "surrogatepass"), hashlib.sha256).digest()
    return "p" + base64.b32encode(digest).decode("ascii").lower()[:_CHARACTERS]


def _require_no_participants(log: Path, path: Path) -> None:
    if not log.exists():
        return
    with LogReader(log) as reader:
        if reader.participants():
            raise LogError(
                f"the key {path} is missing, but the log has participants: with a new key, people who come "
                "back would count as new. Restore it from a backup, or start a new log with --log."
            )


def make_key(path: Path) -> None:
    """Write a new random key atomically, unless another process was first; raise `LogError` if that fails."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with contextlib.suppress(FileExistsError), atomic_draft(path) as draft:
            draft.write_bytes(secrets.token_bytes(_KEY_BYTES))
    except OSError as error:
        raise LogError(f"cannot create the key {path}: {error}") from error
