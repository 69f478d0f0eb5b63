"""Content hashes of the built-in items of each benchmark, as the log stores them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from simulator.ambibench.generation import (
    generate_aws,
    generate_evaluation,
    generate_instruction,
    generate_multiple,
    generate_verbalise,
)
from simulator.ambient.data import load_claims, load_examples
from simulator.ambient.prepare import (
    annotate_items,
    claim_items,
    continue_items,
    crowd_items,
    generate_items,
    nli_items,
    true_false_items,
)
from simulator.ambik.data import load_drafts, load_pairs, load_scenarios
from simulator.ambik.selection import calibration_items, draft_items, pair_items, scenario_items
from simulator.clarq.data import load_items
from simulator.handmethat.data import load_tasks
from simulator.handmethat.playing import Posed
from simulator.runner.build import load_machine

DIGITS = 16


def builtin_hashes() -> dict[str, dict[str, str]]:
    """Benchmark -> what, name and language of an item -> the first digits of its hash."""
    return {
        name: {
            f"{what} {row.name}.{row.language}": row.hash[:DIGITS]
            for what, items in sets
            for row in map(load_machine(name).item_row, items)
        }
        for name, sets in _sets()
    }


def _sets() -> Iterator[tuple[str, list[tuple[str, Iterable[Any]]]]]:
    yield "clarq", [("task", [*load_items("builtin", "en"), *load_items("builtin", "zh")])]
    tasks = load_tasks("builtin")
    yield "handmethat", [("task", [Posed(task, language) for task in tasks for language in ("en", "zh")])]
    yield (
        "ambibench",
        [
            ("instruction", generate_instruction(0, "uninformative", per_cell=2)),
            ("informative", generate_instruction(0, "informative", per_cell=2)),
            ("multiple", generate_multiple(0, per_cell=2)),
            ("wug", generate_multiple(0, "wug", per_cell=1)),
            ("evaluation", generate_evaluation(0, "propn_negation", per_cell=2)),
            ("verbalise", generate_verbalise(0, per_cell=1)),
            ("aws", generate_aws(0, per_name=1)),
        ],
    )
    examples = load_examples()
    yield (
        "ambient",
        [
            ("annotate", annotate_items(examples)),
            ("crowd", crowd_items(examples, seed=0)),
            ("true_false", true_false_items(examples)),
            ("generate", generate_items(examples, seed=0)),
            ("continue", continue_items(examples, seed=0)),
            ("nli", nli_items(examples)),
            ("claim", claim_items(load_claims())),
        ],
    )
    pairs = load_pairs()
    yield (
        "ambik",
        [
            ("pair", pair_items(pairs)),
            ("calibration", calibration_items(load_pairs("builtin", "calibration"))),
            ("scenario", scenario_items(load_scenarios())),
            ("draft", draft_items(load_drafts())),
        ],
    )
