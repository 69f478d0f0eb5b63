"""Reconciliation of a study's places, episodes and platform submissions; payment files for the platform.

Three ledgers describe the same people: the places of the study (assignment rows), the episodes played, and
optionally an export of submissions from Prolific. Each disagreement is a `Finding`, a sentence with the
person's pseudonym; platform ids are never printed.

Payment files list people to approve, review or reject, bonuses, and what no submission pays. They contain
platform ids, which the log keeps separate: delete the files once they are submitted. Ids come from
people's links, so an id that no platform uses (`_ID`) is not written: it could inject a line, a formula or a
bonus.
"""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from contextlib import suppress
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal
from pathlib import Path
from typing import Final

from logs import LogReader, load_key
from logs.codebook import guard
from logs.query import Played
from logs.rows import EXCLUDED, Episode
from simulator.errors import InputError
from simulator.output_files import rows_as_csv, write_atomically
from simulator.studies.desk import StudyDesk
from simulator.studies.pairing import paid_exits
from simulator.studies.parts import Pay
from simulator.studies.people import recognise
from simulator.studies.quota import Place, State, cell_name

# Column names in newer and older exports from Prolific, in lower case.
_PERSON: Final = ("participant id", "participant_id")
_CODE: Final = ("completion code", "entered_code")
# The platform's statuses of completed submissions; all others (RETURNED, TIMED-OUT, ACTIVE, …) are not paid.
_DONE: Final = ("APPROVED", "AWAITING REVIEW", "PARTIALLY APPROVED", "REJECTED")
_NO_CODE: Final = ("", "NOCODE")


@dataclass(frozen=True, slots=True)
class Finding:
    """A disagreement between two ledgers.

    Attributes:
        kind: the kind of disagreement (``not_here``, ``code``, …).
        participant: the person's pseudonym; empty if it is about nobody in particular.
        explained: True if the sentence explains it; otherwise a researcher should check.
    """

    kind: str
    participant: str
    sentence: str
    explained: bool = False


@dataclass(frozen=True, slots=True)
class Submission:
    """A row of the platform's export.

    Attributes:
        line: the line in the file, from 1.
        participant: the pseudonym; None if the row has no usable id.
    """

    line: int
    participant: str | None
    status: str
    code: str


@dataclass(frozen=True, slots=True)
class Balance:
    """The ledgers' totals and their disagreements.

    Attributes:
        places: counts by state.
        episodes: counts by ending; ``running`` for open ones.
        submissions: counts by status; None without an export.
        findings: all disagreements, unexplained ones first.
    """

    places: Mapping[State, int]
    episodes: Mapping[str, int]
    submissions: Mapping[str, int] | None
    findings: tuple[Finding, ...]

    @property
    def balanced(self) -> bool:
        """True if all findings are explained."""
        return all(finding.explained for finding in self.findings)


def reconcile(desk: StudyDesk, reader: LogReader, export: Path | None = None) -> Balance:
    """Compare the ledgers of a study.

    `export`: a CSV file of submissions exported from Prolific, if any.

    Raises:
        InputError: if the export cannot be read.
    """
    places = desk.ledger()
    episodes = reader.episodes(desk.study.sets_run)
    status = reader.statuses(desk.study.sets_run)
    submissions = None if export is None else read_export(desk, reader, export)
    findings = [
        *_quotas(desk, places, frozenset(reader.withdrawals())),
        *_reconcile_episodes(places, episodes, status),
    ]
    if submissions is not None:
        kind = desk.study.identity[0].lower()
        named = frozenset(row.participant_id for row in reader.identities(kind=kind))
        findings += _payment_findings(desk, places, submissions, named)
    return Balance(
        places=Counter(place.state for place in places),
        episodes=Counter(status.values()),
        submissions=None if submissions is None else Counter(submission.status for submission in submissions),
        findings=tuple(sorted(findings, key=lambda finding: finding.explained)),
    )


