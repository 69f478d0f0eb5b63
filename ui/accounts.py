"""Accounts of researchers, each with a role, and what each role may do; `askback users`, which keeps them.

They stand in one file of the data home, which a command may change while the server runs.
"""

from __future__ import annotations

import re
import secrets
import threading
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Annotated, Final, Literal, NamedTuple, get_args

import typer
from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError
from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError
from rich.console import Console
from rich.table import Column, Table

from logs.paths import home
from simulator.errors import AskbackError, InputError

ACCOUNTS_FILE: Final = "accounts.json"
OWNER: Final = "owner"
"""The name in the log of whoever came by the start link or the shared password, which name nobody."""
Role = Literal["viewer", "editor", "owner"]
ROLES: Final[tuple[Role, ...]] = get_args(Role)
Action = Literal["judge", "study", "run", "payment", "erase", "users"]
"""Acts beside reading."""
_LEAST_ROLE: Final[Mapping[Action, Role]] = {
    "judge": "editor",
    "study": "editor",
    "run": "editor",
    "payment": "owner",
    "erase": "owner",
    "users": "owner",
}
_NAME: Final = re.compile(r"[\w.@-]{1,64}")
_SHORTEST: Final = 8
_LONGEST: Final = 1000


class NotAllowedError(AskbackError):
    """A researcher's role does not reach what they asked for."""

    code = "not_allowed"


class User(NamedTuple):
    """A researcher who has logged in."""

    name: str
    role: Role

    def may(self, action: Action) -> bool:
        """Return True if the role reaches `action`; whoever has logged in may read."""
        return ROLES.index(self.role) >= ROLES.index(_LEAST_ROLE[action])


class Account(BaseModel):
    """A researcher as the file has them.

    Attributes:
        hash: of the password, by Argon2; empty for somebody who comes by single sign-on alone.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    role: Role
    hash: str = ""


_FILE: Final = TypeAdapter(dict[str, Account])


class Accounts:
    """The accounts in a file."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._hasher = PasswordHasher()
        self._checking = threading.Lock()
        self._read: tuple[object, Mapping[str, Account]] = (None, {})

    def all(self) -> Mapping[str, Account]:
        """Return the accounts by name; none if there is no file.

        Raises:
            InputError: if the file is spoilt.
        """
        try:
            status = self._file.stat()
        except FileNotFoundError:
            return {}
        version = (status.st_mtime_ns, status.st_ino, status.st_size)
        if self._read[0] != version:
            try:
                self._read = (version, _FILE.validate_json(self._file.read_bytes()))
            except ValidationError as error:
                raise InputError(
                    f"{self._file} is spoilt: {error.errors()[0]['msg']}. Fix it, or delete it and create "
                    "the accounts again with `askback users add`."
                ) from error
        return self._read[1]

    def check(self, name: str, password: str) -> User | None:
        """Return whose password this is; None if it is wrong. Takes as long for names that nobody has."""
        account = self.all().get(name)
        stored = account.hash if account is not None and account.hash else self._nobodys_hash
        # One at a time: each takes 64 MB of memory.
        with self._checking:
            try:
                self._hasher.verify(stored, password[:_LONGEST])
            except (VerificationError, InvalidHashError):
                return None
        return User(name, account.role) if account is not None and account.hash else None

    def add(self, name: str, role: Role, password: str | None) -> None:
        """Add an account; without a password it is for single sign-on.

        Raises:
            InputError: if the name cannot be one or is taken, or the password is too short.
        """
        if not _NAME.fullmatch(name) or name == OWNER:
            raise InputError(
                f"{name!r} cannot be a name: up to 64 letters, digits and . _ @ -, and not {OWNER!r}, which "
                "is whoever comes by the start link or the shared password."
            )
        if name in self.all():
            raise InputError(f"{name} has an account already: change its password, or remove it first.")
        self._write({**self.all(), name: Account(role=role, hash=self._hash_password(password))})

    def set_password(self, name: str, password: str) -> None:
        """Change a password, which ends all log-ins with the one before.

        Raises:
            InputError: if nobody is called so, or the password is too short.
        """
        account = self._required(name)
        self._write({**self.all(), name: account.model_copy(update={"hash": self._hash_password(password)})})

    def remove(self, name: str) -> None:
        """Remove an account, and with it all its log-ins.

        Raises:
            InputError: if nobody is called so.
        """
        self._required(name)
        self._write({other: account for other, account in self.all().items() if other != name})

    @cached_property
    def _nobodys_hash(self) -> str:
        return self._hasher.hash(secrets.token_hex())

    def _required(self, name: str) -> Account:
        if name not in (known := self.all()):
            raise InputError(f"{name} has no account; these have: {', '.join(known) or 'nobody'}.")
        return known[name]

    def _hash_password(self, password: str | None) -> str:
        if password is None:
            return ""
        if not _SHORTEST <= len(password) <= _LONGEST:
            raise InputError(f"A password has {_SHORTEST} to {_LONGEST} characters.")
        return self._hasher.hash(password)

    def _write(self, accounts: Mapping[str, Account]) -> None:
        write_private(self._file, _FILE.dump_json(dict(accounts), indent=1).decode())


def write_private(file: Path, text: str) -> None:
    """Replace a file whole; nobody else on the machine may read it."""
    file.parent.mkdir(parents=True, exist_ok=True)
    draft = file.with_name(f".{file.name}.{secrets.token_hex(8)}")
    draft.touch(mode=0o600)
    draft.write_text(text, encoding="utf-8")
    draft.replace(file)


# ---- askback users

users_app = typer.Typer(no_args_is_help=True, help="Researchers who may log in, and what each may do.")
_NameArgument = Annotated[str, typer.Argument(help="what they log in as")]
_PasswordOption = Annotated[
    str | None, typer.Option(help="their password; asked for if left out, so that it stands in no history")
]


@users_app.command("add")
def add_user(
    name: _NameArgument,
    role: Annotated[
        Role,
        typer.Option(
            help="viewer: reads; editor: judges, studies, runs, too; owner: also pays, erases, adds users"
        ),
    ],
    password: _PasswordOption = None,
    sso: Annotated[bool, typer.Option("--sso", help="comes by single sign-on (app --sso-header)")] = False,
) -> None:
    """Let a researcher log in."""
    _accounts().add(name, role, None if sso else password or _prompt_password())
    print(f"{name} may log in as {role}.")


@users_app.command("list")
def list_users() -> None:
    """Show who may log in."""
    table = Table(Column("name", no_wrap=True), "role", "logs in by")
    for name, account in sorted(_accounts().all().items()):
        table.add_row(name, account.role, "password" if account.hash else "single sign-on")
    Console().print(table)


@users_app.command("password")
def change_password(name: _NameArgument, password: _PasswordOption = None) -> None:
    """Give a researcher another password, which ends their log-ins."""
    _accounts().set_password(name, password or _prompt_password())
    print(f"{name} has another password, and is logged out everywhere.")


@users_app.command("remove")
def remove_user(name: _NameArgument) -> None:
    """Let a researcher log in no more, and log them out. What they have done stays theirs in the log."""
    _accounts().remove(name)
    print(f"{name} may not log in any more.")


def _accounts() -> Accounts:
    return Accounts(home() / ACCOUNTS_FILE)


def _prompt_password() -> str:
    return str(typer.prompt("Password", hide_input=True, confirmation_prompt=True))
