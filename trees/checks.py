"""Everything that can be wrong with tasks, one small rule each; `RULES` and `SET_RULES` list them.

``error``: the task cannot be played, or not fairly. ``warning``: worth a look.

The published data have no errors and 46 warnings: the three index gaps, in both languages; 17 tasks whose
lists have other lengths in Chinese than in English (21 lists); 15 responses that follow from a note in the
background (nine of them say what a skill or place needs, which stands behind its name: types 14, 30; six
name a piece of music by the number in its note: type 15); and four that say nothing new after the opening
(9.9, 18.0, and 22.5 in both languages).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from trees import rules, set_rules
from trees.builtin import scan_builtin
from trees.draft import Draft, draft_of
from trees.faults import Fault, Severity
from trees.model import Task
from trees.rules import Finding
from trees.set_rules import SetFinding
from trees.sources import scan


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule about one task.

    Attributes:
        code: how faults and people name it.
        severity: of its faults.
        find: the rule.
    """

    code: str
    severity: Severity
    find: Callable[[Draft], Iterator[Finding]]


@dataclass(frozen=True, slots=True)
class SetRule:
    """A rule about tasks that belong together."""

    code: str
    severity: Severity
    find: Callable[[Sequence[Draft]], Iterator[SetFinding]]


RULES: tuple[Rule, ...] = (
    Rule("unknown-type", "error", rules.unknown_type),
    Rule("duplicate-index", "error", rules.duplicate_index),
    Rule("orphan-index", "error", rules.orphan_index),
    Rule("index-gap", "warning", rules.index_gap),
    Rule("empty-text", "error", rules.empty_text),
    Rule("missing-explanation", "error", rules.missing_explanation),
    Rule("speaker-prefix", "error", rules.speaker_prefix),
    Rule("repeated-text", "error", rules.repeated_text),
    Rule("text-in-background", "error", rules.text_in_background),
    Rule("answer-in-opening", "warning", rules.answer_in_opening),
    Rule("answer-in-background", "warning", rules.answer_in_background),
    Rule("repeated-entry", "warning", rules.repeated_entry),
    Rule("wrong-language", "error", rules.wrong_language),
    Rule("tree-size", "warning", rules.tree_size),
)
SET_RULES: tuple[SetRule, ...] = (
    SetRule("duplicate-id", "error", set_rules.duplicate_id),
    SetRule("missing-translation", "warning", set_rules.missing_translation),
    SetRule("structure-differs", "error", set_rules.structure_differs),
    SetRule("lists-differ", "warning", set_rules.lists_differ),
    SetRule("statistics", "warning", set_rules.odd_statistics),
)


def check_drafts(drafts: Sequence[Draft]) -> tuple[Fault, ...]:
    """All faults of tasks that belong together, by file and line."""
    faults = [
        _fault(draft, rule, finding.place, finding.message)
        for draft in drafts
        for rule in RULES
        for finding in rule.find(draft)
    ]
    faults += [
        _fault(finding.draft, rule, finding.place, finding.message)
        for rule in SET_RULES
        for finding in rule.find(drafts)
    ]
    return tuple(sorted(faults))


def check_tasks(tasks: Iterable[Task]) -> tuple[Fault, ...]:
    """All faults of tasks in memory; lines are unknown."""
    return check_drafts([draft_of(task) for task in tasks])


def check_paths(paths: Iterable[str | Path]) -> tuple[Fault, ...]:
    """All faults of the task files in `paths` (files and folders), unreadable files included."""
    found = scan(paths)
    return tuple(sorted(found.faults + check_drafts(found.drafts)))


def check_builtin() -> tuple[Fault, ...]:
    """All faults of the built-in tasks.

    Raises:
        TaskError: if one cannot be read.
    """
    return check_drafts((*scan_builtin("en"), *scan_builtin("zh")))


def _fault(draft: Draft, rule: Rule | SetRule, place: str, message: str) -> Fault:
    return Fault(draft.source, draft.id, draft.where(place), rule.code, message, rule.severity)
