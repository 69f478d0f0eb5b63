"""The hand-over to annotation: a file of pairs and a study file for two linguists each (spec 2.2.7, 3)."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

import yaml

from simulator.ambient.examples import Example
from simulator.ambient.files.dataset import write_dataset
from simulator.ambient.playing import ANNOTATOR
from simulator.ambient.rows import BENCHMARK
from simulator.jsonlines import write_lines

PAIRS: Final = "pairs.jsonl"
STUDY: Final = "study.yaml"
JUDGMENTS: Final = 2
SETS: Final = 200
_DIGITS: Final = 8
_HEAD: Final = """\
# New pairs for linguists, {judgments} for each. Made together with {data}.
# Before people are invited: add pay, completion codes and a completion URL, and the study's own texts.
# The path of the data is absolute; change it where the folder moves.
"""


def hand_over(examples: Sequence[Example], folder: Path, *, seed: int) -> tuple[Path, Path]:
    """Write both files.

    Args:
        examples: the pairs; at least one.
        folder: where.
        seed: of the study.

    Returns:
        The file of pairs and the study file.

    Raises:
        InputError: if a file cannot be written.
    """
    pairs, study = folder / PAIRS, folder / STUDY
    write_dataset(pairs, examples)
    write_lines(study, study_text(examples, pairs.resolve(), seed=seed).splitlines())
    return pairs, study


def study_text(examples: Sequence[Example], data: Path, *, seed: int) -> str:
    """A study file; other pairs make another study, which the same people may take part in."""
    digest = sha256("\n".join(one.id for one in examples).encode()).hexdigest()[:_DIGITS]
    settings: dict[str, Any] = {"task": "annotate", "data": str(data), "languages": ["en", "zh"]}
    study = {
        "id": f"{BENCHMARK}-new-{digest}",
        "title": "One pair of sentences, how many readings?",
        "benchmark": BENCHMARK,
        "language": "en",
        "seat": ANNOTATOR,
        "settings": settings,
        "judgments_per_item": JUDGMENTS,
        "sets_per_participant": SETS,
        "exclude": [],
        "seed": seed,
    }
    head = _HEAD.format(judgments=JUDGMENTS, data=data.name)
    return head + yaml.safe_dump(study, sort_keys=False, allow_unicode=True, width=1000)
