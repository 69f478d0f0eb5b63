"""Sections on the dataset, kinds of ambiguity and cases of EDIT-F1 (spec 1.2, 1.3, 6.4)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from simulator.ambient import published
from simulator.ambient.examples import Example
from simulator.ambient.files.dataset import CategoryRecord
from simulator.ambient.files.results import EditCase
from simulator.ambient.labels import LABEL_SETS, format_labels, letters
from simulator.ambient.merging import Merged, merge
from simulator.ambient.reporting.measures import Measure, Section
from simulator.ambient.reporting.paper import paper
from simulator.ambient.rows import SPLITS
from simulator.ambient.statistics import Statistics, category_statistics, statistics
from simulator.ambient.stats_command import remarks
from simulator.figures import Column, Table
from simulator.jsonlines import Read
from trees.faults import Fault

_COUNTS: Final[Mapping[str, str]] = {
    "dev": "in the split dev",
    "test": "in the split test",
    "curated": "curated (the id ends in _c)",
    "generated": "generated (it does not)",
    "unlabelled": "not annotated",
}
_SHARES: Final[Mapping[str, tuple[str, str]]] = {
    "ambiguous": ("a side is flagged", "examples"),
    "several_labels": ("more than one label", "examples"),
    "premise": ("the premise is flagged", "ambiguous"),
    "hypothesis": ("the hypothesis is flagged", "ambiguous"),
    "both": ("both are flagged", "ambiguous"),
    "one_side": ("exactly one is flagged", "ambiguous"),
    "two_rewrites": ("exactly two distinct rewrites", "flagged sentences"),
    "two_disambiguations": ("exactly two disambiguations", "ambiguous"),
}
_WORDS: Final[Mapping[str, tuple[str, str]]] = {
    "extra_words": ("words more in a rewrite", "rewrites"),
    "extra_words_distinct": ("likewise, each distinct one once", "rewrites"),
}


def dataset_section(reads: Mapping[Path, Read[Example]], name: str) -> tuple[Section, tuple[Fault, ...]]:
    """Return what is told of the files of one dataset, and where they contradict each other."""
    merged = merge(reads)
    found = statistics(tuple(merged.examples.values()))
    known = not published.differences(found)
    section = Section(
        kind="dataset",
        name=name,
        title=f"Dataset {name}",
        files=tuple(map(str, reads)),
        rows=found.examples,
        left_out=sum(len(read.faults) for read in reads.values()),
        measures=tuple(_measures(found, known)),
        remarks=tuple(remarks(found)),
        tables={"label_sets": _sets_table(found, known)},
        data=_data(found, merged),
    )
    return section, merged.faults


def categories_section(
    records: Sequence[CategoryRecord], examples: Sequence[Example], file: str, left_out: int
) -> Section:
    """Return what is told of rows with kinds of ambiguity."""
    found = category_statistics(records, examples)
    known = found.rows == published.CATEGORY_ROWS and found.mentions == published.MENTIONS
    of = f"mentions in {found.rows} rows"
    measures = [
        Measure(
            kind, kind, share, of=of, n=found.mentions, paper=published.CATEGORIES[kind] if known else None
        )
        for kind, share in found.shares.items()
    ]
    there = None if not examples else found.in_dataset
    measures.append(
        Measure(
            "in_dataset",
            "pairs in the dataset word for word",
            there,
            "count",
            "rows",
            found.rows,
            note="" if examples else "no dataset to look in (name one with --data)",
        )
    )
    return Section(
        kind="categories",
        name=Path(file).stem,
        title="Kinds of ambiguity",
        files=(file,),
        rows=found.rows,
        left_out=left_out,
        measures=tuple(measures),
        remarks=(f"{found.not_whole} rows are not whole",) if found.not_whole else (),
        data={"counts": dict(found.counts), "mentions": found.mentions},
    )


def edit_cases_section(read: Read[EditCase], file: str) -> Section:
    """Return how many cases of EDIT-F1 come out as they should; those that do not are faults of the file."""
    total = len(read.rows) + len(read.faults)
    equal = Measure("equal", "cases that come out as they say", len(read.rows), "count", "cases", total)
    return Section(
        kind="edit_f1_cases",
        name=Path(file).stem,
        title="Cases of EDIT-F1",
        files=(file,),
        rows=len(read.rows),
        left_out=len(read.faults),
        measures=(equal,),
        remarks=(f"{len(read.rows)} of {total} equal",),
        data={"computed": [case.edit_f1 for case in read.rows]},
    )


def _measures(statistics: Statistics, known: bool) -> list[Measure]:
    def count(key: str, title: str, value: int, printed: int | None) -> Measure:
        return Measure(key, title, value, "count", paper=printed if known else None)

    made = [count("examples", "examples", statistics.examples, published.EXAMPLES["examples"])]
    # Whether an id ends in _c tells something where any does.
    shown = {
        key: title
        for key, title in _COUNTS.items()
        if statistics.curated or key not in ("curated", "generated")
    }
    made += [
        count(key, title, getattr(statistics, key), published.EXAMPLES[key])
        for key, title in shown.items()
        if getattr(statistics, key)
    ]
    if statistics.ambiguous is not None:
        number = round(statistics.ambiguous.value * statistics.ambiguous.n)
        made.append(count("number_ambiguous", "ambiguous", number, published.COUNTS["ambiguous"][0]))
    made += [
        count(f"ambiguous_{split}", f"ambiguous in {split}", number, published.AMBIGUOUS_IN.get(split))
        for split, number in sorted(statistics.ambiguous_in.items())
    ]
    notes = paper()["dataset_notes"]
    for key, (title, of) in _SHARES.items():
        printed = published.SHARES.get(key) if known else None
        said = notes.get(key, "") if printed is not None else ""
        made.append(Measure(key, title, getattr(statistics, key), of=of, paper=printed, note=said))
    for key, (title, of) in _WORDS.items():
        printed = published.EXTRA_WORDS if known and key == "extra_words" else None
        made.append(Measure(key, title, getattr(statistics, key), "", of, paper=printed))
    return made


def _sets_table(statistics: Statistics, known: bool) -> Table:
    columns: list[Column | str] = ["label set", Column("examples", 0), Column("%", 1)]
    total = sum(statistics.label_sets.values())
    rows = [
        [
            letters(labels),
            statistics.label_sets[labels],
            100 * statistics.label_sets[labels] / total if total else None,
        ]
        for labels in LABEL_SETS
    ]
    if known:
        columns.append(Column("paper", 0))
        rows = [[*row, published.LABEL_SETS[str(row[0])]] for row in rows]
    return Table(columns, rows, "Label sets (Fig. 3)")


def _data(statistics: Statistics, merged: Merged) -> dict[str, object]:
    examples, faults = merged.examples, merged.faults
    held = [set(merged.splits[split]) for split in SPLITS]
    return {
        "published": not published.differences(statistics),
        "label_sets": {format_labels(labels): count for labels, count in statistics.label_sets.items()},
        "rewrites": {str(size): count for size, count in statistics.rewrites.items()},
        "disambiguations": {str(size): count for size, count in statistics.disambiguations.items()},
        "labels_differ": list(statistics.labels_differ),
        "several_of_one_label": list(statistics.several),
        "faulty": list(statistics.faulty),
        "ids": {"text": statistics.examples - statistics.numbered, "number": statistics.numbered},
        "splits": {
            "in_both": len(held[0] & held[1]) + sum(fault.code == "split" for fault in faults),
            "in_neither": statistics.examples - len(held[0] | held[1]),
        },
        "rows_that_differ": [fault.task for fault in faults if fault.code == "differs"],
        "unambiguous_with_disambiguations": sum(
            not example.ambiguous and bool(example.disambiguations) for example in examples.values()
        ),
    }
