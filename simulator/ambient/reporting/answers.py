"""Results of answers: models' tests, claims, crowdworkers, judges, linguists (spec 3 to 10)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final

from simulator.ambient.annotation.linguists import linguist_measures, single_annotations, worker_statistics
from simulator.ambient.claims import THRESHOLD, claim_measures, is_flagged
from simulator.ambient.claims import stored_differences as claim_differences
from simulator.ambient.continuations import chance_by_example, continuation_measures
from simulator.ambient.crowd import count_labels, crowd_measures, evaluation_measures, slot_votes
from simulator.ambient.examples import Example, list_names
from simulator.ambient.generation import (
    edit_f1_variants,
    generation_measures,
    gold_differences,
    item_edit_f1,
    item_scores,
    stored_differences,
)
from simulator.ambient.intervals import Count, Values, clustered_interval, mean_interval
from simulator.ambient.labels import LABELS, Category, letters
from simulator.ambient.records import (
    ClaimRecord,
    ContinuationRecord,
    CrowdRecord,
    GenerationRecord,
    LinguistRecord,
    TrueFalseRecord,
)
from simulator.ambient.reporting.datasets import category_statistics
from simulator.ambient.reporting.measures import (
    Results,
    build_measures,
    format_counts,
    is_published,
    paper,
    paper_figures,
    string_keys,
)
from simulator.ambient.reporting.sources import Context
from simulator.ambient.score_command import table_6
from simulator.ambient.true_false import TEMPLATES, inconsistent_pairs, true_false_measures
from simulator.figures import Cell, Column, Table
from simulator.stats import Interval, half_up

# ---- models

# The number of flagged claims shown; files contain all.
_CLAIMS: Final = 20


def generation_results(answers: Results, context: Context) -> Results:
    """Return the results of one model's disambiguations."""
    records: Sequence[GenerationRecord] = answers.records
    parser = context.settings.parser
    measures, differences = generation_measures(records, parser), stored_differences(records)
    copied = [
        item_edit_f1(record.original, record.gold, dict.fromkeys(record.gold, record.original))
        for record in records
    ]
    same = dict.fromkeys(record.id for record, score in zip(records, copied, strict=True) if score)
    measures |= _stored_values(records, len(differences))
    measures["copy"] = mean_interval(copied, [(record.id, record.side) for record in records])
    if context.examples:
        other = gold_differences(records, context.examples)
        measures["gold_differences"] = Count(len(other), len(records))
    variants = {rule: 100 * value for rule, value in edit_f1_variants(records).items()}
    warned = ", ".join(f"{code} {count}" for code, count in measures["warnings"].items())
    ids = [f"{difference.id} ({difference.field})" for difference in differences]
    reordered = f"above 0 for a rewrite with the same words in another order: {', '.join(same)}"
    return answers.measured(
        measures,
        # The paper uses the reference parser.
        paper=paper_figures("generation", answers.name, len(records)) if parser == "reference" else {},
        notes={"copy": reordered if same else ""},
        parser=parser,
        remarks=[
            f"labelled rewrites per row: {format_counts(measures['rewrites'])}",
            *([f"warnings of the {parser} parser: {warned}"] if warned else []),
            *([f"stored values that differ from recomputed ones: {list_names(ids)}"] if differences else []),
        ],
        tables={"variants": _variants_table(variants)} if context.settings.variants else {},
        data={
            "n_pred": string_keys(measures["rewrites"]),
            "warnings": measures["warnings"],
            "differences": [difference._asdict() for difference in differences],
            "max_difference": _max_difference(records),
            "variants": variants,
        },
    )


