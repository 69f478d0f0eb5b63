"""The results of people: crowdworkers, judges of models' rewrites, linguists (spec 3 to 6)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from simulator.ambient.annotation.linguists import linguist_measures, single_annotations, worker_statistics
from simulator.ambient.crowd import count_labels, crowd_measures, slot_votes
from simulator.ambient.examples import Example
from simulator.ambient.intervals import Values, clustered_interval
from simulator.ambient.labels import LABELS, Category, letters
from simulator.ambient.prepare import evaluation_measures
from simulator.ambient.records import CrowdRecord, LinguistRecord
from simulator.ambient.reporting.measures import Results, by_text, is_published, paper, sizes, worded
from simulator.ambient.reporting.sources import Context
from simulator.ambient.statistics import category_statistics
from simulator.figures import Cell, Column, Table
from simulator.stats import Interval

_VOTES: Final = "crowdworker_annotations"
_NO_DATASET: Final = "no dataset to compare with (name one with --data)"


def crowd_results(answers: Results, context: Context) -> Results:
    """Return the results of crowdworkers' votes on the dataset's examples."""
    records: Sequence[CrowdRecord] = answers.records
    tie = context.settings.tie
    votes = crowd_measures(records, tie)
    part = answers.name.startswith(_VOTES)
    whole = part and tie == "first" and is_published("crowd", len(records))
    printed = paper()["crowd"] if whole else {}
    held = {record.id for record in records}
    shown = [id for id in context.settings.votes if id == "all" or id in held]
    counts = ("tie", "readings", "three_readings", "repeated_distractors", "ties", "raters", "other_raters")
    return answers.measured(
        votes,
        paper=printed,
        notes={**printed.get("notes", {}), **votes["undefined"]},
        tie=tie,
        remarks=_crowd_remarks(votes, whole=whole or not part),
        tables={"table_1": table_1(records, shown, context)} if shown else {},
        data={
            **{key: votes[key] for key in counts},
            "workers": by_text(votes["workers"]),
            "without_votes": votes["left_out"],
        },
    )


def _crowd_remarks(votes: Values, *, whole: bool) -> list[str]:
    workers = ", ".join(f"{size} on {count} rows" for size, count in votes["workers"].items())
    remarks = [
        f"votes are tied between two labels on {votes['ties']['two']} readings, between all three on "
        f"{votes['ties']['three']}",
        f"workers: {workers or 'none'}; {votes['three_readings']} rows have three readings, no distractor",
    ]
    if votes["repeated_distractors"]:
        remarks.append(
            f"{votes['repeated_distractors']} distractors are the ambiguous sentence itself or a reading "
            "that is shown: the share is given with them, as in the paper, and without"
        )
    if votes["left_out"]:
        remarks.append(f"{votes['left_out']} rows have no votes or no reading and are counted nowhere")
    raters, others = votes["raters"]["original"], votes["other_raters"]
    if raters and any(others.values()):
        remarks.append(
            f"kappas are of rows with {raters} votes, as most have; {others['original']} rows and "
            f"{others['disambiguated']} readings have another number (alpha counts them)"
        )
    return remarks if whole else [*remarks, "the paper's figures are of the whole file, so none stand here"]


def table_1(records: Sequence[CrowdRecord], ids: Sequence[str], context: Context) -> Table:
    """Return the votes on some examples: a row for the original pair, then one for each candidate.

    `records`: rows of votes; an id may occur again, then all its rows are told.
    """
    kinds = category_statistics(context.categories)["shares"] if context.categories else {}
    chosen = (
        records if "all" in ids else [row for id in dict.fromkeys(ids) for row in records if row.id == id]
    )
    rows = [row for record in chosen for row in _vote_rows(record, context.by_id.get(record.id), kinds)]
    counts = [Column(label[0].upper(), 0) for label in LABELS]
    columns: list[Column | str] = ["id", "sentence", "gold", *counts, "possible", "kinds"]
    return Table(columns, rows, "Table 1: votes on the original pair, and on it with each candidate in place")


def _vote_rows(
    record: CrowdRecord, example: Example | None, kinds: Mapping[Category, Interval | None]
) -> list[list[Cell]]:
    if example and (example.premise, example.hypothesis) != (record.premise, record.hypothesis):
        example = None
    gold = letters(example.labels if example else [label for label in record.labels if label])
    # Nothing stands where nobody was asked.
    original = count_labels(record.original)
    counts: list[Cell] = [original[label] if record.original else None for label in LABELS]
    names = ((kind, kinds.get(kind)) for kind in (example.categories if example else ()))
    shares = [kind if share is None else f"{kind} ({100 * share.value:.1f} %)" for kind, share in names]
    text = f"P: {record.premise}\nH: {record.hypothesis}"
    rows: list[list[Cell]] = [[record.id, text, gold, *counts, None, ", ".join(shares) or None]]
    for slot in slot_votes(record):
        sentence = f"{record.side[0].upper()}: {slot.sentence}"
        label = letters([slot.label]) if slot.label else "distractor"
        counts = [slot.votes[label] if any(slot.votes.values()) else None for label in LABELS]
        rows.append([record.id, sentence, label, *counts, f"{slot.plausible}/{slot.workers}", None])
    return rows


def evaluation_results(answers: Results, context: Context) -> Results:
    """Return the results of people's votes on models' rewrites; `CrowdRecord.origin` names the model."""
    tie = context.settings.tie
    models = evaluation_measures(answers.records, tie)
    printed = {row["file"]: row.get("correct") for row in paper()["models"]}
    measures = [
        worded(
            "evaluation",
            votes,
            paper={"correct": printed.get(model) if is_published("evaluation", votes["rows"]) else None},
            notes={"correct": _describe_few_votes(votes)},
            key=f"correct.{model}",
            model=model or "no model named",
            tie=tie,
        )
        for model, votes in models.items()
    ]
    counts = ("rows", "few_rewrites", "without_votes")
    of_models = {
        model: {**{key: votes[key] for key in counts}, "workers": by_text(votes["workers"])}
        for model, votes in models.items()
    }
    return answers.measured(
        {},
        measures=tuple(measure for of_model in measures for measure in of_model),
        remarks=["the votes behind the paper's figures are not published, so they cannot be had again"],
        data={"tie": tie, "models": of_models},
    )


def _describe_few_votes(votes: Values) -> str:
    few, unseen = votes["few_rewrites"], votes["without_votes"]
    notes = [f"{few} rows have too few rewrites, so are wrong"] if few else []
    return "; ".join(notes + ([f"{unseen} rows have no votes yet"] if unseen else []))


def linguists_results(answers: Results, context: Context) -> Results:
    """Return the results of linguists' annotations, against each other and the dataset."""
    records: Sequence[LinguistRecord] = answers.records
    known = {example.id: example.labels for example in context.examples if example.labels}
    measures = linguist_measures(records, known)
    against = {f"final_{key}": None for key in ("union", "either", "contained", "exact", "rewrites")}
    twice = measures["twice"]
    named = f"{len(twice)} rows name one annotator twice: {', '.join(twice)}"
    return answers.measured(
        {**against, **measures, "final_rewrites": kept_rewrites(records, context.by_id)},
        notes={} if known else dict.fromkeys(against, _NO_DATASET),
        remarks=[f"annotations per row: {sizes(measures['annotations'])}", *([named] if twice else [])],
        tables={"annotators": annotators_table(records)},
        data={
            "annotations": by_text(measures["annotations"]),
            "twice": twice,
            "rows_with_final": measures["rows_with_final"],
        },
    )


def kept_rewrites(records: Iterable[LinguistRecord], examples: Mapping[str, Example]) -> Interval | None:
    """Return how much of the gold is made of what linguists wrote, word for word; rows are resampled."""
    pairs = [
        (record.id, disambiguation in record.rewrites)
        for record in records
        if (example := examples.get(record.id)) is not None
        for disambiguation in example.disambiguations
    ]
    return clustered_interval([kept for _, kept in pairs], [id for id, _ in pairs])


def annotators_table(records: Sequence[LinguistRecord]) -> Table:
    """Return what an organiser is told of each annotator; files do not tell how long anybody took."""
    rows: list[list[Cell]] = [
        [worker.worker, worker.examples, 100 * worker.ambiguous, 100 * worker.discarded]
        for worker in worker_statistics(single_annotations(records))
    ]
    shares = (Column("several labels, %", 1), Column("discarded, %", 1))
    return Table(["annotator", Column("examples", 0), *shares], rows, "Annotators")
