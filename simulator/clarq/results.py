"""Published results files of ClarQ-LLM: tasks together with the dialogues that were held on them.

A file is a list of task types, each a list of tasks as in the data files, with `gold_structure` (the tree
indices) and the dialogue in ``l2l[0]``: alternating lines, provider first (spec section 2).
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from simulator.clarq.compose import contains, strip_speaker
from simulator.errors import InputError
from simulator.seats import Line
from trees import Background, Frontier, Node, Task, Tree

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


def load_results(path: str | Path) -> tuple[PublishedDialogue, ...]:
    """Read a published results file.

    Raises:
        InputError: if the file cannot be read or is not of that form; names file, type, task and field.
    """
    path = Path(path)
    try:
        types = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror})") from error
    except ValueError as error:
        raise InputError(f"{path}: is not JSON ({error}); expected a ClarQ-LLM results file") from error
    if not isinstance(types, list) or not all(isinstance(tasks, list) for tasks in types):
        raise InputError(f"{path}: expected a list of task types, each a list of tasks")
    return tuple(
        _dialogue(record, number, position, path)
        for number, tasks in enumerate(types, start=1)
        for position, record in enumerate(tasks)
    )


def file_digest(path: str | Path) -> str:
    """SHA-256 of a file's bytes, in hex.

    Raises:
        InputError: if it cannot be read.
    """
    try:
        return hashlib.sha256(Path(path).read_bytes()).hexdigest()
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror})") from error


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
    """The provider's lines after the greeting, what each gave read off by containment (spec section 7).

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


def _dialogue(record: Any, number: int, position: int, path: Path) -> PublishedDialogue:
    place = f"{path}: type {number}, task {position}"
    if not isinstance(record, dict):
        raise InputError(f"{place}: expected an object")
    texts = [strip_speaker(line) for line in _field(record, "all_response", str, place).splitlines()]
    indices = _field(record, "gold_structure", list, place)
    if len(texts) != len(indices) + 1:
        raise InputError(
            f"{place}: all_response has {len(texts)} lines, gold_structure {len(indices)} indices; "
            "expected one line more than indices"
        )
    explanations = record.get("all_response_exaplain") or [None] * len(indices)
    if len(explanations) != len(indices):
        raise InputError(
            f"{place}: all_response_exaplain has {len(explanations)} entries, not {len(indices)}"
        )
    nodes = map(Node, indices, texts[1:], explanations)
    try:
        tree = Tree(texts[0], tuple(nodes))
    except ValueError as error:
        raise InputError(f"{place}: gold_structure: {error}") from error
    dialogues = _field(record, "l2l", list, place)
    if not dialogues or not all(isinstance(line, str) for line in dialogues[0]):
        raise InputError(f"{place}: l2l[0] should be the dialogue, a list of lines")
    task = Task(
        id=f"{number}.{position}",
        type=number,
        language="zh" if _CHINESE.search(texts[0]) else "en",
        background=_background(_field(record, "background_splitted", list, place), place),
        tree=tree,
        prompt=record.get("background"),
        source=str(path),
    )
    lines = tuple(
        Line("seeker", line.strip()) if turn % 2 else Line("provider", strip_speaker(line))
        for turn, line in enumerate(dialogues[0])
    )
    return PublishedDialogue(task, lines, str(path))


def _field(record: dict[str, Any], name: str, kind: type[_T], place: str) -> _T:
    value = record.get(name)
    if not isinstance(value, kind):
        raise InputError(f"{place}: field {name!r} should be a {kind.__name__}, is {type(value).__name__}")
    return value


def _background(parts: list[Any], place: str) -> Background:
    if len(parts) != 5 or not all(isinstance(part, str) for part in parts):
        raise InputError(f"{place}: background_splitted should hold five strings")
    role, task, items, skills, scenes = parts
    return Background(role.strip(), task.strip(), _lines(items), _lines(skills), _lines(scenes))


def _lines(text: str) -> tuple[str, ...]:
    return tuple(line.strip() for line in text.splitlines() if line.strip())
