"""Sections on files without answers: examples, kinds of ambiguity, cases of EDIT-F1 (spec 1, 6.4).

Statistics are counted each by its rule (spec 1.2, 1.3; paper 2.3, Fig. 3). Shares are fractions of 1 with a
95 % percentile bootstrap interval over examples; `Interval.n` is what they are shares of. None where there is
nothing to take a share of. Pairs that nobody has annotated count nowhere.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from simulator import datasets
from simulator.ambient.data import load_guidelines, read_examples
from simulator.ambient.examples import Example, findings, named, published_id
from simulator.ambient.files.dataset import DATASET, CategoryRecord
from simulator.ambient.files.kinds import TABLES, Merged
from simulator.ambient.files.results import EditCase
from simulator.ambient.intervals import Count, Values, clustered_interval, mean_interval
from simulator.ambient.items import BENCHMARK, SPLITS
from simulator.ambient.labels import CATEGORIES, LABEL_SETS, LabelSet, format_labels, letters
from simulator.ambient.reporting.measures import Results, by_text, paper
from simulator.figures import Cell, Column, Table
from simulator.jsonlines import Read
from simulator.stats import Interval

# The dataset is looked for in so many folders above a results file.
_ABOVE: Final = 3
_NAMED: Final = 10
_NAMES: Final = ("ambient_full.jsonl", "test.jsonl", "dev.jsonl")
_COUNTS: Final = ("dev", "test", "curated", "generated", "unlabelled")
_SHARES: Final = ("ambiguous", "several_labels", "premise", "hypothesis", "both", "one_side")
_REWRITES: Final = ("two_rewrites", "two_disambiguations", "extra_words", "extra_words_distinct")


def examples_of_results(
    data: str | None, results: Sequence[Path], dataset: Sequence[Path] = ()
) -> tuple[Example, ...]:
    """Return the examples that results are of, without faulty rows; none if no dataset is found (spec 11).

    Args:
        data: a name or path; None to look for one.
        results: files; a dataset in their folders, or in one of the three above, is taken.
        dataset: files of a dataset; taken before those, with what stands beside them if they are several.

    Raises:
        InputError: if `data` does not exist.
    """
    place: str | Path | None = data if data is not None else _place(results, dataset)
    return () if place is None else read_examples(place).examples


def _place(results: Sequence[Path], dataset: Sequence[Path]) -> str | Path | None:
    if dataset:
        # Splits and kinds of ambiguity stand in files of their own.
        first = dataset[0]
        return first.parent if sum(file.parent == first.parent for file in dataset) > 1 else first
    above = (folder for file in results for folder in file.resolve().parents[: _ABOVE + 1])
    for folder in dict.fromkeys(above):
        files = (folder / name for name in _NAMES)
        if any(file.is_file() and TABLES.kind_of(file) is DATASET for file in files):
            return folder
    known = datasets.find(BENCHMARK)
    return BENCHMARK if known is not None and known.benchmark == BENCHMARK else None


def dataset_results(
    examples: Sequence[Example],
    name: str,
    *,
    merged: Merged | None = None,
    files: Sequence[str] = (),
    left_out: int = 0,
) -> Results:
    """Return what is told of examples; the paper's figures stand beside if they are the published ones."""
    facts = statistics(examples)
    known, known_of = not differences(facts), paper()["dataset"]
    # Whether an id ends in _c tells something where any does.
    shown = (key for key in _COUNTS if facts["curated"] or key not in ("curated", "generated"))
    values = {"examples": facts["examples"], **{key: facts[key] for key in shown if facts[key]}}
    if facts["ambiguous"] is not None:
        values["number_ambiguous"] = round(facts["ambiguous"].value * facts["ambiguous"].n)
    values |= {f"ambiguous_{split}": number for split, number in facts["ambiguous_in"].items()}
    values |= {key: facts[key] for key in (*_SHARES, *_REWRITES)}
    printed: dict[str, float] = {**known_of["counts"], **known_of["shares"]}
    printed |= {f"ambiguous_{split}": number for split, number in known_of["ambiguous_in"].items()}
    printed |= {"number_ambiguous": known_of["parts"]["ambiguous"][0], "extra_words": known_of["extra_words"]}
    notes = paper()["dataset_notes"]
    held = Results(kind="dataset", name=name, records=examples, files=tuple(files), left_out=left_out)
    return held.measured(
        values,
        paper=printed if known else {},
        notes=notes if known else {},
        remarks=_dataset_remarks(facts),
        tables={"label_sets": _sets_table(facts["label_sets"], known)},
        data={
            "published": known,
            "statistics": {**facts, "label_sets": named_sets(facts["label_sets"])},
            "label_sets": {format_labels(labels): count for labels, count in facts["label_sets"].items()},
            "rewrites": by_text(facts["rewrites"]),
            "disambiguations": by_text(facts["disambiguations"]),
            "labels_differ": facts["labels_differ"],
            "several_of_one_label": facts["several"],
            "faulty": facts["faulty"],
            "ids": {"text": facts["examples"] - facts["numbered"], "number": facts["numbered"]},
            "unambiguous_with_disambiguations": sum(
                not example.ambiguous and bool(example.disambiguations) for example in examples
            ),
            **({} if merged is None else _between_files(merged)),
        },
    )


