"""Do the books balance? Who took part, what was played, and what the recruiting platform says.

Three ledgers tell of the same people: the places of the study (assignment rows), the episodes that were
played, and, if given, an export of submissions from Prolific. Whatever one says that another does not is a
`Finding`, a sentence with the person's pseudonym in it; nobody's outside identity is printed.

The platform is handed files: whom to approve, look at or reject, and who gets a bonus. They name people as
the platform does, so they hold what the log keeps apart: delete them when they have been handed in. An id is
what stood in somebody's link; one that no platform gives (`_ID`) is written nowhere, so that nobody adds a
line, a formula or a bonus by what they call themselves.
"""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from logs import LogReader, load_key
from logs.codebook import guard
from logs.query import Played
from logs.rows import EXCLUDED, Episode
from simulator.errors import InputError
from simulator.studies.desk import StudyDesk
from simulator.studies.people import recognise
from simulator.studies.quota import Place, State, cell_name

# Columns by the names that newer and older exports of Prolific give them, in lower case.
_PERSON: Final = ("participant id", "participant_id")
_STATUS: Final = ("status",)
_CODE: Final = ("completion code", "entered_code")
# What the platform calls a submission that was handed in, and one that was not.
_DONE: Final = ("APPROVED", "AWAITING REVIEW", "PARTIALLY APPROVED", "REJECTED")
_LEFT: Final = ("RETURNED", "TIMED-OUT")
_NO_CODE: Final = ("", "NOCODE")


@dataclass(frozen=True, slots=True)
class Finding:
    """Two ledgers that do not agree.

    Attributes:
        kind: names the disagreement (``not_here``, ``code``, …).
        participant: whom it is about; empty if about nobody in particular.
        explained: it is as it should be once one knows this; else somebody should look.
    """

    kind: str
    participant: str
    sentence: str
    explained: bool = False


@dataclass(frozen=True, slots=True)
class Submission:
    """A row of the platform's export.

    Attributes:
        line: in the file, from 1.
        participant: the pseudonym; None if the row names nobody.
    """

    line: int
    participant: str | None
    status: str
    code: str


@dataclass(frozen=True, slots=True)
class Balance:
    """The ledgers' totals and what does not agree.

    Attributes:
        episodes: by how they ended; ``running`` if they have not.
        submissions: by status, None without an export.
        findings: what there is to say, those to look at first.
    """

    places: Mapping[State, int]
    episodes: Mapping[str, int]
    submissions: Mapping[str, int] | None
    findings: tuple[Finding, ...]

    @property
    def balanced(self) -> bool:
        """Return True if nobody needs to look."""
        return all(finding.explained for finding in self.findings)