def _stored_values(records: Sequence[GenerationRecord], differences: int) -> Values:
    """Return measures of the file's stored values; empty if it has none."""
    scores = [record.stored_edit_f1 for record in records if record.stored_edit_f1 is not None]
    rewrites = [record for record in records if record.stored_rewrites is not None]
    stored = [record.stored_edit_f1 is not None or record.stored_rewrites is not None for record in records]
    if not any(stored):
        return {}
    nulls = [text is None for record in rewrites for text in (record.stored_rewrites or {}).values()]
    return {
        "edit_f1_stored": mean_interval(scores),
        "edit_f1_recomputed": mean_interval(item_scores(rewrites, "stored")),
        "differences": Count(differences, sum(stored)),
        "null": Count(sum(nulls)),
    }


def _max_difference(records: Sequence[GenerationRecord]) -> float | None:
    scores = zip((record.stored_edit_f1 for record in records), item_scores(records), strict=True)
    return max((abs(stored - score) for stored, score in scores if stored is not None), default=None)


def _variants_table(variants: Mapping[str, float]) -> Table:
    rows = [[rule, half_up(value, 2)] for rule, value in variants.items()]
    return Table(["rule", "EDIT-F1, %"], rows, "EDIT-F1 by other rules (not the paper's)")


def true_false_results(answers: Results, context: Context) -> Results:
    """Return the results of judgments of statements, by one model or by people."""
    records: Sequence[TrueFalseRecord] = answers.records
    measures = true_false_measures(records)
    printed = paper_figures("true_false", answers.name, len(records))
    inconsistent, pairs = inconsistent_pairs(records, "paper")
    by_notebook, _ = inconsistent_pairs(records, "reference")
    numbers = range(1, len(TEMPLATES) + 1)
    shares = {place: share.value for place in numbers if (share := measures[f"template_{place}"])}
    best = [place for place, value in shares.items() if value == max(shares.values())]
    templates = printed.get("templates", ())
    remarks = [
        f"inconsistent pairs: {inconsistent} of {pairs}; by the notebook's rule {by_notebook}",
        f"best template: {', '.join(map(str, best)) or 'none'}",
    ]
    if measures["mass"] is None:
        del measures["mass"]
        remarks.append("the file has no probability mass: a chat model, or people")
    return answers.measured(
        measures,
        paper={
            **{f"template_{place}": value for place, value in enumerate(templates, start=1)},
            "accuracy": printed.get("true_false"),
            "answered": printed.get("answered"),
        },
        notes=printed.get("notes"),
        **{f"phrase_{place}": phrase for place, phrase in enumerate(template_phrases(), start=1)},
        remarks=remarks,
        data={
            "inconsistent_pairs": {"paper": inconsistent, "reference": by_notebook, "of": pairs},
            "self_contradictions": [
                measures[key].value for key in ("may_and_cannot", "not_necessarily_and_only")
            ],
            "best_template": best,
        },
    )


def template_phrases() -> list[str]:
    """Return the templates of statements, without sentence and rewrite."""
    return [template.format(a="", d="").strip().rstrip(":") for template in TEMPLATES]


def continuation_results(answers: Results, context: Context) -> Results:
    """Return the results of one model's estimates."""
    records: Sequence[ContinuationRecord] = answers.records
    measures = continuation_measures(records, context.tested)
    printed = paper_figures("continuation", answers.name, len(records))
    examples = len({record.id for record in records})
    missing = "" if context.examples else "no dataset to count examples in (name one with --data)"
    return answers.measured(
        {**measures, "random_all": chance_by_example(context.examples)},
        paper={
            "accuracy": printed.get("ranking"),
            "random_examples": paper()["chance"]["ranking"] if printed else None,
        },
        notes=dict.fromkeys(("random_examples", "random_all"), missing),
        remarks=[
            f"rewrites per instance: {format_counts(measures['options'])}; {examples} examples",
            "style and length of rewrites confound the likelihoods; a far-off distractor makes this easy",
        ],
        data={"options": string_keys(measures["options"]), **measures["ids"], "examples": examples},
    )


