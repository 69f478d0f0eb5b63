"""Sections on crowdworkers, on people who judge models' rewrites, and on linguists (spec 3, 5.3, 6.5)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from simulator.ambient.annotation.linguists import linguist_measures, single_annotations, worker_statistics
from simulator.ambient.crowd import CrowdMeasures, Tie, crowd_measures
from simulator.ambient.evaluation import evaluation_measures
from simulator.ambient.examples import Example
from simulator.ambient.intervals import clustered_interval
from simulator.ambient.labels import LABELS, LabelSet
from simulator.ambient.records import CrowdRecord, LinguistRecord
from simulator.ambient.reporting.measures import Measure, Section
from simulator.ambient.reporting.paper import is_published, note, paper
from simulator.figures import Cell, Column, Table
from simulator.stats import Interval

_CROWD: Final[Mapping[str, tuple[str, bool, str]]] = {
    # key -> title, whether it is a share, what its n counts
    "kappa_original": ("Fleiss kappa, original pairs", False, "rows"),
    "kappa_disambiguated": ("Fleiss kappa, rewritten pairs", False, "readings"),
    "kappa_with_distractor": ("likewise, with the distractors", False, "candidates"),
    "alpha_original": ("Krippendorff alpha, original", False, "rows"),
    "alpha_disambiguated": ("Krippendorff alpha, rewritten", False, "readings"),
    "true_plausible": ("readings said to be possible", True, "readings"),
    "distractor_plausible": ("distractors said to be possible", True, "rows"),
    "distractor_plausible_told_apart": ("  of them, those that are no reading", True, "rows"),
    "accepts_all": ("workers who accept every reading", True, "rows"),
    "agreement": ("rows that agree with the dataset", True, "rows"),
}
_PUBLISHED: Final = "crowdworker_annotations"


def crowd_section(
    records: Sequence[CrowdRecord],
    *,
    name: str,
    file: str = "",
    left_out: int = 0,
    tie: Tie = "first",
    tables: Mapping[str, Table] | None = None,
) -> Section:
    """Return what is told of crowdworkers' votes.

    Args:
        records: of the dataset's examples.
        name: the section's.
        file: where they are from; empty for a run.
        left_out: rows that could not be read.
        tie: what wins where votes are split evenly.
        tables: of single rows (`table_1`).
    """
    found = crowd_measures(records, tie)
    part = name.startswith(_PUBLISHED)
    printed: Mapping[str, Any] = (
        paper()["crowd"] if part and tie == "first" and is_published("crowd", len(records)) else {}
    )
    measures = [
        Measure(
            key,
            f"{title} ({tie})" if key == "agreement" else title,
            getattr(found, key),
            "%" if share else "",
            of,
            paper=printed.get(key),
            note=found.undefined.get(key) or (note(printed, key) if key in printed else ""),
        )
        for key, (title, share, of) in _CROWD.items()
    ]
    return Section(
        kind="crowd",
        name=name,
        title=f"Crowdworkers' votes: {name}",
        files=(file,) if file else (),
        rows=found.rows,
        left_out=left_out,
        measures=tuple(measures),
        remarks=tuple(_crowd_remarks(found, whole=bool(printed) or not part)),
        tables=dict(tables or {}),
        data={
            "tie": found.tie,
            "workers": {str(size): count for size, count in found.workers.items()},
            "readings": found.readings,
            "three_readings": found.three_readings,
            "repeated_distractors": found.repeated_distractors,
            "ties": {"two": found.two_way_ties, "three": found.three_way_ties},
            "without_votes": found.left_out,
            "raters": {"original": found.raters_original, "disambiguated": found.raters_disambiguated},
            "other_raters": {"original": found.other_original, "disambiguated": found.other_disambiguated},
        },
    )


def evaluation_section(
    records: Sequence[CrowdRecord], *, name: str, file: str = "", left_out: int = 0, tie: Tie = "first"
) -> Section:
    """Return what is told of people's votes on models' rewrites; `CrowdRecord.origin` names the model."""
    found = evaluation_measures(records, tie)
    printed = {one["file"]: one.get("correct") for one in paper()["models"]}
    measures = [
        Measure(
            f"correct.{model}",
            f"{model or 'no model named'}: correct ({tie})",
            one.correct,
            of="items",
            paper=printed.get(model) if is_published("evaluation", one.rows) else None,
            note=_few(one.few, one.without_votes),
        )
        for model, one in found.items()
    ]
    return Section(
        kind="evaluation",
        name=name,
        title=f"Models' rewrites judged by people: {name}",
        files=(file,) if file else (),
        rows=len(records),
        left_out=left_out,
        measures=tuple(measures),
        remarks=("the votes behind the paper's figures are not published, so they cannot be had again",),
        data={
            "tie": tie,
            "models": {
                model: {
                    "rows": one.rows,
                    "few_rewrites": one.few,
                    "without_votes": one.without_votes,
                    "workers": {str(size): count for size, count in one.workers.items()},
                }
                for model, one in found.items()
            },
        },
    )


def linguists_section(
    records: Sequence[LinguistRecord],
    finals: Mapping[str, LabelSet],
    *,
    name: str,
    file: str = "",
    left_out: int = 0,
    examples: Mapping[str, Example] | None = None,
) -> Section:
    """What is told of linguists' annotations; `finals` are the dataset's label sets, `examples` all of it."""
    found = linguist_measures(records, finals)
    two, final = found.two, found.final
    rows = "rows with two"
    lacks = "" if final is not None else "no dataset to compare with (name one with --data)"
    against = [
        ("final_union", "final set is the union", None if final is None else final.union, rows),
        ("final_either", "final set is one of the two", None if final is None else final.either, rows),
        ("final_contained", "final set within the union", None if final is None else final.contained, rows),
        ("final_exact", "a single linguist is right", None if final is None else final.exact, "annotations"),
    ]
    measures = [
        *(
            Measure(f"kappa_{label}", f"Fleiss kappa, {label}", two.label[label], "", rows)
            for label in LABELS
        ),
        Measure("kappa_sets", "Fleiss kappa, whole sets", two.whole, "", rows),
        Measure("kappa_several", "Fleiss kappa, several or one", two.several, "", rows),
        Measure("alpha", "Krippendorff alpha (MASI)", found.alpha, "", "rows with two or more"),
        Measure("identical", "identical sets", two.identical, of=rows),
        Measure("several", "annotations with several labels", found.ambiguous, of="annotations"),
        *(Measure(key, title, value, of=of, note=lacks) for key, title, value, of in against),
        Measure(
            "final_rewrites",
            "final rewrites that a linguist wrote",
            kept_rewrites(records, examples or {}),
            of="rewrites",
            note=lacks,
        ),
        Measure("workers", "different annotators", found.workers, "count"),
        Measure("discarded", "examples discarded", found.discarded, "count", "rows", found.rows),
    ]
    sizes = ", ".join(f"{size}: {count}" for size, count in found.annotations.items())
    twice = f"{len(found.twice)} rows name one annotator twice: {', '.join(found.twice)}"
    return Section(
        kind="linguists",
        name=name,
        title=f"Linguists' annotations: {name}",
        files=(file,) if file else (),
        rows=found.rows,
        left_out=left_out,
        measures=tuple(measures),
        remarks=(f"annotations per row: {sizes}", *([twice] if found.twice else [])),
        tables={"annotators": workers_table(records)},
        data={
            "annotations": {str(size): count for size, count in found.annotations.items()},
            "twice": list(found.twice),
            "rows_with_final": 0 if final is None else final.rows,
        },
    )


def kept_rewrites(records: Sequence[LinguistRecord], examples: Mapping[str, Example]) -> Interval | None:
    """Return how much of the gold is made of what linguists wrote, word for word; rows are resampled."""
    pairs = [
        (record.id, disambiguation in record.rewrites)
        for record in records
        if (example := examples.get(record.id)) is not None
        for disambiguation in example.disambiguations
    ]
    return clustered_interval([kept for _, kept in pairs], [id for id, _ in pairs])


def workers_table(records: Sequence[LinguistRecord]) -> Table:
    """What an organiser is told of each annotator (spec 3); files do not tell how long anybody took."""
    rows: list[list[Cell]] = [
        [
            worker_statistic.worker,
            worker_statistic.examples,
            100 * worker_statistic.ambiguous,
            100 * worker_statistic.discarded,
        ]
        for worker_statistic in worker_statistics(single_annotations(records))
    ]
    columns: list[Column | str] = [
        "annotator",
        Column("examples", 0),
        Column("several labels, %", 1),
        Column("discarded, %", 1),
    ]
    return Table(columns, rows, "Annotators")


def _crowd_remarks(measures: CrowdMeasures, *, whole: bool) -> list[str]:
    workers = ", ".join(f"{size} on {count} rows" for size, count in measures.workers.items())
    ties = (
        f"votes are tied between two labels on {measures.two_way_ties} readings, between all three on "
        f"{measures.three_way_ties}"
    )
    said = [
        ties,
        f"workers: {workers or 'none'}; {measures.three_readings} rows have three readings, no distractor",
    ]
    if measures.repeated_distractors:
        said.append(
            f"{measures.repeated_distractors} distractors are the ambiguous sentence itself or a reading "
            "that is shown: the share is told with them, as the paper does, and without"
        )
    if measures.left_out:
        said.append(f"{measures.left_out} rows have no votes or no reading and are counted nowhere")
    other = measures.other_original + measures.other_disambiguated
    if other and measures.raters_original:
        said.append(
            f"kappas are of rows with {measures.raters_original} votes, as most have; "
            f"{measures.other_original} rows and {measures.other_disambiguated} readings have another number "
            "(alpha counts them)"
        )
    if not whole:
        said.append("the paper's figures are of the whole file, so none stand here")
    return said


def _few(few: int, without: int) -> str:
    said = [f"{few} rows have too few rewrites, so are wrong"] if few else []
    said += [f"{without} rows have no votes yet"] if without else []
    return "; ".join(said)
