"""Pseudonyms: keyed hashes of outside identities, so that the log alone gives nobody away.

The key lies beside the log (``log.sqlite.key``, readable by its owner only). Whoever has the key and an
identity can tell whether that person is in the log; without the key nobody can. Keep it apart from what
you publish, and keep it: without it a person who comes back gets another pseudonym.
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
from logs.paths import drafted
from logs.reader import LogReader

_KEY_BYTES = 32
# 100 bits: two of a million people meet with a probability of about 4e-19.
_CHARACTERS = 20
PSEUDONYM = re.compile(f"p[a-z2-7]{{{_CHARACTERS}}}")
"""Has the form of a pseudonym: other names of people, of imported ones, mean nobody whom a key could tell."""


def key_path(log: Path) -> Path:
    """Return where the key of a log lies."""
    return log.with_name(log.name + ".key")


def load_key(log: Path) -> bytes:
    """Return the key of a log; made at the first call.

    Raises:
        LogError: the key is lost (the log has participants already), damaged, or open to others.
    """
    path = key_path(log)
    if not path.exists():
        _require_nobody(log, path)
        _make_key(path)
    if sys.platform != "win32" and stat.S_IMODE(path.stat().st_mode) & 0o077:
        raise LogError(f"others may read the key {path}: run `chmod 600 {path}`")
    key = path.read_bytes()
    if len(key) != _KEY_BYTES:
        raise LogError(f"the key {path} is damaged ({len(key)} bytes, not {_KEY_BYTES}): restore a backup")
    return key


def pseudonym_of(key: bytes, kind: str, value: str) -> str:
    """Return the pseudonym of an identity: the same for the same key, kind and value, else another."""
    digest = hmac.new(key, f"{kind}\0{value}".encode("utf-8", "surrogatepass"), hashlib.sha256).digest()
    return "p" + base64.b32encode(digest).decode("ascii").lower()[:_CHARACTERS]


def _require_nobody(log: Path, path: Path) -> None:
    if not log.exists():
        return
    with LogReader(log) as reader:
        if reader.participants():
            raise LogError(
                f"the key {path} is missing, but the log has participants: with a new key, those who come "
                "back would count as new. Restore it from a backup, or start a new log with --log."
            )


def _make_key(path: Path) -> None:
    """Write a new key, whole or not at all; of several processes the first one's holds."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with contextlib.suppress(FileExistsError), drafted(path) as draft:
            draft.write_bytes(secrets.token_bytes(_KEY_BYTES))
    except OSError as error:
        raise LogError(f"cannot make the key {path}: {error}") from error