def claims_results(answers: Results, context: Context) -> Results:
    """Return the results of paraphrased and scored claims, and of their marks."""
    records: Sequence[ClaimRecord] = answers.records
    measures, differences = claim_measures(records), claim_differences(records)
    published = any(Path(file).name == "results.jsonl" for file in answers.files)
    printed = paper()["claims"] if published and is_published("claims", len(records)) else {}
    any_flagged = any(map(is_flagged, records))
    unmarked = "" if measures["n"] else "no claim is marked, so precision and recall are undefined"
    return answers.measured(
        {**measures, "differences": Count(len(differences), len(records))},
        paper=printed,
        notes={**printed.get("notes", {}), "flagged": unmarked},
        remarks=[f"a claim is flagged above {THRESHOLD:.4f} = sigmoid(-1.97)"],
        tables={"table_6": table_6(records, THRESHOLD, most=_CLAIMS)} if any_flagged else {},
        exact={"table_6": table_6(records, THRESHOLD)},
        data={
            "threshold": THRESHOLD,
            "differences": [
                {"id": record.id, "stored": record.stored_score, "computed": computed}
                for record, computed in differences
            ],
        },
    )


# ---- people

_VOTES: Final = "crowdworker_annotations"
_NO_DATASET: Final = "no dataset to compare with (name one with --data)"


def crowd_results(answers: Results, context: Context) -> Results:
    """Return the results of crowdworkers' votes on the dataset's examples."""
    records: Sequence[CrowdRecord] = answers.records
    tie = context.settings.tie
    votes = crowd_measures(records, tie)
    published = answers.name.startswith(_VOTES)
    complete = published and tie == "first" and is_published("crowd", len(records))
    printed = paper()["crowd"] if complete else {}
    ids = {record.id for record in records}
    shown = [id for id in context.settings.votes if id == "all" or id in ids]
    counts = ("tie", "readings", "three_readings", "repeated_distractors", "ties", "raters", "other_raters")
    return answers.measured(
        votes,
        paper=printed,
        notes={**printed.get("notes", {}), **votes["undefined"]},
        tie=tie,
        remarks=_crowd_remarks(votes, partial=published and not complete),
        tables={"table_1": table_1(records, shown, context)} if shown else {},
        data={
            **{key: votes[key] for key in counts},
            "workers": string_keys(votes["workers"]),
            "without_votes": votes["left_out"],
        },
    )


def _crowd_remarks(votes: Values, *, partial: bool) -> list[str]:
    workers = ", ".join(f"{size} on {count} rows" for size, count in votes["workers"].items())
    remarks = [
        f"votes are tied between two labels on {votes['ties']['two']} readings, between all three on "
        f"{votes['ties']['three']}",
        f"workers: {workers or 'none'}; {votes['three_readings']} rows have three readings, no distractor",
    ]
    if votes["repeated_distractors"]:
        remarks.append(
            f"{votes['repeated_distractors']} distractors are the ambiguous sentence itself or a reading "
            "shown: the share is given with them, as in the paper, and without"
        )
    if votes["left_out"]:
        remarks.append(f"{votes['left_out']} rows without votes or readings are not counted")
    raters, others = votes["raters"]["original"], votes["other_raters"]
    if raters and any(others.values()):
        remarks.append(
            f"kappas are over rows with {raters} votes, the most common number; {others['original']} rows "
            f"and {others['disambiguated']} readings have another number (alpha counts them)"
        )
    if partial:
        remarks.append("the paper's figures are for the complete file, so they are not shown")
    return remarks


