"""Runs of the log in the published formats, in the folders that the published results have (spec 11, 13)."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, Final

from logs import LogReader
from simulator.ambient.files.claims import CLAIMS
from simulator.ambient.files.nli import NLI_PREDICTIONS
from simulator.ambient.files.people import CROWD, LINGUISTS
from simulator.ambient.files.results import CONTINUATIONS, GENERATION, TRUE_FALSE
from simulator.ambient.items import GenerateItem, Task
from simulator.ambient.prompts import prompt
from simulator.ambient.reporting.runs import Played
from simulator.ambient.score import score_rows
from simulator.ambient.trial_log import form_lines, played_of
from simulator.jsonlines import write_lines

_PLACES: Final[Mapping[Task, str]] = {
    "crowd": "{name}-crowdworker_annotations.jsonl",
    "evaluate": "{name}-evaluation_annotations.jsonl",
    "annotate": "{name}-linguist_annotations.jsonl",
    "generate": "results/generative_evaluation/{name}-n4.jsonl",
    "true_false": "results/TF_evaluation/{name}.jsonl",
    "continue": "results/continuation_evaluation/{name}/results.jsonl",
    "nli": "results/multilabel/{name}/predictions.jsonl",
    "claim": "results/claims/{name}/results.jsonl",
}
_WITHOUT_FORMS: Final[tuple[Task, ...]] = ("generate", "continue", "nli", "claim")
_WRITERS: Final[Mapping[Task, Callable[[Path, Iterable[Any]], None]]] = {
    "crowd": CROWD.write,
    "evaluate": CROWD.write,
    "annotate": LINGUISTS.write,
    "generate": GENERATION.write,
    "true_false": TRUE_FALSE.write,
    "continue": CONTINUATIONS.write,
    "nli": NLI_PREDICTIONS.write,
    "claim": CLAIMS.write,
}


def export_runs(folder: Path, played: Sequence[Played]) -> list[Path]:
    """Write what was answered in runs; of several runs of one model and task each gets its own file.

    Args:
        folder: is made if it is missing.
        played: the runs, with their records.

    Returns:
        The files.

    Raises:
        InputError: if one cannot be written.
    """
    written: list[Path] = []
    for one in played:
        path = folder / _PLACES[one.task].format(name=_safe(one.name))
        if path in written:
            path = folder / _PLACES[one.task].format(name=_safe(f"{one.name}-{one.run.id}"))
        _WRITERS[one.task](path, one.records)
        written.append(path)
    return written


def write_run_lines(path: Path, reader: LogReader, runs: Sequence[str]) -> int:
    """Write one JSON line per form that was submitted in some runs, then one per item of models' tests.

    Returns:
        How many lines there are.

    Raises:
        InputError: if the file cannot be written, or a run is another benchmark's.
    """
    names = dict.fromkeys(runs)
    forms = chain.from_iterable(form_lines(reader, run) for run in names)
    items = chain.from_iterable(item_lines(reader, run) for run in names)
    lines = [json.dumps(one, ensure_ascii=False) for one in (*forms, *items)]
    write_lines(path, lines)
    return len(lines)


def item_lines(reader: LogReader, run: str) -> Iterator[dict[str, Any]]:
    """An item of a test that fills in no forms: what was asked and said, its scores and settings (spec 13).

    Raises:
        InputError: if the run is another benchmark's.
    """
    version = reader.run(run).config.get("software_version")
    for played in played_of(reader, [run]):
        item, episode = played.item, played.episode
        if item.task not in _WITHOUT_FORMS:
            continue
        said = [{key: one for key, one in turn.payload.items() if key != "kind"} for turn in played.turns]
        asked = (said[0].get("prompt") or prompt(item)) if isinstance(item, GenerateItem) else None
        yield {
            "task": item.task,
            "item_id": item.id,
            "model": played.annotator,
            "prompt": asked,
            "in_context": [shot.id for shot in item.shots] if isinstance(item, GenerateItem) else [],
            "output": [turn.text for turn in played.turns],
            "results": said,
            "scores": {
                score_row.metric: score_row.value for score_row in score_rows(episode.id, item, played.turns)
            },
            "status": played.ending.status,
            "seed": episode.seed,
            "version": version,
        }


def _safe(name: str) -> str:
    """Return a name fit for a file: of ``provider/model`` the signs between become dashes."""
    return "".join(sign if sign.isalnum() or sign in "._-" else "-" for sign in name).strip("-.") or "run"
