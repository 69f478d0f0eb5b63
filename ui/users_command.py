"""`askback users`: the researchers who may log in."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.console import Console
from rich.table import Column, Table

from logs.paths import home
from ui.accounts import ACCOUNTS_FILE, Accounts, Role

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
