"""Results on files without answers: examples, kinds of ambiguity, EDIT-F1 cases (spec 1, 6.4).

Statistics follow spec 1.2 and 1.3 (paper 2.3, Fig. 3). Shares are fractions of 1 with a 95 % percentile
bootstrap interval over examples; `Interval.n` is the denominator, and a share of nothing is None. Pairs
without annotation are not counted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from simulator import datasets
from simulator.ambient.data import load_guidelines, read_examples
from simulator.ambient.examples import Example, findings, list_names, published_id
from simulator.ambient.files.dataset import DATASET, CategoryRecord
from simulator.ambient.files.kinds import TABLES, Merged
from simulator.ambient.files.results import EditCase
from simulator.ambient.intervals import Count, Values, clustered_interval, mean_interval
from simulator.ambient.items import BENCHMARK, SPLITS
from simulator.ambient.labels import CATEGORIES, LABEL_SETS, LabelSet, format_labels, letters
from simulator.ambient.reporting.measures import Results, paper, string_keys
from simulator.figures import Cell, Column, Table
from simulator.jsonlines import Read
from simulator.stats import Interval

# The number of folders above a results file that are searched for the dataset.
_ABOVE: Final = 3
_NAMED: Final = 10
_NAMES: Final = ("ambient_full.jsonl", "test.jsonl", "dev.jsonl")
_COUNTS: Final = ("dev", "test", "curated", "generated", "unlabelled")
_SHARES: Final = ("ambiguous", "several_labels", "premise", "hypothesis", "both", "one_side")
_REWRITES: Final = ("two_rewrites", "two_disambiguations", "extra_words", "extra_words_distinct")


def examples_of_results(
    data: str | None, results: Sequence[Path], dataset: Sequence[Path] = ()
) -> tuple[Example, ...]:
    """Return the valid examples of the results' dataset; empty if no dataset is found (spec 11).

    Args:
        data: a name or path; None to search for the dataset.
        results: results files, in whose folders and the three above each the dataset is searched.
        dataset: files of the dataset, which take precedence; for several files their folder is used.

    Raises:
        InputError: if `data` does not exist.
    """
    source: str | Path | None = data if data is not None else _find_dataset(results, dataset)
    return () if source is None else read_examples(source).examples


def _find_dataset(results: Sequence[Path], dataset: Sequence[Path]) -> str | Path | None:
    if dataset:
        # The folder also contains splits and kinds of ambiguity in separate files.
        first = dataset[0]
        return first.parent if sum(file.parent == first.parent for file in dataset) > 1 else first
    above = (folder for file in results for folder in file.resolve().parents[: _ABOVE + 1])
    for folder in dict.fromkeys(above):
        files = (folder / name for name in _NAMES)
        if any(file.is_file() and TABLES.kind_of(file) is DATASET for file in files):
            return folder
    registered = datasets.find(BENCHMARK)
    return BENCHMARK if registered is not None and registered.benchmark == BENCHMARK else None


def dataset_results(
    examples: Sequence[Example],
    name: str,
    *,
    merged: Merged | None = None,
    files: Sequence[str] = (),
    left_out: int = 0,
) -> Results:
    """Return the results on examples, with the paper's figures for the published dataset."""
    facts = statistics(examples)
    published, figures = not differences(facts), paper()["dataset"]
    # The suffix _c of ids is only meaningful if some have it.
    shown = (key for key in _COUNTS if facts["curated"] or key not in ("curated", "generated"))
    values = {"examples": facts["examples"], **{key: facts[key] for key in shown if facts[key]}}
    if facts["ambiguous"] is not None:
        values["number_ambiguous"] = round(facts["ambiguous"].value * facts["ambiguous"].n)
    values |= {f"ambiguous_{split}": number for split, number in facts["ambiguous_in"].items()}
    values |= {key: facts[key] for key in (*_SHARES, *_REWRITES)}
    printed: dict[str, float] = {**figures["counts"], **figures["shares"]}
    printed |= {f"ambiguous_{split}": number for split, number in figures["ambiguous_in"].items()}
    printed |= {"number_ambiguous": figures["parts"]["ambiguous"][0], "extra_words": figures["extra_words"]}
    notes = paper()["dataset_notes"]
    results = Results(kind="dataset", name=name, records=examples, files=tuple(files), left_out=left_out)
    return results.measured(
        values,
        paper=printed if published else {},
        notes=notes if published else {},
        remarks=_dataset_remarks(facts),
        tables={"label_sets": _sets_table(facts["label_sets"], published)},
        data={
            "published": published,
            "statistics": {**facts, "label_sets": named_sets(facts["label_sets"])},
            "label_sets": {format_labels(labels): count for labels, count in facts["label_sets"].items()},
            "rewrites": string_keys(facts["rewrites"]),
            "disambiguations": string_keys(facts["disambiguations"]),
            "labels_differ": facts["labels_differ"],
            "several_of_one_label": facts["several"],
            "faulty": facts["faulty"],
            "ids": {"text": facts["examples"] - facts["numbered"], "number": facts["numbered"]},
            "unambiguous_with_disambiguations": sum(
                not example.ambiguous and bool(example.disambiguations) for example in examples
            ),
            **({} if merged is None else _file_differences(merged)),
        },
    )


