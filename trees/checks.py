"""Checks of task files: all rules for single tasks (`trees.rules`), and the rules for sets of tasks.

The published data have no errors and 46 warnings: three index gaps, in both languages; 17 tasks whose
lists differ in length between Chinese and English (21 lists); 15 responses that follow from a note in the
background (nine say what a skill or place needs, which its note says already: types 14, 30; six
name a piece of music by the number in its note: type 15); and four that say nothing new after the opening
(9.9, 18.0, and 22.5 in both languages).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from trees.faults import Fault, TaskError
from trees.model import TASK_TYPES, Draft, Language, Task, index_key
from trees.rules import LISTS, RULES, Finding, Rule, rule_decorator
from trees.sources import scan, scan_builtin

SET_RULES: Final[list[Rule[Sequence[Draft]]]] = []
_error, _warning = rule_decorator(SET_RULES, "error"), rule_decorator(SET_RULES, "warning")
_OTHER: dict[Language, Language] = {"en": "zh", "zh": "en"}


def check_drafts(drafts: Sequence[Draft]) -> tuple[Fault, ...]:
    """Return all faults in a set of tasks, sorted by file and line."""
    findings: list[tuple[Rule[Any], Draft, Finding]]
    findings = [(rule, draft, finding) for draft in drafts for rule in RULES for finding in rule.find(draft)]
    findings += ((rule, drafts[0], finding) for rule in SET_RULES for finding in rule.find(drafts))
    return tuple(sorted(_fault(rule, finding.draft or draft, finding) for rule, draft, finding in findings))


def _fault(rule: Rule[Any], draft: Draft, finding: Finding) -> Fault:
    line = draft.line_of(finding.place)
    return Fault(draft.source, draft.id, line, rule.code, finding.message, rule.severity)


def check_paths(paths: Iterable[str | Path]) -> tuple[Fault, ...]:
    """Return all faults of the task files in `paths` (files and folders), including unreadable files."""
    result = scan(paths)
    return tuple(sorted(result.faults + check_drafts(result.drafts)))


def check_builtin() -> tuple[Fault, ...]:
    """Return all faults of the built-in tasks.

    Raises:
        TaskError: if a task cannot be read.
    """
    return check_drafts((*scan_builtin("en"), *scan_builtin("zh")))


@_error
def duplicate_id(drafts: Sequence[Draft]) -> Iterator[Finding]:
    """Two tasks in one language share an id."""
    by_id: dict[tuple[str, str], Draft] = {}
    for draft in drafts:
        first = by_id.setdefault((draft.language, draft.id), draft)
        if first is not draft:
            where = f"{first.source}:{first.line}" if first.source else "another task"
            yield Finding("id", f"id {draft.id!r} is taken by {where}", draft)


@_warning
def missing_translation(drafts: Sequence[Draft]) -> Iterator[Finding]:
    """A task exists in one language only, though there are tasks in both."""
    ids = {language: {draft.id for draft in drafts if draft.language == language} for language in _OTHER}
    for draft in drafts:
        other = _OTHER[draft.language]
        if ids[other] and draft.id not in ids[other]:
            yield Finding("id", f"task {draft.id!r} is missing in language {other!r}", draft)


@_error
def structure_differs(drafts: Sequence[Draft]) -> Iterator[Finding]:
    """The type or the indices differ between the languages."""
    yield from _compare(drafts, lambda draft: {"type": draft.type, "indices": _indices(draft)})


@_warning
def lists_differ(drafts: Sequence[Draft]) -> Iterator[Finding]:
    """The number of items, skills or scenes differs between the languages."""
    yield from _compare(drafts, lambda draft: {key: len(getattr(draft.background, key)) for key in LISTS})


@_warning
def statistics(drafts: Sequence[Draft]) -> Iterator[Finding]:
    """All 31 published files of a language are present, but their statistics are not the published ones."""
    for language in _OTHER:
        published = [draft for draft in drafts if draft.kind == "published" and draft.language == language]
        if len({draft.type for draft in published}) == len(TASK_TYPES):
            with suppress(TaskError):  # a broken task is reported by another rule
                for phrase in differences(statistics_of(draft.task() for draft in published)):
                    yield Finding("", f"statistics of all {language!r} tasks: {phrase}", published[0])


def _compare(drafts: Sequence[Draft], view: Callable[[Draft], dict[str, object]]) -> Iterator[Finding]:
    english = {draft.id: view(draft) for draft in drafts if draft.language == "en"}
    for draft in drafts:
        if draft.language == "zh" and (expected := english.get(draft.id)):
            for key, value in view(draft).items():
                if value != expected[key]:
                    yield Finding(key, f"{key}: {value} here, {expected[key]} in English", draft)


def _indices(draft: Draft) -> str:
    return " ".join(sorted((node.index for node in draft.nodes), key=index_key))


@dataclass(frozen=True)
class Statistics:
    """Numbers of tasks: in all, by number of nodes (without the opening), and by depth of the tree."""

    tasks: int
    uncertainties: Mapping[int, int]
    depth: Mapping[int, int]

    def __str__(self) -> str:
        uncertainties, depth = (
            ", ".join(f"{value}:{count}" for value, count in counts.items())
            for counts in (self.uncertainties, self.depth)
        )
        return f"{self.tasks} tasks; uncertainties {uncertainties}; depth {depth}"


PUBLISHED = Statistics(
    tasks=310,
    uncertainties={2: 1, 3: 56, 4: 123, 5: 95, 6: 35},
    depth={1: 166, 2: 124, 3: 18, 4: 2},
)
"""Statistics of the published data, the same in both languages."""


def statistics_of(tasks: Iterable[Task]) -> Statistics:
    """Return the statistics of `tasks`."""
    trees = [task.tree for task in tasks]
    uncertainties = Counter(tree.uncertainties for tree in trees)
    depth = Counter(tree.depth for tree in trees)
    return Statistics(len(trees), dict(sorted(uncertainties.items())), dict(sorted(depth.items())))


def differences(counted: Statistics, expected: Statistics = PUBLISHED) -> Iterator[str]:
    """Yield a phrase for each difference from the expected statistics."""
    if counted.tasks != expected.tasks:
        yield f"{counted.tasks} tasks instead of {expected.tasks}"
    for name, counts, wanted in (
        ("uncertainties", counted.uncertainties, expected.uncertainties),
        ("depth", counted.depth, expected.depth),
    ):
        for value in sorted(counts.keys() | wanted.keys()):
            if counts.get(value, 0) != wanted.get(value, 0):
                yield f"{name} {value}: {counts.get(value, 0)} tasks instead of {wanted.get(value, 0)}"
