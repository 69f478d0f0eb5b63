"""Short questions as people type them, with the answers of a careful person.

The questions stand in `short_questions.en.yaml` and `short_questions.zh.yaml`; the comment there says how.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from simulator.clarq import provider
from simulator.clarq.experts import Experts, Situation
from simulator.seats import Line
from trees import Frontier, Language, Task
from trees.sources import load_builtin

NONE = "none"
HALVES = ("dev", "held")
# The difficulties of questions. No node answers those in `REFUSED`.
ANSWERED = ("plain", "plural", "ellipsis", "typo", "paraphrase", "yes or no", "follow-up")
REFUSED = ("unanswerable", "wrong attribute", "repeat", "small talk", "off-topic")
KINDS = (*ANSWERED, *REFUSED)
LONGEST = {"en": 8, "zh": 16}  # words; characters
_GREETING = {
    "en": ("What can I help you with?", "What do I have to do?"),
    "zh": ("有什么可以帮助你？", "我该怎么做？"),
}
_FIELDS = {"kind", "half", "said", "answers"}


@dataclass(frozen=True, slots=True)
class Question:
    """A question in the dialogue where it is asked.

    Attributes:
        task: the built-in task that it is about.
        kind: one of `KINDS`.
        half: one of `HALVES`.
        after: nodes given before, each with what the seeker had asked for it.
        text: the question.
        answers: nodes any of which would do; `NONE` if giving none would.
    """

    task: Task
    kind: str
    half: str
    after: tuple[tuple[str, str], ...]
    text: str
    answers: frozenset[str]

    @property
    def frontier(self) -> Frontier:
        """The position of the dialogue in its tree."""
        frontier = Frontier(self.task.tree).open()
        for node, _ in self.after:
            frontier = frontier.give([node])
        return frontier

    @property
    def situation(self) -> Situation:
        """The situation of the experts."""
        greeting, opens = _GREETING[self.task.language]
        lines = [("provider", greeting), ("seeker", opens), ("provider", self.task.tree.opening)]
        for node, asked in self.after:
            lines += [("seeker", asked), ("provider", self.task.tree.by_index[node].text)]
        lines.append(("seeker", self.text))
        return Situation(
            task=self.task,
            lines=tuple(Line(*line) for line in lines),
            frontier=self.frontier,
            number=len(lines),
        )


async def answer(experts: Experts, question: Question) -> str:
    """The node that `experts` give, as the single-info provider, or `NONE`."""
    situation = question.situation
    decision = await provider.classify(experts, situation)
    if decision.walking:
        decision = await provider.walk(experts, situation, decision, multi=False)
    return decision.give[0] if decision.give else NONE


def load_questions(language: Language, path: Path | None = None) -> tuple[Question, ...]:
    """All questions in `language`, those beside this module unless a `path` is named.

    Raises:
        ValueError: if one does not fit its task; the message names them all.
    """
    path = path or Path(__file__).with_name(f"short_questions.{language}.yaml")
    tasks = {task.id: task for task in load_builtin(language)}
    read: dict[tuple[str, object, str], Question] = {}
    faults: list[str] = []
    for name, entry in _entries(yaml.safe_load(path.read_text(encoding="utf-8"))):
        where = f"{path.name}, {name}, {entry.get('said')!r}"
        wrong = [f"no task {name!r}"] if name not in tasks else _faults(entry, tasks[name])
        if not wrong:
            question = _question(entry, tasks[name])
            key = (name, question.after, question.text.lower())
            wrong = ["stands there twice"] if key in read else []
            read[key] = question
        faults += [f"{where}: {fault}" for fault in wrong]
    if faults:
        raise ValueError("\n".join(faults))
    return tuple(read.values())


def _entries(groups: Mapping[str, Sequence[Mapping[str, Any]]]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for name, entries in groups.items():
        for entry in entries:
            yield name, entry


def _question(entry: Mapping[str, Any], task: Task) -> Question:
    after = tuple((node, asked) for node, asked in entry.get("after", {}).items())
    return Question(task, entry["kind"], entry["half"], after, entry["said"], frozenset(entry["answers"]))


def _faults(entry: Mapping[str, Any], task: Task) -> list[str]:
    """Describe the fault of an entry."""
    if missing := _FIELDS - entry.keys():
        return [f"has no {', '.join(sorted(missing))}"]
    faults = []
    if unknown := entry.keys() - _FIELDS - {"after"}:
        faults.append(f"has an unknown field {', '.join(sorted(unknown))}")
    if entry["kind"] not in KINDS:
        faults.append(f"kind {entry['kind']!r} is none of {', '.join(KINDS)}")
    if entry["half"] not in HALVES:
        faults.append(f"half {entry['half']!r} is neither dev nor held")
    length = len(entry["said"].split()) if task.language == "en" else len(re.findall(r"\w", entry["said"]))
    if not 0 < length <= LONGEST[task.language]:
        faults.append(f"is {length} long, of {LONGEST[task.language]} at most")
    try:
        question = _question(entry, task)
        available = {node.index for node in question.frontier.available}
    except ValueError as error:
        return [*faults, f"after: {error}"]
    if not question.answers:
        faults.append("has no answer")
    if never := question.answers - available - {NONE}:
        faults.append(f"node {', '.join(sorted(never))} is not available then")
    if (question.answers == {NONE}) != (question.kind in REFUSED):
        faults.append(f"kind {question.kind!r} does not go with these answers")
    return faults
