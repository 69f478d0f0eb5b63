"""Batches of episodes: attempts run in several processes and are taken in order until every quota is met.

Whether an episode is kept depends only on the attempts before it, so a plan gives the same files for any
number of processes and interruptions.

During a batch, ``.generation.jsonl`` in its folder contains the plan in its first line and one line
for each group of attempts, written after their files. At the end ``generation.json`` (plan and
results, without times) replaces it. Files of attempts that are not in the journal are rewritten identically.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Final

from pydantic import BaseModel, PlainSerializer, ValidationError

from simulator.errors import InputError
from simulator.fields import first_fault
from simulator.handmethat.files.episode import read_file
from simulator.handmethat.files.split import (
    FOLDER,
    PARTS,
    SPLIT_FILE,
    Name,
    Part,
    Style,
    make_split,
    write_split,
)
from simulator.handmethat.generation.attempts import Attempt, Job, Plan, make_attempt
from simulator.handmethat.items import LEVELS, Level, task_to_row
from simulator.handmethat.meanings.model import Quest
from simulator.handmethat.profiles import load_profile
from simulator.handmethat.statistics import Facts
from simulator.output_files import write_atomically
from simulator.runner.options import HERE, Engine
from simulator.runner.spreading import in_order
from simulator.seeds import derive_seed

# Attempts per line of the journal.
_GROUP: Final = 32
# Attempts in a row without a kept episode after which the batch fails; fewer if no household fits at all.
_PATIENCE: Final = 5_000
_GIVEN_UP: Final = 20
# Shares of train, validate and test (spec 10.4).
_SHARES: Final[Mapping[Style, tuple[float, float, float]]] = {"v1": (0.8, 0.1, 0.1), "v2": (0.9, 0.05, 0.05)}
_IN_ORDER: Final = PlainSerializer(lambda counts: {str(key): counts[key] for key in sorted(counts)})


class Tally(BaseModel):
    """Counts of the attempts so far.

    Attributes:
        kept: file name (empty if no file was written) and facts of each episode, in order.
        surplus: number of episodes by level that came after their quota was met.
        cpu: CPU seconds of all attempts.
    """

    attempts: int = 0
    kept: list[tuple[str, Facts]] = []
    surplus: Annotated[Counter[int], _IN_ORDER] = Counter()
    rejections: Annotated[Counter[str], _IN_ORDER] = Counter()
    redrawn: int = 0
    given_up: int = 0
    cpu: float = 0.0

    def add(self, other: Tally) -> None:
        """Add the counts of further attempts."""
        self.attempts += other.attempts
        self.kept += other.kept
        self.surplus.update(other.surplus)
        self.rejections.update(other.rejections)
        self.redrawn += other.redrawn
        self.given_up += other.given_up
        self.cpu += other.cpu


Report = Callable[[Tally], None]
Note = Callable[[dict[str, Any]], None]
Keep = Callable[[str, bytes, dict[str, Any] | None], None]
"""Called with each kept episode: its name, its file and, if rows were requested, its row (`task_to_row`)."""


@dataclass
class _Quota:
    """The quotas of a batch; they admit episodes, in the order of attempts, while their level is open.

    Attributes:
        numbers: next task index by goal and quest type.
    """

    plan: Plan
    style: Style
    kept: Counter[Level] = field(default_factory=Counter)
    numbers: Counter[tuple[int | None, Quest]] = field(default_factory=Counter)

    @property
    def closed(self) -> frozenset[Level]:
        """The levels whose quota is met."""
        quotas = self.plan.quotas
        if quotas is None:
            return frozenset()
        return frozenset(level for level in LEVELS if self.kept[level] >= quotas.get(level, 0))

    @property
    def full(self) -> bool:
        """Return True if the batch has all its episodes."""
        return sum(self.kept.values()) >= self.plan.episodes

    def take(self, facts: Facts) -> tuple[str, int]:
        """Admit an episode and return its name and its task index."""
        kind = (facts.goal, facts.quest)
        index = self.numbers[kind]
        number = index if self.style == "v2" else self.kept[facts.level]
        self.numbers[kind] += 1
        self.kept[facts.level] += 1
        assert facts.goal is not None
        return str(Name(self.style, facts.level, facts.quest, facts.goal, number)), index


def run_batch(
    plan: Plan,
    *,
    engine: Engine = HERE,
    keep: Keep | None = None,
    report: Report | None = None,
    after: Tally | None = None,
    files: bool = True,
    rows: bool = False,
) -> Iterator[Tally]:
    """Generate the episodes of a plan and yield the tally of each group of attempts.

    `keep`: called with each kept episode. `report`: called with the tally of each single attempt, for a
    progress bar. `after`: tally of earlier attempts; the batch continues after them. `files`, `rows`: whether
    attempts make the content of files, and rows for the log.

    Raises:
        InputError: if the plan yields no further episodes.
    """
    quota = _Quota(plan, style_of(plan.profile))
    first = 0
    if after is not None:
        first = after.attempts
        for _, facts in after.kept:
            quota.take(facts)

    def jobs() -> Iterator[Job]:
        number = first
        while not quota.full:
            yield Job(plan, number, quota.closed, row=rows, file=files)
            number += 1

    group, idle = Tally(), Tally()
    if quota.full:
        return
    for attempt in in_order(make_attempt, jobs(), engine):
        counted = _count(attempt, quota, keep)
        if counted.kept:
            idle = Tally()
        idle.add(counted)
        _check_patience(plan, idle, quota)
        group.add(counted)
        if report is not None:
            report(counted)
        if group.attempts == _GROUP or quota.full:
            yield group
            group = Tally()
        if quota.full:
            return


def generate_folder(
    plan: Plan,
    folder: Path,
    *,
    engine: Engine = HERE,
    report: Report | None = None,
    log: Note | None = None,
) -> Tally:
    """Generate episodes into a folder in the published layout: a folder of files and a split file next to it.

    Repeating an interrupted call resumes it.

    `report`: called with the tally of earlier calls, then with that of each single attempt.

    Raises:
        InputError: if the folder contains something else, or the plan yields no further episodes.
    """
    journal = Journal(folder, plan)
    home = folder / FOLDER
    home.mkdir(exist_ok=True)
    if report is not None:
        report(journal.tally)
    if log is not None:
        # A process that was killed may have written files but not yet their rows.
        for name, _ in journal.tally.kept:
            log(task_to_row(read_file(home / f"{name}.json")))

    def keep(name: str, file: bytes, row: dict[str, Any] | None) -> None:
        (home / f"{name}.json").write_bytes(file)
        if log is not None and row is not None:
            log(row)

    if not journal.done:
        for group in run_batch(
            plan, engine=engine, keep=keep, report=report, after=journal.tally, rows=log is not None
        ):
            journal.append(group)
        names = [f"{name}.json" for name, _ in journal.tally.kept]
        write_split(make_split(names, _parts(plan, names)), folder / SPLIT_FILE, style_of(plan.profile))
        journal.finish()
    return journal.tally


def style_of(profile: str) -> Style:
    """Return the style of the file names of a profile."""
    return load_profile(profile).style


def _count(attempt: Attempt, quota: _Quota, keep: Keep | None) -> Tally:
    tally = Tally(attempts=1, redrawn=attempt.redrawn, cpu=attempt.cpu)
    tally.rejections.update(attempt.rejections)
    if attempt.level is None:
        tally.given_up = 1
    elif attempt.level in quota.closed:
        tally.surplus[attempt.level] = 1
    elif attempt.facts is None:
        tally.rejections[attempt.failure] += 1
    else:
        name, index = quota.take(attempt.facts)
        tally.kept = [(name, attempt.facts)]
        if keep is not None:
            # The attempt could not know its name and index: they depend on the attempts before it.
            file = attempt.file.replace(b'"task_idx": 0', b'"task_idx": %d' % index, 1)
            keep(name, file, attempt.row and {**attempt.row, "id": name, "task_index": index})
    return tally


def _check_patience(plan: Plan, idle: Tally, quota: _Quota) -> None:
    if idle.given_up >= _GIVEN_UP and idle.given_up == idle.attempts - len(idle.kept):
        causes = ", ".join(f"{cause} {count}" for cause, count in idle.rejections.most_common(3))
        raise InputError(
            f"none of {sum(idle.rejections.values())} households gave an episode ({causes}); the templates "
            f"{list(plan.templates)} do not work with {', '.join(plan.mix)} in profile {plan.profile}"
        )
    if idle.attempts > _PATIENCE:
        open_levels = [level for level in LEVELS if level not in quota.closed]
        raise InputError(
            f"{_PATIENCE} attempts in a row gave no episode of level {', '.join(map(str, open_levels))}; "
            "choose other --levels, --templates or another --quest-mix"
        )


def _parts(plan: Plan, names: list[str]) -> dict[str, Part]:
    shares = _SHARES[style_of(plan.profile)]
    return {name: _part(derive_seed(plan.seed, "split", name) / 2**31, shares) for name in names}


def _part(point: float, shares: tuple[float, float, float]) -> Part:
    if point < shares[0]:
        return PARTS[0]
    return PARTS[1] if point < shares[0] + shares[1] else PARTS[2]


# ---- the journal of a batch


JOURNAL: Final = ".generation.jsonl"
RESULT: Final = "generation.json"


class Journal:
    """The journal of one folder (see the module docstring)."""

    def __init__(self, folder: Path, plan: Plan) -> None:
        """Open the journal in `folder`, creating the folder if needed.

        Raises:
            InputError: if the folder contains episodes of another plan, or cannot be written.
        """
        self.folder, self.plan = folder, plan
        self.tally, self.done = Tally(), False
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self._open()
        except OSError as error:
            raise InputError(f"{error.filename or folder}: {error.strerror}; choose another --out") from error

    def append(self, more: Tally) -> None:
        """Record the tally of further attempts, after their files were written."""
        self.tally.add(more)
        self._write(more.model_dump(mode="json"))

    def finish(self) -> None:
        """Replace the journal by the result file."""
        content = {"plan": self.plan.to_json(), **self.tally.model_dump(mode="json", exclude={"cpu"})}
        write_atomically(self.folder / RESULT, json.dumps(content, indent=1) + "\n")
        (self.folder / JOURNAL).unlink(missing_ok=True)
        self.done = True

    def _open(self) -> None:
        result, path = self.folder / RESULT, self.folder / JOURNAL
        if result.is_file():
            data = _parse_json(result, result.read_text(encoding="utf-8"))
            self._require_same_plan(result, data.get("plan"))
            self.tally, self.done = _parse_tally(result, data), True
            path.unlink(missing_ok=True)
        else:
            if not path.is_file():
                self._require_empty()
                path.touch()
            self._continue(path)

    def _continue(self, path: Path) -> None:
        text = path.read_text(encoding="utf-8")
        # Drop a line that is incomplete because the process was killed.
        complete = text[: text.rfind("\n") + 1]
        lines = complete.splitlines()
        if not lines:
            path.write_text("", encoding="utf-8")
            self._write({"plan": self.plan.to_json()})
            return
        self._require_same_plan(path, _parse_json(path, lines[0]).get("plan"))
        for line in lines[1:]:
            self.tally.add(_parse_tally(path, _parse_json(path, line)))
        path.write_text(complete, encoding="utf-8")

    def _require_same_plan(self, path: Path, stored: object) -> None:
        if not isinstance(stored, dict):
            raise InputError(f"{path}: was not written by this program; choose another --out")
        for key, value in self.plan.to_json().items():
            if stored.get(key) != value:
                raise InputError(
                    f"{self.folder} contains episodes generated with {key} {json.dumps(stored.get(key))}, "
                    f"not {json.dumps(value)}; choose another --out, or remove the folder"
                )

    def _require_empty(self) -> None:
        entry = min(self.folder.iterdir(), default=None)
        if entry is not None:
            raise InputError(f"{self.folder} is not empty ({entry.name} is in it); choose another --out")

    def _write(self, line: Mapping[str, Any]) -> None:
        with (self.folder / JOURNAL).open("a", encoding="utf-8") as file:
            file.write(json.dumps(line, separators=(",", ":")) + "\n")


def _parse_json(path: Path, text: str) -> dict[str, Any]:
    try:
        data = json.loads(text)
    except ValueError as error:
        raise InputError(f"{path}: is damaged ({error}); remove the folder and start again") from error
    return data if isinstance(data, dict) else {}


def _parse_tally(path: Path, data: Mapping[str, Any]) -> Tally:
    try:
        if missing := Tally.model_fields.keys() - data.keys() - {"cpu"}:
            raise InputError(f"{min(missing)} is missing")
        return Tally.model_validate(data)
    except (InputError, ValidationError) as error:
        fault = first_fault(error, data) if isinstance(error, ValidationError) else error
        raise InputError(f"{path}: is damaged ({fault}); remove the folder and start again") from error
