"""Researchers' accounts with their roles and permissions, and the `askback users` commands.

The accounts are in one file in the data home. A command may change it while the server runs.
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
from simulator.output_files import write_atomically

ACCOUNTS_FILE: Final = "accounts.json"
OWNER: Final = "owner"
"""The name logged for users of the start link or the shared password, neither of which names anyone."""
Role = Literal["viewer", "editor", "owner"]
ROLES: Final[tuple[Role, ...]] = get_args(Role)
Action = Literal["judge", "study", "run", "payment", "erase"]
"""Actions that need a permission; anyone who has logged in may read."""
_LEAST_ROLE: Final[Mapping[Action, Role]] = {
    "judge": "editor",
    "study": "editor",
    "run": "editor",
    "payment": "owner",
    "erase": "owner",
}
_NAME: Final = re.compile(r"[\w.@-]{1,64}")
_SHORTEST: Final = 8
_LONGEST: Final = 1000


class NotAllowedError(AskbackError):
    """A researcher's role does not allow the action."""

    code = "not_allowed"


class User(NamedTuple):
    """A researcher who has logged in."""

    name: str
    role: Role

    def may(self, action: Action) -> bool:
        """Return True if the role allows `action`."""
        return ROLES.index(self.role) >= ROLES.index(_LEAST_ROLE[action])


class Account(BaseModel):
    """A researcher's entry in the accounts file; without a hash it is for single sign-on only."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    role: Role
    hash: str = ""


_FILE: Final = TypeAdapter(dict[str, Account])


class Accounts:
    """The accounts in one file."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._hasher = PasswordHasher()
        self._checking = threading.Lock()
        self._read: tuple[object, Mapping[str, Account]] = (None, {})

    def all(self) -> Mapping[str, Account]:
        """Return the accounts by name, none without a file; raise `InputError` if it is damaged."""
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
                    f"{self._file} is damaged: {error.errors()[0]['msg']}. Fix it, or delete it and create "
                    "the accounts again with `askback users add`."
                ) from error
        return self._read[1]

    def check(self, name: str, password: str) -> User | None:
        """Return the user if the password is right, else None. Unknown names take equally long."""
        account = self.all().get(name)
        stored = account.hash if account is not None and account.hash else self._dummy_hash
        # One at a time: each verification takes 64 MB of memory.
        with self._checking:
            try:
                self._hasher.verify(stored, password[:_LONGEST])
            except (VerificationError, InvalidHashError):
                return None
        return User(name, account.role) if account is not None and account.hash else None

    def add(self, name: str, role: Role, password: str | None) -> None:
        """Add an account; without a password it is for single sign-on.

        Raises:
            InputError: if the name is invalid or taken, or the password is too short.
        """
        if not _NAME.fullmatch(name) or name == OWNER:
            raise InputError(
                f"{name!r} cannot be a name. Use up to 64 letters, digits and . _ @ -, and not {OWNER!r}, "
                "which stands for users of the start link or the shared password."
            )
        if name in self.all():
            raise InputError(f"{name} already has an account: change its password, or remove it first.")
        self._write({**self.all(), name: Account(role=role, hash=self._hash_password(password))})

    def set_password(self, name: str, password: str) -> None:
        """Change a password and end all log-ins made with the old one.

        Raises:
            InputError: if there is no such account, or the password is too short.
        """
        account = self._require_account(name)
        self._write({**self.all(), name: account.model_copy(update={"hash": self._hash_password(password)})})

    def remove(self, name: str) -> None:
        """Remove an account and end all its log-ins.

        Raises:
            InputError: if there is no such account.
        """
        self._require_account(name)
        self._write({other: account for other, account in self.all().items() if other != name})

    @cached_property
    def _dummy_hash(self) -> str:
        return self._hasher.hash(secrets.token_hex())

    def _require_account(self, name: str) -> Account:
        if name not in (known := self.all()):
            raise InputError(f"{name} has no account. Existing accounts: {', '.join(known) or 'none'}.")
        return known[name]

    def _hash_password(self, password: str | None) -> str:
        if password is None:
            return ""
        if not _SHORTEST <= len(password) <= _LONGEST:
            raise InputError(f"A password must have {_SHORTEST} to {_LONGEST} characters.")
        return self._hasher.hash(password)

    def _write(self, accounts: Mapping[str, Account]) -> None:
        write_atomically(self._file, _FILE.dump_json(dict(accounts), indent=1), private=True)


# ---- askback users

users_app = typer.Typer(no_args_is_help=True, help="Manage researchers' accounts and roles.")
_NameArgument = Annotated[str, typer.Argument(help="log-in name")]
_PasswordOption = Annotated[
    str | None, typer.Option(help="password; by default prompted for, so that no shell history keeps it")
]


@users_app.command("add")
def add_user(
    name: _NameArgument,
    role: Annotated[
        Role,
        typer.Option(
            help="viewer: reads; editor: also judges, manages studies and runs; owner: also pays, erases"
        ),
    ],
    password: _PasswordOption = None,
    sso: Annotated[bool, typer.Option("--sso", help="use single sign-on (app --sso-header)")] = False,
) -> None:
    """Add an account for a researcher."""
    _accounts().add(name, role, None if sso else password or _prompt_password())
    print(f"{name} may log in as {role}.")


@users_app.command("list")
def list_users() -> None:
    """List the accounts."""
    table = Table(Column("name", no_wrap=True), "role", "logs in by")
    for name, account in sorted(_accounts().all().items()):
        table.add_row(name, account.role, "password" if account.hash else "single sign-on")
    Console().print(table)


@users_app.command("password")
def change_password(name: _NameArgument, password: _PasswordOption = None) -> None:
    """Change a researcher's password and log them out everywhere."""
    _accounts().set_password(name, password or _prompt_password())
    print(f"{name} has a new password and is logged out everywhere.")


@users_app.command("remove")
def remove_user(name: _NameArgument) -> None:
    """Remove a researcher's account and log them out. Their actions stay in the log under their name."""
    _accounts().remove(name)
    print(f"{name} can no longer log in.")


def _accounts() -> Accounts:
    return Accounts(home() / ACCOUNTS_FILE)


def _prompt_password() -> str:
    return str(typer.prompt("Password", hide_input=True, confirmation_prompt=True))