def differences(facts: Values) -> tuple[str, ...]:
    """Return in what a dataset is not the published one; nothing if it is, as far as numbers tell."""
    known = paper()["dataset"]
    pairs: dict[str, tuple[object, object]] = {
        **{name: (facts[name], count) for name, count in known["counts"].items()},
        "ambiguous in": (dict(sorted(facts["ambiguous_in"].items())), known["ambiguous_in"]),
        "label sets": (named_sets(facts["label_sets"]), known["label_sets"]),
        **{
            name.replace("_", " "): (_part(facts[name]), f"{part} of {whole}")
            for name, (part, whole) in known["parts"].items()
        },
    }
    return tuple(
        f"{name}: {own}, not {published}" for name, (own, published) in pairs.items() if own != published
    )


def named_sets(counts: Mapping[LabelSet, int]) -> dict[str, int]:
    """Return counts of label sets by their letters, single labels first."""
    return {letters(labels): count for labels, count in counts.items()}


def _part(share: Share) -> str:
    return "none" if share is None else f"{round(share.value * share.n)} of {share.n}"


def _between_files(merged: Merged) -> dict[str, Any]:
    """Return how the files of a dataset cover each other, and where they say different things."""
    dev, test = (set(merged.splits[split]) for split in SPLITS)
    return {
        "splits": {
            "in_both": len(dev & test) + sum(fault.code == "split" for fault in merged.faults),
            "in_neither": len(merged.examples) - len(dev | test),
        },
        "rows_that_differ": [fault.task for fault in merged.faults if fault.code == "differs"],
    }


def _dataset_remarks(facts: Values) -> tuple[str, ...]:
    """Return what deserves a look."""
    remarks = {
        "several": "several disambiguations of one label",
        "labels_differ": "labels that are not those of the disambiguations",
        "faulty": "contradicting themselves (`askback check` says how)",
    }
    return tuple(f"{remark}: {named(facts[key], _NAMED)}" for key, remark in remarks.items() if facts[key])


def _sets_table(counts: Mapping[LabelSet, int], known: bool) -> Table:
    total, printed = sum(counts.values()), paper()["dataset"]["label_sets"]
    rows: list[list[Cell]] = [
        [name, count, 100 * count / total if total else None, *([printed[name]] if known else [])]
        for name, count in named_sets(counts).items()
    ]
    columns = (Column("examples", 0), Column("%", 1), *([Column("paper", 0)] if known else []))
    return Table(["label set", *columns], rows, "Label sets (Fig. 3)")


def categories_results(
    records: Sequence[CategoryRecord],
    examples: Sequence[Example],
    *,
    name: str,
    files: Sequence[str] = (),
    left_out: int = 0,
) -> Results:
    """Return what is told of rows with kinds of ambiguity."""
    facts = category_statistics(records, examples)
    published, mentions = paper()["categories"], facts["mentions"]
    known = (facts["rows"], mentions) == (published["rows"], published["mentions"])
    printed: dict[str, float] = published["shares"] if known else {}
    rows: list[list[Cell]] = [
        [
            kind,
            facts["counts"][kind],
            None if share is None else share.times(100),
            *([printed[kind]] if known else []),
        ]
        for kind, share in facts["shares"].items()
    ]
    columns = (Column("mentions", 0), Column("%", 1), *([Column("paper", 1)] if known else []))
    title = f"Kinds of ambiguity, % of {mentions} mentions in {facts['rows']} examples"
    shares = {kind: Count(None, 0) if share is None else share for kind, share in facts["shares"].items()}
    word_for_word = f"{facts['in_dataset']} pairs are in the dataset word for word"
    held = Results(
        kind="categories", name=name, records=records, files=tuple(files), left_out=left_out, listed=False
    )
    return held.measured(
        {**shares, "in_dataset": Count(facts["in_dataset"] if examples else None, facts["rows"])},
        paper=printed,
        notes={"in_dataset": "" if examples else "no dataset to look in (name one with --data)"},
        rows=facts["rows"],
        remarks=(
            *([word_for_word] if examples else []),
            *([f"{facts['not_whole']} rows are not whole"] if facts["not_whole"] else []),
        ),
        tables={"kinds": Table(["kind", *columns], rows, title)},
        data={"counts": facts["counts"], "mentions": mentions, "statistics": facts},
    )


