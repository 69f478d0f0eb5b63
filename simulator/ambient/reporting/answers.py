"""The results of answers: models' tests, claims, crowdworkers, judges, linguists (spec 3 to 10)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final

from simulator.ambient.annotation.linguists import linguist_measures, single_annotations, worker_statistics
from simulator.ambient.claims import THRESHOLD, claim_measures, flagged
from simulator.ambient.claims import rescored as rescored_claims
from simulator.ambient.continuations import chance_by_example, continuation_measures
from simulator.ambient.crowd import count_labels, crowd_measures, evaluation_measures, slot_votes
from simulator.ambient.examples import Example, named
from simulator.ambient.generation import (
    edit_f1_variants,
    generation_measures,
    gold_differences,
    item_edit_f1,
    item_scores,
    rescored,
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
    by_text,
    figures,
    half_up,
    is_published,
    paper,
    sizes,
    worded,
)
from simulator.ambient.reporting.sources import Context
from simulator.ambient.score_command import table_6
from simulator.ambient.true_false import TEMPLATES, inconsistent_pairs, true_false_measures
from simulator.figures import Cell, Column, Table
from simulator.stats import Interval

# ---- models

# Of flagged claims, so many are shown; files hold all.
_CLAIMS: Final = 20


def generation_results(answers: Results, context: Context) -> Results:
    """Return the results of one model's disambiguations."""
    records: Sequence[GenerationRecord] = answers.records
    parser = context.settings.parser
    measures, differences = generation_measures(records, parser), rescored(records)
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
    changed = [f"{difference.id} ({difference.field})" for difference in differences]
    reordered = f"above 0 for a rewrite with the same words in another order: {', '.join(same)}"
    return answers.measured(
        measures,
        # The paper's rule is the reference's.
        paper=figures("generation", answers.name, len(records)) if parser == "reference" else {},
        notes={"copy": reordered if same else ""},
        parser=parser,
        remarks=[
            f"labelled rewrites per row: {sizes(measures['rewrites'])}",
            *([f"warnings of the {parser} parser: {warned}"] if warned else []),
            *([f"stored values that are not those recomputed: {named(changed)}"] if differences else []),
        ],
        tables={"variants": _variants_table(variants)} if context.settings.variants else {},
        data={
            "n_pred": by_text(measures["rewrites"]),
            "warnings": measures["warnings"],
            "differences": [difference._asdict() for difference in differences],
            "max_difference": _max_difference(records),
            "variants": variants,
        },
    )


def _stored_values(records: Sequence[GenerationRecord], differences: int) -> Values:
    """Return what a file says beside what was generated; nothing if it does not."""
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
    """Return the results of one model's, or some people's, judgments of statements."""
    records: Sequence[TrueFalseRecord] = answers.records
    measures = true_false_measures(records)
    printed = figures("true_false", answers.name, len(records))
    inconsistent, pairs = inconsistent_pairs(records, "paper")
    by_notebook, _ = inconsistent_pairs(records, "reference")
    numbers = range(1, len(TEMPLATES) + 1)
    known = {place: share.value for place in numbers if (share := measures[f"template_{place}"])}
    best = [place for place, value in known.items() if value == max(known.values())]
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
    """Return the templates of statements without sentence and rewrite."""
    return [template.format(a="", d="").strip().rstrip(":") for template in TEMPLATES]


def continuation_results(answers: Results, context: Context) -> Results:
    """Return the results of one model's estimates."""
    records: Sequence[ContinuationRecord] = answers.records
    measures = continuation_measures(records, context.tested)
    printed = figures("continuation", answers.name, len(records))
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
            f"rewrites per instance: {sizes(measures['options'])}; {examples} examples",
            "style and length of rewrites confound the likelihoods; a far-off distractor makes this easy",
        ],
        data={"options": by_text(measures["options"]), **measures["ids"], "examples": examples},
    )


def claims_results(answers: Results, context: Context) -> Results:
    """Return the results of claims that have been paraphrased and scored, and of their marks."""
    records: Sequence[ClaimRecord] = answers.records
    measures, differences = claim_measures(records), rescored_claims(records)
    published = any(Path(file).name == "results.jsonl" for file in answers.files)
    printed = paper()["claims"] if published and is_published("claims", len(records)) else {}
    unmarked = "" if measures["n"] else "nobody has marked a claim, so nothing can be right or wrong"
    return answers.measured(
        {**measures, "differences": Count(len(differences), len(records))},
        paper=printed,
        notes={**printed.get("notes", {}), "flagged": unmarked},
        remarks=[f"a claim is flagged above {THRESHOLD:.4f} = sigmoid(-1.97)"],
        tables={"table_6": table_6(records, THRESHOLD, most=_CLAIMS)} if any(map(flagged, records)) else {},
        exact={"table_6": table_6(records, THRESHOLD)},
        data={
            "threshold": THRESHOLD,
            "differences": [
                {"id": record.id, "stored": record.stored_score, "computed": now}
                for record, now in differences
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
