"""The audit of the built-in provider on task types that it was not trained on.

What the committed coefficients were trained on says little about other tasks. So the types are dealt into
folds; for each, the experts are trained on the other folds, published dialogues and labelled questions alike,
and held against those of the fold.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from simulator.clarq.audit import Replayed, compare, replay, replay_rows, report_of
from simulator.clarq.audited import from_labelled, from_published
from simulator.clarq.labelled import Labelled
from simulator.clarq.players.experts_offline import OfflineExperts
from simulator.clarq.ranker import Ranker
from simulator.clarq.reporting.audit_report import AuditReport, Compared, ReplayRow
from simulator.clarq.results import PublishedDialogue, split_runs
from simulator.clarq.training import FOLDS, learn, lessons_of
from simulator.errors import InputError

LOGGED = ", types left out of training, against the published dialogues"
LABELLED = ", types left out of training, against hand-labelled questions"


class LeftOut(NamedTuple):
    """One part of the audit: what it was held against, and what it found."""

    name: str
    source: str
    report: AuditReport
    replay: tuple[ReplayRow, ...]


async def audit_left_out(
    runs: Sequence[Sequence[PublishedDialogue]],
    questions: Sequence[Labelled],
    *,
    replays: bool = True,
) -> tuple[LeftOut, ...]:
    """Audit the dialogues of `runs` and `questions`, each by experts who have not seen its type.

    Raises:
        InputError: if the single-info dialogues are of too few types to leave any out.
    """
    single, several = split_runs(runs)
    folds = sorted({dialogue.task.type % FOLDS for dialogue in single})
    if len(folds) < 2:
        raise InputError(
            "To leave types out, published single-info dialogues over several task types are needed."
        )
    lessons = lessons_of(single, several, questions)
    turns: dict[str, list[Compared]] = {"single": [], "several": [], "questions": []}
    replayed: dict[str, list[Replayed]] = {"single": [], "several": []}
    for fold in folds:
        styles = learn(lessons.only(lambda type, fold=fold: type % FOLDS != fold))  # type: ignore[misc]
        experts = OfflineExperts(Ranker(styles, styles, {}))
        held = {
            name: [from_published(one) for one in group if one.task.type % FOLDS == fold]
            for name, group in (("single", single), ("several", several))
        }
        asked = [one for one in questions if one.situation.task.type % FOLDS == fold]
        held["questions"] = [from_labelled(question) for question in asked]
        for name, group in held.items():
            turns[name] += await compare(experts, group, multi=name == "several")
            if replays and name in replayed:
                replayed[name] += await replay(experts, group, multi=name == "several")
    return tuple(
        LeftOut(
            name,
            LABELLED if name == "questions" else LOGGED,
            report_of(found, OfflineExperts().name, name == "several"),
            replay_rows(replayed[name]) if replayed.get(name) else (),
        )
        for name, found in turns.items()
        if found
    )