def table_1(records: Sequence[CrowdRecord], ids: Sequence[str], context: Context) -> Table:
    """Return the votes on some examples: a row for the original pair, then one for each candidate.

    An id may occur in several records, all of which are shown.
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
    # Cells are empty where workers were not asked.
    original = count_labels(record.original)
    counts: list[Cell] = [original[label] if record.original else None for label in LABELS]
    names = ((kind, kinds.get(kind)) for kind in (example.categories if example else ()))
    shares = [
        kind if share is None else f"{kind} ({half_up(100 * share.value, 1)} %)" for kind, share in names
    ]
    text = f"P: {record.premise}\nH: {record.hypothesis}"
    rows: list[list[Cell]] = [[record.id, text, gold, *counts, None, ", ".join(shares) or None]]
    for slot in slot_votes(record):
        sentence = f"{record.side[0].upper()}: {slot.sentence}"
        label = letters([slot.label]) if slot.label else "distractor"
        counts = [slot.votes[label] if any(slot.votes.values()) else None for label in LABELS]
        rows.append([record.id, sentence, label, *counts, f"{slot.plausible}/{slot.workers}", None])
    return rows


def evaluation_results(answers: Results, context: Context) -> Results:
    """Return the results of votes on models' rewrites; `CrowdRecord.origin` names the model."""
    tie = context.settings.tie
    models = evaluation_measures(answers.records, tie)
    printed = {row["file"]: row.get("correct") for row in paper()["models"]}
    measures = [
        measure
        for model, votes in models.items()
        for measure in build_measures(
            "evaluation",
            votes,
            paper={"correct": printed.get(model) if is_published("evaluation", votes["rows"]) else None},
            notes={"correct": _describe_few_votes(votes)},
            key=f"correct.{model}",
            model=model or "no model named",
            tie=tie,
        )
    ]
    counts = ("rows", "few_rewrites", "without_votes")
    by_model = {
        model: {**{key: votes[key] for key in counts}, "workers": string_keys(votes["workers"])}
        for model, votes in models.items()
    }
    return answers.measured(
        {},
        measures=tuple(measures),
        remarks=["the votes behind the paper's figures are not published, so they cannot be recomputed"],
        data={"tie": tie, "models": by_model},
    )


def _describe_few_votes(votes: Values) -> str:
    few, without_votes = votes["few_rewrites"], votes["without_votes"]
    notes = [f"{few} rows have too few rewrites and count as wrong"] if few else []
    return "; ".join(notes + ([f"{without_votes} rows have no votes yet"] if without_votes else []))


def linguists_results(answers: Results, context: Context) -> Results:
    """Return the results of linguists' annotations, against each other and the dataset."""
    records: Sequence[LinguistRecord] = answers.records
    finals = {example.id: example.labels for example in context.examples if example.labels}
    measures = linguist_measures(records, finals)
    undefined = {f"final_{key}": None for key in ("union", "either", "contained", "exact", "rewrites")}
    twice = measures["twice"]
    repeated = f"{len(twice)} rows name one annotator twice: {', '.join(twice)}"
    return answers.measured(
        {**undefined, **measures, "final_rewrites": kept_rewrites(records, context.by_id)},
        notes={} if finals else dict.fromkeys(undefined, _NO_DATASET),
        remarks=[
            f"annotations per row: {format_counts(measures['annotations'])}",
            *([repeated] if twice else []),
        ],
        tables={"annotators": annotators_table(records)},
        data={
            "annotations": string_keys(measures["annotations"]),
            "twice": twice,
            "rows_with_final": measures["rows_with_final"],
        },
    )


def kept_rewrites(records: Iterable[LinguistRecord], examples: Mapping[str, Example]) -> Interval | None:
    """Return the share of gold rewrites that linguists wrote word for word, resampling rows."""
    pairs = [
        (record.id, disambiguation in record.rewrites)
        for record in records
        if (example := examples.get(record.id)) is not None
        for disambiguation in example.disambiguations
    ]
    return clustered_interval([kept for _, kept in pairs], [id for id, _ in pairs])


def annotators_table(records: Sequence[LinguistRecord]) -> Table:
    """Return the statistics of each annotator, without times, which files do not contain."""
    rows: list[list[Cell]] = [
        [worker.worker, worker.examples, 100 * worker.ambiguous, 100 * worker.discarded]
        for worker in worker_statistics(single_annotations(records))
    ]
    shares = (Column("several labels, %", 1), Column("discarded, %", 1))
    return Table(["annotator", Column("examples", 0), *shares], rows, "Annotators")
