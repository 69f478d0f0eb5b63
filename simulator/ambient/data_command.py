"""`askback stats ambient`, and AmbiEnt's registration for `askback data add`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Final

import typer
from rich.console import Console

from simulator.ambient.data import BUILTIN, Split, load_categories, load_examples
from simulator.ambient.examples import Example
from simulator.ambient.files.dataset import DATASET
from simulator.ambient.files.kinds import TABLES
from simulator.ambient.items import BENCHMARK
from simulator.ambient.prepare import is_new_sentence
from simulator.ambient.reporting.datasets import categories_results, dataset_results, differences, statistics
from simulator.reporting import Report, json_text, print_report
from simulator.runner.options import DataOption, JsonOption
from simulator.tables.registering import Registration

PUBLISHED_FILES: Final = ("ambient_full.jsonl", "dev.jsonl", "test.jsonl")
"""A folder with one of these files counts as the published dataset, and must be complete."""


def _summary(copy: Path) -> Mapping[str, int]:
    examples = load_examples(copy)
    facts = statistics(examples)
    others = Counter(kind.title for kind in TABLES.files_of(copy).values() if kind is not DATASET)
    return {
        **{name: facts[name] for name in ("examples", "dev", "test")},
        "ambiguous": sum(example.ambiguous for example in examples),
        **_distractors(examples),
        **{f"files of {title}": count for title, count in sorted(others.items())},
    }


def _differences(copy: Path) -> tuple[str, ...]:
    published = any(file.name in PUBLISHED_FILES for file in TABLES.files_of(copy))
    return differences(statistics(load_examples(copy))) if published else ()


def _distractors(examples: Sequence[Example]) -> dict[str, int]:
    """Count crowdworkers' examples with a distractor, and those where it is the sentence or a reading."""
    new = [
        is_new_sentence(example, side, example.distractors[side])
        for example in examples
        for side in example.sides
        if example.xor and side in example.distractors
    ]
    return {
        "examples with a distractor": len(new),
        "distractors that repeat the sentence or a reading": new.count(False),
    }


DATA: Final = Registration(
    benchmark=BENCHMARK,
    tables=TABLES,
    required_kind=DATASET,
    missing_message="no valid AmbiEnt example (.jsonl with id, premise, hypothesis, …)",
    count_contents=_summary,
    differences=_differences,
)


def stats_command(
    data: DataOption = BUILTIN,
    split: Annotated[Split, typer.Option(help="split of the data")] = "all",
    as_json: JsonOption = False,
) -> None:
    """Print statistics of AmbiEnt examples: ambiguity, label sets, rewrites, kinds of ambiguity."""
    report = stats_report(data, split)
    if as_json:
        typer.echo(json_text(report))
    else:
        print_report(Console(), report)


def stats_report(data: str | Path, split: Split = "all") -> Report:
    """Return the statistics of examples, and of rows with kinds of ambiguity if there are any.

    Raises:
        InputError: if the data do not exist, are faulty, or have no such split.
    """
    name, examples, records = Path(data).stem, load_examples(data, split), load_categories(data)
    results = [dataset_results(examples, name)]
    if records:
        all_examples = examples if split == "all" else load_examples(data)
        results.append(categories_results(records, all_examples, name=name))
    return Report(title=f"AmbiEnt, {data}", sections=[result.section() for result in results])
