"""Files that a recruiting platform is handed: whom to approve, look at or reject, and who gets a bonus.

They name people as the platform does, so they hold what the log keeps apart: delete them when they have been
handed in. An id is what stood in somebody's link; one that no platform gives (`_ID`) is written nowhere, so
that nobody adds a line, a formula or a bonus by what they call themselves.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from logs import LogReader
from logs.codebook import guard
from logs.query import Played
from logs.rows import EXCLUDED
from simulator.errors import InputError
from simulator.studies.desk import StudyDesk

APPROVE: Final = "approve.csv"
REVIEW: Final = "review.csv"
REJECT: Final = "reject.csv"
BONUS: Final = "bonus.csv"
_CENT: Final = 0.01
_ID: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.@-]{0,199}")


@dataclass(frozen=True, kw_only=True)
class Payment:
    """Pay that is owed in a study, by the platform's names of people.

    Attributes:
        approve: who was done and missed no attention check.
        review: who was done and missed one: nothing is rejected by itself.
        reject: whom a researcher excluded though they were done, and the reason that was given.
        bonus: what each gets besides, in the study's currency; nobody stands there with nothing.
        unknown: pseudonyms of people who were done but did not come by the platform, or by no id of one.
    """

    approve: tuple[str, ...]
    review: tuple[str, ...]
    reject: dict[str, str]
    bonus: dict[str, float]
    unknown: tuple[str, ...]

    def write(self, folder: Path) -> tuple[Path, ...]:
        """Write a file for each list that is not empty: an id a line; a reason or a bonus behind a comma."""
        folder.mkdir(parents=True, exist_ok=True)
        lines: dict[str, list[tuple[str, ...]]] = {
            APPROVE: [(person,) for person in self.approve],
            REVIEW: [(person,) for person in self.review],
            REJECT: [(person, guard(reason)) for person, reason in self.reject.items()],
            BONUS: [(person, f"{amount:.2f}") for person, amount in self.bonus.items()],
        }
        return tuple(_write(folder / name, rows) for name, rows in lines.items() if rows)


def payment_of(
    desk: StudyDesk, reader: LogReader, *, metric: str | None = None, amount: float = 0.0
) -> Payment:
    """Return what is owed to those who were done.

    `metric`: whose value, summed over a person's sets, is paid as a bonus.

    Raises:
        InputError: if no episode of the study has such a score.
    """
    study = desk.study
    finished = [place for place in desk.ledger() if place.completed_at and place.state != "withdrawn"]
    done = [place for place in finished if place.state == "completed"]
    people = dict.fromkeys(place.participant for place in done)
    excluded = {place.participant for place in finished if place.state == "excluded"}
    failed = {place.participant for place in done if place.failed_check} - excluded
    kind = study.identity[0].lower()
    rows = (
        row
        for person in people | dict.fromkeys(excluded)
        for row in reader.identities(participant_id=person, kind=kind)
    )
    names = {row.participant_id: row.value for row in rows if _ID.fullmatch(row.value)}
    reasons = {
        event.participant_id: str(event.details.get("reason", ""))
        for event in reader.events(run_id=study.run_id, kind=EXCLUDED)
    }
    earned = dict.fromkeys(people, 0.0)
    if metric is not None:
        owners = {played.episode.id: _players(played) for played in reader.turns_of_run(study.run_id)}
        scores = list(reader.scores(run_id=study.run_id, latest=True))
        if metric not in (known := {score.metric for score in scores}):
            names_of_scores = ", ".join(sorted(known)) or "none"
            raise InputError(f"study {study.id!r} has no score {metric!r}; it has {names_of_scores}.")
        for score in scores:
            if score.metric == metric and score.value is not None:
                for person in owners[score.episode_id] & earned.keys():
                    earned[person] += score.value * amount
    return Payment(
        approve=_names_of(names, (person for person in people if person not in failed)),
        review=_names_of(names, failed),
        reject={names[person]: reasons.get(person, "") for person in sorted(excluded & names.keys())},
        bonus={names[person]: due for person, due in earned.items() if person in names and due >= _CENT},
        unknown=tuple(person for person in people if person not in names),
    )


def _players(played: Played) -> set[str]:
    """Return who played an episode: its participant, or both of a pair."""
    people = {turn.payload.get("participant_id") for turn in played.turns}
    return {person for person in (*people, played.episode.participant_id) if person}


def _names_of(names: dict[str, str], people: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted(names[person] for person in people if person in names))


def _write(file: Path, rows: Iterable[tuple[str, ...]]) -> Path:
    with file.open("w", encoding="utf-8", newline="") as opened:
        csv.writer(opened, lineterminator="\n").writerows(rows)
    return file
