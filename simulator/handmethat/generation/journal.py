"""The journal of a batch: what has been done in a folder, so that the same command goes on from there.

While a batch is under way, ``.generation.jsonl`` in its folder holds the plan in its first line and one line
for each group of attempts, written after their files. When all is done, ``generation.json`` (plan and
results, without times) takes its place. Files of attempts that no line tells of are written again, the same.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Final

from pydantic import BaseModel, PlainSerializer, ValidationError

from simulator.errors import InputError
from simulator.field_faults import first_fault
from simulator.handmethat.generation.attempts import Plan
from simulator.handmethat.statistics import Facts

JOURNAL: Final = ".generation.jsonl"
RESULT: Final = "generation.json"
_IN_ORDER: Final = PlainSerializer(lambda counts: {str(key): counts[key] for key in sorted(counts)})


class Tally(BaseModel):
    """The counts of the attempts so far.

    Attributes:
        kept: file name (empty where none was written) and facts of each episode, in order.
        surplus: by level, episodes that were not wanted any more.
        cpu: seconds of CPU of all attempts.
    """

    attempts: int = 0
    kept: list[tuple[str, Facts]] = []
    surplus: Annotated[Counter[int], _IN_ORDER] = Counter()
    rejections: Annotated[Counter[str], _IN_ORDER] = Counter()
    redrawn: int = 0
    given_up: int = 0
    cpu: float = 0.0

    def add(self, other: Tally) -> None:
        """Take in what came of further attempts."""
        self.attempts += other.attempts
        self.kept += other.kept
        self.surplus.update(other.surplus)
        self.rejections.update(other.rejections)
        self.redrawn += other.redrawn
        self.given_up += other.given_up
        self.cpu += other.cpu


class Journal:
    """The journal of one folder; see the module."""

    def __init__(self, folder: Path, plan: Plan) -> None:
        """Open the journal in `folder`, which is made if need be.

        Raises:
            InputError: if the folder holds episodes of another plan, or cannot be written.
        """
        self.folder, self.plan = folder, plan
        self.tally, self.done = Tally(), False
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self._open()
        except OSError as error:
            raise InputError(f"{error.filename or folder}: {error.strerror}; choose another --out") from error

    def append(self, more: Tally) -> None:
        """Note what came of further attempts, whose files are written."""
        self.tally.add(more)
        self._write(more.model_dump(mode="json"))

    def finish(self) -> None:
        """Put the result in the journal's place."""
        content = {"plan": self.plan.to_json(), **self.tally.model_dump(mode="json", exclude={"cpu"})}
        new = self.folder / f".{RESULT}.new"
        new.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
        os.replace(new, self.folder / RESULT)
        (self.folder / JOURNAL).unlink(missing_ok=True)
        self.done = True

    def _open(self) -> None:
        result, path = self.folder / RESULT, self.folder / JOURNAL
        if result.is_file():
            data = _loads(result, result.read_text(encoding="utf-8"))
            self._compare(result, data.get("plan"))
            self.tally, self.done = _tally(result, data), True
            path.unlink(missing_ok=True)
        elif path.is_file():
            self._continue(path)
        else:
            self._refuse_strangers()
            path.write_text("", encoding="utf-8")
            self._write({"plan": self.plan.to_json()})

    def _continue(self, path: Path) -> None:
        text = path.read_text(encoding="utf-8")
        # A line without its end was being written when the process was killed.
        whole = text[: text.rfind("\n") + 1]
        lines = whole.splitlines()
        if not lines:
            path.write_text("", encoding="utf-8")
            self._write({"plan": self.plan.to_json()})
            return
        self._compare(path, _loads(path, lines[0]).get("plan"))
        for line in lines[1:]:
            self.tally.add(_tally(path, _loads(path, line)))
        path.write_text(whole, encoding="utf-8")

    def _compare(self, path: Path, theirs: object) -> None:
        ours = self.plan.to_json()
        if not isinstance(theirs, dict):
            raise InputError(f"{path}: is not of this program; choose another --out")
        for key, value in ours.items():
            if theirs.get(key) != value:
                raise InputError(
                    f"{self.folder} holds episodes generated with {key} {json.dumps(theirs.get(key))}, "
                    f"not {json.dumps(value)}; choose another --out, or remove the folder"
                )

    def _refuse_strangers(self) -> None:
        stranger = min(self.folder.iterdir(), default=None)
        if stranger is not None:
            raise InputError(f"{self.folder} is not empty ({stranger.name} is in it); choose another --out")

    def _write(self, line: Mapping[str, Any]) -> None:
        with (self.folder / JOURNAL).open("a", encoding="utf-8") as file:
            file.write(json.dumps(line, separators=(",", ":")) + "\n")


def _loads(path: Path, text: str) -> dict[str, Any]:
    try:
        data = json.loads(text)
    except ValueError as error:
        raise InputError(f"{path}: is damaged ({error}); remove the folder and start again") from error
    return data if isinstance(data, dict) else {}


def _tally(path: Path, data: Mapping[str, Any]) -> Tally:
    try:
        if missing := Tally.model_fields.keys() - data.keys() - {"cpu"}:
            raise InputError(f"{min(missing)} is missing")
        return Tally.model_validate(data)
    except (InputError, ValidationError) as error:
        fault = first_fault(error, data) if isinstance(error, ValidationError) else error
        raise InputError(f"{path}: is damaged ({fault}); remove the folder and start again") from error
