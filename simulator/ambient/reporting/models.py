"""The results of models' tests, and of claims (spec 6 to 10)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from simulator.ambient.claims import THRESHOLD, claim_measures, flagged
from simulator.ambient.claims import rescored as rescored_claims
from simulator.ambient.continuations import continuation_measures
from simulator.ambient.generation import (
    edit_f1_variants,
    generation_measures,
    gold_differences,
    item_edit_f1,
    item_scores,
    rescored,
)
from simulator.ambient.intervals import mean_interval
from simulator.ambient.records import (
    ClaimRecord,
    ContinuationRecord,
    GenerationRecord,
    TrueFalseRecord,
)
from simulator.ambient.reporting.measures import Count, Results, Value, figures, half_up, is_published, paper
from simulator.ambient.reporting.sources import Answers, Context, by_text
from simulator.ambient.score_command import table_6
from simulator.ambient.true_false import TEMPLATES, inconsistent_pairs, true_false_measures
from simulator.figures import Table

_NAMED: Final = 5
# Of flagged claims, so many are shown; files hold all.
_CLAIMS: Final = 20


def generation_results(answers: Answers, context: Context) -> Results:
    """Return the results of one model's disambiguations."""
    records: Sequence[GenerationRecord] = answers.rows
    parser = context.settings.parser
    measures = generation_measures(records, parser)
    rows, differences = measures.items, rescored(records)
    copied = [
        item_edit_f1(record.original, record.gold, dict.fromkeys(record.gold, record.original))
        for record in records
    ]
    same = dict.fromkeys(record.id for record, score in zip(records, copied, strict=True) if score)
    values: dict[str, Value] = {"edit_f1": measures.edit_f1, "edit_f1_robust": measures.robust}
    values |= _stored(records, len(differences), measures.null)
    values |= {
        "copy": mean_interval(copied, [(record.id, record.side) for record in records]),
        **{f"pattern_{name}": share for name, share in measures.patterns.items()},
        "empty": Count(measures.empty, rows),
        "unparsable": Count(measures.unparsable, rows),
    }
    if context.examples:
        other = {record.id for record in gold_differences(records, context.examples)}
        values["gold_differences"] = Count(len(other), rows)
    variants = {rule: 100 * value for rule, value in edit_f1_variants(records).items()}
    sizes = ", ".join(f"{size}: {count}" for size, count in measures.rewrites.items())
    warned = ", ".join(f"{code} {count}" for code, count in measures.warnings.items())
    named = ", ".join(f"{difference.id} ({difference.field})" for difference in differences[:_NAMED])
    more = f" and {len(differences) - _NAMED} more" if len(differences) > _NAMED else ""
    return answers.results(
        values,
        # The paper's rule is the reference's.
        paper=figures("generation", answers.name, len(records)) if parser == "reference" else {},
        notes={
            "copy": f"above 0 for a rewrite with the same words in another order: {', '.join(same)}"
            if same
            else ""
        },
        parser=parser,
        remarks=[
            f"labelled rewrites per row: {sizes}",
            *([f"warnings of the {parser} parser: {warned}"] if warned else []),
            *([f"stored values that are not those recomputed: {named}{more}"] if differences else []),
        ],
        tables={"variants": _variants_table(variants)} if context.settings.variants else {},
        data={
            "n_pred": by_text(measures.rewrites),
            "warnings": dict(measures.warnings),
            "differences": [difference._asdict() for difference in differences],
            "max_difference": _max_difference(records),
            "variants": variants,
        },
    )


def _stored(records: Sequence[GenerationRecord], differences: int, null: int) -> dict[str, Value]:
    """Return what a file says beside what was generated; nothing if it does not."""
    scores = [record.stored_edit_f1 for record in records if record.stored_edit_f1 is not None]
    rewrites = [record for record in records if record.stored_rewrites is not None]
    stored = [record.stored_edit_f1 is not None or record.stored_rewrites is not None for record in records]
    if not any(stored):
        return {}
    return {
        "edit_f1_stored": mean_interval(scores),
        "edit_f1_recomputed": mean_interval(item_scores(rewrites, "stored")),
        "differences": Count(differences, sum(stored)),
        "null": Count(null),
    }


def _max_difference(records: Sequence[GenerationRecord]) -> float | None:
    scores = zip((record.stored_edit_f1 for record in records), item_scores(records), strict=True)
    return max((abs(stored - score) for stored, score in scores if stored is not None), default=None)


def _variants_table(variants: Mapping[str, float]) -> Table:
    rows = [[rule, half_up(value, 2)] for rule, value in variants.items()]
    return Table(["rule", "EDIT-F1, %"], rows, "EDIT-F1 by other rules (not the paper's)")