def read_export(desk: StudyDesk, reader: LogReader, path: Path) -> tuple[Submission, ...]:
    """Return the submissions in an export from Prolific, with pseudonyms in place of ids.

    Raises:
        InputError: if the file cannot be read or lacks a column.
    """
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            table = list(csv.reader(file))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise InputError(f"{path}: cannot be read as CSV: {error}") from error
    head = [name.strip().lower() for name in table[0]] if table else []
    person, status, code = (_column(path, head, names) for names in (_PERSON, ("status",), _CODE))
    key, first = load_key(reader.path), desk.study.identity[0]
    submissions = []
    for line, row in enumerate(table[1:], start=2):
        if len(row) != len(head):
            if row:
                raise InputError(f"{path}:{line}: {len(row)} cells, but the header has {len(head)}")
            continue
        known = recognise(desk.study, key, {first: row[person]})
        name = known.participant if known else None
        submissions.append(Submission(line, name, row[status].strip().upper(), row[code].strip()))
    return tuple(submissions)


def _column(path: Path, head: Sequence[str], names: Sequence[str]) -> int:
    for name in names:
        if name in head:
            return head.index(name)
    raise InputError(f"{path}:1: no column {names[0]!r}; is this an export of submissions from Prolific?")


def _quotas(desk: StudyDesk, places: Sequence[Place], pending: frozenset[str]) -> Iterator[Finding]:
    """Yield findings on cells above their quota, and on unfinished erasures."""
    for coarse, wanted in desk.quota.wanted.items():
        within = [place for place in places if place.cell and desk.quota.coarse[place.cell] == coarse]
        done = [place for place in within if place.state == "completed"]
        late = sum(place.late for place in done)
        if (over := len(done) - wanted) > 0:
            sentence = f"{cell_name(coarse)} has {over} more than the {wanted} wanted; {late} completed late."
            yield Finding("over", "", sentence, explained=late >= over)
    for place in places:
        if place.state == "withdrawn" and not place.erased and place.participant not in pending:
            sentence = (
                f"{place.participant} withdrew, but is not erased: `askback log erase {place.participant}`."
            )
            yield Finding("not_erased", place.participant, sentence)


def _reconcile_episodes(
    places: Sequence[Place], episodes: Sequence[Episode], status: Mapping[str, str]
) -> Iterator[Finding]:
    """Yield findings on people whose episodes do not match their places."""
    states: dict[str, Counter[State]] = {}
    for place in places:
        states.setdefault(place.participant, Counter())[place.state] += 1
    played: dict[str, Counter[str]] = {}
    for episode in episodes:
        if episode.participant_id:
            played.setdefault(episode.participant_id, Counter())[status[episode.id]] += 1
    for person in dict.fromkeys([*states, *played]):
        has, did = states.get(person, Counter()), played.get(person, Counter())
        done, finished = has["completed"], did["completed"] + did["truncated"]
        if not has:
            yield Finding("no_place", person, f"{person} has played, but never had a place.")
        elif has["withdrawn"] or has["excluded"]:
            continue
        elif done > finished:
            yield Finding("not_played", person, f"{person} is marked completed, but has no finished episode.")
        elif finished > done:
            state = next(place.state for place in reversed(places) if place.participant == person)
            yield Finding("not_marked", person, f"{person} finished an episode, but the place is {state}.")


def _payment_findings(
    desk: StudyDesk, places: Sequence[Place], submissions: Sequence[Submission], named: frozenset[str]
) -> Iterator[Finding]:
    """Yield findings on people whose submissions do not match their places."""
    current: dict[str, Place] = {}
    for place in places:
        if place.participant not in current or current[place.participant].state != "completed":
            current[place.participant] = place
    submitted: dict[str, list[Submission]] = {person: [] for person in current}
    unknown = 0
    erased = sum(place.erased for place in current.values())
    finished = len({place.participant for place in places if place.erased and place.completed_at})
    for submission in submissions:
        if submission.participant is None:
            yield Finding("nobody", "", f"Line {submission.line} of the export names nobody.")
        elif submission.participant in submitted:
            submitted[submission.participant].append(submission)
        else:
            # An erased person looks like one who was never here: only as many lines are explained as people
            # are erased, and lines with the code of a completion as people had finished.
            sentence = f"Line {submission.line} of the export ({submission.status}): the person has no place"
            sentence += (
                f" here; erased people who had one: {erased}." if erased else " here, and never had one."
            )
            done = submission.status in _DONE
            unknown += done
            codes = desk.study.completion_codes
            completes = submission.code in (codes.complete, codes.failed_check)
            explained = not done or unknown <= (finished if completes else erased)
            yield Finding("not_here", submission.participant, sentence, explained=explained)
    for person, place in current.items():
        if submitted[person]:
            yield from _reconcile_person(desk, place, submitted[person])
        elif place.state == "completed":
            known = person in named
            why = "the export does not list them" if known else "they did not come from the platform"
            yield Finding("not_there", person, f"{person} completed here; {why}.", explained=not known)


