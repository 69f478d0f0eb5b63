"""What an audit found, and how it is shown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from simulator.runner.logged import ERASED
from simulator.stats import Interval

# How the tables name what goes wrong, and the rate of `AuditRow` that counts it.
_RATES = {
    "unasked nodes": "unasked",
    "wrong Response II": "refused",
    "wrong nodes": "wrong",
    "missed nodes": "missed",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """One decision beside the logged one.

    Attributes:
        type: the task's type, by which intervals are clustered.
        utterance: what the seeker had said.
        available: indices of the nodes that could be given.
        logged: indices that were given.
        decided: indices that the audited provider gives.
        reason: its own.
    """

    dialogue: str
    position: int
    language: str
    type: int
    utterance: str
    available: tuple[str, ...]
    logged: tuple[str, ...]
    decided: tuple[str, ...]
    reason: str

    @property
    def agrees(self) -> bool:
        """Whether exactly the logged nodes are given."""
        return set(self.decided) == set(self.logged)

    @property
    def wrong(self) -> int:
        """Nodes given in place of logged ones."""
        return min(len(self._surplus), len(self._lacking))

    @property
    def missed(self) -> int:
        """Logged nodes not given, with none in their place."""
        return len(self._lacking) - self.wrong

    @property
    def unasked(self) -> int:
        """Nodes given in place of nothing."""
        return len(self._surplus) - self.wrong

    @property
    def kept(self) -> bool | None:
        """Return True if a logged Response II is one here, too; None where the log gave a node."""
        return None if self.logged else not self.decided

    @property
    def refused(self) -> bool:
        """Return True if nothing is given where the log gave a node: a wrong Response II."""
        return bool(self.logged) and not self.decided

    @property
    def _surplus(self) -> set[str]:
        return set(self.decided) - set(self.logged)

    @property
    def _lacking(self) -> set[str]:
        return set(self.logged) - set(self.decided)


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditRow:
    """One line of the report; intervals resample whole task types.

    Attributes:
        label: a language, or a language and a type.
        agreement: share of turns at which exactly the logged nodes are given.
        wrong: nodes given in place of logged ones, per 100 turns.
        missed: logged nodes not given, per 100 turns.
        kept: share of the logged Responses II that are one here, too; None if there are none.
        unasked: nodes given in place of nothing, per 100 turns.
        refused: wrong Responses II, in place of a node, per 100 turns.
    """

    label: str
    agreement: Interval
    wrong: Interval
    missed: Interval
    kept: Interval | None
    unasked: Interval
    refused: Interval


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditReport:
    """What an audit found.

    Attributes:
        provider: whose decisions.
        multi: whether it was asked as the multi-info provider.
        by_language: one row per language.
        by_type: one row per language and task type; the interval of a single type is not defined.
        turns: every decision compared.
    """

    provider: str
    multi: bool
    by_language: tuple[AuditRow, ...]
    by_type: tuple[AuditRow, ...]
    turns: tuple[Compared, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayRow:
    """Success of the seeker's logged lines with the audited provider, beside the logged success.

    Attributes:
        replayed: share of dialogues in which every node is given.
        logged: the same in the log.
        difference: replayed minus logged, paired by dialogue.
    """

    label: str
    replayed: Interval
    logged: Interval
    difference: Interval


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """One part of an audit of several: what it was held against, and what it found."""

    title: str
    report: AuditReport
    replay: tuple[ReplayRow, ...] = ()


def sections_json(sections: Sequence[Section]) -> list[dict[str, Any]]:
    """Every section as plain JSON, under its title."""
    return [{"title": part.title} | audit_json(part.report, part.replay) for part in sections]


def audit_json(report: AuditReport, replayed: Sequence[ReplayRow], erased: int = 0) -> dict[str, Any]:
    """Everything as plain JSON, every decision included, and how many dialogues were erased."""
    return {
        "provider": report.provider,
        "multi": report.multi,
        "by_language": [_plain(row) for row in report.by_language],
        "by_type": [_plain(row) for row in report.by_type],
        "replay": [_plain(row) for row in replayed],
        ERASED: erased,
        "turns": [asdict(turn) | {"agrees": turn.agrees} for turn in report.turns],
    }


def print_audit(
    console: Console,
    report: AuditReport,
    replayed: Sequence[ReplayRow],
    *,
    show: int = 0,
    erased: int = 0,
    title: str = "",
) -> None:
    """Tables by language and type, the replay, and the first `show` disagreements.

    Dialogues of people who have withdrawn are in none of them; it is said how many are `erased`.
    """
    kind = "multi-info" if report.multi else "single-info"
    left = f", {erased} {ERASED}" if erased else ""
    console.print(
        f"\n[bold]{report.provider}[/bold] as {kind} provider, {len(report.turns)} decisions{left}{title}"
    )
    console.print(_language_table("by language, 95 % intervals over task types", report.by_language))
    console.print(_type_table("by task type", report.by_type))
    if replayed:
        console.print(_replay_table(replayed))
    disagreements = [turn for turn in report.turns if not turn.agrees]
    for turn in disagreements[:show]:
        console.print(
            f"\n[bold]{turn.dialogue}[/bold] line {turn.position}: available {_nodes(turn.available)}, "
            f"logged [green]{_nodes(turn.logged)}[/green], decided [red]{_nodes(turn.decided)}[/red]"
        )
        console.print(f"[dim]{escape(turn.reason)}[/dim]\n{escape(turn.utterance)}")
    if len(disagreements) > show:
        console.print(f"[dim]{len(disagreements) - show} more disagreements; --show N prints them.[/dim]")


def _plain(row: AuditRow | ReplayRow) -> dict[str, Any]:
    return {
        name: value._asdict() if isinstance(value := getattr(row, name), Interval) else value
        for name in row.__dataclass_fields__
    }


def _nodes(indices: Sequence[str]) -> str:
    return ", ".join(indices) or "none"


def _language_table(title: str, rows: Sequence[AuditRow]) -> Table:
    table = _table(title, *(row.label for row in rows))
    table.add_row("turns", *(str(row.agreement.n) for row in rows))
    table.add_row("node agreement", *(_cell(row.agreement, 3, True) for row in rows))
    table.add_row("Response II kept", *(_kept(row, True) for row in rows))
    for name, rate in _RATES.items():
        table.add_row(f"{name} per 100 turns", *(_cell(getattr(row, rate), 1, True) for row in rows))
    return table


def _type_table(title: str, rows: Sequence[AuditRow]) -> Table:
    rates = (name.replace("Response ", "").replace(" nodes", "") for name in _RATES)
    table = _table(f"{title}; errors per 100 turns", "turns", "agreement", "II kept", *rates)
    for row in rows:
        errors = (_cell(getattr(row, rate), 1, False) for rate in _RATES.values())
        agreement = _cell(row.agreement, 3, False)
        table.add_row(row.label, str(row.agreement.n), agreement, _kept(row, False), *errors)
    return table


def _kept(row: AuditRow, with_interval: bool) -> str:
    if row.kept is None:
        return "–"
    shown = _cell(row.kept, 2, with_interval)
    return f"{shown} of {row.kept.n}" if with_interval else shown


def _replay_table(rows: Sequence[ReplayRow]) -> Table:
    table = _table("logged seeker lines replayed: success", "dialogues", "replayed", "logged", "difference")
    for row in rows:
        cells = (_cell(value, 3, True) for value in (row.replayed, row.logged, row.difference))
        table.add_row(row.label, str(row.replayed.n), *cells)
    return table


def _table(title: str, *headings: str) -> Table:
    table = Table(title=title, title_justify="left", title_style="dim", box=None, pad_edge=False)
    table.add_column("", no_wrap=True)
    for heading in headings:
        table.add_column(heading, justify="right", no_wrap=True)
    return table


def _cell(value: Interval, digits: int, with_interval: bool) -> str:
    shown = f"{value.value:.{digits}f}"
    if not with_interval:
        return shown
    places = max(digits - 1, 0)
    return f"{shown} [dim]{value.low:.{places}f}–{value.high:.{places}f}[/dim]"