def true_false_results(answers: Answers, context: Context) -> Results:
    """Return the results of one model's, or some people's, judgments of statements."""
    records: Sequence[TrueFalseRecord] = answers.rows
    measures = true_false_measures(records)
    printed = figures("true_false", answers.name, len(records))
    may, only = measures.self_contradictions
    rewrites = measures.all_four.n if measures.all_four else 0
    inconsistent, pairs = inconsistent_pairs(records, "paper")
    by_notebook, _ = inconsistent_pairs(records, "reference")
    templates = {f"template_{place}": value for place, value in enumerate(measures.by_template, start=1)}
    known = {place: value.value for place, value in enumerate(measures.by_template, start=1) if value}
    best = [place for place, value in known.items() if value == max(known.values())]
    return answers.results(
        {
            **templates,
            "accuracy": measures.accuracy,
            "answered_accuracy": measures.answered_accuracy,
            "null": Count(measures.null, measures.statements),
            "all_four": measures.all_four,
            "inconsistent": measures.inconsistent,
            "inconsistent_reference": true_false_measures(records, pairs="reference").inconsistent,
            "may_and_cannot": Count(may, rewrites),
            "not_necessarily_and_only": Count(only, rewrites),
            **({} if measures.mass is None else {"mass": measures.mass}),
            "answered": measures.answered,
            "incomplete": Count(measures.incomplete, rewrites),
            "doubled": Count(measures.doubled, measures.statements),
        },
        paper={
            **dict(zip(templates, printed.get("templates", ()), strict=False)),
            "accuracy": printed.get("true_false"),
            "answered": printed.get("answered"),
        },
        notes=printed.get("notes"),
        **{f"phrase_{place}": phrase for place, phrase in enumerate(template_phrases(), start=1)},
        remarks=[
            f"inconsistent pairs: {inconsistent} of {pairs}; by the notebook's rule {by_notebook}",
            f"best template: {', '.join(map(str, best)) or 'none'}",
            *(["the file has no probability mass: a chat model, or people"] if measures.mass is None else []),
        ],
        data={
            "inconsistent_pairs": {"paper": inconsistent, "reference": by_notebook, "of": pairs},
            "self_contradictions": [may, only],
            "best_template": best,
        },
    )


def template_phrases() -> list[str]:
    """Return the templates of statements without sentence and rewrite."""
    return [template.format(a="", d="").strip().rstrip(":") for template in TEMPLATES]


def continuation_results(answers: Answers, context: Context) -> Results:
    """Return the results of one model's estimates."""
    records: Sequence[ContinuationRecord] = answers.rows
    measures = continuation_measures(records, context.tested)
    printed = figures("continuation", answers.name, len(records))
    least, mean = measures.num_conts or (None, None)
    sizes = ", ".join(f"{size}: {count}" for size, count in measures.options.items())
    examples = len({record.id for record in records})
    by_example = ("random_examples", "random_all")
    missing = "" if context.examples else "no dataset to count examples in (name one with --data)"
    return answers.results(
        {
            "accuracy": measures.accuracy,
            "right": Count(measures.right, measures.instances),
            "random_examples": measures.random_examples,
            "random_all": continuation_measures((), context.examples).random_examples,
            "random": measures.random,
            "missing": Count(len(measures.missing), measures.instances),
            "tied": Count(len(measures.tied), measures.instances),
            "num_conts_min": Count(least),
            "num_conts_mean": Count(mean),
        },
        paper={
            "accuracy": printed.get("ranking"),
            "random_examples": paper()["chance"]["ranking"] if printed else None,
        },
        notes=dict.fromkeys(by_example, missing),
        remarks=[
            f"rewrites per instance: {sizes}; {examples} examples",
            "style and length of rewrites confound the likelihoods; a far-off distractor makes this easy",
        ],
        data={
            "options": by_text(measures.options),
            "missing": list(measures.missing),
            "tied": list(measures.tied),
            "examples": examples,
        },
    )


def claims_results(answers: Answers, context: Context) -> Results:
    """Return the results of claims that have been paraphrased and scored, and of their marks."""
    records: Sequence[ClaimRecord] = answers.rows
    measures = claim_measures(records)
    differences = rescored_claims(records)
    published = any(Path(file).name == "results.jsonl" for file in answers.files)
    printed = paper()["claims"] if published and is_published("claims", len(records)) else {}
    unmarked = "" if measures.n else "nobody has marked a claim, so nothing can be right or wrong"
    return answers.results(
        {
            "precision": measures.precision,
            "recall": measures.recall,
            "flagged_of_all": Count(measures.flagged_of_all, len(records)),
            "flagged": Count(measures.flagged if measures.n else None, measures.n),
            "ambiguous": Count(measures.ambiguous, measures.n),
            "unmarked": Count(measures.unmarked, len(records)),
            "unscored": Count(measures.unscored, measures.n),
            "differences": Count(len(differences), len(records)),
        },
        paper=printed,
        notes={**printed.get("notes", {}), "flagged": unmarked},
        remarks=[f"a claim is flagged above {THRESHOLD:.4f} = sigmoid(-1.97)"],
        tables={"table_6": table_6(records, THRESHOLD, most=_CLAIMS)} if any(map(flagged, records)) else {},
        exact={"table_6": table_6(records, THRESHOLD)},
        data={
            "threshold": measures.threshold,
            "differences": [
                {"id": record.id, "stored": record.stored_score, "computed": now}
                for record, now in differences
            ],
        },
    )
