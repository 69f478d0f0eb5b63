"""The hand-over to annotators: scenes, drafts, what was dropped, a study for two each (spec 11)."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final, NamedTuple

from simulator.ambik.making.drafting import Made
from simulator.ambik.making.scenes import Scene, scene_record
from simulator.ambik.rows import BENCHMARK, draft_record
from simulator.generation import write_study
from simulator.jsonlines import write_lines

SCENES: Final = "scenes.jsonl"
DRAFTS: Final = "drafts.jsonl"
DROPPED: Final = "dropped.jsonl"
STUDY: Final = "study.yaml"
SETS: Final = 50
_HEAD: Final = """\
# New pairs of tasks, {judgments} annotators for each draft. Made together with {data}.
# Before people are invited: add pay (a draft takes 3 to 4 minutes), completion codes and a completion URL,
# and the study's own texts. The path of the data is absolute; change it where the folder moves.
"""


class Handed(NamedTuple):
    """The files that were written; no drafts and no study where no draft was made."""

    drafts: Path | None
    study: Path | None
    dropped: Path


def write_scenes(scenes: Iterable[Scene], folder: Path) -> Path:
    """Write the scenes alone.

    Raises:
        InputError: if the file cannot be written.
    """
    path = folder / SCENES
    _write(path, map(scene_record, scenes))
    return path


def hand_over(made: Sequence[Made], folder: Path, *, model: str, seed: int) -> Handed:
    """Write what annotators need, and what was dropped on the way.

    Args:
        made: scene by scene.
        folder: where.
        model: who wrote the drafts.
        seed: of the study.

    Raises:
        InputError: if a file cannot be written.
    """
    dropped, drafts, study = folder / DROPPED, folder / DRAFTS, folder / STUDY
    _write(dropped, (asdict(task) for scene in made for task in scene.dropped))
    good = [scene for scene in made if scene.draft is not None]
    if not good:
        for path in (drafts, study):
            path.unlink(missing_ok=True)
        return Handed(None, None, dropped)
    records = [draft_line(scene, model) for scene in good]
    _write(drafts, records)
    write_study(
        study,
        head=_HEAD,
        title="Two tasks for a kitchen robot, one of them unclear",
        benchmark=BENCHMARK,
        data=drafts,
        content=json.dumps(records, ensure_ascii=False, sort_keys=True),
        sets=SETS,
        seed=seed,
    )
    return Handed(drafts, study, dropped)


def draft_line(made: Made, model: str) -> dict[str, Any]:
    """Return a draft as a JSON object: `rows.draft_record`, and where it comes from.

    Raises:
        ValueError: if there is no draft.
    """
    if made.draft is None:
        raise ValueError(f"{made.scene}: no draft")
    return {
        **draft_record(made.draft),
        "step": made.step,
        "rewritten": made.rewritten,
        "plan_names": list(made.plan_names),
        "model": model,
    }


def _write(path: Path, records: Iterable[Mapping[str, Any]]) -> None:
    write_lines(path, (json.dumps(record, ensure_ascii=False) for record in records))