def _reconcile_person(desk: StudyDesk, place: Place, submissions: Sequence[Submission]) -> Iterator[Finding]:
    """Yield disagreements between one person's submissions and place."""
    person, state = place.participant, place.state
    done = [submission for submission in submissions if submission.status in _DONE]
    if len(done) > 1:
        lines = ", ".join(str(submission.line) for submission in done)
        sentence = f"{person} submitted {len(done)} times (lines {lines} of the export)."
        yield Finding("twice", person, sentence)
    if done and (place.live or state == "expired"):
        sentence = f"{person} is {done[0].status} there, but here the place is {state}."
        yield Finding("not_completed", person, sentence)
    elif done and state == "excluded":
        sentence = f"{person} is {done[0].status} there, and excluded here."
        yield Finding("excluded", person, sentence, explained=True)
    elif done and state != "withdrawn":
        due = desk.completion(person).code or ""
        for submission in done:
            if submission.code != due and (due or submission.code not in _NO_CODE):
                entered = "no code" if submission.code in _NO_CODE else f"the code {submission.code}"
                expected = f"the code {due}" if due else "no code"
                sentence = f"{person} submitted {entered} (line {submission.line}), not {expected} ({state})."
                yield Finding("code", person, sentence)
    elif state == "completed":
        sentence = f"{person} completed here, but is {submissions[-1].status} there, and so not paid."
        yield Finding("not_paid", person, sentence)


APPROVE: Final = "approve.csv"
REVIEW: Final = "review.csv"
REJECT: Final = "reject.csv"
BONUS: Final = "bonus.csv"
FURTHER: Final = "further.csv"
_CENT: Final = Decimal("0.01")
_ID: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.@-]{0,199}")


@dataclass(frozen=True, kw_only=True)
class Payment:
    """The payment due in a study, by platform id.

    Attributes:
        approve: people who finished and missed no attention check.
        review: people who finished and missed one; nobody is rejected automatically.
        reject: people who finished but were excluded by a researcher, and the reason.
        bonus: bonus per person in the study's currency, without zeros.
        unknown: pseudonyms of people who finished but have no platform id, or no valid one (see `further`).
        further_sets: number of sets beyond the first of each person, which a submission does not pay.
        paid_exits: number of sets that ended in a paid exit.
        further: id or pseudonym, amount (empty if the study does not say) and reason of unpaid dues.
    """

    approve: tuple[str, ...]
    review: tuple[str, ...]
    reject: dict[str, str]
    bonus: dict[str, float]
    unknown: tuple[str, ...]
    further_sets: int
    paid_exits: int
    further: tuple[tuple[str, str, str], ...]

    def write(self, folder: Path) -> tuple[Path, ...]:
        """Write a file for each non-empty list: one id per line, then amount or reason.

        Files of an earlier call whose lists are now empty are removed, so that nobody submits them.
        """
        lines: dict[str, list[tuple[str, ...]]] = {
            APPROVE: [(person,) for person in self.approve],
            REVIEW: [(person,) for person in self.review],
            REJECT: [(person, guard(reason)) for person, reason in self.reject.items()],
            BONUS: [(person, f"{amount:.2f}") for person, amount in self.bonus.items()],
            FURTHER: [*self.further],
        }
        texts = {folder / name: rows_as_csv(rows) for name, rows in lines.items()}
        for file in (file for file, text in texts.items() if not text):
            with suppress(NotADirectoryError):
                file.unlink(missing_ok=True)
        return tuple(write_atomically(file, text) for file, text in texts.items() if text)