def kinds_table(categories: Results | None) -> Table | None:
    """Return Table 9: what the kinds of ambiguity are, with their shares; None if none are known."""
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
    """Return how many cases of EDIT-F1 come out as they should; those that do not are faults of the file."""
    total = len(read.rows) + len(read.faults)
    held = Results(
        kind="edit_f1_cases",
        name=Path(file).stem,
        records=read.rows,
        files=(file,),
        left_out=len(read.faults),
    )
    return held.measured(
        {"equal": Count(len(read.rows), total)},
        remarks=(f"{len(read.rows)} of {total} equal",),
        data={"computed": [case.edit_f1 for case in read.rows]},
    )


# ---- statistics, each by its counting rule

Share = Interval | None


def statistics(examples: Sequence[Example]) -> Values:
    """Return all statistics of a dataset.

    ``ambiguous`` (a side is flagged) and ``several_labels`` are shares of all that are annotated,
    ``premise`` to ``one_side`` and ``two_disambiguations`` of the ambiguous examples, ``two_rewrites`` of
    flagged sentences. ``rewrites``: how many flagged sentences have so many distinct ones;
    ``disambiguations`` likewise, of ambiguous examples. Ids are listed of those whose ``labels_differ``
    from those of their disambiguations, that have ``several`` disambiguations of one label, or contradict
    themselves (``faulty``).
    """
    annotated = [example for example in examples if example.labels]
    ambiguous = [example for example in annotated if example.ambiguous]
    flagged = [(example, side) for example in ambiguous for side in example.sides]
    faults = {
        example.id: {(finding.code, finding.severity) for finding in findings(example)}
        for example in annotated
    }
    splits = Counter(example.split for example in examples)
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
        "label_sets": label_sets(annotated),
        "extra_words": extra_words(ambiguous),
        "extra_words_distinct": extra_words(ambiguous, distinct=True),
        "two_rewrites": two_rewrites(ambiguous),
        "two_disambiguations": share(ambiguous, lambda example: len(example.disambiguations) == 2),
        "rewrites": _sizes(example.rewrites(side) for example, side in flagged),
        "disambiguations": _sizes(example.disambiguations for example in ambiguous),
        "labels_differ": tuple(id for id, codes in faults.items() if ("labels", "warning") in codes),
        "several": tuple(example.id for example in annotated if _repeats_a_label(example)),
        "faulty": tuple(id for id, codes in faults.items() if any(kind == "error" for _, kind in codes)),
    }


def share(examples: Sequence[Example], holds: Callable[[Example], bool]) -> Share:
    """Return the share of examples of which something holds."""
    return mean_interval([float(holds(example)) for example in examples])


def label_sets(examples: Sequence[Example]) -> dict[LabelSet, int]:
    """Return how often each of the seven label sets occurs (Fig. 3)."""
    counts = Counter(example.labels for example in examples)
    return {labels: counts[labels] for labels in LABEL_SETS}


def extra_words(examples: Sequence[Example], *, distinct: bool = False) -> Share:
    """Return by how many words (between white space) a rewrite is longer than its sentence, on average."""
    pairs = [
        (float(len(rewrite.split()) - len(example.sentence(side).split())), example.id)
        for example in examples
        for side in example.sides
        for rewrite in (
            example.rewrites(side) if distinct else (each.sentence(side) for each in example.disambiguations)
        )
    ]
    return clustered_interval([words for words, _ in pairs], [id for _, id in pairs])


def two_rewrites(examples: Sequence[Example]) -> Share:
    """Return the share of flagged sentences that have exactly two distinct rewrites."""
    flagged = [(example, side) for example in examples for side in example.sides]
    values = [float(len(example.rewrites(side)) == 2) for example, side in flagged]
    return clustered_interval(values, [example.id for example, _ in flagged])


def category_statistics(records: Sequence[CategoryRecord], examples: Sequence[Example] = ()) -> Values:
    """Return statistics of rows with kinds of ambiguity; `examples` are the dataset they may come from.

    Shares are of all ``mentions`` of kinds, not of rows. ``not_whole``: rows without a hypothesis, labels, or
    labels of disambiguations.
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


def _repeats_a_label(example: Example) -> bool:
    labels = [disambiguation.label for disambiguation in example.disambiguations]
    return len(set(labels)) < len(labels)


def _sizes(groups: Iterable[Sequence[object]]) -> dict[int, int]:
    """Return how many groups have so many members."""
    return dict(sorted(Counter(map(len, groups)).items()))