def differences(facts: Values) -> tuple[str, ...]:
    """Return the differences of a dataset's numbers from the published ones; empty if there are none."""
    published = paper()["dataset"]
    pairs: dict[str, tuple[object, object]] = {
        **{name: (facts[name], count) for name, count in published["counts"].items()},
        "ambiguous in": (dict(sorted(facts["ambiguous_in"].items())), published["ambiguous_in"]),
        "label sets": (named_sets(facts["label_sets"]), published["label_sets"]),
        **{
            name.replace("_", " "): (_part(facts[name]), f"{part} of {total}")
            for name, (part, total) in published["parts"].items()
        },
    }
    return tuple(
        f"{name}: {actual}, not {expected}"
        for name, (actual, expected) in pairs.items()
        if actual != expected
    )


def named_sets(counts: Mapping[LabelSet, int]) -> dict[str, int]:
    """Return counts of label sets by their letters, single labels first."""
    return {letters(labels): count for labels, count in counts.items()}


def _part(share: Share) -> str:
    return "none" if share is None else f"{round(share.value * share.n)} of {share.n}"


def _file_differences(merged: Merged) -> dict[str, Any]:
    """Return how the files of a dataset cover each other, and the rows in which they differ."""
    dev, test = (set(merged.splits[split]) for split in SPLITS)
    return {
        "splits": {
            "in_both": len(dev & test) + sum(fault.code == "split" for fault in merged.faults),
            "in_neither": len(merged.examples) - len(dev | test),
        },
        "rows_that_differ": [fault.task for fault in merged.faults if fault.code == "differs"],
    }


def _dataset_remarks(facts: Values) -> tuple[str, ...]:
    """Return remarks on examples that deserve a look."""
    remarks = {
        "several": "several disambiguations of one label",
        "labels_differ": "labels that differ from those of the disambiguations",
        "faulty": "contradicting themselves (for details: `askback check`)",
    }
    return tuple(f"{text}: {list_names(facts[key], _NAMED)}" for key, text in remarks.items() if facts[key])


def _sets_table(counts: Mapping[LabelSet, int], published: bool) -> Table:
    total, printed = sum(counts.values()), paper()["dataset"]["label_sets"]
    rows: list[list[Cell]] = [
        [name, count, 100 * count / total if total else None, *([printed[name]] if published else [])]
        for name, count in named_sets(counts).items()
    ]
    columns = (Column("examples", 0), Column("%", 1), *([Column("paper", 0)] if published else []))
    return Table(["label set", *columns], rows, "Label sets (Fig. 3)")


