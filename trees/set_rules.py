"""The rules about tasks that belong together; `trees.checks.SET_RULES` gives them codes and severities."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from trees.draft import Draft
from trees.faults import TaskError
from trees.model import Language, Task, index_key
from trees.rules import list_fields
from trees.statistics import differences, statistics
from trees.types import TASK_TYPES

_OTHER: dict[Language, Language] = {"en": "zh", "zh": "en"}


class SetFinding(NamedTuple):
    """What a rule over several tasks found."""

    draft: Draft
    place: str
    message: str


def duplicate_id(drafts: Sequence[Draft]) -> Iterator[SetFinding]:
    """Two tasks of one language have one id."""
    seen: dict[tuple[str, str], Draft] = {}
    for draft in drafts:
        first = seen.setdefault((draft.language, draft.id), draft)
        if first is not draft:
            where = f"{first.source}:{first.line}" if first.source else "another task"
            yield SetFinding(draft, "id", f"id {draft.id!r} is taken by {where}")


def missing_translation(drafts: Sequence[Draft]) -> Iterator[SetFinding]:
    """A task exists in one language only, though there are tasks in both."""
    ids = {language: {draft.id for draft in drafts if draft.language == language} for language in _OTHER}
    for draft in drafts:
        other = _OTHER[draft.language]
        if ids[other] and draft.id not in ids[other]:
            yield SetFinding(draft, "id", f"there is no {draft.id!r} in {other!r}")


def structure_differs(drafts: Sequence[Draft]) -> Iterator[SetFinding]:
    """Type, indices or explained responses differ between the languages."""
    yield from _compare(drafts, lambda draft: {"type": draft.type, "indices": _indices(draft)})


def lists_differ(drafts: Sequence[Draft]) -> Iterator[SetFinding]:
    """There are more items, skills or scenes in one language than in the other."""
    yield from _compare(drafts, lambda draft: {key: len(value) for key, value in list_fields(draft)})


def odd_statistics(drafts: Sequence[Draft]) -> Iterator[SetFinding]:
    """All 31 published files of a language are there, but their statistics are not the published ones."""
    for language in _OTHER:
        published = [draft for draft in drafts if draft.kind == "published" and draft.language == language]
        tasks = _tasks(published)
        if len({task.type for task in tasks}) < len(TASK_TYPES):
            continue
        for phrase in differences(statistics(tasks)):
            yield SetFinding(published[0], "", f"statistics of all {language!r} tasks: {phrase}")


def _compare(drafts: Sequence[Draft], view: Callable[[Draft], dict[str, object]]) -> Iterator[SetFinding]:
    english = {draft.id: draft for draft in drafts if draft.language == "en"}
    for draft in drafts:
        other = english.get(draft.id) if draft.language == "zh" else None
        if other is None:
            continue
        here, there = view(draft), view(other)
        for key in here:
            if here[key] != there[key]:
                yield SetFinding(draft, key, f"{key}: {here[key]} here, {there[key]} in English")


def _indices(draft: Draft) -> str:
    return " ".join(sorted((node.index for node in draft.nodes), key=index_key))


def _tasks(drafts: Sequence[Draft]) -> list[Task]:
    """The tasks, or none if one of them is broken."""
    try:
        return [draft.task() for draft in drafts]
    except TaskError:
        return []