def reconcile(desk: StudyDesk, reader: LogReader, export: Path | None = None) -> Balance:
    """Compare the ledgers of a study.

    Args:
        desk: of the study.
        reader: of its log.
        export: submissions as Prolific exports them (CSV), if there are any.

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
        findings += _paid(desk, places, submissions, named)
    return Balance(
        places=Counter(place.state for place in places),
        episodes=Counter(status.values()),
        submissions=None if submissions is None else Counter(submission.status for submission in submissions),
        findings=tuple(sorted(findings, key=lambda finding: finding.explained)),
    )


def read_export(desk: StudyDesk, reader: LogReader, path: Path) -> tuple[Submission, ...]:
    """Return the submissions in an export of Prolific, people as pseudonyms.

    Raises:
        InputError: if the file cannot be read or lacks a column.
    """
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            table = list(csv.reader(file))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise InputError(f"{path}: cannot be read as CSV: {error}") from error
    head = [name.strip().lower() for name in table[0]] if table else []
    person, status, code = (_column(path, head, names) for names in (_PERSON, _STATUS, _CODE))
    key, first = load_key(reader.path), desk.study.identity[0]
    submissions = []
    for line, row in enumerate(table[1:], start=2):
        if len(row) != len(head):
            if row:
                raise InputError(f"{path}:{line}: {len(row)} cells, the head has {len(head)}")
            continue
        known = recognise(desk.study, key, {first: row[person]})
        name = known.participant if known else None
        submissions.append(Submission(line, name, row[status].strip().upper(), row[code].strip()))
    return tuple(submissions)


def _column(path: Path, head: Sequence[str], names: Sequence[str]) -> int:
    for name in names:
        if name in head:
            return head.index(name)
    raise InputError(f"{path}:1: no column {names[0]!r}; is it an export of Prolific's submissions?")


def _quotas(desk: StudyDesk, places: Sequence[Place], pending: frozenset[str]) -> Iterator[Finding]:
    """Yield cells with more completed places than wanted, and erasures that were cut short."""
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
    """Yield people whose episodes do not fit their places."""
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
            yield Finding("no_place", person, f"{person} has played, but was never given a place.")
        elif has["withdrawn"] or has["excluded"]:
            continue
        elif done > finished:
            yield Finding(
                "not_played", person, f"{person} is marked completed, but has no episode that was finished."
            )
        elif finished > done:
            state = next(place.state for place in reversed(places) if place.participant == person)
            yield Finding("not_marked", person, f"{person} finished an episode, but the place is {state}.")


def _paid(
    desk: StudyDesk, places: Sequence[Place], submissions: Sequence[Submission], named: frozenset[str]
) -> Iterator[Finding]:
    """Yield people whose submissions do not fit their places."""
    standing: dict[str, Place] = {}
    for place in places:
        if place.participant not in standing or standing[place.participant].state != "completed":
            standing[place.participant] = place
    there: dict[str, list[Submission]] = {person: [] for person in standing}
    unknown = 0
    forgotten = sum(place.erased for place in standing.values())
    for submission in submissions:
        if submission.participant is None:
            yield Finding("nobody", "", f"Line {submission.line} of the export names nobody.")
        elif submission.participant in there:
            there[submission.participant].append(submission)
        else:
            # Whoever was erased cannot be told from somebody who was never here; so many there can be.
            said = f"Line {submission.line} of the export ({submission.status}): the person has no place here"
            said += f"; of those who had, {forgotten} are erased." if forgotten else ", and never had."
            handed_in = submission.status in _DONE
            unknown += handed_in
            explained = not handed_in or unknown <= forgotten
            yield Finding("not_here", submission.participant, said, explained=explained)
    for person, place in standing.items():
        if there[person]:
            yield from _reconcile_person(desk, place, there[person])
        elif place.state == "completed":
            known = person in named
            said = "the export does not have them" if known else "they did not come by the platform"
            yield Finding("not_there", person, f"{person} completed here; {said}.", explained=not known)


def _reconcile_person(desk: StudyDesk, place: Place, submissions: Sequence[Submission]) -> Iterator[Finding]:
    """Yield what one person's submissions and place say of each other."""
    person, state = place.participant, place.state
    done = [submission for submission in submissions if submission.status in _DONE]
    if len(done) > 1:
        lines = ", ".join(str(submission.line) for submission in done)
        yield Finding("twice", person, f"{person} handed in {len(done)} times (lines {lines} of the export).")
    if done and (place.live or state == "expired"):
        said = f"{person} is {done[0].status} there, but here the place is {state}."
        yield Finding("not_completed", person, said)
    elif done and state == "excluded":
        said = f"{person} is {done[0].status} there, and excluded here."
        yield Finding("excluded", person, said, explained=True)
    elif done and state != "withdrawn":
        due = desk.completion(person).code or ""
        for submission in done:
            if submission.code != due and (due or submission.code not in _NO_CODE):
                entered = "no code" if submission.code in _NO_CODE else f"the code {submission.code}"
                expected = f"the code {due}" if due else "no code"
                said = f"{person} handed in {entered} (line {submission.line}); for {state} it is {expected}."
                yield Finding("code", person, said)
    elif state == "completed" and any(submission.status in _LEFT for submission in submissions):
        said = f"{person} completed here, but is {submissions[-1].status} there, and so not paid."
        yield Finding("not_paid", person, said)


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