def categories_results(
    records: Sequence[CategoryRecord],
    examples: Sequence[Example],
    *,
    name: str,
    files: Sequence[str] = (),
    left_out: int = 0,
) -> Results:
    """Return the results on rows with kinds of ambiguity."""
    facts = category_statistics(records, examples)
    figures, mentions = paper()["categories"], facts["mentions"]
    published = (facts["rows"], mentions) == (figures["rows"], figures["mentions"])
    printed: dict[str, float] = figures["shares"] if published else {}
    rows: list[list[Cell]] = [
        [
            kind,
            facts["counts"][kind],
            None if share is None else share.times(100),
            *([printed[kind]] if published else []),
        ]
        for kind, share in facts["shares"].items()
    ]
    columns = (Column("mentions", 0), Column("%", 1), *([Column("paper", 1)] if published else []))
    title = f"Kinds of ambiguity, % of {mentions} mentions in {facts['rows']} examples"
    shares = {kind: Count(None, 0) if share is None else share for kind, share in facts["shares"].items()}
    word_for_word = f"{facts['in_dataset']} pairs are in the dataset word for word"
    results = Results(
        kind="categories", name=name, records=records, files=tuple(files), left_out=left_out, listed=False
    )
    return results.measured(
        {**shares, "in_dataset": Count(facts["in_dataset"] if examples else None, facts["rows"])},
        paper=printed,
        notes={"in_dataset": "" if examples else "no dataset to search (name one with --data)"},
        rows=facts["rows"],
        remarks=(
            *([word_for_word] if examples else []),
            *([f"{facts['not_whole']} rows are incomplete"] if facts["not_whole"] else []),
        ),
        tables={"kinds": Table(["kind", *columns], rows, title)},
        data={"counts": facts["counts"], "mentions": mentions, "statistics": facts},
    )


def kinds_table(categories: Results | None) -> Table | None:
    """Return Table 9: definitions of the kinds of ambiguity with their shares; None without results."""
    if categories is None:
        return None
    definitions = load_guidelines().categories
    rows: list[list[Cell]] = [
        [
            definitions[kind].name,
            definitions[kind].definition,
            definitions[kind].example,
            categories.measure(kind).rounded,
        ]
        for kind in CATEGORIES
    ]
    return Table(["kind", "what it is", "example", "%"], rows, "Table 9: kinds of ambiguity")


def edit_cases_results(read: Read[EditCase], file: str) -> Results:
    """Return the number of EDIT-F1 cases recomputed as stored; others are faults of the file."""
    total = len(read.rows) + len(read.faults)
    results = Results(
        kind="edit_f1_cases",
        name=Path(file).stem,
        records=read.rows,
        files=(file,),
        left_out=len(read.faults),
    )
    return results.measured(
        {"equal": Count(len(read.rows), total)},
        remarks=(f"{len(read.rows)} of {total} equal",),
        data={"computed": [case.edit_f1 for case in read.rows]},
    )


# ---- statistics

Share = Interval | None


