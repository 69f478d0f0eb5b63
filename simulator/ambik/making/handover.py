"""The hand-over to annotators: scenes, drafts, what was dropped, a study for two each (spec 11)."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from hashlib import sha256
from pathlib import Path
from typing import Any, Final, NamedTuple

import yaml

from simulator.ambik.making.drafting import Made
from simulator.ambik.making.scenes import Scene, scene_record
from simulator.ambik.playing import ANNOTATOR
from simulator.ambik.rows import BENCHMARK, draft_record
from simulator.jsonlines import write_lines

SCENES: Final = "scenes.jsonl"
DRAFTS: Final = "drafts.jsonl"
DROPPED: Final = "dropped.jsonl"
STUDY: Final = "study.yaml"
JUDGMENTS: Final = 2
SETS: Final = 50
_DIGITS: Final = 8
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
    _write(dropped, (asdict(one) for scene in made for one in scene.dropped))
    good = [one for one in made if one.draft is not None]
    if not good:
        for path in (drafts, study):
            path.unlink(missing_ok=True)
        return Handed(None, None, dropped)
    records = [draft_line(one, model) for one in good]
    _write(drafts, records)
    write_lines(study, study_text(records, drafts.resolve(), seed=seed).splitlines())
    return Handed(drafts, study, dropped)


def draft_line(made: Made, model: str) -> dict[str, Any]:
    """A draft as a JSON object: `rows.draft_record`, and where it comes from.

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


def study_text(records: Sequence[Mapping[str, Any]], data: Path, *, seed: int) -> str:
    """A study file; other drafts make another study, which the same people may take part in."""
    content = json.dumps(records, ensure_ascii=False, sort_keys=True)
    study = {
        "id": f"{BENCHMARK}-new-{sha256(content.encode()).hexdigest()[:_DIGITS]}",
        "title": "Two tasks for a kitchen robot, one of them unclear",
        "benchmark": BENCHMARK,
        "language": "en",
        "seat": ANNOTATOR,
        "settings": {"task": "annotate", "data": str(data), "languages": ["en", "zh"]},
        "judgments_per_item": JUDGMENTS,
        "sets_per_participant": SETS,
        "exclude": [],
        "seed": seed,
    }
    head = _HEAD.format(judgments=JUDGMENTS, data=data.name)
    return head + yaml.safe_dump(study, sort_keys=False, allow_unicode=True, width=1000)


def _write(path: Path, records: Iterable[Mapping[str, Any]]) -> None:
    write_lines(path, (json.dumps(record, ensure_ascii=False) for record in records))
