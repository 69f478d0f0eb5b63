"""Files in, sections out: every kind of file is told by its content and scored by its own rules (spec 11)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Final

from simulator.ambient.examples import Example
from simulator.ambient.files.claims import join
from simulator.ambient.files.kinds import TABLES
from simulator.ambient.labels import LabelSet
from simulator.ambient.records import CrowdRecord
from simulator.ambient.reporting.beside import examples_beside, tested_examples
from simulator.ambient.reporting.dataset_sections import (
    categories_section,
    dataset_section,
    edit_cases_section,
)
from simulator.ambient.reporting.measures import Section
from simulator.ambient.reporting.model_sections import (
    claims_section,
    continuation_section,
    generation_section,
    true_false_section,
)
from simulator.ambient.reporting.nli_section import model_places, nli_results, nli_section
from simulator.ambient.reporting.paper import model_of
from simulator.ambient.reporting.people_sections import crowd_section, evaluation_section, linguists_section
from simulator.ambient.reporting.settings import Settings
from simulator.ambient.reporting.votes import table_1
from simulator.ambient.statistics import category_statistics
from simulator.duplicates import CODE, Duplicates, left_out, repeats_statement
from simulator.errors import InputError
from simulator.jsonlines import Read
from simulator.tables.spec import SUFFIXES, TableSpec, files_below
from trees.faults import Fault

NLI_KINDS: Final = ("nli_predictions", "nli_logits", "nli_seed")
Files = dict[str, dict[Path, Read[Any]]]
"""What was read, by kind and file."""


@dataclass(slots=True)
class Scored:
    """What came out.

    Attributes:
        sections: in the order of the paper.
        faults: of rows that were left out, and of files that contradict each other.
        unreadable: files that could not be read at all, with the reason.
        passed_over: files in folders that are none of AmbiEnt's.
        datasets: files of examples.
        nli_places: files of label sets and folders of their models, as `nli_results` takes them.
    """

    sections: list[Section] = field(default_factory=list)
    faults: list[Fault | str] = field(default_factory=list)
    unreadable: list[str] = field(default_factory=list)
    passed_over: list[Path] = field(default_factory=list)
    datasets: list[Path] = field(default_factory=list)
    nli_places: list[Path] = field(default_factory=list)


def score_files(
    paths: Sequence[Path], settings: Settings | None = None, *, votes_may_miss: bool = False
) -> Scored:
    """Return everything that files and folders hold, scored.

    Args:
        paths: files, and folders that are looked through.
        settings: how.
        votes_may_miss: whether votes that are asked for may be elsewhere.

    Raises:
        InputError: if a dataset is named that does not exist, or votes on an example that has none.
    """
    settings, scored = settings or Settings(), Scored()
    files = read_files(paths, scored, settings.duplicates)
    scored.datasets = list(files.get("dataset", {}))
    if not votes_may_miss:
        _check_votes(settings.votes, files.get("crowd", {}))
    context = _Context(files, settings)
    for kind, make in _SECTIONS.items():
        if kind in files:
            scored.sections += make(files[kind], context, scored)
    _score_nli(files, context, scored)
    known = {example.id: example for example in context.examples}
    scored.sections = [
        _with_ids(_with_duplicates(one, files), files, known) for one in named_apart(scored.sections)
    ]
    return scored


# Kinds of files with a row per item, or several; the items of one file can be compared with another's.
_ITEMS: Final = ("crowd", "generation", "true_false", "continuation", "nli_predictions", "linguists")
_ROW_PER_ID: Final = ("crowd", "generation", "nli_predictions", "linguists")


def _with_ids(section: Section, files: Files, known: Mapping[str, Example]) -> Section:
    """The section, with ids that come again, those of no example, and whether other files have the same."""
    reads = {kind: files.get(kind, {}) for kind in _ITEMS}
    mine = [(kind, Path(file)) for kind in _ITEMS for file in section.files if Path(file) in reads[kind]]
    if len(mine) != 1:
        return section
    kind, file = mine[0]
    rows = reads[kind][file].rows
    ids = Counter(row.id for row in rows)
    data: dict[str, Any] = {}
    if kind in _ROW_PER_ID:
        data["duplicate_ids"] = sum(count > 1 for count in ids.values())
    if known:
        data["foreign_ids"] = len({row.id for row in rows if _is_foreign(row, known)})
    others = {
        str(other): set(map(item_key, read.rows)) for other, read in reads[kind].items() if other != file
    }
    items = set(map(item_key, rows))
    data["same_items"] = {other: theirs == items for other, theirs in others.items()}
    said = [
        *([f"{data['duplicate_ids']} ids come in several rows"] if data.get("duplicate_ids") else []),
        *(
            [f"{data['foreign_ids']} ids are of no example of the dataset, or of one with another text"]
            if data.get("foreign_ids")
            else []
        ),
        *(f"not the items of {other}" for other, same in data["same_items"].items() if not same),
    ]
    return replace(section, remarks=(*section.remarks, *said), data={**section.data, **data})


def item_key(row: Any) -> tuple[object, ...]:
    """Return what a row of a results file is about, whoever answered."""
    names = ("id", "side", "disambiguation", "template")
    return tuple(getattr(row, name, None) for name in names)


def _is_foreign(row: Any, known: Mapping[str, Example]) -> bool:
    example = known.get(row.id)
    if example is None:
        return True
    told = (getattr(row, "premise", example.premise), getattr(row, "hypothesis", example.hypothesis))
    return told != (example.premise, example.hypothesis)


def _with_duplicates(section: Section, files: Files) -> Section:
    """Return the section, with how many rows of its files stand there twice."""
    faults = [
        fault
        for reads in files.values()
        for file, read in reads.items()
        if str(file) in section.files
        for fault in read.faults
        if fault.code == CODE
    ]
    if not faults:
        return section
    kept = sum(fault.severity == "warning" for fault in faults)
    data = {**section.data, "duplicates": {"rows": len(faults), "counted": kept}}
    return replace(section, remarks=(*section.remarks, repeats_statement(faults)), data=data)


def _check_votes(wanted: Iterable[str], reads: Mapping[Path, Read[Any]]) -> None:
    held = {row.id for read in reads.values() for row in read.rows}
    if missing := [id for id in wanted if id not in held and not (id == "all" and held)]:
        raise InputError(f"--votes {missing[0]}: there are no votes on an example with this id")


def read_files(paths: Iterable[Path], scored: Scored, duplicates: Duplicates = "refuse") -> Files:
    """Read the files of AmbiEnt among paths and in folders; what is wrong with them goes to `scored`."""
    files: Files = {}
    for path in dict.fromkeys(paths):
        for file, kind in _kinds(path, scored):
            try:
                read = kind.read(file, duplicates)
            except InputError as error:
                scored.unreadable.append(str(error))
                continue
            if file in files.setdefault(kind.name, {}):
                continue
            files[kind.name][file] = read
            scored.faults += read.faults
            if not read.rows:
                scored.unreadable.append(f"{file}: no row of it can be read")
    return files


def _kinds(path: Path, scored: Scored) -> Iterator[tuple[Path, TableSpec[Any]]]:
    if not path.exists():
        scored.unreadable.append(f"{path}: there is no such file or folder")
        return
    for file in files_below(path):
        kind = TABLES.kind_of(file)
        if kind is not None:
            yield file, kind
        elif file == path:
            reason = _why_unreadable(file) or "is none of AmbiEnt's files"
            scored.unreadable.append(f"{file}: {reason}")
        elif file.suffix in SUFFIXES:
            reason = _why_unreadable(file)
            if reason:
                scored.unreadable.append(f"{file}: {reason}")
            else:
                scored.passed_over.append(file)


def _why_unreadable(file: Path) -> str:
    try:
        with file.open("rb") as opened:
            return "" if opened.read(1) else "is empty"
    except OSError as error:
        return f"cannot be read ({error.strerror})"


@dataclass
class _Context:
    """What sections need beside their own files."""

    files: Files
    settings: Settings

    @cached_property
    def examples(self) -> tuple[Example, ...]:
        """The dataset; empty if there is none."""
        get = list(self.files.get("dataset", {}))
        results = (file for reads in self.files.values() for file in reads)
        return examples_beside(self.settings.data, results, get)

    @property
    def test(self) -> tuple[Example, ...]:
        """Its test split; all of it if it has no splits."""
        return tested_examples(self.examples)

    @cached_property
    def by_id(self) -> Mapping[str, Example]:
        """Its examples by id, with the kinds of ambiguity that files beside name."""
        return {example.id: example for example in self.examples}

    @property
    def finals(self) -> Mapping[str, LabelSet]:
        """The label sets that it gives."""
        return {example.id: example.labels for example in self.examples if example.labels}


_Reads = Mapping[Path, Read[Any]]
_Make = Callable[[_Reads, _Context, Scored], list[Section]]


def _dataset(reads: _Reads, context: _Context, scored: Scored) -> list[Section]:
    by_folder: dict[Path, dict[Path, Read[Any]]] = {}
    for file, read in reads.items():
        by_folder.setdefault(file.parent, {})[file] = read
    made = []
    for folder, some in by_folder.items():
        name = folder.resolve().name if len(some) > 1 else next(iter(some)).stem
        section, faults = dataset_section(some, name)
        scored.faults += faults
        made.append(section)
    return made


def _categories(reads: _Reads, context: _Context, scored: Scored) -> list[Section]:
    return [
        categories_section(read.rows, context.examples, str(file), left_out(read.faults))
        for file, read in reads.items()
    ]


def _linguists(reads: _Reads, context: _Context, scored: Scored) -> list[Section]:
    return [
        linguists_section(
            read.rows,
            context.finals,
            name=file.stem,
            file=str(file),
            left_out=left_out(read.faults),
            examples=context.by_id,
        )
        for file, read in reads.items()
    ]


def _crowd(reads: _Reads, context: _Context, scored: Scored) -> list[Section]:
    made = []
    votes = dict.fromkeys(context.settings.votes)
    for file, read in reads.items():
        judged = [row for row in read.rows if row.origin]
        voted = [row for row in read.rows if not row.origin]
        tie, bad = context.settings.tie, left_out(read.faults)
        if voted or not judged:
            tables = _votes(voted, votes, context)
            made.append(
                crowd_section(voted, name=file.stem, file=str(file), left_out=bad, tie=tie, tables=tables)
            )
        if judged:
            bad = 0 if voted else bad
            made.append(evaluation_section(judged, name=file.stem, file=str(file), left_out=bad, tie=tie))
    return made


def _votes(records: Sequence[CrowdRecord], wanted: Iterable[str], context: _Context) -> dict[str, Any]:
    held = {record.id for record in records}
    here = [id for id in wanted if id == "all" or id in held]
    if not here:
        return {}
    rows = [row for read in context.files.get("categories", {}).values() for row in read.rows]
    shares = category_statistics(rows).shares if rows else None
    return {"table_1": table_1(records, here, context.by_id, shares)}


def _generation(reads: _Reads, context: _Context, scored: Scored) -> list[Section]:
    return [
        generation_section(
            read.rows,
            name=model_of(file),
            file=str(file),
            left_out=left_out(read.faults),
            parser=context.settings.parser,
            examples=context.examples,
            variants=context.settings.variants,
        )
        for file, read in reads.items()
    ]


def _true_false(reads: _Reads, context: _Context, scored: Scored) -> list[Section]:
    return [
        true_false_section(read.rows, name=model_of(file), file=str(file), left_out=left_out(read.faults))
        for file, read in reads.items()
    ]


def _continuation(reads: _Reads, context: _Context, scored: Scored) -> list[Section]:
    return [
        continuation_section(
            read.rows,
            name=model_of(file),
            file=str(file),
            left_out=left_out(read.faults),
            examples=context.test,
            every=context.examples,
        )
        for file, read in reads.items()
    ]


def _claims(reads: _Reads, context: _Context, scored: Scored) -> list[Section]:
    marks = context.files.get("claim_annotations", {})
    annotations = [row for read in marks.values() for row in read.rows]
    made = []
    for file, read in reads.items():
        joined = join(read.rows, annotations)
        said = []
        if annotations:
            said.append(f"{joined.unannotated} claims have no row of marks, {joined.unknown} marks no claim")
        else:
            said.append("no file of marks (claim, annotation): nothing to compare with")
        files = [str(file), *map(str, marks)]
        bad = left_out(read.faults) + sum(left_out(mark.faults) for mark in marks.values())
        name = file.resolve().parent.name if file.stem == "results" else file.stem
        made.append(claims_section(joined.records, name=name, files=files, left_out=bad, remarks=said))
    return made


def _edit_cases(reads: _Reads, context: _Context, scored: Scored) -> list[Section]:
    return [edit_cases_section(read, str(file)) for file, read in reads.items()]


_SECTIONS: Final[Mapping[str, _Make]] = {
    "dataset": _dataset,
    "categories": _categories,
    "linguists": _linguists,
    "crowd": _crowd,
    "generation": _generation,
    "true_false": _true_false,
    "continuation": _continuation,
    "claims": _claims,
    "edit_f1_cases": _edit_cases,
}


def _score_nli(files: Files, context: _Context, scored: Scored) -> None:
    held = [file for kind in NLI_KINDS for file in files.get(kind, {})]
    if not held:
        return
    scored.nli_places = model_places(held)
    results = nli_results(scored.nli_places, context.examples)
    # What is wrong with rows has been told on reading them.
    told = set(map(str, scored.faults))
    scored.faults += [problem for problem in results.problems if problem not in told]
    if results.models:
        bad = sum(left_out(read.faults) for kind in NLI_KINDS for read in files.get(kind, {}).values())
        scored.sections.append(nli_section(results, [str(file) for file in held], bad))


def named_apart(sections: Sequence[Section]) -> list[Section]:
    """Sections of one kind and name get a number."""
    seen: Counter[tuple[str, str]] = Counter()
    made = []
    for section in sections:
        seen[section.kind, section.name] += 1
        count = seen[section.kind, section.name]
        name = f"{section.name} ({count})" if count > 1 else section.name
        made.append(replace(section, name=name, title=section.title.replace(section.name, name)))
    return made