def statistics(examples: Sequence[Example]) -> Values:
    """Return all statistics of a dataset.

    ``ambiguous`` (a side is flagged) and ``several_labels`` are shares of the annotated examples, ``premise``
    to ``one_side`` and ``two_disambiguations`` of the ambiguous examples, ``two_rewrites`` of the flagged
    sentences. ``rewrites`` maps the number of distinct rewrites to the number of flagged sentences,
    ``disambiguations`` their number to the number of ambiguous examples. Lists of ids: examples whose
    ``labels_differ`` from their disambiguations', with ``several`` disambiguations of one label, or with
    contradictions (``faulty``).
    """
    annotated = [example for example in examples if example.labels]
    ambiguous = [example for example in annotated if example.ambiguous]
    flagged = [(example, side) for example in ambiguous for side in example.sides]
    faults = {
        example.id: {(finding.code, finding.severity) for finding in findings(example)}
        for example in annotated
    }
    splits = Counter(example.split for example in examples)
    sets = Counter(example.labels for example in annotated)
    curated = sum(example.curated for example in examples)
    return {
        "examples": len(examples),
        "dev": splits["dev"],
        "test": splits["test"],
        "curated": curated,
        "generated": len(examples) - curated,
        "numbered": sum(isinstance(published_id(example.id), int) for example in examples),
        "unlabelled": len(examples) - len(annotated),
        "ambiguous": share(annotated, lambda example: example.ambiguous),
        "several_labels": share(annotated, lambda example: len(example.labels) > 1),
        "premise": share(ambiguous, lambda example: example.premise_ambiguous),
        "hypothesis": share(ambiguous, lambda example: example.hypothesis_ambiguous),
        "both": share(ambiguous, lambda example: not example.xor),
        "one_side": share(ambiguous, lambda example: example.xor),
        "ambiguous_in": dict(Counter(example.split for example in ambiguous if example.split)),
        "label_sets": {labels: sets[labels] for labels in LABEL_SETS},
        "extra_words": extra_words(ambiguous),
        "extra_words_distinct": extra_words(ambiguous, distinct=True),
        "two_rewrites": clustered_interval(
            [float(len(example.rewrites(side)) == 2) for example, side in flagged],
            [example.id for example, _ in flagged],
        ),
        "two_disambiguations": share(ambiguous, lambda example: len(example.disambiguations) == 2),
        "rewrites": _sizes(example.rewrites(side) for example, side in flagged),
        "disambiguations": _sizes(example.disambiguations for example in ambiguous),
        "labels_differ": tuple(id for id, codes in faults.items() if ("labels", "warning") in codes),
        "several": tuple(
            example.id
            for example in annotated
            if len({reading.label for reading in example.disambiguations}) < len(example.disambiguations)
        ),
        "faulty": tuple(id for id, codes in faults.items() if any(kind == "error" for _, kind in codes)),
    }


def share(examples: Sequence[Example], holds: Callable[[Example], bool]) -> Share:
    """Return the share of examples that satisfy a condition."""
    return mean_interval([float(holds(example)) for example in examples])


def extra_words(examples: Sequence[Example], *, distinct: bool = False) -> Share:
    """Return the mean number of words (split at white space) that a rewrite has more than its sentence."""
    pairs = [
        (float(len(rewrite.split()) - len(example.sentence(side).split())), example.id)
        for example in examples
        for side in example.sides
        for rewrite in (
            example.rewrites(side) if distinct else (each.sentence(side) for each in example.disambiguations)
        )
    ]
    return clustered_interval([words for words, _ in pairs], [id for _, id in pairs])


def category_statistics(records: Sequence[CategoryRecord], examples: Sequence[Example] = ()) -> Values:
    """Return statistics of rows with kinds of ambiguity; `examples` is the dataset to compare pairs with.

    Shares are of all ``mentions`` of kinds, not of rows. ``not_whole`` counts rows without hypothesis,
    labels, or labels of disambiguations.
    """
    mentions = [(kind, place) for place, record in enumerate(records) for kind in record.categories]
    places = [place for _, place in mentions]
    pairs = {(example.premise, example.hypothesis) for example in examples}
    counts = Counter(kind for kind, _ in mentions)
    return {
        "rows": len(records),
        "counts": {kind: counts[kind] for kind in CATEGORIES},
        "shares": {
            kind: clustered_interval([float(mention == kind) for mention, _ in mentions], places)
            for kind in CATEGORIES
        },
        "in_dataset": sum((record.premise, record.hypothesis) in pairs for record in records),
        "not_whole": sum(bool(record.missing) for record in records),
        "mentions": len(mentions),
    }


def _sizes(groups: Iterable[Sequence[object]]) -> dict[int, int]:
    """Return the number of groups by size."""
    return dict(sorted(Counter(map(len, groups)).items()))
