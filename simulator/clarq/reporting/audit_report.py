"""What an audit found, and how it is shown."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final

from simulator.figures import Cell, Column, Table
from simulator.reporting import Section
from simulator.runner.logged import ERASED
from simulator.stats import Interval

# How the tables name what goes well or wrong, and the rate of `AuditRow` that counts it.
_RATES: Final = {
    "agreement": "agreement",
    "II kept": "kept",
    "unasked": "unasked",
    "wrong II": "refused",
    "wrong": "wrong",
    "missed": "missed",
}
_REPLAYED: Final = ("replayed", "logged", "difference")


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


def audit_section(
    report: AuditReport,
    replayed: Sequence[ReplayRow] = (),
    *,
    name: str = "audit",
    source: str = "",
    show: int = 0,
    erased: int = 0,
    asked: Mapping[str, Any] | None = None,
) -> Section:
    """Return what an audit found: tables by language and type, the replay, every decision for programs.

    Args:
        report: of the decisions.
        replayed: of the logged seeker lines; empty if they were not replayed.
        name: of the section.
        source: what they were held against, where there are several.
        show: how many disagreements are shown.
        erased: dialogues of people who have withdrawn, which are in none of this.
        asked: how models were asked.
    """
    kind = "multi-info" if report.multi else "single-info"
    left = f", {erased} {ERASED}" if erased else ""
    disagreements = [turn for turn in report.turns if not turn.agrees]
    more = len(disagreements) - show
    tables = [
        _table(
            report.by_language,
            "By language, 95 % intervals over types; errors per 100 turns",
            "language",
        ),
        _table(report.by_type, "By task type", "type"),
    ]
    if replayed:
        rows: list[list[Cell]] = [
            [row.label, row.replayed.n, row.replayed, row.logged, row.difference] for row in replayed
        ]
        heads: list[Column | str] = [
            "language",
            Column("dialogues", 0),
            *(Column(head, 3) for head in _REPLAYED),
        ]
        tables.append(Table(heads, rows, "Logged seeker lines replayed: success", "replay"))
    return Section(
        name=name,
        title=f"{report.provider} as {kind} provider, {len(report.turns)} decisions{left}{source}",
        tables=tables,
        text="\n".join(map(_disagreement, disagreements[:show])),
        remarks=[
            *([f"asked with {json.dumps(asked, ensure_ascii=False)}"] if asked else []),
            *([f"{more} more disagreements; --show N prints them."] if more > 0 else []),
        ],
        data={
            "provider": report.provider,
            "multi": report.multi,
            ERASED: erased,
            **({"asked": asked} if asked else {}),
            "turns": [asdict(turn) | {"agrees": turn.agrees} for turn in report.turns],
        },
    )


def _table(rows: Sequence[AuditRow], title: str, name: str) -> Table:
    cells = [[row.label, row.agreement.n, *(getattr(row, rate) for rate in _RATES.values())] for row in rows]
    digits = {"agreement": 3, "II kept": 2}
    columns = (Column(head, digits.get(head, 1)) for head in _RATES)
    return Table([name, Column("turns", 0), *columns], cells, title, f"by_{name}")


def _disagreement(turn: Compared) -> str:
    return (
        f"{turn.dialogue} line {turn.position}: available {_nodes(turn.available)}, "
        f"logged {_nodes(turn.logged)}, decided {_nodes(turn.decided)}\n{turn.reason}\n{turn.utterance}\n"
    )


def _nodes(indices: Sequence[str]) -> str:
    return ", ".join(indices) or "none"