def payment_of(
    desk: StudyDesk, reader: LogReader, *, metric: str | None = None, amount: float = 0.0
) -> Payment:
    """Return the payment of everybody who finished.

    `metric`: the score that earns a bonus, summed over a person's sets, multiplied by `amount` and rounded to
        cents, half a cent up.

    Raises:
        InputError: if no episode of the study has such a score.
    """
    study = desk.study
    finished = [place for place in desk.ledger() if place.completed_at and place.state != "withdrawn"]
    done = [place for place in finished if place.state == "completed"]
    people = Counter(place.participant for place in done)
    exits, leaving = paid_exits(desk.ledger()), study.pay.paid_exit if study.pay else None
    excluded = {place.participant for place in finished if place.state == "excluded"}
    failed = {place.participant for place in done if place.failed_check} - excluded
    rows = reader.identities(kind=study.identity[0].lower())
    names = {row.participant_id: row.value for row in rows if _ID.fullmatch(row.value)}
    reasons = {
        event.participant_id: str(event.details.get("reason", ""))
        for event in reader.events(run_id=study.run_id, kind=EXCLUDED)
    }
    earned: dict[str, list[float]] = {person: [] for person in people}
    if metric is not None:
        owners = {played.episode.id: _players(played) for played in reader.turns_of_run(study.run_id)}
        scores = list(reader.scores(run_id=study.run_id, latest=True))
        if metric not in (known := {score.metric for score in scores}):
            has = ", ".join(sorted(known)) or "none"
            raise InputError(f"study {study.id!r} has no score {metric!r}; it has {has}.")
        for score in scores:
            if score.metric == metric and score.value is not None:
                for person in owners[score.episode_id] & earned.keys():
                    earned[person].append(score.value)
    bonuses = {person: _in_cents(sum(values), amount) for person, values in earned.items()}
    return Payment(
        approve=_names_of(names, (person for person in people if person not in failed)),
        review=_names_of(names, failed),
        reject={names[person]: reasons.get(person, "") for person in sorted(excluded & names.keys())},
        bonus={names[person]: due for person, due in bonuses.items() if person in names and due > 0},
        unknown=tuple(person for person in people if person not in names),
        further_sets=len(done) - len(people),
        paid_exits=len(exits),
        further=tuple(
            (names.get(person, person), "" if due is None else f"{due:.2f}", why)
            for person, due, why in (
                *_unsubmitted(study.pay, people, bonuses, names, failed),
                *((place.participant, leaving, f"paid exit: {place.reason}") for place in exits),
            )
        ),
    )


def _unsubmitted(
    pay: Pay | None,
    sets: Mapping[str, int],
    bonus: Mapping[str, float],
    names: Mapping[str, str],
    failed: Set[str],
) -> Iterator[tuple[str, float | None, str]]:
    """Yield what no submission pays to people who finished: further sets, or everything without an id."""
    for person, count in sets.items():
        unpaid = count - (person in names)
        check = ", missed a check" if person in failed else ""
        why = f"further sets: {unpaid}" if person in names else f"no platform id: {unpaid} finished{check}"
        if unpaid:
            yield person, pay.amount * unpaid if pay else None, why
        if person not in names and bonus[person] > 0:
            yield person, bonus[person], "no platform id: bonus"


def _in_cents(score: float, amount: float) -> float:
    # In binary fractions, the same half cent would be rounded down for some people and up for others.
    return float((Decimal(f"{score:.9f}") * Decimal(str(amount))).quantize(_CENT, ROUND_HALF_UP))


def _players(played: Played) -> set[str]:
    """Return the people who played an episode: its participant, or both of a pair."""
    people = {turn.payload.get("participant_id") for turn in played.turns}
    return {person for person in (*people, played.episode.participant_id) if person}


def _names_of(names: dict[str, str], people: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted(names[person] for person in people if person in names))
