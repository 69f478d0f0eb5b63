"""Published results files of ClarQ-LLM: tasks together with the dialogues that were held on them.

A file is a list of task types, each a list of tasks as in the data files, with `gold_structure` (the tree
indices) and the dialogue in ``l2l[0]``: alternating lines, provider first (spec section 2).

What is odd in the published files, and how it is read: the tasks of types 27 to 31 were not played, their
``l2l[0]`` is empty; such rows are counted and passed over. Their ``gold_structure`` begins with the opening's
``0``, which the others leave out.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from simulator.clarq.compose import contains, strip_speaker
from simulator.duplicates import CODE, Duplicates
from simulator.errors import InputError
from simulator.seats import Line
from simulator.tables.records import read_json
from trees import OPENING, Background, Frontier, Node, Task, Tree
from trees.faults import Fault, Severity
from trees.types import task_type

_T = TypeVar("_T")
_CHINESE = re.compile(r"[\u4e00-\u9fff]")


@dataclass(frozen=True)
class PublishedDialogue:
    """One dialogue of a results file.

    Attributes:
        task: the task, built from the file's own record.
        lines: seats ``provider`` and ``seeker`` in turn, the greeting first, without speaker prefixes.
        source: the file.
    """

    task: Task
    lines: tuple[Line, ...]
    source: str

    @property
    def multi(self) -> bool:
        """Whether some provider line gives several responses at once."""
        return any(len(step.given) > 1 for step in provider_steps(self))


@dataclass(frozen=True)
class ProviderStep:
    """One provider line after the greeting, with the frontier as it was before it.

    Attributes:
        position: index into the dialogue's lines.
        before: the frontier before the line.
        opens: whether the line gave the opening response.
        given: indices given by the line, in index order; empty for a Response II.
    """

    position: int
    before: Frontier
    opens: bool
    given: tuple[str, ...]

    @property
    def after(self) -> Frontier:
        """The frontier after the line."""
        frontier = self.before.open() if self.opens else self.before
        return frontier.give(self.given)


@dataclass(frozen=True, slots=True)
class ResultsFile:
    """What can be read of a results file.

    Attributes:
        dialogues: the dialogues, in the file's order.
        unplayed: rows without a dialogue.
        faults: what is wrong with other rows, one each; such a row is left out, unless it is a warning's.
    """

    dialogues: tuple[PublishedDialogue, ...]
    unplayed: int
    faults: tuple[Fault, ...]


def load_results(path: str | Path) -> tuple[PublishedDialogue, ...]:
    """Return the dialogues of a published results file that can be read; see `read_results`.

    Raises:
        InputError: if the file cannot be read or none of its rows can.
    """
    return read_results(path).dialogues


def read_results(path: str | Path, duplicates: Duplicates = "refuse") -> ResultsFile:
    """Read a published results file, row by row: one odd row does not cost the file.

    Args:
        path: the file.
        duplicates: what becomes of rows that stand there twice, word for word (`simulator.duplicates`).

    Raises:
        InputError: if the file cannot be read or has rows and none can; names file, type, task and field.
    """
    path = Path(path)
    dialogues: list[PublishedDialogue] = []
    faults: list[Fault] = []
    unplayed = 0
    first: dict[tuple[int, str], str] = {}
    for number, tasks in enumerate(_types(path), start=1):
        if not isinstance(tasks, list):
            faults.append(_fault(path, f"{number}", "expected a list of tasks"))
            continue
        for position, record in enumerate(tasks):
            row = f"{number}.{position}"
            try:
                dialogue = _dialogue(record, number, position, path, faults)
            except (InputError, ValueError) as error:
                faults.append(_fault(path, row, f"type {number}, task {position}: {error}"))
                continue
            if dialogue is None:
                unplayed += 1
                continue
            earlier = first.setdefault((number, json.dumps(record, sort_keys=True)), row)
            if earlier != row:
                faults.append(_repeat(path, row, earlier, duplicates))
            if earlier == row or duplicates == "keep":
                dialogues.append(dialogue)
    if not dialogues and (faults or unplayed):
        said = f"; {faults[0].message}" if faults else ""
        raise InputError(f"{path}: holds no dialogue that can be read ({unplayed} rows have none{said})")
    return ResultsFile(tuple(dialogues), unplayed, tuple(faults))


def _repeat(path: Path, row: str, earlier: str, duplicates: Duplicates) -> Fault:
    number, position = earlier.split(".")
    message = f"told twice: type {number}, task {position}"
    if duplicates == "keep":
        return Fault(str(path), row, 0, CODE, f"{message}; counted again", "warning")
    return Fault(str(path), row, 0, CODE, message)


def _types(path: Path) -> list[Any]:
    types = read_json(path)
    if not isinstance(types, list) or not any(isinstance(tasks, list) for tasks in types):
        raise InputError(f"{path}: expected a list of task types, each a list of tasks")
    return types


def split_runs(
    runs: Iterable[Sequence[PublishedDialogue]],
) -> tuple[list[PublishedDialogue], list[PublishedDialogue]]:
    """Return the dialogues of single-info runs and those of multi-info ones.

    A multi-info provider gives one node here and there, so a run is one if any of its dialogues is.
    """
    single: list[PublishedDialogue] = []
    several: list[PublishedDialogue] = []
    for run in runs:
        (several if any(dialogue.multi for dialogue in run) else single).extend(run)
    return single, several


def provider_steps(dialogue: PublishedDialogue) -> Iterator[ProviderStep]:
    """Yield the provider's lines after the greeting, what each gave read off by containment (spec section 7).

    A node counts as given by the first line that contains its text while it is available; the
    opening likewise. A line may give several.
    """
    tree, language = dialogue.task.tree, dialogue.task.language
    frontier = Frontier(tree)
    spoken = [position for position, line in enumerate(dialogue.lines) if line.seat == "provider"]
    for position in spoken[1:]:
        text = dialogue.lines[position].text
        opens = not frontier.opened and contains(text, tree.opening, language)
        given = tuple(node.index for node in frontier.available if contains(text, node.text, language))
        step = ProviderStep(position, frontier, opens, given)
        yield step
        frontier = step.after


def _dialogue(
    record: Any, number: int, position: int, path: Path, warnings: list[Fault]
) -> PublishedDialogue | None:
    """Read a row; None if its task was not played. What costs the row nothing is added to `warnings`."""
    if not isinstance(record, dict):
        raise InputError("expected an object")
    spoken = _spoken(record)
    if not spoken:
        return None
    responses = _field(record, "all_response", str).splitlines()
    texts = [strip_speaker(line) for line in responses if line.strip()]
    indices = [str(index) for index in _field(record, "gold_structure", list)]
    if indices[:1] == [OPENING]:
        del indices[0]
    if len(texts) != len(indices) + 1:
        raise InputError(
            f"all_response has {len(texts)} lines, gold_structure {len(indices)} indices "
            "besides the opening's; expected one line more than indices"
        )
    explanations = record.get("all_response_exaplain") or [None] * len(indices)
    if not _are_explanations(explanations, len(indices)):
        said = f"all_response_exaplain should hold {len(indices)} sentences; the row is read without them"
        warnings.append(_fault(path, f"{number}.{position}", said, "warning"))
        explanations = [None] * len(indices)
    try:
        tree = Tree(texts[0], tuple(map(Node, indices, texts[1:], explanations)))
    except ValueError as error:
        raise InputError(f"gold_structure: {error}") from error
    prompt = record.get("background")
    task = Task(
        id=f"{number}.{position}",
        type=task_type(number).number,
        language="zh" if _CHINESE.search(texts[0]) else "en",
        background=_background(_field(record, "background_splitted", list)),
        tree=tree,
        prompt=prompt if isinstance(prompt, str) else None,
        source=str(path),
    )
    lines = tuple(
        Line("seeker", line.strip()) if turn % 2 else Line("provider", strip_speaker(line))
        for turn, line in enumerate(spoken)
    )
    return PublishedDialogue(task, lines, str(path))


def _are_explanations(value: Any, count: int) -> bool:
    return (
        isinstance(value, list) and len(value) == count and all(isinstance(one, str | None) for one in value)
    )


def _spoken(record: dict[str, Any]) -> list[str]:
    """Return the lines of the dialogue, none if the task was not played."""
    dialogues = _field(record, "l2l", list)
    lines = dialogues[0] if dialogues else []
    if not isinstance(lines, list) or not all(isinstance(line, str) for line in lines):
        raise InputError("l2l[0] should be the dialogue, a list of lines")
    return lines


def _fault(path: Path, row: str, message: str, severity: Severity = "error") -> Fault:
    return Fault(str(path), row, 0, "format", message, severity)


def _field(record: dict[str, Any], name: str, kind: type[_T]) -> _T:
    value = record.get(name)
    if not isinstance(value, kind):
        raise InputError(f"field {name!r} should be a {kind.__name__}, is {type(value).__name__}")
    return value


def _background(parts: list[Any]) -> Background:
    if len(parts) != 5 or not all(isinstance(part, str) for part in parts):
        raise InputError("background_splitted should hold five strings")
    role, task, items, skills, scenes = parts
    return Background(role.strip(), task.strip(), _lines(items), _lines(skills), _lines(scenes))


def _lines(text: str) -> tuple[str, ...]:
    return tuple(line.strip() for line in text.splitlines() if line.strip())
